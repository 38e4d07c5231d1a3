"""Plans of reductions and scans, executed on every thread with sets and sequences of elements."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import tiles

from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    blocked,
    mma_m16n8_accumulator,
    slice_dim,
    transpose,
)
from tessera_tools.layout.reduction import (
    Exchange,
    Gather,
    Reduction,
    is_scannable,
    plan_reduction,
    plan_scan,
    span,
)

Thread = tuple[int, int]
Element = tuple[int, ...]


def threads(layout: LinearLayout) -> list[Thread]:
    return [(lane, warp) for warp in range(layout.in_size("warp")) for lane in range(layout.in_size("lane"))]


def element(layout: LinearLayout, register: int, thread: Thread) -> Element:
    return tuple(layout.apply(register=register, lane=thread[0], warp=thread[1]).values())


def gathered(gather: Gather, values: dict[Thread, list[Any]]) -> dict[Thread, list[list[Any]]]:
    found = exchanged(gather, values)
    return {t: [mine[w :: gather.count] for w in range(gather.count)] for t, mine in found.items()}


def exchanged(gather: Exchange, values: dict[Thread, list[Any]]) -> dict[Thread, list[Any]]:
    """What goes through shared memory: all copies of one place must be the same."""
    memory: dict[Element, Any] = {}
    for thread, mine in values.items():
        for register, value in enumerate(mine):
            place = element(gather.before, register, thread)
            assert memory.setdefault(place, value) == value
    registers = range(gather.after.in_size("register"))
    return {t: [memory[element(gather.after, r, t)] for r in registers] for t in values}


def reduced(source: LinearLayout, axis: int, plan: Reduction) -> dict[Thread, list[frozenset[Element]]]:
    """The elements that each register of the result is made of; none may be used twice."""

    def join(parts: list[frozenset[Element]]) -> frozenset[Element]:
        assert sum(map(len, parts)) == len(frozenset().union(*parts))
        return frozenset().union(*parts)

    values = {
        t: [join([frozenset({element(source, r, t)}) for r in group]) for group in plan.groups]
        for t in threads(source)
    }
    for step in plan.steps:
        values = {
            (lane, warp): [
                join([own, values[lane ^ step.lanes, warp][other]])
                for own, other in zip(mine, step.partners, strict=True)
            ]
            for (lane, warp), mine in values.items()
        }
    made = {t: [mine[i] for i in plan.values] for t, mine in values.items()}
    if plan.gather is None:
        return made
    made = {t: [join(list(p)) for p in zip(*w, strict=True)] for t, w in gathered(plan.gather, made).items()}
    return made if plan.spread is None else exchanged(plan.spread, made)


def check_reduction(source: LinearLayout, axis: int) -> None:
    result = slice_dim(source, axis)
    size = source.out_size(f"dim{axis}")
    for thread, values in reduced(source, axis, plan_reduction(source, axis)).items():
        for register, found in enumerate(values):
            rest = element(result, register, thread)
            assert found == {(*rest[:axis], i, *rest[axis:]) for i in range(size)}


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(0, 1))
def test_every_thread_gets_each_element_once_in_any_layout(data: st.DataObject, axis: int):
    check_reduction(data.draw(tiles(6, 2, 2)), axis)


BLOCKED = [
    blocked((64,), (2,), (8,), (2,), (0,)),
    blocked((4, 32), (1, 4), (2, 4), (2, 2), (1, 0)),
    blocked((8, 16), (2, 1), (4, 2), (1, 4), (0, 1)),
    blocked((2, 4, 4), (1, 1, 2), (1, 4, 2), (2, 1, 2), (2, 1, 0)),
    transpose(blocked((4, 32), (1, 2), (2, 4), (1, 4), (0, 1)), (1, 0)),
    # Warps that hold what others hold, alone and together with lanes.
    LinearLayout(
        {"register": [], "lane": [(0, 1)], "warp": [(1, 0), (1, 1), (1, 0)], "block": []},
        {"dim0": 2, "dim1": 2},
    ),
    # Many elements of many warps.
    blocked((16, 32), (2, 4), (1, 2), (8, 1), (1, 0)),
    blocked((4, 64), (1, 2), (1, 2), (4, 1), (1, 0)),
    # More threads than elements, and more elements than threads.
    blocked((8,), (1,), (32,), (4,), (0,)),
    blocked((2, 256), (1, 1), (1, 4), (1, 2), (1, 0)),
]


SCANNABLE = [layout for layout in BLOCKED if is_scannable(layout, 0)]


@pytest.mark.parametrize("source", BLOCKED)
def test_blocked_layouts_reduce_along_every_axis(source: LinearLayout):
    for axis in range(len(source.out_dims)):
        check_reduction(source, axis)


def test_a_row_over_a_cta_takes_a_shuffle_for_each_lane_bit_and_one_exchange():
    plan = plan_reduction(blocked((1, 1024), (1, 4), (1, 32), (1, 4), (1, 0)), 1)
    assert [len(group) for group in plan.groups] == [8]
    assert [step.lanes for step in plan.steps] == [1, 2, 4, 8, 16]
    assert plan.gather is not None
    assert plan.gather.count == 4


def test_warps_share_the_work_where_it_is_much():
    plan = plan_reduction(blocked((16, 32), (2, 4), (1, 2), (8, 1), (1, 0)), 0)
    assert plan.gather is not None
    assert plan.spread is not None
    # 8 warps of 16 elements each: a thread combines 8 values of 2 elements, and is given the others.
    assert (plan.gather.count, plan.gather.after.in_size("register")) == (8, 16)
    assert (plan.spread.before.in_size("register"), plan.spread.after.in_size("register")) == (2, 16)


def test_rows_of_an_accumulator_are_reduced_by_two_shuffles():
    plan = plan_reduction(mma_m16n8_accumulator((64, 64), (4, 1)), 1)
    assert [step.lanes for step in plan.steps] == [1, 2]
    assert plan.gather is None


def test_a_result_may_have_its_registers_in_another_order():
    source = blocked((4, 4), (4, 1), (1, 4), (1, 1), (1, 0))
    swapped = LinearLayout({**slice_dim(source, 1).bases, "register": [(2,), (1,)]}, {"dim0": 4})
    plan = plan_reduction(source, 1, swapped)
    assert [plan.groups[i] for i in plan.values] == [(0,), (2,), (1,), (3,)]


def test_a_result_in_other_threads_is_refused():
    source = blocked((4, 4), (4, 1), (1, 4), (1, 1), (1, 0))
    other = LinearLayout({"register": [(1,)], "lane": [(2,), (0,)], "warp": [], "block": []}, {"dim0": 4})
    with pytest.raises(LayoutError, match="a reduction along axis 1 of"):
        plan_reduction(source, 1, other)


def test_elements_of_several_ctas_are_refused():
    source = blocked((8,), (1,), (4,), (1,), (0,), blocks=(2,))
    with pytest.raises(LayoutError, match="along axis 0 would cross CTAs"):
        plan_reduction(source, 0)


def check_scan(layout: LinearLayout, axis: int) -> None:
    """Blocks grow run by run: after all runs, a thread knows the axis' coordinate of each of its elements."""
    plan = plan_scan(layout, axis)
    for register in range(layout.in_size("register")):
        for thread in threads(layout):
            coordinate, low = 0, 0
            original = plan.originals[register]
            assert element(layout, original, thread) == element(layout, register, thread)
            index = {"register": original, "lane": thread[0], "warp": thread[1]}
            for run in plan.runs:
                assert list(run.bits) == sorted(run.bits)
                assert (run.gather is not None) == (run.kind == "warp")
                for bit in run.bits:
                    coordinate |= (index[run.kind] >> bit & 1) << low
                    low += 1
            assert coordinate == element(layout, register, thread)[axis]
    assert set(plan.originals) == set(span([1 << bit for bit in plan.registers]))


@pytest.mark.parametrize("layout", [*SCANNABLE, mma_m16n8_accumulator((32, 32), (2, 2))])
def test_the_runs_of_a_scan_are_the_coordinate(layout: LinearLayout):
    for axis in range(len(layout.out_dims)):
        assert is_scannable(layout, axis)
        check_scan(layout, axis)


@pytest.mark.parametrize("layout", [*SCANNABLE, mma_m16n8_accumulator((32, 32), (2, 2))])
def test_warps_exchange_the_totals_of_what_lies_below(layout: LinearLayout):
    for axis in range(len(layout.out_dims)):
        plan = plan_scan(layout, axis)
        bits = list(plan.registers)
        low = 0
        for run in plan.runs:
            high = low + len(run.bits)
            if run.kind == "register":
                bits = [bit for bit in bits if bit not in run.bits]
            if run.gather is not None:
                values = {}
                for thread in threads(layout):
                    found = [element(layout, r, thread) for r in span([1 << b for b in bits])]
                    values[thread] = [(*e[:axis], e[axis] >> low, *e[axis + 1 :]) for e in found]
                for thread, warps in gathered(run.gather, values).items():
                    for number, totals in enumerate(warps):
                        for own, total in zip(values[thread], totals, strict=True):
                            wanted = own[axis] >> high - low << high - low | number
                            assert total == (*own[:axis], wanted, *own[axis + 1 :])
            low = high


def test_a_coordinate_that_is_no_selection_of_bits_is_refused():
    mixed = LinearLayout(
        {"register": [(1, 1)], "lane": [(1, 0)], "warp": [], "block": []}, {"dim0": 2, "dim1": 2}
    )
    assert not is_scannable(mixed, 0)
    with pytest.raises(LayoutError, match="the coordinate of axis 0 is not a selection of bits in"):
        plan_scan(mixed, 0)
