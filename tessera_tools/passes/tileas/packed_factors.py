"""Factors of 4 bits as tcgen05.mma reads them: two in a byte of shared memory, along K.

    dot %a, %b : tensor<128x256xf4E2M1FN>, tensor<256x64xf4E2M1FN>
      ──pack_factors()──▶  dot %x, %y : tensor<128x128xi8>, tensor<128x64xi8>      the atom says f4E2M1FN
      ◀──unpack_factors()──

While a kernel's products are chosen, their packed factors are tiles of bytes as any other: TMA brings them, or the
consumer packs what it computes.  What tcgen05.mma does not do is unpacked again.
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.atoms import F4E2M1FN
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.ir.types import I8, RankedTensorType
from tessera_tools.passes.liveness import erase_unused
from tessera_tools.passes.repacking import PER_BYTE, repacked


def is_packed(dot: nv_tileas.Dot) -> bool:
    """Whether the factors of a product are packed."""
    return dot.atom.a is F4E2M1FN and dot.a.type.element is I8


def terms(dot: nv_tileas.Dot) -> int:
    """The extent of a product along K."""
    return dot.a.type.shape[-1] * (PER_BYTE if is_packed(dot) else 1)


def pack_factors(dot: nv_tileas.Dot) -> None:
    """Let a product of 4-bit factors read bytes."""
    if dot.atom.a is F4E2M1FN and not is_packed(dot):
        _rewrite(dot, nv_tileaa.Pack)


def unpack_factors(function: Operation) -> None:
    """Let the products of a function that still read bytes read elements again."""
    for op in list(function.walk()):
        if isinstance(op, nv_tileas.Dot) and is_packed(op):
            _rewrite(op, nv_tileaa.Unpack)


def _rewrite(dot: nv_tileas.Dot, kind: type[nv_tileaa.Pack | nv_tileaa.Unpack]) -> None:
    builder = Builder.before(dot)
    builder.location = dot.location
    for position, axis in ((0, 1), (1, 0)):
        old = dot.operand(position)
        type = old.type_as(RankedTensorType)
        shape = list(type.shape)
        shape[axis] = shape[axis] // PER_BYTE if kind is nv_tileaa.Pack else shape[axis] * PER_BYTE
        target = RankedTensorType(tuple(shape), I8 if kind is nv_tileaa.Pack else F4E2M1FN)
        dot.set_operand(position, repacked(kind, old, target, axis, builder))
        erase_unused(old.defining_op)
