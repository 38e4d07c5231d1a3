"""Faults of the compiler are told apart from what it refuses: by class, and in what the user sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tessera_tools.cli import opt, run, translate
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm
from tessera_tools.passes.llvm.lowering import all_lowerings

KERNEL = str(Path(__file__).parents[1] / "corpus/vector_add_f32.mlir")
STAGES = ["--convert-cuda-tile-to-tileaa", "--convert-tileaa-to-tileas", "--tileas-assign-layouts"]
STAGES += ["--tileas-insert-barriers", "--convert-nv-tile-func-to-llvm", "--convert-tileas-to-llvm"]


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Reproducers go to the test's folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("TESSERA_DEBUG", raising=False)


def break_lowering(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    """Let the lowering of loads raise."""

    def broken(low: Any, op: Any) -> None:
        raise problem

    monkeypatch.delitem(all_lowerings(), "nv_tileas.tiled_load")
    monkeypatch.setitem(all_lowerings(), "nv_tileas.tiled_load", broken)


def reproducer_of(err: str) -> str:
    """The reproducer's text."""
    found = re.search(r"reproducer generated at `([^`]+)`", err)
    assert found is not None, err
    return Path(found[1]).read_text()


def test_a_mismatch_in_a_lowering_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    try:
        list(zip([1], [], strict=True))
    except ValueError as mismatch:
        break_lowering(monkeypatch, mismatch)
    assert opt.execute([KERNEL, *STAGES, "-o", "-"]) == 1
    err = capsys.readouterr().err
    assert "failed to legalize" not in err
    assert re.search(
        r"vector_add_f32\.mlir:\d+:\d+: error: internal fault in pass 'convert-tileas-to-llvm' on "
        r"'builtin\.module'.* at 'nv_tileas\.tiled_load': ValueError: zip\(\)",
        err,
    )
    assert "convert-tileas-to-llvm" in reproducer_of(err)


def test_a_refusal_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    break_lowering(monkeypatch, Refusal("no such loads"))
    assert opt.execute([KERNEL, *STAGES, "-o", "-"]) == 1
    err = capsys.readouterr().err
    assert "'nv_tileas.tiled_load' op failed to legalize operation: no such loads" in err
    assert "internal fault" not in err
    assert "reproducer" not in err


@pytest.mark.parametrize("command", [[], ["run"]], ids=["translate", "run"])
def test_a_fault_behind_the_passes_names_its_op(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken(self: Any, emitter: Any) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(llvm.GEP, "llvm_ir", broken)
    main = run.execute if command else translate.execute
    assert main([KERNEL] if command else [KERNEL, "--mlir-to-llvmir", "-o", "-"]) == 1
    err = capsys.readouterr().err
    assert re.search(
        r"vector_add_f32\.mlir:\d+:\d+: error: internal fault while writing LLVM IR for 'llvm\.getelementptr': "
        r"IndexError: list index out of range",
        err,
    )
    assert "convert-cuda-tile-to-tileaa" in reproducer_of(err)


def test_a_refusal_of_the_translation_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refused(self: Any, emitter: Any) -> None:
        raise Refusal("has no counterpart")

    monkeypatch.setattr(llvm.GEP, "llvm_ir", refused)
    assert translate.execute([KERNEL, "--mlir-to-llvmir", "-o", "-"]) == 1
    err = capsys.readouterr().err
    assert "error: 'llvm.getelementptr' op has no counterpart" in err
    assert "internal fault" not in err
