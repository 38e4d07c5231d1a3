"""How the ranks of a plan reach each other: the interface that every transport implements.

    all_reduce      x₀, x₁, …            ─▶  x₀ + x₁ + …, on every rank
    all_gather      x₀, x₁, …            ─▶  [x₀, x₁, …], on every rank
    reduce_scatter  [p₀₀, p₀₁, …], …     ─▶  p₀ᵢ + p₁ᵢ + … on rank i
    all_to_all      [p₀₀, p₀₁, …], …     ─▶  [p₀ᵢ, p₁ᵢ, …] on rank i

A group is the list of ranks that take part, in order, with the own rank in it.  Every rank calls the same methods in
the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_tools.runtime.types import Type

__all__ = ["LostRankError", "Transport", "combined"]

Array = np.ndarray[Any, Any]


class LostRankError(Exception):
    """Another rank ended, or did not come in time; its own error is the one to tell."""


class Transport(ABC):
    """What a rank exchanges arrays with."""

    name: str

    @abstractmethod
    def all_reduce(self, array: Array, type: Type, combine: str, group: Sequence[int]) -> Array:
        """The arrays of all ranks, element by element combined by `sum`, `max` or `min`."""

    @abstractmethod
    def all_gather(self, array: Array, group: Sequence[int]) -> list[Array]:
        """The arrays of all ranks."""

    @abstractmethod
    def reduce_scatter(self, parts: Sequence[Array], type: Type, combine: str, group: Sequence[int]) -> Array:
        """What all ranks have as the part of this rank, combined. The parts are of one shape."""

    @abstractmethod
    def all_to_all(self, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        """What each rank has as the part of this rank. The parts are of one shape."""

    @abstractmethod
    def close(self) -> None:
        """End the connections."""


def combined(arrays: Sequence[Array], type: Type, combine: str) -> Array:
    """Arrays in the storage of a type, element by element combined: floats in float64, in order, and rounded once."""
    if type.kind != "f":
        with np.errstate(over="ignore"):
            operation = {"sum": np.add, "max": np.maximum, "min": np.minimum}[combine]
            return operation.reduce(np.stack(arrays), dtype=arrays[0].dtype)
    values = np.stack([type.decode(array) for array in arrays])
    operation = {"sum": np.add, "max": np.maximum, "min": np.minimum}[combine]
    with np.errstate(all="ignore"):
        return type.encode(operation.reduce(values)).reshape(arrays[0].shape)
