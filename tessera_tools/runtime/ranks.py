"""Execution of a plan of the launch manifest on N ranks, each with a GPU in a separate process.

    whole arguments ─┬─▶ rank 0: launch, exchange, launch, …  ─┬─▶ whole results, findings
                     └─▶ rank 1: launch, exchange, launch, …  ─┘

Over MPI, the ranks are processes of mpiexec: either the mpiexec with which the user started this program, on any number
of machines, or one that is started here. Over torch.distributed, they are forked. If one fails, the others terminate.
"""

from __future__ import annotations

import os
import pickle
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.plan import Exchange, Plan
from tessera_tools.emit.tools import TemporaryFolder
from tessera_tools.process import end, fork
from tessera_tools.runtime import ranks_mpi
from tessera_tools.runtime.compare import same_bits
from tessera_tools.runtime.ranks_torch import TorchTransport, has_torch
from tessera_tools.runtime.ranks_worker import Outcome, RankResult, Settings, load, outcome, run_rank, type_of
from tessera_tools.runtime.types import Array, Type

__all__ = ["TIME_LIMIT", "TRANSPORTS", "PlanResult", "run_plan"]


TRANSPORTS = ("auto", "mpi", "torch")
TIME_LIMIT = 600.0
"""Timeout in seconds of one exchange with the other ranks."""
MAX_INSTRUCTIONS = 100_000_000
_NEEDS = "pip install 'tessera-tools[distributed]'"


@dataclass(slots=True)
class PlanResult:
    """The whole results, each rank's result, and the replicated results that differ between ranks."""

    results: list[tuple[Array, Type]]
    ranks: list[RankResult]
    disagreements: list[str]
    seconds: float


def run_plan(
    code: str | bytes,
    manifest: Manifest,
    plan: Plan,
    arguments: Sequence[Array],
    *,
    transport: str = "auto",
    file: str = "<ptx>",
    gpu_name: str | None = None,
    device: str = "sim",
    seed: int = 0,
    mode: str = "late",
    max_instructions: int = MAX_INSTRUCTIONS,
    time_limit: float = TIME_LIMIT,
) -> PlanResult:
    """Run a plan on the ranks of its mesh; `arguments` are whole, one for each argument of the plan.

    transport: `mpi`, `torch` (torch.distributed), or `auto`: torch for real GPUs if it is installed, else MPI.
    seed, mode: of the simulated GPUs' schedules; each launch of each rank has its own seed.
    time_limit: timeout in seconds of one exchange.
    In a process of mpiexec, this is one rank: rank 0 returns, the others raise SystemExit.
    Raises DiagnosticError for arguments that do not match the plan, and for an error on any rank.
    """
    begin = time.perf_counter()
    check_arguments(plan, arguments)
    settings = Settings(code, manifest, file, gpu_name, device == "cuda", seed, mode, max_instructions)
    if _use_torch(transport, settings.cuda):
        found = _forked(plan, settings, arguments, time_limit)
    else:
        member = ranks_mpi.member()
        if member is not None:
            found = member.run(plan, settings, arguments, time_limit)
        else:
            found = _ranks_of(ranks_mpi.run_job(plan, settings, arguments, time_limit))
    results, disagreements = _joined(plan, found)
    return PlanResult(results, found, disagreements, time.perf_counter() - begin)


def _use_torch(transport: str, cuda: bool) -> bool:
    """True if torch.distributed is the transport, else MPI. Raises DiagnosticError for a missing transport."""
    if transport == "torch" or (transport == "auto" and cuda and has_torch() and ranks_mpi.member() is None):
        if not has_torch():
            raise error(None, "torch cannot be imported, which --transport=torch needs", "pip install torch")
        return True
    if not ranks_mpi.has_mpi():
        raise error(None, "mpi4py cannot be imported, which --ranks needs", _NEEDS)
    return False


def check_arguments(plan: Plan, arguments: Sequence[Array]) -> None:
    """Raises DiagnosticError for a wrong number of arguments, or a wrong shape or type."""
    if len(arguments) != len(plan.arguments):
        names = ", ".join(plan.tensors[n].name for n in plan.arguments) or "none"
        raise error(
            None, f"'{plan.name}' takes {len(plan.arguments)} arguments, {len(arguments)} given: {names}"
        )
    for number, array in zip(plan.arguments, arguments, strict=True):
        tensor = plan.tensors[number]
        type, shape = type_of(tensor), plan.whole(tensor)
        if array.shape != shape or array.dtype != type.storage:
            found = f"{array.dtype} of {'x'.join(map(str, array.shape))}"
            raise error(
                None,
                f"argument '{tensor.name}' is {found}; expected {type.name} of {'x'.join(map(str, shape))}",
            )


def _groups(plan: Plan) -> list[list[int]]:
    """Every group of ranks that exchanges data, each once, in the same order on all ranks."""
    axes = dict.fromkeys(step.axis for step in plan.steps if isinstance(step, Exchange))
    found: dict[tuple[int, ...], None] = {}
    for axis in axes:
        for rank in range(plan.ranks):
            found[tuple(plan.group(rank, axis))] = None
    return [list(group) for group in found]


# -- ranks over torch.distributed


def _forked(
    plan: Plan, settings: Settings, arguments: Sequence[Array], time_limit: float
) -> list[RankResult]:
    """Run every rank in a process forked here."""
    if not hasattr(os, "fork"):
        raise error(None, "ranks are processes made by fork(), which this system does not have")
    # Load the simulated GPU's module once, before the fork; a real GPU's context does not survive a fork.
    loaded = None if settings.cuda else load(settings, 0)
    processes: dict[int, int] = {}  # The read end of a pipe → the process that writes to it.
    order: list[int] = []
    with TemporaryFolder("tessera-ranks") as folder:
        path = os.path.join(folder.path, "ranks")
        try:
            for rank in range(plan.ranks):
                receiver, sender = os.pipe()
                process = fork()
                if not process:
                    os.close(receiver)
                    for pipe in processes:
                        os.close(pipe)

                    def work(rank: int = rank) -> RankResult:
                        transport = TorchTransport(
                            rank, plan.ranks, path, _groups(plan), time_limit, gpu=settings.cuda
                        )
                        return run_rank(plan, settings, rank, loaded, arguments, transport, rank)

                    _child(sender, outcome(work))
                os.close(sender)
                processes[receiver] = process
                order.append(receiver)
            return _ranks_of(_collect(order))
        finally:
            for pipe, process in processes.items():
                os.close(pipe)
                end(process)


def _child(sender: int, found: Outcome) -> None:
    """Send the outcome of a rank, and exit its process."""
    status = 1
    try:
        with os.fdopen(sender, "wb") as file:
            file.write(pickle.dumps(found))
        status = 0
    finally:
        os._exit(status)


def _collect(order: list[int]) -> dict[int, Outcome]:
    """The outcome of every rank, or of the ranks until the first failure."""
    poll = select.poll()
    data: dict[int, bytearray] = {}
    for pipe in order:
        poll.register(pipe, select.POLLIN)
        data[pipe] = bytearray()
    found: dict[int, Outcome] = {}
    while data:
        # A rank that lost another one ended after it: the other's message is already available, or never arrives.
        lost = any(kind == "lost" for kind, _ in found.values())
        ready = poll.poll(200 if lost else None)
        if not ready:
            break
        for pipe, _ in ready:
            raw = os.read(pipe, 1 << 20)
            if raw:
                data[pipe] += raw
                continue
            poll.unregister(pipe)
            whole = data.pop(pipe)
            # The pickle comes from a child of this process.
            found[order.index(pipe)] = (
                pickle.loads(whole) if whole else ("fault", "it exited without a result")
            )
            if found[order.index(pipe)][0] in ("failed", "fault"):
                return found
    return found


# -- outcomes of the ranks


def _ranks_of(found: dict[int, Outcome]) -> list[RankResult]:
    """Every rank's result; `found` is in the order of their ends.

    Raises the error of the lowest failed rank, else of the first rank that was killed, else of one that lost another.
    """
    for rank, (kind, value) in sorted(found.items()):
        if kind == "failed":
            value[0].note(f"on rank {rank}")
            raise DiagnosticError(*value)
        if kind == "fault":
            raise RuntimeError(f"on rank {rank}: {value}")
    for rank, (kind, value) in sorted(found.items(), key=lambda item: item[1][0]):
        if kind in ("ended", "lost"):
            raise error(None, f"rank {rank} {value}" if kind == "ended" else f"rank {rank}: {value}")
    return [found[rank][1] for rank in sorted(found)]


def _joined(plan: Plan, ranks: Sequence[RankResult]) -> tuple[list[tuple[Array, Type]], list[str]]:
    """Whole results, assembled from the ranks' parts; ranks with the same part must have the same bits."""
    results: list[tuple[Array, Type]] = []
    disagreements: list[str] = []
    for index, number in enumerate(plan.results):
        tensor = plan.tensors[number]
        type = type_of(tensor)
        whole = np.zeros(plan.whole(tensor), type.storage)
        first: dict[tuple[int, ...], int] = {}
        for rank, one in enumerate(ranks):
            place = plan.place(tensor, rank)
            key = tuple(part.start for part in place)
            part = one.results[index]
            if key not in first:
                first[key] = rank
                whole[place] = part
                continue
            same, at = same_bits(whole[place], part)
            if not same:
                spot = np.unravel_index(at, part.shape) if part.shape else ()
                where = ", ".join(str(int(i) + begin) for i, begin in zip(spot, key, strict=True))
                mine, other = (type.decode(a).reshape(-1)[at] for a in (whole[place], part))
                disagreements.append(
                    f"ranks disagree: {tensor.name}[{where}] is {mine} on rank {first[key]}, and {other} on "
                    f"rank {rank}"
                )
        results.append((whole, type))
    return results, disagreements
