"""docs/tile.md: the estimates of registers, and what the report says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tessera_tools.passes.tile.analyze import ESTIMATED

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\| (\w+) \| \d+ \| \d+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|")
"""The name of an example; estimate and measurement for sm_80, and for sm_90a."""


@pytest.mark.parametrize(("target", "column"), [("sm_80", 1), ("sm_90a", 3)])
def test_the_report_says_how_far_off_the_estimate_was_on_the_examples(target: str, column: int) -> None:
    rows = ROW.findall((ROOT / "docs" / "tile.md").read_text())
    assert {row[0] for row in rows} <= {path.stem for path in (ROOT / "examples").iterdir()} and len(
        rows
    ) >= 10
    most = max(abs(int(row[column]) - int(row[column + 1])) for row in rows)
    assert re.search(rf"{most}( more or fewer)? for {target}", ESTIMATED)
