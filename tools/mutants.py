"""Mutation testing: change one executed expression, run the tests that cover it, and see whether one fails.

```console
$ python tools/mutants.py --sample 20                 # measures coverage first, once (about two full test runs)
$ python tools/mutants.py --sample 200 --seed 7 --jobs 2
$ python tools/mutants.py --only tessera_tools/analysis --sample 30
```

A mutant that no test kills is printed with its difference. Read each one: either a test is missing, or the mutant is
equivalent (it computes the same), and the count does not include this.

coverage by test  →  sample of executed lines  →  mutants (operators of cosmic-ray)  →  covering tests, fastest first
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import difflib
import json
import os
import queue
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "tessera_tools"
FOLDER = ROOT / "build" / "mutants"
COVERAGE = FOLDER / "coverage.sqlite"
DURATIONS = FOLDER / "durations.json"
COPIED = (
    "tessera_tools",
    "test",
    "grammar",
    "examples",
    "docs",
    "tools",
    "pyproject.toml",
    "README.md",
    "Makefile",
)
TEST_SECONDS = 240
"""Time limit for the covering tests of one mutant. A mutant that hangs is killed by it."""
MOST_TESTS = 400
"""The maximum number of covering tests for one mutant: the fastest ones."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    operator: str
    code: str
    """The text of the whole file with the change."""

    def difference(self) -> str:
        """The change as a unified difference without context."""
        before = (ROOT / self.path).read_text().splitlines()
        lines = difflib.unified_diff(before, self.code.splitlines(), self.path, self.path, lineterm="", n=0)
        return "\n".join(list(lines)[2:])


class Durations:
    """A pytest plugin that records how long each test takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: object) -> None:
        """Add the phase's duration to its test."""
        name, seconds = getattr(report, "nodeid", ""), getattr(report, "duration", 0.0)
        self.seconds[name] = self.seconds.get(name, 0.0) + float(seconds)


def measure(arguments: list[str]) -> None:
    """Run the tests once, and keep which test executes which line and how long each takes."""
    import pytest

    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["COVERAGE_FILE"] = str(COVERAGE)
    durations = Durations()
    options = [
        "-q",
        "-n",
        "auto",
        "--dist=worksteal",
        f"--cov={SOURCES}",
        "--cov-context=test",
        "--cov-report=",
    ]
    status = pytest.main([*options, *arguments], plugins=[durations])
    if status not in (0, 1) or not COVERAGE.exists():
        raise SystemExit(f"error: the tests could not be run for coverage (pytest's status {status})")
    DURATIONS.write_text(json.dumps(durations.seconds))


class Covering:
    """Which tests execute a line, the fastest first."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self.data = CoverageData(basename=str(COVERAGE))
        self.data.read()
        self.seconds: dict[str, float] = json.loads(DURATIONS.read_text())

    def files(self) -> list[str]:
        """The measured files, relative to the checkout."""
        measured = (Path(name) for name in self.data.measured_files())
        return sorted(str(one.relative_to(ROOT)) for one in measured if one.is_relative_to(ROOT))

    def tests(self, path: str) -> dict[int, list[str]]:
        """The tests of each line of `path` that a test executes (and not only an import)."""
        found: dict[int, list[str]] = {}
        for line, contexts in self.data.contexts_by_lineno(str(ROOT / path)).items():
            names = {context.rpartition("|")[0] for context in contexts if context}
            if names:
                found[line] = sorted(names, key=lambda name: (self.seconds.get(name, 1e9), name))
        return found


def _annotation_lines(text: str) -> set[tuple[int, int]]:
    """Positions within annotations and declarations of types, where a change has no effect at run time."""
    found: set[tuple[int, int]] = set()
    for node in ast.walk(ast.parse(text)):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                found |= {
                    (inner.lineno, inner.col_offset)
                    for inner in ast.walk(annotation)
                    if isinstance(inner, ast.expr)
                }
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.add((node.test.lineno, node.test.col_offset))
    return found


def mutants_of(path: str, lines: set[int]) -> list[tuple[str, int, int]]:
    """Every (operator, occurrence, line) of the file on one of `lines`."""
    import cosmic_ray.plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    text = (ROOT / path).read_text()
    tree, annotations = get_ast(text), _annotation_lines(text)
    annotated_lines = {line for line, _ in annotations}
    found: list[tuple[str, int, int]] = []
    for name in cosmic_ray.plugins.operator_names():
        operator_class = cosmic_ray.plugins.get_operator(name)
        if operator_class.arguments():
            continue
        operator, occurrence = operator_class(), 0
        for node in ast_nodes(tree):
            for (line, _), _ in operator.mutation_positions(node):
                union_of_types = "BitOr" in name and line in annotated_lines
                if line in lines and not union_of_types and "Decorator" not in name:
                    found.append((name, occurrence, line))
                occurrence += 1
    return found


def sample(covering: Covering, count: int, only: str, rng: random.Random) -> list[Mutant]:
    """Draw `count` mutants: a file by its executed lines, then a line, then a change of that line."""
    import cosmic_ray.plugins
    from cosmic_ray.mutating import mutate_code

    files = {path: covering.tests(path) for path in covering.files() if path.startswith(only)}
    files = {path: tests for path, tests in files.items() if tests}
    if not files:
        raise SystemExit(
            f"error: no test executes a line of '{only}'; expected a file or folder of {SOURCES}/"
        )
    known: dict[str, list[tuple[str, int, int]]] = {}
    chosen: dict[tuple[str, str, int], Mutant] = {}
    for _ in range(100 * count):
        if len(chosen) == count:
            break
        path = rng.choices(list(files), [len(tests) for tests in files.values()])[0]
        if path not in known:
            known[path] = mutants_of(path, set(files[path]))
        if not known[path]:
            continue
        line = rng.choice(sorted({line for _, _, line in known[path]}))
        name, occurrence, _ = rng.choice([one for one in known[path] if one[2] == line])
        code = mutate_code((ROOT / path).read_text(), cosmic_ray.plugins.get_operator(name)(), occurrence)
        if code is not None:
            chosen.setdefault((path, name, occurrence), Mutant(path, line, name, code))
    return list(chosen.values())


def run(mutant: Mutant, tests: list[str], copy: Path) -> str:
    """Run the covering tests on the mutant in the folder `copy`: "killed", "survived" or "no tests"."""
    target, original = copy / mutant.path, (ROOT / mutant.path).read_text()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    target.write_text(mutant.code)
    try:
        done = subprocess.run(
            [*command, *tests[:MOST_TESTS]],
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        target.write_text(original)
    return {0: "survived", 5: "no tests"}.get(done.returncode, "killed")


def _copies(jobs: int) -> queue.Queue[Path]:
    """A copy of the checkout for each job."""
    copies: queue.Queue[Path] = queue.Queue()
    for number in range(jobs):
        copy = FOLDER / f"copy-{number}"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        copies.put(copy)
    return copies


def main() -> int:
    """Sample, run, print the survivors. Status 1 if fewer than `--at-least` per cent are killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--sample", type=int, default=20, metavar="N", help="how many mutants (default: 20)")
    parser.add_argument("--seed", type=int, help="seed of the sample (default: a fresh one, printed)")
    parser.add_argument("--only", default=SOURCES, metavar="PATH", help="mutate this file or folder only")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="mutants at a time"
    )
    parser.add_argument("--at-least", type=float, default=0, metavar="PERCENT", help="fail below this share")
    parser.add_argument("--measure", action="store_true", help="measure coverage again")
    parser.add_argument("tests", nargs="*", help="measure only these tests (default: all)")
    options = parser.parse_args()
    if options.measure or not (COVERAGE.exists() and DURATIONS.exists()):
        measure(options.tests)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    covering = Covering()
    mutants = sample(covering, options.sample, options.only, random.Random(seed))
    tests = {path: covering.tests(path) for path in {mutant.path for mutant in mutants}}
    copies = _copies(options.jobs)

    def judge(mutant: Mutant) -> str:
        copy = copies.get()
        try:
            return run(mutant, tests[mutant.path][mutant.line], copy)
        finally:
            copies.put(copy)

    counts: dict[str, int] = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (mutant, outcome) in enumerate(zip(mutants, pool.map(judge, mutants), strict=True), 1):
            counts[outcome] = counts.get(outcome, 0) + 1
            print(
                f"[{number}/{len(mutants)}] {outcome:8} {mutant.path}:{mutant.line} {mutant.operator}",
                flush=True,
            )
            if outcome == "survived":
                print(mutant.difference(), flush=True)
    share = 100 * counts.get("killed", 0) / max(len(mutants), 1)
    print(f"{', '.join(f'{number} {name}' for name, number in sorted(counts.items()))}: {share:.1f} % killed")
    return int(share < options.at_least)


if __name__ == "__main__":
    sys.exit(main())
