"""Tiles of any shape, element and strides are loaded and stored right: every element once, nothing outside."""

from __future__ import annotations

import secrets
from math import prod

import numpy as np
import pytest
from execution.executor import GlobalMemory
from slice.programs import DTYPES, by, elements, launch, lowered, strided, view


def copy_program(
    element: str,
    tile: tuple[int, ...],
    out_strides: tuple[object, ...],
    in_strides: tuple[object, ...],
    aligned: bool,
) -> str:
    """out[…] = in[…], a tile a CTA; extents are arguments, strides numbers or `?` for arguments."""
    rank = len(tile)
    names = ["%e0", "%e1", "%e2"][:rank]

    def named(strides: tuple[object, ...], prefix: str) -> tuple[list[object], list[str]]:
        spelled = [f"%{prefix}{i}" if s == "?" else s for i, s in enumerate(strides)]
        return spelled, [s for s in spelled if isinstance(s, str)]

    ins, in_arguments = named(in_strides, "s")
    outs, out_arguments = named(out_strides, "t")
    parameters = [f"%in: tile<ptr<{element}>>", f"%out: tile<ptr<{element}>>"]
    parameters += [f"{name}: tile<i32>" for name in (*names, *in_arguments, *out_arguments)]
    lines = ["  %tok = make_token : token\n"]
    pointers = ["%in", "%out"]
    if aligned:
        lines += [
            f"  %a{i} = assume div_by<16>, {p} : tile<ptr<{element}>>\n" for i, p in enumerate(pointers)
        ]
        for name in (*names, *in_arguments, *out_arguments):
            lines.append(f"  {name}a = assume div_by<16>, {name} : tile<i32>\n")
        pointers = ["%a0", "%a1"]
        names = [f"{n}a" for n in names]
        ins = [f"{s}a" if isinstance(s, str) else s for s in ins]
        outs = [f"{s}a" if isinstance(s, str) else s for s in outs]
    source, source_type = view("v", pointers[0], names, ins, element)
    target, target_type = view("w", pointers[1], names, outs, element)
    part = f"partition_view<tile=({by(tile)}), padding_value = zero, {source_type}>"
    out_part = f"partition_view<tile=({by(tile)}), {target_type}>"
    ids = ", ".join(["%x", "%y", "%z"][:rank])
    body = f"""
  %x, %y, %z = get_tile_block_id : tile<i32>
  %p = make_partition_view %v : {part}
  %q = make_partition_view %w : {out_part}
  %t, %l = load_view_tko weak %p[{ids}] token = %tok : {part}, tile<i32> -> tile<{by(tile)}x{element}>, token
  %s = store_view_tko weak %t, %q[{ids}] token = %tok : tile<{by(tile)}x{element}>, {out_part}, tile<i32> -> token
  return
}}
"""
    return f"entry @copy({', '.join(parameters)}) {{\n" + "".join(lines) + source + target + body


CASES = [
    # tile, extents, in strides, out strides
    ((1,), (1,), (1,), (1,)),
    ((2,), (5,), (1,), (1,)),
    ((16,), (40,), (1,), (1,)),
    ((256,), (1000,), (1,), (1,)),
    ((256,), (0,), (1,), (1,)),
    ((64,), (100,), (3,), ("?",)),
    ((8, 8), (11, 13), ("?", 1), ("?", 1)),
    ((16, 64), (17, 70), ("?", 1), (1, "?")),
    ((64, 16), (70, 17), (1, "?"), ("?", 1)),
    ((32, 32), (33, 31), (1, "?"), (1, "?")),
    ((32, 32), (32, 32), ("?", "?"), (40, 1)),
    ((1, 128), (3, 300), ("?", 1), ("?", 1)),
    ((128, 1), (300, 3), ("?", 1), ("?", 1)),
    ((2, 4, 8), (5, 9, 17), ("?", "?", 1), ("?", "?", 1)),
    ((2, 16, 16), (3, 18, 17), ("?", 1, "?"), (1, "?", "?")),
    ((4, 1, 32), (5, 2, 40), (1, "?", "?"), ("?", "?", 1)),
]


def dense_strides(extents: tuple[int, ...], pattern: tuple[object, ...], slack: int) -> tuple[int, ...]:
    """Numbers for the `?` of a pattern, such that no two elements meet: the axis with 1 first, then the others."""
    strides = [s if isinstance(s, int) else 0 for s in pattern]
    fixed = [i for i, s in enumerate(pattern) if isinstance(s, int)]
    step = max([abs(strides[i]) * max(1, extents[i]) for i in fixed], default=1) + slack
    for i in reversed(range(len(pattern))):
        if strides[i] == 0:
            strides[i] = step
            step *= max(1, extents[i])
    return tuple(strides)


def check(
    element: str,
    tile: tuple[int, ...],
    extents: tuple[int, ...],
    in_pattern: tuple[object, ...],
    out_pattern: tuple[object, ...],
    aligned: bool,
    target: str,
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    dtype = DTYPES[element]
    slack = 16 if aligned else 1
    if aligned:
        extents = tuple(-(-n // 16) * 16 for n in extents)
    in_strides = dense_strides(extents, in_pattern, slack)
    out_strides = dense_strides(extents, out_pattern, slack)
    source, out = strided(rng, extents, in_strides, dtype), strided(rng, extents, out_strides, dtype)
    memory = GlobalMemory()
    shift = 16 if aligned else source.itemsize
    a, b = memory.add(source, shift), memory.add(out, shift)
    arguments = [a, b, *extents]
    arguments += [s for s, p in zip(in_strides, in_pattern, strict=True) if p == "?"]
    arguments += [s for s, p in zip(out_strides, out_pattern, strict=True) if p == "?"]
    grid = [-(-n // t) + 1 for n, t in zip(extents, tile, strict=True)]
    module = lowered(copy_program(element, tile, out_pattern, in_pattern, aligned), target)
    launch(module, grid, memory, arguments)
    if prod(extents):
        elements(out, extents, out_strides)[...] = elements(source, extents, in_strides)
    assert memory.read_back(b, out).tobytes() == out.tobytes()
    assert memory.read_back(a, source).tobytes() == source.tobytes()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "unaligned"])
def test_tiles_of_any_shape_and_strides(case: tuple, aligned: bool) -> None:
    check("f32", *case, aligned=aligned, target="sm_80")


@pytest.mark.parametrize("element", sorted(DTYPES))
@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "unaligned"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_elements_of_any_width(element: str, aligned: bool, target: str) -> None:
    check(element, (16, 64), (17, 70), ("?", 1), (1, "?"), aligned, target)
