"""Constant tiles whose elements differ, of every type, small and large."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import programs
import pytest
from casts.reference import held, storage

INTEGERS = ("i1", "i8", "i16", "i32", "i64")


def literal(values: Sequence[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


@pytest.mark.parametrize("target", programs.TARGETS)
def test_integers(target: str) -> None:
    """A few elements and many, of one axis and of two."""
    rng = np.random.default_rng(programs.fresh_seed())
    lines, outputs, wanted = [], {}, []
    for element in INTEGERS:
        kind = np.dtype(f"i{max(int(element[1:]) // 8, 1)}")
        bounds = np.iinfo(kind)
        for shape in ((4,), (64,), (8, 32)):
            low, high = (0, 1) if element == "i1" else (bounds.min, bounds.max)
            values = rng.integers(low, high, shape, dtype=kind, endpoint=True)
            values.flat[:2] = low, high
            body = literal([v if isinstance(v, int) else literal(v) for v in values.tolist()])
            if element == "i1":
                body = body.replace("0", "false").replace("1", "true")
            name = f"y{len(wanted)}"
            lines.append(f"%{name} = constant <{element}: {body}> : {programs.tile(element, shape)}")
            outputs[name] = (element, shape)
            wanted.append(values)
    text = programs.program("\n".join(lines), {}, outputs)
    got = programs.run(text, *(programs.empty(*o) for o in outputs.values()), target=target)
    for (name, kind), result, expected in zip(outputs.items(), got, wanted, strict=True):
        assert (result.view(expected.dtype) == expected).all(), (name, kind)
    programs.check_tools(text, target)


@pytest.mark.parametrize("element", ["f16", "bf16", "tf32", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_floats(element: str) -> None:
    """Bits given in hexadecimal arrive as they are."""
    rng = np.random.default_rng(programs.fresh_seed())
    bits = 19 if element == "tf32" else 8 * storage(element).itemsize
    codes = rng.integers(0, 1 << min(bits, 62), 64, dtype=np.uint64)
    shown = literal([f"0x{code:X}" for code in codes.tolist()])
    text = programs.program(
        f"%y = constant <{element}: {shown}> : tile<64x{element}>", {}, {"y": (element, (64,))}
    )
    (found,) = programs.run(text, programs.empty(element, (64,)))
    wanted = held(element, (codes << (13 if element == "tf32" else 0)).astype(storage(element)))
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("count", [2, 64])
def test_nibbles(count: int) -> None:
    """Elements of four bits, packed to be stored."""
    rng = np.random.default_rng(programs.fresh_seed())
    codes = rng.integers(0, 16, count)
    codes[:2] = 1, 15
    floats = [[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][c & 7] * (-1 if c & 8 else 1) for c in codes]
    body = f"""%f = constant <f4E2M1FN: {literal(floats)}> : tile<{count}xf4E2M1FN>
    %z = pack %f : tile<{count}xf4E2M1FN> -> tile<{count // 2}xi8>"""
    outputs = {"z": ("i8", (count // 2,))}
    (z,) = programs.run(programs.program(body, {}, outputs), *(programs.empty(*o) for o in outputs.values()))
    assert z.tobytes() == held("i4", codes).tobytes()


def test_in_a_loop() -> None:
    """A constant that a loop uses is read in front of it, and is the same in every round."""
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
    body = f"""%n = constant <i32: 5> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <i32: 0> : tile<16xi32>
    %y = for %i in (%zeroIndex to %n, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<16xi32>) {{
      %c = constant <i32: {literal(values)}> : tile<16xi32>
      %s = addi %acc, %c : tile<16xi32>
      continue %s : tile<16xi32>
    }}"""
    (found,) = programs.run(programs.program(body, {}, {"y": ("i32", (16,))}), programs.empty("i32", (16,)))
    assert (found == 5 * np.array(values)).all()
