"""mma.sync with block scales (PTX ISA, "Block Scaling for mma.sync").

    A, B ──× scale of their block──▶ sim/products.py ──▶ D

Two lanes of a quad hold the scale factors of A, for rows `lane / 4` and `lane / 4 + 8`: the pair of thread-id-a. One
lane holds those of B, for column `lane / 4`: that of thread-id-b. They begin at the byte of byte-id in the register.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim import fragments
from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.decode import Context, Execute
from tessera_tools.sim.elements import ELEMENTS, scale_values
from tessera_tools.sim.instructions.common import architecture_without
from tessera_tools.sim.instructions.mma_registers import emit, load_matrix, ports_of, whole_warp
from tessera_tools.sim.products import ACCUMULATORS, multiply_accumulate, patterns_of
from tessera_tools.sim.program import Operand, Vector
from tessera_tools.sim.rounding import FORMATS, decode
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp
from tessera_tools.target import Feature, targets_with

__all__ = ["scaled"]

_SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_BLOCKS = {
    ("mxf8f6f4", "", "ue8m0"): 32,
    ("mxf8f6f4", "scale_vec::1X", "ue8m0"): 32,
    ("mxf4", "", "ue8m0"): 32,
    ("mxf4", "scale_vec::2X", "ue8m0"): 32,
    ("mxf4nvf4", "scale_vec::2X", "ue8m0"): 32,
    ("mxf4nvf4", "scale_vec::4X", "ue8m0"): 16,
    ("mxf4nvf4", "scale_vec::4X", "ue4m3"): 16,
}
"""Elements of a block, by kind, scale vector and type of the scales."""


def require_target(ctx: Context, what: str) -> None:
    """An error unless all architectures of the module have mma.sync with kinds. what: what the instruction does."""
    name = architecture_without(ctx, Feature.MMA_SYNC_BLOCK_SCALE)
    if name is not None:
        having = " or ".join(target.cpu for target in targets_with(Feature.MMA_SYNC_BLOCK_SCALE))
        raise ctx.error(f"{what}, which mma.sync of {name} does not; expected {having}")


def _spelled(vector: str, scale: str) -> str:
    return f".{vector} and .{scale}" if vector else f".{scale}"


def scaled(ctx: Context) -> Execute:
    """mma.sync.aligned.shape.row.col.kind.block_scale{.scale_vec}.f32.atype.btype.f32.stype d, a, b, c, scales.

    scales: scale-a, {byte-id-a, thread-id-a}, scale-b, {byte-id-b, thread-id-b}.
    """
    require_target(ctx, "scales blocks")
    kind = ctx.choose("kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4")[6:]
    if not ctx.flag("block_scale"):
        raise ctx.error(f"has .kind::{kind} without .block_scale")
    vector = ctx.choose("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", default="")
    k = 32 if kind == "mxf8f6f4" else 64
    ctx.choose(f"m16n8k{k}")
    ctx.choose("row")
    ctx.choose("col")
    ctx.choose("f32")
    a_name, b_name = (ctx.choose(*(_SMALL if kind == "mxf8f6f4" else ("e2m1",))) for _ in range(2))
    ctx.choose("f32")
    scale = ctx.choose("ue8m0", "ue4m3")
    if (kind, vector, scale) not in _BLOCKS:
        known = [_spelled(v, s) for k, v, s in _BLOCKS if k == kind]
        raise ctx.error(f"has .kind::{kind} with {_spelled(vector, scale)}; expected {' or '.join(known)}")
    block = _BLOCKS[kind, vector, scale]
    operands = ctx.operands(8)
    packed = 8 if k == 64 else 4
    at, bt = fragments.mma_a(16, k, packed), fragments.mma_b(k, 8, packed)
    ct = fragments.accumulator(16, 8, 1)
    bits = 32 // packed

    def values(name: str) -> Callable[[Array], Array]:
        return ELEMENTS[name].values if k == 32 else lambda patterns: decode(patterns, FORMATS[name])

    take_a = load_matrix(
        ports_of(ctx, operands[1], "A", at.registers, 32, write=False), at, bits, values(a_name), -1
    )
    take_b = load_matrix(
        ports_of(ctx, operands[2], "B", bt.registers, 32, write=False), bt, bits, values(b_name), -2
    )
    kind_d = ACCUMULATORS["f32"]
    take_c = load_matrix(ports_of(ctx, operands[3], "C", 4, 32, write=False), ct, 32, kind_d.values, None)
    give = emit(ports_of(ctx, operands[0], "D", 4, 32, write=True), ct)
    a_scale, b_scale = (
        _Scale(ctx, operands[4], operands[5], k // block),
        _Scale(ctx, operands[6], operands[7], k // block),
    )
    patterns = patterns_of(multiply_accumulate, kind_d)

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        if warp.stats is not None:
            warp.stats.flops["mma.sync"] += 2 * 16 * 8 * k
        left = a_scale.of(warp, mask, 2)
        right = b_scale.of(warp, mask, 1)
        if left is None or right is None:
            return
        a = take_a(warp) * np.repeat(scale_values(left, scale), block, axis=0)
        b = take_b(warp) * np.repeat(scale_values(right, scale), block, axis=0)
        give(warp, patterns(a, b, take_c(warp)))

    return execute


class _Scale:
    """One operand of scale factors with its selectors."""

    def __init__(self, ctx: Context, data: Operand, selectors: Operand, count: int) -> None:
        elements = data.elements if isinstance(data, Vector) else (data,)
        if len(elements) != 1 or not isinstance(selectors, Vector) or len(selectors.elements) != 2:
            raise ctx.error("needs a register of scale factors, and {byte-id, thread-id}")
        self.data = ctx.read(elements[0], TYPES["b32"])
        self.byte, self.thread = (ctx.read(element, TYPES["u16"]) for element in selectors.elements)
        self.count = count

    def of(self, warp: Warp, mask: Mask, lanes: int) -> Array | None:
        """The factors [block, row or column]; `lanes` of a quad hold them, each for 8 rows or columns."""
        byte, thread = warp.ports[self.byte], warp.ports[self.thread]
        begin, chosen = int(byte[0]), int(thread[0])
        if some(byte != begin) or some(thread != chosen):
            warp.report("illegal", "the selectors of the scale factors differ between the lanes", mask)
        if begin + self.count > 4 or begin % self.count or chosen * lanes >= 4:
            warp.report(
                "illegal",
                f"byte-id {begin} and thread-id {chosen} for {self.count} scale factors; expected a multiple of "
                f"{self.count} up to {4 - self.count}, and up to {4 // lanes - 1}",
                mask,
            )
            return None
        octets = np.ascontiguousarray(warp.ports[self.data]).view(np.uint8).reshape(8, 4, 4)
        taken = octets[:, chosen * lanes : chosen * lanes + lanes, begin : begin + self.count]
        # [quad, lane, byte] → [byte, row], with row = quad + 8 * lane
        return np.ascontiguousarray(taken.transpose(2, 1, 0)).reshape(self.count, -1)
