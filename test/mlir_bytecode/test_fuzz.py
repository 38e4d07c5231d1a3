"""Files with random changes: an error with its byte, or a valid module, which is printed and written again."""

from __future__ import annotations

import random
import re
from pathlib import Path

from tessera_tools.cli.common import with_deep_stack
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.printing import print_op
from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode
from tessera_tools.parser import parse_module

DIALECTS = Path(__file__).parents[1] / "dialects"
SOURCES = (
    "llvm/attributes.mlir",
    "gpu/ops.mlir",
    "cf/ops.mlir",
    "memref/ops.mlir",
    "nv_tileaa/dots.mlir",
    "scf/ops.mlir",
)
CASES = 400


def changed(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four changes, most of them of single bytes."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(found))
        kind = rng.random()
        if kind < 0.6:
            found[at] = rng.randrange(256)
        elif kind < 0.8:
            found[at] ^= 1 << rng.randrange(8)
        elif kind < 0.87:
            del found[at : at + rng.randrange(1, 5)]
        elif kind < 0.94:
            found[at:at] = rng.randbytes(rng.randrange(1, 5))
        else:
            del found[at + 1 :]
    return bytes(found)


def test_changed_files() -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    files = []
    for name in SOURCES:
        text = (DIALECTS / name).read_text().split("// -----")[0]
        module = parse_module(text, allow_unregistered=True)
        files += [write_mlir_bytecode(module, version) for version in (4, 5, 6)]

    def run() -> int:
        for _ in range(CASES):
            data = changed(rng.choice(files), rng)
            try:
                module = read_mlir_bytecode(data, "f.mlirbc", allow_unregistered=True)
            except DiagnosticError as failure:
                first = failure.diagnostics[0]
                malformed = re.match(r"malformed bytecode at byte (\d+): ", first.message)
                assert malformed is None or int(malformed[1]) <= len(data)
                continue
            text = print_op(module, generic=True, debuginfo=True)
            print_op(module)
            try:
                again = write_mlir_bytecode(module)
            except DiagnosticError:
                continue
            assert (
                print_op(read_mlir_bytecode(again, allow_unregistered=True), generic=True, debuginfo=True)
                == text
            )
        return 0

    assert with_deep_stack(run) == 0
