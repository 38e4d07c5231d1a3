"""`tileirdisasm` of the drop-in folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from oracles import require_tool
from tessera_tools.cli.tileiras import disassembler
from tessera_tools.cli.tileiras.command import BAD_COMMAND, NOT_BYTECODE

GEMM = Path(__file__).parents[2] / "corpus" / "inputs" / "gemm_f16_64x64x32.tileirbc"


def test_the_text_is_that_of_tileirdisasm() -> None:
    real = subprocess.run([require_tool("tileirdisasm"), GEMM], capture_output=True, check=True, timeout=60)
    assert disassembler.run([str(GEMM)]).stdout.split() == real.stdout.split()


def test_locations_are_printed_on_request() -> None:
    plain, located = (disassembler.run([*flags, str(GEMM)]).stdout for flags in ([], ["-g"]))
    assert b"loc(" not in plain
    assert b'"/kernels/corpus_kernels.py"' in located


@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [
        ([], BAD_COMMAND, "error: no input file provided"),
        (
            ["missing.bc"],
            BAD_COMMAND,
            "error: unable to read input file 'missing.bc': No such file or directory",
        ),
        ([__file__], NOT_BYTECODE, "error: input does not correspond to Tile IR bytecode"),
        (["--preview=simt", str(GEMM)], BAD_COMMAND, "error: --preview is not supported"),
        (["--what"], BAD_COMMAND, "tileirdisasm: Unknown command line argument '--what'"),
    ],
)
def test_failures(argv: list[str], status: int, message: str) -> None:
    done = disassembler.run(argv)
    assert done.exit_code == status
    assert message in done.stderr.decode()
    assert done.stdout == b""
