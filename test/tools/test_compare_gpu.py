"""tools/compare_gpu.py: without a GPU it stops; with one (played by the simulated GPU), it compares."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from runtime.test_cuda import install

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import compare_gpu


def test_without_a_gpu_it_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, devices=0)
    monkeypatch.setattr(sys, "argv", ["compare_gpu.py"])
    assert compare_gpu.main() == 0
    assert "nothing is compared: no usable GPU" in capsys.readouterr().out


def test_the_examples_are_compared_on_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["compare_gpu.py", "--gpu-name=sm_80"])
    assert compare_gpu.main() == 0
    assert "2 of 2 kernels bit for bit" in capsys.readouterr().out


def test_what_differs_is_measured() -> None:
    a = np.array([1.0, 2.0, np.nan], np.float32)
    b = np.array([1.0, 2.5, np.nan], np.float32)
    row = compare_gpu.compare("k", [a], [b], 0.1, 1e-6)
    assert (row.elements, row.apart, row.error, row.allowed) == (3, 1, 0.5, 0.25)
    assert not row.good
    assert compare_gpu.compare("k", [a], [a], 0.0, 1e-6).good
