"""Part C of the conversion: ops that rearrange a whole tile.  A tile of rank 0 is a scalar, so some ops on it become
splats."""

from __future__ import annotations

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.tileaa.lowering import Lowering, handles


@handles(ct.Iota)
def _iota(op: ct.Iota, to: Lowering) -> None:
    to.replace(op, to.emit(aa.Iota(res=to.type_of(op.result.type, op))).res)


@handles(ct.Permute)
def _permute(op: ct.Permute, to: Lowering) -> None:
    value = to[op.source]
    if not isinstance(value.type, RankedTensorType):
        to.replace(op, value)
        return
    order = DenseArrayAttr(I64, tuple(op.permutation.values))
    to.replace(op, to.emit(aa.Permute(value, order, res=to.type_of(op.result.type, op))).res)


def _same_elements(op: Operation, value: Value, to: Lowering) -> Value | None:
    """A splat of the single element of `value` with the op's result type; None if it may have several elements."""
    target = to.type_of(op.results[0].type, op)
    if value.type is target:
        return value
    if not isinstance(value.type, RankedTensorType):
        return to.emit(aa.Splat(value, res=target)).res
    if not isinstance(target, RankedTensorType):
        return to.emit(aa.Unsplat(value, res=target)).res
    source = value.defining_op
    if isinstance(source, aa.Splat):
        return to.emit(aa.Splat(source.source, res=target)).res
    if isinstance(source, aa.ConstantTensor) and source.value.is_splat:
        return to.emit(aa.ConstantTensor(DenseElementsAttr.of(target, source.value.bits()), res=target)).res
    return None


@handles(ct.Reshape, ct.Broadcast)
def _reshape(op: ct.Reshape | ct.Broadcast, to: Lowering) -> None:
    value = to[op.source]
    found = _same_elements(op, value, to)
    if found is None:
        kind = aa.Reshape if isinstance(op, ct.Reshape) else aa.Broadcast
        found = to.emit(kind(value, res=to.type_of(op.result.type, op))).res
    to.replace(op, found)


@handles(ct.Cat)
def _cat(op: ct.Cat, to: Lowering) -> None:
    joined = aa.Cat(to[op.lhs], to[op.rhs], i64(op.dim.value), res=to.type_of(op.result.type, op))
    to.replace(op, to.emit(joined).res)


@handles(ct.Extract)
def _extract(op: ct.Extract, to: Lowering) -> None:
    value, target = to[op.source], to.type_of(op.result.type, op)
    if value.type is target:
        to.replace(op, value)
        return
    to.replace(op, to.emit(aa.Extract(value, to.values(op.indices), res=target)).res)


@handles(ct.Insert)
def _insert(op: ct.Insert, to: Lowering) -> None:
    part, whole = to[op.source], to[op.destination]
    if part.type is whole.type:
        to.replace(op, part)
        return
    to.replace(op, to.emit(aa.Insert(part, whole, to.values(op.indices))).res)
