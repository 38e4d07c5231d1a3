"""Products of adjacent warps run together, each once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tessera_tools.sim.warpgroup import Decoded, Product, Reads, run_all


class Recorded:
    """A product that notes the warps for which it is computed."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.product = Product(self._compute, rows_axis=0)

    def _compute(self, warps: list[Any], *others: Any) -> None:
        self.calls.append([warp.index for warp in warps])

    def part(self, index: int, *, finished: bool = False, b: int = 0, accumulate: bool = True) -> Reads:
        rows = np.zeros((1, 1, 32), np.uint32)
        units = np.full((2, 2), b, np.uint8)
        warp: Any = SimpleNamespace(index=index)
        return Reads([units], [warp], None, rows, units, accumulate, self.product, finished)


def test_adjacent_warps_are_one_computation() -> None:
    made = Recorded()
    parts = [made.part(index) for index in (2, 0, 3, 1)]
    run_all(parts, Decoded())
    assert made.calls == [[0, 1, 2, 3]]
    assert all(part.finished for part in parts)


@pytest.mark.parametrize(("ready", "calls"), [(0, [[1]]), (1, [[0]])])
def test_a_part_that_is_finished_is_not_added_again(ready: int, calls: list[list[int]]) -> None:
    made = Recorded()
    run_all([made.part(0, finished=ready == 0), made.part(1, finished=ready == 1)], Decoded())
    assert made.calls == calls


@pytest.mark.parametrize(
    "other", [{"index": 2}, {"index": 1, "b": 1}, {"index": 1, "accumulate": False}], ids=str
)
def test_what_differs_is_computed_apart(other: dict[str, Any]) -> None:
    made = Recorded()
    run_all([made.part(0), made.part(**other)], Decoded())
    assert made.calls == [[0], [other["index"]]]


def test_parts_of_two_products_are_computed_apart() -> None:
    one, two = Recorded(), Recorded()
    run_all([one.part(0), two.part(1)], Decoded())
    assert (one.calls, two.calls) == ([[0]], [[1]])
