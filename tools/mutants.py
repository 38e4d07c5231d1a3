"""Mutation testing: change one executed expression, run the tests that execute it, and see whether one fails.

```console
$ python tools/mutants.py --sample 20 --only tessera_tools/analysis test/analysis test/tile     # with these tests alone
$ python tools/mutants.py --sample 200 --seed 7 --jobs 2
$ python tools/mutants.py --sample 200 --seed 7 --jobs 2 --survivors --seconds 300   # these again, with more time
```

A mutant that no test kills is printed with its difference. Read each one: either a test is missing, or the mutant is
equivalent (it computes the same), and the count does not include this.

    sample of lines ─▶ mutants (operators of cosmic-ray) ─▶ one run of the tests: who executes which
                                                         ─▶ a forked process each: covering tests until one fails

The first run costs little more than `make test-all`. Processes that tests start have no mutants.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mutation import Mutant, changed_codes
from mutation_plugin import ROOT, VARIABLE

SOURCES = "tessera_tools"
FOLDER = ROOT / "build" / "mutants"
SECONDS = 60
"""CPU seconds of the tests of one mutant. One that needs more of its own does not end, and is killed."""
MOST_TESTS = 400
"""The maximum number of tests for one mutant; `--survivors` has none."""
SPARE = 2
"""How many times the wanted number is drawn: tests execute no more than three of four lines in their own process."""


def difference(mutant: Mutant) -> str:
    """The change as a unified difference without context."""
    before = (ROOT / mutant.path).read_text().splitlines()
    lines = difflib.unified_diff(before, mutant.code.splitlines(), mutant.path, mutant.path, lineterm="", n=0)
    return "\n".join(list(lines)[2:])


# -- the sample


def _lines_of_functions(text: str) -> set[int]:
    """The lines within functions."""
    return {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _annotation_lines(text: str) -> set[int]:
    """Lines of annotations and declarations of types, where `|` and the like have no effect at run time."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                found |= {inner.lineno for inner in ast.walk(annotation) if isinstance(inner, ast.expr)}
    return found


def _nodes_at(node: Any, line: int) -> Iterator[Any]:
    """The nodes of a syntax tree that reach over a line."""
    if node.start_pos[0] <= line <= node.end_pos[0]:
        yield node
        for child in getattr(node, "children", ()):
            yield from _nodes_at(child, line)


def mutate(text: str, line: int, annotated: bool, rng: random.Random) -> tuple[str, str] | None:
    """A random change of a line: (operator, the text with the change); None if no operator applies.

    annotated: whether the line has annotations of types, where `|` is not computed.
    """
    import cosmic_ray.plugins
    from cosmic_ray.ast import get_ast

    tree = get_ast(text)
    found: list[tuple[str, Any, Any, int]] = []
    for name in cosmic_ray.plugins.operator_names():
        operator_class = cosmic_ray.plugins.get_operator(name)
        if operator_class.arguments() or "Decorator" in name or ("BitOr" in name and annotated):
            continue
        operator = operator_class()
        for node in _nodes_at(tree, line):
            places = enumerate(operator.mutation_positions(node))
            found += [(name, operator, node, index) for index, (start, _) in places if start[0] == line]
    if not found:
        return None
    name, operator, node, index = rng.choice(found)
    # What holds the node is asked for first: the operator may give the node to another one.
    siblings, place = (node.parent.children, node.parent.children.index(node)) if node.parent else (None, 0)
    changed = operator.mutate(node, index)
    if changed is None or siblings is None:
        return None
    siblings[place] = changed
    return name, tree.get_code()


def draw(only: str, rng: random.Random) -> Iterator[Mutant]:
    """Mutants without end: a file by its lines in functions, then a line, then a change of that line."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / SOURCES).rglob("*.py"))
    sizes = {
        path: len(_lines_of_functions((ROOT / path).read_text())) for path in files if path.startswith(only)
    }
    sizes = {path: size for path, size in sizes.items() if size}
    if not sizes:
        raise SystemExit(f"error: no function in '{only}'; expected a file or folder of {SOURCES}/")
    drawn: set[str] = set()
    for _ in range(1_000_000):
        path = rng.choices(list(sizes), list(sizes.values()))[0]
        text = (ROOT / path).read_text()
        line = rng.choice(sorted(_lines_of_functions(text)))
        made = mutate(text, line, line in _annotation_lines(text), rng)
        if made is not None and made[1] not in drawn and _is_of_function(text, made[1], path):
            drawn.add(made[1])
            yield Mutant(len(drawn), path, line, *made)


def _is_of_function(before: str, after: str, path: str) -> bool:
    try:
        return bool(changed_codes(before, after, path))
    except SyntaxError:
        return False


# -- runs of the tests


def run_pytest(order: dict[str, Any], arguments: list[str]) -> list[Any]:
    """Run pytest with the plugin and an order; what it wrote."""
    out = Path(order["out"])
    out.unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(order, file)
        file.flush()
        folders = [str(ROOT), str(ROOT / "tools"), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), VARIABLE: file.name}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "mutation_plugin", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    # 1: a test failed; 5: none was run, as the judge runs them.
    if done.returncode not in (0, 1, 5) or not out.exists():
        raise SystemExit(f"error: the tests could not be run (pytest's status {done.returncode})")
    return [json.loads(line) for line in out.read_text().splitlines()]


_MIRROR, _SAME_FOLDER = 20, 5
"""How many turns the tests come ahead that mirror the source, or are in the folder that mirrors its folder."""


def ordered(tests: list[tuple[str, float]], path: str) -> list[str]:
    """The tests of a mutant, one of each test file in turn, the fastest first; those that were written for the source
    are some turns ahead."""
    by_file: dict[str, list[tuple[float, str]]] = {}
    for name, seconds in tests:
        by_file.setdefault(name.partition("::")[0], []).append((seconds, name))
    source, folder = Path(path), Path("test", *Path(path).parent.parts[1:])
    found: list[tuple[int, int, float, str]] = []
    for file, its in by_file.items():
        mirrors = Path(file).stem.removeprefix("test_").replace("-", "_") == source.stem
        ahead = _MIRROR if mirrors else _SAME_FOLDER if Path(file).parent == folder else 0
        for turn, (seconds, name) in enumerate(sorted(its)):
            found.append((max(0, turn - ahead), -ahead, seconds, name))
    return [name for *_, name in sorted(found)]


def main() -> int:
    """Sample, run, print the survivors. Status 1 if fewer than `--at-least` per cent are killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--sample", type=int, default=20, metavar="N", help="how many mutants (default: 20)")
    parser.add_argument("--seed", type=int, help="seed of the sample (default: a fresh one, printed)")
    parser.add_argument("--only", default=SOURCES, metavar="PATH", help="mutate this file or folder only")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes at a time"
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="CPU seconds of one mutant (default: 60)"
    )
    parser.add_argument("--at-least", type=float, default=0, metavar="PERCENT", help="fail below this share")
    parser.add_argument(
        "--out", type=Path, default=FOLDER, help="where the outcomes are kept (default: build/mutants)"
    )
    parser.add_argument(
        "--measured", action="store_true", help="take the last run's times, of the same sample"
    )
    parser.add_argument(
        "--survivors",
        action="store_true",
        help="judge by all tests what survived in the last run of the same sample (implies --measured)",
    )
    parser.add_argument("tests", nargs="*", help="run only these tests (default: all)")
    options = parser.parse_args()
    if (options.survivors or options.measured) and options.seed is None:
        parser.error("--survivors and --measured need the --seed of the last run")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    drawing = draw(options.only, random.Random(seed))
    candidates = [mutant for mutant, _ in zip(drawing, range(SPARE * options.sample), strict=False)]
    folder: Path = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    order: dict[str, Any] = {"mutants": [asdict(mutant) for mutant in candidates]}

    measured = folder / "executed.jsonl"
    if not options.measured and not options.survivors:
        workers = ["-n", str(options.jobs), "--dist=worksteal"] if options.jobs > 1 else []
        run_pytest({**order, "mode": "measure", "out": str(measured)}, [*workers, *options.tests])
    executed: dict[int, list[tuple[str, float]]] = {}
    for line in measured.read_text().splitlines():
        name, seconds, numbers = json.loads(line)
        for number in numbers:
            executed.setdefault(number, []).append((name, seconds))
    mutants = [mutant for mutant in candidates if mutant.number in executed][: options.sample]
    print(f"{len(executed)} of {len(candidates)} mutants are executed by tests", flush=True)
    if not mutants:
        raise SystemExit("error: no test executes a drawn line; name other tests, or none for all")
    outcomes, known = folder / "outcomes.jsonl", dict[int, dict[str, Any]]()
    if options.survivors:
        known = {one["number"]: one for one in map(json.loads, outcomes.read_text().splitlines())}
        if missing := [mutant for mutant in mutants if mutant.number not in known]:
            raise SystemExit(
                f"error: the last run did not judge {len(missing)} of these mutants; run it to its end"
            )
        mutants = [mutant for mutant in mutants if known[mutant.number]["outcome"] == "survived"]
        if not mutants:
            return concluded(known, options.at_least)
    most = None if options.survivors else MOST_TESTS
    tests = {mutant.number: ordered(executed[mutant.number], mutant.path)[:most] for mutant in mutants}

    # What takes ten times as long as without the change has no end.
    limits = {number: min(options.seconds, 10 + 10 * sum(s for _, s in executed[number])) for number in tests}
    order = {"mutants": [asdict(mutant) for mutant in mutants], "tests": tests, "mode": "judge"}
    order |= {"jobs": options.jobs, "seconds": limits, "out": str(folder / "judged.jsonl")}
    files = sorted({name.partition("::")[0] for names in tests.values() for name in names})
    found = {
        outcome["number"]: outcome for outcome in run_pytest(order, ["-s", "-p", "no:cacheprovider", *files])
    }
    for mutant in mutants:
        outcome = found[mutant.number]
        how = (
            outcome.get("test")
            or outcome.get("why")
            or f"{outcome['ran']} of {len(executed[mutant.number])} tests"
        )
        print(f"{outcome['outcome']:8} {mutant.path}:{mutant.line} {mutant.operator} ({how})")
        if outcome["outcome"] != "killed":
            print(difference(mutant))
    found = {**known, **found}
    outcomes.write_text("".join(json.dumps(one) + "\n" for one in found.values()))
    return concluded(found, options.at_least)


def concluded(outcomes: Mapping[int, Mapping[str, Any]], least: float) -> int:
    """Print the counts; the exit status."""
    text, share = summary(outcomes.values())
    print(text)
    return int(share < least)


def summary(outcomes: Iterable[Mapping[str, Any]]) -> tuple[str, float]:
    """The counts of outcomes in a line, and the part of the mutants that is killed, of those that a test judged."""
    counts = Counter(
        "not judged" if one["outcome"] == "survived" and not one["ran"] else str(one["outcome"])
        for one in outcomes
    )
    share = 100 * counts["killed"] / max(counts.total() - counts["not judged"], 1)
    counted = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    return f"{counted}: {share:.1f} % killed", share


if __name__ == "__main__":
    sys.exit(main())
