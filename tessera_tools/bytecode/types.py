"""Types in bytecode: reading and writing the type section.

    section: count │ pad 4 │ count × u32 start │ type, type, …          a type: tag │ parameters

A type refers to others by index. Entries are decoded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tessera_tools.bytecode.cursor import Cursor, Writer
from tessera_tools.bytecode.tables import InternTable, Slices
from tessera_tools.bytecode.version import Version
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.cuda_tile import bytecode_numbers as numbers
from tessera_tools.dialects.cuda_tile.attributes import PaddingValueAttr, PtrAttr
from tessera_tools.dialects.cuda_tile.types import (
    TOKEN,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import DYNAMIC, FloatType, FunctionType, IntegerType
from tessera_tools.opdef.attribute_kinds import EnumAttr

MLIR_DYNAMIC = -(1 << 63)
"""The encoding of a dynamic extent or stride."""

MAX_DEPTH = 32
"""The maximum nesting of types; detects a type that contains itself."""


def _simple(word: str) -> Type:
    if word == "token":
        return TOKEN
    return IntegerType(int(word[1:])) if word[0] == "i" else FloatType(word)


_FRONTEND = {
    "0-dimension tile shape is not supported": (
        "cuTile Python generates this for a load or store of a 0-d array, or of `tiled_view(())`; use shape (1,)",
    ),
}
"""Bytecode that the Python frontend can export but no tool accepts: the error, and the construct that causes it."""

_SIMPLE = {tag: (_simple(word), since) for tag, word, since in numbers.SIMPLE_TYPES}
_SIMPLE_TAGS = {type: (tag, since) for tag, (type, since) in _SIMPLE.items()}
_SINCE = {numbers.GATHER_SCATTER_VIEW: 3, numbers.STRIDED_VIEW: 3}
_NAMES = {tag: word for tag, word, _ in numbers.SIMPLE_TYPES} | {
    18: "Float8E8M0FNU",
    19: "Float4E2M1FN",
    numbers.GATHER_SCATTER_VIEW: "GatherScatterView",
    numbers.STRIDED_VIEW: "StridedView",
}
"""The names of types in the reference's messages."""


class TypeTable:
    """The types of a file, by index."""

    def __init__(self, slices: Slices, version: Version) -> None:
        self.slices = slices
        self.version = version
        self.found: list[Type | None] = [None] * len(slices)
        self._depth = 0

    def get(self, index: int, cursor: Cursor) -> Type:
        """Type number `index`; `cursor` is the position of the reference, for the error."""
        if index >= len(self.found):
            cursor.fail(f"type {index} is out of range: there are only {len(self.found)}")
        known = self.found[index]
        if known is None:
            if self._depth >= MAX_DEPTH:
                cursor.fail(f"types nest deeper than {MAX_DEPTH} levels, or type {index} contains itself")
            self._depth += 1
            try:
                known = self.found[index] = self._read(self.slices.cursor(index))
            finally:
                self._depth -= 1
        return known

    def read(self, cursor: Cursor) -> Type:
        """The type whose index is at the cursor."""
        data, pos = cursor.data, cursor.pos
        if pos < len(data) and (index := data[pos]) < 128 and index < len(self.found):
            # The common case: a small index, already decoded.
            known = self.found[index]
            if known is not None:
                cursor.pos = pos + 1
                return known
        return self.get(cursor.varint(), cursor)

    def _read(self, c: Cursor) -> Type:
        tag = c.varint()
        simple = _SIMPLE.get(tag)
        reader = _READERS.get(tag)
        if simple is None and reader is None:
            c.fail(f"unknown type tag {tag}", at=0)
        since = simple[1] if simple is not None else _SINCE.get(tag, 1)
        if since > self.version.minor:
            c.fail(
                f"type '{_NAMES[tag]}' requires bytecode version 13.{since}+, file version is {self.version}",
                at=0,
            )
        if simple is not None:
            return simple[0]
        assert reader is not None
        try:
            return reader(self, c)
        except ValueError as problem:
            c.fail(str(problem), *_FRONTEND.get(str(problem), ()), at=0)

    def _flags(self, c: Cursor, since: int) -> int:
        return c.varint() if self.version.minor >= since else 0

    def _kind(self, c: Cursor, flags: int) -> PtrAttr | None:
        return _case(c, PtrAttr) if flags & 1 else None

    def _padding(self, c: Cursor, flags: int) -> PaddingValueAttr | None:
        if self.version.minor < 3:
            flags = c.byte()
            if flags > 1:
                c.fail(f"expected 0 or 1 before an optional padding value, found {flags}", at=c.pos - 1)
        return _case(c, PaddingValueAttr) if flags & 1 else None

    def _pointer(self, c: Cursor) -> Type:
        flags = self._flags(c, 4)
        return PointerType(self.read(c), self._kind(c, flags))

    def _tile(self, c: Cursor) -> Type:
        element = self.read(c)
        return TileType(c.integers(8, "extents"), element)

    def _tensor_view(self, c: Cursor) -> Type:
        flags = self._flags(c, 4)
        element = self.read(c)
        shape, strides = _dynamic(c.integers(8, "extents")), _dynamic(c.integers(8, "strides"))
        return TensorViewType(shape, element, strides, self._kind(c, flags))

    def _partition_view(self, c: Cursor) -> Type:
        flags = self._flags(c, 3)
        tile = c.numbers("extents")
        view = self._view(c)
        dim_map = _dim_map(c)
        return PartitionViewType(tile, view, dim_map, self._padding(c, flags))

    def _strided_view(self, c: Cursor) -> Type:
        flags = c.varint()
        tile, strides = c.numbers("extents"), c.numbers("traversal strides")
        view = self._view(c)
        dim_map = _dim_map(c)
        return StridedViewType(tile, strides, view, dim_map, self._padding(c, flags))

    def _gather_scatter_view(self, c: Cursor) -> Type:
        flags = c.varint()
        tile = c.numbers("extents")
        view = self._view(c)
        sparse_dim = c.varint()
        return GatherScatterViewType(tile, view, sparse_dim, self._padding(c, flags))

    def _view(self, c: Cursor) -> TensorViewType:
        found = self.read(c)
        if not isinstance(found, TensorViewType):
            c.fail(f"expected a tensor_view, found '{found}'")
        return found

    def _function(self, c: Cursor) -> Type:
        inputs = tuple(self.read(c) for _ in range(c.count("parameters")))
        results = tuple(self.read(c) for _ in range(c.count("results")))
        return FunctionType(inputs, results)


_READERS: dict[int, Callable[[TypeTable, Cursor], Type]] = {
    numbers.POINTER: TypeTable._pointer,
    numbers.TILE: TypeTable._tile,
    numbers.TENSOR_VIEW: TypeTable._tensor_view,
    numbers.PARTITION_VIEW: TypeTable._partition_view,
    numbers.FUNCTION: TypeTable._function,
    numbers.GATHER_SCATTER_VIEW: TypeTable._gather_scatter_view,
    numbers.STRIDED_VIEW: TypeTable._strided_view,
}


EnumT = TypeVar("EnumT", bound=EnumAttr)


def _case(c: Cursor, attribute: type[EnumT]) -> EnumT:
    number = c.varint()
    if number >= len(attribute.cases):
        c.fail(f"{number} is not a case of {attribute.name}; expected less than {len(attribute.cases)}")
    return attribute(attribute.cases[number])


def _dynamic(values: tuple[int, ...]) -> tuple[int, ...]:
    """Convert to DYNAMIC; other negative numbers are kept, and rejected later."""
    return tuple(DYNAMIC if v == MLIR_DYNAMIC else v - 1 if v < 0 else v for v in values)


def _static(values: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(MLIR_DYNAMIC if v == DYNAMIC else v for v in values)


def _dim_map(c: Cursor) -> tuple[int, ...]:
    """Empty if dimensions keep their order, as in the type's parameter."""
    found = c.numbers("mappings")
    return () if found == tuple(range(len(found))) else found


class TypeWriter(InternTable):
    """Types by index, in the order of first use; i1 and i32 are always the first two."""

    def __init__(self, version: Version) -> None:
        super().__init__()
        self.version = version
        self._known: dict[Type, int] = {}
        for word in ("i1", "i32"):
            self.index(_simple(word))

    def index(self, type: Type) -> int:
        """The index of a type, added with all its references. Raises ValueError if the version has no such type."""
        known = self._known.get(type)
        if known is None:
            known = self._known[type] = self.intern(self._encode(type))
        return known

    def _tag_since(self, tag: int, minor: int) -> None:
        if self.version.minor < minor:
            raise Refusal(
                f"type '{_NAMES[tag]}' requires bytecode version 13.{minor}+, targeting {self.version}"
            )

    def _encode(self, type: Type) -> bytes:
        w = Writer()
        simple = _SIMPLE_TAGS.get(type)
        if simple is not None:
            self._tag_since(*simple)
            w.varint(simple[0])
        elif isinstance(type, PointerType):
            w.byte(numbers.POINTER)
            self._kind_flags(w, type.kind)
            w.varint(self.index(type.pointee))
            self._kind(w, type.kind)
        elif isinstance(type, TileType):
            w.byte(numbers.TILE)
            w.varint(self.index(type.element))
            w.integers(type.shape, 8)
        elif isinstance(type, TensorViewType):
            w.byte(numbers.TENSOR_VIEW)
            self._kind_flags(w, type.kind)
            w.varint(self.index(type.element))
            w.integers(_static(type.shape), 8)
            w.integers(_static(type.strides), 8)
            self._kind(w, type.kind)
        elif isinstance(type, PartitionViewType):
            view = self.index(type.tensor_view)
            w.byte(numbers.PARTITION_VIEW)
            if self.version.minor >= 3:
                w.varint(type.padding is not None)
            w.integers(type.tile, 4)
            w.varint(view)
            w.integers(type.dimensions, 4)
            self._padding(w, type.padding)
        elif isinstance(type, StridedViewType):
            self._tag_since(numbers.STRIDED_VIEW, _SINCE[numbers.STRIDED_VIEW])
            view = self.index(type.tensor_view)
            w.byte(numbers.STRIDED_VIEW)
            w.varint(type.padding is not None)
            w.integers(type.tile, 4)
            w.integers(type.traversal_strides, 4)
            w.varint(view)
            w.integers(type.dim_map or tuple(range(len(type.tile))), 4)
            self._padding(w, type.padding)
        elif isinstance(type, GatherScatterViewType):
            self._tag_since(numbers.GATHER_SCATTER_VIEW, _SINCE[numbers.GATHER_SCATTER_VIEW])
            view = self.index(type.tensor_view)
            w.byte(numbers.GATHER_SCATTER_VIEW)
            w.varint(type.padding is not None)
            w.integers(type.tile, 4)
            w.varint(view)
            w.varint(type.sparse_dim)
            self._padding(w, type.padding)
        elif isinstance(type, FunctionType):
            inputs = [self.index(t) for t in type.inputs]
            results = [self.index(t) for t in type.results]
            w.byte(numbers.FUNCTION)
            for group in (inputs, results):
                w.varint(len(group))
                for number in group:
                    w.varint(number)
        else:
            raise Refusal(f"unsupported type in bytecode writer: '{type}'")
        return bytes(w.data)

    def _kind_flags(self, w: Writer, kind: PtrAttr | None) -> None:
        if kind is not None and self.version.minor < 4:
            raise Refusal(f"'{kind}' requires bytecode version 13.4+, but targeting {self.version}")
        if self.version.minor >= 4:
            w.varint(kind is not None)

    def _kind(self, w: Writer, kind: PtrAttr | None) -> None:
        if kind is not None:
            w.varint(PtrAttr.cases.index(kind.value))

    def _padding(self, w: Writer, padding: PaddingValueAttr | None) -> None:
        if self.version.minor < 3:
            w.varint(padding is not None)
        if padding is not None:
            w.varint(PaddingValueAttr.cases.index(padding.value))
