"""Memory: the generic address space, guarded global allocations, shared and local memory with a state per byte.

    64-bit generic address ── bits 40 and up name the window ──▶ global │ shared │ local │ param │ const

Global addresses are the same in their own space and in the generic one. Those of the other spaces are offsets in
their own space, which fit in 32 bits, and stand above their window's base in the generic one (PTX ISA, "Generic
Addressing", "cvta"). Accesses take the addresses of the 32 lanes and a mask, and give or take values
*compactly*: one row per active lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.sim.races import History, Race, describe
from tessera_tools.sim.warp import Mask, mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.gang import Gang
    from tessera_tools.sim.warp import Warp

__all__ = [
    "BASE",
    "EARLIER",
    "LANDING",
    "POISON",
    "READING",
    "REMOTE_SHIFT",
    "SHARED_START",
    "UNFENCED",
    "UNINITIALIZED",
    "Allocations",
    "Buffer",
    "Local",
    "Region",
    "Shared",
    "window_of",
]

Array = np.ndarray[Any, Any]

WINDOW_SHIFT = 40
BASE = {
    "const": 0x7B << 40,
    "param": 0x7C << 40,
    "local": 0x7D << 40,
    "shared": 0x7E << 40,
    "global": 0x7F << 40,
}
"""Generic address at which each window begins."""
WINDOWS = {base >> WINDOW_SHIFT: space for space, base in BASE.items()}
REMOTE_SHIFT = 24
"""A shared::cluster address holds the rank of the CTA plus one here (`mapa`); 0 is the thread's own CTA."""
SHARED_START = 1024
"""Where a CTA's shared memory begins: the system keeps the first KiB, so that null is no valid address."""

UNINITIALIZED, LANDING, READING, UNFENCED, EARLIER = 1, 2, 4, 8, 16
"""State of a byte: never written; an asynchronous write is in flight; an asynchronous read is in flight;
written through the generic proxy with no proxy fence since; of an earlier kernel that may still run."""
POISON = 0xFF
"""Every byte of a value that is not there yet or does not exist: NaN in each float type."""

_PADDING = 64
_WATCHED_SIZE = 1 << 30
"""Bytes of the largest global allocation in which races are looked for."""
_or = np.bitwise_or.reduce
_minimum = np.minimum.reduce
_FILL = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}


def window_of(address: int) -> str | None:
    """The space whose window holds the generic address."""
    return WINDOWS.get(address >> WINDOW_SHIFT)


def views_of(data: Array) -> dict[int, Array]:
    """Views of bytes for accesses of 1…32 bytes; those of 16 and 32 are rows of uint64."""
    views: dict[int, Array] = {width: data.view(f"<u{width}") for width in (1, 2, 4, 8)}
    views[16] = views[8].reshape(-1, 2)
    views[32] = views[8].reshape(-1, 4)
    return views


class Region:
    """Contiguous bytes at `base`; behind them a scratch unit that takes the accesses that go wrong."""

    def __init__(self, name: str, base: int, size: int, fill: int = 0) -> None:
        self.name = name
        self.base = base
        self.size = size
        rounded = -(-size // _PADDING) * _PADDING
        self.scratch = rounded
        self.data = np.full(rounded + _PADDING, fill, np.uint8)
        self.views = views_of(self.data)
        self.states: dict[int, Array] = {}
        """Views of the flags per byte, where the memory keeps them."""

    @property
    def bytes(self) -> Array:
        """The region's own bytes."""
        return self.data[: self.size]

    def units(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        """Offsets (uint64, compact) → indices of `width`-byte units; a bad one is reported, and sent to the scratch."""
        every = int(_or(offsets)) if len(offsets) else 0
        if every & (width - 1) or (every + width > self.size and int(offsets.max()) + width > self.size):
            offsets = self._refuse(warp, mask, offsets, width)
        return (offsets >> _SHIFT[width]).view(np.int64)

    def place_name(self, offset: int) -> str:
        """What stands at a byte: the variable or the buffer."""
        return self.name

    def place(self, offset: int) -> str:
        """A byte in words: its place in the variable or buffer."""
        return f"byte {offset} of {self.name}"

    def _refuse(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        outside = offsets > np.uint64(max(self.size - width, 0)) if self.size >= width else offsets >= 0
        askew = (offsets & np.uint64(width - 1) != 0) & ~outside
        if outside.any():
            first = int(np.flatnonzero(outside)[0])
            where = int(offsets[first]) - (1 << 64 if int(offsets[first]) >> 63 else 0)
            warp.report(
                "out-of-bounds",
                f"{width} bytes at byte {where} of {self.name}, which has {self.size}",
                mask_of(_bits(mask, outside)),
            )
        if askew.any():
            first = int(np.flatnonzero(askew)[0])
            warp.report(
                "misaligned",
                f"{width} bytes at byte {int(offsets[first])} of {self.name}: the address "
                f"{self.base + int(offsets[first]):#x} is not a multiple of {width}",
                mask_of(_bits(mask, askew)),
            )
        self.data[self.scratch :] = POISON
        return np.where(outside | askew, np.uint64(self.scratch), offsets)

    def read_together(
        self, gang: Gang, offsets: Array, width: int, records: Array, history: History
    ) -> Array | None:
        """The units of lanes of several warps, and a note of the reads; None if anything is wrong."""
        if int(_or(offsets)) & (width - 1) or int(offsets.max()) + width > self.size:
            return None
        index = (offsets >> _SHIFT[width]).view(np.int64)
        if self.states:
            flags = _FILL[min(width, 8)] * (UNINITIALIZED | LANDING | EARLIER)
            if int(_or(self.states[width].take(index, 0), None)) & flags:
                return None
        if not history.load_together(gang, index, width, records):
            return None
        return self.views[width].take(index, 0)

    def write_together(
        self, gang: Gang, offsets: Array, width: int, values: Array, records: Array, history: History
    ) -> bool:
        """Write units by lanes of several warps; False, and nothing done, if anything is wrong."""
        if int(_or(offsets)) & (width - 1) or int(offsets.max()) + width > self.size:
            return False
        index = (offsets >> _SHIFT[width]).view(np.int64)
        if self.states:
            flags = _FILL[min(width, 8)] * (LANDING | READING)
            if int(_or(self.states[width].take(index, 0), None)) & flags:
                return False
        if not history.store_together(gang, index, width, records):
            return False
        self.views[width][index] = values
        if self.states:
            self.states[width][index] = _UNFENCED[width]
        return True

    def check_load(self, warp: Warp, mask: Mask, index: Array, width: int) -> None:
        """Report what may not be read: the `width`-byte units `index` of a memory that keeps flags."""
        state = self.states[width].take(index, 0)
        seen = int(_or(state, None)) if state.size else 0
        fill = _FILL[min(width, 8)]
        if seen & fill * EARLIER and "griddepcontrol.wait" not in warp.state:
            warp.report(
                "race",
                f"read of {width} bytes of {self.name}, which an earlier kernel may still write: no "
                "griddepcontrol.wait before",
                mask,
            )
        if seen & fill * (UNINITIALIZED | LANDING):
            for flag, kind, text in (
                (UNINITIALIZED, "uninitialized", "never written"),
                (
                    LANDING,
                    "in-flight",
                    "still being written by an asynchronous operation that was not waited for",
                ),
            ):
                bad = (state & state.dtype.type(fill * flag)).reshape(len(state), -1).any(axis=1)
                if bad.any():
                    at = int(index[np.flatnonzero(bad)[0]]) * width
                    warp.report(
                        kind,
                        f"read of {width} bytes at {self.place(at)}: {text}",
                        mask_of(_bits(mask, bad)),
                    )

    def check_store(self, warp: Warp, mask: Mask, index: Array, width: int) -> None:
        """Report what may not be written."""
        state = self.states[width].take(index, 0)
        seen = int(_or(state, None)) if state.size else 0
        fill = _FILL[min(width, 8)]
        if seen & fill * (LANDING | READING):
            bad = (state & state.dtype.type(fill * (LANDING | READING))).reshape(len(state), -1).any(axis=1)
            at = int(index[np.flatnonzero(bad)[0]]) * width
            what = "written" if seen & fill * LANDING else "read"
            warp.report(
                "in-flight",
                f"write of {width} bytes at {self.place(at)}, still being {what} by an asynchronous "
                "operation that was not waited for",
                mask_of(_bits(mask, bad)),
            )


_SHIFT = {width: np.uint64(width.bit_length() - 1) for width in (1, 2, 4, 8, 16, 32)}


def _bits(mask: Mask, chosen: Array) -> int:
    """The lanes of `mask` whose position in the compact order is chosen, as bits."""
    lanes = mask.lanes[chosen]
    return (
        int(np.bitwise_or.reduce(np.left_shift(np.uint64(1), lanes.astype(np.uint64)))) if len(lanes) else 0
    )


def compact(mask: Mask, row: Array) -> Array:
    """The active lanes of a row."""
    return row if mask.full else row[mask.array]


class Buffer(Region):
    """A global allocation. `address` is what a kernel takes; `array()` is its content."""

    def __init__(self, name: str, base: int, content: Array) -> None:
        raw = np.ascontiguousarray(content)
        super().__init__(name, base, raw.nbytes)
        self.dtype, self.shape = raw.dtype, raw.shape
        self.data[: raw.nbytes] = raw.reshape(-1).view(np.uint8)
        self.state: Array | None = None
        """Flags per byte, once somebody needs them (`flags`): the async proxy does, plain kernels do not."""

    def flags(self) -> Array:
        """The flags per byte, from now on kept."""
        if self.state is None:
            self.state = np.zeros(len(self.data), np.uint8)
            self.states = views_of(self.state)
        return self.state

    @property
    def address(self) -> int:
        return self.base

    def array(self) -> Array:
        """A copy of the content, in the dtype and shape that it was allocated with."""
        return self.bytes.copy().view(self.dtype).reshape(self.shape)


class Allocations:
    """Global (or constant) memory: separate allocations, 256-byte aligned, nothing mapped between them."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.watched = space == "global"
        """Whether races are looked for."""
        self.next = BASE[space] + (1 << 20)
        self.regions: list[Buffer] = []
        self.recent: Buffer | None = None

    def allocate(self, content: Array, name: str = "", align: int = 256) -> Buffer:
        """A new allocation that holds a copy of `content`."""
        align = max(align, 256)
        base = -(-self.next // align) * align
        buffer = Buffer(name or f"{self.space} allocation {len(self.regions)}", base, content)
        self.regions.append(buffer)
        self.next = base + buffer.size + (1 << 16)
        return buffer

    def release(self, buffer: Buffer) -> None:
        """From now on nothing is there; no later allocation has its addresses."""
        self.regions.remove(buffer)
        if self.recent is buffer:
            self.recent = None

    def find(self, address: int) -> Buffer | None:
        """The allocation that holds the address."""
        for region in self.regions:
            if region.base <= address < region.base + max(region.size, 1):
                return region
        return None

    def load(self, warp: Warp, mask: Mask, addresses: Array, width: int, strong: bool = False) -> Array:
        wanted = compact(mask, addresses)
        recent = self.recent
        if recent is not None:
            offsets = wanted - np.uint64(recent.base)
            every = int(_or(offsets)) if len(offsets) else 0
            if not every & (width - 1) and (
                every + width <= recent.size or int(offsets.max()) + width <= recent.size
            ):
                index = (offsets >> _SHIFT[width]).view(np.int64)
                if self.watched:
                    self._note_load(warp, mask, recent, index, width, strong)
                return recent.views[width].take(index, 0)
        out = np.full(
            (len(wanted), *_row(width)), np.uint64(0xFFFFFFFFFFFFFFFF).astype(_unit(width)), _unit(width)
        )
        for region, part, chosen in self._regions(warp, mask, wanted, width):
            index = region.units(warp, part, wanted[chosen] - np.uint64(region.base), width)
            if self.watched:
                self._note_load(warp, part, region, index, width, strong)
            out[chosen] = region.views[width][index]
        return out

    def store(
        self, warp: Warp, mask: Mask, addresses: Array, width: int, values: Array, strong: bool = False
    ) -> None:
        wanted = compact(mask, addresses)
        recent = self.recent
        if recent is not None:
            offsets = wanted - np.uint64(recent.base)
            every = int(_or(offsets)) if len(offsets) else 0
            if not every & (width - 1) and (
                every + width <= recent.size or int(offsets.max()) + width <= recent.size
            ):
                index = (offsets >> _SHIFT[width]).view(np.int64)
                if self.watched:
                    self._note_store(warp, mask, recent, index, width, values, strong)
                recent.views[width][index] = values
                return
        for region, part, chosen in self._regions(warp, mask, wanted, width):
            index = region.units(warp, part, wanted[chosen] - np.uint64(region.base), width)
            given = values[chosen]
            if self.watched:
                self._note_store(warp, part, region, index, width, given, strong)
            region.views[width][index] = given

    def load_together(self, gang: Gang, addresses: Array, width: int, records: Array) -> Array | None:
        """What lanes of several warps read; None if anything is wrong with one of the accesses."""
        region = self._nearby(int(addresses[0]))
        history = self._history(gang.warps[0], region) if region is not None else None
        if region is None or history is None:
            return None
        return region.read_together(gang, addresses - np.uint64(region.base), width, records, history)

    def store_together(self, gang: Gang, addresses: Array, width: int, values: Array, records: Array) -> bool:
        """Write by lanes of several warps; False, and nothing done, if anything is wrong."""
        region = self._nearby(int(addresses[0]))
        history = self._history(gang.warps[0], region) if region is not None else None
        if region is None or history is None:
            return False
        own = addresses - np.uint64(region.base)
        return region.write_together(gang, own, width, values, records, history)

    def _nearby(self, address: int) -> Buffer | None:
        """The allocation that holds the address, which is the recent one from now on."""
        recent = self.recent
        if recent is None or not recent.base <= address < recent.base + recent.size:
            recent = self.recent = self.find(address)
        return recent

    def _history(self, warp: Warp, region: Buffer) -> History | None:
        """Who touched the allocation last, in the warp's cluster: clusters are not ordered with each other."""
        known = warp.cta.cluster.histories
        found = known.get(region.base)
        if found is None and region.size <= _WATCHED_SIZE:
            cluster = warp.cta.cluster
            found = known[region.base] = cluster.launch.history(region, cluster.clocks.begin)
        return found

    def _note_load(
        self, warp: Warp, mask: Mask, region: Buffer, index: Array, width: int, strong: bool
    ) -> None:
        if region.state is not None:
            region.check_load(warp, mask, index, width)
        history = self._history(warp, region)
        racing = history.load(warp, mask, index, width, strong) if history is not None else None
        if racing is not None:
            _race(warp, mask, region, index, width, racing, "read", "write")

    def _note_store(
        self, warp: Warp, mask: Mask, region: Buffer, index: Array, width: int, values: Array, strong: bool
    ) -> None:
        if region.state is not None:
            region.check_store(warp, mask, index, width)
            region.states[width][index] = _UNFENCED[width]
        history = self._history(warp, region)
        racing = history.store(warp, mask, index, width, strong) if history is not None else None
        if racing is not None:
            # Threads that store what is there already harm nobody: replicated results are written so.
            harmful = _changing(region, index, width, racing, values)
            if harmful is not None:
                _race(warp, mask, region, index, width, harmful, "write", "access")

    def _regions(self, warp: Warp, mask: Mask, wanted: Array, width: int) -> list[tuple[Buffer, Mask, Any]]:
        """The allocations that the addresses hit: each with its lanes, and their places in the compact order."""
        recent = self.recent
        if recent is None or not len(wanted) or not recent.base <= int(wanted[0]) < recent.base + recent.size:
            recent = self.recent = self.find(int(wanted[0])) if len(wanted) else None
        if recent is not None and int((wanted - np.uint64(recent.base)).max()) < recent.size:
            return [(recent, mask, slice(None))]
        found: list[tuple[Buffer, Mask, Any]] = []
        left = np.ones(len(wanted), np.bool_)
        while left.any():
            first = int(wanted[np.flatnonzero(left)[0]])
            region = self.find(first)
            if region is None:
                chosen = left & (wanted == np.uint64(first))
                part = mask_of(_bits(mask, chosen))
                warp.report("out-of-bounds", self._stray(first, width), part)
            else:
                chosen = left & (wanted - np.uint64(region.base) < np.uint64(max(region.size, 1)))
                found.append((region, mask_of(_bits(mask, chosen)), chosen))
            left &= ~chosen
        return found

    def _stray(self, address: int, width: int) -> str:
        text = f"{width} bytes at {self.space} address {address:#x}, where nothing is allocated"
        near = min(
            self.regions,
            key=lambda region: max(region.base - address, address - region.base - region.size),
            default=None,
        )
        if near is None:
            return text
        if address < near.base:
            return f"{text}; {near.name} begins {near.base - address} bytes above it"
        past = address - near.base - near.size
        return f"{text}; {near.name} ends " + (f"{past} bytes below it" if past else "there")


def _changing(region: Region, index: Array, width: int, race: Race, values: Array) -> Race | None:
    """The race without the lanes that write what is there already; None if none is left."""
    same = region.views[width][index[race.lanes]] == values[race.lanes]
    lanes = race.lanes[~same.reshape(len(race.lanes), -1).all(axis=1)]
    return Race(lanes, race.record) if len(lanes) else None


def _race(
    warp: Warp, mask: Mask, region: Region, index: Array, width: int, race: Race, what: str, other: str
) -> None:
    """Report that some lanes' access races; with `same`, they write what is there already."""
    chosen = np.zeros(len(index), np.bool_)
    chosen[race.lanes] = True
    at = int(index[race.lanes[0]]) * width
    if at >= region.scratch:
        return
    same = other == "same"
    who, place = describe(warp, race.record)
    inst = warp.cta.cluster.launch.module.program.instructions[warp.split.pc]
    mine = (str(inst.location), *inst.location.callers) if inst.location is not None else inst.line
    warp.report(
        "race",
        f"{what} of {width} bytes at {region.place(at)}: no barrier orders it after another thread's "
        + ("access; the value is the one that is there" if same else other),
        mask_of(_bits(mask, chosen)),
        who,
        severity="warning" if same else "error",
        cause=(region.place_name(at), mine, place),
    )


def _unit(width: int) -> Any:
    return np.dtype(f"<u{min(width, 8)}")


def _row(width: int) -> tuple[int, ...]:
    return (width // 8,) if width > 8 else ()


class _Watched(Region):
    """A region whose bytes have a state: shared and local memory."""

    def __init__(self, name: str, base: int, size: int) -> None:
        super().__init__(name, base, size, POISON)
        self.state = np.full(len(self.data), UNINITIALIZED, np.uint8)
        self.state[self.scratch :] = 0
        self.states = views_of(self.state)


class Local(_Watched):
    """The local memory of a warp: every lane's frame, one after the other."""

    def __init__(self, frame: int) -> None:
        self.frame = -(-frame // 64) * 64
        super().__init__("local memory", BASE["local"], 32 * self.frame)
        self.starts = np.arange(32, dtype=np.uint64) * np.uint64(self.frame)

    def _index(self, warp: Warp, mask: Mask, addresses: Array, width: int) -> Array:
        offsets = compact(mask, addresses)
        if len(offsets) and int(offsets.max()) + width > self.frame:
            outside = offsets > np.uint64(max(self.frame - width, 0))
            first = int(offsets[np.flatnonzero(outside)[0]])
            warp.report(
                "out-of-bounds",
                f"{width} bytes at byte {first} of the thread's local memory, which has {self.frame}",
                mask_of(_bits(mask, outside)),
            )
            offsets = np.where(outside, np.uint64(self.scratch), offsets + compact(mask, self.starts))
            self.data[self.scratch :] = POISON
            return (offsets >> _SHIFT[width]).view(np.int64)
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
    """The shared memory of a CTA. Addresses of the .shared space are offsets from 0; it begins at SHARED_START."""

    def __init__(self, size: int, variables: Sequence[tuple[int, int, str]] = ()) -> None:
        super().__init__("shared memory", BASE["shared"], SHARED_START + size)
        self.history = History(len(self.data))
        self.variables = variables
        """Begin, end and name of each variable, in order."""

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

    def units(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        if len(offsets) and int(_minimum(offsets)) < SHARED_START:
            low = offsets < np.uint64(SHARED_START)
            first = int(offsets[np.flatnonzero(low)[0]])
            warp.report(
                "out-of-bounds",
                f"{width} bytes at shared address {first:#x}: the first {SHARED_START} bytes belong to the system",
                mask_of(_bits(mask, low)),
            )
            offsets = np.where(low, np.uint64(self.scratch), offsets)
            self.data[self.scratch :] = POISON
        return super().units(warp, mask, offsets, width)

    def load(self, warp: Warp, mask: Mask, addresses: Array, width: int, strong: bool = False) -> Array:
        index = self.units(warp, mask, compact(mask, addresses), width)
        self.check_load(warp, mask, index, width)
        racing = self.history.load(warp, mask, index, width, strong)
        if racing is not None:
            _race(warp, mask, self, index, width, racing, "read", "write")
        return self.views[width].take(index, 0)

    def load_together(self, gang: Gang, addresses: Array, width: int, records: Array) -> Array | None:
        """What lanes of several warps read; None if anything is wrong with one of the accesses."""
        if int(addresses.min()) < SHARED_START:
            return None
        return self.read_together(gang, addresses, width, records, self.history)

    def store_together(self, gang: Gang, addresses: Array, width: int, values: Array, records: Array) -> bool:
        """Write by lanes of several warps; False, and nothing done, if anything is wrong."""
        if int(addresses.min()) < SHARED_START:
            return False
        return self.write_together(gang, addresses, width, values, records, self.history)

    def store(
        self, warp: Warp, mask: Mask, addresses: Array, width: int, values: Array, strong: bool = False
    ) -> None:
        index = self.units(warp, mask, compact(mask, addresses), width)
        self.check_store(warp, mask, index, width)
        racing = self.history.store(warp, mask, index, width, strong)
        if racing is not None:
            harmful = _changing(self, index, width, racing, values)
            _race(warp, mask, self, index, width, harmful or racing, "write", "access" if harmful else "same")
        self.views[width][index] = values
        self.states[width][index] = _UNFENCED[width]


_UNFENCED = {width: _FILL[min(width, 8)] * UNFENCED for width in (1, 2, 4, 8, 16, 32)}
