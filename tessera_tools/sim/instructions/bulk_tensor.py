"""cp.async.bulk.tensor and its reduction and prefetch (PTX ISA, "cp.async.bulk.tensor")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessera_tools.sim.arrays import Array, every, some
from tessera_tools.sim.bulk import copy_in, copy_out
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.bulk import destinations, global_bytes, policy, shared_bytes
from tessera_tools.sim.instructions.common import lane_by_lane, once_for_equal
from tessera_tools.sim.memory import Buffer
from tessera_tools.sim.program import Address, Operand
from tessera_tools.sim.proxies import async_read, readable
from tessera_tools.sim.reductions import OPERATIONS, combiner
from tessera_tools.sim.tensor_geometry import Box, column, fill_of, gather4, loaded, swizzled, tile
from tessera_tools.sim.tensor_map import SPANS, TensorMap
from tessera_tools.sim.tensormap_proxy import read_map
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp

_MODES = ("tile", "tile::gather4", "tile::scatter4", "im2col", "im2col_no_offs")
_LaneBox = Callable[[Warp, int, Mask], tuple[TensorMap, Box] | None]


def _mode(ctx: Context, *allowed: str) -> tuple[int, str]:
    rank = int(ctx.choose("1d", "2d", "3d", "4d", "5d")[0])
    mode = ctx.choose(*allowed, default="tile")
    if mode.startswith("im2col") and rank < 3:
        raise ctx.error("has im2col for fewer than 3 dimensions")
    if mode in ("tile::gather4", "tile::scatter4") and rank != 2:
        raise ctx.error(f"has .{mode} for {rank} dimensions; expected .2d")
    return rank, mode


def _box(
    ctx: Context, operand: Operand, rank: int, mode: str, offsets: Operand | None, what: str
) -> _LaneBox:
    """`[tensorMap, coordinates]` and the im2col offsets: a function that returns a lane's map and box."""
    if not isinstance(operand, Address) or not operand.coordinates:
        raise ctx.error("needs [tensorMap, {coordinates}]")
    wanted = 5 if mode in ("tile::gather4", "tile::scatter4") else rank
    if len(operand.coordinates) != wanted:
        raise ctx.error(f"has {len(operand.coordinates)} coordinates; expected {wanted}")
    address = ctx.address(Address(operand.base, operand.offset))
    ports = [ctx.read(coordinate, TYPES["s32"]) for coordinate in operand.coordinates]
    shifts = ctx.reads(offsets, TYPES["u16"]) if offsets is not None else []
    if offsets is not None and len(shifts) != rank - 2:
        raise ctx.error(f"has {len(shifts)} im2col offsets; expected {rank - 2}")

    def box(warp: Warp, lane: int, mask: Mask) -> tuple[TensorMap, Box] | None:
        tensor = read_map(warp, mask, int(address(warp)[lane]), what)
        if tensor is None:
            return None
        if tensor.rank != rank or tensor.im2col != mode.startswith("im2col"):
            kind = "im2col" if tensor.im2col else "tile"
            warp.report("illegal", f"{what}: the tensor map is for {tensor.rank}d {kind} copies", mask)
            return None
        place = [int(warp.ports[port][lane]) for port in ports]
        if tensor.im2col:
            shift = [int(warp.ports[port][lane]) for port in shifts] or [0] * (rank - 2)
            return tensor, column(tensor, place, shift)
        if mode in ("tile::gather4", "tile::scatter4"):
            if tensor.box[1] != 1:
                warp.report("illegal", f"{what}: the box has {tensor.box[1]} rows; .{mode} needs 1", mask)
                return None
            return tensor, gather4(tensor, place)
        if place[0] % tensor.type.group:
            warp.report("illegal", f"{what}: coordinate {place[0]} is inside a group of elements", mask)
            return None
        return tensor, tile(tensor, place)

    return box


@dataclass(slots=True)
class _Inside:
    """The bytes of a box that are inside the tensor, and the allocation that contains them."""

    region: Buffer
    box: Box
    shift: int
    """From offsets in the tensor to those in the allocation."""
    valid: Array
    """[row, byte]: whether the byte is inside the tensor."""
    units: Array | None
    """The 16-byte units of the allocation [row, unit], if all are inside the tensor and complete."""

    def places(self) -> Array:
        """The offsets in the allocation of the bytes that are inside."""
        return self.box.offsets()[self.valid] + self.shift

    def addresses(self) -> Array:
        """Addresses of global memory, at least one of each sector that is read or written."""
        if self.units is not None:
            return (self.units.reshape(-1) * 16 + self.region.base).astype(np.uint64)
        return (self.places() + self.region.base).astype(np.uint64)

    def read(self) -> Array:
        """The box [row, byte]; zeros outside."""
        if self.units is not None:
            return self.region.views[16].take(self.units, 0).view(np.uint8).reshape(len(self.units), -1)
        part = np.zeros(self.valid.shape, np.uint8)
        part[self.valid] = self.region.data[self.places()]
        return part


def _inside(warp: Warp, mask: Mask, tensor: TensorMap, box: Box, what: str) -> _Inside | None:
    """None if no byte is inside the tensor. If some bytes are not allocated, reports a finding and returns None."""
    width = box.columns * box.size
    ok = box.valid()
    if every(ok):
        low, high = int(box.starts.min()), int(box.starts.max()) + width - 1
    elif not some(ok):
        return None
    else:
        offsets = box.offsets()[np.repeat(ok, box.size, axis=1)]
        low, high = int(offsets.min()), int(offsets.max())
    region = global_bytes(warp, mask, tensor.address + low, high - low + 1, what)
    if region is None:
        return None
    shift, units = tensor.address - region.base, None
    starts = box.starts + shift
    if every(ok) and not width % 16 and not (starts % 16).any():
        units = (starts >> 4)[:, None] + np.arange(width // 16)
    return _Inside(region, box, shift, np.repeat(ok, box.size, axis=1), units)


def _place(tensor: TensorMap, box: Box, offset: int) -> Array:
    """The shared bytes [rows, columns * shared] of a box, swizzled."""
    return swizzled(offset, box.rows, box.columns * box.shared, tensor.swizzle, tensor.atomicity)


def _span(tensor: TensorMap, box: Box) -> int:
    """Bytes of shared memory that the box occupies."""
    width = box.columns * box.shared
    return box.rows * (max(width, SPANS[tensor.swizzle]) if tensor.swizzle else width)


@instruction("cp.async.bulk.tensor")
def copy(ctx: Context) -> Execute:
    """cp.async.bulk.tensor.dim.dst.src{.mode}.completion…: load by [dst], [map, xyz], [mbar]; or store."""
    space = ctx.choose("shared::cluster", "shared::cta", "global")
    ctx.module.async_proxy = True
    if space == "global":
        ctx.choose("shared::cta")
        return _store(ctx, None)
    ctx.choose("global")
    rank, mode = _mode(ctx, "tile", "tile::gather4", "im2col")
    paired = ctx.choose("cta_group::1", "cta_group::2", default="") == "cta_group::2"
    ctx.choose("mbarrier::complete_tx::bytes")
    multicast = ctx.flag("multicast::cluster")
    operands = list(ctx.operands())
    policy(ctx, operands)
    wanted = 3 + multicast + (mode == "im2col")
    if len(operands) != wanted:
        raise ctx.error(f"has {len(operands)} operands besides a cache policy; expected {wanted}")
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"
    to, signal = ctx.address(operands[0]), ctx.address(operands[2])
    offsets = operands[3] if mode == "im2col" else None
    boxed = _box(ctx, operands[1], rank, mode, offsets, what)
    ctas = ctx.read(operands[-1], TYPES["u16"]) if multicast else None

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        found = boxed(warp, lane, mask)
        if found is None:
            return
        tensor, box = found
        chosen = int(warp.ports[ctas][lane]) if ctas is not None else None
        size = _span(tensor, box)
        targets = destinations(
            warp, mask, space, int(to(warp)[lane]), int(signal(warp)[lane]), chosen, size, 128, what,
            paired=paired,
        )  # fmt: skip
        inside = _inside(warp, mask, tensor, box, what)
        if inside is not None and (
            inside.units is None or not readable([warp], inside.region, inside.units.reshape(-1))
        ):
            async_read(warp, mask, inside.region, inside.places(), what)

        def fetch() -> Array:
            if inside is not None and inside.units is not None and box.size == box.shared:
                return loaded(tensor, inside.read()).reshape(box.rows, -1)
            raw = np.empty((box.rows, box.columns, box.shared), np.uint8)
            raw[...] = fill_of(tensor)
            if inside is not None:
                part = loaded(tensor, inside.read()).reshape(box.rows, box.columns, box.size)
                ok = box.valid()
                raw[ok, : box.size] = part[ok]
                raw[ok, box.size :] = 0
            return raw.reshape(box.rows, -1)

        for target in targets:
            where = _place(tensor, box, target.offset)
            copy_in(
                warp, mask, what, target.cta, where.reshape(-1), lambda: fetch().reshape(-1), target.barrier,
                box.bytes,
            )  # fmt: skip
        if warp.stats is not None:
            places = inside.addresses() if inside is not None else None
            numbers = tuple(target.cta.number for target in targets) if paired else ()
            warp.stats.bulk("cp.async.bulk.tensor", box.bytes * len(targets), places, numbers)

    return lane_by_lane(one)


@instruction("cp.reduce.async.bulk.tensor")
def reduce(ctx: Context) -> Execute:
    """cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{.mode}.bulk_group [map, xyz], [src]."""
    ctx.choose("global")
    ctx.choose("shared::cta")
    ctx.module.async_proxy = True
    return _store(ctx, ctx.choose(*OPERATIONS))


def _store(ctx: Context, operation: str | None) -> Execute:
    rank, mode = _mode(ctx, "tile", "tile::scatter4", "im2col_no_offs")
    ctx.choose("bulk_group")
    operands = list(ctx.operands())
    policy(ctx, operands)
    if len(operands) != 2:
        raise ctx.error(f"has {len(operands)} operands besides a cache policy; expected 2")
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"
    boxed = _box(ctx, operands[0], rank, mode, None, what)
    at = ctx.address(operands[1])

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        found = boxed(warp, lane, mask)
        if found is None:
            return
        tensor, box = found
        place = shared_bytes(warp, mask, "shared", int(at(warp)[lane]), _span(tensor, box), 128, what)
        combine = None
        if operation is not None:
            combine = combiner(operation, tensor.type.name)
            if combine is None:
                warp.report("illegal", f"{what}: no {operation} of {tensor.type.name} elements", mask)
                return
        inside = _inside(warp, mask, tensor, box, what)
        if place is None or inside is None:
            return
        cta, offset = place
        where = _place(tensor, box, offset).reshape(box.rows, box.columns, box.shared)
        bytes_in = where[:, :, : box.size].reshape(box.rows, -1)[inside.valid]
        copy_out(warp, mask, what, (cta.shared, bytes_in), (inside.region, inside.places()), combine=combine)
        if warp.stats is not None:
            warp.stats.bulk("cp.async.bulk.tensor", box.bytes, inside.addresses())

    if operation is not None:
        return lane_by_lane(one)
    assert isinstance(operands[0], Address)
    map_at = ctx.address(Address(operands[0].base, operands[0].offset))
    ports = [ctx.read(coordinate, TYPES["s32"]) for coordinate in operands[0].coordinates]
    return once_for_equal(
        one, lambda warp: [map_at(warp), at(warp), *(warp.ports[port] for port in ports)], what
    )


@instruction("cp.async.bulk.prefetch.tensor")
def prefetch(ctx: Context) -> Execute:
    """cp.async.bulk.prefetch.tensor.dim.L2.global{.mode} [map, xyz]{, offsets}: has no effect on values."""
    ctx.choose("L2")
    ctx.choose("global")
    rank, mode = _mode(ctx, *_MODES)
    operands = list(ctx.operands())
    policy(ctx, operands)
    if len(operands) != 1 + (mode == "im2col"):
        raise ctx.error("needs [tensorMap, {coordinates}], and with .im2col the offsets")
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"
    boxed = _box(ctx, operands[0], rank, mode, operands[1] if mode == "im2col" else None, what)

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        found = boxed(warp, lane, mask)
        if found is not None:
            _inside(warp, mask, *found, what)

    return lane_by_lane(one)
