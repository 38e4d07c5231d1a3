#!/usr/bin/env python3
"""The reference's own tests (NVIDIA/cuda-tile, test/Dialect, test/Bytecode, test/Transforms) through our commands.

    CHECKOUT/test/**/*.mlir ──RUN lines──▶ [cuda-tile-opt … | FileCheck …] ──mapped──▶ tessera-opt, filecheck
      └ with --split-input-file: chunk by chunk, each a separate case                     └ a table by file

    python tools/reference_tests.py CHECKOUT [--filter TEXT] [--jobs N] [--verbose]

A case is one RUN line, or one chunk of its file if the line splits its input. It passes if every
command ends as the line requires and every expectation in the file (`expected-error`, `CHECK`) is met. The exit
status is 1 if a case fails.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

FOLDERS = ("test/Dialect", "test/Bytecode", "test/Transforms")
SPLIT = "// -----"
CASE_SECONDS = 60
ROUND_TRIP = (
    "cuda-tile-translate -mlir-to-cudatilebc -no-implicit-module {file} -o {base}.tilebc && "
    "cuda-tile-translate -cudatilebc-to-mlir {base}.tilebc -o {base}.back.mlir {flags} && "
    "cuda-tile-opt {file} -no-implicit-module -o {base}.ref.mlir {flags} && diff -B {base}.ref.mlir {base}.back.mlir"
)
"""The expansion of `%round_trip_test FILE BASE FLAGS`."""
FLAG_NAMES = {"cuda-tile-opt": "tessera-opt", "cuda-tile-translate": "tessera-translate"}
PASS_NAMES = {"--test-debuginfo-update-symbol-name": "--cuda-tile-rename-symbol"}
"""Passes of the reference's test library, by ours that do the same."""
REFERENCE_VERSION = "13.3"
"""The default bytecode version of the reference: its newest."""
DROPPED = {"tessera-translate": ("no-implicit-module",)}
"""Options that our command has no use for: bytecode has no module around the kernel module to begin with."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one command or pipeline."""

    status: int
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True)
class Case:
    """One RUN line, on the whole file (`chunk` None) or on one of its chunks."""

    file: Path
    run: int
    line: str
    chunk: int | None = None
    first_line: int = 1

    @property
    def title(self) -> str:
        """`RUN 2, chunk 14 (line 310)`."""
        part = f", chunk {self.chunk} (line {self.first_line})" if self.chunk is not None else ""
        return f"RUN {self.run}{part}"


class TimeLimit(Exception):
    """A case ran too long."""


# -- cases


def run_lines(text: str) -> list[str]:
    """The RUN lines, continued ones joined."""
    lines: list[str] = []
    for found in re.findall(r"(?:RUN|CHECK-RUN):\s*(.*)", text):
        if lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1] + found
        else:
            lines.append(found.strip())
    return lines


def chunks(text: str) -> list[tuple[int, str]]:
    """(first line, text) of each chunk; the text keeps the file's line numbers through leading empty lines."""
    lines = text.split("\n")
    starts = [0, *(i + 1 for i, line in enumerate(lines) if line.startswith(SPLIT))]
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    return [(a + 1, "\n" * a + "\n".join(lines[a:b]) + "\n") for a, b in zip(starts, ends, strict=True)]


def cases_of(file: Path) -> Iterator[Case]:
    """Every case of one file. RUN lines that build on one another (`-o %t.bc`) are one case."""
    text = file.read_text("utf-8")
    lines: list[str] = []
    for line in run_lines(text):
        if lines and "%t" in line and "%round_trip_test" not in line and re.search(r"-o %t", lines[-1]):
            lines[-1] += f" && {line}"
        else:
            lines.append(line)
    for number, line in enumerate(lines, 1):
        if "split-input-file" in line and "%s" in line:
            for chunk, (first, part) in enumerate(chunks(text), 1):
                if any(row.strip() and not row.lstrip().startswith("//") for row in part.split("\n")):
                    yield Case(file, number, line, chunk, first)
        else:
            yield Case(file, number, line)


# -- running one


@functools.cache
def _whole_passes(file: Path, run: int, line: str) -> bool:
    """True if the RUN line holds of the whole file: CHECK lines of a chunk may use what those of another matched."""
    return run_case(Case(file, run, line)) is None


def run_case(case: Case) -> str | None:
    """Why the case fails, or None when it passes."""
    reason = _run_case(case)
    if reason is not None and case.chunk is not None and "FileCheck" in case.line and "not " not in case.line:
        return None if _whole_passes(case.file, case.run, case.line) else reason
    return reason


def _run_case(case: Case) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        source = case.file
        text = source.read_text("utf-8")
        if case.chunk is not None:
            text = chunks(text)[case.chunk - 1][1]
            source = Path(folder) / source.name
            source.write_text(text, "utf-8")
        base = str(Path(folder) / "t")
        line = case.line
        if "%round_trip_test" in line:
            _, file, base_, *flags = line.split()
            line = ROUND_TRIP.format(file=file, base=base_, flags=" ".join(flags))
        line = line.replace("%s", str(source)).replace("%S", str(case.file.parent)).replace("%t", base)
        line = line.replace("testing$func", "testing\\$func") if '"' in line else line
        old = signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(CASE_SECONDS)
        try:
            return _run_line(line, text, case, folder)
        except TimeLimit:
            return f"took more than {CASE_SECONDS} s"
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, old)


def _too_long(*_: Any) -> None:
    raise TimeLimit


def _run_line(line: str, text: str, case: Case, folder: str) -> str | None:
    for pipeline in line.split("&&"):
        data = b""
        failed: str | None = None
        for part in pipeline.split("|"):
            argv = shlex.split(part.replace("\\$", "$"))
            merge = "2>&1" in argv
            argv = [a for a in argv if a != "2>&1"]
            negated = argv[0] == "not"
            argv = argv[1:] if negated else argv
            if argv[0] == "FileCheck" and not _has_checks(text, argv):
                # A chunk without a CHECK line of its own: that the command before it accepts it is all there is.
                continue
            done = run_command(argv, data, folder)
            if argv[0] != "FileCheck" and case.chunk is not None and not re.search("CHECK[A-Z0-9-]*:", text):
                negated = False  # a chunk without expected output, of a split file that must fail
            bad = (done.status == 0) if negated else (done.status != 0)
            if bad and failed is None:
                failed = f"{argv[0]} ended with {done.status}: {_excerpt(done)}"
            data = done.stdout + (done.stderr if merge else b"")
        if failed is not None:
            return failed
    return None


def _has_checks(text: str, argv: Sequence[str]) -> bool:
    given = [a.split("=", 1)[1] for a in argv if a.startswith(("--check-prefix", "-check-prefix"))]
    prefixes = ",".join(given).split(",") if given else ["CHECK"]
    return any(re.search(rf"\b{re.escape(prefix)}(-[A-Z]+)?(\{{[^}}]*\}})?:", text) for prefix in prefixes)


def _excerpt(done: Outcome) -> str:
    output = (done.stderr or done.stdout).decode("utf-8", "replace").strip().split("\n")
    return " / ".join(part.strip() for part in output[:6])[:700]


def run_command(argv: Sequence[str], stdin: bytes, folder: str) -> Outcome:
    """Run a command of the reference's RUN lines by our means."""
    name, *rest = argv
    if name == "FileCheck":
        return _filecheck(rest, stdin, folder)
    if name == "diff":
        return _diff([a for a in rest if not a.startswith("-")])
    if name == "cuda-tile-translate" and any("test-cudatile-roundtrip" in a for a in rest):
        return _round_trip(rest, stdin, folder)
    ours = FLAG_NAMES[name]
    kept = [a for a in rest if a.lstrip("-") not in DROPPED.get(ours, ())]
    for theirs, name_ in PASS_NAMES.items():
        kept = [a.replace(theirs, name_, 1) if a.startswith(theirs) else a for a in kept]
    if any(a.lstrip("-") == "cudatilebc-to-mlir" for a in kept):
        kept.append("--cuda-tile-module")  # ours leaves it out, as tileirdisasm does; the reference prints it
    if any(a.lstrip("-") == "mlir-to-cudatilebc" for a in kept) and not any(
        "bytecode-version" in a for a in kept
    ):
        kept.append(f"--bytecode-version={REFERENCE_VERSION}")
    import importlib

    module = importlib.import_module("tessera_tools.cli." + ("opt" if ours == "tessera-opt" else "translate"))
    done = module.run(kept, stdin=stdin, cwd=folder)
    return Outcome(done.exit_code, done.stdout, done.stderr)


def _round_trip(argv: Sequence[str], stdin: bytes, folder: str) -> Outcome:
    """`-test-cudatile-roundtrip`: to bytecode and back."""
    kept = [a for a in argv if "test-cudatile-roundtrip" not in a]
    output = kept[kept.index("-o") : kept.index("-o") + 2] if "-o" in kept else []
    there = [a for a in kept if a not in output]
    shown = [a for a in there if a.lstrip("-") == "mlir-print-debuginfo"]
    there = [a for a in there if a.lstrip("-") not in ("mlir-print-debuginfo", "split-input-file")]
    code = str(Path(folder) / "roundtrip.tileirbc")
    first = run_command(["cuda-tile-translate", "-mlir-to-cudatilebc", *there, "-o", code], stdin, folder)
    if first.status:
        return first
    return run_command(["cuda-tile-translate", "-cudatilebc-to-mlir", *shown, code, *output], b"", folder)


def _diff(files: Sequence[str]) -> Outcome:
    """`diff -B`: the same lines but for empty ones, and for the names of values."""
    import difflib

    left, right = ([row for row in _without_names(Path(f)).split("\n") if row.strip()] for f in files)
    lines = list(difflib.unified_diff(left, right, *files, lineterm="", n=0))
    return Outcome(int(left != right), "\n".join(lines[2:]).encode())


def _without_names(file: Path) -> str:
    """The program in a file with the names that the printer makes: bytecode has none, and the reference keeps none."""
    from tessera_tools.ir.printing import print_op
    from tessera_tools.parser import parse_module

    text = file.read_text("utf-8")
    module = parse_module(text, file.name)
    for op in (module, *module.walk()):
        for value in (
            *op.results,
            *(a for region in op.regions for block in region.blocks for a in block.arguments),
        ):
            value.name_hint = None
    return print_op(module, debuginfo="loc(" in text)


def _filecheck(argv: list[str], stdin: bytes, folder: str) -> Outcome:
    from harness.commands import COMMANDS

    prefixes = [a.split("=", 1)[1] for a in argv if "check-prefixes" in a]
    argv = [a for a in argv if "check-prefixes" not in a]
    if not prefixes:
        done = COMMANDS["filecheck"](argv, stdin, folder)
        return Outcome(done.exit_code, done.stdout, done.stderr)
    # The port of FileCheck takes one prefix: several are written out as one.
    file = next(a for a in argv if not a.startswith("-"))
    text = Path(file).read_text("utf-8")
    for prefix in prefixes[0].split(","):
        text = re.sub(rf"\b{re.escape(prefix)}(-(?:NEXT|SAME|NOT|DAG|LABEL))?:", r"CHECKALL\1:", text)
    joined = Path(folder) / "checks.mlir"
    joined.write_text(text, "utf-8")
    done = COMMANDS["filecheck"]([str(joined), "--check-prefix=CHECKALL"], stdin, folder)
    return Outcome(done.exit_code, done.stdout, done.stderr)


# -- the table


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tests of a checkout; 0 when all pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkout", type=Path, help="a work tree of github.com/NVIDIA/cuda-tile")
    parser.add_argument("--filter", default="", help="only files whose path holds this text")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--verbose", action="store_true", help="print why each failing case fails")
    parser.add_argument("--json", type=Path, help="write every case with its outcome there")
    options = parser.parse_args(argv)
    files = [
        file
        for folder in FOLDERS
        for file in sorted((options.checkout.resolve() / folder).rglob("*.mlir"))
        if options.filter in str(file.relative_to(options.checkout.resolve()))
        and run_lines(file.read_text("utf-8"))
    ]
    if not files:
        parser.error(f"no test files with RUN lines below '{options.checkout}'")
    cases = [case for file in files for case in cases_of(file)]
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            reasons = list(pool.map(run_case, cases, chunksize=8))
    else:
        reasons = [run_case(case) for case in cases]
    _print_table(options.checkout.resolve(), cases, reasons, options.verbose)
    if options.json:
        rows = [
            {"file": str(c.file.relative_to(options.checkout.resolve())), "case": c.title, "failure": reason}
            for c, reason in zip(cases, reasons, strict=True)
        ]
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return int(any(reasons))


def _print_table(checkout: Path, cases: Sequence[Case], reasons: Sequence[str | None], verbose: bool) -> None:
    by_file: dict[Path, list[tuple[Case, str | None]]] = {}
    for case, reason in zip(cases, reasons, strict=True):
        by_file.setdefault(case.file, []).append((case, reason))
    width = max(len(str(file.relative_to(checkout))) for file in by_file)
    for file, rows in by_file.items():
        passed = sum(reason is None for _, reason in rows)
        print(f"{file.relative_to(checkout)!s:<{width}}  {passed:>4} of {len(rows)}")
        for case, reason in rows:
            if reason is not None:
                print(f"    {case.title}" + (f": {reason}" if verbose else ""))
    passed = sum(reason is None for reason in reasons)
    print(f"{'total':<{width}}  {passed:>4} of {len(reasons)}")


if __name__ == "__main__":
    sys.exit(main())
