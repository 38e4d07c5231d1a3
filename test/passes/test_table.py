"""The table of passes: complete, consistent, and every pipeline in order."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tessera_tools.passes.base import Pass
from tessera_tools.passes.order import ORDER, order_violations
from tessera_tools.passes.pipeline import parse_pass
from tessera_tools.passes.table import (
    PASSES,
    PIPELINES,
    STAGES,
    find_pass,
    pipeline_for,
)
from tessera_tools.target import targets


@pytest.mark.parametrize("name", PASSES)
def test_every_row_leads_to_its_pass(name: str) -> None:
    cls = find_pass(name)
    assert cls is not None
    assert issubclass(cls, Pass)
    assert cls.name == name
    assert cls.summary == PASSES[name].summary
    assert not cls.summary.endswith(".")


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_prints_and_parses_itself(name: str) -> None:
    cls = find_pass(name)
    assert cls is not None
    assert parse_pass(cls().text()) == cls()
    for entry in cls.options():
        assert entry.summary, f"option {entry.name} says nothing of itself"


def test_unknown_passes_are_not_found() -> None:
    assert find_pass("no-such-pass") is None


def test_every_target_has_a_pipeline() -> None:
    assert set(PIPELINES) == {target.name for target in targets()}


@pytest.mark.parametrize("target", PIPELINES)
def test_every_pipeline_keeps_the_order(target: str) -> None:
    names = [parse_pass(step.text).name for step in pipeline_for(target)]
    assert not order_violations(names)


@pytest.mark.parametrize("target", PIPELINES)
@pytest.mark.parametrize("stage", STAGES)
def test_a_later_stage_runs_a_suffix_of_the_pipeline(target: str, stage: str) -> None:
    whole, rest = pipeline_for(target), pipeline_for(target, stage)
    if stage == "tile":
        # A front door of its own, to nv_tileas.
        rest = [step for step in rest if step.stage != stage]
    assert rest == whole[len(whole) - len(rest) :]
    assert all(STAGES.index(step.stage) >= STAGES.index(stage) for step in rest)


def test_a_broken_order_is_told_with_its_reason() -> None:
    order = (("first", "second", "because"),)
    assert order_violations(["second", "first"], order) == ["'first' must run before 'second': because"]
    assert not order_violations(["first", "second", "first"], order)
    assert not order_violations(["second"], order)


def test_constraints_name_passes_of_the_table() -> None:
    assert {name for before, after, _ in ORDER for name in (before, after)} <= set(PASSES)


def test_the_table_imports_no_pass() -> None:
    code = (
        "import sys, tessera_tools.passes.table\n"
        "print([m for m in sys.modules if m.startswith(('tessera_tools.passes.b', 'tessera_tools.ir'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
