#!/usr/bin/env python3
"""Random cuda_tile programs, each compiled at -O0 and -O3 for two targets and run on the simulated GPU: the four
results are equal bit by bit, the exact ones equal an interpretation in NumPy, and there is no finding.

    random_programs.Generator ──▶ text ──▶ 4 × (PTX ──▶ simulated GPU) ──▶ arrays
                                      └──▶ test/reference (NumPy) ──▶ arrays

    python tools/fuzz_programs.py [--seconds 600] [--seed N] [--count 0] [--jobs 1] [--keep build/fuzz_programs]
                                  [--gpu-name sm_90a]

For sm_90a, there is a fifth result: that of -O3 with the plain ABI, which has no TMA and no wgmma. `--gpu-name`
compiles for one target alone.

A failing program is reduced while it fails in the same way, and written to a file; in test/fuzz/inputs it becomes a
test. `--seed N --count 1` creates the program of that seed again. The exit status is 1 after a failure.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from random_programs import INTEGERS, Generator, Program, Value, smaller  # noqa: E402

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
WITH_TMA = "sm_90a"
MOST_TRIES = 150
"""Smaller programs that are tried for one failure."""


def arrays(program: Program, seed: int) -> tuple[list[Any], list[Any]]:
    """Random inputs, and places for the outputs."""
    from programs import empty
    from programs import random as random_array

    rng = np.random.default_rng(seed)
    inputs = [random_array(v.element, program.shape(v), rng) for v in program.inputs]
    return inputs, [empty(v.element, program.shape(v)) for v in (*program.outputs, *program.cells)]


def differs(value: Value, a: Any, b: Any) -> bool:
    """True if two results are unequal; any NaN equals any other."""
    from programs import decode

    if value.element not in INTEGERS:
        x, y = decode(value.element, a), decode(value.element, b)
        same = (x == y) & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y))
        return not bool(np.all(same))
    return not np.array_equal(a, b)


def failure(program: Program, seed: int, gpu_name: str | None = None) -> str | None:
    """The failure of a program's compilation, for one target or two; None if there is none."""
    from programs import compiled, run
    from reference.interpreter import UnsupportedError, interpret

    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.parser import parse_module

    text = program.text()
    choice = random.Random(seed)
    targets = choice.sample(TARGETS, 2) if gpu_name is None else [gpu_name]
    inputs, outputs = arrays(program, seed)
    count = len(inputs)
    stored = [*program.outputs, *program.cells]
    grid = (program.blocks,)
    first: list[Any] | None = None
    try:
        for target in targets:
            for level, plain in ((0, False), (3, False), (3, True)):
                if plain and target != WITH_TMA:
                    continue
                mode = choice.choice(("late", "early"))
                found = run(
                    text,
                    *inputs,
                    *outputs,
                    target=target,
                    grid=grid,
                    seed=choice.randrange(1 << 30),
                    mode=mode,
                    level=level,
                    plain_abi=plain,
                )
                compiled.cache_clear()
                if first is None:
                    first = found
                for value, a, b in zip(stored, first[count:], found[count:], strict=True):
                    if differs(value, a, b):
                        way = f"{target} -O{level}" + " with the plain ABI" * plain
                        return f"{value.name} differs between {targets[0]} -O0 and {way}"
    except DiagnosticError as problem:
        message = problem.diagnostics[0].message
        return None if _is_refusal(message) else f"error: {message}"
    except AssertionError as problem:
        return f"finding: {str(problem).splitlines()[0] if str(problem) else 'assertion'}"
    except Exception as problem:
        line = traceback.extract_tb(problem.__traceback__)[-1]
        return f"{type(problem).__name__} in {Path(line.filename).name}:{line.lineno}: {problem}"
    assert first is not None
    try:
        expected = interpret(parse_module(text, "program.mlir"), [*inputs, *outputs], grid)
    except UnsupportedError:
        return None
    for value, a, b in zip(stored, expected[count:], first[count:], strict=True):
        if value.exact and differs(value, a, b):
            return f"{value.name} differs from the reference"
    return None


def _is_refusal(message: str) -> bool:
    """True if an error says that the compiler does not support something, which is no failure."""
    return "is not supported" in message or "in this version" in message or "at most" in message


def shrink(program: Program, seed: int, what: str, gpu_name: str | None = None) -> Program:
    """The smallest program found that fails in the same way."""
    kind = what.split(":", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    tries = 0
    progress = True
    while progress and tries < MOST_TRIES:
        progress = False
        for candidate in smaller(program):
            tries += 1
            if tries > MOST_TRIES:
                break
            if len(candidate.text()) >= len(program.text()):
                continue
            try:
                found = failure(candidate, seed, gpu_name)
            except Exception:
                continue
            if found is not None and (found.split(":")[0].split(" ")[0] == kind or kind.startswith("%")):
                program, progress = candidate, True
                break
    return program


def one(seed: int, gpu_name: str | None = None) -> tuple[int, str | None, str, int]:
    """The program of a seed: (seed, failure, reduced text, statements)."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        program = Generator(random.Random(seed)).program()
        what = failure(program, seed, gpu_name)
        size = len(program.statements)
        if what is None:
            return seed, None, "", size
        return seed, what, shrink(program, seed, what, gpu_name).text(), size


def main() -> int:
    """Run for some seconds, or some programs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=0, help="programs; 0 for as many as the time allows")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--gpu-name", choices=TARGETS, help="compile for this target alone")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz_programs")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}")
    start = time.monotonic()
    done = statements = 0
    found: dict[str, int] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        while (not options.count or done < options.count) and time.monotonic() - start < options.seconds:
            batch = min(8 * options.jobs, options.count - done if options.count else 8 * options.jobs)
            for number, what, text, size in pool.map(
                one, range(seed + done, seed + done + batch), repeat(options.gpu_name)
            ):
                statements += size
                if what is None:
                    continue
                found[what] = found.get(what, 0) + 1
                options.keep.mkdir(parents=True, exist_ok=True)
                path = options.keep / f"program-{number}.mlir"
                path.write_text(f"// {what}\n// tools/fuzz_programs.py --seed {number} --count 1\n\n{text}")
                print(f"seed {number}: {what}\n  kept as {path}", flush=True)
            done += batch
    seconds = time.monotonic() - start
    print(f"{done} programs of {statements} statements in {seconds:.0f} s: {sum(found.values())} failures")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
