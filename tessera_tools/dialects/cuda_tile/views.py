"""Views of `cuda_tile`: tensors in global memory, their partition into tiles, and loads and stores of whole tiles.

    make_tensor_view ─▶ tensor_view ─make_partition_view▶ partition_view ─load_view_tko[%i, %j]▶ tile, token

Memory operations are ordered by tokens only (`_tko`), not by their place in the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile import legacy_ops
from tessera_tools.dialects.cuda_tile.accesses import (
    INBOUNDS,
    TAIL_GRAMMAR,
    OrderedAccess,
    check_indices,
    check_ordering,
    index_types,
    index_types_text,
    ordering_text,
    read_ordering,
    read_tail,
    write_view_tail,
)
from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING, MEMORY_SCOPE, OptimizationHintsAttr
from tessera_tools.dialects.cuda_tile.constraints import (
    ANY_TILE,
    INT_TILE,
    PARTITION_VIEW,
    SCALAR_INT,
    SCALAR_POINTER,
    TENSOR_VIEW,
    TILE_VIEW,
    TOKEN_TYPE,
)
from tessera_tools.dialects.cuda_tile.formats import short_types, value_types
from tessera_tools.dialects.cuda_tile.integer_ops import NO_EFFECT
from tessera_tools.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar,
    short_text,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import DYNAMIC
from tessera_tools.opdef import (
    PURE,
    CustomDirective,
    MemoryEffects,
    Op,
    attribute,
    of,
    of_class,
    operand,
    optional_operand,
    read,
    result,
    variadic_operand,
    variadic_result,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState, Token


class TensorViewSyntax(CustomDirective, name="TensorViewSyntax"):
    """`%base, shape = [%m, 64], strides = [%s, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[?,1]>`.

    The base's type is before the extents' if the pointer specifies its kind of memory.
    """

    grammar = """
    custom: VALUE "," "shape" "=" custom_extents "," "strides" "=" custom_extents attr_dict ":" types ["->" TYPE]
    custom_extents: "[" "]" | "[" custom_extent ("," custom_extent)* "]"
    custom_extent: INTEGER -> constant | VALUE -> value | KEYWORD -> wrong
    """

    def read(self, state: OpState, node: Node) -> None:
        base, shape, strides, attributes, given, second = node
        view = given.pop() if second is None else second
        if not isinstance(view, TensorViewType):
            raise state.error(None, f"expected 'tensor_view' type, but got '{view}'")
        pointer = bool(given) and isinstance(given[0], TileType) and isinstance(given[0].element, PointerType)
        # A single type that is a plain pointer, with dynamic values, is taken as their type: the verifier rejects it.
        values = any(kind == "value" for kind, _ in (*shape, *strides))
        spelled = pointer and (len(given) > 1 or not values or given[0].element.kind is not None)
        state.operand("base", base)
        state.types("base", [given.pop(0) if spelled else scalar(PointerType(view.element))])
        first = given.pop(0) if given else None
        if given:
            raise state.error(None, f"expected one type for all dynamic values, but got '{given[0]}' too")
        for field, noun, extents, expected in (
            ("dynamicShape", "shape", shape, view.shape),
            ("dynamicStrides", "stride", strides, view.strides),
        ):
            tokens = self._dynamic(state, noun, extents, expected)
            if not tokens:
                continue
            if first is None:
                raise state.error(
                    tokens[0], "expected the type of the dynamic values, 'type -> tensor_view<…>'"
                )
            state.operands(field, tokens)
            state.types(field, [first] * len(tokens))
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("result", [view])

    def _dynamic(
        self, state: OpState, noun: str, extents: list[Node], expected: tuple[int, ...]
    ) -> list[Token]:
        """The values among the extents, which are compared with those of the type."""
        for kind, (token,) in extents:
            if kind == "wrong":
                raise state.error(token, f"expected either integer or SSA value, found '{token.text}'")
        if len(extents) != len(expected):
            raise state.error(
                extents[0][1][0] if extents else None,
                f"expected {noun} declaration to contain {len(expected)} elements due to tensor_view type, but "
                f"{len(extents)} were provided",
            )
        tokens: list[Token] = []
        for i, ((kind, (token,)), extent) in enumerate(zip(extents, expected, strict=True)):
            found = DYNAMIC if kind == "value" else integer_of(token.text)
            if found != extent:
                shown = ("dynamic" if v == DYNAMIC else str(v) for v in (extent, found))
                raise state.error(
                    token,
                    f"input {noun} dimension {i} does not match tensor_view type (expected {', got '.join(shown)})",
                )
            if kind == "value":
                tokens.append(token)
        return tokens

    def write(self, p: Printer, op: MakeTensorView) -> None:
        view = op.result.type
        shape = _extents(p, view.shape, op.dynamicShape)
        strides = _extents(p, view.strides, op.dynamicStrides)
        p.write(f" {p.name(op.base)}, shape = [{shape}], strides = [{strides}]")
        p.attr_dict(op, elide={"operandSegmentSizes"})
        dynamic = (*op.dynamicShape, *op.dynamicStrides)
        given = [dynamic[0].type] if dynamic else []
        pointer = op.base.type.element
        if isinstance(pointer, PointerType) and pointer.kind is not None:
            given.insert(0, op.base.type)
        p.write(f" : {short_types(given)} -> " if given else " : ")
        p.write(short_text(view))


def _extents(p: Printer, extents: tuple[int, ...], dynamic: Sequence[Value]) -> str:
    values = iter(dynamic)
    return ", ".join(p.name(next(values)) if extent == DYNAMIC else str(extent) for extent in extents)


class MakeTensorView(Op, name="cuda_tile.make_tensor_view", traits=(NO_EFFECT,)):
    """A tensor in global memory: base address, shape, and strides in elements."""

    base = operand(SCALAR_POINTER)
    dynamicShape = variadic_operand(SCALAR_INT)
    dynamicStrides = variadic_operand(SCALAR_INT)
    result = result(TENSOR_VIEW)
    assembly = "custom<TensorViewSyntax>"

    def verify_op(self) -> None:
        view, pointer = self.result.type, self.base.type.element
        assert isinstance(pointer, PointerType)
        pointee, kind = pointer.pointee, pointer.kind
        if view.element is not pointee:
            raise self.error(
                f"expected pointer to '{view.element}' to build tensor_view of this type, got '{pointee}'"
            )
        if kind is not view.kind:
            raise self.error(
                "pointer base without ptr_attr cannot produce tensor_view with ptr_attr"
                if kind is None
                else f"tensor_view must preserve ptr_attr from base pointer ({kind})"
            )
        groups = (
            ("shape", view.dynamic_extents, self.dynamicShape),
            ("stride", view.dynamic_strides, self.dynamicStrides),
        )
        for noun, expected, found in groups:
            if expected != len(found):
                raise self.error(f"expected {expected} dynamic {noun} operands, got {len(found)}")
        kinds = value_types((*self.dynamicShape, *self.dynamicStrides))
        for noun, _, found in groups:
            for i, value in enumerate(found):
                if value.type is not kinds[0]:
                    raise self.error(
                        f"expected dynamic {noun} index {i} to be of the same type as the other dynamic values "
                        f"('{kinds[0]}'), got '{value.type}'"
                    )


class PartitionSyntax(CustomDirective, name="PartitionSyntax"):
    """`%view : partition_view<tile=(…), tensor_view<…>>`: the operand's type is a part of the result's."""

    grammar = 'custom: VALUE attr_dict ":" TYPE'

    def read(self, state: OpState, node: Node) -> None:
        source, attributes, view = node
        kind = _VIEW_OF[state.definition.name.partition(".")[2]]
        if not isinstance(view, kind):
            raise state.error(None, f"expected '{kind.name.partition('.')[2]}' type, but got '{view}'")
        state.operand("tensor_view", source)
        state.types("tensor_view", [view.tensor_view])
        state.types("result", [view])
        for key, value in attributes.items():
            state.attribute(key, value)

    def write(self, p: Printer, op: MakeGatherScatterView | MakePartitionView | MakeStridedView) -> None:
        p.write(f" {p.name(op.tensor_view)}")
        p.attr_dict(op)
        p.write(f" : {short_text(op.result.type)}")


_VIEW_OF: dict[str, type[PartitionViewType | StridedViewType | GatherScatterViewType]] = {
    "make_partition_view": PartitionViewType,
    "make_strided_view": StridedViewType,
    "make_gather_scatter_view": GatherScatterViewType,
}


class _MakeTileView(Op):
    tensor_view = operand(TENSOR_VIEW)
    result = result(of(PartitionViewType, StridedViewType, GatherScatterViewType))
    assembly = "custom<PartitionSyntax>"

    def verify_op(self) -> None:
        found, expected = self.tensor_view.type, self.result.type.tensor_view
        if found is not expected:
            raise self.error(
                f"expected the type of the provided tensor_view value ('{found}') to be the same as the view's "
                f"tensor_view type ('{expected}')"
            )


class MakeStridedView(_MakeTileView, name="cuda_tile.make_strided_view", traits=(PURE,)):
    """A tensor as tiles at given distances in elements; they may overlap or leave gaps."""

    tensor_view = operand(TENSOR_VIEW)
    result = result(of(StridedViewType, summary="strided view type"))


class MakeGatherScatterView(_MakeTileView, name="cuda_tile.make_gather_scatter_view", traits=(PURE,)):
    """A tensor as tiles whose indices along one dimension are given individually."""

    tensor_view = operand(TENSOR_VIEW)
    result = result(of(GatherScatterViewType, summary="gather/scatter view type"))


class MakePartitionView(_MakeTileView, name="cuda_tile.make_partition_view", traits=(PURE,)):
    """A tensor cut into a grid of tiles."""

    tensor_view = operand(TENSOR_VIEW)
    result = result(PARTITION_VIEW)


class ShapeSyntax(CustomDirective, name="ShapeSyntax"):
    """`%view : partition_view<…> -> tile<i32>`: one type for all results; there is one result per dimension."""

    grammar = 'custom: VALUE attr_dict ":" TYPE "->" TYPE'

    def read(self, state: OpState, node: Node) -> None:
        source, attributes, view, kind = node
        state.operand("src", source)
        state.types("src", [view])
        state.types("extents", [kind] * self.rank(state, view))
        for key, value in attributes.items():
            state.attribute(key, value)

    def rank(self, state: OpState, view: Type) -> int:
        """The number of extents of the view."""
        if state.definition.name == "cuda_tile.get_tensor_shape":
            if not isinstance(view, TensorViewType):
                raise state.error(None, f"expected tensor_view, got '{view}'")
            return len(view.shape)
        if not isinstance(view, TileViewType):
            raise state.error(None, f"expected tile view, got '{view}'")
        return view.index_rank

    def write(self, p: Printer, op: GetIndexSpaceShape | GetTensorShape) -> None:
        p.write(f" {p.name(op.src)}")
        p.attr_dict(op)
        kind = op.result_types[0] if op.results else None
        p.write(f" : {short_text(op.src.type)} -> {short_text(kind) if kind is not None else '()'}")


class GetIndexSpaceShape(Op, name="cuda_tile.get_index_space_shape", traits=(NO_EFFECT,)):
    """The number of tiles of a view along each of its dimensions, including partial ones."""

    src = operand(TILE_VIEW)
    extents = variadic_result(SCALAR_INT)
    assembly = "custom<ShapeSyntax>"

    def verify_op(self) -> None:
        rank = self.src.type.index_rank
        if len(self.results) != rank:
            raise self.error(
                f"expected {rank} results due to view index space rank, but got {len(self.results)}"
            )
        if any(kind is not self.result_types[0] for kind in self.result_types):
            raise self.error("expects results of one type")


class GetTensorShape(Op, name="cuda_tile.get_tensor_shape", traits=(NO_EFFECT,)):
    """The extents of a tensor view."""

    src = operand(TENSOR_VIEW)
    extents = variadic_result(SCALAR_INT)
    assembly = "custom<ShapeSyntax>"

    def verify_op(self) -> None:
        rank = len(self.src.type.shape)
        if len(self.results) != rank:
            raise self.error(f"expected {rank} results due to tensor rank, but got {len(self.results)}")
        if any(kind is not self.result_types[0] for kind in self.result_types):
            raise self.error("expects results of one type")


# -- loads and stores


class LoadViewSyntax(CustomDirective, name="LoadViewSyntax"):
    """`weak %view[%i, %j] token = %t : partition_view<…>, tile<i32> -> tile<…>, token`.

    The older spelling is `%view, [%i, %j], %t : !cuda_tile.tile<…>, !cuda_tile.token`.
    """

    grammar = (
        """
    custom: KEYWORD [KEYWORD] VALUE "[" [values] "]" custom_tail ":" types "->" TYPE "," TYPE -> today
        | VALUE "," "[" values "]" ["," VALUE] ":" TYPE "," TYPE -> older
    """
        + TAIL_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        form, children = node
        if form == "older":
            state.definition = legacy_ops.LegacyLoad.definition
            view, indices, token, tile, result_token = children
            state.operand("view", view)
            state.operands("index", indices)
            state.operands("token", [] if token is None else [token])
        else:
            ordering, scope, view, indices, tail, (view_type, *types), tile, result_token = children
            read_ordering(state, ordering, scope)
            indices = indices or []
            state.operand("view", view)
            state.types("view", [view_type])
            state.operands("index", indices)
            state.types("index", index_types(state, indices, types))
            read_tail(state, tail)
        state.types("tile", [tile])
        state.types("result_token", [result_token])

    def write(self, p: Printer, op: LoadViewTko) -> None:
        p.write(f"{ordering_text(op)} {p.name(op.view)}[{', '.join(map(p.name, op.index))}]")
        write_view_tail(p, op)
        results = short_types(op.result_types)
        p.write(f" : {short_text(op.view.type)}{index_types_text(op)} -> {results}")


class StoreViewSyntax(CustomDirective, name="StoreViewSyntax"):
    """`weak %tile, %view[%i, %j] token = %t : tile<…>, partition_view<…>, tile<i32> -> token`.

    The older spelling is `%view, [%i, %j], %tile, %t : !cuda_tile.token`.
    """

    grammar = (
        """
    custom: KEYWORD [KEYWORD] VALUE "," VALUE "[" [values] "]" custom_tail ":" types "->" TYPE -> today
        | VALUE "," "[" values "]" "," VALUE ["," VALUE] ":" TYPE -> older
    """
        + TAIL_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        form, children = node
        if form == "older":
            state.definition = legacy_ops.LegacyStore.definition
            view, indices, tile, token, result_token = children
            state.operand("view", view)
            state.operands("index", indices)
            state.operand("tile", tile)
            state.operands("token", [] if token is None else [token])
        else:
            ordering, scope, tile, view, indices, tail, types, result_token = children
            read_ordering(state, ordering, scope)
            indices = indices or []
            if len(types) < 2:
                raise state.error(None, "expected the types of the tile and of the view")
            state.operand("tile", tile)
            state.types("tile", types[:1])
            state.operand("view", view)
            state.types("view", types[1:2])
            state.operands("index", indices)
            state.types("index", index_types(state, indices, types[2:]))
            read_tail(state, tail)
        state.types("result_token", [result_token])

    def write(self, p: Printer, op: StoreViewTko) -> None:
        indices = ", ".join(map(p.name, op.index))
        p.write(f"{ordering_text(op)} {p.name(op.tile)}, {p.name(op.view)}[{indices}]")
        write_view_tail(p, op)
        types = short_types(value_types((op.tile, op.view)))
        p.write(f" : {types}{index_types_text(op)} -> {short_text(op.result_token.type)}")


def _check_access(op: LoadViewTko | StoreViewTko) -> None:
    view = op.view.type
    if len(op.index) != view.index_rank:
        raise op.error(f"expected {view.index_rank} index operands (based on view type), got {len(op.index)}")
    if op.tile.type is not view.tile_type:
        raise op.error(
            f"expected tile type to be '{view.tile_type}' (based on view type), got '{op.tile.type}'"
        )
    check_indices(op)


class LoadViewTko(OrderedAccess, name="cuda_tile.load_view_tko", traits=(MemoryEffects(read("view")),)):
    """Loads one tile of a view; elements outside the tensor are the view's padding value."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE, optional=True)
    view = operand(TILE_VIEW)
    index = variadic_operand(INT_TILE)
    token = optional_operand(TOKEN_TYPE)
    optimization_hints = attribute(of_class(OptimizationHintsAttr), optional=True)
    inbounds = attribute(INBOUNDS, optional=True)
    tile = result(ANY_TILE)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<LoadViewSyntax>"

    def verify_op(self) -> None:
        _check_access(self)
        check_ordering(self, "load", "acquire")


class StoreViewTko(OrderedAccess, name="cuda_tile.store_view_tko", traits=(MemoryEffects(write("view")),)):
    """Stores one tile of a view; elements out of bounds are skipped."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE, optional=True)
    tile = operand(ANY_TILE)
    view = operand(TILE_VIEW)
    index = variadic_operand(INT_TILE)
    token = optional_operand(TOKEN_TYPE)
    optimization_hints = attribute(of_class(OptimizationHintsAttr), optional=True)
    inbounds = attribute(INBOUNDS, optional=True)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<StoreViewSyntax>"

    def verify_op(self) -> None:
        _check_access(self)
        check_ordering(self, "store", "release")
