"""tcgen05.cp, .shift and .commit (PTX ISA, "Tensorcore 5th Generation Instructions").

One thread issues an operation for its CTA, or with cta_group::2 for both CTAs of a pair.
"""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.elements import unpacked
from tessera_tools.sim.instructions.common import lane_by_lane
from tessera_tools.sim.instructions.tensor_memory import cta_group
from tessera_tools.sim.matrix_descriptor import k_major
from tessera_tools.sim.mbarrier import lookup, resolve
from tessera_tools.sim.memory import REMOTE_SHIFT
from tessera_tools.sim.tcgen05 import (
    commit,
    in_shared,
    issue,
    pair_of,
    same_group,
    use_of,
    valid_descriptor,
)
from tessera_tools.sim.tensor_memory import Issued, tensor_memory
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp

_COPIES = {
    "128x256b": (128, 2),
    "4x256b": (4, 2),
    "128x128b": (128, 1),
    "64x128b": (64, 1),
    "32x128b": (32, 1),
}
"""Rows, and 16-byte units of a row."""


def _targets(shape: str, broadcast: str) -> list[Array]:
    """Lanes of the rows, once for each copy."""
    rows = np.arange(_COPIES[shape][0])
    if shape == "4x256b":
        return [32 * rows]
    if broadcast == "warpx4":
        return [rows + 32 * part for part in range(4)]
    if broadcast == "warpx2::02_13":
        return [rows, rows + 64]
    if broadcast == "warpx2::01_23":
        return [rows % 32 + 64 * (rows // 32) + 32 * part for part in range(2)]
    return [rows]


@instruction("tcgen05.cp")
def cp(ctx: Context) -> Execute:
    """tcgen05.cp.cta_group.shape{.multicast}{.b8x16.b6x16_p32|.b4x16_p64} [taddr], descriptor."""
    group = cta_group(ctx)
    shape = ctx.choose(*_COPIES)
    broadcast = ctx.choose("warpx4", "warpx2::02_13", "warpx2::01_23", default="")
    expected = {"64x128b": ("warpx2::02_13", "warpx2::01_23"), "32x128b": ("warpx4",)}.get(shape, ("",))
    if broadcast not in expected:
        raise ctx.error(
            f"has .{shape} with '{broadcast}'; expected {' or '.join(f'.{one}' for one in expected if one) or 'none'}"
        )
    packed = ""
    if ctx.flag("b8x16"):
        packed = {"b6x16_p32": "e3m2", "b4x16_p64": "e2m1"}[ctx.choose("b6x16_p32", "b4x16_p64")]
    place, matrix = ctx.operands(2)
    address, descriptor_of = ctx.address(place), ctx.read(matrix, TYPES["b64"])
    rows, chunks = _COPIES[shape]
    lanes = _targets(shape, broadcast)
    what = f"'tcgen05.cp' at PTX line {ctx.inst.line}"
    issued = Issued("cp.4x256b" if shape == "4x256b" else "cp", group)

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        same_group(warp, mask, group)
        ctas = pair_of(warp, mask, group)
        if ctas is None:
            return
        use = use_of(warp, mask, what, issued)
        target = int(address(warp)[lane])
        source = int(warp.ports[descriptor_of][lane])
        if not valid_descriptor(use, source, "the source"):
            return
        units = k_major(source, rows, chunks)
        columns = (target & 0xFFFF) + np.arange(4 * chunks)[None, :]
        places = [(part[:, None] + (target >> 16 & 0xFFFF), columns) for part in lanes]
        for cta in ctas:
            memory = tensor_memory(cta)
            if not in_shared(use, cta, units, "the source"):
                return
            if not all(memory.writes(use, where) for where in places):
                return

        def run() -> None:
            for cta in ctas:
                raw = cta.shared.views[16][units.reshape(-1)].view(np.uint8).reshape(rows, -1)
                if packed:
                    raw = np.ascontiguousarray(
                        unpacked(raw, packed) << np.uint8(2 if packed == "e2m1" else 0)
                    )
                words = np.ascontiguousarray(raw).view(np.uint32)
                for where in places:
                    tensor_memory(cta).data[where] = words

        if warp.stats is not None:
            warp.stats.bytes["tcgen05.cp"] += 16 * rows * chunks * len(ctas)
            numbers = tuple(cta.number for cta in ctas)
            warp.stats.umma(0.0, 16 * rows * chunks, numbers, in_tensor_memory=False)
        issue(use, ctas, [(cta, units) for cta in ctas], run)

    return lane_by_lane(one)


@instruction("tcgen05.shift")
def shift(ctx: Context) -> Execute:
    """tcgen05.shift.cta_group.down [taddr]: 31 of 32 lanes take 32 bytes from the next lane."""
    group = cta_group(ctx)
    ctx.require("down")
    address = ctx.address(ctx.operands(1)[0])
    what = f"'tcgen05.shift' at PTX line {ctx.inst.line}"

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        same_group(warp, mask, group)
        ctas = pair_of(warp, mask, group)
        if ctas is None:
            return
        target = int(address(warp)[lane])
        first = target >> 16 & 0xFFFF
        if first % 32:
            warp.report("illegal", f"{what} from lane {first}; expected a multiple of 32", mask)
            return
        use = use_of(warp, mask, what, Issued("shift", group))
        columns = (target & 0xFFFF) + np.arange(8)[None, :]
        rows = first + np.arange(31)[:, None]
        for cta in ctas:
            memory = tensor_memory(cta)
            if not memory.reads(use, (rows + 1, columns)) or not memory.writes(use, (rows, columns)):
                return

        def run() -> None:
            for cta in ctas:
                memory = tensor_memory(cta)
                memory.data[rows, columns] = memory.data[rows + 1, columns]

        issue(use, ctas, [], run)

    return lane_by_lane(one)


@instruction("tcgen05.commit")
def tcgen05_commit(ctx: Context) -> Execute:
    """tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbar]{, ctas}."""
    group = cta_group(ctx)
    ctx.choose("mbarrier::arrive::one")
    space = ctx.choose("shared::cluster", default="generic")
    multicast = ctx.flag("multicast::cluster")
    ctx.type("b64")
    ctx.module.async_proxy = True
    operands = ctx.operands(2 if multicast else 1)
    address = ctx.address(operands[0])
    ctas = ctx.read(operands[1], TYPES["u16"]) if multicast else None
    what = f"'tcgen05.commit' at PTX line {ctx.inst.line}"

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        same_group(warp, mask, group)
        if pair_of(warp, mask, group) is None:
            return
        place = int(address(warp)[lane])
        where = [(space, place)]
        if ctas is not None:
            chosen, count = int(warp.ports[ctas][lane]), len(warp.cta.cluster.ctas)
            found = resolve(warp, space, place)
            if found is None or chosen >> count:
                warp.report("illegal", f"{what}: CTA mask {chosen:#x} in a cluster of {count}", mask)
                return
            ranks = [rank for rank in range(count) if chosen >> rank & 1]
            where = [("shared::cluster", rank << REMOTE_SHIFT | found[1]) for rank in ranks]
        barriers = [lookup(warp, mask, *each, engine=True) for each in where]
        commit(warp, mask, what, [barrier for barrier in barriers if barrier is not None])

    return lane_by_lane(one)
