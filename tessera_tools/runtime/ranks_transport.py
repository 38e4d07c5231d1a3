"""Communication between the ranks of a plan: the interface that every transport implements.

    all_reduce      x₀, x₁, …            ─▶  x₀ + x₁ + …, on every rank
    all_gather      x₀, x₁, …            ─▶  [x₀, x₁, …], on every rank
    reduce_scatter  [p₀₀, p₀₁, …], …     ─▶  p₀ᵢ + p₁ᵢ + … on rank i
    all_to_all      [p₀₀, p₀₁, …], …     ─▶  [p₀ᵢ, p₁ᵢ, …] on rank i

A group is the ordered list of participating ranks, including the calling rank. Every rank calls the same methods in
the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from tessera_tools.runtime.types import Array, Type

__all__ = ["LostRankError", "Transport", "combined"]


class LostRankError(Exception):
    """Another rank ended or timed out; its own error takes precedence."""


class Transport(ABC):
    """The transport through which a rank exchanges arrays."""

    name: str
    doing: str = ""
    """What the next exchange is for: the tensor and its type. Part of the error if other ranks do something else."""

    @abstractmethod
    def all_reduce(self, array: Array, type: Type, combine: str, group: Sequence[int]) -> Array:
        """The arrays of all ranks, combined element by element with `sum`, `max` or `min`."""

    @abstractmethod
    def all_gather(self, array: Array, group: Sequence[int]) -> list[Array]:
        """The arrays of all ranks."""

    @abstractmethod
    def reduce_scatter(self, parts: Sequence[Array], type: Type, combine: str, group: Sequence[int]) -> Array:
        """The parts of all ranks for this rank, combined. The parts have one shape."""

    @abstractmethod
    def all_to_all(self, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        """The part of each rank for this rank. The parts have one shape."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""


def combined(arrays: Sequence[Array], type: Type, combine: str) -> Array:
    """Arrays in the storage of a type, combined element by element: floats in float64, in order, and rounded once."""
    if type.kind != "f":
        with np.errstate(over="ignore"):
            operation = {"sum": np.add, "max": np.maximum, "min": np.minimum}[combine]
            return operation.reduce(np.stack(arrays), dtype=arrays[0].dtype)
    values = np.stack([type.decode(array) for array in arrays])
    operation = {"sum": np.add, "max": np.maximum, "min": np.minimum}[combine]
    with np.errstate(all="ignore"):
        return type.encode(operation.reduce(values)).reshape(arrays[0].shape)
