"""The units of an SM that a replay keeps busy: ports, caches, partitions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from tessera_tools.target.timing import Timing

__all__ = ["SECTOR", "Cache", "Partition", "Port", "SharedPort", "Sm"]

SECTOR = 32
"""Bytes."""


class Port:
    """A unit that serves one request after the other."""

    __slots__ = ("busy", "free", "rate")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.free = 0.0
        self.busy = 0.0

    def take(self, at: float, amount: float) -> float:
        """Begin a request at `at` or later; when it ends."""
        begin = at if at > self.free else self.free
        cycles = amount / self.rate
        self.busy += cycles
        self.free = begin + cycles
        return self.free


class SharedPort(Port):
    """The port of shared memory: what bulk copies write waits until others leave it cycles, but gets some of theirs."""

    __slots__ = ("debt", "share")

    def __init__(self, rate: float, share: float) -> None:
        super().__init__(rate)
        self.debt = 0.0
        """Bytes that bulk copies have still to write."""
        self.share = share
        """Bytes that they write for each byte of others, while others wait."""

    def take(self, at: float, amount: float) -> float:
        self._idle(at)
        bulk = min(self.debt, amount * self.share)
        self.debt -= bulk
        self.busy -= bulk / self.rate  # It was counted when it began.
        return super().take(at, amount + bulk)

    def write(self, at: float, amount: float) -> float:
        """When the bytes of a bulk copy that begins at `at` are written."""
        self._idle(at)
        self.debt += amount
        self.busy += amount / self.rate
        # It has its share of what others have queued, and all cycles after that.
        slow = self.rate * self.share / (1 + self.share)
        queued = max(0.0, self.free - at)
        if self.debt <= slow * queued:
            return at + self.debt / slow
        return at + queued + (self.debt - slow * queued) / self.rate

    def _idle(self, at: float) -> None:
        if at > self.free:
            self.debt = max(0.0, self.debt - (at - self.free) * self.rate)
            self.free = at


class Cache:
    """Sectors that were used last, up to a size in bytes."""

    __slots__ = ("held", "most")

    def __init__(self, size: float) -> None:
        self.most = int(size) // SECTOR
        self.held: OrderedDict[int, None] = OrderedDict()

    def misses(self, sectors: Sequence[int]) -> list[int]:
        """The sectors that are not held; all are held from now on."""
        held, missing = self.held, []
        for sector in sectors:
            if sector in held:
                held.move_to_end(sector)
            else:
                missing.append(sector)
                held[sector] = None
        while len(held) > self.most:
            held.popitem(last=False)
        return missing


class Partition:
    __slots__ = ("free", "issued", "tensor", "units")

    def __init__(self) -> None:
        self.free = 0.0
        """When the scheduler can issue."""
        self.issued = 0.0
        self.tensor = Port(1.0)
        self.units: dict[str, Port] = {}


class Sm:
    __slots__ = ("bulk", "l1", "partitions", "room", "shared", "tmem", "warps")

    def __init__(self, table: Timing, room: int, l1_bytes: float) -> None:
        self.partitions = [Partition() for _ in range(int(table.value("schedulers")))]
        self.shared = SharedPort(table.value("shared_bytes"), table.value("bulk_share"))
        self.bulk = Port(1.0)
        self.tmem = Port(1.0)
        self.l1 = Cache(l1_bytes)
        self.room = room
        self.warps = 0
        """Started so far; they take partitions in turn."""
