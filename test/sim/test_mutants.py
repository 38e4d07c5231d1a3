"""Every synchronization that the kernels of test/sim/cuda need: without it, the simulator reports a finding."""

from __future__ import annotations

import pytest
from programs import stopped_by_findings
from sim.cuda_kernels import NAMES, mutants, run

SEEDS = 4


@pytest.mark.parametrize(("name", "mutant"), [(name, mutant) for name in NAMES for mutant in mutants(name)])
@stopped_by_findings()
def test_a_kernel_without_one_of_its_synchronizations_is_reported(name: str, mutant: str) -> None:
    assert any(run(name, mutant, seed).findings for seed in range(SEEDS))
