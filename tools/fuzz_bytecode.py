#!/usr/bin/env python3
"""Broken bytecode, by the hundred thousand: each file is refused with a byte offset, or is a verified module.

    test/cutile/*/*.tileirbc ──mutate──▶ bytes ──read_bytecode──▶ DiagnosticError with a position, or a module, which is
                                                                  written and read once more

    python tools/fuzz_bytecode.py [--mlir] [--count 100000] [--seed N] [--jobs 1] [--keep FOLDER]

With --mlir, the files are MLIR bytecode of the programs of test/dialects.

Mutations: bits flipped, bytes replaced, the end cut off, pieces repeated, removed or taken from another file,
lengths and counts replaced by wrong ones (huge varints), and files of nested regions. Any other outcome than the
two above is a failure: a traceback, more than 2 s of processor time, or more than 200 MB beyond the memory for the
original files. The file is kept, and its seed is printed: `--seed N --count 1` creates it again. The exit status is
1 after a failure."""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SECONDS = 2.0
MEGABYTES = 200
CHUNK = 2000
"""Files that one process tries."""
HUGE = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x10",
    b"\xff\xff\x7f",
    b"\x00" + b"\xff" * 8,
    b"\x00\x00\x00\x00\x80\x00\x00\x00\x00",
    b"\xf0\xff\xff\xff\xff",
)
"""Wrong varints for a length or a count."""


# -- mutations


def flip(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Some bits."""
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data))
        data[at] ^= 1 << rng.randrange(8)


def replace(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Some bytes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))


def truncate(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """The end."""
    del data[rng.randrange(len(data)) :]


def lie(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """A number becomes a huge one, in place or with the following bytes moved."""
    at, huge = rng.randrange(len(data)), rng.choice(HUGE)
    data[at : at + (len(huge) if rng.random() < 0.5 else 1)] = huge


def remove(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """A piece is missing."""
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 16)]


def repeat(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """A piece is repeated."""
    at, size = rng.randrange(len(data)), rng.randrange(1, 64)
    data[at:at] = data[at : at + size] * rng.choice((1, 1, 2, 50))


def splice(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """A piece of another file."""
    other = rng.choice(others)
    start, size = rng.randrange(len(other)), rng.randrange(1, 128)
    at = rng.randrange(len(data))
    data[at : at + rng.choice((0, size))] = other[start : start + size]


def reversion(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Another version, and a mutation more."""
    if len(data) > 9:
        data[9] = rng.randrange(1, 6)
    flip(data, rng, others)


def nest(data: bytearray, rng: random.Random, others: list[bytes]) -> None:
    """Regions in regions: nested `if`s replace the function's body."""
    depth = rng.choice((10, 100, 900, 3000))
    level = bytes([50, 0, 0, 2, 1, 0, 1])
    body = level * depth
    at = rng.randrange(min(len(data), 64), len(data) + 1)
    data[at : at + rng.choice((0, len(body)))] = body


MUTATIONS: tuple[Callable[[bytearray, random.Random, list[bytes]], None], ...] = (
    flip, flip, replace, replace, truncate, lie, remove, repeat, splice, reversion, nest,
)  # fmt: skip


def mutant(seed: int, files: list[bytes]) -> bytes:
    """The file of a seed."""
    rng = random.Random(seed)
    data = bytearray(rng.choice(files))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if data:
            rng.choice(MUTATIONS)(data, rng, files)
    return bytes(data)


# -- outcomes


@dataclass
class Outcome:
    """The outcome of a run of files."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    growth: float = 0.0
    """MB by which the peak of the process's memory grew."""


def attempt(data: bytes, mlir: bool) -> str:
    """Read one file: "refused" or "read". Raises AssertionError, or what the reader let through."""
    from tessera_tools.bytecode import Version, read_bytecode, write_bytecode
    from tessera_tools.diagnostics import DiagnosticError

    if mlir:
        return attempt_mlir(data)
    try:
        module = read_bytecode(data, "mutant.tileirbc")
    except DiagnosticError as failure:
        for diagnostic in failure.diagnostics:
            messages = [diagnostic, *diagnostic.notes]
            assert any("byte" in d.message for d in messages), f"no byte offset: {diagnostic.message}"
            assert diagnostic.location is not None and diagnostic.location.start() is not None, (
                diagnostic.message
            )
        return "refused"
    again = write_bytecode(module, Version(data[8], data[9]))
    read_bytecode(again, "again.tileirbc")
    return "read"


def attempt_mlir(data: bytes) -> str:
    """The same for MLIR bytecode."""
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.printing import print_op
    from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode

    try:
        module = read_mlir_bytecode(data, "mutant.mlirbc", allow_unregistered=True)
    except DiagnosticError as failure:
        # The verifier names the place in the source if the file has it.
        place = failure.diagnostics[0].location
        assert place is not None and place.start() is not None, failure.diagnostics[0].message
        return "refused"
    print_op(module)
    read_mlir_bytecode(write_mlir_bytecode(module), "again.mlirbc", allow_unregistered=True)
    return "read"


def mlir_files() -> list[bytes]:
    """MLIR bytecode, in several versions, of the first program of the files of test/dialects."""
    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.ir.verifier import verify
    from tessera_tools.mlir_bytecode import write_mlir_bytecode
    from tessera_tools.parser import parse_module
    from tessera_tools.parser.source import split_input

    found: list[bytes] = []
    for path in sorted((ROOT / "test/dialects").rglob("*.mlir")):
        try:
            text = next(iter(split_input(path.read_text()))).text
            module = parse_module(text, path.name, allow_unregistered=True)
            if not verify(module):
                found += [write_mlir_bytecode(module, version) for version in (6, 5)]
        except DiagnosticError:
            continue
    return found


def run(first: int, count: int, files: list[bytes], mlir: bool = False) -> Outcome:
    """Try the files of `count` seeds from `first`."""
    outcome = Outcome()
    for data in files:
        attempt(data, mlir)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(first, first + count):
        data = mutant(seed, files)
        begin = time.process_time()
        try:
            outcome.counts[attempt(data, mlir)] += 1
        except BaseException as failure:
            if isinstance(failure, KeyboardInterrupt):
                raise
            words = "".join(traceback.format_exception(failure)[-3:])
            outcome.failures.append((seed, words))
        taken = time.process_time() - begin
        outcome.slowest = max(outcome.slowest, taken)
        if taken > SECONDS:
            outcome.failures.append((seed, f"took {taken:.1f} s"))
    outcome.growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if outcome.growth > MEGABYTES:
        outcome.failures.append((first, f"{outcome.growth:.0f} MB more within {count} files"))
    return outcome


def main() -> None:
    """Fuzz and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mlir", action="store_true", help="MLIR bytecode")
    parser.add_argument("--count", type=int, default=100_000, help="how many files (100000)")
    parser.add_argument("--seed", type=int, default=None, help="the first file's seed (random)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (1)")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="folder for failing files")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    files = [path.read_bytes() for path in sorted((ROOT / "test/cutile").glob("*/*.tileirbc"))]
    if options.mlir:
        files = mlir_files()
    print(f"seed {seed}, {options.count} files, mutants of {len(files)}", flush=True)
    total = Outcome()
    starts = range(seed, seed + options.count, CHUNK)
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
        runs = [
            pool.submit(run, at, min(CHUNK, seed + options.count - at), files, options.mlir) for at in starts
        ]
        for waiting in runs:
            one = waiting.result()
            total.counts += one.counts
            total.failures += one.failures
            total.slowest = max(total.slowest, one.slowest)
            total.growth = max(total.growth, one.growth)
    for number, words in total.failures[:20]:
        options.keep.mkdir(parents=True, exist_ok=True)
        path = options.keep / f"{number}.tileirbc"
        path.write_bytes(mutant(number, files))
        print(f"FAILED seed {number} ({path}):\n{words}")
    print(
        f"{total.counts['refused']} refused, {total.counts['read']} read, {len(total.failures)} failed; "
        f"slowest {total.slowest:.2f} s, most memory in {CHUNK} files {total.growth:.0f} MB"
    )
    sys.exit(1 if total.failures else 0)


if __name__ == "__main__":
    main()
