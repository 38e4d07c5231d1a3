#!/usr/bin/env python3
"""The programs of the corpus, the kernels of cuTile and the examples on one GPU: both modes of the simulated GPU, eight
schedules each, whole and ragged arrays, no finding, and the results of NumPy in float64. With `--support`, also every
program of the table of supported ops, in both modes.

    python tools/sweep.py [--gpu-name sm_90a] [--seed N] [--schedules 8] [--only NAME]... [--jobs 1] [--support]
    python tools/sweep.py --mutants [--sites N] …

    program ──▶ PTX ──▶ (late, early) x schedules x (whole, ragged) ──▶ findings, arrays ◀──▶ float64
                 └──▶ a wait, arrival, fence or count changed ──▶ the same until one launch is wrong

`--mutants` changes each synchronization of the programs that use mbarriers, TMA or asynchronous products, one at a
time, and prints those with which all is well; `--sites` draws so many of each program.  The exit status is 1 if a
launch is wrong or a change is not noticed.  `examples/distributed_*.mlir` need several GPUs, see test/dsl.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(ROOT),
    str(ROOT / "tools"),
    str(ROOT / "test"),
    str(ROOT / "test" / "cutile"),
]

import numpy as np  # noqa: E402
import support_table  # noqa: E402
from cutile import test_results as cutile  # noqa: E402
from dsl import test_examples as examples  # noqa: E402
from programs import Array, Compiled, compiled_module, decode, launch_ptx, stopped_by_findings  # noqa: E402
from reference.interpreter import interpret  # noqa: E402
from support import prove  # noqa: E402
from tile import flash_attention  # noqa: E402
from trials import mutants  # noqa: E402

from tessera_tools.bytecode import read_bytecode  # noqa: E402
from tessera_tools.diagnostics import DiagnosticError  # noqa: E402
from tessera_tools.dialects import cuda_tile as ct  # noqa: E402
from tessera_tools.emit.driver import Options  # noqa: E402
from tessera_tools.parser import parse_module  # noqa: E402
from tessera_tools.target import lookup  # noqa: E402


def _of_file(path: Path) -> Any:
    """The module of a file, whose package has the name of another one (tools/bench/corpus.py)."""
    spec = importlib.util.spec_from_file_location(f"sweep_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


corpus = _of_file(ROOT / "test" / "corpus" / "test_results.py")
MODES = ("late", "early")
MOST = 400_000
"""Instructions of a warp before a launch counts as endless."""
ASYNCHRONOUS = re.compile(r"mbarrier\.|cp\.async\.bulk|wgmma|tcgen05")
"""What the programs that are mutated have one of."""


Row = tuple[str, int, int, list[str]]
"""A line to print, the number of programs, that of launches or mutants, and what is wrong."""


@dataclass(frozen=True)
class Case:
    """One launch: arguments, grid, and what is wrong with the arrays afterwards (an AssertionError)."""

    args: list[Any]
    grid: tuple[int, ...]
    judge: Callable[[list[Array]], None]


@dataclass(frozen=True)
class Program:
    """A program: how its module is read, and its cases by (random numbers, is ragged, is long)."""

    name: str
    module: Callable[[], Any]
    case: Callable[[np.random.Generator, bool, bool], Case | None]


def close(found: Any, expected: Any, tolerance: float) -> None:
    """Raises AssertionError unless numbers are near each other."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# -- the corpus


def of_corpus(name: str) -> Program:
    """A program of test/corpus; long: several rounds of each pipeline."""

    def case(rng: np.random.Generator, ragged: bool, long: bool) -> Case:
        args, grid, compare, tolerance = corpus.CASES[name](rng, ragged, 9 if long else 2)

        def judge(arrays: list[Array]) -> None:
            found, expected = compare(arrays)
            close(found, expected, tolerance)

        return Case(args, tuple(grid), judge)

    path = ROOT / "test" / "corpus" / f"{name}.mlir"
    return Program(f"corpus/{name}", lambda: parse_module(path.read_text(), path.name), case)


# -- cuTile


def of_cutile(name: str) -> Program:
    """The newest version of a kernel of test/cutile."""
    read = functools.cache(lambda: read_bytecode(cutile.newest(name).read_bytes(), name))

    def case(rng: np.random.Generator, ragged: bool, long: bool) -> Case | None:
        if ragged and name in cutile.ALIGNED:
            return None
        module = read()
        entry = next(op for op in module.walk() if isinstance(op, ct.Entry))
        groups = cutile.parameters_of(entry)
        args = cutile.prepared(name, cutile.make(groups, 6 if long else 2, ragged, rng), groups)
        grid = (1, 1, 1) if name in cutile.ONE_BLOCK or long else (2, 2, 2)
        copies = [v.copy() if isinstance(v, np.ndarray) and v.ndim else v for v in args]
        expected = interpret(module, copies, grid)
        arrays = [group for group in groups if group.rank >= 0]

        def judge(found: list[Array]) -> None:
            for group, a, b in zip(arrays, expected, found, strict=True):
                cutile.compare(group.element, b, a)

        return Case(args, grid, judge)

    # The conversion changes a module.
    return Program(f"cutile/{name}", lambda: read_bytecode(cutile.newest(name).read_bytes(), name), case)


# -- examples

_LONG = {
    "gemm": (examples.matrices(np.float16, 72, 136, 288), examples.over(2, 64, 64)),
    "gemm_tile": (examples.matrices(np.float32, 136, 128, 576), examples.over(2, 128, 128)),
    "gemm_ring": (examples.matrices(np.float32, 72, 64, 288), examples.over(2, 64, 64)),
    "attention": (examples.heads(330), lambda _: (6, 2, 1)),
    "attention_causal": (examples.heads(330), lambda _: (6, 2, 1)),
}
"""Arguments and grid with which pipelines have several rounds."""


def _product(a: Any, b: Any, *_: Any) -> Any:
    return a @ b


def _softmax(x: Any, *_: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _layer_norm(x: Any, scale: Any, shift: Any, _: Any, epsilon: Any) -> Any:
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + epsilon) * scale + shift


def _rms_norm(x: Any, scale: Any, _: Any, epsilon: Any) -> Any:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + epsilon) * scale


def _attention(causal: bool) -> Callable[..., Any]:
    def expected(q: Any, k: Any, v: Any, _: Any) -> Any:
        heads = [
            flash_attention.attention(q[0, h], k[0, h], v[0, h], 0.125, causal) for h in range(q.shape[1])
        ]
        return np.stack(heads)[None]

    return expected


def _listing(q: Any, k: Any, v: Any, _: Any) -> Any:
    return np.stack([flash_attention.listing(q[0, h], k[0, h], v[0, h]) for h in range(q.shape[1])])[None]


EXPECTED: dict[str, tuple[Callable[..., Any], float]] = {
    "vector_add": (lambda a, b, _: a + b, 1e-6),
    "gemm": (_product, 1e-2),
    "gemm_tile": (_product, 2e-3),
    "gemm_ring": (_product, 2e-3),
    "softmax": (_softmax, 1e-5),
    "layer_norm": (_layer_norm, 2e-2),
    "rms_norm": (_rms_norm, 1e-2),
    "copy_bounds": (lambda a, _: a, 0.0),
    "transpose": (lambda a, _: a.T, 0.0),
    "histogram": (lambda a, _: np.bincount(a.astype(np.int64) & 31, minlength=32), 0.0),
    "attention": (_attention(False), 2e-2),
    "attention_causal": (_attention(True), 2e-2),
    "flash_attention_listing": (_listing, 2e-2),
}
"""Example → what it computes, in float64, and the tolerance."""


def _numbers(value: Any) -> Any:
    return decode("bf16", value) if value.dtype == np.uint16 else value.astype(np.float64)


def of_examples(name: str) -> Program:
    """A file of examples/."""
    path = ROOT / "examples" / f"{name}.mlir"

    def case(rng: np.random.Generator, ragged: bool, long: bool) -> Case | None:
        if name == "gemm_stage1":
            return _stage1(rng, ragged, long)
        _, _, make, grid, out = examples.CASES[name]
        if long:
            make, grid = _LONG.get(name, (make, grid))
        given = [np.ascontiguousarray(v) if v.ndim else v for v in make(rng)]
        expected, tolerance = EXPECTED[name]
        right = expected(*map(_numbers, given))
        args = [v for one in given for v in (corpus.strided(one) if one.ndim else [one])]
        return Case(args, grid(given), lambda arrays: close(_numbers(arrays[out]), right, tolerance))

    def module() -> Any:
        return parse_module(path.read_text(), path.name, implicit_index_constants=True)

    return Program(f"examples/{name}", module, case)


def _stage1(rng: np.random.Generator, ragged: bool, long: bool) -> Case:
    """Nothing is known of its extents, so that ragged ones are odd."""
    m, n, k = 128, 128, 576 if long else 192
    if ragged:
        m, n, k = int(rng.integers(1, 200)), int(rng.integers(1, 128)), k - int(rng.integers(1, 64))
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    c = rng.standard_normal((m, n)).astype(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    args = [a, b, c, np.full_like(c, np.nan), *map(np.int32, (m, n, k))]
    return Case(args, (-(-m // 128), -(-n // 128)), lambda arrays: close(arrays[3], expected, 2e-3))


def programs() -> list[Program]:
    """All of them."""
    files = sorted(path.stem for path in (ROOT / "examples").glob("*.mlir"))
    return [
        *map(of_corpus, corpus.NAMES),
        *(of_examples(name) for name in files if not name.startswith("distributed_")),
        *map(of_cutile, cutile.NAMES),
    ]


# -- a launch, and many


def compile_program(program: Program, target: str) -> Compiled:
    """Its PTX."""
    options = Options(lookup(target), until="ptx", verify_each=True)
    return compiled_module(program.module(), options, (compile_program, program.name, target))


def wrong(made: Compiled, case: Case, target: str, mode: str, schedule: int) -> str:
    """What is wrong with one launch, in a line; empty if nothing is."""
    options: dict[str, Any] = {"mode": mode, "seed": schedule, "max_instructions": MOST}
    try:
        arrays, result = launch_ptx(made, case.args, target, case.grid, file="program.ptx", **options)
    except DiagnosticError as problem:
        return str(problem).strip().splitlines()[0]
    if result.findings:
        return result.findings.text("program").strip().splitlines()[0]
    try:
        case.judge(arrays)
    except AssertionError as problem:
        return " ".join(str(problem).split())[:200]
    return ""


def swept(job: tuple[str, str, int, int]) -> Row:
    """(a line on a program, 1, its launches, what was wrong)."""
    name, target, seed, schedules = job
    program = next(one for one in programs() if one.name == name)
    begin, launches, problems = time.process_time(), 0, list[str]()
    try:
        made = compile_program(program, target)
    except DiagnosticError as refusal:
        return f"{name:40} refused: {str(refusal).splitlines()[0]}", 1, 0, [f"{name}: refused"]
    rng = np.random.default_rng([seed, *name.encode()])
    for ragged in (False, True):
        case = program.case(rng, ragged, False)
        if case is None:
            continue
        for mode in MODES:
            for schedule in range(seed, seed + schedules):
                launches += 1
                if problem := wrong(made, case, target, mode, schedule):
                    problems.append(f"{name} {'ragged' * ragged} {mode} {schedule}: {problem}")
    has = [word for word in ("wgmma", "tcgen05", "mma.sync", "cp.async.bulk", "mbarrier") if word in made.ptx]
    line = f"{name:40} {launches} launches, {len(problems)} wrong, {time.process_time() - begin:.1f} s {' '.join(has)}"
    return line, 1, launches, problems


@functools.cache
def support_cases() -> list[prove.Case]:
    """The programs of the table of supported ops."""
    return prove.cases()


def proven(job: tuple[str, str, int, int]) -> Row:
    """(a line on an op of the table of supported ops, its programs, their launches, what was wrong).

    A refusal that docs/support.md does not have is wrong.
    """
    name, target, seed, _ = job
    op = name.removeprefix("support/")
    page = support_table.PAGE.read_text("utf-8")
    begin, launches, refused, problems = time.process_time(), 0, 0, list[str]()
    every = [case for case in support_cases() if case.op == op]
    for number, case in enumerate(every):
        expected = support_table.expected(page, case, target)
        try:
            why = support_table.outcome((case, target, seed + number), MODES)[2]
        except Exception as problem:  # A fault of one program must not end the run.
            launches += 1
            problems.append(f"{case}, seed {seed + number}: {type(problem).__name__}: {problem}"[:2000])
            continue
        launches += 0 if why else len(MODES)
        refused += bool(why)
        if support_table.reason(why) != expected:
            problems.append(
                f"{case}, seed {seed + number}: {why or 'compiles'}; expected {expected or 'that it compiles'}"
            )
    line = (
        f"{name:40} {len(every)} programs, {refused} refused as documented, {launches} launches, "
        f"{len(problems)} wrong, {time.process_time() - begin:.1f} s"
    )
    return line, len(every), launches, problems


def launched(job: tuple[str, str, int, int]) -> Row:
    """As `swept`, or `proven` for an op of the table."""
    return (proven if job[0].startswith("support/") else swept)(job)


def mutated(job: tuple[str, str, int, int]) -> Row:
    """(a line on a program, 1, its mutants, those with which all is well)."""
    name, target, seed, sites = job
    program = next(one for one in programs() if one.name == name)
    made = compile_program(program, target)
    if not ASYNCHRONOUS.search(made.ptx):
        return f"{name:40} nothing asynchronous", 1, 0, []
    begin, rng = time.process_time(), np.random.default_rng([seed, *name.encode()])
    found = ((program.case(rng, ragged, long)) for long in (False, True) for ragged in (False, True))
    cases = [case for case in found if case is not None]
    for case in cases:
        if problem := wrong(made, case, target, "late", 0):
            return f"{name:40} wrong without a change", 1, 0, [f"{name}: {problem}"]
    changed = list(mutants(made.ptx))
    total = len(changed)
    if 0 < sites < total:
        changed = [changed[i] for i in sorted(rng.permutation(total)[:sites])]

    @stopped_by_findings()
    def is_noticed(ptx: str) -> bool:
        one = Compiled(ptx, made.manifest)
        launches: Iterator[tuple[Case, str, int]] = (
            (case, mode, schedule) for schedule in range(2) for case in cases for mode in MODES
        )
        return any(wrong(one, case, target, mode, schedule) for case, mode, schedule in launches)

    alive = [what for what, ptx in changed if not is_noticed(ptx)]
    line = f"{name:40} {len(changed)} of {total} mutants, {len(alive)} alive, {time.process_time() - begin:.1f} s"
    return line, 1, len(changed), [f"{name}: {what}" for what in alive]


def main() -> int:
    """Compile, launch, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", default="sm_90a")
    parser.add_argument("--seed", type=int, help="of numbers and schedules")
    parser.add_argument("--schedules", type=int, default=8, help="schedules of each mode")
    parser.add_argument("--only", action="append", help="programs whose name contains this")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--mutants", action="store_true", help="change each synchronization")
    parser.add_argument("--support", action="store_true", help="the table of supported ops too")
    parser.add_argument("--sites", type=int, default=0, help="mutants of each program (0: all)")
    options = parser.parse_args()
    seed = secrets.randbits(31) if options.seed is None else options.seed
    print(f"{options.gpu_name}, seed {seed}", flush=True)
    names = [p.name for p in programs()]
    if options.support:
        names += [f"support/{op}" for op in dict.fromkeys(case.op for case in support_cases())]
    names = [name for name in names if not options.only or any(word in name for word in options.only)]
    count = options.sites if options.mutants else options.schedules
    programs_run, total, bad = 0, 0, list[str]()
    with ProcessPoolExecutor(options.jobs) as pool:
        work = mutated if options.mutants else launched
        for line, count_of, number, problems in pool.map(
            work, [(name, options.gpu_name, seed, count) for name in names]
        ):
            programs_run, total, bad = programs_run + count_of, total + number, bad + problems
            print("\n  ".join([line, *problems]), flush=True)
    what = "mutants, {} alive" if options.mutants else "launches, {} wrong"
    print(f"{programs_run} programs, {total} {what.format(len(bad))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
