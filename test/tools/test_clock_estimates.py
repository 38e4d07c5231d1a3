"""tools/bench/clock_estimates.py, and what its results in docs/estimates.json say."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from docs.pages import ROOT

sys.path.insert(0, str(ROOT / "tools" / "bench"))

import clock_estimates
import gpu_page

FOUND: dict[str, Any] = json.loads((ROOT / "docs" / "estimates.json").read_text())
ROWS = clock_estimates.corpus_rows(FOUND)
NOISE = 1.005


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_no_kernel_for_large_launches_is_slower(row: list[str]) -> None:
    assert row[-1] == "same" or float(row[-1]) <= NOISE


def test_every_program_of_the_corpus_is_estimated_for_an_h100() -> None:
    programs = {path.stem for path in (ROOT / "test" / "corpus").glob("*.mlir")}
    assert {row[0] for row in ROWS if row[1] == "sm_90a"} == programs


def test_an_estimate_that_failed_is_not_on_the_page() -> None:
    key = "corpus vector_add_f32 sm_90a large"
    text = gpu_page.estimates_section({**FOUND, key: {"why": "no memory"}})
    assert "| vector_add_f32 | sm_90a" not in text and "| softmax_f32_1024 | sm_90a" in text


def test_what_the_file_has_is_not_estimated_again() -> None:
    import re

    left = clock_estimates.wanted(False, re.compile("corpus vector_add_f32 sm_90a"), FOUND)
    assert not list(left)
    again = clock_estimates.wanted(True, re.compile("corpus vector_add_f32 sm_90a"), FOUND)
    assert [launches for *_, launches in again] == ["any", "large"]
