"""Reductions and scans of tiles in layouts that no pass would choose: any bits of registers, lanes and warps, in any
order, mixed and repeated, on the simulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import Array, empty, fresh_seed, random, run

from tessera_tools.layout import LinearLayout, blocked, slice_dim, to_text
from tessera_tools.layout.f2 import Elimination

MODES = ("late", "early")


def generator() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


def split(rng: np.random.Generator, columns: list[int], warps: int, shape: tuple[int, ...]) -> LinearLayout:
    """The columns, in any order, as registers, lanes and warps."""
    order = [columns[i] for i in rng.permutation(len(columns))]
    sizes = [("register", 1 << len(order) - 5 - warps), ("lane", 32), ("warp", 1 << warps), ("block", 1)]
    outs = [(f"dim{i}", size) for i, size in reversed(list(enumerate(shape)))]
    flat = LinearLayout.from_columns(sizes, outs, order)
    return flat.transpose_outs([f"dim{i}" for i in range(len(shape))])


def any_layout(rng: np.random.Generator, shape: tuple[int, ...], warps: int) -> LinearLayout:
    """A layout whose hardware bits move by anything, and may repeat elements."""
    bits = int(np.log2(np.prod(shape)))
    inputs = max(bits, 5 + warps) + int(rng.integers(0, 2))
    while True:
        columns = [int(c) for c in rng.integers(0, 1 << bits, inputs)]
        if Elimination(columns).rank == bits:
            return split(rng, columns, warps, shape)


def bit_layout(rng: np.random.Generator, shape: tuple[int, ...], warps: int) -> LinearLayout:
    """A layout whose hardware bits are bits of the coordinates, or repeat elements."""
    bits = int(np.log2(np.prod(shape)))
    inputs = max(bits, 5 + warps) + int(rng.integers(0, 2))
    return split(rng, [1 << bit for bit in range(bits)] + [0] * (inputs - bits), warps, shape)


def tensor(shape: tuple[int, ...], element: str, layout: LinearLayout) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}, #nv_tileas.linear<{{{to_text(layout)}}}>>"


def plain(shape: tuple[int, ...], warps: int) -> LinearLayout:
    """A layout for loads and stores, one element a time."""
    ones = (1,) * (len(shape) - 1)
    order = range(len(shape) - 1, -1, -1)
    return blocked(shape, (*ones, 1), (*ones, 32), (*ones, 1 << warps), tuple(order))


def program(
    op: str, element: str, shape: tuple[int, ...], axis: int, layout: LinearLayout, warps: int
) -> str:
    """A kernel of stage 3 that loads a tile, combines it in that layout, and stores the result."""
    scan = op.startswith("scan")
    result = shape if scan else (*shape[:axis], *shape[axis + 1 :])
    made = layout if scan else slice_dim(layout, axis)
    old, wide = tensor(shape, element, plain(shape, warps)), tensor(shape, element, layout)
    small, new = tensor(result, element, made), tensor(result, element, plain(result, warps))
    spec = f"#nv_tileaa.kernel_spec<num_warps = {1 << warps}, cluster = [1, 1, 1]>"
    bits = int(element[1:])

    def view(name: str, extents: tuple[int, ...]) -> tuple[str, str]:
        strides = [int(np.prod(extents[i + 1 :])) for i in range(len(extents))]
        type = f"!nv_tileaa.memref<{'x'.join(map(str, extents))}x{element}>"
        return (
            f"nv_tileaa.make_memref %{name}, shape = {list(extents)}, stride = {strides}, "
            f"space = #nv_tileaa.global : {type}",
            type,
        )

    source, source_type = view("p", shape)
    target, target_type = view("q", result)
    zeros = ", ".join(["%z"] * len(shape))
    return f"""
module attributes {{nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"}} {{
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {{nv_tileaa.kernel_spec = {spec}}} {{
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %z = arith.constant 0 : i32
    %v = {source}
    %w = {target}
    %x, %l = nv_tileas.tiled_load %v[{zeros}], %t {{atom = #cute.copy_atom<sm80_ldg_{bits}_{element}>}} : {source_type} -> {old}, !nv_tileaa.mem_token
    %wide = nv_tileas.convert_layout %x : {old} -> {wide}
    %r = nv_tileaa.{op.partition(" ")[0]} %wide axis = {axis} {op.partition(" ")[2]} identities = [0 : {element}] : {wide} -> {small} {{
    ^bb0(%e: {element}, %a: {element}):
      %s = arith.addi %e, %a : {element}
      nv_tileaa.yield %s : {element}
    }}
    %y = nv_tileas.convert_layout %r : {small} -> {new}
    %s = nv_tileas.tiled_store %w[{", ".join(["%z"] * len(result))}], %y, %t {{atom = #cute.copy_atom<sm80_stg_{bits}_{element}>}} : {new}, {target_type}, !nv_tileaa.mem_token
    nv_tileaa.return
  }}
}}
"""  # noqa: E501


def random_tile(rng: np.random.Generator) -> tuple[tuple[int, ...], int, int]:
    """(shape of rank 2 or 3, axis, log2 of the warps)."""
    shape = tuple(1 << int(b) for b in rng.integers(1, 5, int(rng.integers(2, 4))))
    return shape, int(rng.integers(len(shape))), int(rng.integers(0, 4))


def check(op: str, layout: Any, expected: Any) -> None:
    """Run one random program, and compare."""
    rng = generator()
    shape, axis, warps = random_tile(rng)
    element = str(rng.choice(["i16", "i32", "i64"]))
    chosen: LinearLayout = layout(rng, shape, warps)
    print(op, shape, axis, element, chosen)
    x = random(element, shape, rng)
    wanted: Array = expected(x, axis)
    text = program(op, element, shape, axis, chosen, warps)
    _, found = run(text, x, empty(element, wanted.shape), mode=str(rng.choice(MODES)))
    assert np.array_equal(found.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("turn", range(12))
@pytest.mark.parametrize("layout", [any_layout, bit_layout])
def test_any_layout_is_reduced(layout: Any, turn: int):
    check("reduce", layout, lambda x, axis: x.sum(axis, dtype=x.dtype))


@pytest.mark.parametrize("turn", range(12))
def test_bits_are_scanned_in_any_order(turn: int):
    check("scan", bit_layout, lambda x, axis: x.cumsum(axis, dtype=x.dtype))


@pytest.mark.parametrize("turn", range(12))
def test_bits_are_scanned_in_any_order_from_the_end(turn: int):
    check(
        "scan reverse",
        bit_layout,
        lambda x, axis: np.flip(np.flip(x, axis).cumsum(axis, dtype=x.dtype), axis),
    )


@pytest.mark.parametrize("turn", range(4))
def test_a_layout_that_mixes_the_coordinate_with_others_is_converted_first(turn: int):
    check("scan", any_layout, lambda x, axis: x.cumsum(axis, dtype=x.dtype))
