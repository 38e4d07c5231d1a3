"""The `memref` dialect: buffers, views of them, and accesses.

Offsets, sizes and strides are mixed lists: a static integer, or the next of the dynamic operands where the static list
holds the marker for "dynamic" (the least 64-bit integer, as upstream).  `IndexLists` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects.arith.constants import Folded
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
    UnitAttr,
    i64,
    index,
    symbol_text,
)
from tessera_tools.ir.core import Value
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import (
    DYNAMIC,
    I8,
    I32,
    I64,
    INDEX,
    MemRefType,
    RankedTensorType,
    UnrankedMemRefType,
)
from tessera_tools.opdef import (
    ALLOCATE,
    ANY_ATTR,
    ANY_INDEX,
    ANY_MEMREF,
    BOOL_ATTR,
    I64_ARRAY,
    I64_ATTR,
    PURE,
    READ,
    READ_WRITE,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_REF,
    TYPE_ATTR,
    UNIT_ATTR,
    WRITE,
    AttrKind,
    CustomDirective,
    Dialect,
    MemoryEffects,
    Op,
    attribute,
    derived,
    exactly,
    of,
    operand,
    ops_of,
    result,
    same_as,
    variadic_operand,
    variadic_result,
)

DYNAMIC_INDEX = -(1 << 63)
"""What stands in a static list where an operand gives the number."""

ANY_BUFFER = of(MemRefType, UnrankedMemRefType, summary="ranked or unranked memref of any type values")


def mixed(static: Sequence[int], dynamic: Sequence[Value]) -> list[int | Value]:
    """A static list with the operands in the place of its markers."""
    rest = iter(dynamic)
    return [next(rest) if number == DYNAMIC_INDEX else number for number in static]


def mixed_text(p: Any, static: Sequence[int], dynamic: Sequence[Value]) -> str:
    """`[0, %i]`."""
    items = [str(item) if isinstance(item, int) else p.name(item) for item in mixed(static, dynamic)]
    return f"[{', '.join(items)}]"


MIXED_LIST = """custom_list: "[" custom_item ("," custom_item)* "]" | "[" "]"
custom_item: INTEGER -> number | VALUE -> value
"""
"""Grammar rules for a mixed list; `read_mixed` reads what they give."""


def read_mixed(state: Any, items: Any, field: str, key: str) -> None:
    """Set the dynamic operands `field` and the static list `key` from the node of MIXED_LIST."""
    numbers: list[int] = []
    tokens: list[Any] = []
    for form, (token,) in items:
        if form == "value":
            tokens.append(token)
        numbers.append(int(token[0], 0) if form == "number" else DYNAMIC_INDEX)
    state.operands(field, tokens)
    state.types(field, [INDEX] * len(tokens))
    state.attribute(key, DenseArrayAttr(I64, tuple(numbers)))


class IndexList(CustomDirective, name="IndexList"):
    """`[0, %i]`: arguments are the operand field and the static list's attribute."""

    grammar = "custom: custom_list\n" + MIXED_LIST

    def read(self, state: Any, node: Any) -> None:
        field, static = self.arguments
        read_mixed(state, node[0], field, state.definition.fields[static].key)

    def write(self, p: Any, op: Any) -> None:
        field, static = self.arguments
        p.write(mixed_text(p, getattr(op, static).values, getattr(op, field)))


class _Allocation(Op):
    """The base of allocations."""

    dynamic_sizes = variadic_operand(ANY_INDEX)
    symbol_operands = variadic_operand(ANY_INDEX)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    memref = result(ANY_MEMREF)
    assembly = "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        type = self.memref.type
        if len(self.dynamic_sizes) != type.shape.count(DYNAMIC):
            raise self.error("dimension operand count does not equal memref dynamic dimension count")
        symbols = type.layout.map.num_symbols if isinstance(type.layout, AffineMapAttr) else 0
        if len(self.symbol_operands) != symbols:
            raise self.error(
                f"symbol operand count does not equal memref symbol count: expected {symbols}, "
                f"got {len(self.symbol_operands)}"
            )
        if self.alignment is not None and (
            self.alignment.value <= 0 or self.alignment.value.bit_count() != 1
        ):
            raise self.error(
                "attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive and whose value is a power of two > 0"
            )


class Alloc(_Allocation, name="memref.alloc", traits=(ALLOCATE,)):
    """Memory until `memref.dealloc`."""


class Alloca(_Allocation, name="memref.alloca", traits=(ALLOCATE,)):
    """Memory until the enclosing function (or allocation scope) ends."""


class Dealloc(Op, name="memref.dealloc", traits=(MemoryEffects("free"),)):
    """Gives back what `memref.alloc` took."""

    memref = operand(ANY_BUFFER)
    assembly = "$memref attr-dict `:` type($memref)"


def _element(type: Type) -> Type | None:
    return getattr(type, "element", None)


class _Access(Op):
    """The base of element accesses."""

    def verify_op(self) -> None:
        rank = len(self.memref.type.shape)  # type: ignore[attr-defined]
        found = len(self.indices)  # type: ignore[attr-defined]
        if rank != found:
            raise self.error(f"incorrect number of indices for {self.verb}, expected {rank} but got {found}")

    verb = "access"


class Load(_Access, name="memref.load", traits=(READ,)):
    """One element of a buffer."""

    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    result = result(derived("the element type of 'memref'", _element, "memref"))
    assembly = "$memref `[` $indices `]` attr-dict `:` type($memref)"
    verb = "load"


class Store(_Access, name="memref.store", traits=(WRITE,)):
    """Writes one element of a buffer."""

    value = operand(derived("the element type of 'memref'", _element, "memref"))
    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    assembly = "$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)"
    verb = "store"


class ViewLike(Op, traits=(PURE,)):
    """The base of ops whose result is another view of a buffer."""

    @property
    def view_source(self) -> Value:
        """The buffer that is seen."""
        return self.operand(0)


class Cast(ViewLike, name="memref.cast"):
    """The same buffer with more or less of its shape and layout known."""

    source = operand(ANY_BUFFER)
    dest = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.dest.type
        both = isinstance(source, MemRefType) and isinstance(target, MemRefType)
        unranked = isinstance(source, UnrankedMemRefType) and isinstance(target, UnrankedMemRefType)
        agree = (
            source.element is target.element and source.memory_space is target.memory_space and not unranked
        )
        if both:
            agree = agree and len(source.shape) == len(target.shape)
            agree = agree and all(
                a == b or DYNAMIC in (a, b) for a, b in zip(source.shape, target.shape, strict=False)
            )
        if not agree:
            raise self.error(f"operand type '{source}' and result type '{target}' are cast incompatible")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # A : T to T is A
        return [self.source] if self.source.type is self.dest.type else None


class MemorySpaceCast(ViewLike, name="memref.memory_space_cast"):
    """The same buffer through another address space."""

    source = operand(ANY_BUFFER)
    dest = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `to` type($dest)"


class Copy(Op, name="memref.copy", traits=(READ_WRITE,)):
    """Copies the elements of one buffer to another of the same shape."""

    source = operand(ANY_BUFFER)
    target = operand(ANY_BUFFER)
    assembly = "$source `,` $target attr-dict `:` type($source) `to` type($target)"

    def verify_op(self) -> None:
        if self.source.type.element is not self.target.type.element:
            raise self.error("requires the same element type for all operands")


class Dim(Op, name="memref.dim", traits=(PURE,)):
    """The extent of one dimension."""

    source = operand(ANY_BUFFER)
    index = operand(ANY_INDEX)
    result = result(exactly(INDEX))
    assembly = "attr-dict $source `,` $index `:` type($source)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        number, type = operands[1], self.source.type
        if not isinstance(number, IntegerAttr) or not isinstance(type, MemRefType):
            return None
        if not 0 <= number.value < len(type.shape):
            return None
        extent = type.shape[number.value]
        return [index(extent)] if extent != DYNAMIC else None


class Rank(Op, name="memref.rank", traits=(PURE,)):
    """The number of dimensions."""

    memref = operand(ANY_BUFFER)
    result = result(exactly(INDEX))
    assembly = "$memref attr-dict `:` type($memref)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        type = self.memref.type
        return [index(len(type.shape))] if isinstance(type, MemRefType) else None


class _Offsets(ViewLike):
    """The base of views by offsets, sizes and strides."""

    def verify_lists(self, *ranks: tuple[str, str, int]) -> None:
        """Check lengths: (field of operands, field of the static list, expected length or -1)."""
        for noun, field, rank in ranks:
            static = getattr(self, f"static_{field}").values
            if rank >= 0 and len(static) != rank:
                raise self.error(f"expected {rank} {noun} values, got {len(static)}")
            dynamic = sum(number == DYNAMIC_INDEX for number in static)
            if dynamic != len(getattr(self, field)):
                raise self.error(f"expected {dynamic} dynamic {noun} values")


class SubView(_Offsets, name="memref.subview"):
    """A rectangular part of a buffer, dimensions of extent 1 possibly dropped."""

    source = operand(ANY_MEMREF)
    offsets = variadic_operand(ANY_INDEX)
    sizes = variadic_operand(ANY_INDEX)
    strides = variadic_operand(ANY_INDEX)
    static_offsets = attribute(I64_ARRAY)
    static_sizes = attribute(I64_ARRAY)
    static_strides = attribute(I64_ARRAY)
    result = result(ANY_MEMREF)
    assembly = (
        "$source `` custom<IndexList>($offsets, $static_offsets) ` ` custom<IndexList>($sizes, $static_sizes) ` ` "
        "custom<IndexList>($strides, $static_strides) attr-dict `:` type($source) `to` type($result)"
    )

    def verify_op(self) -> None:
        rank = len(self.source.type.shape)
        self.verify_lists(("offset", "offsets", rank), ("size", "sizes", rank), ("stride", "strides", rank))
        source, target = self.source.type, self.result.type
        if source.element is not target.element or source.memory_space is not target.memory_space:
            raise self.error(f"expected result type to have the element type and memory space of '{source}'")
        sizes = [s for s in self.static_sizes.values]
        kept = iter(sizes)
        for extent in target.shape:
            wanted = DYNAMIC_INDEX if extent == DYNAMIC else extent
            if not any(size == wanted for size in kept):
                raise self.error(f"expected result type to have the sizes of the view, got '{target}'")


class ReinterpretCast(_Offsets, name="memref.reinterpret_cast"):
    """The memory of a buffer with another offset, sizes and strides."""

    source = operand(ANY_BUFFER)
    offsets = variadic_operand(ANY_INDEX)
    sizes = variadic_operand(ANY_INDEX)
    strides = variadic_operand(ANY_INDEX)
    static_offsets = attribute(I64_ARRAY)
    static_sizes = attribute(I64_ARRAY)
    static_strides = attribute(I64_ARRAY)
    result = result(ANY_MEMREF)
    assembly = (
        "$source `to` `offset` `` `:` ` ` custom<IndexList>($offsets, $static_offsets) `` `,` "
        "`sizes` `` `:` ` ` custom<IndexList>($sizes, $static_sizes) `` `,` "
        "`strides` `` `:` ` ` custom<IndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) `to` type($result)"
    )

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        if source.memory_space is not target.memory_space:
            raise self.error(
                f"different memory spaces specified for source type '{source}' and result memref type '{target}'"
            )
        if source.element is not target.element:
            raise self.error(
                f"different element types specified for source type '{source}' and result memref type '{target}'"
            )
        rank = len(target.shape)
        self.verify_lists(("offset", "offsets", 1), ("size", "sizes", rank), ("stride", "strides", rank))
        for i, (size, extent) in enumerate(zip(self.static_sizes.values, target.shape, strict=True)):
            if extent != DYNAMIC and size != extent:
                shown = "dynamic" if size == DYNAMIC_INDEX else size
                raise self.error(f"expected result type with size = {shown} instead of {extent} in dim = {i}")


def _base_buffer(type: Type) -> Type | None:
    if not isinstance(type, MemRefType):
        return None
    return MemRefType((), type.element, None, type.memory_space)


class ExtractStridedMetadata(Op, name="memref.extract_strided_metadata", traits=(PURE,)):
    """A buffer's base, offset, sizes and strides (both in elements)."""

    source = operand(ANY_MEMREF)
    base_buffer = result(
        derived("a memref of rank 0 with the element type of 'source'", _base_buffer, "source")
    )
    offset = result(exactly(INDEX))
    extents = variadic_result(ANY_INDEX, "the sizes, then the strides")
    assembly = "custom<Metadata>($source, $base_buffer, $offset, $extents) attr-dict"

    @property
    def sizes(self) -> list[Value]:
        """The extents, one result a dimension."""
        return list(self.results[2 : 2 + len(self.source.type.shape)])

    @property
    def strides(self) -> list[Value]:
        """The strides in elements, one result a dimension."""
        return list(self.results[2 + len(self.source.type.shape) :])

    def verify_op(self) -> None:
        rank = len(self.source.type.shape)
        if len(self.results) != 2 + 2 * rank:
            raise self.error(
                f"expects {2 + 2 * rank} results for a memref of rank {rank}, but found {len(self.results)}"
            )


class Metadata(CustomDirective, name="Metadata"):
    """`%m : memref<4xf32> -> memref<f32>, index, index, index`"""

    grammar = 'custom: VALUE ":" TYPE "->" types'

    def read(self, state: Any, node: Any) -> None:
        token, source, types = node
        rank = len(source.shape) if isinstance(source, MemRefType) else 0
        if len(types) != 2 + 2 * rank:
            raise state.error(
                token, f"expected {2 + 2 * rank} result types for a memref of rank {rank}, found {len(types)}"
            )
        state.operand("source", token)
        state.types("source", [source])
        state.types("base_buffer", types[:1])
        state.types("offset", types[1:2])
        state.types("extents", types[2:])

    def write(self, p: Any, op: ExtractStridedMetadata) -> None:
        p.write(
            f" {p.name(op.source)} : {p.type(op.source.type)} -> {', '.join(map(p.type, op.result_types))}"
        )


class View(ViewLike, name="memref.view"):
    """Bytes as a buffer of another type, from an offset in bytes."""

    source = operand(ANY_MEMREF)
    byte_shift = operand(exactly(INDEX))
    sizes = variadic_operand(ANY_INDEX)
    result = result(ANY_MEMREF)
    assembly = "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        if source.element is not I8 or len(source.shape) != 1:
            raise self.error(
                f"operand #0 must be 1D memref of 8-bit signless integer values, but got '{source}'"
            )
        if source.layout is not None:
            raise self.error(f"unsupported map for base memref type {source}")
        if target.layout is not None:
            raise self.error(f"unsupported map for result memref type {target}")
        if source.memory_space is not target.memory_space:
            raise self.error(
                f"different memory spaces specified for base memref type {source} and view memref type {target}"
            )
        if len(self.sizes) != target.shape.count(DYNAMIC):
            raise self.error(f"incorrect number of size operands for type {target}")


class GlobalSyntax(CustomDirective, name="Global"):
    """`"private" constant @g : memref<2xf32> = dense<…>`"""

    grammar = """custom: custom_visibility custom_constant SYMBOL ":" TYPE custom_value
custom_visibility: STRING -> present | -> absent
custom_constant: "constant" -> present | -> absent
custom_value: "=" "uninitialized" -> uninitialized | "=" ATTRIBUTE -> initial | -> absent
"""

    def covers(self) -> tuple[set[str], set[str]]:
        return {"sym_visibility", "constant", "sym_name", "type", "initial_value"}, set()

    def read(self, state: Any, node: Any) -> None:
        (form, visibility), constant, symbol, type, (kind, value) = node
        if form == "present":
            state.attribute("sym_visibility", StringAttr(visibility[0][0]))
        if constant[0] == "present":
            state.attribute("constant", UNIT)
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        state.attribute("type", TypeAttr(type))
        if kind == "uninitialized":
            state.attribute("initial_value", UNIT)
        elif kind == "initial":
            state.attribute("initial_value", value[0])

    def write(self, p: Any, op: Global) -> None:
        if op.sym_visibility is not None:
            p.write(f" {op.sym_visibility}")
        p.write(" constant" if op.constant is not None else "")
        p.write(f" {symbol_text(op.sym_name.value)} : {p.type(op.type.value)}")
        if isinstance(op.initial_value, UnitAttr):
            p.write(" = uninitialized")
        elif isinstance(op.initial_value, DenseElementsAttr):
            p.write(f" = dense<{op.initial_value.body_text()}>")
        elif op.initial_value is not None:
            p.write(f" = {op.initial_value}")


class Global(Op, name="memref.global", traits=(SYMBOL,)):
    """A buffer with a name, one in the whole program."""

    sym_name = attribute(SYMBOL_NAME)
    sym_visibility = attribute(STRING_ATTR, optional=True)
    type = attribute(TYPE_ATTR)
    initial_value = attribute(ANY_ATTR, optional=True)
    constant = attribute(UNIT_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    assembly = "custom<Global>($sym_name, $sym_visibility, $type, $initial_value, $constant) attr-dict"

    def verify_op(self) -> None:
        type = self.type.value
        if not isinstance(type, MemRefType) or not type.is_static:
            raise self.error(f"type should be static shaped memref, but got '{type}'")
        value = self.initial_value
        if value is None or isinstance(value, UnitAttr):
            return
        if not hasattr(value, "type"):
            raise self.error(f"initial value should be a unit or elements attribute, but got {value}")
        expected = RankedTensorType(type.shape, type.element)
        if value.type is not expected:
            raise self.error(
                f"initial value expected to be of type '{expected}', but was of type '{value.type}'"
            )


class GetGlobal(Op, name="memref.get_global", traits=(PURE,)):
    """The buffer that a `memref.global` names."""

    name_ = attribute(SYMBOL_REF)
    result = result(ANY_MEMREF)
    assembly = "$name `:` type($result) attr-dict"

    def verify_op(self) -> None:
        found = lookup_symbol(self, self.name_)
        if not isinstance(found, Global):
            raise self.error(f"'{self.name_.root}' does not reference a valid global memref")
        if found.type.value is not self.result.type:
            raise self.error(
                f"result type '{self.result.type}' does not match type '{found.type.value}' of the global memref "
                f"{symbol_text(self.name_.root)}"
            )


REASSOCIATION = AttrKind(
    "Array of 64-bit integer array attributes",
    lambda a: isinstance(a, ArrayAttr) and all(isinstance(g, ArrayAttr) for g in a),
)


class _Reshape(ViewLike):
    """The base of ops that group dimensions: `reassociation` lists, for each dimension of the smaller rank, those of
    the larger."""

    src = operand(ANY_MEMREF)
    reassociation = attribute(REASSOCIATION)
    result = result(ANY_MEMREF)

    @property
    def groups(self) -> list[list[int]]:
        """The dimensions of each group."""
        return [[a.value for a in group] for group in self.reassociation]

    def verify_groups(self, small: MemRefType, large: MemRefType) -> None:
        """Check that the groups are the dimensions of `large` in order, and that static extents multiply up."""
        groups = self.groups
        if len(groups) != len(small.shape):
            raise self.error(
                f"expected rank of the collapsed shape ({len(small.shape)}) to be the number of reassociation maps ({len(groups)})"
            )
        if [d for group in groups for d in group] != list(range(len(large.shape))):
            raise self.error("expected reassociation map to be contiguous and to cover all dimensions")
        for extent, group in zip(small.shape, groups, strict=True):
            parts = [large.shape[d] for d in group]
            if DYNAMIC in parts or extent == DYNAMIC:
                continue
            product = 1
            for part in parts:
                product *= part
            if product != extent:
                raise self.error(
                    f"expected dimension {groups.index(group)} of the collapsed type to be static value of {product}"
                )


class ExpandShape(_Reshape, name="memref.expand_shape"):
    """Each dimension split into several."""

    output_shape = variadic_operand(ANY_INDEX)
    static_output_shape = attribute(I64_ARRAY)
    assembly = (
        "$src custom<Groups>($reassociation) `output_shape` ` ` custom<IndexList>($output_shape, $static_output_shape) "
        "attr-dict `:` type($src) `into` type($result)"
    )

    def verify_op(self) -> None:
        self.verify_groups(self.src.type, self.result.type)


class CollapseShape(_Reshape, name="memref.collapse_shape"):
    """Several dimensions joined into one."""

    assembly = "$src custom<Groups>($reassociation) attr-dict `:` type($src) `into` type($result)"

    def verify_op(self) -> None:
        self.verify_groups(self.result.type, self.src.type)


class Groups(CustomDirective, name="Groups"):
    """`[[0], [1, 2]]`"""

    grammar = 'custom: "[" integer_array ("," integer_array)* "]" | "[" "]"'

    def read(self, state: Any, node: Any) -> None:
        groups = tuple(ArrayAttr(tuple(i64(int(token[0], 0)) for token in group)) for group in node)
        state.attribute("reassociation", ArrayAttr(groups))

    def write(self, p: Any, op: _Reshape) -> None:
        p.write(" [" + ", ".join(str(group) for group in op.groups) + "]")


class ExtractAlignedPointer(Op, name="memref.extract_aligned_pointer_as_index", traits=(PURE,)):
    """The address of a buffer's memory as a number."""

    source = operand(ANY_BUFFER)
    aligned_pointer = result(exactly(INDEX))
    assembly = "$source `:` type($source) `->` custom<Index> attr-dict"


class IndexWord(CustomDirective, name="Index"):
    """The type of a result that is always `index`."""

    grammar = "custom: TYPE"

    def covers(self) -> tuple[set[str], set[str]]:
        return set(), {"aligned_pointer"}

    def read(self, state: Any, node: Any) -> None:
        state.types("aligned_pointer", [node[0]])

    def write(self, p: Any, op: Any) -> None:
        p.write(" index")


class AssumeAlignment(ViewLike, name="memref.assume_alignment"):
    """The same buffer; that its memory is not aligned so is undefined behaviour."""

    memref = operand(ANY_MEMREF)
    alignment = attribute(
        AttrKind(
            "32-bit signless integer attribute whose value is positive",
            lambda a: isinstance(a, IntegerAttr) and a.type is I32 and a.value > 0,
            "INTEGER",
            lambda token: IntegerAttr(int(token[0], 0), I32),
            lambda a: str(a.value),
        )
    )
    result = result(same_as("memref"))
    assembly = "$memref `,` $alignment attr-dict `:` type($memref)"


DIALECT = Dialect("memref", "buffers", ops_of(globals()))
