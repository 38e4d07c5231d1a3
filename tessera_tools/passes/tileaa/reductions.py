"""Part D of the conversion: reductions and scans; their regions are lowered unchanged."""

from __future__ import annotations

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, ArrayAttr, FloatAttr
from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.types import FloatType, element_type
from tessera_tools.passes.tileaa.lowering import Lowering, handles


@handles(ct.Reduce)
def _reduce(op: ct.Reduce, to: Lowering) -> None:
    types = [to.type_of(result.type, op) for result in op.results]
    made = aa.Reduce(
        to.values(op.inputs),
        op.dim,
        _identities(op, to),
        outputs=types,
        body=_body(op, to),
        location=op.location,
    )
    to.replace(op, *to.emit(made).results)


@handles(ct.Scan)
def _scan(op: ct.Scan, to: Lowering) -> None:
    types = [to.type_of(result.type, op) for result in op.results]
    made = aa.Scan(
        to.values(op.inputs),
        op.dim,
        _identities(op, to),
        UNIT if op.reverse.value else None,
        outputs=types,
        body=_body(op, to),
        location=op.location,
    )
    to.replace(op, *to.emit(made).results)


def _identities(op: ct.Reduce | ct.Scan, to: Lowering) -> ArrayAttr:
    """The identities, converted to the operands' element types: for f16 and bf16 operands they may have the other
    type."""
    elements = [element_type(to[source].type) for source in op.inputs]
    pairs = zip(op.identities.elements, elements, strict=True)
    return ArrayAttr(tuple(_of_type(number, element) for number, element in pairs))


def _of_type(number: Attribute, element: Type) -> Attribute:
    if isinstance(number, FloatAttr) and isinstance(element, FloatType) and number.type is not element:
        return FloatAttr.of(number.value, element)
    return number


def _body(op: ct.Reduce | ct.Scan, to: Lowering) -> Region:
    """The region; its tiles have rank 0, so they are scalars."""
    body = op.body.entry
    *ops, last = body
    for inner in ops:
        _refuse_tiles(op, inner, to)
    region = to.region(body, [to.type_of(argument.type, op) for argument in body.arguments])
    to.lower_ops(ops, region.entry)
    region.entry.append(aa.Yield(to.values(last.operands), location=last.location))
    return region


def _refuse_tiles(op: Operation, inner: Operation, to: Lowering) -> None:
    for type in (*inner.operand_types, *inner.result_types):
        if not isinstance(type, ct.TileType) or type.shape:
            raise to.refuse(
                inner,
                f"a value of type '{type}' in the region of a '{op.name}'; only scalars are supported",
            )
