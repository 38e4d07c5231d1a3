"""ldmatrix, stmatrix, movmatrix (PTX ISA, "Warp-level matrix load/store/transpose instruction").

    lane i of 8 (.x1), 16 (.x2), 32 (.x4): address of row i, 16 bytes ──▶ rows ──▶ each lane's registers

A lane holds 32 bits of row lane / 4, those at column word lane % 4; with .trans, of column lane / 4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.access import load, store
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.memory import count_access
from tessera_tools.sim.instructions.mma_registers import ports_of, whole_warp
from tessera_tools.sim.interfaces import HasLanes, HasPorts, Warps
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import JointOutcome, Mask, Warp, mask_of

_ROW = 16
"""Bytes of a row."""


def _space(ctx: Context) -> str:
    return "shared" if ctx.choose("shared", "shared::cta", default="") else "generic"


def _plain(rows: Array) -> Array:
    """[matrices, 8, 16 bytes] → words [matrices, 32]."""
    return rows.view("<u4").reshape(len(rows), 32)


def _transposed(rows: Array) -> Array:
    """Like `_plain`, for 8 × 8 matrices of 16-bit elements, transposed."""
    halves = rows.view("<u2").reshape(len(rows), 8, 8)
    return np.ascontiguousarray(halves.transpose(0, 2, 1)).view("<u4").reshape(len(rows), 32)


def _wide_fragment() -> Array:
    """The sources of a lane's 8 bytes in a 16 × 16 matrix of bytes, as row * 16 + column: [2, 32, 4].

    Lane 4g + t: register r holds rows 4t + 2r and the next, of columns g and g + 8.
    """
    register, lane, octet = np.ogrid[:2, :32, :4]
    row = 4 * (lane & 3) + 2 * register + (octet & 1)
    return np.asarray(row * 16 + (lane >> 2) + 8 * (octet >> 1))


_WIDE = _wide_fragment()


def _wide_transposed(rows: Array) -> Array:
    """16 × 16 bytes, transposed: [matrices, 16, 16 bytes] → words [2 * matrices, 32]."""
    octets = np.ascontiguousarray(rows.view(np.uint8).reshape(-1, 256)[:, _WIDE])
    return octets.view("<u4").reshape(-1, 32)


def _expand(bits: int) -> Callable[[Array], Array]:
    """Rows of 16 elements of `bits` bits, then padding → rows of 16 bytes, the elements in their low bits."""

    def expand(rows: Array) -> Array:
        flat = np.unpackbits(rows.view(np.uint8), axis=-1, bitorder="little")
        parts = flat[..., : 16 * bits].reshape(*flat.shape[:-1], 16, bits)
        return np.packbits(parts, axis=-1, bitorder="little")[..., 0]

    return expand


@instruction("ldmatrix")
def ldmatrix(ctx: Context) -> Execute:
    """ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type r, [p]; and .dst_fmt.src_fmt for 6- and 4-bit elements."""
    ctx.require("sync", "aligned")
    ctx.aligned()
    shape = ctx.choose("m8n8", "m16n16", "m8n16")
    count = int(ctx.choose("x1", "x2", "x4")[1:])
    transposed = ctx.flag("trans")
    space = _space(ctx)
    kind = ctx.choose("b16", "b8", "b8x16")
    source = ctx.choose("b6x16_p32", "b4x16_p64", default="")
    valid = {"m8n8": kind == "b16", "m16n16": kind != "b16" and transposed and count < 4,
             "m8n16": kind == "b8x16" and not transposed}[shape]  # fmt: skip
    if not valid or (kind == "b8x16") != bool(source):
        raise ctx.error(
            f"has .{shape}.x{count}{'.trans' * transposed}.{kind}, which is not a form of this instruction"
        )
    tall = 16 if shape == "m16n16" else 8
    registers = count * tall // 8
    target, place = ctx.operands(2)
    ports = list(enumerate(ports_of(ctx, target, "the matrices", registers, 32, write=True)))
    address = ctx.address(place)
    expand = _expand(6 if source == "b6x16_p32" else 4) if source else None
    arrange = _wide_transposed if tall == 16 else _transposed if transposed else _plain
    rows = mask_of((1 << (tall * count)) - 1)
    line = ctx.inst.line

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        addresses = address(warp)
        if warp.stats is not None:
            count_access(warp.stats, rows, "ldmatrix.shared", line, addresses, _ROW)
        found = load(warp, rows, space, addresses, _ROW).view(np.uint8).reshape(count, tall, _ROW)
        words = arrange(found if expand is None else expand(found))
        for index, port in ports:
            warp.ports[port][...] = words[index]

    def together(gang: Warps, mask: HasLanes) -> JointOutcome:
        if gang.stats is not None or not mask.full:
            return NotImplemented
        places = address(gang).reshape(-1, 32)[:, : tall * count].reshape(-1)
        records = gang.records().reshape(-1, 32)[:, : tall * count].reshape(-1)
        found = gang.cta.shared.load_together(gang, places, _ROW, records)
        if found is None:
            return NotImplemented
        words = arrange(found.view(np.uint8).reshape(-1, tall, _ROW)).reshape(-1, registers, 32)
        for index, port in ports:
            gang.ports[port][...] = words[:, index].reshape(-1)
        return None

    if space == "shared" and expand is None:
        ctx.together, ctx.effect = together, "load"
    return execute


@instruction("stmatrix")
def stmatrix(ctx: Context) -> Execute:
    """stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [p], r."""
    ctx.require("sync", "aligned")
    ctx.aligned()
    shape = ctx.choose("m8n8", "m16n8")
    count = int(ctx.choose("x1", "x2", "x4")[1:])
    transposed = ctx.flag("trans")
    space = _space(ctx)
    kind = ctx.choose("b16", "b8")
    if (shape == "m8n8") != (kind == "b16") or (shape == "m16n8" and not transposed):
        raise ctx.error(
            f"has .{shape}{'.trans' * transposed}.{kind}, which is not a form of this instruction"
        )
    place, values = ctx.operands(2)
    ports = list(enumerate(ports_of(ctx, values, "the matrices", count, 32, write=False)))
    address = ctx.address(place)
    rows = mask_of((1 << (8 * count)) - 1)
    line = ctx.inst.line

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        addresses = address(warp)
        if warp.stats is not None:
            count_access(warp.stats, rows, "stmatrix.shared", line, addresses, _ROW)
        store(warp, rows, space, addresses, _ROW, arranged(warp))

    def arranged(warp: HasPorts) -> Array:
        """The rows of the matrices of one or more warps, as pairs of uint64."""
        words = np.stack([warp.ports[port].reshape(-1, 32) for _, port in ports], axis=1).reshape(-1, 32)
        if kind == "b8":
            words = _wide_rows(words)
        elif transposed:
            words = _transposed(words)
        return words.view(np.uint64).reshape(-1, 2)

    def together(gang: Warps, mask: HasLanes) -> JointOutcome:
        if gang.stats is not None or not mask.full:
            return NotImplemented
        places = address(gang).reshape(-1, 32)[:, : 8 * count].reshape(-1)
        records = gang.records().reshape(-1, 32)[:, : 8 * count].reshape(-1)
        if gang.cta.shared.store_together(gang, places, _ROW, arranged(gang), records):
            return None
        return NotImplemented

    if space == "shared":
        ctx.together, ctx.effect = together, "store"
    return execute


def _wide_rows(words: Array) -> Array:
    """Fragments of 16 × 8 bytes, transposed: lane 4g + t holds rows g, g + 8 of columns 2t, 2t + 1."""
    lane, octet = np.ogrid[:32, :4]
    places = (2 * (lane & 3) + (octet & 1)) * 16 + (lane >> 2) + 8 * (octet >> 1)
    content = np.empty((len(words), 128), np.uint8)
    content[:, places] = words.view(np.uint8).reshape(len(words), 32, 4)
    return content


@instruction("movmatrix")
def movmatrix(ctx: Context) -> Execute:
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a: an 8 × 8 matrix of 16-bit elements, transposed in registers."""
    ctx.require("sync", "aligned", "m8n8", "trans", "b16")
    ctx.aligned()
    target, source = ctx.operands(2)
    b32 = TYPES["b32"]
    d, a = ctx.write(target, b32), ctx.read(source, b32)

    def execute(warp: Warp, mask: Mask) -> None:
        if whole_warp(warp, mask):
            warp.ports[d][...] = _transposed(np.ascontiguousarray(warp.ports[a]).reshape(1, 32))[0]

    return execute
