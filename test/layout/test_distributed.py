"""Layouts of tiles: the builders against loops, and shape ops against the shapes they are of."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from layout.strategies import layouts

from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    atoms,
    blocked,
    broadcast,
    cat,
    coalesced,
    expand_dims,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
    reduction_steps,
    reshape,
    shape_of,
    slice_dim,
    transpose,
    wgmma_accumulator,
    wgmma_operand_a,
)


def at(layout: LinearLayout, **inputs: int) -> tuple[int, ...]:
    return tuple(layout.apply(inputs).values())


def coordinates(layout: LinearLayout) -> list[tuple[int, ...]]:
    return [at(layout, **inputs) for inputs in layout.inputs()]


def test_blocked_against_a_loop() -> None:
    layout = blocked((16, 64), (2, 4), (4, 8), (2, 2), (1, 0))
    for register, lane, warp in product(range(layout.in_size("register")), range(32), range(4)):
        row = register // 4 % 2 + 2 * (lane // 8) + 8 * (warp // 2)
        col = register % 4 + 4 * (lane % 8) + 32 * (warp % 2)
        assert at(layout, register=register, lane=lane, warp=warp) == (row, col)


@pytest.mark.parametrize(
    ("shape", "vector", "warps", "axis", "expected"),
    [
        # Eight threads of eight elements have a row, and four rows; the warps follow along the rows' axis.
        ((64, 64), 8, 4, None, ((1, 8), (4, 8), (4, 1), (1, 0))),
        # Two rows are enough for two warps: the others follow within the row.
        ((2, 512), 4, 4, None, ((1, 4), (1, 32), (2, 2), (1, 0))),
        ((1, 512), 4, 4, None, ((1, 4), (1, 32), (1, 4), (1, 0))),
        # Threads and warps without elements of their own have those of others.
        ((4, 8), 8, 2, None, ((1, 8), (32, 1), (2, 1), (1, 0))),
        # The other axis first.
        ((64, 8), 4, 2, 0, ((4, 1), (16, 2), (1, 2), (0, 1))),
        # A vector is no wider than the tile.
        ((128, 2), 8, 1, None, ((1, 2), (32, 1), (1, 1), (1, 0))),
    ],
)
def test_coalesced_places_threads_along_an_axis_first(
    shape: tuple[int, int],
    vector: int,
    warps: int,
    axis: int | None,
    expected: tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]],
) -> None:
    assert coalesced(shape, vector, warps, axis) == blocked(shape, *expected)


def test_blocked_in_column_order() -> None:
    layout = blocked((64, 8), (4, 1), (8, 4), (2, 2), (0, 1))
    assert at(layout, register=1) == (1, 0)
    assert at(layout, lane=1) == (4, 0)
    assert at(layout, lane=8) == (0, 1)
    assert at(layout, warp=1) == (32, 0)


def test_blocked_repeats_in_registers_where_the_tile_is_larger() -> None:
    layout = blocked((8, 64), (1, 2), (2, 16), (2, 1), (1, 0))
    assert layout.in_size("register") == 8
    assert layout.is_invertible()
    assert [at(layout, register=r) for r in range(8)] == [
        (0, 0), (0, 1), (0, 32), (0, 33), (4, 0), (4, 1), (4, 32), (4, 33),
    ]  # fmt: skip


def test_blocked_repeats_elements_where_the_tile_is_smaller() -> None:
    layout = blocked((16,), (1,), (32,), (4,), (0,))
    assert layout.free_variable_masks() == {"register": 0, "lane": 16, "warp": 3, "block": 0}
    assert at(layout, lane=17, warp=2) == (1,)


def test_blocked_over_a_cluster() -> None:
    layout = blocked((128, 32), (1, 1), (1, 32), (4, 1), (1, 0), blocks=(2, 1))
    assert at(layout, block=1) == (64, 0)
    assert layout.is_invertible()


def test_a_scalar_is_held_by_every_thread() -> None:
    layout = blocked((), (), (), (), ())
    assert layout.outs == ()
    assert layout.in_dims == ("register", "lane", "warp", "block")


def test_accumulator_tiles_instructions_over_warps_then_registers() -> None:
    layout = mma_m16n8_accumulator((64, 32), (2, 2))
    atom = atoms.mma_accumulator()
    assert layout.is_invertible()
    for register, lane, warp in product(range(16), range(32), range(4)):
        inner = atom.apply(register=register % 4, lane=lane)
        rest = register // 4
        row = inner["row"] + 16 * (warp // 2) + 32 * (rest // 2)
        col = inner["col"] + 8 * (warp % 2) + 16 * (rest % 2)
        assert at(layout, register=register, lane=lane, warp=warp) == (row, col)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_operands_hold_what_the_accumulator_of_the_warp_needs(bits: int) -> None:
    warps, (m, n, k) = (2, 4), (64, 64, 64)
    a, b, c = (
        mma_operand_a((m, k), bits, warps),
        mma_operand_b((k, n), bits, warps),
        mma_m16n8_accumulator((m, n), warps),
    )
    for warp in range(8):

        def reached(layout: LinearLayout, axis: int, warp: int = warp) -> set[int]:
            inputs = product(range(layout.in_size("register")), range(32))
            return {at(layout, register=r, lane=lane, warp=warp)[axis] for r, lane in inputs}

        assert reached(a, 0) == reached(c, 0)
        assert reached(b, 1) == reached(c, 1)
        assert reached(a, 1) == reached(b, 0) == set(range(k))


def test_operand_registers_go_along_k_first() -> None:
    a = mma_operand_a((32, 32), 16, (1, 1))
    assert [at(a, register=8 * i) for i in range(4)] == [(0, 0), (0, 16), (16, 0), (16, 16)]
    b = mma_operand_b((32, 16), 16, (1, 1))
    assert [at(b, register=4 * i) for i in range(4)] == [(0, 0), (16, 0), (0, 8), (16, 8)]


def test_batched_accumulators_repeat_over_leading_axes() -> None:
    layout = mma_m16n8_accumulator((4, 16, 8), (2, 1, 1))
    assert at(layout, warp=1) == (1, 0, 0)
    assert at(layout, register=4) == (2, 0, 0)
    assert mma_operand_a((4, 16, 16), 16, (2, 1, 1)).is_invertible()


def test_wgmma_accumulator_of_two_warpgroups() -> None:
    layout = wgmma_accumulator((128, 64), (8, 1))
    assert layout.is_invertible()
    assert at(layout, warp=5, lane=5, register=6) == (64 + 16 + 1 + 8, 8 + 2)


def test_wgmma_accumulator_repeats_instructions_along_n_then_m() -> None:
    layout = wgmma_accumulator((128, 64), (4, 1), n=32)
    assert at(layout, register=16) == (0, 32)
    assert at(layout, register=32) == (64, 0)


def test_wgmma_operand_a_rows_are_those_of_the_accumulator() -> None:
    a, d = wgmma_operand_a((128, 16), 16, (8, 1)), wgmma_accumulator((128, 8), (8, 1))
    for warp, lane in product(range(8), range(32)):
        assert at(a, warp=warp, lane=lane)[0] == at(d, warp=warp, lane=lane)[0]


def test_slice_drops_the_axis_and_useless_registers() -> None:
    layout = mma_m16n8_accumulator((64, 64), (2, 2))
    rows = slice_dim(layout, 1)
    assert shape_of(rows) == (64,)
    assert rows.in_size("register") == 4
    masks = rows.free_variable_masks()
    assert (masks["lane"], masks["warp"]) == (0b11, 0b01)


@given(layouts())
def test_slice_of_expand_dims_is_the_layout(layout: LinearLayout) -> None:
    layout = layout.remove_zero_bases("register")
    for axis in range(3):
        assert slice_dim(expand_dims(layout, axis), axis) == layout


def test_broadcast_repeats_in_registers() -> None:
    column = expand_dims(blocked((32,), (1,), (32,), (1,), (0,)), 1)
    wide = broadcast(column, (32, 4))
    assert [at(wide, register=r, lane=7) for r in range(4)] == [(7, 0), (7, 1), (7, 2), (7, 3)]


@given(layouts())
def test_transpose_swaps_coordinates(layout: LinearLayout) -> None:
    assert coordinates(transpose(layout, (1, 0))) == [(b, a) for a, b in coordinates(layout)]


def test_transpose_of_three_axes_follows_the_permutation() -> None:
    layout = blocked((2, 4, 8), (2, 1, 1), (1, 4, 8), (1, 1, 1), (2, 1, 0))
    turned = transpose(layout, (2, 0, 1))
    assert shape_of(turned) == (8, 2, 4)
    assert coordinates(turned) == [(c, a, b) for a, b, c in coordinates(layout)]


def test_reshape_is_row_major() -> None:
    layout = blocked((8, 16), (1, 4), (8, 4), (1, 1), (1, 0))
    flat = reshape(layout, (4, 2, 16))
    assert coordinates(flat) == [(a // 2, a % 2, b) for a, b in coordinates(layout)]
    assert reshape(flat, (8, 16)) == layout


def test_cat_puts_the_second_tile_in_higher_registers() -> None:
    layout = blocked((4, 32), (2, 1), (1, 32), (2, 1), (1, 0))
    joined = cat(layout, 0)
    assert shape_of(joined) == (8, 32)
    assert at(joined, register=3, lane=1) == (5, 1)


@given(layouts(ins=("register", "lane", "warp")))
def test_reduction_steps_visit_each_position_of_the_axis_once(layout: LinearLayout) -> None:
    steps = reduction_steps(layout, 1)
    masks = layout.free_variable_masks()
    kept = {
        tuple(inputs.items()): at(layout, **inputs)
        for inputs in layout.inputs()
        if not any(inputs[name] & mask for name, mask in masks.items())
    }
    for start, where in kept.items():
        visited = set()
        for choice in range(1 << len(steps)):
            inputs = dict(start)
            for index, step in enumerate(steps):
                if choice >> index & 1:
                    inputs = {name: value ^ step[name] for name, value in inputs.items()}
            visited.add(at(layout, **inputs))
        assert len(visited) == 1 << len(steps)
        assert visited == {other for other in kept.values() if other[0] == where[0]}


def test_reduction_steps_of_an_accumulator_are_registers_and_butterflies() -> None:
    steps = reduction_steps(mma_m16n8_accumulator((16, 16), (1, 1)), 1)
    assert [{name: value for name, value in step.items() if value} for step in steps] == [
        {"register": 1}, {"register": 4}, {"lane": 1}, {"lane": 2},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: blocked((12,), (1,), (32,), (1,), (0,)), "expected powers of two"),
        (lambda: blocked((16, 16), (1,), (32, 1), (1, 1), (1, 0)), "expected 2 powers of two"),
        (lambda: blocked((16, 16), (1, 1), (32, 1), (1, 1), (1, 1)), "not a permutation"),
        (lambda: mma_m16n8_accumulator((8, 8), (1, 1)), r"at least \[16, 8\], found \[8, 8\]"),
        (lambda: mma_m16n8_accumulator((16,), (1,)), "expected one count for each axis"),
        (lambda: mma_operand_a((16, 8), 16, (1, 1)), r"needs at least \[16, 16\]"),
        (lambda: mma_operand_b((16, 8), 16, (1,)), "expected one count for each axis"),
        (lambda: wgmma_accumulator((64, 64), (2, 1)), "expected \\(4·i, j\\)"),
        (lambda: broadcast(blocked((4,), (1,), (32,), (1,), (0,)), (8,)), "cannot broadcast axis 0"),
        (lambda: slice_dim(blocked((4,), (1,), (32,), (1,), (0,)), 1), "no axis 1"),
        (lambda: transpose(blocked((4,), (1,), (32,), (1,), (0,)), (1,)), "not a permutation of the axes"),
        (lambda: reshape(blocked((4,), (1,), (32,), (1,), (0,)), (8,)), "total sizes differ"),
    ],
)
def test_impossible_layouts_are_refused(build: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        build()  # pyright: ignore[reportCallIssue]
