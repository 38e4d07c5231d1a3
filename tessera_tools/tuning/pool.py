"""Candidates of a search side by side: in processes of this machine, or on a Ray cluster.

work items ──fork──▶ one process each ──JSON through a pipe──▶ trials, in the order of the items
           └─Ray───▶ one task each ─────────────────────────▶
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.tunables import Config
from tessera_tools.emit.tuned import Trial
from tessera_tools.process import end, fork
from tessera_tools.records import asdict, replace

__all__ = ["Local", "Pool", "RayPool", "Task"]

_LONGEST = 1 << 20
"""Bytes of what a process answers."""
_START = 60.0
"""Seconds in which a cluster with a free CPU starts a task."""


class Task(Protocol):
    """Makes and measures candidates. For Ray, it is plain data, which another machine can have."""

    def __call__(self, config: Config, known: Mapping[str, Trial], only_compile: bool) -> Trial:
        """What a candidate gives. Errors of the candidate are an outcome and not an exception.

        known: trials by the digest of their code. only_compile: stop before the measurement.
        """
        ...


class Pool(Protocol):
    """Runs candidates."""

    def run(
        self, configs: Sequence[Config], known: Mapping[str, Trial], only_compile: bool
    ) -> Iterator[tuple[int, Trial]]:
        """(number, trial) of each configuration, as they end."""
        ...

    def close(self) -> None:
        """End what runs."""
        ...


class Local:
    """Processes of this machine: one for each candidate, so that one that hangs or dies takes nothing with it."""

    def __init__(self, task: Task, processes: int, time_limit: float) -> None:
        self.task = task
        self.processes = processes
        self.time_limit = time_limit

    def run(
        self, configs: Sequence[Config], known: Mapping[str, Trial], only_compile: bool
    ) -> Iterator[tuple[int, Trial]]:
        """(number, trial) of each configuration, as they end."""

        def work(config: Config) -> Callable[[], Trial]:
            return lambda: self.task(config, known, only_compile)

        yield from _forked(configs, [work(config) for config in configs], self.processes, self.time_limit)

    def close(self) -> None:
        """Nothing stays."""


def _forked(
    configs: Sequence[Config], work: Sequence[Callable[[], Trial]], processes: int, limit: float
) -> Iterator[tuple[int, Trial]]:
    running: dict[int, tuple[int, int, float, bytearray]] = {}
    """The read end of a pipe → number, process, deadline, what came."""
    waiting = list(range(len(work)))
    poll = select.poll()

    def finish(pipe: int) -> tuple[int, Trial]:
        number, process, deadline, raw = running.pop(pipe)
        poll.unregister(pipe)
        os.close(pipe)
        late = time.monotonic() >= deadline
        end(process)
        why = f"it took more than {limit:g} seconds" if late else "its process ended without a result"
        with suppress(ValueError, TypeError):
            return number, Trial(**json.loads(raw), config=dict(configs[number]))
        return number, Trial(dict(configs[number]), "failed", message=why)

    try:
        while waiting or running:
            while waiting and len(running) < processes:
                number = waiting.pop(0)
                receiver, sender = os.pipe()
                process = fork()
                if not process:
                    _child(sender, work[number])
                os.close(sender)
                running[receiver] = (number, process, time.monotonic() + limit, bytearray())
                poll.register(receiver, select.POLLIN)
            left = min(deadline for _, _, deadline, _ in running.values()) - time.monotonic()
            for pipe, _ in poll.poll(max(left, 0) * 1000 + 1):
                piece = os.read(pipe, 1 << 16)
                raw = running[pipe][3]
                raw += piece
                if not piece or len(raw) > _LONGEST:
                    yield finish(pipe)
            for pipe in [one for one, entry in running.items() if entry[2] <= time.monotonic()]:
                yield finish(pipe)
    finally:
        for pipe, (_, process, _, _) in running.items():
            os.close(pipe)
            end(process)


def _child(sender: int, work: Callable[[], Trial]) -> None:
    """Send the trial, and exit this process without the parent's cleanup."""
    status = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        with os.fdopen(sender, "wb") as file:
            # The parent knows the configuration, whose values may be anything in Python.
            found = asdict(replace(work(), config={}))
            file.write(json.dumps({k: v for k, v in found.items() if k != "config"}).encode())
        status = 0
    finally:
        os._exit(status)


class RayPool:
    """Tasks of a Ray cluster (the extra `[ray]`). Its machines need this package, and read the same launch files.

    Without an address, the cluster is one of `processes` workers on this machine, which ends with the search.
    """

    def __init__(self, task: Task, address: str, processes: int | None, time_limit: float) -> None:
        try:
            import ray
        except ImportError:
            raise error(
                None,
                "--ray needs the package ray, which is not installed",
                "pip install 'tessera-tools[ray]'",
            ) from None
        self.ray: Any = ray
        self.time_limit = time_limit
        self.owned = not self.ray.is_initialized()
        self.local = self.owned and not address
        where: dict[str, Any] = (
            {"address": address} if address else {"address": "local", "num_cpus": processes, "include_dashboard": False}
        )  # fmt: skip
        try:
            if self.owned:
                self.ray.init(**where, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, OSError, RuntimeError, ValueError) as failure:
            what = " ".join(str(failure).split())[:200]
            raise error(None, f"--ray cannot reach the cluster '{address or 'local'}': {what}") from None
        self.given = self.ray.put(task)
        self.task = self.ray.remote(max_retries=0)(_watched)

    def run(
        self, configs: Sequence[Config], known: Mapping[str, Trial], only_compile: bool
    ) -> Iterator[tuple[int, Trial]]:
        """(number, trial) of each configuration, as they end.

        Raises DiagnosticError if none ends for so long that the cluster cannot have started one.
        """
        started = [
            self.task.remote(self.given, dict(config), dict(known), only_compile, self.time_limit)
            for config in configs
        ]
        numbers = {reference: number for number, reference in enumerate(started)}
        try:
            while started:
                done, started = self.ray.wait(started, num_returns=1, timeout=self.time_limit + _START)
                if not done:
                    raise self._stuck()
                for reference in done:
                    yield numbers[reference], self._trial(reference, configs[numbers[reference]])
        except KeyboardInterrupt:
            if self.local:
                # Ctrl-C reached its workers too, and Ray aborts if a task ends while it is canceled. `close` ends them.
                started = []
            raise
        finally:
            for reference in started:
                self.ray.cancel(reference, force=True)

    def _stuck(self) -> DiagnosticError:
        free, all_ = (
            found.get("CPU", 0.0) for found in (self.ray.available_resources(), self.ray.cluster_resources())
        )
        return error(
            None,
            f"no task of the Ray cluster ended in {self.time_limit + _START:g} seconds, and each may take "
            f"{self.time_limit:g}; {free:g} of the cluster's {all_:g} CPUs are free",
            "a task needs one CPU: wait for the cluster's other work to end, or search without --ray",
        )

    def _trial(self, reference: Any, config: Config) -> Trial:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.WorkerCrashedError:
            what = f"its task ended without a result, or took more than {self.time_limit:g} seconds"
        except self.ray.exceptions.RayError as failure:
            what = f"its task failed: {' '.join(str(failure).split())[-300:]}"
        return Trial(dict(config), "failed", message=what)

    def close(self) -> None:
        """Leave the cluster, or end the local one."""
        if self.owned:
            self.ray.shutdown()


def _watched(
    task: Task, config: Config, known: Mapping[str, Trial], only_compile: bool, limit: float
) -> Trial:
    """A candidate in a task of Ray, whose worker ends after `limit` seconds. Ray has no time limits of its own."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
        try:
            return task(config, known, only_compile)
        finally:
            faulthandler.cancel_dump_traceback_later()
