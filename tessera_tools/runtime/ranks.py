"""A plan of the launch manifest on N ranks, each a GPU in a process of its own.

    whole arguments ──cut by their shardings──▶ rank 0: launch, exchange, launch, …  ─┐
                                           └──▶ rank 1: launch, exchange, launch, …  ─┴─▶ whole results, findings

Processes are forked, and ended by their ids: when one fails, the others are.
"""

from __future__ import annotations

import os
import pickle
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.plan import Exchange, Plan, Tensor
from tessera_tools.process import end, fork
from tessera_tools.runtime.compare import same_bits
from tessera_tools.runtime.interface import Buffer, Device, Module, Result
from tessera_tools.runtime.ranks_torch import TorchTransport, has_torch
from tessera_tools.runtime.ranks_transport import LostRankError, SocketTransport, Transport, socket_mesh
from tessera_tools.runtime.types import Type, lookup_type

__all__ = ["TIME_LIMIT", "TRANSPORTS", "PlanResult", "run_plan"]

Array = np.ndarray[Any, Any]

TRANSPORTS = ("auto", "torch", "sockets")
TIME_LIMIT = 600.0
"""Seconds that a rank waits for the others in one exchange."""
MAX_INSTRUCTIONS = 100_000_000


@dataclass(slots=True)
class RankResult:
    """What one rank did: its parts of the results, and each launch's result."""

    results: list[Array] = field(default_factory=list[Array])
    launches: list[Result] = field(default_factory=list[Result])
    transport: str = ""


@dataclass(slots=True)
class PlanResult:
    """The whole results, what each rank did, and where ranks that must have the same have not."""

    results: list[tuple[Array, Type]]
    ranks: list[RankResult]
    disagreements: list[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Settings:
    """How to run: as the options of tessera-run."""

    code: str | bytes
    manifest: Manifest
    file: str
    gpu_name: str | None
    cuda: bool
    seed: int
    mode: str
    max_instructions: int


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
    """Run a plan on as many ranks as its mesh has; `arguments` are whole, one for each of the plan's.

    transport: `torch` (torch.distributed), `sockets` of this machine, or `auto`: the first if torch is there.
    seed, mode: of the simulated GPUs' schedules; each launch of each rank has its own seed.
    time_limit: seconds that a rank waits for others in one exchange.
    Raises DiagnosticError for arguments that do not fit, and what goes wrong on any rank.
    """
    begin = time.perf_counter()
    if transport == "torch" and not has_torch():
        raise error(
            None,
            "torch cannot be imported, which --transport=torch needs",
            "pip install 'tessera-tools[distributed]', or use --transport=sockets",
        )
    if not hasattr(os, "fork"):
        raise error(None, "ranks are processes made by fork(), which this system does not have")
    use_torch = transport == "torch" or (transport == "auto" and has_torch())
    check_arguments(plan, arguments)
    settings = _Settings(code, manifest, file, gpu_name, device == "cuda", seed, mode, max_instructions)
    # The simulated GPU's module is read once; a real GPU's context does not survive a fork.
    loaded = None if settings.cuda else _load(settings, 0)
    folder = tempfile.mkdtemp(prefix="tessera-ranks-") if use_torch else None
    mesh = socket_mesh(plan.ranks) if not use_torch else []
    processes: dict[int, int] = {}  # the end of a pipe → the process behind it
    order: list[int] = []
    try:
        for rank in range(plan.ranks):
            receiver, sender = os.pipe()
            process = fork()
            if not process:
                os.close(receiver)
                for pipe in processes:
                    os.close(pipe)

                def connect(rank: int = rank) -> Transport:
                    if folder is None:
                        return _own_sockets(mesh, rank, time_limit)
                    path = os.path.join(folder, "ranks")
                    return TorchTransport(
                        rank, plan.ranks, path, _groups(plan), time_limit, gpu=settings.cuda
                    )

                _child(sender, lambda rank=rank: _rank(plan, settings, rank, loaded, arguments, connect()))
            os.close(sender)
            processes[receiver] = process
            order.append(receiver)
        for row in mesh:
            for one in row:
                if one is not None:
                    one.close()
        mesh = []
        found = _collect(processes, order)
    finally:
        for pipe, process in processes.items():
            os.close(pipe)
            end(process)
        for row in mesh:
            for one in row:
                if one is not None:
                    one.close()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    results, disagreements = _joined(plan, found)
    return PlanResult(results, found, disagreements, time.perf_counter() - begin)


def check_arguments(plan: Plan, arguments: Sequence[Array]) -> None:
    """Raises DiagnosticError where there are too few or many, or one has another shape or type."""
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


def type_of(tensor: Tensor) -> Type:
    """The element type. Raises DiagnosticError if the manifest names one that nobody knows."""
    found = lookup_type(tensor.type)
    if found is None:
        raise error(
            None, f"tensor '{tensor.name}' of the manifest has the unknown element type '{tensor.type}'"
        )
    return found


def _groups(plan: Plan) -> list[list[int]]:
    """Every group of ranks that exchanges, each once, in an order that all ranks share."""
    axes = dict.fromkeys(step.axis for step in plan.steps if isinstance(step, Exchange))
    found: dict[tuple[int, ...], None] = {}
    for axis in axes:
        for rank in range(plan.ranks):
            found[tuple(plan.group(rank, axis))] = None
    return [list(group) for group in found]


def _own_sockets(mesh: list[list[socket.socket | None]], rank: int, time_limit: float) -> SocketTransport:
    """A rank's sockets; those of others are closed here, so that a rank's end is seen."""
    for other, row in enumerate(mesh):
        for one in row:
            if other != rank and one is not None:
                one.close()
    return SocketTransport(rank, mesh[rank], time_limit)


# -- in a rank's process


def _load(settings: _Settings, rank: int) -> tuple[Device, Module]:
    from tessera_tools import runtime

    if settings.cuda:
        gpu: Device = runtime.device("cuda", ordinal=rank)
    else:
        gpu = runtime.device("sim", gpu_name=settings.gpu_name)
    return gpu, gpu.load(settings.code, settings.manifest, file=settings.file)


def _child(sender: int, work: Any) -> None:
    """Do a rank's work, send what came of it, and end the process."""
    status = 1
    try:
        try:
            found: Any = ("done", work())
        except LostRankError as failure:
            found = ("lost", str(failure))
        except DiagnosticError as failure:
            found = ("failed", failure.diagnostics)
        except BaseException as failure:
            found = ("fault", f"{failure.__class__.__name__}: {failure}")
        with os.fdopen(sender, "wb") as file:
            file.write(pickle.dumps(found))
        status = 0
    finally:
        os._exit(status)


def _rank(
    plan: Plan,
    settings: _Settings,
    rank: int,
    loaded: tuple[Device, Module] | None,
    arguments: Sequence[Array],
    transport: Transport,
) -> RankResult:
    """The steps of one rank."""
    gpu, module = loaded or _load(settings, rank)
    result = RankResult(transport=transport.name)
    there: dict[int, Buffer] = {}

    def put(number: int, array: Array) -> None:
        tensor = plan.tensors[number]
        there[number] = gpu.buffer(np.ascontiguousarray(array), tensor.name, type_of(tensor))

    for number, array in zip(plan.arguments, arguments, strict=True):
        put(number, array[plan.place(plan.tensors[number], rank)])
    for count, step in enumerate(plan.steps):
        if isinstance(step, Exchange):
            put(step.result, _exchange(plan, step, rank, there[step.source].array(), transport))
            continue
        for number in step.results:
            tensor = plan.tensors[number]
            put(number, np.zeros(tensor.shape, type_of(tensor).storage))
        options: dict[str, Any] = {}
        if not settings.cuda:
            seed = settings.seed + rank * len(plan.steps) + count
            options = {
                "seed": seed,
                "mode": settings.mode,
                "max_instructions": settings.max_instructions,
            }
        given: list[Any] = []
        for number in (*step.operands, *step.results):
            shape = plan.tensors[number].shape
            strides = [int(np.prod(shape[dim + 1 :])) for dim in range(len(shape))]
            given += [there[number], *shape, *strides]
        launched = module.kernel(step.kernel).launch(step.grid, given, **options)
        _check_end(step.kernel, launched)
        result.launches.append(launched)
    result.results = [there[number].array() for number in plan.results]
    transport.close()
    return result


def _check_end(kernel: str, launched: Result) -> None:
    for finding in launched.findings:
        if finding.kind == "limit":
            raise error(
                None,
                f"'{kernel}' does not end: {finding.message}: {finding.instruction}",
                "raise the limit with --max-instructions if the kernel only needs longer",
            )


def _exchange(plan: Plan, step: Exchange, rank: int, array: Array, transport: Transport) -> Array:
    """What an exchange gives a rank that has `array`."""
    group = plan.group(rank, step.axis)
    type = type_of(plan.tensors[step.source])
    combine = step.combine or "sum"
    if step.kind == "all_reduce":
        return transport.all_reduce(array, type, combine, group)
    if step.split is None:
        assert step.gather is not None
        return np.concatenate(transport.all_gather(array, group), step.gather)
    parts = [np.ascontiguousarray(part) for part in np.split(array, len(group), step.split)]
    if step.kind == "all_slice":
        return parts[group.index(rank)]
    if step.kind == "reduce_scatter":
        return transport.reduce_scatter(parts, type, combine, group)
    assert step.gather is not None
    return np.concatenate(transport.all_to_all(parts, group), step.gather)


# -- in the process that started them


def _collect(processes: dict[int, int], order: list[int]) -> list[RankResult]:
    """Every rank's result. Raises what the first rank that failed says."""
    poll = select.poll()
    data: dict[int, bytearray] = {}
    for pipe in order:
        poll.register(pipe, select.POLLIN)
        data[pipe] = bytearray()
    found: dict[int, RankResult] = {}
    lost: str | None = None
    while data:
        # Who lost another rank ended after it: that one's message is there by now, or never comes.
        ready = poll.poll(None if lost is None else 200)
        if not ready and lost is not None:
            raise error(None, lost)
        for pipe, _ in ready:
            raw = os.read(pipe, 1 << 20)
            if raw:
                data[pipe] += raw
                continue
            poll.unregister(pipe)
            rank = order.index(pipe)
            whole = data.pop(pipe)
            # The pickle comes from our own child.
            value: Any = "it ended without a result"
            kind, value = pickle.loads(whole) if whole else ("fault", value)
            if kind == "done":
                found[rank] = value
            elif kind == "lost":
                lost = lost or f"rank {rank}: {value}"
            elif kind == "failed":
                value[0].note(f"on rank {rank}")
                raise DiagnosticError(*value)
            else:
                raise RuntimeError(f"on rank {rank}: {value}")
    if lost is not None:
        raise error(None, lost)
    return [found[rank] for rank in range(len(order))]


def _joined(plan: Plan, ranks: Sequence[RankResult]) -> tuple[list[tuple[Array, Type]], list[str]]:
    """Whole results of the ranks' parts; ranks that have the same part must have the same bits."""
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
