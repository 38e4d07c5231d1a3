"""The conversion of matrix products: cuda_tile's three ops become one nv_tileaa.dot with attributes and scales."""

from __future__ import annotations

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr
from tessera_tools.ir.types import F32, TF32, element_type
from tessera_tools.passes.tileaa.lowering import Lowering, handles

_PRECISION: dict[Type, str] = {F32: "ieee", TF32: "tf32"}
"""The input precision of a dot, for types with a choice."""


@handles(ct.MmaF)
def _mmaf(op: ct.MmaF, to: Lowering) -> None:
    word = _PRECISION.get(element_type(op.lhs.type))
    precision = StringAttr(word) if word is not None else None
    to.replace(
        op,
        to.emit(
            aa.Dot(to[op.lhs], to[op.rhs], to[op.acc], input_precision=precision, fast_acc=op.fast_acc)
        ).res,
    )


@handles(ct.MmaI)
def _mmai(op: ct.MmaI, to: Lowering) -> None:
    unsigned = [UNIT if sign.value == "unsigned" else None for sign in (op.signedness_lhs, op.signedness_rhs)]
    product = aa.Dot(to[op.lhs], to[op.rhs], to[op.acc], unsigned_a=unsigned[0], unsigned_b=unsigned[1])
    to.replace(op, to.emit(product).res)


@handles(ct.MmaFScaled)
def _mmaf_scaled(op: ct.MmaFScaled, to: Lowering) -> None:
    scales = [to[op.lhs_scale], to[op.rhs_scale]]
    to.replace(op, to.emit(aa.Dot(to[op.lhs], to[op.rhs], to[op.acc], scales)).res)
