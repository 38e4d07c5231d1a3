"""The text of the llvm and nvvm dialects against upstream's mlir-opt, in both forms."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from run_cache import once_in_a_run

from oracles import require_tool
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module

HERE = Path(__file__).resolve().parent
INPUTS = [HERE / "inputs" / "ops.mlir", HERE.parent / "nvvm" / "inputs" / "ops.mlir"]


@once_in_a_run
def mlir_opt(text: str, *options: str) -> str:
    tool = require_tool("mlir-opt-22")
    done = subprocess.run([tool, *options], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain(text: str) -> list[str]:
    """Lines without comments on blocks and without the alias definitions of attributes."""
    return [line.split("  // ")[0] for line in text.strip().split("\n") if line and not line.startswith("#")]


@pytest.mark.parametrize("path", INPUTS, ids=lambda p: p.parent.parent.name)
def test_custom_form_is_what_upstream_prints(path: Path):
    text = path.read_text()
    upstream = [line for line in plain(mlir_opt(text, "--mlir-print-local-scope")) if line]
    ours = plain(print_op(parse_module(text, str(path))))
    assert ours == upstream


@pytest.mark.parametrize("path", INPUTS, ids=lambda p: p.parent.parent.name)
def test_upstream_reads_our_custom_form_as_the_same_program(path: Path):
    text = path.read_text()
    assert mlir_opt(print_op(parse_module(text, str(path)))) == mlir_opt(text)


@pytest.mark.parametrize("path", INPUTS, ids=lambda p: p.parent.parent.name)
def test_upstream_reads_our_generic_form_as_the_same_program(path: Path):
    text = path.read_text()
    assert mlir_opt(print_op(parse_module(text, str(path)), generic=True)) == mlir_opt(text)


@pytest.mark.parametrize("path", INPUTS, ids=lambda p: p.parent.parent.name)
def test_generic_form_of_upstream_reads_back(path: Path):
    text = path.read_text()
    generic = mlir_opt(text, "--mlir-print-op-generic")
    assert mlir_opt(print_op(parse_module(generic, str(path)))) == mlir_opt(text)
