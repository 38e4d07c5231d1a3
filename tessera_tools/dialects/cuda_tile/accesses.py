"""Common parts of loads, stores and atomics of `cuda_tile`: ordering and scope; the token, hints and bounds after
the operands; the indices into a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING, MEMORY_SCOPE
from tessera_tools.dialects.cuda_tile.formats import HINTS_GRAMMAR, read_hints, value_types
from tessera_tools.dialects.cuda_tile.types import TOKEN, GatherScatterViewType, TileType, short_text
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import I1
from tessera_tools.opdef import I1_ARRAY, MemoryEffects, Op, write

if TYPE_CHECKING:
    from typing import TypeAlias

    from tessera_tools.dialects.cuda_tile.memory import AtomicCasTko, AtomicRmwTko, LoadPtrTko, StorePtrTko
    from tessera_tools.dialects.cuda_tile.view_atomics import (
        AtomicRedViewTko,
        MultimemLoadReduceViewTko,
        MultimemReduceViewTko,
        MultimemStoreViewTko,
    )
    from tessera_tools.dialects.cuda_tile.views import LoadViewTko, StoreViewTko
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

    Multimem: TypeAlias = MultimemLoadReduceViewTko | MultimemReduceViewTko | MultimemStoreViewTko
    """Accesses to multicast memory."""
    ViewAccess: TypeAlias = LoadViewTko | StoreViewTko | AtomicRedViewTko | Multimem
    """Accesses to a tile of a view."""
    PointerAccess: TypeAlias = LoadPtrTko | StorePtrTko | AtomicRmwTko | AtomicCasTko
    """Accesses through tiles of pointers."""

TAIL_GRAMMAR = (
    """
    custom_tail: ["token" "=" VALUE] ["optimization_hints" "=" custom_hints] [custom_inbounds] attr_dict_with_keyword
    custom_inbounds: "inbounds" "=" "[" KEYWORD ("," KEYWORD)* "]"
    """
    + HINTS_GRAMMAR
)


def read_ordering(state: OpState, ordering: Node, scope: Node) -> None:
    """The two keywords at the head of a memory op on views."""
    for key, kind, token in (
        ("memory_ordering_semantics", MEMORY_ORDERING, ordering),
        ("memory_scope", MEMORY_SCOPE, scope),
    ):
        if token is None:
            continue
        try:
            state.attribute(key, kind.build(token))
        except ValueError:
            cases = (
                "weak, relaxed, acquire, release, acq_rel"
                if kind is MEMORY_ORDERING
                else "tl_blk, device, sys"
            )
            raise state.error(
                token, f'invalid {key} attribute specification. Got "{token.text}" but expect one of: {cases}'
            ) from None
    if scope is not None and ordering.text == "weak":
        raise state.error(
            scope,
            "operation specifies weak memory ordering semantics, but then provides "
            f'"{scope.text}" scope, expected no memory scope.',
        )


def ordering_text(op: ViewAccess | PointerAccess) -> str:
    """` weak`, or ` relaxed device`."""
    scope = op.memory_scope
    return f" {MEMORY_ORDERING.text(op.memory_ordering_semantics)}" + (
        f" {MEMORY_SCOPE.text(scope)}" if scope is not None else ""
    )


def read_tail(state: OpState, node: Node) -> None:
    """Token, hints, bounds and other attributes."""
    token, hints, inbounds, attributes = node
    if token is not None:
        state.operand("token", token)
        state.types("token", [TOKEN])
    if hints is not None:
        state.attribute("optimization_hints", read_hints(state, hints))
    if inbounds is not None:
        _read_inbounds(state, inbounds)
    for key, value in attributes.items():
        state.attribute(key, value)


def _read_inbounds(state: OpState, words: list[Node]) -> None:
    if "inbounds" not in state.definition.fields:
        raise state.error(words[0], "takes no 'inbounds'")
    for word in words:
        if word.text not in ("true", "false"):
            raise state.error(word, f"expected 'true' or 'false', found '{word.text}'")
    flags = tuple(int(word.text == "true") for word in words)
    if any(flags):
        state.attribute("inbounds", DenseArrayAttr(I1, flags))


def write_view_tail(p: Printer, op: LoadViewTko | StoreViewTko) -> None:
    if op.token is not None:
        p.write(f" token = {p.name(op.token)}")
    if op.optimization_hints is not None:
        p.write(f" optimization_hints = {op.optimization_hints.body()}")
    write_inbounds(p, op)
    p.attr_dict(op, elide=VIEW_KEYS, keyword=True)


def write_inbounds(p: Printer, op: ViewAccess) -> None:
    """` inbounds = [true, false]`; nothing if no index is declared in bounds."""
    if op.inbounds is not None:
        p.write(f" inbounds = [{', '.join('true' if flag else 'false' for flag in op.inbounds)}]")


VIEW_KEYS = (
    "memory_ordering_semantics", "memory_scope", "optimization_hints", "operandSegmentSizes", "inbounds", "mode",
    "reduction",
)  # fmt: skip

INBOUNDS = I1_ARRAY
"""The indices of an access that are in bounds, so that no check is needed; absent if none is known to be."""


def index_types(state: OpState, indices: list[Node], types: list[Type]) -> list[Type]:
    if len(types) == 1:
        return types * len(indices)
    if len(types) != len(indices):
        raise state.error(
            indices[0] if indices else None,
            f"expected {len(indices)} index types, got {len(types)}"
            if types
            else "index types must be specified when indices are present",
        )
    return types


def index_types_text(op: ViewAccess) -> str:
    kinds = value_types(op.index)
    if len(set(kinds)) == 1:
        kinds = kinds[:1]
    return "".join(f", {short_text(kind)}" for kind in kinds)


class OrderedAccess(Op):
    """The base of accesses with memory ordering semantics."""

    def effects(self) -> MemoryEffects | None:
        """An access that is not weak is also ordered: other threads may wait for it, or it waits for them."""
        effects = super().effects()
        semantics = self.attributes.get("memory_ordering_semantics")
        if effects is None or semantics is None or MEMORY_ORDERING.text(semantics) == "weak":
            return effects
        return effects.and_also(write(resource=Resource.ORDER))


def check_ordering(
    op: LoadViewTko | StoreViewTko | LoadPtrTko | StorePtrTko | Multimem, noun: str, last: str
) -> None:
    """A load is weak, relaxed or acquire, a store weak, relaxed or release; a scope is required unless it is weak."""
    ordering = MEMORY_ORDERING.text(op.memory_ordering_semantics)
    if ordering not in ("weak", "relaxed", last):
        raise op.error(f"expect one of: weak, relaxed, or {last}, but got: {ordering}")
    if ordering == "weak" and op.memory_scope is not None:
        raise op.error(f"weak {noun} must not have memory scope")
    if ordering != "weak" and op.memory_scope is None:
        raise op.error(f"memory scope is required for {ordering} {noun}")


def check_indices(op: LoadViewTko | StoreViewTko | Multimem) -> None:
    """As many indices as the view has dimensions, scalars of one type; a gather's along its sparse dimension a tile."""
    view = op.view.type
    kinds = [value.type for value in op.index]
    if len(kinds) != view.index_rank:
        raise op.error(f"expected {view.index_rank} index operands (based on view type), got {len(kinds)}")
    check_inbounds(op)
    if isinstance(view, GatherScatterViewType):
        _check_sparse_index(op, view, kinds.pop(view.sparse_dim))
    for kind in kinds:
        if kind.shape:
            raise op.error(f"expected index type to be a scalar tile, got '{kind}'")
    for i, kind in enumerate(kinds):
        if kind is not kinds[0]:
            raise op.error(
                f"expected index type {i} to be the same as other index types ('{kinds[0]}'), got '{kind}'"
            )


def check_inbounds(op: ViewAccess) -> None:
    """As many flags as indices."""
    count = len(op.index)
    if op.inbounds is not None and len(op.inbounds) != count:
        raise op.error(
            f"inbounds size ({len(op.inbounds)}) must match the number of index dimensions ({count})"
        )


def _check_sparse_index(op: Operation, view: GatherScatterViewType, kind: TileType) -> None:
    where = f"at sparse_dim position {view.sparse_dim}"
    if len(kind.shape) != 1:
        raise op.error(
            f"expected index {where} to be a 1D tensor for GatherScatterView, got rank {len(kind.shape)}"
        )
    if kind.shape[0] != view.tile[view.sparse_dim]:
        raise op.error(
            f"expected gather/scatter index size ({kind.shape[0]}) to match tile shape at gather/scatter dimension "
            f"({view.tile[view.sparse_dim]})"
        )
