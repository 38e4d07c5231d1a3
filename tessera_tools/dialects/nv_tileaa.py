"""The `nv_tileaa` dialect (stage 2): alias-aware tile programs over plain tensors.

Tiles are `tensor<…>`, memory is reached through `memref` views, and every memory op stands in a chain of
`!nv_tileaa.mem_token`s.  A tiled access carries the copy atom that says which hardware primitive will do it.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.func import FunctionLike
from tessera_tools.dialects.func import FunctionSyntax as _FunctionSyntax
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.types import (
    I32,
    IndexType,
    IntegerType,
    RankedTensorType,
    ShapedType,
)
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    ANY_TYPE,
    CONSTANT_LIKE,
    ELEMENTS_ATTR,
    I32_ATTR,
    I64_ARRAY,
    I64_ATTR,
    ISOLATED_FROM_ABOVE,
    PURE,
    READ,
    RETURN_LIKE,
    STRING_ATTR,
    SYMBOL,
    WRITE,
    CustomDirective,
    Dialect,
    EnumAttr,
    HasParent,
    Op,
    attribute,
    by_word,
    enum,
    exactly,
    of,
    of_class,
    operand,
    ops_of,
    result,
    same_as,
    variadic_operand,
)


class MemTokenType(Type, name="nv_tileaa.mem_token"):
    """`!nv_tileaa.mem_token`: a point in the order of memory operations."""

    def text(self) -> str:
        return "!nv_tileaa.mem_token"


MEM_TOKEN = MemTokenType()


class MemRefType(ShapedType, name="nv_tileaa.memref"):
    """`!nv_tileaa.memref<?x?xf16>`: a view of global memory; extents and strides are values of the op that made it."""

    @classmethod
    def parse(cls, s: Any) -> MemRefType:
        s.expect("<")
        shape = s.dimensions()
        element = s.type()
        s.expect(">")
        return cls(shape, element)

    def text(self) -> str:
        return f"!nv_tileaa.memref<{self.dims_text()}{self.element}>"


class GlobalSpaceAttr(Attribute, name="nv_tileaa.global"):
    """`#nv_tileaa.global`: global memory."""

    def text(self) -> str:
        return "#nv_tileaa.global"


class KernelSpecAttr(Attribute, name="nv_tileaa.kernel_spec"):
    """`#nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>`: how a kernel is launched."""

    num_warps: int
    cluster: tuple[int, ...] = (1, 1, 1)

    def verify(self) -> None:
        if not 1 <= self.num_warps <= 32 or self.num_warps & (self.num_warps - 1):
            raise ValueError(f"num_warps must be a power of two from 1 to 32, got {self.num_warps}")
        if len(self.cluster) != 3 or min(self.cluster) < 1:
            raise ValueError(f"cluster must be three positive extents, got {list(self.cluster)}")

    @classmethod
    def parse(cls, s: Any) -> KernelSpecAttr:
        s.expect("<")
        s.keyword("num_warps")
        s.expect("=")
        warps = s.integer()
        cluster = (1, 1, 1)
        if s.optional(","):
            s.keyword("cluster")
            s.expect("=")
            cluster = tuple(s.list("[", s.integer, "]"))
        s.expect(">")
        return cls(warps, cluster)

    def text(self) -> str:
        return f"#nv_tileaa.kernel_spec<num_warps = {self.num_warps}, cluster = {list(self.cluster)}>"


class PaddingAttr(EnumAttr, name="nv_tileaa.padding"):
    """What a load gives outside the view: `undef` is any value, the others as they say."""

    cases = ("undef", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")


POINTER = of(PointerType, summary="LLVM pointer")
VIEW = of(MemRefType, summary="nv_tileaa.memref")
INTEGER_SCALAR = of(IntegerType, IndexType, summary="integer or index")
TOKEN = exactly(MEM_TOKEN)
COPY_ATOM = of_class(CopyAtomAttr)


class MixedIndices(CustomDirective, name="MixedIndices"):
    """`[%a, 1, %b]`: values in the operand field, constants in the array attribute (`DYNAMIC` where a value stands)."""

    grammar = """
custom: "[" custom_item ("," custom_item)* "]" -> some | "[" "]" -> none
custom_item: VALUE -> value | INTEGER -> number
"""

    def read(self, state: Any, node: Any) -> None:
        field, key = self.arguments
        static: list[int] = []
        for form, (token,) in node[1] if node[0] == "some" else ():
            if form == "value":
                state.operand(field, token)
                static.append(DYNAMIC_INDEX)
            else:
                static.append(int(token.text, 0))
        state.operand_tokens.setdefault(field, [])
        state.attribute(key, I64_ARRAY.build([(str(v), 0) for v in static]))

    def write(self, p: Any, op: Any) -> None:
        field, key = self.arguments
        values = iter(getattr(op, field))
        parts = [p.name(next(values)) if v == DYNAMIC_INDEX else str(v) for v in op.attributes[key].values]
        p.space()
        p.write(f"[{', '.join(parts)}]")


DYNAMIC_INDEX = -(1 << 63)
"""Marks in a static index array the places whose index is a value (MLIR's kDynamic)."""


class FunctionSyntax(_FunctionSyntax, name="TileFunction"):
    """The signature syntax of func.func."""


class Func(FunctionLike, name="nv_tileaa.func", traits=(ISOLATED_FROM_ABOVE, SYMBOL)):
    """A tile function; a kernel if it carries `nv_tileaa.kernel_spec`."""

    sym_visibility = attribute(STRING_ATTR, optional=True)
    assembly = "custom<TileFunction>"

    @property
    def kernel_spec(self) -> KernelSpecAttr | None:
        spec = self.attributes.get("nv_tileaa.kernel_spec")
        return spec if isinstance(spec, KernelSpecAttr) else None


class Return(Op, name="nv_tileaa.return", traits=(RETURN_LIKE, PURE, HasParent("nv_tileaa.func"))):
    """Ends a tile function."""

    operands_ = variadic_operand()
    assembly = "attr-dict ($operands^ `:` type($operands))?"


class CreateMemToken(Op, name="nv_tileaa.create_mem_token", traits=(PURE,)):
    """The token before any memory operation."""

    res = result(TOKEN)
    assembly = "attr-dict `:` type($res)"


class JoinMemTokens(Op, name="nv_tileaa.join_mem_tokens", traits=(PURE,)):
    """The point after all of the given tokens."""

    tokens = variadic_operand(TOKEN)
    res = result(TOKEN)
    assembly = "$tokens attr-dict `:` type($res)"


class _GridQuery(Op):
    """The base of queries about the grid; `axis` is 0, 1 or 2."""

    axis = attribute(I32_ATTR)
    res = result(exactly(I32))
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        if not 0 <= self.axis.value <= 2:
            raise self.error(f"axis must be 0, 1 or 2, got {self.axis.value}")


class GetProgramId(_GridQuery, name="nv_tileaa.get_program_id", traits=(PURE,)):
    """The index of this program (tile block) along an axis of the grid."""


class GetNumPrograms(_GridQuery, name="nv_tileaa.get_num_programs", traits=(PURE,)):
    """The number of programs along an axis of the grid."""


class Assume(Op, name="nv_tileaa.assume", traits=(PURE,)):
    """The operand, with facts that the program guarantees: a divisor (in units of the value; bytes for a pointer) and
    inclusive bounds."""

    source = operand(INTEGER_SCALAR | POINTER)
    divisor = attribute(I64_ATTR, optional=True)
    lower = attribute(I64_ATTR, optional=True)
    upper = attribute(I64_ATTR, optional=True)
    res = result(same_as("source"))
    assembly = "$source attr-dict `:` type($res)"


class MakeMemRef(Op, name="nv_tileaa.make_memref", traits=(PURE,)):
    """A view of memory: base pointer, extents and strides in elements."""

    base = operand(POINTER)
    shape = variadic_operand(INTEGER_SCALAR)
    stride = variadic_operand(INTEGER_SCALAR)
    static_shape = attribute(I64_ARRAY)
    static_stride = attribute(I64_ARRAY)
    space = attribute(of_class(GlobalSpaceAttr))
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

    def extents(self) -> list[Any]:
        """The extent of each axis: an int or a value."""
        return _mixed(self.static_shape, self.shape)

    def strides(self) -> list[Any]:
        """The stride of each axis in elements: an int or a value."""
        return _mixed(self.static_stride, self.stride)


def _mixed(static: Any, values: list[Any]) -> list[Any]:
    dynamic = iter(values)
    return [next(dynamic) if v == DYNAMIC_INDEX else v for v in static.values]


class IndexTypes(CustomDirective, name="IndexTypes"):
    """Nothing for i32 indices over a global pointer; `(i64) ` where the index type differs."""

    grammar = 'custom: "(" TYPE ")" -> given | -> absent'

    def read(self, state: Any, node: Any) -> None:
        index = node[1][0] if node[0] == "given" else I32
        for field in self.arguments:
            if field == "base":
                state.types(field, [PointerType(1)])
            else:
                state.types(field, [index] * len(state.operand_tokens.get(field, ())))

    def write(self, p: Any, op: Any) -> None:
        types = {v.type for field in self.arguments if field != "base" for v in _values(op, field)} - {I32}
        if types:
            p.space()
            p.write(f"({p.type(types.pop())})")


def _values(op: Any, field: str) -> list[Any]:
    value = getattr(op, field)
    return value if isinstance(value, list) else [value]


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


class TiledLoad(Op, name="nv_tileaa.tiled_load", traits=(READ,)):
    """A tile from the view's place; elements outside the view are `padding`."""

    view = operand(VIEW)
    token = operand(TOKEN)
    copy_atom = attribute(COPY_ATOM)
    padding = attribute(enum(PaddingAttr), default=PaddingAttr("undef"))
    res = result(ANY_RANKED_TENSOR)
    out_token = result(TOKEN)
    assembly = "$view `,` $token (`padding` $padding^)? attr-dict `:` type($view) `->` type($res) `,` type($out_token)"

    def verify_op(self) -> None:
        verify_access(self, self.view.type, self.res.type)


class TiledStore(Op, name="nv_tileaa.tiled_store", traits=(WRITE,)):
    """A tile to the view's place; elements outside the view are not written."""

    view = operand(VIEW)
    value = operand(ANY_RANKED_TENSOR)
    token = operand(TOKEN)
    copy_atom = attribute(COPY_ATOM)
    out_token = result(TOKEN)
    assembly = "$view `,` $value `,` $token attr-dict `:` type($value) `,` type($view) `,` type($out_token)"

    def verify_op(self) -> None:
        verify_access(self, self.view.type, self.value.type)


def verify_access(op: Op, view: MemRefType, tile: RankedTensorType) -> None:
    if view.element is not tile.element:
        raise op.error(f"accesses elements of {tile.element}, but the view has {view.element}")
    if view.rank != tile.rank:
        raise op.error(f"accesses a tile of rank {tile.rank} through a view of rank {view.rank}")


def verify_dot(op: Any) -> None:
    """The shapes of a matrix product, of either stage."""
    a, b, c = (v.type for v in (op.a, op.b, op.c))
    if (a.rank, b.rank, c.rank) != (2, 2, 2) or (a.shape[0], a.shape[1], b.shape[1]) != (
        c.shape[0],
        b.shape[0],
        c.shape[1],
    ):
        raise op.error(f"expects MxK, KxN and MxN tiles, got {a}, {b} and {c}")


class Dot(Op, name="nv_tileaa.dot", traits=(PURE,)):
    """a · b + c, of MxK, KxN and MxN tiles."""

    a = operand(ANY_RANKED_TENSOR)
    b = operand(ANY_RANKED_TENSOR)
    c = operand(ANY_RANKED_TENSOR)
    input_precision = attribute(STRING_ATTR, optional=True)
    fastmath = attribute(STRING_ATTR, optional=True)
    res = result(same_as("c"))
    assembly = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c) `->` type($res)"

    def verify_op(self) -> None:
        verify_dot(self)


class ConstantTensor(Op, name="nv_tileaa.constant_tensor", traits=(PURE, CONSTANT_LIKE)):
    """A constant tile."""

    value = attribute(ELEMENTS_ATTR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$value attr-dict custom<TypeOfValue>($res)"

    def verify_op(self) -> None:
        if self.value.type is not self.res.type:
            raise self.error(f"holds {self.value.type}, but its type is {self.res.type}")

    def fold(self, operands: Any) -> Any:
        return [self.value]


class TypeOfValue(CustomDirective, name="TypeOfValue"):
    """Nothing: the type of the result is that of the literal just read."""

    grammar = "custom: -> absent"

    def read(self, state: Any, node: Any) -> None:
        value = state.attributes["value"]
        state.types(self.arguments[0], [value.type])

    def write(self, p: Any, op: Any) -> None:
        """The literal has written it."""


class Splat(Op, name="nv_tileaa.splat", traits=(PURE,)):
    """A tile whose elements are all one scalar."""

    source = operand(ANY_TYPE)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        if self.res.type.element is not self.source.type:
            raise self.error(f"splats {self.source.type} into {self.res.type}")


class Permute(Op, name="nv_tileaa.permute", traits=(PURE,)):
    """The tile with its axes in another order: result axis i is source axis permutation[i]."""

    source = operand(ANY_RANKED_TENSOR)
    permutation = attribute(I64_ARRAY)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source $permutation attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        order = self.permutation.values
        if sorted(order) != list(range(source.rank)) or res.shape != tuple(source.shape[i] for i in order):
            raise self.error(f"cannot permute {source} by {list(order)} into {res}")


DIALECT = Dialect(
    "nv_tileaa",
    "alias-aware tile programs (stage 2)",
    ops_of(globals()),
    types=by_word(MemTokenType, MemRefType),
    attributes=by_word(GlobalSpaceAttr, KernelSpecAttr, PaddingAttr),
)
