"""tensormap.replace, tensormap.cp_fenceproxy (PTX ISA, "Tensormap Replace", "tensormap.cp_fenceproxy")."""

from __future__ import annotations

import struct

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.bulk import global_bytes, shared_bytes
from tessera_tools.sim.mbarrier import resolve
from tessera_tools.sim.memory import Region
from tessera_tools.sim.proxies import check_order, history_of, mark
from tessera_tools.sim.races import late_records, record_at, threads_of
from tessera_tools.sim.tensor_map import ELEMENTS, MAGIC, SIZE
from tessera_tools.sim.tensormap_proxy import changed
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp, mask_of

_VECTORS = {"box_dim": 5, "global_dim": 5, "global_stride": 4, "element_stride": 5}
"""Fields that take an ordinal, and the number of their elements."""
_CHOICES = {
    "elemtype": (5, len(ELEMENTS)),
    "interleave_layout": (7, 3),
    "swizzle_mode": (8, 4),
    "fill_mode": (10, 2),
    "swizzle_atomicity": (11, 4),
}
"""Fields of one byte that take an immediate: their offset, and the number of valid values."""


def _encode(field: str, ordinal: int, value: int) -> tuple[int, bytes]:
    """The offset of a field in the 128 bytes, and the new bytes (sim/tensor_map.py)."""
    if field == "global_address":
        return 16, struct.pack("<Q", value)
    if field == "rank":
        # The operand is the rank minus one (PTX ISA: "zero-based").
        return 6, bytes([value + 1 & 0xFF])
    if field == "box_dim":
        return 64 + 2 * ordinal, struct.pack("<H", value & 0xFFFF)
    if field == "global_dim":
        return 24 + 4 * ordinal, struct.pack("<I", value - 1 & 0xFFFFFFFF)
    if field == "global_stride":
        return 44 + 5 * ordinal, (value & (1 << 40) - 1).to_bytes(5, "little")
    if field == "element_stride":
        return 74 + ordinal, bytes([value & 0xFF])
    return _CHOICES[field][0], bytes([value])


@instruction("tensormap.replace")
def replace(ctx: Context) -> Execute:
    """tensormap.replace.tile.field{.space}.b1024.type [map]{, ordinal}, value: replaces one field of a map."""
    ctx.choose("tile")
    field = ctx.choose("global_address", "rank", *_VECTORS, *_CHOICES)
    space = ctx.choose("global", "shared::cta", default="generic")
    ctx.choose("b1024")
    type = ctx.type("b64" if field in ("global_address", "global_stride") else "b32")
    operands = list(ctx.operands(3 if field in _VECTORS else 2))
    address = ctx.address(operands[0])
    ordinal = 0
    if field in _VECTORS:
        which = ctx.number(operands[1])
        if which is None or not 0 <= which < _VECTORS[field]:
            raise ctx.error(f"needs an ordinal from 0 to {_VECTORS[field] - 1}")
        ordinal = which
    if field in _CHOICES:
        literal = ctx.number(operands[-1])
        limit = _CHOICES[field][1]
        if literal is None or not 0 <= literal < limit:
            raise ctx.error(f"needs a number from 0 to {limit - 1} for .{field}")
    source = ctx.read(operands[-1], TYPES["u64"] if type.bits == 64 else TYPES["u32"])
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"
    ctx.module.async_proxy = True

    def execute(warp: Warp, mask: Mask) -> None:
        addresses, values = address(warp), warp.ports[source]
        for lane in map(int, mask.lanes):
            one = mask_of(1 << lane)
            where = int(addresses[lane])
            own = "shared" if space == "shared::cta" else space
            at, raw = _encode(field, ordinal, int(values[lane]))
            if space == "shared::cta" or (space == "generic" and resolve(warp, own, where) is not None):
                place = shared_bytes(warp, one, own, where, SIZE, 64, what)
                if place is None:
                    continue
                memory, begin = place[0].shared, place[1]
                # A weak read and write of the whole object.
                whole = slice(begin, begin + SIZE)
                check_order(warp, one, memory, whole, what, writes=True)
                mark(warp, memory, whole, record_at(warp.records[lane], warp.split.pc), write=True)
            else:
                memory, begin = global_bytes(warp, one, where, SIZE, what), where
                if memory is None:
                    continue
                begin -= memory.base
                changed(warp, where, released=False)
            found = memory.data[begin : begin + SIZE]
            if found[:4].tobytes() != MAGIC:
                if found.any():
                    warp.report(
                        "illegal", f"{what}: found bytes that are neither a tensor map nor all zero", one
                    )
                    continue
                # A map of zeros is accepted: all its fields will be replaced.
                found[:4] = np.frombuffer(MAGIC, np.uint8)
            memory.data[begin + at : begin + at + len(raw)] = np.frombuffer(raw, np.uint8)

    return execute


def _only_own_warp_is_late(warp: Warp, shared: Region, words: Array) -> bool:
    """Whether stores of four bytes are unordered with the warp, all of them by its own threads.

    The instruction waits for all threads of the warp (`.sync`), but PTX does not say that this orders memory.
    """
    history = history_of(warp, shared)
    if history is None:
        return False
    records = history.written[words // history.grain]
    late = late_records(warp, records, -1)
    return some(late) and bool((threads_of(records[late]) >> 5 == warp.rank).all())


@instruction("tensormap.cp_fenceproxy")
def cp_fenceproxy(ctx: Context) -> Execute:
    """tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [d], [s], 128."""
    ctx.choose("global")
    ctx.choose("shared::cta")
    ctx.choose("tensormap::generic")
    ctx.choose("release")
    ctx.choose("cta", "cluster", "gpu", "sys")
    ctx.choose("sync")
    ctx.choose("aligned")
    ctx.aligned()
    target, source, size = ctx.operands(3)
    if ctx.number(size) != SIZE:
        raise ctx.error(f"has a size other than {SIZE}")
    to, at = ctx.address(target), ctx.address(source)
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"
    ctx.module.async_proxy = True

    def execute(warp: Warp, mask: Mask) -> None:
        lane = mask.first
        where = int(to(warp)[lane])
        place = shared_bytes(warp, mask, "shared", int(at(warp)[lane]), SIZE, 128, what)
        region = global_bytes(warp, mask, where, SIZE, what)
        if place is None or region is None:
            return
        shared, offset = place[0].shared, place[1]
        # Each lane reads four bytes of the map, so that an unordered change is detected.
        words = np.arange(offset, offset + SIZE, 4, dtype=np.uint64)
        if mask.full and _only_own_warp_is_late(warp, shared, words):
            warp.report(
                "race",
                f"the warp copies {shared.place(offset)}, which one of its threads has changed: no bar.warp.sync "
                "orders the copy after the change",
                mask,
                severity="warning",
            )
        elif mask.full:
            shared.load(warp, mask, shared.addresses(words), 4)
        region.data[where - region.base : where - region.base + SIZE] = shared.data[offset : offset + SIZE]
        changed(warp, where, released=True)

    return execute
