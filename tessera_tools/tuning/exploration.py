"""One search from its first configuration to its end, whatever makes and measures a candidate.

Search ──batch──▶ kept from earlier? ──▶ pool ──▶ trials ──▶ file, Search … ──▶ ranked(): the fastest first
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from tessera_tools.emit.tunables import TUNABLES, Config, Value
from tessera_tools.emit.tuned import CONSTANT, Database, Trial
from tessera_tools.records import replace
from tessera_tools.tuning.pool import Pool
from tessera_tools.tuning.search import GAIN, Search

__all__ = ["Exploration", "Kept", "Run", "config_key", "progress_bar"]


def config_key(config: Config) -> str:
    """What tells configurations apart, and is written to files: constants of Python are their `repr`."""
    parts: dict[str, Value] = {
        name: repr(value)[:200] if name.startswith(CONSTANT) else value for name, value in config.items()
    }
    return json.dumps(parts, sort_keys=True)


class Kept(Protocol):
    """The trials of earlier searches."""

    def find(self, config: Config) -> Trial | None:
        """What a configuration gave; None if it was not tried."""
        ...

    def add(self, trial: Trial) -> None:
        """Keep a trial at once."""
        ...


class Run:
    """The trials of one run in a file of results. `key`: everything that a measurement depends on."""

    def __init__(self, database: Database, key: str) -> None:
        self.database, self.key = database, key
        self._known = {config_key(one.config): one for one in database.trials(key)}

    def find(self, config: Config) -> Trial | None:
        """What a configuration gave."""
        return self._known.get(config_key(config))

    def add(self, trial: Trial) -> None:
        """Write a trial."""
        self._known[config_key(trial.config)] = trial
        self.database.add(self.key, trial)


class Exploration:
    """The execution of a search."""

    def __init__(self, search: Search, kept: Kept | None) -> None:
        self.search, self.kept = search, kept
        self.trials: dict[str, Trial] = {}
        """By `config_key`, in the order in which they were asked for."""
        self.measured_now = 0
        """Those that were not kept from earlier."""

    def run(
        self,
        first: Trial,
        pool: Pool,
        finish: Callable[[Trial], Trial] | None = None,
        show: Callable[[Trial | None], object] = lambda trial: None,
    ) -> None:
        """Search until the end.

        first: the trial of the configuration without choices. finish: measures what the pool only compiles, here.
        show: called with each new trial, and with None at the end of each batch.
        """
        self._keep(first)
        while batch := self.search.ask():
            given = {config_key(config): config for config in batch}
            known: dict[str, Trial] = {}
            missing: list[Config] = []
            for key, config in given.items():
                found = self.trials.get(key) or (self.kept.find(config) if self.kept is not None else None)
                if found is None:
                    missing.append(config)
                else:
                    known[key] = replace(found, config=dict(config))
            for number, trial in pool.run(missing, self.by_code(), finish is not None):
                if trial.outcome == "compiled" and finish is not None:
                    same = self.by_code(known).get(trial.digest)
                    trial = finish(trial) if same is None else replace(same, config=trial.config)
                self.measured_now += 1
                known[config_key(missing[number])] = trial
                self._keep(trial)
                show(trial)
            self.trials.update((key, known[key]) for key in given)
            self.search.tell([known[key] for key in given])
            show(None)

    def _keep(self, trial: Trial) -> None:
        if self.kept is not None:
            self.kept.add(trial)
        if not trial.config:
            self.trials[config_key({})] = trial

    def by_code(self, more: Mapping[str, Trial] = {}) -> dict[str, Trial]:
        """A trial of each program that was run, by the digest of its code."""
        trials = (*self.trials.values(), *more.values())
        return {one.digest: one for one in trials if one.digest and one.outcome != "compiled"}

    def best(self, check: Callable[[Trial], str]) -> Trial | None:
        """The fastest trial that passes a last check, which says why one does not; None if there is none."""
        for trial in self.ranked():
            why = check(trial)
            if not why or not trial.config:
                return trial
            failed = Trial(trial.config, "finding", None, trial.digest, why)
            self.trials[config_key(trial.config)] = failed
            self._keep(failed)
        return None

    def ranked(self) -> list[Trial]:
        """One trial of each program that counts, the fastest first; of equally fast ones the one with the fewest
        choices."""
        left = [one for one in self.trials.values() if one.cost is not None]
        found: list[Trial] = []
        programs: set[str] = set()
        while left:
            enough = min(one.cost or 0.0 for one in left) * (1 + GAIN)
            near = [one for one in left if (one.cost or 0.0) <= enough]
            best = min(near, key=lambda one: (len(one.config), one.cost, _order(one.config)))
            left.remove(best)
            if not best.digest or best.digest not in programs:
                found.append(best)
                programs.add(best.digest)
        return found

    def counts(self) -> dict[str, int]:
        """How many configurations did not count, by what they gave, and how many gave the code of another one."""
        found = dict.fromkeys(("refused", "disagrees", "finding", "failed"), 0)
        for one in self.trials.values():
            if one.outcome in found:
                found[one.outcome] += 1
        codes = [one.digest for one in self.trials.values() if one.digest]
        return {**found, "with the code of another": len(codes) - len(set(codes))}


def _order(config: Config) -> tuple[tuple[int, str, str], ...]:
    names = [one.name for one in TUNABLES]
    return tuple((names.index(n) if n in names else len(names), n, str(v)) for n, v in config.items())


@contextlib.contextmanager
def progress_bar(exploration: Exploration) -> Iterator[Callable[[Trial | None], None]]:
    """On a terminal, a progress bar on stderr. It has no thread, because processes are forked."""
    if not sys.stderr.isatty():
        yield lambda trial: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    search = exploration.search
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("tuning", total=search.total)

        def show(_: Trial | None) -> None:
            best = f"best {search.cost:.1f} µs" if search.cost < float("inf") else "tuning"
            done = max(len(exploration.trials), exploration.measured_now)
            bar.update(task, completed=done, description=best)
            bar.refresh()

        show(None)
        yield show
