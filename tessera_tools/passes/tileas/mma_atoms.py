"""Which instruction serves a dot."""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.cute_nvgpu import MmaAtomAttr
from tessera_tools.ir.types import BF16, F16, F32, F64, TF32, RankedTensorType, Type

# The dense mma.sync shapes with f32 accumulation, per operand type (PTX ISA, "mma"); each is the deepest in K.
MMA_SHAPES: dict[Type, str] = {F16: "sm80_m16n8k16", BF16: "sm80_m16n8k16", TF32: "sm80_m16n8k8"}


def mma_atom(op: nv_tileaa.Dot) -> MmaAtomAttr:
    """The tensor core instruction for the operand types; `fma` where the tile is smaller than it or there is none."""
    a, b, c = (v.type for v in (op.a, op.b, op.c))
    assert isinstance(a, RankedTensorType)
    if a.element is not b.element:
        raise op.error(f"multiplies {a.element} by {b.element}: operands of one type are supported")
    shape = MMA_SHAPES.get(a.element) if c.element is F32 else None
    if shape is not None:
        m, n, k = MmaAtomAttr(shape, a.element, b.element, c.element).mnk
        if c.shape[0] >= m and c.shape[1] >= n and a.shape[1] >= k:
            return MmaAtomAttr(shape, a.element, b.element, c.element)
    if a.element not in (F16, BF16, F32, F64) or c.element not in (F16, F32, F64):
        raise op.error(
            f"multiplies {a.element} into {c.element}: no instruction for these types is known to this version"
        )
    return MmaAtomAttr("fma", a.element, b.element, c.element)
