"""Every kernel of test/sim/cuda, as nvcc compiles it, against NumPy; late and early copies give the same answer."""

from __future__ import annotations

import pytest
from sim.cuda_kernels import NAMES, run


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_is_right_and_has_no_findings(name: str, mode: str) -> None:
    for seed in range(2):
        launch = run(name, seed=seed, mode=mode)
        assert not launch.findings, launch.findings.text(f"{name}.ptx")
        assert not launch.wrong
