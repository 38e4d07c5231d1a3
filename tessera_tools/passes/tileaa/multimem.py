"""Conversion of accesses to multicast memory: pointers and a mask (`pointers_of_view`), and an op on each element."""

from __future__ import annotations

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import bit_width, element_type
from tessera_tools.passes.tileaa.constants import splat
from tessera_tools.passes.tileaa.lowering import Lowering, handles
from tessera_tools.passes.tileaa.pointers import ordering_of, token_of
from tessera_tools.passes.tileaa.views import padding_of, pointers_of_view
from tessera_tools.target import Feature


def _places(
    op: ct.MultimemLoadReduceViewTko | ct.MultimemReduceViewTko | ct.MultimemStoreViewTko, to: Lowering
) -> tuple[Value, Value | None]:
    if not to.target.has(Feature.MULTIMEM):
        raise to.refuse(
            op, f"multicast memory, which {to.target.name} cannot access; multimem requires sm_90 or later"
        )
    return pointers_of_view(op, to.views[op.view], to)


@handles(ct.MultimemLoadReduceViewTko)
def _load_reduce(op: ct.MultimemLoadReduceViewTko, to: Lowering) -> None:
    pointers, mask = _places(op, to)
    result = to.type_of(op.reduced_values.type, op)
    padding = padding_of(op, to.views[op.view], element_type(result), to)
    filler = None
    if mask is not None and padding is not None:
        filler = splat([padding[1]], result, to)
    mode, (ordering, scope) = aa.MultimemModeAttr(op.reduction.value), ordering_of(op)
    load = aa.MultimemLoadReduce(mode, ordering, scope, pointers, mask, filler, token_of(op, to), res=result)
    to.replace(op, *to.emit(load).results)


@handles(ct.MultimemReduceViewTko)
def _reduce(op: ct.MultimemReduceViewTko, to: Lowering) -> None:
    pointers, mask = _places(op, to)
    mode, (ordering, scope) = aa.MultimemModeAttr(op.reduction.value), ordering_of(op)
    token = token_of(op, to)
    reduce = aa.MultimemReduce(mode, ordering, scope, pointers, to[op.tile], mask, token)
    to.replace(op, to.emit(reduce).out_token)


@handles(ct.MultimemStoreViewTko)
def _store(op: ct.MultimemStoreViewTko, to: Lowering) -> None:
    element = op.tile.type.element
    if bit_width(element) == 16:
        raise to.refuse(
            op,
            f"stores of '{element}' to multicast memory, but multimem.st writes two at a time; 32 and 64 bits are "
            "supported, and so are loads and reductions of 16",
        )
    pointers, mask = _places(op, to)
    ordering, scope = ordering_of(op)
    store = aa.MultimemStore(ordering, scope, pointers, to[op.tile], mask, token_of(op, to))
    to.replace(op, to.emit(store).out_token)
