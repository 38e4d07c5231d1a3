"""docs/support.md: it has every op, and what it says of some cases, drawn anew in each run, is so."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from programs import TARGETS, check_tools, fresh_seed
from run_cache import once_in_a_run
from support.prove import Case, cases, dialect_refuses, prove
from support.table import ROWS
from support.writer import ELEMENTS, NONE

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile import legacy
from tessera_tools.opdef.dialect import find_dialect

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "support.md").read_text("utf-8")
SAMPLE = 150
"""Programs that are proven in a run of the tests."""


@pytest.fixture(name="tool", scope="module")
def _tool() -> Any:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("support_table")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@once_in_a_run
def _cases() -> list[Case]:
    return cases()


@pytest.fixture(name="every", scope="module")
def _every() -> list[Case]:
    return _cases()


def test_every_op_has_a_row() -> None:
    dialect = find_dialect("cuda_tile")
    assert dialect is not None
    older = {
        cls.definition.name
        for cls in vars(legacy).values()
        if getattr(cls, "__module__", "") == legacy.__name__ and hasattr(cls, "definition")
    }
    names = {name.removeprefix("cuda_tile.") for name in dialect.ops} - {
        n.removeprefix("cuda_tile.") for n in older
    }
    assert names - {"testing$func"} == set(ROWS)


def test_the_page_has_a_cell_where_the_dialect_has_a_program(tool: Any, every: list[Case]) -> None:
    there = {(case.op, case.element) for case in every}
    for op in ROWS:
        for element in (*ELEMENTS, NONE):
            found = tool.expected(PAGE, Case(op, element, ""), "sm_80")
            assert (found is not None) == ((op, element) in there), f"{op} of {element}: run `{tool.COMMAND}`"


def test_the_page_is_written_of_its_outcomes(tool: Any, every: list[Case]) -> None:
    assert tool.page(tool.outcomes(PAGE, every)) == PAGE, f"docs/support.md is stale: run `{tool.COMMAND}`"


def test_what_the_page_says_of_some_cases_is_so(tool: Any, every: list[Case]) -> None:
    choice = random.Random(fresh_seed("cases"))
    for case in choice.sample(every, SAMPLE):
        target = choice.choice(TARGETS)
        found = tool.reason(prove(case, target, choice.randrange(1 << 30)))
        assert found == tool.expected(PAGE, case, target), f"{case} on {target}: run `{tool.COMMAND}`"


def test_the_tools_take_some_of_the_programs(every: list[Case]) -> None:
    choice = random.Random(fresh_seed("cases"))
    taken = 0
    while taken < 12:
        case, target, seed = choice.choice(every), choice.choice(TARGETS), choice.randrange(1 << 30)
        if prove(case, target, seed) == "":
            check_tools(case.writer(seed).text(), target)
            taken += 1


def test_a_program_that_computes_something_else_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from reference import machine

    def wrong(m: Any, op: Any) -> None:
        m.set(op, m.get(op.lhs))

    monkeypatch.setitem(machine.HANDLERS, ct.AddI, wrong)
    with pytest.raises(AssertionError, match="argument 2"):
        prove(Case("addi", "i32", ""), "sm_80", 1)


def test_what_the_dialect_has_not_is_no_case(every: list[Case]) -> None:
    assert "must be tile of i1 or i8" in (dialect_refuses(Case("addi", "i4", "")) or "")
    assert Case("addi", "i4", "") not in every
    assert Case("exti", "i4", "i32 signed") in every


def test_a_refusal_is_found_on_the_page(tool: Any) -> None:
    text = (
        "| op | f16 | - |\n| --- | - | - |\n| `sin` | 1, 2 | |\n\n"
        "1. sm_80, sm_90a: no sine (in the form `a`, `b`)\n2. nothing\n"
    )
    assert tool.expected(text, Case("sin", "f16", "a"), "sm_80") == "no sine"
    assert tool.expected(text, Case("sin", "f16", "c"), "sm_80") == "nothing"
    assert tool.expected(text, Case("sin", "f16", "a"), "sm_120a") == "nothing"
    assert tool.expected(text, Case("sin", "-", ""), "sm_80") is None
    assert tool.expected(text, Case("cos", "f16", ""), "sm_80") is None
