"""The pytest plugin of tools/mutants.py: one run measures which test executes which mutant, the next one judges.

    measure    marks the mutants' statements, runs the tests, writes a line for each: [test, CPU seconds, mutants]
    judge      collects the tests once; for each mutant forks a process that takes the change over, runs the tests that
               execute it until one fails, and says which

A forked process has all modules loaded and all tests collected, so that a mutant costs what its tests cost.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import importlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from mutation import HIT, Mutant, changed_codes, codes_of, loaded_functions, marked, take_over

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "TESSERA_MUTATION"
"""Names the file with the order: {"mode", "mutants", "out", "jobs", "seconds", "tests"}."""
MEMORY = 8 << 30
"""Address space of a process with a mutant, in bytes."""
WAITING = 4
"""A mutant may wait for this many times the seconds that it may compute."""
_PROGRESS = 1.0
"""CPU seconds by which a process that still computes differs from one that waits for ever."""


@functools.cache
def _order() -> dict[str, Any]:
    """What is to be done; it has the whole text of each mutant."""
    return json.loads(Path(os.environ[VARIABLE]).read_text())


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Before the sources are imported: their caches tell what a result has executed."""
    if _order()["mode"] == "measure":
        remember_in_caches(HITS)


def pytest_configure(config: pytest.Config) -> None:
    """Follow the order; a process that only distributes the tests has none."""
    order = _order()
    mutants = [Mutant(**one) for one in order["mutants"]]
    if order["mode"] == "judge":
        config.pluginmanager.register(Judge(mutants, order))
    elif hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Measure(mutants, Path(order["out"]), HITS))


def _load(mutants: Iterable[Mutant]) -> dict[str, list[FunctionType]]:
    """Import the files of the mutants; their functions."""
    paths = {mutant.path for mutant in mutants}
    for path in sorted(paths):
        importlib.import_module(path.removesuffix("/__init__.py").removesuffix(".py").replace("/", "."))
    return loaded_functions(str(ROOT / path) for path in paths)


# -- measuring


class Hits:
    """The mutants that a test executes. What is computed once, for several tests, is executed by each of them."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()

    def add(self, *numbers: int) -> None:
        """What a marked statement calls."""
        self.numbers.update(numbers)

    @contextlib.contextmanager
    def apart(self) -> Generator[set[int]]:
        """The mutants that the body executes; they count outside as well."""
        before, mine = self.numbers, set[int]()
        self.numbers = mine
        try:
            yield mine
        finally:
            before |= mine
            self.numbers = before

    def remembering(self, make: Callable[..., Any], cache: Callable[..., Any]) -> Any:
        """A function whose results are kept with what they executed."""

        @cache
        def made(*args: Any, **options: Any) -> tuple[Any, frozenset[int]]:
            with self.apart() as mine:
                result = make(*args, **options)
            return result, frozenset(mine)

        @functools.wraps(make)
        def remembered(*args: Any, **options: Any) -> Any:
            result, mine = made(*args, **options)
            if mine:
                self.numbers.update(mine)
            return result

        for name in ("cache_clear", "cache_info"):
            setattr(remembered, name, getattr(made, name))
        return remembered


HITS = Hits()


def remember_in_caches(hits: Hits) -> None:
    """Have functools.cache and functools.lru_cache keep, with each result, what it executed."""
    plain = functools.lru_cache

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        if callable(maxsize):
            return hits.remembering(maxsize, plain)
        return lambda make: hits.remembering(make, plain(maxsize, typed))

    functools.lru_cache = lru_cache
    functools.cache = lru_cache(None)


class Measure:
    """Writes what each test executes, and what it costs."""

    def __init__(self, mutants: list[Mutant], out: Path, hits: Hits) -> None:
        import run_cache

        self.mutants, self.out, self.hits = mutants, out, hits
        self.fixtures: dict[object, set[int]] = {}
        """Fixture → what its present value has executed."""
        # Each worker computes for itself what a run shares.
        run_cache.once_in_a_run = functools.cache

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """A value of a module, class or session is of every test that asks for it."""
        with self.hits.apart() as mine:
            self.fixtures[fixturedef] = mine
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Mark the statements, after all imports."""
        setattr(builtins, HIT, self.hits.add)
        functions = _load(self.mutants)
        lines: dict[str, dict[int, list[int]]] = {}
        for mutant in self.mutants:
            lines.setdefault(mutant.path, {}).setdefault(mutant.line, []).append(mutant.number)
        for path, found in lines.items():
            file, text = str(ROOT / path), (ROOT / path).read_text()
            changes = dict(zip(codes_of(text, file), codes_of(marked(text, found), file), strict=True))
            take_over(functions.get(file, ()), changes)
        gc.freeze()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Around setup, test and teardown."""
        before = _cpu_seconds()
        with self.hits.apart() as mine:
            result = yield
        # A RUN file takes no fixtures.
        if (asked := vars(item).get("_fixtureinfo")) is not None:
            for definition in chain.from_iterable(asked.name2fixturedefs.values()):
                mine |= self.fixtures.get(definition, set())
        line = json.dumps([item.nodeid, round(_cpu_seconds() - before, 3), sorted(mine)])
        with self.out.open("a") as file:
            file.write(line + "\n")
        return result


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def group_seconds(group: int) -> float:
    """CPU seconds of the processes of a group and of their children that have ended; 0 where there is no /proc."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in parentheses, may have spaces.
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


# -- judging


@dataclass
class Running:
    """A forked process with a mutant, or with none."""

    pid: int
    pipe: int
    until: float
    """When it is ended, by the monotonic clock, if it has stopped computing."""
    seconds: float
    """What it may compute."""
    folder: str
    told: bytearray = field(default_factory=bytearray)
    computed: float = 0.0
    """CPU seconds when its time was over the last time."""


class Judge:
    """Runs the tests of each mutant in a forked process."""

    def __init__(self, mutants: list[Mutant], order: dict[str, Any]) -> None:
        self.mutants = mutants
        self.tests: dict[int, list[str]] = {int(number): tests for number, tests in order["tests"].items()}
        self.seconds: dict[int, float] = {int(number): least for number, least in order["seconds"].items()}
        self.out, self.jobs = Path(order["out"]), int(order["jobs"])
        self.sound: dict[str, bool] = {}
        """Test → whether it passes without a change, as this runs it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests."""
        self.items = {item.nodeid: item for item in session.items}
        self.functions = _load(self.mutants)
        gc.collect()
        gc.freeze()
        waiting, running = list(reversed(self.mutants)), dict[int, tuple[Mutant, Running]]()
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                tests = [t for t in self.tests[mutant.number] if t in self.items and self.sound.get(t, True)]
                text, file = (ROOT / mutant.path).read_text(), str(ROOT / mutant.path)
                changes = changed_codes(text, mutant.code, file)
                child = self.start(tests, file, changes, self.seconds[mutant.number])
                running[child.pid] = mutant, child
            for pid in self.ended([child for _, child in running.values()]):
                mutant, child = running.pop(pid)
                outcome = self.outcome(child)
                failed = outcome.get("test")
                if failed and not self.is_sound(failed):
                    waiting.append(mutant)
                    continue
                with self.out.open("a") as file:
                    file.write(json.dumps({"number": mutant.number, **outcome}) + "\n")
        return True

    def start(
        self, tests: list[str], file: str, changes: Mapping[CodeType, CodeType], seconds: float
    ) -> Running:
        """Fork a process that runs tests with the changes of a file."""
        folder = tempfile.mkdtemp(prefix="tessera-mutant-")
        mine, its = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(mine)
            self._child(tests, file, changes, seconds, folder, its)
        os.close(its)
        return Running(pid, mine, time.monotonic() + WAITING * seconds, seconds, folder)

    def _child(
        self,
        tests: list[str],
        file: str,
        changes: Mapping[CodeType, CodeType],
        seconds: float,
        folder: str,
        pipe: int,
    ) -> None:
        """Run the tests, tell the outcome, and end. Does not return."""
        told: dict[str, object] = {"outcome": "fault"}
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TESSERA_TEST_RUN"] = folder
            if take_over(self.functions.get(file, ()), changes) or not changes:
                told = self._run(tests, seconds)
            else:
                told = {"outcome": "not loaded"}
        except BaseException:
            told["why"] = traceback.format_exc()
        finally:
            os.write(pipe, json.dumps(told).encode())
            os._exit(0)

    def _run(self, tests: list[str], seconds: float) -> dict[str, object]:
        from _pytest.runner import runtestprotocol

        before = _cpu_seconds()
        for number, name in enumerate(tests):
            if _cpu_seconds() - before > seconds:
                return {"outcome": "survived", "ran": number, "of": len(tests)}
            following = self.items[tests[number + 1]] if number + 1 < len(tests) else None
            reports = runtestprotocol(self.items[name], log=False, nextitem=following)
            if any(report.failed for report in reports):
                return {"outcome": "killed", "test": name, "ran": number + 1, "of": len(tests)}
        return {"outcome": "survived", "ran": len(tests), "of": len(tests)}

    def ended(self, children: list[Running]) -> list[int]:
        """Wait until one of the processes has told its outcome or its time is over; which have."""
        by_pipe = {child.pipe: child for child in children}
        left = min(child.until for child in children) - time.monotonic()
        ready, _, _ = select.select(list(by_pipe), [], [], max(left, 0))
        found: list[int] = []
        for child in children:
            if child.pipe in ready:
                data = os.read(child.pipe, 1 << 16)
                child.told += data
                if not data:
                    found.append(child.pid)
            elif time.monotonic() > child.until and not self.goes_on(child):
                found.append(child.pid)
        return found

    def goes_on(self, child: Running) -> bool:
        """Whether a process whose time is over gets more: the machine is busy, and it has computed less than it may."""
        before, child.computed = child.computed, group_seconds(child.pid)
        child.until = time.monotonic() + WAITING * child.seconds
        return child.computed - before >= _PROGRESS and child.computed < 2 * child.seconds

    def outcome(self, child: Running) -> dict[str, Any]:
        """What a process told; "killed" by time or memory if it could not."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
        os.close(child.pipe)
        shutil.rmtree(child.folder, ignore_errors=True)
        return json.loads(child.told) if child.told else {"outcome": "killed", "why": "no end, or a crash"}

    def is_sound(self, test: str) -> bool:
        """Whether a test passes without a change."""
        if test not in self.sound:
            child = self.start([test], "", {}, max(self.seconds.values()))
            while not self.ended([child]):
                pass
            self.sound[test] = self.outcome(child).get("outcome") == "survived"
            if not self.sound[test]:
                print(f"{test} fails without a change when it runs alone", file=sys.stderr)
        return self.sound[test]
