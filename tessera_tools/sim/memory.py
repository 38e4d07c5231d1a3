"""Memory: the generic address space, guarded global allocations, shared and local memory with a state per byte.

    64-bit generic address ── bits 40 and up name the window ──▶ global │ shared │ local │ param │ const

Global addresses are the same in the global and the generic space. Addresses of the other spaces are offsets that fit
in 32 bits; their generic address is the window's base plus the offset (PTX ISA, "Generic Addressing", "cvta").
Accesses take the addresses of the 32 lanes and a mask. Their values are *compact*: one row per active lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array, Where, some
from tessera_tools.sim.interfaces import Warps
from tessera_tools.sim.lanes import Mask, mask_of
from tessera_tools.sim.races import History, Race, describe

if TYPE_CHECKING:
    from tessera_tools.sim.warp import Warp

__all__ = [
    "BASE",
    "EARLIER",
    "POISON",
    "READING",
    "REMOTE_SHIFT",
    "RESERVED_START",
    "SHARED_START",
    "COPIED",
    "UNFENCED",
    "UNINITIALIZED",
    "WRITING",
    "Allocations",
    "Buffer",
    "Region",
    "window_of",
]


WINDOW_SHIFT = 40
BASE = {
    "const": 0x7B << 40,
    "param": 0x7C << 40,
    "local": 0x7D << 40,
    "shared": 0x7E << 40,
    "global": 0x7F << 40,
}
"""Generic base address of each window."""
WINDOWS = {base >> WINDOW_SHIFT: space for space, base in BASE.items()}
REMOTE_SHIFT = 24
"""An address of shared memory holds the rank of its CTA from this bit on: ptxas adds SR_CgaCtaId there to the address
of a variable, and CUTLASS clears the lowest of these bits to signal the even CTA of a pair."""
SHARED_START = 1024
"""Base of a CTA's shared memory: the system reserves the first KiB, so that null is not a valid address."""
RESERVED_START = SHARED_START - 288
"""Where %reserved_smem_offset_1 points. Cooperative groups expect 288 bytes there, for the barriers of tiles of more
than 32 threads; only kernels that read the register can access them."""

UNINITIALIZED, WRITING, READING, UNFENCED, EARLIER, COPIED = 1, 2, 4, 8, 16, 32
"""State of a byte: never written; an asynchronous write is in flight; an asynchronous read is in flight;
written through the generic proxy without a later proxy fence; of an earlier kernel that may still run; last written by
cp.async."""
POISON = 0xFF
"""Each byte of a value that is not available yet or does not exist: NaN in each float type."""

_PADDING = 64
_WATCHED_SIZE = 1 << 30
"""Bytes of the largest global allocation that is checked for races."""
_or = np.bitwise_or.reduce
smallest = np.minimum.reduce
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
    """Contiguous bytes at `base`, followed by a scratch unit that takes invalid accesses."""

    def __init__(self, name: str, base: int, size: int, fill: int = 0) -> None:
        self.name = name
        self.base = base
        self.size = size
        rounded = -(-size // _PADDING) * _PADDING
        self.scratch = rounded
        self.data = np.full(rounded + _PADDING, fill, np.uint8)
        self.views = views_of(self.data)
        self.states: dict[int, Array] = {}
        """Views of the flags per byte, if the memory keeps them."""

    @property
    def bytes(self) -> Array:
        """The region's own bytes, without the scratch unit."""
        return self.data[: self.size]

    def units(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        """Offsets (uint64, compact) → indices of `width`-byte units; reports invalid ones and uses the scratch."""
        every = int(_or(offsets)) if len(offsets) else 0
        if every & (width - 1) or (every + width > self.size and int(offsets.max()) + width > self.size):
            offsets = self._refuse(warp, mask, offsets, width)
        return (offsets >> UNIT_SHIFT[width]).view(np.int64)

    @property
    def own_history(self) -> History | None:
        """The accesses to the region, if it keeps them itself; those to global memory are kept by cluster."""
        return None

    def place_name(self, offset: int) -> str:
        """The variable or the buffer at a byte."""
        return self.name

    def place(self, offset: int) -> str:
        """A byte as text: its offset in the variable or buffer."""
        return f"byte {offset} of {self.name}"

    def _refuse(self, warp: Warp, mask: Mask, offsets: Array, width: int) -> Array:
        outside = offsets > np.uint64(max(self.size - width, 0)) if self.size >= width else offsets >= 0
        askew = (offsets & np.uint64(width - 1) != 0) & ~outside
        if some(outside):
            first = int(np.flatnonzero(outside)[0])
            where = int(offsets[first]) - (1 << 64 if int(offsets[first]) >> 63 else 0)
            warp.report(
                "out-of-bounds",
                f"{width} bytes at byte {where} of {self.name}, which has {self.size}",
                mask_of(chosen_bits(mask, outside)),
            )
        if some(askew):
            first = int(np.flatnonzero(askew)[0])
            warp.report(
                "misaligned",
                f"{width} bytes at byte {int(offsets[first])} of {self.name}: the address "
                f"{self.base + int(offsets[first]):#x} is not a multiple of {width}",
                mask_of(chosen_bits(mask, askew)),
            )
        self.data[self.scratch :] = POISON
        return np.where(outside | askew, np.uint64(self.scratch), offsets)

    def read_together(
        self, gang: Warps, offsets: Array, width: int, records: Array, history: History | None
    ) -> Array | None:
        """The units of lanes of several warps; records the reads. None if an access is invalid."""
        if int(_or(offsets)) & (width - 1) or int(offsets.max()) + width > self.size:
            return None
        index = (offsets >> UNIT_SHIFT[width]).view(np.int64)
        if self.states:
            flags = _FILL[min(width, 8)] * (UNINITIALIZED | WRITING | EARLIER)
            if int(_or(self.states[width].take(index, 0), None)) & flags:
                return None
        if history is not None and not history.load_together(gang, index, width, records):
            return None
        return self.views[width].take(index, 0)

    def write_together(
        self, gang: Warps, offsets: Array, width: int, values: Array, records: Array, history: History
    ) -> bool:
        """Write units by lanes of several warps; False, without an effect, if an access is invalid."""
        if int(_or(offsets)) & (width - 1) or int(offsets.max()) + width > self.size:
            return False
        index = (offsets >> UNIT_SHIFT[width]).view(np.int64)
        if self.states:
            flags = _FILL[min(width, 8)] * (WRITING | READING)
            if int(_or(self.states[width].take(index, 0), None)) & flags:
                return False
        if not history.store_together(gang, index, width, records):
            return False
        self.views[width][index] = values
        if self.states:
            self.states[width][index] = UNFENCED_UNITS[width]
        return True

    def check_load(self, warp: Warp, mask: Mask, index: Array, width: int) -> None:
        """Report invalid reads of the `width`-byte units `index` of a memory that keeps flags."""
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
        if seen & fill * (UNINITIALIZED | WRITING):
            for flag, kind, text in (
                (UNINITIALIZED, "uninitialized", "never written"),
                (
                    WRITING,
                    "in-flight",
                    "still being written by an asynchronous operation that was not waited for",
                ),
            ):
                bad = (state & state.dtype.type(fill * flag)).reshape(len(state), -1).any(axis=1)
                if some(bad):
                    at = int(index[np.flatnonzero(bad)[0]]) * width
                    warp.report(
                        kind,
                        f"read of {width} bytes at {self.place(at)}: {text}",
                        mask_of(chosen_bits(mask, bad)),
                    )

    def check_store(self, warp: Warp, mask: Mask, index: Array, width: int) -> None:
        """Report invalid writes."""
        state = self.states[width].take(index, 0)
        seen = int(_or(state, None)) if state.size else 0
        fill = _FILL[min(width, 8)]
        if seen & fill * (WRITING | READING):
            bad = (state & state.dtype.type(fill * (WRITING | READING))).reshape(len(state), -1).any(axis=1)
            at = int(index[np.flatnonzero(bad)[0]]) * width
            what = "written" if seen & fill * WRITING else "read"
            warp.report(
                "in-flight",
                f"write of {width} bytes at {self.place(at)}, still being {what} by an asynchronous "
                "operation that was not waited for",
                mask_of(chosen_bits(mask, bad)),
            )


UNIT_SHIFT = {width: np.uint64(width.bit_length() - 1) for width in (1, 2, 4, 8, 16, 32)}


def chosen_bits(mask: Mask, chosen: Array) -> int:
    """The lanes of `mask` whose position in the compact order is selected, as bits."""
    lanes = mask.lanes[chosen]
    return (
        int(np.bitwise_or.reduce(np.left_shift(np.uint64(1), lanes.astype(np.uint64)))) if len(lanes) else 0
    )


def compact(mask: Mask, row: Array) -> Array:
    """The active lanes of a row."""
    return row if mask.full else row[mask.array]


class Buffer(Region):
    """A global allocation. `address` is the kernel argument; `array()` returns the content."""

    def __init__(self, name: str, base: int, content: Array) -> None:
        raw = np.ascontiguousarray(content)
        super().__init__(name, base, raw.nbytes)
        self.dtype, self.shape = raw.dtype, raw.shape
        self.data[: raw.nbytes] = raw.reshape(-1).view(np.uint8)
        self.state: Array | None = None
        """Flags per byte, allocated at their first use (`flags`): only the async proxy needs them."""

    def flags(self) -> Array:
        """The flags per byte, allocated if necessary."""
        if self.state is None:
            self.state = np.zeros(len(self.data), np.uint8)
            self.states = views_of(self.state)
        return self.state

    @property
    def address(self) -> int:
        return self.base

    def array(self) -> Array:
        """A copy of the content, in the dtype and shape of the allocation."""
        return self.bytes.copy().view(self.dtype).reshape(self.shape)


class Allocations:
    """Global (or constant) memory: separate allocations, 256-byte aligned, with unmapped gaps between them."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.watched = space == "global"
        """Whether races are detected."""
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
        """Free the allocation; no later allocation reuses its addresses."""
        self.regions.remove(buffer)
        if self.recent is buffer:
            self.recent = None

    def find(self, address: int) -> Buffer | None:
        """The allocation that contains the address."""
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
                index = (offsets >> UNIT_SHIFT[width]).view(np.int64)
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
                index = (offsets >> UNIT_SHIFT[width]).view(np.int64)
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

    def load_together(self, gang: Warps, addresses: Array, width: int, records: Array) -> Array | None:
        """The values that lanes of several warps read; None if one of the accesses is invalid."""
        region = self._nearby(int(addresses[0]))
        history = self._history(gang.warps[0], region) if region is not None and self.watched else None
        if region is None or (history is None and self.watched):
            return None
        return region.read_together(gang, addresses - np.uint64(region.base), width, records, history)

    def store_together(
        self, gang: Warps, addresses: Array, width: int, values: Array, records: Array
    ) -> bool:
        """Write by lanes of several warps; False, without an effect, if an access is invalid."""
        region = self._nearby(int(addresses[0]))
        history = self._history(gang.warps[0], region) if region is not None else None
        if region is None or history is None:
            return False
        own = addresses - np.uint64(region.base)
        return region.write_together(gang, own, width, values, records, history)

    def _nearby(self, address: int) -> Buffer | None:
        """The allocation that contains the address, cached as the most recent one."""
        recent = self.recent
        if recent is None or not recent.base <= address < recent.base + recent.size:
            recent = self.recent = self.find(address)
        return recent

    def _history(self, warp: Warp, region: Buffer) -> History | None:
        """The history of the allocation in the warp's cluster: clusters are not ordered with each other."""
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
            report_race(warp, mask, region, index, width, racing, "read", "write")

    def _note_store(
        self, warp: Warp, mask: Mask, region: Buffer, index: Array, width: int, values: Array, strong: bool
    ) -> None:
        if region.state is not None:
            region.check_store(warp, mask, index, width)
            region.states[width][index] = UNFENCED_UNITS[width]
        history = self._history(warp, region)
        racing = history.store(warp, mask, index, width, strong) if history is not None else None
        if racing is not None:
            # Threads that store the value already present cause no harm. Kernels write replicated results in this way.
            harmful = changing_race(region, index, width, racing, values)
            if harmful is not None:
                report_race(warp, mask, region, index, width, harmful, "write", "access")

    def _regions(self, warp: Warp, mask: Mask, wanted: Array, width: int) -> list[tuple[Buffer, Mask, Where]]:
        """The allocations that the addresses access: each with its lanes, and their positions in the compact order."""
        recent = self.recent
        if recent is None or not len(wanted) or not recent.base <= int(wanted[0]) < recent.base + recent.size:
            recent = self.recent = self.find(int(wanted[0])) if len(wanted) else None
        if recent is not None and int((wanted - np.uint64(recent.base)).max()) < recent.size:
            return [(recent, mask, slice(None))]
        found: list[tuple[Buffer, Mask, Where]] = []
        left = np.ones(len(wanted), np.bool_)
        while some(left):
            first = int(wanted[np.flatnonzero(left)[0]])
            region = self.find(first)
            if region is None:
                chosen = left & (wanted == np.uint64(first))
                part = mask_of(chosen_bits(mask, chosen))
                warp.report("out-of-bounds", self._stray(first, width), part)
            else:
                chosen = left & (wanted - np.uint64(region.base) < np.uint64(max(region.size, 1)))
                found.append((region, mask_of(chosen_bits(mask, chosen)), chosen))
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


def changing_race(region: Region, index: Array, width: int, race: Race, values: Array) -> Race | None:
    """The race without the lanes that store the value already present; None if none is left."""
    same = region.views[width][index[race.lanes]] == values[race.lanes]
    lanes = race.lanes[~same.reshape(len(race.lanes), -1).all(axis=1)]
    return Race(lanes, race.record) if len(lanes) else None


def report_race(
    warp: Warp, mask: Mask, region: Region, index: Array, width: int, race: Race, what: str, other: str
) -> None:
    """Report that the access of some lanes races; with `same`, they store the value already present."""
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
        + ("access; it stores the value that is already there" if same else other),
        mask_of(chosen_bits(mask, chosen)),
        who,
        severity="warning" if same else "error",
        cause=(region.place_name(at), mine, place),
    )


def _unit(width: int) -> np.dtype:
    return np.dtype(f"<u{min(width, 8)}")


def _row(width: int) -> tuple[int, ...]:
    return (width // 8,) if width > 8 else ()


UNFENCED_UNITS = {width: _FILL[min(width, 8)] * UNFENCED for width in (1, 2, 4, 8, 16, 32)}
