"""tools/mutants.py: what it changes, which tests it runs, and how it judges."""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import mutants  # noqa: E402
import mutation_plugin  # noqa: E402
from mutation import HIT, changed_codes, codes_of, marked, take_over  # noqa: E402

TEXT = '''
from dataclasses import dataclass

LIMIT = 3

def clamp(x, most=LIMIT):
    """Not more than most."""
    if x > most:
        return most
    elif x < 0:
        x = 0
    return [y for y in (x,)][0]

def adder(n):
    return lambda x: x + n

@dataclass
class Point:
    x: int = 1

    def twice(self):
        return self.x * 2
'''


def functions(text: str, path: str = "sample.py") -> dict[str, FunctionType]:
    """The functions of a module that is executed."""
    scope: dict[str, object] = {"__name__": "sample"}
    sys.modules.setdefault("sample", sys)  # dataclasses look there
    exec(compile(text, path, "exec", dont_inherit=True), scope)
    found = {name: value for name, value in scope.items() if isinstance(value, FunctionType)}
    return {**found, "twice": vars(scope["Point"])["twice"], "add_2": scope["adder"](2)}  # type: ignore[operator]


@pytest.mark.parametrize(
    ("before", "after", "name", "argument", "result"),
    [
        ("x > most", "x >= most + 1", "clamp", 4, 3),
        ("x = 0", "x = 7", "clamp", -1, 7),
        ("y for y in", "-y for y in", "clamp", 2, -2),
        ("x + n", "x - n", "add_2", 5, 3),
    ],
)
def test_a_loaded_function_takes_a_change_over(
    before: str, after: str, name: str, argument: int, result: int
) -> None:
    loaded = functions(TEXT)
    changes = changed_codes(TEXT, TEXT.replace(before, after), "sample.py")
    assert take_over(loaded.values(), changes) >= 1
    assert loaded[name](argument) == result


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("most=LIMIT", "most=-LIMIT"),
        ("x: int = 1", "x: int = 2"),
        ("(x,)", "(0 or x,)"),
    ],
)
def test_what_an_import_computes_is_no_change_of_a_function(before: str, after: str) -> None:
    changes = changed_codes(TEXT, TEXT.replace(before, after), "sample.py")
    assert bool(changes) == (before == "(x,)")


def test_marks_tell_which_statement_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    hits: set[int] = set()
    monkeypatch.setattr(builtins, HIT, lambda *numbers: hits.update(numbers), raising=False)
    lines = TEXT.splitlines()
    wanted = {
        lines.index(line) + 1: [number]
        for number, line in enumerate(["        return most", "        x = 0", "    return lambda x: x + n"])
    }
    loaded = functions(TEXT)
    take_over(
        loaded.values(),
        dict(zip(codes_of(TEXT, "sample.py"), codes_of(marked(TEXT, wanted), "sample.py"), strict=True)),
    )
    assert loaded["clamp"](2) == 2 and hits == set()
    assert loaded["clamp"](-2) == 0 and hits == {1}
    assert loaded["clamp"](9) == 3 and hits == {0, 1}
    assert loaded["add_2"](1) == 3 and hits == {0, 1, 2}


def test_a_drawn_change_is_of_its_line_and_of_a_function() -> None:
    drawing = mutants.draw("tessera_tools/layout", random.Random(3))
    for mutant, _ in zip(drawing, range(5), strict=False):
        before, after = (ROOT / mutant.path).read_text().splitlines(), mutant.code.splitlines()
        assert [n for n, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b] == [mutant.line]
        assert changed_codes("\n".join(before), mutant.code, mutant.path)


def test_tests_of_many_files_come_in_turn_and_the_mirror_first() -> None:
    timed = [
        ("test/a.py::one", 2.0),
        ("test/a.py::two", 1.0),
        ("test/b.py::one", 0.5),
        ("test/x/test_f.py::t", 9.0),
    ]
    assert mutants.ordered(timed, "tessera_tools/x/f.py") == [
        "test/x/test_f.py::t", "test/b.py::one", "test/a.py::two", "test/a.py::one",
    ]  # fmt: skip


def test_tests_that_were_written_for_the_source_are_some_turns_ahead() -> None:
    files = ("test/a.py", "test/x/g.py", "test/x/the-pass.mlir")
    timed = [(f"{file}::{n:02}", float(n)) for file in files for n in range(30)]
    order = mutants.ordered(timed, "tessera_tools/x/the_pass.py")
    turns = {name: order.index(f"{name}::01") for name in files}
    assert order[:21] == [f"test/x/the-pass.mlir::{n:02}" for n in range(21)]
    assert turns["test/x/the-pass.mlir"] < turns["test/x/g.py"] < turns["test/a.py"]
    assert order.index("test/a.py::05") < order.index("test/x/g.py::20")


def test_what_a_cache_keeps_is_executed_by_every_test_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functools, "lru_cache", functools.lru_cache)
    monkeypatch.setattr(functools, "cache", functools.cache)
    hits = mutation_plugin.Hits()
    mutation_plugin.remember_in_caches(hits)

    @functools.lru_cache
    def inner(x: int) -> int:
        hits.add(x)
        return x

    @functools.cache
    def outer(x: int) -> int:
        hits.add(10 + x)
        return inner(x)

    found: list[set[int]] = []
    for function, argument in ((inner, 1), (outer, 1), (outer, 1), (outer, 2), (inner, 2)):
        with hits.apart() as mine:
            assert function(argument) == argument
        found.append(mine)
    assert found == [{1}, {1, 11}, {1, 11}, {2, 12}, {2}]
    assert hits.numbers == {1, 2, 11, 12}
    assert outer.cache_info().hits == 1


TESTS_OF_A_FIXTURE = """
import pytest
from tessera_tools.layout import f2

@pytest.fixture(scope="module")
def rank():
    return f2.rank([1, 2])

def test_one(rank): assert rank
def test_two(rank): assert rank == 2
def test_three(): pass
"""


def test_what_a_fixture_of_a_module_executes_is_executed_by_each_of_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # its test file does not know this folder's options
    path = "tessera_tools/layout/f2.py"
    text = (ROOT / path).read_text()
    line = text.count("\n", 0, text.index("    return", text.index("def rank(columns"))) + 1
    (tmp_path / "test_ranks.py").write_text(TESTS_OF_A_FIXTURE)
    mutant = {"number": 7, "path": path, "line": line, "operator": "", "code": text}
    order = {"mode": "measure", "mutants": [mutant], "out": str(tmp_path / "executed")}
    found = mutants.run_pytest(order, [str(tmp_path / "test_ranks.py")])
    assert {name.rpartition("::")[2]: numbers for name, _, numbers in found} == {
        "test_one": [7], "test_two": [7], "test_three": [],
    }  # fmt: skip


def test_a_busy_machine_ends_no_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that computes less than it may goes on, one that waits is ended."""
    child = mutation_plugin.Running(pid=1, pipe=0, until=0, seconds=10, folder="")
    judge = mutation_plugin.Judge([], {"tests": {}, "seconds": {}, "out": "", "jobs": 1})
    outcomes: list[bool] = []
    for seconds in (3.0, 19.0, 19.5, 25.0):
        monkeypatch.setattr(mutation_plugin, "group_seconds", lambda _, seconds=seconds: seconds)
        outcomes.append(judge.goes_on(child))
    assert outcomes == [True, True, False, False]


def test_what_a_group_of_processes_computes_is_known() -> None:
    before = mutation_plugin.group_seconds(os.getpgrp())
    sum(range(10_000_000))
    assert mutation_plugin.group_seconds(os.getpgrp()) > before


def test_a_mutant_that_no_test_judged_does_not_count() -> None:
    """Tests may refuse to run in a forked process."""
    given = [("killed", 1), ("killed", 1), ("survived", 3), ("survived", 0)]
    text, share = mutants.summary({"outcome": outcome, "ran": ran} for outcome, ran in given)
    assert text == "2 killed, 1 not judged, 1 survived: 66.7 % killed"
    assert round(share, 1) == 66.7


def test_a_whole_run(tmp_path: Path) -> None:
    """The mutants of one file, with tests that execute it, and with a test that does not."""
    command = [sys.executable, "tools/mutants.py", "--sample=4", "--seed=2", "--jobs=1", f"--out={tmp_path}"]
    command += ["--seconds=10", "--only=tessera_tools/layout/f2.py"]
    done = subprocess.run(
        [*command, "test/layout/test_f2.py"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("seed 2\n")
    last = done.stdout.splitlines()[-1]
    assert float(last.rpartition(": ")[2].removesuffix(" % killed")) >= 50
    outcomes = [json.loads(line) for line in (tmp_path / "outcomes.jsonl").read_text().splitlines()]
    outcomes[0] = {**outcomes[0], "outcome": "survived", "ran": 1}
    (tmp_path / "outcomes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in outcomes))
    again = subprocess.run(
        [*command, "--survivors"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    assert again.stdout.splitlines()[-1] == last, "what was killed counts, and only the survivor is judged"
    assert again.stdout.count("killed   ") == 1
    (tmp_path / "outcomes.jsonl").write_text("")
    lost = subprocess.run(
        [*command, "--survivors"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert "error: the last run did not judge 4 of these mutants; run it to its end" in lost.stderr
    others = ["test/test_diagnostics.py", "test/passes/builtin/strip-debuginfo.mlir"]
    done = subprocess.run([*command, *others], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "error: no test executes a drawn line" in done.stderr
