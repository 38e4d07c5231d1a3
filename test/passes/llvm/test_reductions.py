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
    return laid_out([columns[i] for i in rng.permutation(len(columns))], warps, shape)


def laid_out(order: list[int], warps: int, shape: tuple[int, ...]) -> LinearLayout:
    """The columns, registers first, then lanes, then warps."""
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


def repeating_layout(rng: np.random.Generator, shape: tuple[int, ...], warps: int) -> LinearLayout:
    """A layout whose lanes repeat each other, so that warps hold what they do not, and repeat each other too."""
    bits = int(np.log2(np.prod(shape)))
    low = min(bits, max(0, bits - warps + 1))
    while True:
        narrow = [int(c) for c in rng.integers(0, 1 << low, max(5, low))]
        wide = [int(c) for c in rng.integers(0, 1 << bits, warps)]
        if Elimination([*narrow, *wide]).rank == bits:
            lanes, registers = narrow[:5], narrow[5:]
            return laid_out([*registers, *lanes, *wide], warps, shape)
        low = min(bits, low + int(rng.integers(0, 2)))


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

    # An odd element of a scan starts the sum anew: associative, and the order counts.
    restart = (
        f"%odd = arith.trunci %e : {element} to i1\n      %s = arith.select %odd, %e, %sum : {element}"
        if scan
        else f"%s = arith.addi %sum, %zero : {element}"
    )
    source, source_type = view("p", shape)
    target, target_type = view("q", result)
    zeros = ", ".join(["%z"] * len(shape))
    return f"""
module attributes {{nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"}} {{
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {{nv_tileaa.kernel_spec = {spec}}} {{
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %z = arith.constant 0 : i32
    %zero = arith.constant 0 : {element}
    %v = {source}
    %w = {target}
    %x, %l = nv_tileas.tiled_load %v[{zeros}], %t {{atom = #cute.copy_atom<sm80_ldg_{bits}_{element}>}} : {source_type} -> {old}, !nv_tileaa.mem_token
    %wide = nv_tileas.convert_layout %x : {old} -> {wide}
    %r = nv_tileaa.{op.partition(" ")[0]} %wide axis = {axis} {op.partition(" ")[2]} identities = [{5 if scan else 0} : {element}] : {wide} -> {small} {{
    ^bb0(%a: {element}, %e: {element}):
      %sum = arith.addi %a, %e : {element}
      {restart}
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


def prefixes(x: Array, axis: int) -> Array:
    """The sum from the last odd element on, up to each one; the identity is not among them."""
    found = np.moveaxis(x.copy(), axis, 0)
    for i in range(1, len(found)):
        found[i] += np.where(found[i] % 2 == 1, x.dtype.type(0), found[i - 1])
    return np.moveaxis(found, 0, axis)


def suffixes(x: Array, axis: int) -> Array:
    """The same from the end."""
    return np.flip(prefixes(np.flip(x, axis), axis), axis)


def check(
    op: str, layout: Any, expected: Any, chosen_tile: tuple[tuple[int, ...], int, int] | None = None
) -> None:
    """Run one random program, and compare."""
    rng = generator()
    shape, axis, warps = random_tile(rng) if chosen_tile is None else chosen_tile
    element = str(rng.choice(["i16", "i32", "i64"]))
    chosen: LinearLayout = layout(rng, shape, warps)
    print(op, shape, axis, element, chosen)
    x = random(element, shape, rng)
    x &= np.where(rng.random(shape) < 1 / 8, -1, -2).astype(x.dtype)
    wanted: Array = expected(x, axis)
    text = program(op, element, shape, axis, chosen, warps)
    _, found = run(text, x, empty(element, wanted.shape), mode=str(rng.choice(MODES)))
    assert np.array_equal(found.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("turn", range(12))
@pytest.mark.parametrize("layout", [any_layout, repeating_layout, bit_layout])
def test_any_layout_is_reduced(layout: Any, turn: int):
    check("reduce", layout, lambda x, axis: x.sum(axis, dtype=x.dtype))


@pytest.mark.parametrize("turn", range(12))
def test_bits_are_scanned_in_any_order(turn: int):
    check("scan", bit_layout, prefixes)


@pytest.mark.parametrize("turn", range(12))
def test_bits_are_scanned_in_any_order_from_the_end(turn: int):
    check("scan reverse", bit_layout, suffixes)


ORDERS = ["rll", "lrl", "lwr", "rwl", "wlr", "wrl", "llr", "rrl", "llw", "wwr", "rlw", "rwwl", "lwlw", "rlrl"]
"""Which kind of bit each bit of the coordinate is, from the lowest."""


@pytest.mark.parametrize("order", ORDERS)
def test_bits_of_each_kind_may_fall_and_rise(order: str):
    def layout(rng: np.random.Generator, shape: tuple[int, ...], warps: int) -> LinearLayout:
        kinds: dict[str, list[int]] = {"r": [], "l": [], "w": []}
        for bit, kind in enumerate(order):
            kinds[kind].append(1 << bit)
        rest = [1 << bit for bit in range(len(order), int(np.log2(np.prod(shape))))]
        places = {"r": kinds["r"], "l": [*kinds["l"], *[0] * 5][:5], "w": [*kinds["w"], *[0] * 5][:warps]}
        chosen = {kind: [bits[i] for i in rng.permutation(len(bits))] for kind, bits in places.items()}
        return laid_out([*chosen["r"], *rest, *chosen["l"], *chosen["w"]], warps, shape)

    for op, expected in (("scan", prefixes), ("scan reverse", suffixes)):
        check(op, layout, expected, ((2, 1 << len(order)), 1, 2))


@pytest.mark.parametrize("turn", range(4))
def test_a_layout_that_mixes_the_coordinate_with_others_is_converted_first(turn: int):
    check("scan", any_layout, prefixes)


@pytest.mark.parametrize("turn", range(6))
def test_warps_share_the_work_where_it_is_much(turn: int):
    """Axes over many warps, with many elements beside them."""

    def layout(rng: np.random.Generator, shape: tuple[int, ...], warps: int) -> LinearLayout:
        bits = int(np.log2(np.prod(shape)))
        rows = [1 << bit for bit in range(bits - warps, bits)]
        columns = [1 << int(bit) for bit in rng.permutation(bits - warps)]
        mixed = [row ^ (columns[int(rng.integers(len(columns)))] if rng.integers(2) else 0) for row in rows]
        return laid_out([*columns[5:], *columns[:5], *mixed], warps, shape)

    def expected(x: Array, axis: int) -> Array:
        return x.sum(axis, dtype=x.dtype)

    check("reduce", layout, expected, ((1 << 2 + turn % 3, 1024), 0, 2 + turn % 3))
