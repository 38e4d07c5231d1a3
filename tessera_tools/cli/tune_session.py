"""One run of `tessera-tune`, after its options are parsed.

untuned kernel ──▶ reference
Search ──batch──▶ pool ──trials──▶ database, Search … ──▶ the best that passes the adversarial schedule ──▶ result
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from tessera_tools.cli.tune_measure import Candidates, Job, Reference, check_schedule, compiled, untuned
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Sources, error, sink
from tessera_tools.emit.compile_cache import own_identity
from tessera_tools.emit.tunables import TUNABLES, Tunable, config_text
from tessera_tools.emit.tuned import Database, Trial, Tuned
from tessera_tools.runtime.timing import check_timed
from tessera_tools.runtime.workers import wanted_processes
from tessera_tools.tuning.exploration import Exploration, Run, progress_bar
from tessera_tools.tuning.pool import Local, RayPool
from tessera_tools.tuning.search import Search

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["Session"]

_SHOWN = 5
"""Configurations in the final table."""


class Session:
    """The execution of one command line; `options` are click's."""

    def __init__(self, options: OptionValues) -> None:
        # What `Arguments` reads beside these.
        self.options: OptionValues = {**options, "out": (), "expect": ()}
        self.sources = Sources()
        self.color = use_color(options["color"] or "auto")
        self.exploration: Exploration | None = None

    def run(self) -> int:
        """Run it; returns the exit status."""
        try:
            with sink(lambda d: report([d], self.sources, self.color) if d.severity == "error" else None):
                return self._run()
        except DiagnosticError as failure:
            report(failure.diagnostics, self.sources, self.color)
            return FAILED
        except KeyboardInterrupt:
            done = self.exploration.measured_now if self.exploration is not None else 0
            write_stderr(f"interrupted after {done} candidates; run the same command to resume\n")
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
        parts: dict[str, object] = {
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
        exploration = self.exploration = Exploration(search, Run(database, run))
        limit = options["candidate_timeout"] or 300.0
        task = Candidates(job, reference)
        pool = (
            RayPool(task, options["ray"], options["processes"], limit)
            if options["ray"] is not None
            else Local(task, options["processes"] or wanted_processes(), limit)
        )
        try:
            with progress_bar(exploration) as show:
                # One process has the GPU.
                exploration.run(first, pool, task.measured if job.measure == "gpu" else None, show)
        finally:
            pool.close()
        best = exploration.best(lambda trial: check_schedule(job, trial.config, reference))
        if best is None:
            raise error(None, "no configuration passes, not even the untuned one")
        return best

    def _show(self, found: Tuned, path: str) -> None:
        """Print the fastest configurations, and how many did not count."""
        base = found.untuned
        exploration = self.exploration
        assert exploration is not None
        rows = [
            [config_text(one.config), f"{one.cost:.2f}", f"{base / one.cost:.3f}" if one.cost else ""]
            for one in exploration.ranked()[:_SHOWN]
            if one.cost is not None
        ]
        how = "by the clock" if found.measure == "clock" else "on the GPU"
        print_table(f"{found.entry} for {found.target}, {how}", ["options", "µs", "speedup"], rows)
        told = ", ".join(f"{count} {what}" for what, count in exploration.counts().items() if count)
        number, now = len(exploration.trials), exploration.measured_now
        sys.stdout.write(
            f"{number} configurations ({now} now){': ' + told if told else ''}\n"
            f"{config_text(found.config)}: {found.cost:.2f} µs, untuned {base:.2f} µs; shapes {found.shapes}\n"
            f"kept in {path}\n"
        )
