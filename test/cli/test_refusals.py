"""Options that do not go together with the input or with one another: one line that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import COMMANDS

PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
FILES = {
    "k.ptx": PTX, "zero.ptx": PTX + "\0", "k.cubin": b"\x7fELF" + bytes(60), "k.mlir": "entry @k() {\n  return\n}\n",
    "k.json": "{}", "k.mir": "--- |\n", "k.db": "no results",
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("tessera-run k.ptx --tuned=k.db --grid=1", "--tuned applies to what is compiled here; 'k.ptx' is PTX"),
        ("tessera-run k.cubin --tuned=k.db --grid=1", "--tuned applies to what is compiled here; 'k.cubin' is a cubin"),
        ("tessera-run k.mlir --manifest=k.json --grid=1",
         "--manifest belongs to a .ptx or .cubin; 'k.mlir' is compiled here"),
        ("tessera-run zero.ptx --grid=1", "this is not PTX: it contains null bytes"),
        ("tessera-run k.mir --grid=1", "'k.mir' is machine IR, which can only be read by LLVM's own tools"),
        ("tessera-run k.mlir --ranks=2 --report=r.html --grid=1",
         "--report writes JSON with --ranks; a page shows one kernel"),
        ("tessera-run k.mlir --tuned=k.db --grid=1", "'k.db' is not a file of tuning results: found"),
        ("tessera-opt k.mlir --debug-only=nothing", "--debug-only: nothing is logged as 'nothing'; expected"),
        ("tessera-opt k.mlir --mlir-debug-counter=nothing-skip=1",
         "--mlir-debug-counter: nothing is counted as 'nothing'; expected one of"),
        ("tessera-opt k.mlir --cse --mlir-print-ir-after-all --mlir-print-ir-tree-dir=k.ptx",
         "cannot create the directory 'k.ptx/"),
        ("tessera-translate --mlir-to-ptx k.mlir --save-temps=k.ptx",
         "--save-temps: 'k.ptx' cannot be created: File exists"),
        ("tessera-opt k.mlir --show-layout=all", "--show-layout: no value has a layout"),
        ("tessera-translate --mlir-to-cudatilebc k.mlir --report=r.html",
         "--report is for a compilation; conversions of bytecode have none"),
        ("tessera-translate --mlir-to-cudatilebc k.mlir --bytecode-version=x",
         "--bytecode-version: Invalid argument 'x': the supported versions are [13.1 - 13.5]"),
        ("tessera-opt k.mlir --tessera-pipeline=nothing=1",
         "--tessera-pipeline has no option 'nothing'; expected one of"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, command: str, message: str) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    tool, *argv = command.split()
    result = COMMANDS[tool](argv, b"", str(tmp_path))
    assert result.exit_code == 1
    assert f"error: {message}" in result.stderr.decode()
