"""cp.async.bulk, cp.reduce.async.bulk: copies of bytes, and bulk groups (PTX ISA, "cp.async.bulk")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.access import check_remote
from tessera_tools.sim.arrays import Array, Where
from tessera_tools.sim.asynchronous import Used
from tessera_tools.sim.bulk import copy_in, copy_out, groups
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import lane_by_lane, once_for_equal
from tessera_tools.sim.machine import Cta
from tessera_tools.sim.mbarrier import MBarrier, lookup, resolve
from tessera_tools.sim.memory import REMOTE_SHIFT, SHARED_START, Buffer
from tessera_tools.sim.program import Operand
from tessera_tools.sim.proxies import async_read
from tessera_tools.sim.reductions import OPERATIONS, combiner
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp

__all__ = ["Destination", "destinations", "global_bytes", "policy", "shared_bytes"]

_SHARED = ("shared::cta", "shared::cluster")
_COPIES = (
    ("shared::cluster", "global"),
    ("shared::cta", "global"),
    ("shared::cluster", "shared::cta"),
    ("global", "shared::cta"),
)
"""Valid pairs of destination and source."""


def policy(ctx: Context, operands: list[Operand]) -> None:
    """Take .L2::cache_hint and its operand, which has no effect on values."""
    if ctx.flag("L2::cache_hint"):
        if not operands:
            raise ctx.error("has no cache policy")
        ctx.read(operands.pop(), TYPES["u64"])


def shared_bytes(
    warp: Warp, mask: Mask, space: str, address: int, size: int, align: int, what: str
) -> tuple[Cta, int] | None:
    """(CTA, offset) of `size` bytes of shared memory, or a finding and None."""
    found = resolve(warp, space, address)
    if found is None:
        warp.report(
            "out-of-bounds", f"{what}: {address:#x} is not an address of the cluster's shared memory", mask
        )
        return None
    cta, offset = found
    if offset < SHARED_START or offset + size > cta.shared.size:
        warp.report(
            "out-of-bounds",
            f"{what}: {size} bytes at byte {offset} of shared memory, which has bytes {SHARED_START} to "
            f"{cta.shared.size}",
            mask,
        )
        return None
    if offset % align:
        warp.report("misaligned", f"{what}: shared byte {offset}; expected a multiple of {align}", mask)
        return None
    return cta, offset


def global_bytes(warp: Warp, mask: Mask, address: int, size: int, what: str) -> Buffer | None:
    """The allocation that contains the bytes, or a finding and None."""
    memory = warp.cta.cluster.launch.memory
    region = memory.find(address)
    if region is None or address + size > region.base + region.size:
        beyond = (
            "where nothing is allocated"
            if region is None
            else f"of {region.name}, which ends {address + size - region.base - region.size} bytes before that does"
        )
        warp.report("out-of-bounds", f"{what}: {size} bytes at global address {address:#x}, {beyond}", mask)
        return None
    return region


class Destination:
    """One destination CTA of a copy: the offset in it, and the mbarrier that the copy signals."""

    __slots__ = ("barrier", "cta", "offset")

    def __init__(self, cta: Cta, offset: int, barrier: MBarrier) -> None:
        self.cta = cta
        self.offset = offset
        self.barrier = barrier


def destinations(
    warp: Warp,
    mask: Mask,
    space: str,
    address: int,
    barrier: int,
    ctas: int | None,
    size: int,
    align: int,
    what: str,
    *,
    paired: bool = False,
) -> list[Destination]:
    """The destinations of a copy: one CTA, or the same offset in each CTA of the mask `ctas`. Reports invalid ones.

    With `paired` (.cta_group::2) the mbarrier may be in the other CTA of a pair. With a mask it is the one whose rank
    is even, or odd, as is that of the mbarrier of the operand.
    """
    found = shared_bytes(warp, mask, space, address, size, align, what)
    if found is None:
        return []
    cta, offset = found
    signal = resolve(warp, space, barrier)
    if signal is None:
        warp.report(
            "mbarrier", f"{what}: {barrier:#x} is not an address of the cluster's shared memory", mask
        )
        return []
    other = signal[0].rank ^ cta.rank
    if ctas is None and other > paired:
        warp.report("mbarrier", f"{what}: its mbarrier is not in the CTA that it writes to", mask)
        return []
    count = len(warp.cta.cluster.ctas)
    ranks = [cta.rank] if ctas is None else [rank for rank in range(16) if ctas >> rank & 1]
    if ranks and ranks[-1] >= count:
        warp.report("illegal", f"{what}: CTA mask {ctas:#x} in a cluster of {count}", mask)
        ranks = [rank for rank in ranks if rank < count]
    result: list[Destination] = []
    for rank in ranks:
        target = warp.cta.cluster.ctas[rank]
        check_remote(warp, mask, target)
        signals = rank & ~1 | signal[0].rank & 1 if paired else rank
        where = signals << REMOTE_SHIFT | signal[1]
        signaled = lookup(warp, mask, "shared::cluster", where, engine=True)
        if signaled is not None:
            result.append(Destination(target, offset, signaled))
    return result


def _spaces(ctx: Context) -> tuple[str, str]:
    known = (*_SHARED, "global")
    target, source = ctx.choose(*known), ctx.choose(*known)
    if (target, source) not in _COPIES:
        raise ctx.error(f"copies from .{source} to .{target}")
    return target, source


@instruction("cp.async.bulk")
def copy(ctx: Context) -> Execute:
    """cp.async.bulk.dst.src.completion{.multicast::cluster}{.cp_mask} [dst], [src], size{, [mbar]}{, masks}."""
    target, source = _spaces(ctx)
    operands = list(ctx.operands())
    policy(ctx, operands)
    if target == "global":
        ctx.choose("bulk_group")
        masked = ctx.flag("cp_mask")
        return _out(ctx, operands, None, "", masked)
    ctx.choose("mbarrier::complete_tx::bytes")
    multicast = ctx.flag("multicast::cluster")
    return _in(ctx, operands, target, source, multicast, None)


@instruction("cp.reduce.async.bulk")
def reduce(ctx: Context) -> Execute:
    """cp.reduce.async.bulk.dst.src.completion.redOp{.noftz}.type [dst], [src], size{, [mbar]}."""
    target, source = _spaces(ctx)
    if source == "global":
        raise ctx.error("reduces from .global; expected .shared::cta")
    operands = list(ctx.operands())
    policy(ctx, operands)
    ctx.choose("bulk_group" if target == "global" else "mbarrier::complete_tx::bytes")
    operation = ctx.choose(*OPERATIONS)
    noftz = ctx.flag("noftz")
    type = ctx.type().name
    combine = combiner(operation, type)
    if combine is None or (target != "global" and type not in ("s32", "u32", "s64", "u64", "b32", "b64")):
        raise ctx.error(f"has no .{operation} of .{type}")
    if noftz != (operation == "add" and type in ("f16", "bf16")):
        raise ctx.error("requires .noftz for, and only for, adding .f16 or .bf16")
    if target == "global":
        return _out(ctx, operands, combine, operation, False)
    return _in(ctx, operands, target, source, False, combine)


Combine = Callable[[Array, Array], Array]
"""Old and new bytes → the bytes that a reduction writes."""
_Source = tuple[Callable[[], Array], Used | None] | tuple[None, None]
"""What reads the source of a copy, and the bytes that it reads until the copy is complete; None if it is invalid."""


def _in(
    ctx: Context, operands: list[Operand], target: str, source: str, multicast: bool, combine: Combine | None
) -> Execute:
    if len(operands) != 4 + multicast:
        raise ctx.error(f"has {len(operands)} operands besides a cache policy; expected {4 + multicast}")
    to, at = ctx.address(operands[0]), ctx.address(operands[1])
    size, signal = ctx.read(operands[2], TYPES["u32"]), ctx.address(operands[3])
    ctas = ctx.read(operands[4], TYPES["u16"]) if multicast else None
    ctx.module.async_proxy |= source == "global"
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        count = int(warp.ports[size][lane])
        if not _size(warp, mask, count, what):
            return
        address = int(at(warp)[lane])
        chosen = int(warp.ports[ctas][lane]) if ctas is not None else None
        found = destinations(
            warp, mask, target, int(to(warp)[lane]), int(signal(warp)[lane]), chosen, count, 16, what
        )
        if source == "global":
            fetch, held = _global_source(warp, mask, address, count, what)
        else:
            place = shared_bytes(warp, mask, "shared", address, count, 16, what)
            fetch, held = _shared_source(place, count)
        for destination in found:
            if fetch is None:
                destination.barrier.complete(count, None)
                continue
            where = slice(destination.offset, destination.offset + count)
            copy_in(
                warp, mask, what, destination.cta, where, fetch, destination.barrier, count,
                source=held, combine=combine,
            )  # fmt: skip
        if warp.stats is not None:
            places = np.arange(address, address + count, 16).astype(np.uint64) if source == "global" else None
            warp.stats.bulk("cp.async.bulk", count * len(found), places)

    return lane_by_lane(one)


def _global_source(warp: Warp, mask: Mask, address: int, count: int, what: str) -> _Source:
    region = global_bytes(warp, mask, address, count, what)
    if region is None or not _aligned(warp, mask, address, what):
        return None, None
    where = slice(address - region.base, address - region.base + count)
    async_read(warp, mask, region, where, what)
    content = region.data[where]
    return content.copy, None


def _shared_source(place: tuple[Cta, int] | None, count: int) -> _Source:
    if place is None:
        return None, None
    cta, offset = place
    where = slice(offset, offset + count)
    content = cta.shared.data[where]
    return content.copy, (cta.shared, where)


def _aligned(warp: Warp, mask: Mask, address: int, what: str) -> bool:
    if address % 16:
        warp.report("misaligned", f"{what}: global address {address:#x}; expected a multiple of 16", mask)
    return address % 16 == 0


def _size(warp: Warp, mask: Mask, count: int, what: str) -> bool:
    if count % 16:
        warp.report("illegal", f"{what}: {count} bytes; expected a multiple of 16", mask)
    return count % 16 == 0 and count > 0


def _out(
    ctx: Context, operands: list[Operand], combine: Combine | None, operation: str, masked: bool
) -> Execute:
    if len(operands) != 3 + masked:
        raise ctx.error(f"has {len(operands)} operands besides a cache policy; expected {3 + masked}")
    to, at = ctx.address(operands[0]), ctx.address(operands[1])
    size = ctx.read(operands[2], TYPES["u32"])
    chosen = ctx.read(operands[3], TYPES["u16"]) if masked else None
    ctx.module.async_proxy = True
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        count = int(warp.ports[size][lane])
        address = int(to(warp)[lane])
        if not _size(warp, mask, count, what) or not _aligned(warp, mask, address, what):
            return
        place = shared_bytes(warp, mask, "shared", int(at(warp)[lane]), count, 16, what)
        region = global_bytes(warp, mask, address, count, what)
        if place is None or region is None:
            return
        cta, offset = place
        begin = address - region.base
        given: Where = slice(begin, begin + count)
        pick = None
        if chosen is not None:
            # Bit i of the mask enables the write of byte i of every 16 bytes.
            bits = np.uint16(int(warp.ports[chosen][lane])) >> np.arange(16, dtype=np.uint16) & np.uint16(1)
            pick = np.flatnonzero(np.tile(bits, count // 16))
            given = begin + pick
        source = (cta.shared, slice(offset, offset + count))
        copy_out(warp, mask, what, source, (region, given), combine=combine, pick=pick)
        if warp.stats is not None:
            places = np.arange(address, address + count, 16).astype(np.uint64)
            warp.stats.bulk("cp.reduce.async.bulk" if operation else "cp.async.bulk", count, places)

    if combine is not None:
        return lane_by_lane(one)
    picked = [] if chosen is None else [chosen]
    return once_for_equal(
        one, lambda warp: [to(warp), at(warp), *(warp.ports[port] for port in (size, *picked))], what
    )


@instruction("cp.async.bulk.prefetch")
def prefetch(ctx: Context) -> Execute:
    """cp.async.bulk.prefetch.L2.global [src], size: has no effect on values; an invalid address is still a finding."""
    ctx.choose("L2")
    ctx.choose("global")
    operands = list(ctx.operands())
    policy(ctx, operands)
    if len(operands) != 2:
        raise ctx.error("needs an address and a size")
    at, size = ctx.address(operands[0]), ctx.read(operands[1], TYPES["u32"])
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        count, address = int(warp.ports[size][lane]), int(at(warp)[lane])
        if _size(warp, mask, count, what) and _aligned(warp, mask, address, what):
            global_bytes(warp, mask, address, count, what)

    return lane_by_lane(one)


@instruction("cp.async.bulk.commit_group")
def commit_group(ctx: Context) -> Execute:
    """cp.async.bulk.commit_group: the thread's copies since the last commit become a group."""
    ctx.operands(0)

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        found = groups(warp, lane)
        found.committed.append(found.open)
        found.open = []

    return lane_by_lane(one)


@instruction("cp.async.bulk.wait_group")
def wait_group(ctx: Context) -> Execute:
    """cp.async.bulk.wait_group{.read} n: at most the n latest groups are pending; .read: only their reads."""
    reads = ctx.flag("read")
    (count,) = ctx.operands(1)
    limit = ctx.read(count, TYPES["u32"])

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        found = groups(warp, lane)
        cluster = warp.cta.cluster
        keep = int(warp.ports[limit][lane])
        done = found.committed[: max(len(found.committed) - keep, 0)]
        for out in (out for group in done for out in group):
            cluster.engine.complete([out.read] if reads else [out.read, out.write])
            for seen in out.seen[: 1 if reads else 2]:
                cluster.clocks.acquire(warp, seen)
        if not reads:
            found.committed = found.committed[len(done) :]

    return lane_by_lane(one)
