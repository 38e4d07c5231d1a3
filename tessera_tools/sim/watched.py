"""Shared and local memory: regions with a state per byte.

Region (memory.py) ──▶ Local, of a warp     Shared, of a CTA, with an access history
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.interfaces import Warps
from tessera_tools.sim.lanes import Mask, mask_of
from tessera_tools.sim.memory import (
    BASE,
    POISON,
    REMOTE_SHIFT,
    RESERVED_START,
    SHARED_START,
    UNFENCED_UNITS,
    UNINITIALIZED,
    UNIT_SHIFT,
    Region,
    changing_race,
    chosen_bits,
    compact,
    report_race,
    smallest,
    views_of,
)
from tessera_tools.sim.races import History

if TYPE_CHECKING:
    from tessera_tools.sim.warp import Warp

__all__ = ["Local", "Shared"]


class _Watched(Region):
    """A region with a state per byte: shared or local memory."""

    def __init__(self, name: str, base: int, size: int) -> None:
        super().__init__(name, base, size, POISON)
        self.state = np.full(len(self.data), UNINITIALIZED, np.uint8)
        self.state[self.scratch :] = 0
        self.states = views_of(self.state)


class Local(_Watched):
    """The local memory of a warp: the frames of all lanes, contiguous."""

    def __init__(self, frame: int) -> None:
        self.frame = -(-frame // 64) * 64
        super().__init__("local memory", BASE["local"], 32 * self.frame)
        self.starts = np.arange(32, dtype=np.uint64) * np.uint64(self.frame)

    def _index(self, warp: Warp, mask: Mask, addresses: Array, width: int) -> Array:
        offsets = compact(mask, addresses)
        if len(offsets) and int(offsets.max()) + width > self.frame:
            outside = offsets > np.uint64(max(self.frame - width, 0))
            if self.frame < width:
                outside[:] = True
            first = int(offsets[np.flatnonzero(outside)[0]])
            warp.report(
                "out-of-bounds",
                f"{width} bytes at byte {first} of the thread's local memory, which has {self.frame}",
                mask_of(chosen_bits(mask, outside)),
            )
            offsets = np.where(outside, np.uint64(self.scratch), offsets + compact(mask, self.starts))
            self.data[self.scratch :] = POISON
            return (offsets >> UNIT_SHIFT[width]).view(np.int64)
        return self.units(warp, mask, offsets + compact(mask, self.starts), width)

    def load(self, warp: Warp, mask: Mask, addresses: Array, width: int, strong: bool = False) -> Array:
        index = self._index(warp, mask, addresses, width)
        self.check_load(warp, mask, index, width)
        return self.views[width].take(index, 0)

    def store(
        self, warp: Warp, mask: Mask, addresses: Array, width: int, values: Array, strong: bool = False
    ) -> None:
        index = self._index(warp, mask, addresses, width)
        self.views[width][index] = values
        self.states[width][index] = 0

    def rows(self, start: int, size: int) -> tuple[Array, Array]:
        """Bytes and states of `size` bytes at `start` of every frame, as [32, size]."""
        whole = slice(0, 32 * self.frame)
        data = self.data[whole].reshape(32, self.frame)[:, start : start + size]
        return data, self.state[whole].reshape(32, self.frame)[:, start : start + size]


class Shared(_Watched):
    """The shared memory of a CTA. It begins at SHARED_START of the window of the CTA's rank."""

    def __init__(
        self,
        size: int,
        variables: Sequence[tuple[int, int, str]] = (),
        rank: int = 0,
        *,
        reserved: bool = False,
    ) -> None:
        super().__init__("shared memory", BASE["shared"], SHARED_START + size)
        self.rank = rank
        self._window = np.uint64(rank << REMOTE_SHIFT)
        self.history = History(len(self.data))
        self.variables = variables
        """Begin, end and name of each variable, in order."""
        self.start = RESERVED_START if reserved else SHARED_START
        """The first byte that the kernel can access; `reserved`: it uses the memory at %reserved_smem_offset_1."""
        if reserved:
            self.variables = [(RESERVED_START, SHARED_START, "reserved shared memory"), *variables]
            self.data[RESERVED_START:SHARED_START] = 0
            self.state[RESERVED_START:SHARED_START] = 0

    @property
    def own_history(self) -> History:
        """The accesses by the threads of its cluster."""
        return self.history

    def _variable(self, offset: int) -> tuple[int, int, str] | None:
        return next((one for one in self.variables if one[0] <= offset < one[1]), None)

    def place_name(self, offset: int) -> str:
        found = self._variable(offset)
        return found[2] if found is not None else self.name

    def place(self, offset: int) -> str:
        found = self._variable(offset)
        if found is None:
            return super().place(offset)
        return f"byte {offset - found[0]} of '{found[2]}' (byte {offset} of shared memory)"

    def offsets(self, addresses: Array) -> Array:
        """Offsets in the CTA's window; those of addresses of other CTAs are beyond its end."""
        return addresses - self._window if self.rank else addresses

    def addresses(self, offsets: Array) -> Array:
        """The addresses of bytes of this CTA's shared memory."""
        return offsets.astype(np.uint64) + self._window

    def units(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        offsets = self.offsets(offsets)
        if len(offsets) and int(smallest(offsets)) < self.start:
            low = offsets < np.uint64(self.start)
            first = int(offsets[np.flatnonzero(low)[0]])
            warp.report(
                "out-of-bounds",
                f"{width} bytes at shared address {first:#x}: the first {self.start} bytes belong to the system",
                mask_of(chosen_bits(mask, low)),
            )
            offsets = np.where(low, np.uint64(self.scratch), offsets)
            self.data[self.scratch :] = POISON
        return super().units(warp, mask, offsets, width)

    def _refuse(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        foreign = offsets >> np.uint64(REMOTE_SHIFT) != 0
        ranks = (offsets + self._window) >> np.uint64(REMOTE_SHIFT)
        foreign &= ranks < np.uint64(len(warp.cta.cluster.ctas))
        if some(foreign):
            rank = int(ranks[np.flatnonzero(foreign)[0]])
            warp.report(
                "out-of-bounds",
                f"{width} bytes of the shared memory of CTA {rank} of the cluster, by CTA {self.rank}: only "
                "accesses of .shared::cluster and generic ones reach other CTAs",
                mask_of(chosen_bits(mask, foreign)),
            )
            rest = super()._refuse(warp, mask, np.where(foreign, np.uint64(SHARED_START), offsets), width)
            return np.where(foreign, np.uint64(self.scratch), rest)
        return super()._refuse(warp, mask, offsets, width)

    def load(self, warp: Warp, mask: Mask, addresses: Array, width: int, strong: bool = False) -> Array:
        index = self.units(warp, mask, compact(mask, addresses), width)
        self.check_load(warp, mask, index, width)
        racing = self.history.load(warp, mask, index, width, strong)
        if racing is not None:
            report_race(warp, mask, self, index, width, racing, "read", "write")
        return self.views[width].take(index, 0)

    def load_together(self, gang: Warps, addresses: Array, width: int, records: Array) -> Array | None:
        """The values that lanes of several warps read; None if one of the accesses is invalid."""
        addresses = self.offsets(addresses)
        if int(addresses.min()) < self.start:
            return None
        return self.read_together(gang, addresses, width, records, self.history)

    def store_together(
        self, gang: Warps, addresses: Array, width: int, values: Array, records: Array
    ) -> bool:
        """Write by lanes of several warps; False, without an effect, if an access is invalid."""
        addresses = self.offsets(addresses)
        if int(addresses.min()) < self.start:
            return False
        return self.write_together(gang, addresses, width, values, records, self.history)

    def store(
        self, warp: Warp, mask: Mask, addresses: Array, width: int, values: Array, strong: bool = False
    ) -> None:
        index = self.units(warp, mask, compact(mask, addresses), width)
        self.check_store(warp, mask, index, width)
        racing = self.history.store(warp, mask, index, width, strong)
        if racing is not None:
            harmful = changing_race(self, index, width, racing, values)
            report_race(
                warp, mask, self, index, width, harmful or racing, "write", "access" if harmful else "same"
            )
        self.views[width][index] = values
        self.states[width][index] = UNFENCED_UNITS[width]
