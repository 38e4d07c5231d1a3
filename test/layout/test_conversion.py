"""Conversions, each plan executed on every thread: what arrives is what the destination layout names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import resized, tiles

from tessera_tools.layout import (
    LaneShuffle,
    LayoutError,
    LinearLayout,
    MatrixAccess,
    RegisterMove,
    SharedRoundTrip,
    VectorAccess,
    blocked,
    classify,
    mma_m16n8_accumulator,
    mma_operand_a,
    plan_conversion,
    reshape,
    shared_round_trip,
    slice_dim,
    transpose,
)

Element = tuple[int, ...]
Thread = tuple[int, int]


def held(layout: LinearLayout) -> dict[Thread, list[Element]]:
    """What each (lane, warp) has in its registers."""
    return {
        (lane, warp): [
            tuple(layout.apply(register=register, lane=lane, warp=warp).values())
            for register in range(layout.in_size("register"))
        ]
        for lane in range(layout.in_size("lane"))
        for warp in range(layout.in_size("warp"))
    }


def execute(
    plan: RegisterMove | LaneShuffle, source: dict[Thread, list[Element]], count: int
) -> dict[Thread, list[Element | None]]:
    result: dict[Thread, list[Element | None]] = {thread: [None] * count for thread in source}
    if isinstance(plan, RegisterMove):
        for (lane, warp), values in source.items():
            picked = [plan.source.evaluate(i, lane=lane, warp=warp) for i in range(count)]
            result[lane, warp] = [values[register] for register in picked]
        return result
    for index in range(plan.rounds):
        # Every lane offers one register before any lane reads: this is shfl.sync.idx.
        offered = {
            (lane, warp): values[plan.provided.evaluate(index, lane=lane, warp=warp)]
            for (lane, warp), values in source.items()
        }
        for lane, warp in source:
            read = plan.source_lane.evaluate(index, lane=lane, warp=warp)
            target = plan.target.evaluate(index, lane=lane, warp=warp)
            result[lane, warp][target] = offered[read, warp]
    for values in result.values():
        for register, origin in plan.copies:
            values[register] = values[origin]
    return result


def lines(plan: VectorAccess | MatrixAccess, lane: int, warp: int) -> dict[int, int]:
    """register → offset for the vectors of one thread."""
    assert isinstance(plan, VectorAccess)
    where = {
        register: plan.address.evaluate(index, lane=lane, warp=warp) + step
        for index, group in enumerate(plan.groups)
        for step, register in enumerate(group)
    }
    return where | {register: where[source] for register, source in plan.copies}


def execute_shared(
    plan: SharedRoundTrip, source: dict[Thread, list[Element]], count: int
) -> dict[Thread, list[Element | None]]:
    memory: dict[int, Element] = {}
    masks = dict(plan.store_masks)
    for (lane, warp), values in source.items():
        if lane & masks.get("lane", 0) or warp & masks.get("warp", 0):
            continue
        for register, offset in lines(plan.store, lane, warp).items():
            assert memory.setdefault(offset, values[register]) == values[register]
    result: dict[Thread, list[Element | None]] = {}
    for lane, warp in source:
        where = lines(plan.load, lane, warp)
        result[lane, warp] = [memory[where[register]] for register in range(count)]
    return result


def check(src: LinearLayout, dst: LinearLayout, bits: int = 32) -> str:
    plan = plan_conversion(src, dst, bits)
    count = dst.in_size("register")
    if isinstance(plan, SharedRoundTrip):
        assert execute_shared(plan, held(src), count) == held(dst)
    else:
        assert execute(plan, held(src), count) == held(dst)
    kind = classify(src, dst)
    assert (kind == "shared") == isinstance(plan, SharedRoundTrip)
    assert (kind == "shuffle") == isinstance(plan, LaneShuffle)
    return kind


@settings(max_examples=60, deadline=None)
@given(tiles(7, 2, 3), tiles(7, 2, 3), st.sampled_from([16, 32]))
def test_any_tile_to_any_tile(src: LinearLayout, dst: LinearLayout, bits: int) -> None:
    check(src, dst, bits)


@settings(max_examples=80, deadline=None)
@given(tiles(6, 3, 3), tiles(6, 3, 3))
def test_within_one_warp_shuffles_always_serve(src: LinearLayout, dst: LinearLayout) -> None:
    assert check(src, dst) in ("identity", "registers", "select", "shuffle")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 31), min_size=2, max_size=4),
    st.lists(st.integers(0, 31), min_size=3, max_size=3),
    tiles(5, 2, 2),
    st.booleans(),
)
def test_repeats_in_the_destination(
    registers: list[int], lanes: list[int], base: LinearLayout, reverse: bool
) -> None:
    """Destinations where registers and lanes repeat elements or leave some out."""
    src = resized(base, "lane", 8)
    dst = LinearLayout.from_columns(
        [("register", 1 << len(registers)), ("lane", 8), ("warp", 2)], base.outs, [*registers, *lanes, 16]
    )
    check(src, dst)
    if reverse and dst.is_surjective():
        check(dst, src)


def test_the_same_layout_is_the_identity() -> None:
    tile = blocked((16, 64), (1, 4), (4, 8), (4, 1), (1, 0))
    assert check(tile, tile) == "identity"
    assert check(tile, reshape(reshape(tile, (1024,)), (16, 64))) == "identity"


def test_other_registers_of_the_same_thread_cost_nothing() -> None:
    src = blocked((2, 64), (2, 2), (1, 32), (1, 1), (1, 0))
    dst = blocked((2, 64), (2, 2), (1, 32), (1, 1), (0, 1))
    assert check(src, dst) == "registers"


def test_registers_chosen_by_lane_need_no_shuffle() -> None:
    src = LinearLayout({"register": [(1,)], "lane": [(0,), (2,)], "warp": []}, {"dim0": 4})
    dst = LinearLayout({"register": [], "lane": [(1,), (2,)], "warp": []}, {"dim0": 4})
    assert check(src, dst) == "select"


def test_a_transposition_of_registers_and_lanes_shuffles() -> None:
    src = blocked((4, 4), (1, 4), (4, 1), (1, 1), (1, 0))
    dst = transpose(src, (1, 0))
    plan = plan_conversion(src, dst, 32)
    assert isinstance(plan, LaneShuffle)
    assert plan.rounds == 4
    assert check(src, dst) == "shuffle"


def test_an_accumulator_becomes_an_operand_without_moving() -> None:
    # The fact that attention kernels live on: P = softmax(S) is already where the next product wants it.
    accumulator = mma_m16n8_accumulator((64, 16), (4, 1))
    operand = mma_operand_a((64, 16), 16, (4, 1))
    assert check(accumulator, operand) == "identity"


def test_between_warps_goes_through_shared_memory() -> None:
    src = blocked((64, 64), (1, 4), (4, 8), (4, 1), (1, 0))
    dst = mma_m16n8_accumulator((64, 64), (2, 2))
    plan = plan_conversion(src, dst, 32)
    assert isinstance(plan, SharedRoundTrip)
    assert plan.scratch_bytes == 64 * 64 * 4
    assert plan.choice.is_conflict_free
    assert check(src, dst) == "shared"


def test_lanes_that_repeat_need_not_store() -> None:
    rows = slice_dim(mma_m16n8_accumulator((64, 64), (2, 2)), 1)
    dst = blocked((64,), (1,), (32,), (4,), (0,))
    plan = plan_conversion(rows, dst, 32)
    assert isinstance(plan, SharedRoundTrip)
    assert dict(plan.store_masks) == {"lane": 0b11, "warp": 0b01}
    assert check(rows, dst) == "shared"


def test_lanes_that_all_read_one_lane_go_through_shared_memory() -> None:
    # Every lane of warp w wants its own register of lane w: one shuffle gives one register of a lane to all.
    src = LinearLayout({"register": [(1,)], "lane": [(2,)], "warp": [(0,)]}, {"dim0": 4})
    dst = LinearLayout({"register": [], "lane": [(1,)], "warp": [(2,)]}, {"dim0": 4})
    assert check(src, dst) == "shared"


def test_a_bound_on_shuffles_sends_long_ones_through_shared_memory() -> None:
    src = blocked((4, 4), (1, 4), (4, 1), (1, 1), (1, 0))
    assert isinstance(plan_conversion(src, transpose(src, (1, 0)), 32, max_shuffles=3), SharedRoundTrip)


def test_ldmatrix_and_stmatrix_are_taken_where_they_pay() -> None:
    accumulator = mma_m16n8_accumulator((64, 64), (4, 1))
    rows = blocked((64, 64), (1, 8), (4, 8), (4, 1), (1, 0))
    plan = shared_round_trip(accumulator, rows, 16, matrix_store=True)
    assert isinstance(plan.store, MatrixAccess)
    back = shared_round_trip(rows, mma_operand_a((64, 64), 16, (2, 2)), 16, matrix_load=True)
    assert isinstance(back.load, MatrixAccess)
    assert back.choice.is_conflict_free


def test_stmatrix_is_not_taken_where_lanes_hold_repeats() -> None:
    accumulator = mma_m16n8_accumulator((64, 64), (4, 1))
    rows = blocked((64, 64), (1, 8), (4, 8), (4, 1), (1, 0))
    bases = accumulator.bases
    bases["register"] += bases["lane"][:1]
    bases["lane"] = ((0, 0), *bases["lane"][1:])
    plan = shared_round_trip(LinearLayout(bases, accumulator.outs), rows, 16, matrix_store=True)
    assert dict(plan.store_masks) == {"lane": 1}
    assert isinstance(plan.store, VectorAccess)


TILE = blocked((4, 64), (1, 2), (1, 32), (2, 1), (1, 0))


@pytest.mark.parametrize(
    ("dst", "message"),
    [
        (reshape(TILE, (8, 32)), "layouts of different tiles"),
        (blocked((4, 64), (1, 2), (1, 32), (4, 1), (1, 0)), "2 and 4 positions of 'warp'"),
        (TILE.rename({"lane": "thread"}), "'thread' is not a coordinate of a thread"),
    ],
)
def test_what_cannot_be_converted_is_refused(dst: LinearLayout, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        plan_conversion(TILE, dst, 32)


def test_a_source_with_gaps_is_refused() -> None:
    with pytest.raises(LayoutError, match="does not hold every element"):
        plan_conversion(resized(TILE, "register", 1), TILE, 32)


def test_a_conversion_within_each_cta_goes_through_its_shared_memory() -> None:
    src = blocked((8, 64), (1, 2), (1, 32), (2, 1), (1, 0), blocks=(2, 1))
    dst = blocked((8, 64), (4, 1), (1, 32), (1, 2), (0, 1), blocks=(2, 1))
    assert src != dst
    assert shared_round_trip(src, dst, 32).choice.layout.is_invertible()


def test_elements_do_not_cross_ctas() -> None:
    src = blocked((4, 64), (1, 1), (1, 32), (1, 1), (1, 0), blocks=(2, 1))
    dst = blocked((4, 64), (1, 1), (1, 32), (1, 1), (1, 0), blocks=(1, 2))
    with pytest.raises(LayoutError, match="would cross CTAs"):
        plan_conversion(src, dst, 32)
