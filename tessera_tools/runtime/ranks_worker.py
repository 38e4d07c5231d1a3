"""One rank of a plan: its launches on its GPU, and its exchanges over a transport.

whole arguments ──cut by their shardings──▶ launch, exchange, launch, … ──▶ the rank's parts of the results
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.plan import Exchange, Plan, Tensor
from tessera_tools.runtime.interface import Argument, Buffer, Device, LaunchOptions, Module, Result
from tessera_tools.runtime.ranks_transport import LostRankError, Transport
from tessera_tools.runtime.types import Array, Type, lookup_type

__all__ = ["Outcome", "RankResult", "Settings", "load", "outcome", "run_rank", "type_of"]


@dataclass(slots=True)
class RankResult:
    """The result of one rank: its parts of the results, and each launch's result."""

    results: list[Array] = field(default_factory=list[Array])
    launches: list[Result] = field(default_factory=list[Result])
    transport: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Run options, the same as those of tessera-run."""

    code: str | bytes
    manifest: Manifest
    file: str
    gpu_name: str | None
    cuda: bool
    seed: int
    mode: str
    max_instructions: int


def type_of(tensor: Tensor) -> Type:
    """The element type. Raises DiagnosticError if the manifest names an unknown type."""
    found = lookup_type(tensor.type)
    if found is None:
        raise error(
            None, f"tensor '{tensor.name}' of the manifest has the unknown element type '{tensor.type}'"
        )
    return found


def load(settings: Settings, ordinal: int) -> tuple[Device, Module]:
    from tessera_tools import runtime

    if settings.cuda:
        gpu: Device = runtime.device("cuda", ordinal=ordinal)
    else:
        gpu = runtime.device("sim", gpu_name=settings.gpu_name)
    return gpu, gpu.load(settings.code, settings.manifest, file=settings.file)


Outcome: TypeAlias = tuple[str, Any]
"""The outcome of a rank: ("done", RankResult), ("lost", why another rank is missing), ("failed", diagnostics), or
("fault", text)."""


def outcome(work: Callable[[], RankResult]) -> Outcome:
    """Do a rank's work; returns its outcome."""
    try:
        return "done", work()
    except LostRankError as failure:
        return "lost", str(failure)
    except DiagnosticError as failure:
        return "failed", failure.diagnostics
    except BaseException as failure:
        return "fault", f"{failure.__class__.__name__}: {failure}"


def run_rank(
    plan: Plan,
    settings: Settings,
    rank: int,
    loaded: tuple[Device, Module] | None,
    arguments: Sequence[Array],
    transport: Transport,
    ordinal: int,
) -> RankResult:
    """The steps of one rank, on the GPU `ordinal` of its machine; `loaded` is the module if it is already loaded."""
    gpu, module = loaded or load(settings, ordinal)
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
        options: LaunchOptions = {}
        if not settings.cuda:
            seed = settings.seed + rank * len(plan.steps) + count
            options = {
                "seed": seed,
                "mode": settings.mode,
                "max_instructions": settings.max_instructions,
            }
        given: list[Argument] = []
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
                "raise the limit with --max-instructions if the kernel needs more",
            )


def _exchange(plan: Plan, step: Exchange, rank: int, array: Array, transport: Transport) -> Array:
    """The result of an exchange for a rank with `array`."""
    group = plan.group(rank, step.axis)
    source = plan.tensors[step.source]
    type = type_of(source)
    combine = step.combine or "sum"
    how = f", {combine}" if step.combine else ""
    transport.doing = (
        f"'{source.name}' ({type.name}, {'x'.join(map(str, array.shape))}{how}) along '{step.axis}'"
    )
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
