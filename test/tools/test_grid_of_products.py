"""The grid of products: none of it spills or stays slow without a reason; a few are compiled in each run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed

from oracles import require_tool

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from grid_of_products import Row, grid, measured

SIZES, DEPTHS = [64, 128, 256], [32, 64, 128]


def test_any_products_use_wgmma_and_spill_nothing() -> None:
    require_tool("ptxas")
    rng = np.random.default_rng(fresh_seed())
    cases = list(grid(SIZES, DEPTHS))
    for number in rng.choice(len(cases), 3, replace=False):
        row = measured(cases[number])
        assert not row.is_wrong, row
        assert row.instruction == "wgmma", row


@pytest.mark.parametrize(
    "row",
    [
        Row("spills", "wgmma", "2", 168, 8, "", ""),
        Row("serialized", "wgmma", "2", 168, 0, "C7510", ""),
        Row("slow without a reason", "mma", "-", 255, 0, "", ""),
    ],
    ids=lambda row: row.name,
)
def test_what_is_wrong_is_told(row: Row) -> None:
    assert row.is_wrong
