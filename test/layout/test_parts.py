"""Parts of a conversion: every register is in one of them, and holds there what it holds in the tile."""

from __future__ import annotations

import pytest

from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    blocked,
    mma_m16n8_accumulator,
    most_parts,
    parted_round_trip,
    transpose,
)

ROWS = blocked((32, 64), (1, 4), (4, 8), (2, 1), (1, 0))
COLUMNS = transpose(blocked((64, 32), (1, 4), (4, 8), (2, 1), (1, 0)), (1, 0))
ACCUMULATOR = mma_m16n8_accumulator((32, 64), (1, 2))
MIXED = LinearLayout(
    {
        "register": [(0, 1), (0, 2), (16, 32), (16, 0), (8, 0)],
        "lane": [(0, 4), (0, 8), (0, 16), (1, 0), (2, 0)],
        "warp": [(4, 0)],
        "block": [],
    },
    {"dim0": 32, "dim1": 64},
)
"""A register moves two bits at once."""


def places(layout: LinearLayout, registers: range | tuple[int, ...]) -> list[tuple[tuple[int, ...], ...]]:
    """Where each register is, in every thread."""
    return [
        tuple(
            tuple(layout.apply(register=r, lane=lane, warp=warp).values())
            for lane in range(layout.in_size("lane"))
            for warp in range(layout.in_size("warp"))
        )
        for r in registers
    ]


@pytest.mark.parametrize(
    ("src", "dst"),
    [(ROWS, COLUMNS), (ROWS, ACCUMULATOR), (ACCUMULATOR, ROWS), (MIXED, ROWS), (ROWS, MIXED)],
    ids=["transposed", "to mma", "from mma", "from mixed", "to mixed"],
)
def test_parts_hold_the_tile(src: LinearLayout, dst: LinearLayout) -> None:
    most = most_parts(src, dst)
    assert most > 1
    for parts in (1 << n for n in range(most.bit_length())):
        plan = parted_round_trip(src, dst, parts, 32)
        assert plan.scratch_bytes == 32 * 64 * 4 // parts
        for layout, part, registers in (
            (src, plan.source, plan.store_registers),
            (dst, plan.target, plan.load_registers),
        ):
            assert sorted(r for some in registers for r in some) == list(range(layout.in_size("register")))
            inside = places(part, range(part.in_size("register")))
            for some in registers:
                # One coordinate of the part for each of the tile, the same one in every register and thread.
                named = dict(
                    pair
                    for ours, theirs in zip(inside, places(layout, some), strict=True)
                    for pair in zip(theirs, ours, strict=True)
                )
                assert len(named) == len(set(named.values())) == 32 * 64 // parts
                for ours, theirs in zip(inside, places(layout, some), strict=True):
                    assert ours == tuple(named[place] for place in theirs)
        # Both sides name the places of a part alike.
        for stores, loads in zip(plan.store_registers, plan.load_registers, strict=True):
            sides = [
                dict(
                    pair
                    for ours, theirs in zip(
                        places(part, range(part.in_size("register"))), places(layout, some), strict=True
                    )
                    for pair in zip(theirs, ours, strict=True)
                )
                for layout, part, some in ((src, plan.source, stores), (dst, plan.target, loads))
            ]
            assert sides[0] == sides[1]


def test_more_parts_than_registers_allow_are_refused() -> None:
    most = most_parts(ROWS, COLUMNS)
    with pytest.raises(LayoutError, match=f"{2 * most} parts, expected a power of two up to {most}"):
        parted_round_trip(ROWS, COLUMNS, 2 * most, 32)
    with pytest.raises(LayoutError, match="3 parts, expected a power of two"):
        parted_round_trip(ROWS, COLUMNS, 3, 32)
