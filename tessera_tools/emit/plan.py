"""The steps of a program on several GPUs: the part of the launch manifest that is not about a single kernel.

tensors    the part of each rank: type, extents, and, for arguments and results, the sharding
steps      launches of the manifest's kernels, and exchanges between ranks, in order
"""

from __future__ import annotations

import math
from typing import Any

from tessera_tools.records import Json, dataclass

__all__ = ["EXCHANGES", "Exchange", "Launch", "Plan", "Tensor", "plan_data", "read_plan"]

EXCHANGES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_slice")
COMBINATIONS = ("sum", "max", "min")


@dataclass(frozen=True, slots=True)
class Tensor:
    """The part of a tensor on one rank: contiguous, row-major. `cut` names the mesh axis that shards each dimension."""

    name: str
    type: str
    """MLIR's name of the element type: `f16`, `bf16`, `i32`."""
    shape: tuple[int, ...]
    cut: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch of a kernel on tensors. Each is passed as address, extents and strides in elements. Results are zeroed
    first."""

    kernel: str
    grid: tuple[int, ...]
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Exchange:
    """The ranks of an axis exchange a tensor. `split` and `gather` are the dimensions that shrink and grow."""

    kind: str
    axis: str
    source: int
    result: int
    split: int | None = None
    gather: int | None = None
    combine: str | None = None
    """How elements are combined, for reductions."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One program. Numbers in steps, `arguments` and `results` are indices into `tensors`."""

    name: str
    mesh: tuple[tuple[str, int], ...]
    """Axes and extents; the last axis varies fastest."""
    tensors: tuple[Tensor, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    steps: tuple[Launch | Exchange, ...]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return math.prod(extent for _, extent in self.mesh)

    def coordinates(self, rank: int) -> dict[str, int]:
        """The coordinates of a rank, by axis."""
        found: dict[str, int] = {}
        for axis, extent in reversed(self.mesh):
            rank, found[axis] = divmod(rank, extent)
        return found

    def group(self, rank: int, axis: str) -> list[int]:
        """The ranks that differ from the given one along this axis only, in order."""
        here = self.coordinates(rank)
        return [
            other
            for other in range(self.ranks)
            if all(place == here[name] or name == axis for name, place in self.coordinates(other).items())
        ]

    def whole(self, tensor: Tensor) -> tuple[int, ...]:
        """The extents of the whole tensor."""
        extents = dict(self.mesh)
        return tuple(
            size * (extents[axis] if axis is not None else 1)
            for size, axis in zip(tensor.shape, tensor.cut, strict=True)
        )

    def place(self, tensor: Tensor, rank: int) -> tuple[slice, ...]:
        """The part of the whole tensor that a rank has."""
        here = self.coordinates(rank)
        starts = [
            size * (here[axis] if axis is not None else 0)
            for size, axis in zip(tensor.shape, tensor.cut, strict=True)
        ]
        return tuple(slice(start, start + size) for start, size in zip(starts, tensor.shape, strict=True))


def plan_data(plan: Plan) -> dict[str, Json]:
    """The plan as JSON data."""
    steps: list[dict[str, Json]] = []
    for step in plan.steps:
        if isinstance(step, Launch):
            steps.append(
                {
                    "kind": "launch",
                    "kernel": step.kernel,
                    "grid": list(step.grid),
                    "operands": list(step.operands),
                    "results": list(step.results),
                }
            )
            continue
        data: dict[str, Json] = {
            "kind": step.kind,
            "axis": step.axis,
            "source": step.source,
            "result": step.result,
        }
        optional = {"split": step.split, "gather": step.gather, "combine": step.combine}
        steps.append(data | {key: value for key, value in optional.items() if value is not None})
    return {
        "name": plan.name,
        "mesh": [{"axis": axis, "ranks": extent} for axis, extent in plan.mesh],
        "tensors": [
            {"name": t.name, "type": t.type, "shape": list(t.shape), "cut": list(t.cut)} for t in plan.tensors
        ],
        "arguments": list(plan.arguments),
        "results": list(plan.results),
        "steps": steps,
    }


def read_plan(reader: Any, kernels: dict[str, int]) -> Plan:
    """A plan from the manifest's reader of one object (emit/manifest.py); `kernels` maps each kernel to its
    number of parameters. Raises a ToolError that names the field."""
    name = reader.text("name")
    reader.where = f"{reader.where} '{name}'"
    mesh: list[tuple[str, int]] = []
    for part in reader.objects("mesh"):
        axis, extent = part.text("axis"), part.count("ranks")
        if extent < 1 or axis in dict(mesh):
            raise part.bad("ranks", "a new axis of one rank or more")
        mesh.append((axis, extent))
        part.finish()
    tensors: list[Tensor] = []
    for part in reader.objects("tensors"):
        tensor = Tensor(
            part.text("name"),
            part.text("type"),
            part.counts("shape"),
            part.take("cut", "a list of mesh axes and nulls", lambda value: _axes(value, dict(mesh))),
        )
        if len(tensor.cut) != len(tensor.shape):
            raise part.bad("cut", f"{len(tensor.shape)} entries, as many as extents")
        tensors.append(tensor)
        part.finish()

    def places(part: Any, key: str) -> tuple[int, ...]:
        found = part.counts(key)
        if any(n >= len(tensors) for n in found):
            raise part.bad(key, f"numbers below {len(tensors)}, the number of tensors")
        return found

    steps: list[Launch | Exchange] = []
    for part in reader.objects("steps"):
        kind = part.text("kind")
        if kind == "launch":
            launch = Launch(
                part.text("kernel"), part.counts("grid"), places(part, "operands"), places(part, "results")
            )
            taken = sum(1 + 2 * len(tensors[n].shape) for n in (*launch.operands, *launch.results))
            if kernels.get(launch.kernel) != taken:
                raise part.bad("kernel", f"a kernel of the manifest with {taken} parameters")
            if not 1 <= len(launch.grid) <= 3 or 0 in launch.grid:
                raise part.bad("grid", "one to three numbers from 1")
            steps.append(launch)
        else:
            steps.append(_exchange(part, kind, mesh, tensors))
        part.finish()
    plan = Plan(
        name,
        tuple(mesh),
        tuple(tensors),
        places(reader, "arguments"),
        places(reader, "results"),
        tuple(steps),
    )
    reader.finish()
    return plan


def _axes(value: object, mesh: dict[str, int]) -> tuple[str | None, ...] | None:
    if not isinstance(value, list) or not all(axis is None or axis in mesh for axis in value):
        return None
    return tuple(value)


def _exchange(part: Any, kind: str, mesh: list[tuple[str, int]], tensors: list[Tensor]) -> Exchange:
    if kind not in EXCHANGES:
        raise part.bad("kind", f"launch, or one of {', '.join(EXCHANGES)}")
    step = Exchange(
        kind,
        part.text("axis"),
        part.count("source"),
        part.count("result"),
        part.count("split") if "split" in part.data else None,
        part.count("gather") if "gather" in part.data else None,
        part.text("combine") if "combine" in part.data else None,
    )
    if step.axis not in dict(mesh):
        raise part.bad("axis", f"one of the mesh: {', '.join(dict(mesh))}")
    if max(step.source, step.result) >= len(tensors):
        raise part.bad("source", f"tensors below {len(tensors)}")
    if (step.combine is not None) != (kind in ("all_reduce", "reduce_scatter")) or (
        step.combine is not None and step.combine not in COMBINATIONS
    ):
        raise part.bad("kind", "'combine' (sum, max or min) for reductions only")
    ranks = dict(mesh)[step.axis]
    shape = list(tensors[step.source].shape)
    splits, gathers = (
        kind in ("reduce_scatter", "all_to_all", "all_slice"),
        kind in ("all_gather", "all_to_all"),
    )
    for dim, wanted in ((step.split, splits), (step.gather, gathers)):
        if (dim is not None) != wanted or (dim is not None and dim >= len(shape)):
            raise part.bad("kind", "'split' and 'gather' to name the dimensions that it changes")
    if step.split is not None:
        if shape[step.split] % ranks:
            raise part.bad("split", f"a dimension that {ranks} ranks divide")
        shape[step.split] //= ranks
    if step.gather is not None:
        shape[step.gather] *= ranks
    result = tensors[step.result]
    if tuple(shape) != result.shape or result.type != tensors[step.source].type:
        raise part.bad("result", f"a tensor of {'x'.join(map(str, shape))} and of the source's type")
    return step
