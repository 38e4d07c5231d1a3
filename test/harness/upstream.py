"""One pass by mlir-opt and by tessera-opt."""

from __future__ import annotations

import subprocess

from oracles import require_tool
from tessera_tools.cli.opt import run


def peer(*argv: str, text: str) -> tuple[str, str]:
    """stdout and stderr of mlir-opt."""
    done = subprocess.run(
        [require_tool("mlir-opt-22"), "--allow-unregistered-dialect", *argv],
        input=text, capture_output=True, timeout=60, check=True, text=True,
    )  # fmt: skip
    return done.stdout, done.stderr


def ours(*argv: str, text: str) -> tuple[str, str]:
    """stdout and stderr of tessera-opt."""
    result = run(["--allow-unregistered-dialect", *argv], text.encode())
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode(), result.stderr.decode()
