"""How the ranks of a plan reach each other: the interface, and an implementation over local sockets.

    all_reduce      x₀, x₁, …            ─▶  x₀ + x₁ + …, on every rank
    all_gather      x₀, x₁, …            ─▶  [x₀, x₁, …], on every rank
    reduce_scatter  [p₀₀, p₀₁, …], …     ─▶  p₀ᵢ + p₁ᵢ + … on rank i
    all_to_all      [p₀₀, p₀₁, …], …     ─▶  [p₀ᵢ, p₁ᵢ, …] on rank i

A group is the list of ranks that take part, in order, with the own rank in it.  Every rank calls the same methods in
the same order.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_tools.diagnostics import error
from tessera_tools.runtime.types import Type

__all__ = ["LostRankError", "SocketTransport", "Transport", "combined", "socket_mesh"]

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


def socket_mesh(ranks: int) -> list[list[socket.socket | None]]:
    """Connected sockets: `mesh[i][j]` is rank i's to rank j."""
    mesh: list[list[socket.socket | None]] = [[None] * ranks for _ in range(ranks)]
    for i in range(ranks):
        for j in range(i):
            mesh[i][j], mesh[j][i] = socket.socketpair()
    return mesh


class SocketTransport(Transport):
    """Every rank has a socket to every other. Sums are made in the order of the ranks, the same on all of them."""

    name = "sockets"
    _HEADER = struct.Struct("<QQ")

    def __init__(self, rank: int, sockets: Sequence[socket.socket | None], time_limit: float) -> None:
        self.rank = rank
        self.sockets = sockets
        self.time_limit = time_limit
        """Seconds to wait for the others in one exchange."""
        self.count = 0
        for one in sockets:
            if one is not None:
                one.setblocking(False)

    def all_reduce(self, array: Array, type: Type, combine: str, group: Sequence[int]) -> Array:
        flat = array.reshape(-1)
        each = -(-flat.size // len(group))
        padded = np.zeros(each * len(group), flat.dtype)
        padded[: flat.size] = flat
        own = self.reduce_scatter(np.split(padded, len(group)), type, combine, group)
        return np.concatenate(self.all_gather(own, group))[: flat.size].reshape(array.shape)

    def all_gather(self, array: Array, group: Sequence[int]) -> list[Array]:
        return self.all_to_all([array] * len(group), group)

    def reduce_scatter(self, parts: Sequence[Array], type: Type, combine: str, group: Sequence[int]) -> Array:
        return combined(self.all_to_all(parts, group), type, combine)

    def all_to_all(self, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        self.count += 1
        found: list[Array] = []
        swap = _Swap(self.count, self.time_limit)
        with swap.selector:
            for other, part in zip(group, parts, strict=True):
                if other != self.rank:
                    connection = self.sockets[other]
                    assert connection is not None
                    swap.add(other, connection, np.ascontiguousarray(part))
            swap.run()
            for other, part in zip(group, parts, strict=True):
                if other == self.rank:
                    found.append(np.ascontiguousarray(part).copy())
                else:
                    raw = bytearray(swap.received[other][self._HEADER.size :])
                    found.append(np.frombuffer(raw, part.dtype).reshape(part.shape))
        return found

    def close(self) -> None:
        for one in self.sockets:
            if one is not None:
                one.close()


class _Swap:
    """One exchange on its way: what is left to send to each rank, and what has come from it."""

    def __init__(self, number: int, time_limit: float) -> None:
        self.number = number
        self.time_limit = time_limit
        self.selector = selectors.DefaultSelector()
        self.left: dict[int, memoryview] = {}
        self.expected: dict[int, int] = {}
        self.received: dict[int, bytearray] = {}

    def add(self, rank: int, connection: socket.socket, part: Array) -> None:
        message = SocketTransport._HEADER.pack(self.number, part.nbytes) + part.tobytes()
        self.left[rank] = memoryview(message)
        self.expected[rank] = len(message)
        self.received[rank] = bytearray()
        self.selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, rank)

    def run(self) -> None:
        deadline = time.monotonic() + self.time_limit
        while self.selector.get_map():
            ready = self.selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                late = ", ".join(str(key.data) for key in self.selector.get_map().values())
                raise LostRankError(f"nothing came from rank {late} in {self.time_limit:g} s")
            for key, events in ready:
                connection: Any = key.fileobj
                self._advance(connection, key.data, events)

    def _advance(self, connection: socket.socket, rank: int, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE and self.left[rank]:
                self.left[rank] = self.left[rank][connection.send(self.left[rank]) :]
            if events & selectors.EVENT_READ:
                data = connection.recv(min(1 << 20, self.expected[rank] - len(self.received[rank])))
                if not data:
                    raise LostRankError(f"rank {rank} has ended")
                self.received[rank] += data
                self._check(rank)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as failure:
            raise LostRankError(f"rank {rank} has ended: {failure.strerror}") from None
        want = selectors.EVENT_WRITE if self.left[rank] else 0
        if len(self.received[rank]) < self.expected[rank]:
            want |= selectors.EVENT_READ
        if want:
            self.selector.modify(connection, want, rank)
        else:
            self.selector.unregister(connection)

    def _check(self, rank: int) -> None:
        header = SocketTransport._HEADER
        if len(self.received[rank]) < header.size:
            return
        number, size = header.unpack_from(self.received[rank])
        if (number, size + header.size) != (self.number, self.expected[rank]):
            raise error(
                None,
                f"rank {rank} sends {size} bytes in its exchange {number}; expected "
                f"{self.expected[rank] - header.size} in exchange {self.number}",
            )
