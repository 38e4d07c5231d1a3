"""Spilled fragments: a budget that is met exactly is met, and one register less is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.analysis.divergence import divergent_values
from tessera_tools.analysis.fragments import fragments_of
from tessera_tools.dialects import func, tile
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.tile.registers import Spiller
from tessera_tools.target import lookup

TEXT = (Path(__file__).parent / "tile-memory-management-registers.mlir").read_text()


def spiller_of(name: str) -> tuple[Operation, Spiller]:
    """A function of the test file, and the spiller of its fragments for sm_80."""
    module = parse_module(TEXT, "registers.mlir")
    function = next(op for op in module.walk() if isinstance(op, func.Func) and op.sym_name.value == name)
    return function, Spiller(function, fragments_of(function), divergent_values(function), lookup("sm_80"))


@pytest.mark.parametrize(("missing", "spilled"), [(0, 0), (1, 1)])
def test_fragments_are_spilled_when_they_are_over_the_budget(missing: int, spilled: int) -> None:
    function, spiller = spiller_of("spilling")
    peak, _ = spiller.peak()
    spiller.limit = peak - missing
    count, left, place = spiller.run()
    assert (count, place) == (spilled, None)
    assert left == peak if spilled == 0 else left <= spiller.limit
    assert sum(isinstance(op, tile.Spill) for op in function.walk()) == spilled
