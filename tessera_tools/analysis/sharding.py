"""Shardings of tensors along the axes of a mesh, and the exchanges that convert one sharding to another.

    Sharding((None, "x"))                 sharded along its second dimension: each rank of axis x has a part
    Sharding((None, None), {"x"})         each rank of axis x has a partial sum; the tensor is their sum
    steps(source, target)  ─▶  [Step("all_to_all", "x", split=0, gather=1, after=…), …]

The five exchanges between the states of one axis (S_d: sharded along d, R: replicated, P: partial sums):

    P ─all_reduce─▶ R      P ─reduce_scatter─▶ S_d      S_d ─all_gather─▶ R
    S_i ─all_to_all─▶ S_j      R ─all_slice─▶ S_d
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tessera_tools.diagnostics import Refusal
from tessera_tools.records import dataclass, replace

__all__ = ["Sharding", "Step", "bytes_received", "cost", "local_shape", "steps"]

Axes = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Sharding:
    """For each dimension, the mesh axis that shards it, if any; and the axes whose ranks have partial sums."""

    axes: Axes
    partial: frozenset[str] = frozenset()

    @classmethod
    def whole(cls, rank: int) -> Sharding:
        """The replicated sharding of a tensor of a rank."""
        return cls((None,) * rank)

    @property
    def is_whole(self) -> bool:
        return not self.partial and not any(self.axes)

    def cut(self, dim: int, axis: str | None) -> Sharding:
        """The same, with one dimension also sharded along `axis`."""
        return replace(self, axes=(*self.axes[:dim], axis, *self.axes[dim + 1 :]))


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange between the ranks of an axis: the dimension to split, the dimension to gather, and the result's
    sharding."""

    kind: str
    axis: str
    after: Sharding
    split: int | None = None
    gather: int | None = None


def steps(source: Sharding, target: Sharding) -> list[Step]:
    """Returns the exchanges that convert one sharding to another, in order. `target` has no partial sums."""
    found: list[Step] = []
    current = source
    while current != target:
        step = _next(current, target)
        found.append(step)
        current = step.after
    return found


def _next(now: Sharding, target: Sharding) -> Step:
    for dim, (have, want) in enumerate(zip(now.axes, target.axes, strict=True)):
        if want is None or have is not None:
            continue
        # Exchanges that make the tensor smaller come first.
        if want in now.partial:
            after = replace(now.cut(dim, want), partial=now.partial - {want})
            return Step("reduce_scatter", want, after, split=dim)
        if want not in now.axes:
            return Step("all_slice", want, now.cut(dim, want), split=dim)
        other = now.axes.index(want)
        return Step("all_to_all", want, now.cut(other, None).cut(dim, want), split=dim, gather=other)
    for axis in sorted(now.partial):
        if axis not in target.axes:
            return Step("all_reduce", axis, replace(now, partial=now.partial - {axis}))
    # No more slices are possible: gather a dimension with the wrong sharding.
    dim, axis = next(
        (dim, have)
        for dim, (have, want) in enumerate(zip(now.axes, target.axes, strict=True))
        if have is not None and have != want
    )
    return Step("all_gather", axis, now.cut(dim, None), gather=dim)


def local_shape(shape: Sequence[int], sharding: Sharding, mesh: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of one rank's part of a tensor. Raises Refusal if an extent is not divisible."""
    found: list[int] = []
    for dim, (extent, axis) in enumerate(zip(shape, sharding.axes, strict=True)):
        ranks = mesh[axis] if axis is not None else 1
        if extent % ranks:
            raise Refusal(
                f"dimension {dim} has {extent} elements, which is not divisible by the {ranks} ranks of '{axis}'"
            )
        found.append(extent // ranks)
    return tuple(found)


def bytes_received(step: Step, size: float, ranks: int) -> float:
    """Bytes that a rank receives in a ring exchange; `size` is the size of its part before."""
    factor = {
        "all_reduce": 2 * (ranks - 1) / ranks,
        "reduce_scatter": (ranks - 1) / ranks,
        "all_gather": ranks - 1,
        "all_to_all": (ranks - 1) / ranks,
        "all_slice": 0,
    }
    return size * factor[step.kind]


def cost(source: Sharding, target: Sharding, size: int, mesh: Mapping[str, int]) -> float:
    """Bytes that a rank receives in the conversion between two shardings of a tensor of `size` bytes in total."""
    held = size / math.prod(mesh[axis] for axis in source.axes if axis is not None)
    total = 0.0
    for step in steps(source, target):
        ranks = mesh[step.axis]
        total += bytes_received(step, held, ranks)
        held *= (ranks if step.gather is not None else 1) / (ranks if step.split is not None else 1)
    return total
