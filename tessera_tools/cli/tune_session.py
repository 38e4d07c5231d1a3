"""One run of `tessera-tune`, after its options are parsed.

untuned kernel ──▶ reference
Search ──batch──▶ pool ──trials──▶ database, Search … ──▶ the best that passes the adversarial schedule ──▶ result
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tessera_tools.api.inputs import DEFAULT_GPU, digest_of_input, find_target
from tessera_tools.cli.common import (
    FAILED,
    INTERRUPTED,
    internal_fault,
    print_table,
    progress,
    read_input,
    report,
    use_color,
    write_stderr,
)
from tessera_tools.cli.run_arguments import Arguments, read_shape
from tessera_tools.cli.tune_measure import Job, Reference, check_schedule, compiled, measured, untuned
from tessera_tools.cli.tune_pool import Local, RayPool
from tessera_tools.cli.tune_search import GAIN, Search
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Sources, error, sink
from tessera_tools.emit.compile_cache import own_identity
from tessera_tools.emit.tunables import TUNABLES, Tunable, Value, config_text
from tessera_tools.emit.tuned import Database, Trial, Tuned
from tessera_tools.runtime.timing import check_timed
from tessera_tools.runtime.workers import wanted_processes

__all__ = ["Session"]

_SHOWN = 5
"""Configurations in the final table."""


class Session:
    """The execution of one command line; `options` are click's."""

    def __init__(self, options: dict[str, Any]) -> None:
        # What `Arguments` reads beside these.
        self.options: dict[str, Any] = {**options, "out": (), "expect": ()}
        self.sources = Sources()
        self.color = use_color(options["color"] or "auto")
        self.trials: dict[str, Trial] = {}
        """By their configuration's text."""
        self.measured_now = 0

    def run(self) -> int:
        """Run it; returns the exit status."""
        try:
            with sink(lambda d: report([d], self.sources, self.color) if d.severity == "error" else None):
                return self._run()
        except DiagnosticError as failure:
            report(failure.diagnostics, self.sources, self.color)
            return FAILED
        except KeyboardInterrupt:
            write_stderr(
                f"interrupted after {self.measured_now} candidates; run the same command to resume\n"
            )
            return INTERRUPTED
        except (RecursionError, MemoryError, OSError):
            raise
        except Exception as fault:
            if os.environ.get("TESSERA_DEBUG") == "1":
                raise
            report([Diagnostic("error", None, internal_fault(fault, "while tuning"))], None, self.color)
            return FAILED

    def _run(self) -> int:
        options = self.options
        tunables = self._tunables()
        name, data = read_input(options["input"])
        self.sources.add(name, data.decode("utf-8", "replace"))
        digest, declared = digest_of_input(data, name)
        target = find_target(options["gpu_name"] or declared or DEFAULT_GPU)
        measure = options["measure"] or "clock"
        if measure == "clock":
            check_timed(target)
        arguments = Arguments(options)
        grid = read_shape("grid", options["grid"]) or arguments.grid or (1, 1, 1)
        entry = options["entry"] or arguments.entry
        job = Job(data, name, target, entry, options, grid, measure, options["tolerance"])
        path = options["output"] or "tuned.sqlite"
        database = Database(path, create=True)
        try:
            with progress(lambda: "running the untuned kernel"):
                reference, first = untuned(job)
            if reference.silent:
                what = "everything that the untuned kernel writes is zero, so that its results prove little"
                report([Diagnostic("warning", None, what)], self.sources, self.color)
            run = self._run_key(job, digest, arguments)
            if options["restart"]:
                database.forget(run)
            best = self._search(job, reference, first, tunables, database, run)
            kernel = compiled(job, {})
            shapes = arguments.shapes(grid)
            assert best.cost is not None and first.cost is not None
            found = Tuned(
                digest, kernel.name, target.name, shapes, measure, best.config, best.cost, first.cost
            )
            database.keep(found)
        finally:
            database.close()
        self._show(found, path)
        return 0

    def _tunables(self) -> list[Tunable]:
        """The options to search."""
        if self.options["search"] is None:
            return list(TUNABLES)
        known = {one.option: one for one in TUNABLES}
        names = [word.strip().lstrip("-") for word in self.options["search"].split(",")]
        for word in names:
            if word not in known:
                raise error(None, f"--search: unknown option '{word}'; expected some of {', '.join(known)}")
        return [one for one in TUNABLES if one.option in names]

    def _run_key(self, job: Job, digest: str, arguments: Arguments) -> str:
        """The key of the trials: everything that a measurement depends on."""
        given = self.options
        parts: dict[str, Any] = {
            "kernel": digest,
            "target": job.target.name,
            "entry": job.entry,
            "measure": job.measure,
            "grid": job.grid,
            "tolerance": job.tolerance,
            "arguments": list(arguments.texts),
            "seed": given["seed"] or 0,
            "tool": own_identity(),
        }
        if arguments.launch is not None:
            launch = arguments.launch
            images = {name: hashlib.sha256(raw).hexdigest() for name, raw in launch.images().items()}
            parts["launch"] = [repr(launch.args), launch.cluster, launch.shared, images]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _search(
        self, job: Job, reference: Reference, first: Trial, tunables: Sequence[Tunable], database: Database, run: str
    ) -> Trial:  # fmt: skip
        """Search until the end; returns the best trial."""
        options = self.options
        search = Search(tunables, options["seed"] or 0, options["most"] or 64, options["patience"] or 24)
        earlier = {config_text(one.config): one for one in database.trials(run)}
        limit = options["candidate_timeout"] or 300.0
        pool = (
            RayPool(job, reference, options["ray"], options["processes"], limit)
            if options["ray"] is not None
            else Local(job, reference, options["processes"] or wanted_processes(), limit)
        )
        try:
            with self._progress(search) as show:
                database.add(run, first)
                earlier[config_text({})] = first
                while batch := search.ask():
                    missing = [config for config in batch if config_text(config) not in earlier]
                    known = {one.digest: one for one in self.trials.values() if one.outcome == "measured"}
                    on_gpu = job.measure == "gpu"
                    for number, trial in pool.run(missing, known, on_gpu):
                        if trial.outcome == "compiled":
                            trial = self._on_gpu(job, missing[number], trial.digest, reference)
                        self.measured_now += 1
                        earlier[config_text(trial.config)] = trial
                        database.add(run, trial)
                        show()
                    for config in batch:
                        self.trials[config_text(config)] = earlier[config_text(config)]
                    search.tell([(config, earlier[config_text(config)].cost) for config in batch])
                    show()
        finally:
            pool.close()
        return self._checked(job, reference, database, run)

    def _on_gpu(self, job: Job, config: dict[str, Value], digest: str, reference: Reference) -> Trial:
        """Measure here: one process has the GPU."""
        try:
            return measured(job, compiled(job, config), config, digest, reference)
        except DiagnosticError as failure:
            return Trial(config, "failed", None, digest, failure.diagnostics[0].message)

    def _checked(self, job: Job, reference: Reference, database: Database, run: str) -> Trial:
        """The fastest trial that also passes the simulated GPU's adversarial schedule."""
        for trial in self._ranked():
            why = check_schedule(job, trial.config, reference)
            if not why or not trial.config:
                return trial
            failed = Trial(trial.config, "finding", None, trial.digest, why)
            self.trials[config_text(trial.config)] = failed
            database.add(run, failed)
        raise error(None, "no configuration passes, not even the untuned one")

    def _ranked(self) -> list[Trial]:
        """The measured trials, the fastest first; of equally fast ones the one with the fewest options."""
        left = [one for one in self.trials.values() if one.cost is not None]
        found: list[Trial] = []
        while left:
            enough = min(one.cost or 0.0 for one in left) * (1 + GAIN)
            near = [one for one in left if (one.cost or 0.0) <= enough]
            found.append(min(near, key=lambda one: (len(one.config), one.cost, config_text(one.config))))
            left.remove(found[-1])
        return found

    @contextlib.contextmanager
    def _progress(self, search: Search) -> Iterator[Any]:
        """On a terminal, a progress bar on stderr. It has no thread, because processes are forked."""
        if not sys.stderr.isatty():
            yield lambda: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
            task = bar.add_task("tuning", total=search.total)

            def show() -> None:
                best = f"best {search.cost:.1f} µs" if search.cost < float("inf") else "tuning"
                bar.update(task, completed=max(len(self.trials), self.measured_now), description=best)
                bar.refresh()

            show()
            yield show

    def _show(self, found: Tuned, path: str) -> None:
        """Print the fastest configurations, and how many did not count."""
        base = found.untuned
        rows = [
            [config_text(one.config), f"{one.cost:.2f}", f"{base / one.cost:.3f}" if one.cost else ""]
            for one in self._ranked()[:_SHOWN]
            if one.cost is not None
        ]
        how = "by the clock" if found.measure == "clock" else "on the GPU"
        print_table(f"{found.entry} for {found.target}, {how}", ["options", "µs", "speedup"], rows)
        others = dict.fromkeys(("refused", "disagrees", "finding", "failed"), 0)
        for one in self.trials.values():
            if one.outcome in others:
                others[one.outcome] += 1
        told = ", ".join(f"{count} {outcome}" for outcome, count in others.items() if count)
        sys.stdout.write(
            f"{len(self.trials)} configurations ({self.measured_now} now){': ' + told if told else ''}\n"
            f"{config_text(found.config)}: {found.cost:.2f} µs, untuned {base:.2f} µs; shapes {found.shapes}\n"
            f"kept in {path}\n"
        )
