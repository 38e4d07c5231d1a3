"""Reductions into views of `cuda_tile`: atomic ones, and those of multicast memory, which is replicated on several
GPUs.

atomic_red_view_tko relaxed device %view[%i], addf, %tile token = %t : tile<…>, partition_view<…>, tile<i32> -> token
multimem_store_view_tko weak %view, %tile[%i] token = %t : partition_view<…>, tile<…>, tile<i32>, token -> token
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tessera_tools.dialects.cuda_tile.accesses import (
    INBOUNDS,
    TAIL_GRAMMAR,
    VIEW_KEYS,
    OrderedAccess,
    check_inbounds,
    check_indices,
    check_ordering,
    index_types,
    index_types_text,
    ordering_text,
    read_ordering,
    read_tail,
    write_inbounds,
)
from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING, MEMORY_SCOPE, MultimemReductionAttr
from tessera_tools.dialects.cuda_tile.constraints import (
    ANY_TILE,
    INT_TILE,
    TILE_VIEW,
    TOKEN_TYPE,
    shape_of,
    shape_text,
)
from tessera_tools.dialects.cuda_tile.formats import HasOrderings, read_keywords, short_types, value_types
from tessera_tools.dialects.cuda_tile.memory import ATOMIC_MODE, check_atomic_mode
from tessera_tools.dialects.cuda_tile.types import TOKEN, GatherScatterViewType, TokenType, short_text
from tessera_tools.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, IntegerType, bit_width
from tessera_tools.opdef import (
    READ_WRITE,
    CustomDirective,
    MemoryEffects,
    Op,
    attribute,
    enum,
    operand,
    optional_operand,
    read,
    result,
    variadic_operand,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


def _write_token_and_bounds(p: Printer, op: AtomicRedViewTko) -> None:
    if op.token is not None:
        p.write(f" token = {p.name(op.token)}")
    write_inbounds(p, op)
    p.attr_dict(op, elide=VIEW_KEYS, keyword=True)


class AtomicViewSyntax(CustomDirective, name="AtomicViewSyntax"):
    """`relaxed device %view[%i], addf, %tile token = %t : tile<…>, partition_view<…>, tile<i32> -> token`."""

    grammar = (
        """
    custom: KEYWORD [KEYWORD] VALUE "[" [values] "]" "," KEYWORD "," VALUE custom_tail ":" types "->" TYPE
    """
        + TAIL_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        ordering, scope, view, indices, mode, value, tail, types, result_token = node
        read_keywords(state, ordering, scope)
        indices = indices or []
        try:
            state.attribute("mode", ATOMIC_MODE.build(mode))
        except ValueError as problem:
            raise state.error(mode, str(problem)) from None
        if len(types) < 2:
            raise state.error(None, "expected the types of the value and of the view")
        state.operand("view", view)
        state.types("view", types[1:2])
        state.operands("index", indices)
        state.types("index", index_types(state, indices, types[2:]))
        state.operand("value", value)
        state.types("value", types[:1])
        read_tail(state, tail)
        state.types("result_token", [result_token])

    def write(self, p: Printer, op: AtomicRedViewTko) -> None:
        indices = ", ".join(map(p.name, op.index))
        mode = ATOMIC_MODE.text(op.mode)
        p.write(f"{ordering_text(op)} {p.name(op.view)}[{indices}], {mode}, {p.name(op.value)}")
        _write_token_and_bounds(p, op)
        types = short_types(value_types((op.value, op.view)))
        p.write(f" : {types}{index_types_text(op)} -> {short_text(op.result_token.type)}")


class AtomicRedViewTko(HasOrderings, Op, name="cuda_tile.atomic_red_view_tko", traits=(READ_WRITE,)):
    """Reduces a tile into one tile of a view, each element in one step; what was there before is not returned."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE)
    view = operand(TILE_VIEW)
    index = variadic_operand(INT_TILE)
    mode = attribute(ATOMIC_MODE)
    value = operand(ANY_TILE)
    token = optional_operand(TOKEN_TYPE)
    inbounds = attribute(INBOUNDS, optional=True)
    result_token = result(TOKEN_TYPE)
    orderings = ("weak", "relaxed", "acquire", "release", "acq_rel")
    assembly = "custom<AtomicViewSyntax>"

    def verify_op(self) -> None:
        view = self.view.type
        if isinstance(view, GatherScatterViewType):
            raise self.error("gather_scatter_view is not supported; use partition_view instead")
        tile, value = view.tile_type, self.value.type
        if tile.element is not value.element:
            raise self.error(
                f"view element type ('{tile.element}') must match value element type ('{value.element}')"
            )
        if tile.shape != value.shape:
            found, expected = (", ".join(map(str, shape)) for shape in (tile.shape, value.shape))
            raise self.error(
                f"view tile shape {found} must match value shape {expected} for element-wise atomic operations"
            )
        if ATOMIC_MODE.text(self.mode) == "xchg":
            raise self.error("atomic_red_view_tko op cannot use xchg operation")
        check_atomic_mode(self, value.element)
        if MEMORY_ORDERING.text(self.memory_ordering_semantics) != "relaxed":
            raise self.error("only 'relaxed' memory ordering is supported for view-based atomic reductions")
        if MEMORY_SCOPE.text(self.memory_scope) == "sys":
            raise self.error(
                "memory scope 'sys' is not supported for view-based atomic reductions; use 'tl_blk' or 'device' for "
                "TMA compatibility"
            )
        if len(self.index) != view.index_rank:
            raise self.error(
                f"expected {view.index_rank} index operand(s) for view with tile rank {view.index_rank}, "
                f"got {len(self.index)}"
            )
        for i, index in enumerate(self.index):
            if shape_of(index):
                raise self.error(
                    f"index operand {i} must be a scalar tile (rank 0), got shape {shape_text(shape_of(index))}"
                )
        check_inbounds(self)


class MultimemSyntax(CustomDirective, name="MultimemSyntax"):
    """`weak %view, %tile[%i] token = %t : partition_view<…>, tile<…>, tile<i32>, token -> token`; no tile in a load."""

    grammar = (
        """
    custom: KEYWORD [KEYWORD] VALUE ["," VALUE] "[" [values] "]" custom_tail ":" types "->" types
    """
        + TAIL_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        ordering, scope, view, tile, indices, tail, types, results = node
        read_ordering(state, ordering, scope)
        indices = indices or []
        stored = any(field.name == "tile" for field in state.definition.operands)
        if stored != (tile is not None):
            raise state.error(None, f"takes {'a' if stored else 'no'} tile after the view")
        if types and isinstance(types[-1], TokenType):
            types = types[:-1]
        if len(types) < 1 + stored or len(results) != len(state.definition.results):
            raise state.error(
                None, "expected the types of the view, of the tile if one is stored, and of the indices"
            )
        state.operand("view", view)
        state.types("view", types[:1])
        if tile is not None:
            state.operand("tile", tile)
            state.types("tile", types[1:2])
        state.operands("index", indices)
        state.types("index", index_types(state, indices, types[1 + stored :]))
        read_tail(state, tail)
        for field, kind in zip(state.definition.results, results, strict=True):
            state.types(field.name, [kind])

    def write(
        self, p: Printer, op: MultimemLoadReduceViewTko | MultimemReduceViewTko | MultimemStoreViewTko
    ) -> None:
        stored = () if isinstance(op, MultimemLoadReduceViewTko) else (op.tile,)
        indices = ", ".join(map(p.name, op.index))
        p.write(f"{ordering_text(op)} {p.names((op.view, *stored))}[{indices}]")
        if op.token is not None:
            p.write(f" token = {p.name(op.token)}")
        if op.inbounds is None:
            p.write(" ")  # as the reference leaves one
        write_inbounds(p, op)
        p.attr_dict(op, elide=[key for key in VIEW_KEYS if key != "reduction"], keyword=True)
        kinds = short_types(value_types((op.view, *stored)))
        token = f", {short_text(TOKEN)}" if op.token is not None else ""
        p.write(f" : {kinds}{index_types_text(op)}{token} -> {short_types(op.result_types)}")


class _Multimem(OrderedAccess):
    def _check(self, tile: Any, noun: str, last: str) -> None:
        op: Any = self
        view = op.view.type
        kind = view.tensor_view.kind
        if kind is None or kind.value != "multicast":
            raise op.error(
                f"expected a multicast pointer, but got {kind.value if kind is not None else 'none'}"
            )
        if tile is not view.tile_type:
            raise op.error(f"expected tile type to be '{view.tile_type}' (based on view type), got '{tile}'")
        check_indices(op)
        check_ordering(op, noun, last)
        if isinstance(tile.element, FloatType):
            if tile.element not in (F16, BF16, F32, F64):
                raise op.error("multimem supports only f16, bf16, f32, and f64 floating-point element types")
            count, width = math.prod(tile.shape), bit_width(tile.element)
            if count * width % 32:
                raise op.error(
                    "multimem op requires tile total size to be a multiple of 4 bytes for float element types; got "
                    f"{count} element(s) of {width} bits (total {count * width} bits)"
                )
        elif tile.element not in (I32, I64):
            width = bit_width(tile.element)
            raise op.error(f"multimem requires 32- or 64-bit integer/index element types; got {width} bits")
        reduction, element = op.definition.fields.get("reduction") and op.reduction.value, tile.element
        if reduction in ("min", "max") and isinstance(element, FloatType) and element not in (F16, BF16):
            raise op.error(f"min/max supports f16 and bf16 float types only; got '{element}'")
        if reduction not in (None, "add", "min", "max") and not isinstance(element, IntegerType):
            raise op.error("and/or/xor/umin/umax reductions require integer element types")


class MultimemLoadReduceViewTko(
    _Multimem, name="cuda_tile.multimem_load_reduce_view_tko", traits=(MemoryEffects(read("view")),)
):
    """Loads one tile of a view of multicast memory from every GPU, and combines the copies."""

    view = operand(TILE_VIEW)
    index = variadic_operand(INT_TILE)
    token = optional_operand(TOKEN_TYPE)
    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE, optional=True)
    reduction = attribute(enum(MultimemReductionAttr), default=MultimemReductionAttr("add"))
    inbounds = attribute(INBOUNDS, optional=True)
    reduced_values = result(ANY_TILE)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<MultimemSyntax>"

    def verify_op(self) -> None:
        self._check(self.reduced_values.type, "load", "acquire")


class MultimemReduceViewTko(_Multimem, name="cuda_tile.multimem_reduce_view_tko", traits=(READ_WRITE,)):
    """Reduces a tile into one tile of a view of multicast memory, on every GPU."""

    view = operand(TILE_VIEW)
    tile = operand(ANY_TILE)
    index = variadic_operand(INT_TILE)
    token = optional_operand(TOKEN_TYPE)
    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE)
    reduction = attribute(enum(MultimemReductionAttr), default=MultimemReductionAttr("add"))
    inbounds = attribute(INBOUNDS, optional=True)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<MultimemSyntax>"

    def verify_op(self) -> None:
        self._check(self.tile.type, "reduction", "release")
        if self.reduction.value != "add" and isinstance(self.tile.type.element, FloatType):
            raise self.error("supports only add for floating-point element types")


class MultimemStoreViewTko(
    _Multimem, name="cuda_tile.multimem_store_view_tko", traits=(MemoryEffects(write("view")),)
):
    """Stores one tile of a view of multicast memory, on every GPU."""

    view = operand(TILE_VIEW)
    tile = operand(ANY_TILE)
    index = variadic_operand(INT_TILE)
    token = optional_operand(TOKEN_TYPE)
    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE, optional=True)
    inbounds = attribute(INBOUNDS, optional=True)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<MultimemSyntax>"

    def verify_op(self) -> None:
        self._check(self.tile.type, "store", "release")
