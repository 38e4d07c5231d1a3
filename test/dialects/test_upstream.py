"""Our reading and writing of upstream's dialects against `mlir-opt` of the same release.

Each `ops.mlir` is text as upstream prints it.  Both programs read it and our text of it, in custom and in generic form;
upstream must see the same program each time.  Each `invalid.mlir` holds errors in upstream's own words: upstream's
`--verify-diagnostics` must agree with every one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from run_cache import once_in_a_run

from oracles import require_tool
from tessera_tools.ir.printing import print_op
from tessera_tools.mlir_bytecode import write_mlir_bytecode
from tessera_tools.parser import parse_module

HERE = Path(__file__).parent
UPSTREAM = ("arith", "builtin", "cf", "func", "gpu", "irdl", "math", "memref", "scf", "ub", "vector")


@once_in_a_run
def mlir_opt(text: str, *options: str) -> str:
    """What upstream makes of a text; its complaint where it refuses."""
    command = [require_tool("mlir-opt-22"), "-", *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(dialect: str) -> str:
    """The text of a dialect's `ops.mlir`, without its RUN lines."""
    lines = (HERE / dialect / "ops.mlir").read_text().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("// RUN:"))


@pytest.mark.parametrize("dialect", UPSTREAM)
def test_upstream_reads_our_custom_form_as_the_same_program(dialect: str) -> None:
    text = program(dialect)
    ours = print_op(parse_module(text, f"{dialect}/ops.mlir"))
    assert mlir_opt(ours) == mlir_opt(text)


@pytest.mark.parametrize("dialect", UPSTREAM)
def test_upstream_reads_our_generic_form_as_the_same_program(dialect: str) -> None:
    text = program(dialect)
    ours = print_op(parse_module(text, f"{dialect}/ops.mlir"), generic=True)
    assert mlir_opt(ours, "--mlir-print-op-generic") == mlir_opt(text, "--mlir-print-op-generic")


@pytest.mark.parametrize("dialect", UPSTREAM)
def test_we_read_upstreams_generic_form(dialect: str) -> None:
    text = program(dialect)
    generic = mlir_opt(text, "--mlir-print-op-generic")
    assert mlir_opt(print_op(parse_module(generic, f"{dialect}.mlir"))) == mlir_opt(text)


@pytest.mark.parametrize("dialect", [d for d in UPSTREAM if (HERE / d / "invalid.mlir").exists()])
def test_upstream_says_the_same_of_invalid_programs(dialect: str) -> None:
    path = HERE / dialect / "invalid.mlir"
    command = [require_tool("mlir-opt-22"), str(path), "--split-input-file", "--verify-diagnostics"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dialect", UPSTREAM)
def test_upstream_reads_our_bytecode_as_the_same_program(dialect: str, tmp_path: Path) -> None:
    text = program(dialect)
    path = tmp_path / "ours.mlirbc"
    path.write_bytes(write_mlir_bytecode(parse_module(text, f"{dialect}/ops.mlir")))
    command = [require_tool("mlir-opt-22"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == mlir_opt(text)
