"""Tokens, views of memory, and tiled accesses through them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileaa.base import (
    COPY_ATOM,
    INTEGER_SCALAR,
    POINTER,
    TOKEN,
    VIEW,
    GlobalSpaceAttr,
    MemRefType,
    PaddingAttr,
)
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.interfaces import TileAccess
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import (
    I32,
    RankedTensorType,
)
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    I1_ARRAY,
    I64_ARRAY,
    PURE,
    CustomDirective,
    MemoryEffects,
    Op,
    attribute,
    enum,
    exactly,
    of_class,
    operand,
    read,
    result,
    same_as,
    variadic_operand,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class CreateMemToken(Op, name="nv_tileaa.create_mem_token", traits=(PURE,)):
    """The token before any memory operation."""

    res = result(TOKEN)
    assembly = "attr-dict `:` type($res)"


class JoinMemTokens(Op, name="nv_tileaa.join_mem_tokens", traits=(PURE,)):
    """The point after all of the given tokens."""

    tokens = variadic_operand(TOKEN)
    res = result(TOKEN)
    assembly = "$tokens attr-dict `:` type($res)"


class MixedIndices(CustomDirective, name="MixedIndices"):
    """`[%a, 1, %b]`: values in the operand field, constants in the array attribute (`DYNAMIC` for a value)."""

    grammar = """
custom: "[" custom_item ("," custom_item)* "]" -> some | "[" "]" -> none
custom_item: VALUE -> value | INTEGER -> number
"""

    def read(self, state: OpState, node: Node) -> None:
        field, key = self.arguments
        static: list[int] = []
        for form, (token,) in node[1] if node[0] == "some" else ():
            if form == "value":
                state.operand(field, token)
                static.append(DYNAMIC_INDEX)
            else:
                static.append(integer_of(token.text))
        state.operand_tokens.setdefault(field, [])
        state.attribute(key, I64_ARRAY.build([(str(v), 0) for v in static]))

    def write(self, p: Printer, op: Op) -> None:
        field, key = self.arguments
        values, static = iter(op.values_of(field)), op.attributes[key]
        assert isinstance(static, DenseArrayAttr)
        parts = [p.name(next(values)) if v == DYNAMIC_INDEX else str(v) for v in static.values]
        p.space()
        p.write(f"[{', '.join(parts)}]")


DYNAMIC_INDEX = -(1 << 63)
"""Marks in a static index array the places whose index is a value (MLIR's kDynamic)."""


class MakeMemRef(Op, name="nv_tileaa.make_memref", traits=(PURE,)):
    """A view of memory: base pointer, extents and strides in elements.

    Along an axis that is `inbounds`, every access is in bounds, so that nothing compares the extent with its indices.
    """

    base = operand(POINTER)
    shape = variadic_operand(INTEGER_SCALAR)
    stride = variadic_operand(INTEGER_SCALAR)
    static_shape = attribute(I64_ARRAY)
    static_stride = attribute(I64_ARRAY)
    space = attribute(of_class(GlobalSpaceAttr))
    inbounds = attribute(I1_ARRAY, optional=True)
    res = result(VIEW)
    assembly = (
        "$base `,` `shape` `=` custom<MixedIndices>($shape, $static_shape) `,` `stride` `=` "
        "custom<MixedIndices>($stride, $static_stride) `,` `space` `=` $space attr-dict `:` "
        "custom<IndexTypes>($base, $shape, $stride) type($res)"
    )

    def verify_op(self) -> None:
        rank = self.res.type.rank
        for key in ("static_shape", "static_stride"):
            if len(self.attributes[key].values) != rank:  # type: ignore[attr-defined]
                raise self.error(f"expected {rank} entries in '{key[7:]}' for {self.res.type}")
        if len(self.promised()) != rank:
            raise self.error(f"expected {rank} entries in 'inbounds' for {self.res.type}")

    def extents(self) -> list[int | Value]:
        """The extent of each axis: an int or a value."""
        return _mixed(self.static_shape, self.shape)

    def promised(self) -> tuple[bool, ...]:
        """For each axis, true if all accesses are in bounds along it."""
        flags = self.inbounds
        return tuple(map(bool, flags.values)) if flags is not None else (False,) * self.res.type.rank

    def strides(self) -> list[int | Value]:
        """The stride of each axis in elements: an int or a value."""
        return _mixed(self.static_stride, self.stride)


def _mixed(static: DenseArrayAttr, values: Iterable[Value]) -> list[int | Value]:
    dynamic = iter(values)
    return [next(dynamic) if v == DYNAMIC_INDEX else v for v in static.values]


class IndexTypes(CustomDirective, name="IndexTypes"):
    """Nothing for i32 indices over a global pointer; `(i64) ` if the index type differs."""

    grammar = 'custom: "(" TYPE ")" -> given | -> absent'

    def read(self, state: OpState, node: Node) -> None:
        index = node[1][0] if node[0] == "given" else I32
        for field in self.arguments:
            if field == "base":
                state.types(field, [PointerType(1)])
            else:
                state.types(field, [index] * len(state.operand_tokens.get(field, ())))

    def write(self, p: Printer, op: Op) -> None:
        types = {v.type for field in self.arguments if field != "base" for v in op.values_of(field)} - {I32}
        if types:
            p.space()
            p.write(f"({p.type(types.pop())})")


class AddPtr(Op, name="nv_tileaa.addptr", traits=(PURE,)):
    """The view moved by an offset, in elements, along each axis; its bounds stay those of the whole."""

    view = operand(VIEW)
    offsets = variadic_operand(exactly(I32))
    res = result(same_as("view"))
    assembly = "$view `,` `[` $offsets `]` attr-dict `:` type($res)"

    def verify_op(self) -> None:
        if len(self.offsets) != self.view.type.rank:
            raise self.error(
                f"expected {self.view.type.rank} offsets for {self.view.type}, got {len(self.offsets)}"
            )


class TiledLoad(TileAccess, Op, name="nv_tileaa.tiled_load", traits=(MemoryEffects(read("view")),)):
    """Loads the tile at the position of the view; elements outside the view are `padding`."""

    word = "ldg"
    view = operand(VIEW)
    token = operand(TOKEN)
    copy_atom = attribute(COPY_ATOM)
    padding = attribute(enum(PaddingAttr), default=PaddingAttr("undef"))
    res = result(ANY_RANKED_TENSOR)
    out_token = result(TOKEN)
    assembly = "$view `,` $token (`padding` $padding^)? attr-dict `:` type($view) `->` type($res) `,` type($out_token)"

    @property
    def moved(self) -> Value[RankedTensorType]:
        """The loaded tile."""
        return self.res

    def verify_op(self) -> None:
        self.copy_atom.check(self, self.view.type.element)
        verify_access(self, self.view.type, self.res.type)


class TiledStore(TileAccess, Op, name="nv_tileaa.tiled_store", traits=(MemoryEffects(write("view")),)):
    """Stores a tile at the position of the view; elements outside the view are not written."""

    word = "stg"
    view = operand(VIEW)
    value = operand(ANY_RANKED_TENSOR)
    token = operand(TOKEN)
    copy_atom = attribute(COPY_ATOM)
    out_token = result(TOKEN)
    assembly = "$view `,` $value `,` $token attr-dict `:` type($value) `,` type($view) `,` type($out_token)"

    @property
    def moved(self) -> Value[RankedTensorType]:
        """The stored tile."""
        return self.value

    def verify_op(self) -> None:
        self.copy_atom.check(self, self.view.type.element)
        verify_access(self, self.view.type, self.value.type)


def verify_access(op: Op, view: MemRefType, tile: RankedTensorType) -> None:
    """An error unless a tile and the view that it is accessed through have one element type and one rank."""
    if view.element is not tile.element:
        raise op.error(f"accesses elements of {tile.element}, but the view has {view.element}")
    if view.rank != tile.rank:
        raise op.error(f"accesses a tile of rank {tile.rank} through a view of rank {view.rank}")
