"""Part A of the conversion: constants; tiles of rank 0 are scalars."""

from __future__ import annotations

from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, element_attribute
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileaa.lowering import Lowering, handles


@handles(ct.Constant)
def _constant(op: ct.Constant, to: Lowering) -> None:
    to.replace(op, splat(op.value.bits(), to.type_of(op.result.type, op), to))


def splat(bits: list[int], type: Type, to: Lowering) -> Value:
    """A constant of a scalar or tensor type; `bits` has the elements, or a single one for a splat."""
    if isinstance(type, RankedTensorType):
        return to.emit(aa.ConstantTensor(DenseElementsAttr.of(type, bits), res=type)).res
    return to.emit(arith.Constant(element_attribute(bits[0], type))).result
