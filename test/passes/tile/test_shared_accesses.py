"""Wavefronts of a whole block's accesses of a tile."""

from __future__ import annotations

import pytest

from tessera_tools.layout import LinearLayout, row_major
from tessera_tools.layout.access import vector_access
from tessera_tools.passes.tile.shared_accesses import counted

WARPS = 4
REGISTERS = LinearLayout(
    {"register": [], "lane": [(0, 1 << n) for n in range(5)], "warp": [(1, 0), (2, 0)]},
    {"dim0": 4, "dim1": 32},
)


@pytest.mark.parametrize(("idle", "warps"), [({}, 4), ({"warp": 1}, 2), ({"warp": 2}, 2), ({"warp": 3}, 1)])
def test_warps_that_take_no_part_cost_nothing(idle: dict[str, int], warps: int) -> None:
    plan = vector_access(REGISTERS, row_major((4, 32)), 32)
    found, one = counted(plan, 32, WARPS, idle), counted(plan, 32, 1)
    assert (found.total, found.ideal) == (warps * one.total, warps * one.ideal)
