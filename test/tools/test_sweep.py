"""tools/sweep.py: programs in both modes and on several schedules, and what it says of wrong ones."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import sweep

GEMM = "corpus/gemm_f16_64x64x32"


def test_every_file_is_a_program() -> None:
    names = [program.name for program in sweep.programs()]
    assert len(names) == len(set(names))
    for folder in ("corpus", "examples"):
        root = sweep.ROOT if folder == "examples" else sweep.ROOT / "test"
        files = {path.stem for path in (root / folder).glob("*.mlir")}
        assert {f"{folder}/{stem}" for stem in files if not stem.startswith("distributed_")} <= set(names)


@pytest.mark.parametrize("name", [GEMM, "examples/softmax", "cutile/scans"])
def test_a_sweep_has_both_modes_and_each_schedule_on_whole_and_ragged_arrays(name: str) -> None:
    line, programs, launches, problems = sweep.swept((name, "sm_90a", fresh_seed(), 1))
    assert (programs, launches, problems) == (1, 4, [])
    assert "4 launches, 0 wrong" in line


def test_a_wrong_number_and_a_finding_are_told() -> None:
    program = next(one for one in sweep.programs() if one.name == "examples/copy_bounds")
    made = sweep.compile_program(program, "sm_90a")
    case = program.case(np.random.default_rng(fresh_seed()), True, False)
    assert case is not None
    assert sweep.wrong(made, case, "sm_90a", "late", 0) == ""

    def refuse(arrays: list[sweep.Array]) -> None:
        sweep.close(arrays[0] + 1, arrays[1], 0.0)

    assert "Not equal" in sweep.wrong(made, replace(case, judge=refuse), "sm_90a", "late", 0)
    short = replace(case, args=[np.zeros(0, np.float32), *case.args[1:]])
    assert "out-of-bounds" in sweep.wrong(made, short, "sm_90a", "late", 0)


def test_mutants_of_a_program_are_noticed() -> None:
    line, _, launches, alive = sweep.mutated((GEMM, "sm_90a", fresh_seed(), 4))
    assert (launches, alive) == (4, [])
    assert "4 of " in line


def test_a_program_without_asynchronous_work_has_no_mutants() -> None:
    assert sweep.mutated(("corpus/vector_add_f32", "sm_90a", 0, 0))[2:] == (0, [])
