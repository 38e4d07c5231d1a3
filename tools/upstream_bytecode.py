#!/usr/bin/env python3
"""Compares MLIR bytecode with mlir-opt-22 on upstream's tests.

    program of mlir/test ─▶ mlir-opt-22 --emit-bytecode ─▶ bytes ─▶ our reader ─▶ module ── that of upstream's text?
                                                                                    └─▶ our writer ─▶ bytes
                                                           mlir-opt-22 prints the same of both bytes? ◀──┘

    python tools/upstream_bytecode.py MLIR_TEST [--part Dialect/Arith …] [--versions 6,5,4] [--verbose]

The outcomes:

    same     both comparisons agree
    refused  our reader refuses the file, with a byte offset: an op, an attribute or a dialect that is not known here
    differs  one of them does not agree; look at it
    fault    an exception

Programs that mlir-opt-22 refuses are left out. The exit status is 1 after a difference or a fault."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

DIALECTS = ("Arith", "ControlFlow", "Func", "GPU", "LLVMIR", "Math", "MemRef", "SCF", "UB", "Vector")
PARTS = (*(f"Dialect/{name}" for name in DIALECTS), "IR", "Bytecode")
GENERIC = ("--mlir-print-op-generic", "--mlir-print-debuginfo")


def mlir_opt(data: bytes, *options: str) -> bytes | None:
    """What mlir-opt writes to stdout; None if it refuses the input."""
    command = ["mlir-opt-22", "--allow-unregistered-dialect", *options]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else done.stdout


def unnamed(module: Any) -> str:
    """The generic text of a module, without names and numbers of `distinct` attributes, which are not in bytecode."""
    from tessera_tools.cli.round_trip import forget_names
    from tessera_tools.ir.printing import print_op

    forget_names(module)
    return re.sub(r"distinct\[\d+\]", "distinct", print_op(module, generic=True, debuginfo=True))


def compare(program: bytes, version: int) -> tuple[str, str] | None:
    """The outcome for one program, and what there is to say; None if mlir-opt refuses it."""
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.core import UnregisteredOp
    from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode
    from tessera_tools.parser import parse_module

    theirs = mlir_opt(program, "--emit-bytecode", f"--emit-bytecode-version={version}")
    text = mlir_opt(theirs, *GENERIC) if theirs is not None else None
    if theirs is None or text is None:
        return None
    try:
        module = read_mlir_bytecode(theirs, "-", allow_unregistered=True, verify=False)
    except DiagnosticError as failure:
        return "refused", failure.diagnostics[0].message.partition(": ")[2]
    # Older versions merge the properties of unregistered ops with their attributes.
    if version >= 5 or not any(isinstance(op, UnregisteredOp) for op in module.walk()):
        try:
            wanted = unnamed(parse_module(text, "-", allow_unregistered=True))
        except DiagnosticError:
            wanted = None
        found = unnamed(module)
        if wanted is not None and wanted != found:
            return "differs", _first_difference(found, wanted)
    again = mlir_opt(write_mlir_bytecode(module), *GENERIC)
    if again != text:
        return "differs", _first_difference((again or b"mlir-opt refuses it").decode(), text.decode())
    return "same", ""


def _first_difference(found: str, wanted: str) -> str:
    for left, right in zip(found.splitlines(), wanted.splitlines(), strict=False):
        if left != right:
            return f"found {left.strip()[:300]}\n    wanted {right.strip()[:300]}"
    return "one is longer"


def main() -> None:
    """Compare and report."""
    from tessera_tools.parser.source import split_input

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", type=Path, metavar="MLIR_TEST", help="mlir/test of LLVM 22's source")
    parser.add_argument("--part", action="append", help="folders or files of it (the dialects declared here)")
    parser.add_argument("--versions", default="6,5,6,4,6,2,6,0", help="of the format, taken in turn")
    parser.add_argument("--verbose", action="store_true", help="show what is refused, too")
    options = parser.parse_args()
    versions = [int(word) for word in options.versions.split(",")]
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for part in options.part or PARTS:
        place = options.tests / part
        for path in sorted(place.rglob("*.mlir")) if place.is_dir() else [place]:
            for chunk in split_input(path.read_text(errors="replace")):
                version = versions[sum(counts.values()) % len(versions)]
                try:
                    outcome = compare(chunk.text.encode(), version)
                except Exception:
                    outcome = "fault", traceback.format_exc(limit=-4)
                counts["left out" if outcome is None else outcome[0]] += 1
                if outcome is not None and outcome[0] == "refused":
                    reasons[outcome[1][:100]] += 1
                elif outcome is not None and outcome[0] != "same":
                    print(f"{outcome[0]} {path}:{chunk.first_line} version {version}:\n    {outcome[1]}")
    if options.verbose:
        for reason, count in reasons.most_common():
            print(f"{count:5} {reason}")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    sys.exit(1 if counts["differs"] or counts["fault"] else 0)


if __name__ == "__main__":
    main()
