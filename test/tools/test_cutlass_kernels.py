"""tools/cutlass_kernels.py: the operands of CUTLASS's kernels; the kernels themselves need a clone of CUTLASS."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import cutlass_kernels

TOOL = Path(cutlass_kernels.__file__)


def test_four_blocks_of_four_rows_stand_in_a_line_of_scales() -> None:
    rows, blocks = 200, 6
    scales = np.random.default_rng(fresh_seed()).integers(0, 256, (rows, blocks)).astype(np.uint8)
    found = cutlass_kernels.scale_order(scales)
    assert len(found) == 256 * 8
    for row in range(rows):
        for block in range(blocks):
            tile = row // 128 * 2 + block // 4
            assert found[512 * tile + row % 32 * 16 + row % 128 // 32 * 4 + block % 4] == scales[row, block]


def test_the_first_of_two_elements_is_in_the_low_bits() -> None:
    assert cutlass_kernels.packed(np.array([[1, 2, 15, 0]], np.uint8)).tolist() == [[0x21, 0x0F]]


@pytest.mark.parametrize("case", cutlass_kernels.CASES, ids=lambda case: case.name)
def test_the_operands_of_a_case_fit_its_result(case: cutlass_kernels.Case) -> None:
    given = case.operands(np.random.default_rng(fresh_seed()))
    assert given.arrays[given.result].shape == given.expected.shape
    assert 0 < given.bound < np.abs(given.expected).max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--cutlass: expected the folder of a clone of https://github.com/NVIDIA/cutlass"),
        (["--cutlass", "."], "--cutlass: expected the folder of a clone"),
        (["nothing"], "no kernel has a name with nothing; --list prints the names"),
    ],
)
def test_what_it_lacks_is_said(arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert message in done.stderr
