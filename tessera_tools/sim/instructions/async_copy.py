"""cp.async and its groups (PTX ISA, "cp.async", "cp.async.commit_group", "cp.async.wait_group").

    cp.async ──▶ the open group ──commit_group──▶ a closed group ──wait_group N──▶ the bytes are written

The copies of a warp are stored here and not in the cluster's engine: only the thread's own wait, or the mbarrier of
cp.async.mbarrier.arrive, completes them. They write through the generic proxy.
In the mode `late` a copy reads its source at completion, in the mode `early` at issue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.access import load
from tessera_tools.sim.arrays import Array, every, some
from tessera_tools.sim.asynchronous import Operation
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.gang import Gang
from tessera_tools.sim.instructions.memory import count_access
from tessera_tools.sim.interfaces import HasLanes
from tessera_tools.sim.mbarrier import MBarrier, lookup
from tessera_tools.sim.memory import COPIED, WRITING, compact
from tessera_tools.sim.program import Immediate, Name
from tessera_tools.sim.races import describe, record_at
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import FULL, JointOutcome, Mask, Split, Warp, mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.watched import Shared

__all__ = ["Copies", "copies"]


_LEVELS = ("L2::64B", "L2::128B", "L2::256B")


@dataclass(eq=False, slots=True)
class Copy:
    """One cp.async of a warp, in flight. `units` index `memory`'s views of `width` bytes, a row per lane."""

    lanes: Mask
    group: Array
    """For each of the 32 lanes: the number of its group."""
    destinations: list[tuple[Shared, Mask, Array]]
    """(shared memory, lanes, unit indices)."""
    width: int
    values: Array
    """Compact rows, as read at issue."""
    source: Array | None
    """Compact addresses of the source, which is read again in the mode `late`; None if it is not read again."""
    number: int = -1
    """The number of the group, if it is the same for all lanes."""

    def is_plain(self, memory: Shared, width: int) -> bool:
        """Whether a whole warp copies units of `width` bytes to one memory."""
        return (
            self.width == width
            and len(self.destinations) == 1
            and self.destinations[0][0] is memory
            and self.destinations[0][1].full
        )


@dataclass(slots=True)
class Copies:
    """The copies of a warp that no wait has completed, in order, and the number of groups that each lane has closed."""

    closed: Array = field(default_factory=lambda: np.zeros(32, np.int64))
    pending: list[Copy] = field(default_factory=list[Copy])
    even: bool = True
    """Whether all lanes have closed the same number of groups."""

    @property
    def number(self) -> int:
        """The number of the open group, or -1 if the lanes differ."""
        return int(self.closed[0]) if self.even else -1

    def due(self, mask: Mask, most: int) -> list[Copy]:
        """The copies that the lanes wait for if `most` groups may stay in flight."""
        if self.even and mask.full and all(copy.number >= 0 for copy in self.pending):
            limit = int(self.closed[0]) - most
            return [copy for copy in self.pending if copy.number < limit]
        limits = self.closed - most
        return [copy for copy in self.pending if _due(copy, mask, limits)]

    def issue(self, warp: Warp, copy: Copy) -> None:
        """Begin a copy. In the mode `early` it writes the bytes at once; in `late` they are poison until completion.

        In both modes no access may use the bytes before the wait.
        """
        self.pending.append(copy)
        late = not warp.cta.cluster.engine.early
        for memory, lanes, units in copy.destinations:
            addresses = np.zeros(32, np.uint64)
            addresses[lanes.array] = memory.addresses(units * copy.width)
            values = _part(copy.lanes, lanes, copy.values)
            if late:
                values = np.full_like(values, np.iinfo(values.dtype).max)
            memory.store(warp, lanes, addresses, copy.width, values)
            memory.states[copy.width][units] |= _STARTED[copy.width]

    def complete(self, warp: Warp, wanted: Callable[[Copy], bool], *, record: bool = True) -> None:
        """Complete the copies in `wanted`. `record`: their writes count as made now, by the warp."""
        chosen = [wanted(copy) for copy in self.pending]
        done = [copy for copy, ends in zip(self.pending, chosen, strict=True) if ends]
        self.pending = [copy for copy, ends in zip(self.pending, chosen, strict=True) if not ends]
        if len(done) > 1 and record and self._complete_at_once(warp, done):
            return
        late = not warp.cta.cluster.engine.early
        for copy in done:
            values = _read(warp, copy.source, copy.width) if late and copy.source is not None else None
            if values is None:
                values = copy.values
            for memory, lanes, units in copy.destinations:
                memory.states[copy.width][units] &= ~_WRITING[copy.width]
                if late:
                    memory.views[copy.width][units] = _part(copy.lanes, lanes, values)
                if record:
                    racing = memory.history.store(warp, lanes, units, copy.width)
                    if racing is not None:
                        warp.report(
                            "race",
                            f"a cp.async of {copy.width} bytes to "
                            f"{memory.place(int(units[racing.lanes[0]]) * copy.width)} ends here: no barrier "
                            "orders it after another thread's access",
                            lanes,
                            describe(warp, racing.record)[0],
                        )

    def _complete_at_once(self, warp: Warp, done: list[Copy]) -> bool:
        """Complete whole warps' copies of one width to one memory; False, without effect, if an access is invalid."""
        (memory, _, _), width = done[0].destinations[0], done[0].width
        if any(not copy.is_plain(memory, width) for copy in done):
            return False
        units = np.concatenate([copy.destinations[0][2] for copy in done])
        values: Array | None = None
        if not warp.cta.cluster.engine.early:
            values = _values(warp, done)
            if values is None:
                return False
        if not memory.history.store_quietly(warp, units, width):
            return False
        memory.states[width][units] &= ~_WRITING[width]
        if values is not None:
            # If several copies write the same bytes, the last copy determines the result.
            memory.views[width][units] = values
        return True


def _of_each_byte(flags: int) -> dict[int, np.unsignedinteger]:
    """By width: the flags for each byte of a unit."""
    return {
        width: np.dtype(f"<u{min(width, 8)}").type(int.from_bytes(bytes([flags]) * min(width, 8), "little"))
        for width in (4, 8, 16)
    }


_WRITING = _of_each_byte(WRITING)
_STARTED = _of_each_byte(WRITING | COPIED)


def _part(whole: Mask, lanes: Mask, values: Array) -> Array:
    """The rows of `lanes` among the compact rows of `whole`."""
    return values if lanes.bits == whole.bits else values[lanes.array[whole.array]]


def copies(warp: Warp) -> Copies:
    """The state of a warp's cp.async groups."""
    found = warp.state.get("cp.async")
    if found is None:
        found = warp.state["cp.async"] = Copies()
    return found


@instruction("cp.async.ca", "cp.async.cg")
def cp_async(ctx: Context) -> Execute:
    """cp.async.{ca,cg}.shared.global{hints} [dst], [src], cp-size {, src-size | ignore-src} {, cache-policy}."""
    wide_only = ctx.inst.modifiers[1] == "cg"
    ctx.choose("shared", "shared::cta")
    ctx.choose("global")
    for level in _LEVELS:
        ctx.flag(level)
    hinted = ctx.flag("L2::cache_hint")
    operands = ctx.operands(3, 4, 5)
    if len(operands) - hinted not in (3, 4):
        raise ctx.error(
            f"has {len(operands)} operands; expected 3 or 4, and a cache policy with .L2::cache_hint"
        )
    size = operands[2]
    if not isinstance(size, Immediate) or size.value not in ((16,) if wide_only else (4, 8, 16)):
        raise ctx.error("needs a copy size of 16" + (" bytes" if wide_only else ", 8 or 4 bytes"))
    width = int(size.value)
    destination, origin = ctx.address(operands[0]), ctx.address(operands[1])
    size_port: int | None = None
    ignore: tuple[int, bool] | None = None
    if len(operands) - hinted == 4:
        extra = operands[3]
        register = ctx.inst.scope.register(extra.name) if isinstance(extra, Name) else None
        if register is not None and register.type.kind == "p":
            ignore = ctx.predicate(extra)
        else:
            size_port = ctx.read(extra, TYPES["u32"])
    line = ctx.inst.line
    dtype = np.dtype(f"<u{min(width, 8)}")

    def execute(warp: Warp, mask: Mask) -> None:
        to, source = destination(warp), origin(warp)
        sizes = np.full(32, width, np.int64)
        if size_port is not None:
            sizes = warp.ports[size_port].astype(np.int64)
            if some(sizes[mask.array] > width):
                warp.report("illegal", f"a source size above the copy size of {width} bytes", mask)
                sizes = np.minimum(sizes, width)
        elif ignore is not None:
            sizes = np.where(warp.ports[ignore[0]] ^ ignore[1], 0, width)
        if warp.stats is not None:
            reading = mask_of((sizes > 0) & mask.array)
            if reading.count:
                count_access(warp.stats, reading, "cp.async.global", line, source, width)
            warp.stats.shared_access(line, to[mask.array], width)
        if every(sizes[mask.array] == width):
            values = load(warp, mask, "global", source, width)
            again = compact(mask, source).copy()
        else:
            values, again = _filled(warp, mask, source, sizes, width, dtype), None
        state = copies(warp)
        memory, part = warp.cta.shared, mask
        units = memory.units(warp, part, compact(part, to), width)
        # Invalid addresses are reported, and their lanes copy nothing.
        good = units * width < memory.scratch
        if not every(good):
            lanes = np.zeros(32, np.bool_)
            lanes[part.lanes[good]] = True
            part, units = mask_of(lanes), units[good]
        found = [(memory, part, units)] if part.count else []
        state.issue(warp, Copy(mask, state.closed.copy(), found, width, values, again, state.number))

    def together(gang: Gang, mask: HasLanes) -> JointOutcome:
        to, source = destination(gang), origin(gang)
        if gang.stats is not None or not mask.full or ignore is not None:
            return NotImplemented
        cta, records, warps = gang.cta, gang.records(), gang.warps
        read: Array | None = None
        """The lanes that read their source; None for all. The others write zeros."""
        if size_port is not None:
            sizes = gang.ports[size_port]
            whole: Array = sizes == width
            if not every(whole):
                if sizes[~whole].any():
                    return NotImplemented
                read = whole
        memory = cta.cluster.launch.memory
        if read is None:
            values = memory.load_together(gang, source, width, records)
        else:
            values = np.zeros((len(read), width // 8) if width > 8 else len(read), dtype)
            if some(read):
                found = memory.load_together(gang, source[read], width, records[read])
                if found is None:
                    return NotImplemented
                values[read] = found
        if values is None:
            return NotImplemented
        early = cta.cluster.engine.early
        poison = values if early else np.full_like(values, np.iinfo(values.dtype).max)
        if not cta.shared.store_together(gang, to, width, poison, records):
            return NotImplemented
        units = (cta.shared.offsets(to) // np.uint64(width)).astype(np.int64)
        cta.shared.states[width][units] |= _STARTED[width]
        for number in range(len(mask.array) // 32):
            own = slice(32 * number, 32 * number + 32)
            warp = warps[number % len(warps)]
            state, lanes = copies(warp), warp.splits[0].mask
            again = source[own].copy() if read is None or read[own].all() else None
            state.pending.append(
                Copy(
                    lanes,
                    state.closed.copy(),
                    [(cta.shared, lanes, units[own])],
                    width,
                    values[own],
                    again,
                    state.number,
                )
            )
        return None

    ctx.together, ctx.effect = together, "store"
    return execute


def _read(warp: Warp, addresses: Array, width: int) -> Array | None:
    """Reads global memory without checks; None if an address is in no allocation."""
    memory = warp.cta.cluster.launch.memory
    found: Array | None = None
    left = np.ones(len(addresses), np.bool_)
    while some(left):
        region = memory.find(int(addresses[np.argmax(left)]))
        if region is None:
            return None
        offsets = addresses - np.uint64(region.base)
        # An address below the allocation is a large offset.
        inside = offsets <= np.uint64(max(region.size - width, 0))
        units = (offsets // np.uint64(width)).astype(np.intp)
        if every(inside):
            return region.views[width].take(units, 0)
        if found is None:
            found = np.empty((len(addresses), *region.views[width].shape[1:]), region.views[width].dtype)
        found[inside] = region.views[width].take(units[inside], 0)
        if not (left & inside).any():
            return None
        left &= ~inside
    return found


def _values(warp: Warp, done: list[Copy]) -> Array | None:
    """The values of whole warps' copies at their completion; None if the sources are not in one allocation."""
    again = [copy.source for copy in done if copy.source is not None]
    if not again:
        return np.concatenate([copy.values for copy in done])
    values = _read(warp, np.concatenate(again), done[0].width)
    if values is None or len(again) == len(done):
        return values
    rows = iter(values.reshape(len(again), 32, *values.shape[1:]))
    return np.concatenate([copy.values if copy.source is None else next(rows) for copy in done])


def _filled(warp: Warp, mask: Mask, addresses: Array, sizes: Array, width: int, dtype: np.dtype) -> Array:
    """The first `sizes` bytes of each lane's source, then zeros; bytes that are not read need not be allocated."""
    octets = np.zeros((32, width), np.uint8)
    whole = mask_of((sizes == width) & mask.array)
    if whole.count:
        octets[whole.array] = load(warp, whole, "global", addresses, width).view(np.uint8).reshape(-1, width)
    partial = (sizes > 0) & (sizes < width) & mask.array
    for byte in range(width if some(partial) else 0):
        longer = mask_of(partial & (sizes > byte))
        if longer.count:
            octets[longer.array, byte] = load(warp, longer, "global", addresses + np.uint64(byte), 1)
    values = octets.view(dtype)
    return compact(mask, values if width > 8 else values[:, 0])


@instruction("cp.async.commit_group")
def commit_group(ctx: Context) -> Execute:
    """cp.async.commit_group: closes the group of the copies issued since the last one."""
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        state = copies(warp)
        state.closed[mask.lanes] += 1
        state.even = state.even and mask.full

    def together(gang: Gang, mask: HasLanes) -> JointOutcome:
        if not mask.full:
            return NotImplemented
        for warp in gang.warps:
            copies(warp).closed += 1
        return None

    ctx.together, ctx.effect, ctx.alone = together, "other", True
    return execute


@instruction("cp.async.wait_group")
def wait_group(ctx: Context) -> Execute:
    """cp.async.wait_group n: at most the n latest groups of the thread stay in flight."""
    (count,) = ctx.operands(1)
    most = ctx.number(count)
    if most is None or most < 0:
        raise ctx.error("needs a number of groups")

    def execute(warp: Warp, mask: Mask) -> None:
        state = copies(warp)
        if state.pending:
            due = set(map(id, state.due(mask, most)))
            state.complete(warp, lambda copy: id(copy) in due)

    def together(gang: Gang, mask: HasLanes) -> JointOutcome:
        found: list[tuple[Warp, list[Copy]]] = []
        if not mask.full:
            return NotImplemented
        for warp in gang.warps:
            state = warp.state.get("cp.async")
            if state is not None and state.pending:
                found.append((warp, state.due(FULL_MASK, most)))
        return _complete_together(gang, found)

    ctx.together, ctx.effect = together, "other"
    ctx.alone = True
    return execute


def _complete_together(gang: Gang, found: list[tuple[Warp, list[Copy]]]) -> JointOutcome:
    """Complete whole warps' copies of one width to the CTA's memory, as `Copies.complete` does; NotImplemented, without
    effect, if an access is invalid."""
    done = [copy for _, chosen in found for copy in chosen]
    if not done:
        return None
    shared, width, early = gang.cta.shared, done[0].width, gang.cta.cluster.engine.early
    if any(not copy.is_plain(shared, width) for copy in done):
        return NotImplemented
    units = np.concatenate([copy.destinations[0][2] for copy in done])
    values = None if early else _values(gang.warps[0], done)
    if values is None and not early:
        return NotImplemented
    records = np.concatenate([warp.records for warp, chosen in found for _ in chosen])
    if not shared.history.store_together(gang, units, width, record_at(records, gang.pc)):
        return NotImplemented
    shared.states[width][units] &= ~_WRITING[width]
    if values is not None:
        shared.views[width][units] = values
    for warp, chosen in found:
        state = copies(warp)
        ended = set(map(id, chosen))
        state.pending = [copy for copy in state.pending if id(copy) not in ended]
    return None


FULL_MASK = mask_of(FULL)


def _due(copy: Copy, mask: Mask, limit: Array) -> bool:
    """True if some lane of `mask` waits for the copy; all lanes of a copy complete together."""
    if copy.lanes.full and mask.full:
        return some(copy.group < limit)
    both = copy.lanes.array & mask.array
    return bool((copy.group < limit)[both].any())


@instruction("cp.async.wait_all")
def wait_all(ctx: Context) -> Execute:
    """cp.async.wait_all: completes every copy of the thread, in a group or not."""
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        state = copies(warp)
        if state.pending:
            state.complete(warp, lambda copy: bool(copy.lanes.bits & mask.bits))

    return execute


@instruction("cp.async.mbarrier.arrive")
def mbarrier_arrive(ctx: Context) -> Execute:
    """cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [addr]: arrives when the thread's prior copies are complete.

    Without .noinc, the phase's pending count is first incremented by one.
    """
    counted = ctx.flag("noinc")
    space = "shared" if ctx.choose("shared", "shared::cta", default="") else "generic"
    ctx.type("b64")
    address = ctx.address(ctx.operands(1)[0])
    pc, line = ctx.pc, ctx.inst.line

    def execute(warp: Warp, mask: Mask) -> None:
        places = address(warp)
        state = copies(warp)
        for place in np.unique(places[mask.array]):
            lanes = mask_of((places == place) & mask.array)
            barrier = lookup(warp, lanes, space, int(place))
            if barrier is None:
                continue
            if not counted:
                barrier.pending += lanes.count
            prior = {id(copy) for copy in state.pending if copy.lanes.bits & lanes.bits}
            seen = warp.cta.cluster.clocks.release(warp)
            finish = _arrival(warp, lanes, pc, state, prior, barrier, seen)
            warp.cta.cluster.engine.issue(
                Operation(
                    f"cp.async.mbarrier.arrive at line {line}",
                    finish,
                    wanted=lambda barrier=barrier: barrier.waiting > 0,
                )
            )

    return execute


def _arrival(
    warp: Warp, lanes: Mask, pc: int, state: Copies, prior: set[int], barrier: MBarrier, seen: Array
) -> Callable[[], None]:
    def finish() -> None:
        # The warp may have continued or exited; the report belongs to this instruction.
        running, warp.split = warp.split, Split(pc, lanes, ())
        state.complete(warp, lambda copy: id(copy) in prior, record=False)
        # The engine arrives, not the thread: only a wait for the phase orders a thread after the arrival.
        ended = warp.cta.cluster.clocks.end(barrier.agent)
        barrier.arrive(warp, lanes, lanes.count, np.maximum(seen, ended))
        warp.split = running

    return finish
