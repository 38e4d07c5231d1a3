"""tools/fuzz_programs.py: programs of fresh seeds compile and agree; what is wrong is seen, and made smaller."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from programs import TARGETS, check_tools, fresh_seed

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(name="fuzz")
def _fuzz(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "fuzz_programs", raising=False)
    return importlib.import_module("fuzz_programs")


def test_programs_of_a_fresh_seed_have_four_equal_results(fuzz: Any) -> None:
    seed = fresh_seed("programs")
    for number in range(seed, seed + 40):
        _, what, text, _ = fuzz.one(number)
        assert what is None, f"seed {number}: {what}\n{text}"


def test_the_tools_take_some_programs(fuzz: Any) -> None:
    seed = fresh_seed("programs")
    for number in range(seed, seed + 4):
        check_tools(fuzz.Generator(random.Random(number)).program().text(), TARGETS[number % len(TARGETS)])


def test_a_wrong_result_is_found_and_its_program_made_smaller(
    fuzz: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reference import machine

    from tessera_tools.dialects import cuda_tile as ct

    right = machine.HANDLERS[ct.XOrI]

    def wrong(m: Any, op: Any) -> None:
        right(m, op)
        m.values[op.result] = 1 - m.values[op.result]

    monkeypatch.setitem(machine.HANDLERS, ct.XOrI, wrong)
    for seed in range(2000):
        program = fuzz.Generator(random.Random(seed)).program()
        if " xori " in program.text() and (what := fuzz.failure(program, seed)) is not None:
            break
    else:
        raise AssertionError("no program shows the difference")
    assert what.endswith("differs from the reference")
    small = fuzz.shrink(program, seed, what)
    assert " xori " in small.text()
    assert len(small.statements) <= len(program.statements)
