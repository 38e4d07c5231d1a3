"""Conversion of atomic ops on elements to nv_tileaa.

atomic_rmw_tko relaxed device %p, add, %v          nv_tileaa.atomic_rmw add relaxed gpu %p, %v
atomic_cas_tko …                                   nv_tileaa.atomic_cas …
atomic_red_view_tko relaxed device %view[%i], …    pointers and a mask (`pointers_of_view`), nv_tileaa.atomic_rmw
"""

from __future__ import annotations

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.cuda_tile.memory import ATOMIC_MODE
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import BF16, element_type
from tessera_tools.passes.tileaa.lowering import Lowering, handles
from tessera_tools.passes.tileaa.pointers import ordering_of, token_of
from tessera_tools.passes.tileaa.views import pointers_of_view
from tessera_tools.target import Feature


@handles(ct.AtomicRmwTko)
def _read_modify_write(op: ct.AtomicRmwTko, to: Lowering) -> None:
    mask = to[op.mask] if op.mask is not None else None
    to.replace(op, *_changed(op, to[op.pointers], to[op.arg], mask, to).results)


@handles(ct.AtomicRedViewTko)
def _reduce_into_view(op: ct.AtomicRedViewTko, to: Lowering) -> None:
    """Elements outside the view are masked."""
    pointers, mask = pointers_of_view(op, to.views[op.view], to)
    to.replace(op, _changed(op, pointers, to[op.value], mask, to).out_token)


def _changed(
    op: ct.AtomicRedViewTko | ct.AtomicRmwTko, pointers: Value, value: Value, mask: Value | None, to: Lowering
) -> aa.AtomicRmw:
    mode = aa.AtomicModeAttr(ATOMIC_MODE.text(op.mode))
    if element_type(value.type) is BF16 and not to.target.has(Feature.ATOMIC_ADD_BF16):
        raise to.refuse(
            op,
            f"atomic addition of bf16, which {to.target.name} does not support; it requires sm_90 or later",
        )
    ordering, scope = ordering_of(op)
    return to.emit(aa.AtomicRmw(mode, ordering, scope, pointers, value, mask, token_of(op, to)))


@handles(ct.AtomicCasTko)
def _compare_and_swap(op: ct.AtomicCasTko, to: Lowering) -> None:
    mask = to[op.mask] if op.mask is not None else None
    ordering, scope = ordering_of(op)
    swap = aa.AtomicCas(ordering, scope, to[op.pointers], to[op.cmp], to[op.val], mask, token_of(op, to))
    to.replace(op, *to.emit(swap).results)
