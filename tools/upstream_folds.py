#!/usr/bin/env python3
"""Compares the result of a pass on each function of upstream's tests with that of mlir-opt-22.

    function of mlir/test ─▶ tessera-opt PASS ─▶ ours   ─┐
                          └▶ mlir-opt-22 PASS ─▶ theirs ─┴ one signature? ─▶ an outcome

    python tools/upstream_folds.py MLIR_TEST [--part Dialect/Arith …] [--jobs N] [--verbose] [--cache FOLDER]

The functions, and the flags of the pass, are those of the RUN lines whose passes we have (`upstream_tests.py`). By
default the files are the `canonicalize*.mlir` of the dialects that are ours to optimize.

Two functions have one signature if they do the same things in the same order to the same values. Names, and the
places of ops without effect, make no difference. The outcomes:

    same     one signature
    missed   not the same, but mlir-opt-22 makes theirs of ours: a fold is missing here
    further  not the same, but we make ours of theirs: we fold more
    differs  neither; look at both
    refused  the function has ops, types or attributes that are not declared here
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import upstream_tests as upstream  # noqa: E402

PARTS = tuple(f"Dialect/{name}" for name in ("Arith", "Math", "SCF", "ControlFlow", "MemRef"))
OUTCOMES = ("same", "missed", "further", "differs", "refused", "fault")


@dataclass(frozen=True)
class Compared:
    """The result for one function."""

    unit: upstream.Unit
    outcome: str
    ours: str = ""
    theirs: str = ""


class Signature:
    """Names the ops and values of a module by what they are, so that equal modules have equal text."""

    def __init__(self, module: Any) -> None:
        self._names: dict[Any, str] = {}
        self._pure: list[str] = []
        self._count = 0
        lines = self._region(module.regions[0])
        self.text = "\n".join([*lines, *sorted(self._pure)])

    def _value(self, value: Any) -> str:
        if value not in self._names:
            # An op without effect is named at its first use, which may precede it.
            op = value.defining_op
            self._names |= {r: f"?{i}" for i, r in enumerate(op.results)}
            text = self._describe(op)
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            self._names |= {r: f"{digest}#{i}" for i, r in enumerate(op.results)}
            if not op.operands:
                return self._names[value]
            self._pure.append(digest)
        return self._names[value]

    def _describe(self, op: Any) -> str:
        attributes = ", ".join(f"{k} = {v}" for k, v in sorted(op.attributes.items()))
        operands = ", ".join(self._value(v) for v in op.operands)
        return f"{op.name}({operands}) {{{attributes}}} : {', '.join(str(t) for t in op.result_types)}"

    def _region(self, region: Any) -> list[str]:
        from tessera_tools.ir.effects import is_pure
        from tessera_tools.ir.traits import Terminator

        statements: list[tuple[Any, Any]] = []
        for number, block in enumerate(region.blocks):
            for argument in block.arguments:
                self._count += 1
                self._names[argument] = f"%{self._count}"
            for op in block.operations:
                if op.regions or op.has_trait(Terminator) or not is_pure(op):
                    for result in op.results:
                        self._count += 1
                        self._names[result] = f"%{self._count}"
                statements.append((number, op))
        lines: list[str] = []
        blocks = {block: f"^{i}" for i, block in enumerate(region.blocks)}
        before = None
        for number, op in statements:
            if number != before:
                types = ", ".join(str(a.type) for a in region.blocks[number].arguments)
                lines.append(f"^{number}({types})")
                before = number
            if op.regions or op.has_trait(Terminator) or not is_pure(op):
                lines.append(f"{self._describe(op)} {[blocks.get(s) for s in op.successors]}")
                for inner in op.regions:
                    lines += ["{", *self._region(inner), "}"]
            else:
                for result in op.results:
                    self._value(result)
        return lines


def signature(text: str) -> str | None:
    """The signature of a module; None where we cannot read it."""
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.parser import parse_module

    # Ops of unknown dialects print their attributes as properties there.
    text = re.sub(r"([)\]]) <\{(.*?)\}> :", r"\1 {\2} :", text)
    try:
        return Signature(parse_module(text, allow_unregistered=True)).text
    except DiagnosticError:
        return None


def compare(unit: upstream.Unit) -> Compared:
    """Run the passes of a unit both ways."""
    flags = tuple(dict.fromkeys((*unit.run, *unit.flags, "--allow-unregistered-dialect")))
    verdict = upstream.judge(unit.text, flags, generic=False)
    if not verdict.valid:
        return Compared(unit, "refused", theirs=verdict.output)
    status, output, errors = upstream.run_ours(unit.text, flags)
    if upstream._is_fault(status, errors):
        return Compared(unit, "fault", errors, verdict.output)
    theirs = signature(verdict.output)
    if status or theirs is None:
        return Compared(unit, "refused", errors, verdict.output)
    ours = signature(output)
    if ours == theirs:
        return Compared(unit, "same", output, verdict.output)
    again = upstream.judge(output, flags, generic=False)
    if not again.valid:
        return Compared(unit, "differs", output, again.output)
    if signature(again.output) == theirs:
        return Compared(unit, "missed", output, verdict.output)
    status, back, _ = upstream.run_ours(verdict.output, flags)
    outcome = "further" if not status and signature(back) == ours else "differs"
    return Compared(unit, outcome, output, verdict.output)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and print the table; 1 where something differs or faults."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, metavar="MLIR_TEST", help="mlir/test of the source of LLVM 22")
    parser.add_argument("--part", action="append", help="only this folder of it; repeatable")
    parser.add_argument("--filter", default="canonicalize", help="only files whose path holds this text")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--verbose", action="store_true", help="print both texts where they are not the same")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what mlir-opt-22 printed")
    parser.add_argument("--json", type=Path, help="write every function with its outcome there")
    options = parser.parse_args(argv)
    if options.cache is not None:
        options.cache.mkdir(parents=True, exist_ok=True)
        upstream._cache = options.cache.resolve()
    root = options.folder.resolve()
    parts = options.part or PARTS
    files = [
        file
        for part in parts
        for file in sorted((root / part).rglob("*.mlir"))
        if options.filter in file.name
    ]
    if not files:
        parser.error(f"no test files below '{root}'")
    units = [unit for file in files for unit in upstream.checked_units_of(root, file)]
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            found = list(pool.map(compare, units, chunksize=8))
    else:
        found = [compare(unit) for unit in units]
    print_table(found, parts)
    if options.verbose:
        for each in found:
            if each.outcome not in ("same", "refused"):
                print(f"\n==== {each.unit.file}:{each.unit.line}: {each.outcome}")
                print(f"{each.ours.strip()}\n---- mlir-opt-22\n{each.theirs.strip()}")
    if options.json:
        rows = [
            {"file": c.unit.file, "line": c.unit.line, "outcome": c.outcome, "ours": c.ours, "theirs": c.theirs,
             "text": c.unit.text.strip()}
            for c in found
        ]  # fmt: skip
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return int(any(c.outcome in ("differs", "fault") for c in found))


def print_table(found: Sequence[Compared], parts: Sequence[str]) -> None:
    """Print the numbers of functions by part and outcome."""
    print(f"{'':<20}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES))
    total: Counter[str] = Counter()
    for part in parts:
        counts = Counter(c.outcome for c in found if c.unit.file.startswith(part + "/"))
        total += counts
        print(f"{part:<20}" + "".join(f"{counts[outcome]:>9}" for outcome in OUTCOMES))
    print(f"{'total':<20}" + "".join(f"{total[outcome]:>9}" for outcome in OUTCOMES))


if __name__ == "__main__":
    sys.exit(main())
