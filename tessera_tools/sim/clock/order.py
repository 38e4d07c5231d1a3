"""Clusters of unequal work: when a grid of them ends, if each begins as soon as another one has ended.

    work of a few clusters ──Work──▶ work of all, in the order of the grid ──span()──▶ cycles

In causal attention the last CTAs may be the longest ones. Then most of the GPU waits for them in the end, which a mean
of the CTAs does not tell.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["Work", "corners", "span"]

_WAVES = 32
"""Waves at the end of a grid that are scheduled; those before take as long as their mean."""


def _place(shape: Sequence[int], number: int) -> tuple[int, int, int]:
    x, y, _ = shape
    return number % x, number // x % y, number // (x * y)


def corners(shape: Sequence[int], low: int, high: int) -> list[int]:
    """The clusters that tell, with `low` and `high`, along which dimension the work grows: none for one dimension."""
    x, y, _ = shape
    begin, end = _place(shape, low), _place(shape, high)
    apart = [axis for axis in range(3) if begin[axis] != end[axis]]
    found: list[int] = []
    for axis in apart[:-1]:
        at = [end[one] if one == axis else begin[one] for one in range(3)]
        found.append(at[0] + x * (at[1] + y * at[2]))
    return found


@dataclass(frozen=True, slots=True)
class Work:
    """The work of each cluster of a grid, which grows linearly with the coordinates."""

    shape: tuple[int, int, int]
    origin: tuple[int, int, int]
    at_origin: float
    slopes: tuple[float, float, float]

    @staticmethod
    def of(shape: Sequence[int], low: int, high: int, known: Mapping[int, float]) -> Work:
        """By the `known` work of two clusters, and of their `corners`."""
        x, y, z = shape
        begin, end = _place(shape, low), _place(shape, high)
        apart = [axis for axis in range(3) if begin[axis] != end[axis]]
        slopes, left = [0.0] * 3, known[high] - known[low]
        for axis, number in zip(apart, corners(shape, low, high), strict=False):
            more = known[number] - known[low]
            slopes[axis] = more / (end[axis] - begin[axis])
            left -= more
        if apart:
            slopes[apart[-1]] = left / (end[apart[-1]] - begin[apart[-1]])
        return Work((x, y, z), begin, known[low], (slopes[0], slopes[1], slopes[2]))

    def times(self, numbers: Sequence[int], known: Sequence[float]) -> Array:
        """The time of each cluster, in the order of the grid, by the `known` times of two.

        Their mean is that of all.
        """
        work = self.all()
        one, other = (float(work[number]) for number in numbers)
        rate = (known[1] - known[0]) / (other - one)
        found = np.maximum(known[0] + (work - one) * rate, 0.0)
        # Of an order that the kernel permutes, a line through two clusters may leave less than nothing for others.
        return found * (sum(known) / len(known) / float(found.mean()))

    def all(self) -> Array:
        """Of each cluster, in the order of the grid."""
        along = [
            slope * (np.arange(extent) - origin)
            for extent, origin, slope in zip(self.shape, self.origin, self.slopes, strict=True)
        ]
        every = along[2][:, None, None] + along[1][None, :, None] + along[0][None, None, :]
        return np.maximum(self.at_origin + every, 0.0).ravel()


def span(times: Array, slots: int, alone: float) -> float:
    """When the last of the clusters ends, of which `slots` run at once.

    times: of each one in a full GPU, in the order of the grid. alone: the part of it that one takes in an empty GPU;
    the time grows linearly with the number of those that run.
    """
    before = max(0, len(times) - _WAVES * slots)
    begin = float(times[:before].sum()) / slots
    ends: list[float] = [0.0] * min(slots, len(times))
    for time in times[before:].tolist():
        heapq.heapreplace(ends, ends[0] + time)
    at = found = 0.0
    # Nothing is left to begin once the first of these has ended.
    for running, end in zip(range(len(ends), 0, -1), sorted(ends), strict=True):
        found += (end - at) * (1.0 if running == len(ends) else alone + (1 - alone) * running / slots)
        at = end
    return begin + found
