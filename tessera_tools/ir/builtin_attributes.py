"""The builtin attributes, written as MLIR writes them.

    unit   true   42 : i64   1.5 : f32   "text"   @symbol::@nested   [a, b]   {k = v}   i32 (a type)
    array<i64: 1, 2>   dense<[1, 2]> : tensor<2xi32>   affine_map<(d0) -> (d0)>   strided<[?, 1], offset: 0>

Floating-point numbers are kept as the bits of their type, so that NaN payloads and the sign of zero are preserved.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic

from tessera_tools.ir import floats
from tessera_tools.ir.affine import AffineMap, IntegerSet
from tessera_tools.ir.attributes import Attribute, AttributeT_co, Type, TypeT_co
from tessera_tools.ir.types import (
    DYNAMIC_INDEX,
    F64,
    I1,
    I32,
    I64,
    INDEX,
    NONE,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    ShapedType,
    bit_width,
)


class UnitAttr(Attribute, name="builtin.unit"):
    """`unit`: present or absent."""

    def text(self) -> str:
        return "unit"


class StringAttr(Attribute, name="builtin.string"):
    """`"text"`, with an optional type.  `value` is a str of characters U+0000..U+00FF for raw bytes beyond ASCII
    that were written as `\\xx` escapes, and Unicode otherwise."""

    value: str
    type: Type = NONE

    def text(self) -> str:
        suffix = "" if self.type is NONE else f" : {self.type}"
        return quote(self.value) + suffix


class IntegerAttr(Attribute, name="builtin.integer"):
    """`42 : i32`; `true` and `false` for i1.  Signless values are stored as signed numbers."""

    value: int
    type: Type = I64

    def verify(self) -> None:
        if isinstance(self.type, IndexType):
            return
        if not isinstance(self.type, IntegerType):
            raise ValueError(f"integer literal not valid for type {self.type}")
        width = self.type.width
        low = 0 if self.type.signedness == "unsigned" else -(1 << width >> 1)
        high = (1 << width >> 1) if self.type.signedness == "signed" else 1 << width
        if not low <= self.value < max(high, 1):
            raise ValueError(f"integer constant out of range for type {self.type}: {self.value}")

    @classmethod
    def wrap(cls, value: int, type: Type) -> IntegerAttr:
        """The attribute of `value` modulo 2**width, signed or unsigned as `type` is."""
        return cls(wrap_int(value, type), type)

    @property
    def memory_space_number(self) -> int | None:
        return self.value

    def memory_space_text(self) -> str:
        return str(self.value) if self.type is I64 else self.text()

    def text(self) -> str:
        if self.type is I1:
            return "true" if self.value else "false"
        return f"{self.value} : {self.type}"


def wrap_int(value: int, type: Type) -> int:
    """`value` modulo 2**width, signed unless the type is unsigned or i1 (which reads 0 and 1 … as MLIR: true is -1
    in two's complement, but is written and compared here as 1)."""
    width = bit_width(type)
    value &= (1 << width) - 1
    if width > 1 and not (isinstance(type, IntegerType) and type.signedness == "unsigned"):
        value = value - (1 << width) if value >> (width - 1) else value
    return value


class FloatAttr(Attribute, name="builtin.float"):
    """`1.5 : f32`; `bits` is the encoding in the type's own format."""

    bits: int
    type: Type

    def verify(self) -> None:
        if not isinstance(self.type, FloatType):
            raise ValueError(f"floating point value not valid for type {self.type}")

    @classmethod
    def of(cls, value: float, type: Type) -> FloatAttr:
        """The nearest value of `type`, ties to even."""
        assert isinstance(type, FloatType)
        return cls(floats.encode(value, type.keyword), type)

    @property
    def value(self) -> float:
        assert isinstance(self.type, FloatType)
        return floats.decode(self.bits, self.type.keyword)

    def text(self) -> str:
        return f"{float_text(self.bits, self.type)} : {self.type}"


def float_text(bits: int, type: Type) -> str:
    """The number as MLIR prints it: shortest of `%.6e` that reads back, else more digits, hex for NaN and infinity."""
    assert isinstance(type, FloatType)
    return floats.to_text(bits, type.keyword)


class TypeAttr(Attribute, Generic[TypeT_co], name="builtin.type"):
    """A type as an attribute."""

    value: TypeT_co

    def text(self) -> str:
        return str(self.value)


class SymbolRefAttr(Attribute, name="builtin.symbol_ref"):
    """`@root::@nested`."""

    root: str
    nested: tuple[str, ...] = ()

    def text(self) -> str:
        return "::".join(symbol_text(part) for part in (self.root, *self.nested))


class ArrayAttr(Attribute, Generic[AttributeT_co], name="builtin.array"):
    """`[a, b]`."""

    elements: tuple[AttributeT_co, ...]

    def __iter__(self) -> Iterator[AttributeT_co]:
        return iter(self.elements)

    def __len__(self) -> int:
        return len(self.elements)

    def text(self) -> str:
        return f"[{', '.join(map(_bare_text, self.elements))}]"


def _bare_text(attr: Attribute) -> str:
    """The text of an array's element.  MLIR omits the types i64 and f64 there."""
    if isinstance(attr, IntegerAttr) and attr.type is I64:
        return str(attr.value)
    if isinstance(attr, FloatAttr) and attr.type is F64:
        text = float_text(attr.bits, attr.type)
        if not text.startswith("0x"):  # the bits alone would be parsed as an integer
            return text
    return str(attr)


class DictionaryAttr(Attribute, name="builtin.dictionary"):
    """`{key = value, flag}`, sorted by key."""

    entries: tuple[tuple[str, Attribute], ...]

    @classmethod
    def of(cls, mapping: dict[str, Attribute]) -> DictionaryAttr:
        return cls(tuple(sorted(mapping.items())))

    def get(self, key: str) -> Attribute | None:
        return dict(self.entries).get(key)

    def text(self) -> str:
        return dictionary_text(self.entries)


def dictionary_text(entries: Any) -> str:
    """`{key = value, flag}` of (key, attribute) pairs in the order given."""
    parts = [attribute_key(k) if isinstance(v, UnitAttr) else f"{attribute_key(k)} = {v}" for k, v in entries]
    return "{" + ", ".join(parts) + "}"


class OpaqueAttr(Attribute, name="builtin.opaque_attr"):
    """`#dialect.body` or `#dialect<body>` of a dialect that is not registered; kept as text, brackets included."""

    dialect: str
    body: str

    def text(self) -> str:
        return f"#{self.dialect}{'' if self.body.startswith('<') else '.'}{self.body}"


class AffineMapAttr(Attribute, name="builtin.affine_map"):
    """`affine_map<(d0)[s0] -> (d0 + s0)>`."""

    map: AffineMap

    def verify_layout(self, rank: int) -> None:
        if self.map.num_dims != rank:
            raise ValueError(
                f"memref layout mismatch between rank and affine map: {rank} != {self.map.num_dims}"
            )

    def text(self) -> str:
        return f"affine_map<{self.map}>"


class IntegerSetAttr(Attribute, name="builtin.integer_set"):
    """`affine_set<(d0) : (d0 >= 0)>`."""

    set: IntegerSet

    def text(self) -> str:
        return f"affine_set<{self.set}>"


class StridedLayoutAttr(Attribute, name="builtin.strided"):
    """`strided<[?, 1], offset: 4>`, in elements; `DYNAMIC_INDEX` prints as `?`."""

    strides: tuple[int, ...]
    offset: int = 0

    def verify_layout(self, rank: int) -> None:
        if len(self.strides) != rank:
            raise ValueError("expected the number of strides to match the rank")

    def text(self) -> str:
        strides = ", ".join("?" if s == DYNAMIC_INDEX else str(s) for s in self.strides)
        offset = (
            "" if self.offset == 0 else f", offset: {'?' if self.offset == DYNAMIC_INDEX else self.offset}"
        )
        return f"strided<[{strides}]{offset}>"


class DenseArrayAttr(Attribute, name="builtin.dense_array"):
    """`array<i64: 1, 2>`.  `values` are ints (bits, for floating-point elements)."""

    element: Type
    values: tuple[int, ...]

    def __iter__(self):
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def text(self) -> str:
        if not self.values:
            return f"array<{self.element}>"
        if isinstance(self.element, FloatType):
            shown = [float_text(v, self.element) for v in self.values]
        elif self.element is I1:
            shown = ["true" if v else "false" for v in self.values]
        else:
            shown = [str(v) for v in self.values]
        return f"array<{self.element}: {', '.join(shown)}>"


_most_elements: ContextVar[int | None] = ContextVar("most_elements", default=None)


@contextmanager
def elements_elided(most: int | None) -> Iterator[None]:
    """Inside the `with` block, the text of attributes with more than `most` elements is `dense_resource<__elided__>`.

    A splat has one element."""
    before = _most_elements.set(most)
    try:
        yield
    finally:
        _most_elements.reset(before)


class DenseElementsAttr(Attribute, name="builtin.dense"):
    """`dense<…> : tensor<…>`.  `data` holds the elements little-endian, each in whole bytes; one element is a splat."""

    type: Type
    data: bytes

    def verify(self) -> None:
        if not isinstance(self.type, ShapedType) or not self.type.is_static:
            raise ValueError(f"elements literal must have a static shaped type, got {self.type}")
        size = element_bytes(self.type.element)
        if len(self.data) not in (size, size * self.type.num_elements):
            raise ValueError(f"elements literal has {len(self.data)} bytes, {self.type} needs {size} each")

    @classmethod
    def of(cls, type: ShapedType, bits: list[int]) -> DenseElementsAttr:
        """From element encodings in row-major order; equal elements become a splat."""
        size = element_bytes(type.element)
        mask = (1 << (8 * size)) - 1
        if bits and all(b == bits[0] for b in bits):
            bits = bits[:1]
        return cls(type, b"".join((b & mask).to_bytes(size, "little") for b in bits))

    @property
    def is_splat(self) -> bool:
        return len(self.data) == element_bytes(self.shaped.element) and self.shaped.num_elements > 0

    @property
    def shaped(self) -> ShapedType:
        assert isinstance(self.type, ShapedType)
        return self.type

    def bits(self) -> list[int]:
        """The element encodings as unsigned ints: one for a splat, else all in row-major order."""
        size = element_bytes(self.shaped.element)
        code = {1: "B", 2: "H", 4: "I", 8: "Q"}.get(size)
        if code:
            return list(struct.unpack(f"<{len(self.data) // size}{code}", self.data))
        return [int.from_bytes(self.data[i : i + size], "little") for i in range(0, len(self.data), size)]

    def attributes(self) -> list[Attribute]:
        """The elements (one for a splat) as IntegerAttr or FloatAttr."""
        return [element_attribute(b, self.shaped.element) for b in self.bits()]

    def text(self) -> str:
        if self.is_elided:
            return f"dense_resource<__elided__> : {self.type}"
        return f"dense<{self.body_text()}> : {self.type}"

    @property
    def is_elided(self) -> bool:
        """Whether the elements are too many to be printed now; see `elements_elided`."""
        most = _most_elements.get()
        return most is not None and not self.is_splat and self.shaped.num_elements > most

    def body_text(self) -> str:
        """The text between the angle brackets."""
        if self.shaped.num_elements == 0:
            return ""
        if not self.is_splat and self.shaped.num_elements > HEX_THRESHOLD and self.shaped.element is not I1:
            return f'"0x{self.data.hex().upper()}"'
        shown = [element_text(b, self.shaped.element) for b in self.bits()]
        return shown[0] if self.is_splat else _nested(shown, self.shaped.shape)


class SparseElementsAttr(Attribute, name="builtin.sparse"):
    """`sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>`: the elements that are not 0, with their indices."""

    type: Type
    indices: DenseElementsAttr
    values: DenseElementsAttr

    def text(self) -> str:
        if self.indices.is_elided or self.values.is_elided:
            return f"dense_resource<__elided__> : {self.type}"
        inside = (
            f"{self.indices.body_text()}, {self.values.body_text()}"
            if self.values.shaped.num_elements
            else ""
        )
        return f"sparse<{inside}> : {self.type}"


class DistinctAttr(Attribute, name="builtin.distinct"):
    """`distinct[0]<>`: an attribute with its own identity, which may wrap another attribute."""

    number: int
    referenced: Attribute | None = None

    def text(self) -> str:
        return f"distinct[{self.number}]<{'' if self.referenced is None else self.referenced}>"


HEX_THRESHOLD = 100
"""Elements beyond which a non-splat literal is printed as a hex string, as upstream does."""


class DenseResourceAttr(Attribute, name="builtin.dense_resource"):
    """`dense_resource<key> : tensor<…>`; `data` is the blob of the resource section, as hex text, if it has one."""

    key: str
    type: Type
    data: str | None = None

    def text(self) -> str:
        return f"dense_resource<{attribute_key(self.key)}> : {self.type}"


ELEMENTS = (DenseElementsAttr, DenseResourceAttr, SparseElementsAttr)
"""The attributes that hold the elements of a shaped type."""


def _nested(shown: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return shown[0]
    step = len(shown) // shape[0]
    inner = [_nested(shown[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    return f"[{', '.join(inner)}]"


def element_bytes(element: Type) -> int:
    """The number of bytes that store a dense element."""
    if isinstance(element, ComplexType):
        return 2 * element_bytes(element.element)
    return max(1, (bit_width(element) + 7) // 8)


def element_attribute(bits: int, element: Type) -> Attribute:
    """An element encoding as an attribute of the element type."""
    if isinstance(element, FloatType):
        return FloatAttr(bits, element)
    return IntegerAttr(wrap_int(bits, element), element)


def element_text(bits: int, element: Type) -> str:
    """The text of an element inside `dense<…>`, without its type."""
    if isinstance(element, ComplexType):
        size = 8 * element_bytes(element.element)
        low, high = bits & ((1 << size) - 1), bits >> size
        return f"({element_text(low, element.element)},{element_text(high, element.element)})"
    if isinstance(element, FloatType):
        return float_text(bits, element)
    value = wrap_int(bits, element)
    return ("true" if value else "false") if element is I1 else str(value)


_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_BARE_REST = _BARE | frozenset("0123456789$.")


def is_bare_identifier(text: str) -> bool:
    """True if MLIR prints the name without quotes."""
    return bool(text) and text[0] in _BARE and all(c in _BARE_REST for c in text)


def attribute_key(key: str) -> str:
    return key if is_bare_identifier(key) else quote(key)


def symbol_text(name: str) -> str:
    """`@name`, quoted if necessary."""
    return f"@{name}" if is_bare_identifier(name) else f"@{quote(name)}"


def quote(text: str) -> str:
    """A string literal, with MLIR's escapes: `\\"`, `\\\\`, and `\\XX` for bytes that are not printable."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char == "\\":
            out.append("\\\\")
        elif 32 <= byte < 127 and char != '"':
            out.append(char)
        else:
            out.append(f"\\{byte:02X}")
    return f'"{"".join(out)}"'


UNIT = UnitAttr()
TRUE, FALSE = IntegerAttr(1, I1), IntegerAttr(0, I1)


def i32(value: int) -> IntegerAttr:
    """`value : i32`."""
    return IntegerAttr(value, I32)


def i64(value: int) -> IntegerAttr:
    """`value : i64`."""
    return IntegerAttr(value, I64)


def index(value: int) -> IntegerAttr:
    """`value : index`."""
    return IntegerAttr(value, INDEX)
