#!/usr/bin/env python3
"""Upstream MLIR's own tests (mlir/test) through tessera-opt, with mlir-opt-22 as the judge.

    mlir/test/**/*.mlir ──chunks, top-level ops──▶ unit ─▶ mlir-opt-22: valid?   ─▶ tessera-opt ─▶ an outcome
                                                    └ RUN lines whose passes are ours ─▶ tessera-opt | FileCheck

    python tools/upstream_tests.py MLIR_TEST [--part Dialect/Arith …] [--filter TEXT] [--jobs N] [--verbose]
    python tools/upstream_tests.py MLIR_TEST --passes …

The files belong to the source of the LLVM release that mlir-opt-22 is built from. Debian has it as the source package
`llvm-toolchain-22` (`apt-get source --tar-only`; every suite with this version has the same `.orig.tar.xz`). The files
are no part of this project.

A unit is a chunk between `// -----` lines. A valid chunk is cut further, into its top-level ops, if each is valid.
mlir-opt-22 determines whether a unit is valid, and parses the output of tessera-opt: both texts must print the same
there. A unit is *claimed* if all of its ops, types and attributes are declared here, or belong to no dialect of
mlir-opt-22; of an invalid unit, those in the line of the error. Exit status 1 where a claimed unit is refused, a
printed one reads differently, an invalid one is accepted, or there is an internal fault; `EXPLAINED` lists the
exceptions with their reasons.

With `--passes`, the units are functions with the CHECK lines before and in them.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(ROOT / "tools")]

from reference_tests import chunks, run_lines  # noqa: E402

from tessera_tools.opdef.dialect import find_dialect  # noqa: E402

FOLDERS = (
    *(f"Dialect/{name}" for name in ("Arith", "Math", "SCF", "ControlFlow", "Func", "MemRef", "Vector", "GPU", "UB")),
    *("Dialect/LLVMIR", "IR", "Transforms"),
)  # fmt: skip
JUDGE = "mlir-opt-22"
UNIT_SECONDS = 30

SAME = "accepted, same after mlir-opt-22"
DIFFERS = "accepted, but mlir-opt-22 reads our text differently"
REFUSED_CLAIMED = "claimed and refused"
REFUSED = "refused: not declared here"
FAULT = "internal fault"
INVALID_REFUSED = "invalid, refused"
ACCEPTED_CLAIMED = "invalid, accepted, claimed"
ACCEPTED = "invalid, accepted: not declared here"
PASSED = "checks pass"
FAILED = "checks fail"
KNOWN = "explained"
EXPLAINED = (
    (
        "IR/invalid.mlir",
        "does not dominate this use",
        "the regions of an op that is not declared here may be graphs; upstream knows test.ssacfg_region",
    ),
    (
        "IR/print-attr-type-aliases.mlir",
        "undefined symbol alias id",
        "the body of an attribute of an unknown dialect is kept as text, with the names of aliases in it",
    ),
    (
        "IR/pretty-resources-print.mlir",
        "}",
        "resources of tools other than the compiler (external_resources) are not printed again",
    ),
    (
        "IR/test-clone.mlir",
        "unregistered.empty_dict",
        "an unknown op without properties is printed without `<{}>`",
    ),
    (
        "Dialect/GPU/invalid.mlir",
        "needs to be named when marked 'async'",
        "a result that nobody uses needs no name here",
    ),
    *(
        (
            f"Dialect/LLVMIR/nvvm-mma-{name}.mlir",
            "expected one of 4xi32 but got i32, i32",
            "mma.sp of 8-bit floats has four registers of A and of B; ptxas and LLVM's intrinsics agree, upstream's "
            "verifier has two",
        )
        for name in ("sp", "sp-ordered", "sp-kind")
    ),
)
"""(file, part of the reason, why it stays so) of the units that are not as they should be."""
OUTCOMES = (
    *(SAME, KNOWN, DIFFERS, REFUSED_CLAIMED, REFUSED, INVALID_REFUSED, ACCEPTED_CLAIMED, ACCEPTED),
    *(PASSED, FAILED, FAULT),
)
BAD = (DIFFERS, REFUSED_CLAIMED, ACCEPTED_CLAIMED, FAULT)


@dataclass(frozen=True)
class Unit:
    """A piece of a test file; its text keeps the file's line numbers through leading empty lines."""

    file: str
    line: int
    text: str
    flags: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    """With `--passes`: the pass flags of the RUN line, and the prefixes of its checks."""
    prefixes: tuple[str, ...] = ("CHECK",)
    chunk: str = ""
    """With `--passes`: the whole chunk, whose checks may span functions."""


@dataclass(frozen=True)
class Finding:
    """The result for a unit."""

    unit: Unit
    outcome: str
    reason: str = ""
    names: tuple[str, ...] = field(default=())
    """Ops, types and attributes of the unit that are not declared here."""


class TimeLimit(Exception):
    """A unit took too long."""


# -- units


def top_level_pieces(text: str) -> Iterator[tuple[int, str]]:
    """(first line, text) of each top-level op, with the comments before it and the aliases of the chunk."""
    lines = text.split("\n")
    aliases = [row if re.match(r"[#!][\w$.-]+ *=", row) else "" for row in lines]
    begin = depth = 0
    opened = False
    for number, row in enumerate(lines):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', row).split("//")[0]
        depth += sum(map(code.count, "{([")) - sum(map(code.count, "})]"))
        opened |= bool(code.strip()) and not aliases[number]
        following = next((n for n in lines[number + 1 :] if n.strip()), "")
        if opened and depth <= 0 and not re.match(r"\s|[})\]]|attributes", following):
            kept = [*aliases[:begin], *lines[begin : number + 1], *aliases[number + 1 :]]
            first = next(i for i in range(begin, number + 1) if lines[i].strip())
            yield first + 1, "\n".join(kept) + "\n"
            begin, opened = number + 1, False


def flags_of(text: str) -> tuple[str, ...]:
    """Flags of the RUN lines that change what is valid."""
    lines = "\n".join(run_lines(text))
    known = ("allow-unregistered-dialect", "mlir-print-debuginfo")
    return tuple(f"--{flag}" for flag in known if flag in lines)


def units_of(root: Path, file: Path) -> Iterator[Unit]:
    """The units of one file."""
    text = file.read_text("utf-8", "replace")
    name = str(file.relative_to(root))
    flags = flags_of(text)
    for line, chunk in chunks(text):
        if not any(row.strip() and not row.lstrip().startswith("//") for row in chunk.split("\n")):
            continue
        # A section of resources belongs to all ops of its chunk.
        pieces = list(top_level_pieces(chunk)) if "{-#" not in chunk else []
        if len(pieces) > 1 and all(judge(piece, flags).valid for _, piece in pieces):
            for first, piece in pieces:
                yield Unit(name, first, piece, flags)
        else:
            yield Unit(name, line, chunk, flags)


def passes_of(line: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """(flags, prefixes) of a RUN line that runs only passes we have and FileCheck; None for another."""
    from tessera_tools.passes.table import PASSES

    parts = line.split("|")
    if len(parts) != 2 or "FileCheck" not in parts[1] or "2>" in line or "not " in line:
        return None
    prefixes: tuple[str, ...] = ("CHECK",)
    for found in re.findall(r"--?check-prefix(?:es)?[= ](\S+)", parts[1]):
        prefixes = tuple(found.split(","))
    try:
        name, *words = shlex.split(parts[0])
    except ValueError:
        return None
    flags: list[str] = []
    for word in words:
        bare = word.lstrip("-")
        option, _, value = bare.partition("=")
        if word == "%s" or option in ("split-input-file", "verify-diagnostics", "mlir-disable-threading"):
            continue
        if option == "pass-pipeline":
            inner = re.sub(r"\{[^}]*\}", "", value)
            known = all(p in PASSES or "." in p or p == "any" for p in re.findall(r"[\w.-]+", inner)) and any(
                p in PASSES for p in re.findall(r"[\w.-]+", inner)
            )
        else:
            known = option in PASSES or option in ("allow-unregistered-dialect", "mlir-print-op-generic")
        if not known:
            return None
        flags.append("--" + bare)
    if name != "mlir-opt" or not any(f.split("=")[0][2:] in (*PASSES, "pass-pipeline") for f in flags):
        return None
    return tuple(flags), prefixes


def checked_units_of(root: Path, file: Path) -> Iterator[Unit]:
    """The functions of one file under each RUN line whose passes are all ours."""
    text = file.read_text("utf-8", "replace")
    name = str(file.relative_to(root))
    for line in run_lines(text):
        found = passes_of(line)
        if found is None:
            continue
        for first, chunk in chunks(text):
            pieces = list(top_level_pieces(chunk))
            whole = len(pieces) < 2 or not all(judge(p, flags_of(text)).valid for _, p in pieces)
            for begin, piece in [(first, chunk)] if whole else pieces:
                if re.search(rf"\b(?:{'|'.join(found[1])})(?:-[A-Z]+)?(?:{{[^}}]*}})?:", piece):
                    yield Unit(name, begin, piece, flags_of(text), found[0], found[1], chunk)


# -- the judge


@dataclass(frozen=True)
class Verdict:
    """The verdict of mlir-opt-22 on a text."""

    valid: bool
    output: str


_cache: Path | None = None


def judge(text: str, flags: Sequence[str], *, generic: bool = True) -> Verdict:
    """The verdict of mlir-opt-22: its output, by default in generic form, or its errors."""
    argv = [JUDGE, *flags, *(["--mlir-print-op-generic"] if generic else [])]
    key = hashlib.sha256("\0".join([*argv, text]).encode("utf-8", "surrogateescape")).hexdigest()
    kept = _cache / key if _cache is not None else None
    if kept is not None and kept.exists():
        valid, _, output = kept.read_text("utf-8").partition("\n")
        return Verdict(valid == "valid", output)
    data = text.encode("utf-8", "surrogateescape")
    done = subprocess.run(argv, input=data, capture_output=True, timeout=UNIT_SECONDS, check=False)
    valid = done.returncode == 0
    output = (done.stdout if valid else done.stderr).decode("utf-8", "replace")
    if kept is not None:
        kept.write_text(("valid" if valid else "invalid") + "\n" + output, "utf-8")
    return Verdict(valid, output)


@functools.cache
def judged_dialects() -> frozenset[str]:
    """The dialects that mlir-opt-22 has."""
    done = subprocess.run([JUDGE, "--show-dialects"], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.partition(":")[2].strip().split(","))


@functools.cache
def is_declared(kind: str, name: str) -> bool:
    """True if the op (kind ""), type ("!") or attribute ("#") is declared here, or of a dialect unknown upstream."""
    prefix, _, word = name.partition(".")
    if prefix not in judged_dialects():
        return True
    dialect = find_dialect(prefix)
    if dialect is None:
        return False
    if kind == "":
        return name in dialect.ops
    return word in (dialect.types if kind == "!" else dialect.attributes)


def undeclared(generic: str) -> tuple[str, ...]:
    """The ops, types and attributes in a text of generic form that are not declared here."""
    found = {("", name) for name in re.findall(r'(?<!= )"([a-z]\w*\.[\w.$-]+)"\(', generic)}
    found |= {("", name) for name in re.findall(r'^\s*(?:%[^=]*= )?"([a-z]\w*\.[\w.$-]+)"\(', generic, re.M)}
    found |= set(re.findall(r"([!#])([a-z]\w*\.[a-zA-Z_]\w*)", re.sub(r'"(?:[^"\\]|\\.)*"', '""', generic)))
    return tuple(sorted(kind + name for kind, name in found if not is_declared(kind, name)))


# -- one unit


def run_ours(text: str, flags: Sequence[str]) -> tuple[int, str, str]:
    """Status, stdout and stderr of tessera-opt on a text."""
    from tessera_tools.cli import opt

    done = opt.run([*flags, "-"], stdin=text.encode("utf-8", "surrogateescape"))
    return done.exit_code, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def _limited(run: Any, unit: Unit) -> Finding:
    def too_long(*_: Any) -> None:
        raise TimeLimit

    old = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(UNIT_SECONDS)
    try:
        return run(unit)
    except TimeLimit:
        return Finding(unit, FAULT, f"took more than {UNIT_SECONDS} s")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def _first_error(text: str) -> str:
    found = re.search(r"^.*?error: .*$", text, re.M)
    return found.group() if found else text.strip().split("\n")[0][:200]


def _is_fault(status: int, errors: str) -> bool:
    return status not in (0, 1) or "internal fault" in errors or "Traceback" in errors


def run_unit(unit: Unit) -> Finding:
    """Read one unit both ways."""
    finding = _limited(_run_unit, unit)
    if finding.outcome in (DIFFERS, ACCEPTED_CLAIMED, REFUSED_CLAIMED):
        for file, part, why in EXPLAINED:
            if unit.file == file and part in finding.reason:
                return Finding(unit, KNOWN, f"{finding.reason}\n{why}", finding.names)
    return finding


def is_claimed(unit: Unit, error: str) -> bool:
    """True if the line of mlir-opt-22's error names nothing of its dialects that is not declared here."""
    place = re.search(r":(\d+):\d+: error", error)
    lines = unit.text.split("\n")
    number = int(place[1]) if place is not None else 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    names = set(re.findall(r"([!#]?)\b([a-z]\w*\.[a-zA-Z_][\w.$-]*)", f"{line} {error}"))
    for kind, name in names:
        prefix, _, _ = name.partition(".")
        dialect = find_dialect(prefix)
        if dialect is None and prefix in judged_dialects():
            return False
        if dialect is not None and not kind and f"'{name}' op" in error and name not in dialect.ops:
            return False
    return True


def _run_unit(unit: Unit) -> Finding:
    verdict = judge(unit.text, unit.flags)
    # mlir-opt-22 has dialects that we do not: their ops are parsed in generic form.
    flags = {*unit.flags, "--allow-unregistered-dialect"} if verdict.valid else set(unit.flags)
    status, output, errors = run_ours(unit.text, sorted(flags))
    if _is_fault(status, errors):
        return Finding(unit, FAULT, _first_error(errors))
    if not verdict.valid:
        theirs = _first_error(verdict.output)
        if status and not _only_lacks_end(errors, theirs):
            return Finding(unit, INVALID_REFUSED, f"{_first_error(errors)}\n{theirs}")
        return Finding(unit, ACCEPTED_CLAIMED if is_claimed(unit, theirs) else ACCEPTED, theirs)
    names = undeclared(verdict.output)
    if status:
        return Finding(unit, REFUSED if names else REFUSED_CLAIMED, _first_error(errors), names)
    again = judge(output, unit.flags)
    if not again.valid:
        return Finding(unit, DIFFERS, _first_error(again.output), names)
    if again.output != verdict.output and reprinted(unit) != again.output:
        pairs = zip(verdict.output.split("\n"), again.output.split("\n"), strict=False)
        first = next(((a, b) for a, b in pairs if a != b), ("", "fewer lines"))
        return Finding(unit, DIFFERS, f"{first[0].strip()}\n{first[1].strip()}", names)
    return Finding(unit, SAME, "", names)


def _only_lacks_end(errors: str, theirs: str) -> bool:
    """True if we refuse an invalid unit for nothing but a block without a terminator, which is in many tests. For
    upstream it is the consequence of another error, which we do not see."""
    found = re.findall(r": error: (.*)", errors)
    lacks = "block with no terminator"
    return lacks not in theirs and bool(found) and all(message.startswith(lacks) for message in found)


def reprinted(unit: Unit) -> str:
    """The output of mlir-opt-22 for its own custom form, which may omit an attribute with its default value."""
    return judge(judge(unit.text, unit.flags, generic=False).output, unit.flags).output


def run_checked_unit(unit: Unit) -> Finding:
    """Run the passes of a RUN line on one function, and its checks."""
    return _limited(_run_checked_unit, unit)


def _run_checked_unit(unit: Unit) -> Finding:
    finding = _check(unit, unit.text)
    if finding.outcome == FAILED and unit.chunk != unit.text and _check(unit, unit.chunk).outcome == PASSED:
        return Finding(unit, PASSED)
    return finding


def _check(unit: Unit, text: str) -> Finding:
    from harness.commands import COMMANDS

    status, output, errors = run_ours(text, [*unit.run, *(f for f in unit.flags if f not in unit.run)])
    if _is_fault(status, errors):
        return Finding(unit, FAULT, _first_error(errors))
    if status:
        names = undeclared(judge(text, unit.flags).output)
        return Finding(unit, REFUSED if names else FAILED, _first_error(errors), names)
    # The names of values that the checks expect are those that upstream's printer makes.
    printed = judge(output, ["--allow-unregistered-dialect"], generic="--mlir-print-op-generic" in unit.run)
    if not printed.valid:
        return Finding(unit, DIFFERS, _first_error(printed.output))
    output = printed.output
    prefix, *others = unit.prefixes
    for other in others:
        text = re.sub(
            rf"\b{re.escape(other)}(-(?:NEXT|SAME|NOT|DAG|LABEL|COUNT-\d+))?:", rf"{prefix}\1:", text
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "checks.mlir"
        source.write_text(text, "utf-8")
        argv = [str(source), f"--check-prefix={prefix}"]
        done = COMMANDS["FileCheck"](argv, output.encode("utf-8", "surrogateescape"), folder)
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    return Finding(unit, FAILED, output.strip()[:400]) if done.exit_code else Finding(unit, PASSED)


# -- the table


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tests; returns 0 if there is no unexpected result."""
    global _cache
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="MLIR_TEST", help="mlir/test of the source of LLVM 22")
    parser.add_argument(
        "--part", action="append", help="only this folder of it, such as Dialect/Arith; repeatable"
    )
    parser.add_argument("--filter", default="", help="only files whose path holds this text")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument(
        "--passes", action="store_true", help="run RUN lines whose passes we have, with their checks"
    )
    parser.add_argument("--verbose", action="store_true", help="print each unit that is not as it should be")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what mlir-opt-22 printed")
    parser.add_argument("--json", type=Path, help="write every unit with its outcome there")
    options = parser.parse_args(argv)
    root = options.folder.resolve()
    if options.cache is not None:
        options.cache.mkdir(parents=True, exist_ok=True)
        _cache = options.cache.resolve()
    files = [
        file
        for folder in options.part or FOLDERS
        for file in sorted((root / folder).rglob("*.mlir"))
        if options.filter in str(file.relative_to(root))
    ]
    if not files:
        parser.error(f"no test files below '{root}'")
    split, run = (checked_units_of, run_checked_unit) if options.passes else (units_of, run_unit)
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            per_file = list(pool.map(_units, [split] * len(files), [root] * len(files), files))
            units = [unit for found in per_file for unit in found]
            findings = list(pool.map(run, units, chunksize=8))
    else:
        findings = [run(unit) for file in files for unit in split(root, file)]
    print_table(findings, options.verbose)
    if options.json:
        rows = [
            {"file": f.unit.file, "line": f.unit.line, "run": list(f.unit.run), "outcome": f.outcome,
             "reason": f.reason, "undeclared": list(f.names)}
            for f in findings
        ]  # fmt: skip
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return int(any(f.outcome in (*BAD, FAILED) for f in findings))


def _units(split: Any, root: Path, file: Path) -> list[Unit]:
    return list(split(root, file))


def print_table(findings: Sequence[Finding], verbose: bool) -> None:
    """Print the numbers of units by file and outcome."""
    shown = [o for o in OUTCOMES if any(f.outcome == o for f in findings)]
    by_part: dict[str, Counter[str]] = {}
    for finding in findings:
        name = finding.unit.file
        part = next((folder for folder in FOLDERS if name.startswith(folder + "/")), str(Path(name).parent))
        by_part.setdefault(part, Counter())[finding.outcome] += 1
    for number, outcome in enumerate(shown):
        print(f"{chr(ord('a') + number)}: {outcome}")
    print(f"{'':<20}" + "".join(f"{chr(ord('a') + n):>7}" for n in range(len(shown))))
    for part, counts in by_part.items():
        print(f"{part:<20}" + "".join(f"{counts[o]:>7}" for o in shown))
    total = Counter(f.outcome for f in findings)
    print(f"{'total':<20}" + "".join(f"{total[o]:>7}" for o in shown))
    if verbose:
        for finding in findings:
            if finding.outcome in (*BAD, KNOWN, FAILED):
                reason = finding.reason.replace("\n", "\n    ")
                print(f"{finding.unit.file}:{finding.unit.line}: {finding.outcome}\n    {reason}")
                if finding.names:
                    print(f"    not declared: {', '.join(finding.names)}")


if __name__ == "__main__":
    sys.exit(main())
