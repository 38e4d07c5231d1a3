"""Part C of the conversion: what rearranges a whole tile.

Reductions and scans have no counterpart in nv_tileaa yet and are refused; so are broadcasts and reshapes, but for those
of a single number.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.tileaa.lowering import Handlers, Lowering


def populate_tensors(handlers: Handlers) -> None:
    """Add the handlers of ops on whole tiles."""
    handlers.update({ct.Permute: _permute, ct.Reshape: _reshape, ct.Broadcast: _broadcast})


def _permute(op: ct.Permute, to: Lowering) -> None:
    order = DenseArrayAttr(I64, tuple(op.permutation.values))
    to.replace(op, to.emit(aa.Permute(to[op.source], order, res=to.type_of(op.result.type, op))).res)


def _spread(op: Any, value: Value, to: Lowering) -> Value | None:
    """The tile of the op's result type of which every element is the one of `value`; None if there are several."""
    target = to.type_of(op.result.type, op)
    if value.type is target:
        return value
    if not isinstance(target, RankedTensorType):
        return None
    if not isinstance(value.type, RankedTensorType):
        return to.emit(aa.Splat(value, res=target)).res
    source = value.defining_op
    if isinstance(source, aa.Splat):
        return to.emit(aa.Splat(source.source, res=target)).res
    if isinstance(source, aa.ConstantTensor) and source.value.is_splat:
        return to.emit(aa.ConstantTensor(DenseElementsAttr.of(target, source.value.bits()), res=target)).res
    return None


def _reshape(op: ct.Reshape, to: Lowering) -> None:
    found = _spread(op, to[op.source], to)
    if found is None:
        raise to.refuse(
            op, "tiles of several different elements keep their shape; a single number may be reshaped"
        )
    to.replace(op, found)


def _broadcast(op: ct.Broadcast, to: Lowering) -> None:
    found = _spread(op, to[op.source], to)
    if found is None:
        raise to.refuse(
            op, "a tile is not repeated yet; a single number (reshape of a scalar) may be broadcast"
        )
    to.replace(op, found)
