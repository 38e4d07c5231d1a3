"""A launch in several processes: each runs a range of the clusters, on shared global memory.

    launch ──independent()?──▶ global memory into shared mappings ──fork──▶ ranges of clusters ──pipes──▶ one Result

Clusters are independent unless the code orders them through memory. A launch therefore stays in one process if it
can reach an instruction whose effect on global memory is observed, or must be atomic, across CTAs: atom and red that
are not known to access shared memory, bulk reductions into global memory, ordered or volatile accesses, fences wider
than a cluster, griddepcontrol and indirect calls. For all others, memory, findings, counters and printed text are the
same as in one process: ranges are contiguous, and results are merged in cluster order.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from tessera_tools.process import end, fork, reap
from tessera_tools.runtime.types import Array
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.findings import Findings
from tessera_tools.sim.launch import Launch, Result
from tessera_tools.sim.memory import views_of
from tessera_tools.sim.program import Instruction, Name

__all__ = ["depends_on_others", "run_launch", "wanted_processes"]

_LEAST_CLUSTERS = 2
_WIDE = {"gpu", "sys", "gl"}


def wanted_processes() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def depends_on_others(inst: Instruction) -> bool:
    """True if the instruction may order clusters with each other, or must be atomic between them."""
    modifiers = set(inst.modifiers)
    text = ".".join((inst.opcode, *inst.modifiers))
    if inst.opcode in ("atom", "red"):
        # `red.async` accesses only shared memory.
        return (
            "shared" not in modifiers
            and "shared::cluster" not in modifiers
            and "shared::cta" not in modifiers
        )
    if text.startswith(("cp.reduce.async.bulk", "griddepcontrol")):
        return "global" in modifiers or "tensor" in modifiers or inst.opcode == "griddepcontrol"
    if inst.opcode in ("ld", "st"):
        ordered = modifiers & {"acquire", "release", "relaxed", "volatile", "mmio"}
        on_chip = modifiers & {"shared", "shared::cta", "shared::cluster", "local", "param"}
        return bool(ordered and not on_chip and ("volatile" in modifiers or modifiers & _WIDE))
    if inst.opcode in ("fence", "membar"):
        return bool(modifiers & _WIDE)
    if inst.opcode == "clusterlaunchcontrol":
        return True
    if inst.opcode == "call":
        # Memory from the heap may be shared between clusters.
        return any(
            isinstance(operand, Name) and operand.name in ("malloc", "free") for operand in inst.operands
        )
    return inst.opcode == "multimem"


_Found: TypeAlias = tuple[Result, bool]
"""What a process has found, and whether it was stopped."""


class PartialLaunch(Launch):
    """The clusters `first` to `last` of a launch, each with its own generator; `tally` counts their progress."""

    def __init__(self, *args: Any, seed: int, **options: Any) -> None:
        super().__init__(*args, seed=seed, **options)
        self.seed = seed
        self.count = self.clusters[0] * self.clusters[1] * self.clusters[2]
        self.first, self.last = 0, self.count
        self.tally = np.zeros(1, np.int64)
        """The number of clusters begun."""
        self.stopped = True
        """Whether clusters were skipped because something ended the launch."""

    def _indices(self) -> Iterator[tuple[int, int, int]]:
        for number in self._numbers():
            # The next cluster uses the launch's generator (sim/machine.py).
            self.random = np.random.default_rng([self.seed, number])
            self.tally[0] += 1
            yield self.cluster_at(number)
        self.stopped = False

    def _numbers(self) -> Iterable[int]:
        """The numbers of the clusters to run."""
        return range(self.first, self.last)


def independent(launch: PartialLaunch) -> bool:
    """True if the launch's clusters may run in any process."""
    program = launch.module.program
    return not any(
        depends_on_others(inst)
        for function in launch.functions
        for inst in program.instructions[function.start : function.end]
    )


def run_launch(launch: PartialLaunch, processes: int) -> tuple[Result, int]:
    """Run the launch in up to `processes` processes; returns the result and the number of processes."""
    processes = min(processes, launch.count)
    if processes < 2 or launch.count < _LEAST_CLUSTERS or not hasattr(os, "fork") or not independent(launch):
        return launch.run(), 1
    _share_memory(launch)
    tally = np.frombuffer(mmap.mmap(-1, 8 * processes), np.int64)
    launch.tally = tally  # The sum of the counts is the progress of all processes.
    bounds = [launch.count * n // processes for n in range(processes + 1)]
    children: list[tuple[int, int]] = []
    pieces: list[tuple[Result, bool]] = []
    try:
        for number in range(1, processes):
            children.append(_start(launch, bounds[number], bounds[number + 1], tally[number : number + 1]))
        launch.first, launch.last = bounds[0], bounds[1]
        pieces.append((launch.run(), launch.stopped))
        for process, pipe in children:
            pieces.append(_finish(process, pipe))
        children.clear()
    finally:
        for process, pipe in children:
            _end(process, pipe)
    return _join(pieces), processes


def _share_memory(launch: PartialLaunch) -> None:
    """Move global allocations to anonymous shared mappings, which survive a fork."""
    for region in launch.memory.regions:
        if isinstance(region.data.base, mmap.mmap):
            continue
        shared = np.frombuffer(mmap.mmap(-1, len(region.data)), np.uint8)
        shared[:] = region.data
        region.data = shared
        region.views = views_of(shared)


def _start(launch: PartialLaunch, first: int, last: int, tally: Array) -> tuple[int, int]:
    """Fork a process for the clusters `first` to `last`; returns its id, and the pipe of its result."""
    receiver, sender = os.pipe()
    process = fork()
    if process:
        os.close(sender)
        return process, receiver
    status = 1
    try:
        os.close(receiver)
        launch.first, launch.last, launch.tally = first, last, tally
        try:
            found: _Found | str = (launch.run(), launch.stopped)
        except BaseException as failure:
            found = f"{failure.__class__.__name__}: {failure}"
        raw = pickle.dumps(found)
        with os.fdopen(sender, "wb") as file:
            file.write(struct.pack("<Q", len(raw)) + raw)
        status = 0
    finally:
        os._exit(status)


def _finish(process: int, pipe: int) -> tuple[Result, bool]:
    with os.fdopen(pipe, "rb", closefd=False) as file:
        raw = file.read()
    # The pickle comes from a child of this process.
    found = (
        pickle.loads(raw[8:]) if len(raw) > 8 and len(raw) == 8 + struct.unpack("<Q", raw[:8])[0] else None
    )
    os.close(pipe)
    reap(process)
    if found is None:
        raise MemoryError
    if isinstance(found, str):
        raise RuntimeError(f"in a worker process: {found}")
    return found


def _end(process: int, pipe: int) -> None:
    end(process)
    with suppress(OSError):
        os.close(pipe)


def _join(pieces: list[tuple[Result, bool]]) -> Result:
    """One result in cluster order; ranges after one that was ended early do not count."""
    findings = Findings()
    stats: Counters | None = None
    output = ""
    instructions = 0
    for result, stopped in pieces:
        findings.merge(result.findings)
        if result.stats is not None:
            stats = result.stats if stats is None else _add(stats, result.stats)
        output += result.output
        instructions += result.instructions
        if stopped:
            break
    return Result(findings, stats, output, instructions)


def _add(total: Counters, more: Counters) -> Counters:
    for name in Counters.__slots__:
        getattr(total, name).update(getattr(more, name))
    return total
