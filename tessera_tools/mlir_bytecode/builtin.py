"""The encodings of the builtin dialect (mlir/include/mlir/IR/BuiltinDialectBytecode.td).

Attributes and types that are not here, such as affine maps and the small float types, are written as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import location as loc
from tessera_tools.ir import types as ty
from tessera_tools.ir.affine import AffineMap
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.mlir_bytecode.forms import (
    ATTRIBUTE,
    BLOB,
    BOOL,
    LOCATION,
    NUMBER,
    STRING,
    STRING_ATTRIBUTE,
    TYPE,
    AttributeT,
    EntryReader,
    EntryWriter,
    Form,
    Forms,
    Kinds,
    Member,
    attribute_of,
    listed,
    type_of,
)
from tessera_tools.parser.types import NO_MEMREF_ELEMENT, NO_TENSOR_ELEMENT, NO_VECTOR_ELEMENT

_MAX_BITS = 1 << 24


# -- numbers of a type


def _read_integer(e: EntryReader, width: int) -> int:
    """A number of `width` bits, unsigned: a byte, an integer, or a count of words and the words."""
    c, at = e.c, e.c.pos
    if width <= 8:
        value = c.byte()
    elif width <= 64:
        value = c.signed()
        if -(1 << width - 1) <= value < 0 or (width == 64 and value < 0):
            value += 1 << width
    else:
        count = c.count("words of an integer")
        value = 0
        for number in range(count):
            value |= (c.signed() & (1 << 64) - 1) << 64 * number
    # Signed values of up to a byte may have their upper bits set.
    if width <= 8 and value >> width == (1 << 8 - width) - 1 and value >> (width - 1 if width else 0) & 1:
        value &= (1 << width) - 1
    if not 0 <= value < 1 << width:
        c.fail(f"an integer does not fit in {width} bits: {value}", at=at)
    return value


def _write_integer(e: EntryWriter, bits: int, width: int) -> None:
    if width <= 8:
        e.w.byte(bits)
        return
    words = [bits >> 64 * number & (1 << 64) - 1 for number in range(max(1, -(-bits.bit_length() // 64)))]
    if width > 64:
        e.w.varint(len(words) if bits else 0)
        words = words if bits else []
    for word in words:
        e.w.signed(word - (1 << 64) if word >> 63 else word)


def _of_type(kind: Kinds[Type], noun: str) -> Member[tuple[Type, int]]:
    """A type, and the bits of a number of it."""

    def read(e: EntryReader) -> tuple[Type, int]:
        type = e.needed(e.type(kind, noun))
        return type, _read_integer(e, ty.bit_width(type))

    def write(e: EntryWriter, value: tuple[Type, int]) -> None:
        e.reference(value[0])
        width = ty.bit_width(value[0])
        _write_integer(e, value[1] & (1 << width) - 1, width)

    return Member(read, write)


def _integer(number: tuple[Type, int]) -> ba.IntegerAttr:
    return ba.IntegerAttr(ba.wrap_int(number[1], number[0]), number[0])


# -- elements


def _bit_packed(type: ty.ShapedType) -> bool:
    return ty.I1 is type.element or (isinstance(type.element, ty.IntegerType) and type.element.width == 1)


def _dense(type: ty.ShapedType, data: bytes) -> Attribute:
    """Elements from raw data: whole bytes, or bits for one-bit elements."""
    if not type.is_static:
        raise ValueError(f"elements of '{type}', which has no static shape")
    count = type.num_elements
    if not _bit_packed(type):
        return ba.DenseElementsAttr(type, data)
    if len(data) == 1 and data[0] in (0x00, 0xFF) and count:
        return ba.DenseElementsAttr(type, bytes([data[0] & 1]))
    if len(data) != (count + 7) // 8:
        raise ValueError(f"{type} needs {(count + 7) // 8} bytes of elements, found {len(data)}")
    return ba.DenseElementsAttr(type, bytes(data[i // 8] >> i % 8 & 1 for i in range(count)))


def _raw(a: ba.DenseElementsAttr) -> bytes:
    """The raw data of elements."""
    if not _bit_packed(a.shaped):
        return a.data
    if a.is_splat:
        return b"\xff" if a.data[0] & 1 else b"\0"
    packed = bytearray((len(a.data) + 7) // 8)
    for number, byte in enumerate(a.data):
        packed[number // 8] |= (byte & 1) << number % 8
    return bytes(packed)


def _array(element: Type, size: int, data: bytes) -> Attribute:
    """`array<…>` from raw data."""
    if not isinstance(element, ty.IntegerType | ty.FloatType) or (element.width % 8 and element.width != 1):
        raise ValueError(f"'{element}' is not an element type of an array; its width must be a multiple of 8")
    width = (element.width + 7) // 8
    if len(data) != size * width:
        raise ValueError(f"an array of {size} '{element}' needs {size * width} bytes, found {len(data)}")
    bits = [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]
    if isinstance(element, ty.FloatType):
        return ba.DenseArrayAttr(element, tuple(bits))
    return ba.DenseArrayAttr(element, tuple(ba.wrap_int(value, element) for value in bits))


def _split_array(a: ba.DenseArrayAttr) -> tuple[object, ...]:
    width = (ty.bit_width(a.element) + 7) // 8
    mask = (1 << 8 * width) - 1
    return a.element, len(a.values), b"".join((v & mask).to_bytes(width, "little") for v in a.values)


def _sparse(type: ty.ShapedType, indices: ba.DenseElementsAttr, values: ba.DenseElementsAttr) -> Attribute:
    count = values.shaped.num_elements
    if not type.is_static or values.shaped.element is not type.element or values.shaped.rank != 1:
        raise ValueError(f"'{values.type}' are not the values of sparse elements of '{type}'")
    if indices.shaped.element is not ty.I64 or indices.shaped.shape != (count, type.rank):
        raise ValueError(f"'{indices.type}' are not the indices of {count} elements of '{type}'")
    places = indices.bits()
    # The indices may be a splat of any number of elements.
    limits = [min(type.shape)] if indices.is_splat and type.shape else type.shape
    if any(place >= limits[number % len(limits)] for number, place in enumerate(places)):
        raise ValueError(f"a sparse index is outside '{type}'")
    return ba.SparseElementsAttr(type, indices, values)


# -- strings, symbols, dictionaries


def _symbol(root: ba.StringAttr, nested: tuple[ba.SymbolRefAttr, ...]) -> Attribute:
    return ba.SymbolRefAttr(root.value, tuple(part.root for part in nested))


def _split_symbol(a: ba.SymbolRefAttr) -> tuple[object, ...]:
    return ba.StringAttr(a.root), tuple(ba.SymbolRefAttr(part) for part in a.nested)


def _dictionary(entries: tuple[tuple[ba.StringAttr, Attribute], ...]) -> Attribute:
    found: dict[str, Attribute] = {}
    for key, value in entries:
        if key.value in found:
            raise ValueError(f"duplicate key '{key.value}' in a dictionary attribute")
        found[key.value] = value
    return ba.DictionaryAttr.of(found)


def _write_entry(e: EntryWriter, entry: tuple[str, Attribute]) -> None:
    e.reference(ba.StringAttr(entry[0]))
    e.reference(entry[1])


_ENTRY = Member(lambda e: (STRING_ATTRIBUTE.read(e), ATTRIBUTE.read(e)), _write_entry)


# -- locations


def _range(file: ba.StringAttr, numbers: tuple[int, ...]) -> Attribute:
    """A range from as few numbers as it needs: line, column, end column; or line, column, end line, end column."""
    name = file.value
    if len(numbers) > 4:
        raise ValueError(f"a range of a file has {len(numbers)} numbers; expected at most 4")
    if len(numbers) < 3:
        line, column = (*numbers, 0, 0)[:2]
        return loc.FileLineColLoc(name, line, column)
    line, column, *end = numbers
    return loc.FileRangeLoc(name, line, column, *(end if len(end) == 2 else (line, end[0])))


def _split_range(a: loc.FileRangeLoc) -> tuple[object, ...]:
    end = (a.end_column,) if a.end_line == a.line else (a.end_line, a.end_column)
    return ba.StringAttr(a.file), (a.line, a.column, *end)


# -- shaped types


def _read_shape(e: EntryReader) -> tuple[int, ...]:
    extents = [e.c.signed() for _ in range(e.c.count("extents"))]
    for extent in extents:
        if extent < 0 and extent != ty.DYNAMIC_INDEX:
            e.c.fail(f"an extent is negative: {extent}")
    return tuple(ty.DYNAMIC if extent < 0 else extent for extent in extents)


def _write_shape(e: EntryWriter, shape: tuple[int, ...]) -> None:
    e.w.varint(len(shape))
    for extent in shape:
        e.w.signed(ty.DYNAMIC_INDEX if extent == ty.DYNAMIC else extent)


_SHAPE = Member(_read_shape, _write_shape)


def _element(container: str, refused: tuple[type[Type], ...]) -> Member[Type | None]:
    """The element type of a shaped type, as in text."""

    def read(e: EntryReader) -> Type | None:
        at = e.c.pos
        found = e.type(Type)
        if isinstance(found, refused):
            e.c.fail(f"invalid {container} element type '{found}'", at=at)
        return found

    return Member(read, EntryWriter.reference)


_MEMREF_ELEMENT = _element("memref", NO_MEMREF_ELEMENT)
_TENSOR_ELEMENT = _element("tensor", NO_TENSOR_ELEMENT)
_VECTOR_ELEMENT = _element("vector", NO_VECTOR_ELEMENT)


def _memref(shape: tuple[int, ...], element: Type, layout: Attribute, space: Attribute | None = None) -> Type:
    kept: Attribute | None = layout
    if isinstance(layout, ba.AffineMapAttr) and layout.map.is_identity and layout.map.num_dims == len(shape):
        kept = None
    return ty.MemRefType(shape, element, kept, _space(space))


def _space(space: Attribute | None) -> Attribute | None:
    """A memory space, None for the default one, 0."""
    return None if isinstance(space, ba.IntegerAttr) and space.value == 0 else space


def _split_memref(t: ty.MemRefType) -> tuple[object, ...]:
    layout = t.layout if t.layout is not None else ba.AffineMapAttr(AffineMap.identity(t.rank))
    return t.shape, t.element, layout


def _complex(element: Type) -> Type:
    if not isinstance(element, ty.IntegerType | ty.FloatType | ty.IndexType):
        raise ValueError(f"invalid element type for complex: {element}")
    return ty.ComplexType(element)


_SIGNS = ("signless", "signed", "unsigned")


def _integer_type(number: int) -> Type:
    width, sign = number >> 2, number & 3
    if sign >= len(_SIGNS) or width >= _MAX_BITS:
        raise ValueError(f"not an integer type: width {width}, signedness {sign}")
    return ty.IntegerType(width, _SIGNS[sign])


# -- resources


def _read_resource(e: EntryReader) -> tuple[str, str | None]:
    return e.tables.resource(e.c)


_RESOURCE = Member(_read_resource, lambda e, a: e.w.varint(e.resource(a)))
_SHAPED = type_of(ty.ShapedType, "a shaped type")
_ELEMENTS = attribute_of(ba.DenseElementsAttr, "dense elements")


def _distinct(e: EntryReader) -> ba.DistinctAttr | None:
    """The attribute, with a new number: each entry is distinct."""
    referenced = e.attribute(Attribute)
    if referenced is None:
        return None
    return ba.DistinctAttr(e.tables.distinct(), None if referenced is ba.UNIT else referenced)


def _refuse_strings(e: EntryReader) -> NoReturn:
    e.fail("dense elements that are strings are not supported; expected numbers")


def _constant(value: AttributeT) -> Callable[[], AttributeT]:
    return lambda: value


_NO_PARTS: Callable[[object], tuple[object, ...]] = lambda value: ()  # noqa: E731

_ATTRIBUTES = (
    Form(0, (listed(ATTRIBUTE, "elements"),), ba.ArrayAttr, lambda a: (a.elements,)),
    Form(1, (listed(_ENTRY, "entries"),), _dictionary, lambda a: (a.entries,)),
    Form(2, (STRING,), ba.StringAttr, lambda a: (a.value,)),
    Form(3, (STRING, TYPE), ba.StringAttr, lambda a: (a.value, a.type)),
    Form(4, (STRING_ATTRIBUTE,), lambda s: ba.SymbolRefAttr(s.value), lambda a: (ba.StringAttr(a.root),)),
    Form(
        5,
        (STRING_ATTRIBUTE, listed(attribute_of(ba.SymbolRefAttr, "a symbol"), "nested symbols")),
        _symbol,
        _split_symbol,
    ),
    Form(6, (TYPE,), ba.TypeAttr, lambda a: (a.value,)),
    Form(7, (), _constant(ba.UNIT), _NO_PARTS),
    Form(
        8,
        (_of_type((ty.IntegerType, ty.IndexType), "an integer type"),),
        _integer,
        lambda a: ((a.type, a.value),),
    ),
    Form(
        9,
        (_of_type(ty.FloatType, "a floating-point type"),),
        lambda n: ba.FloatAttr(n[1], n[0]),
        lambda a: ((a.type, a.bits),),
    ),
    Form(10, (LOCATION, LOCATION), loc.CallSiteLoc, lambda a: (a.callee, a.caller)),
    Form(
        11,
        (STRING_ATTRIBUTE, NUMBER, NUMBER),
        lambda s, line, column: loc.FileLineColLoc(s.value, line, column),
        lambda a: (ba.StringAttr(a.file), a.line, a.column),
    ),
    Form(12, (listed(LOCATION, "locations"),), loc.FusedLoc, lambda a: (a.locations,)),
    Form(13, (listed(LOCATION, "locations"), ATTRIBUTE), loc.FusedLoc, lambda a: (a.locations, a.metadata)),
    Form(
        14,
        (STRING_ATTRIBUTE, LOCATION),
        lambda s, child: loc.NameLoc(s.value, child),
        lambda a: (ba.StringAttr(a.label), a.child),
    ),
    Form(15, (), _constant(loc.UNKNOWN), _NO_PARTS),
    Form(16, (_SHAPED, _RESOURCE), lambda t, r: ba.DenseResourceAttr(r[0], t, r[1]), lambda a: (a.type, a)),
    Form(17, (TYPE, NUMBER, BLOB), _array, _split_array),
    Form(18, (_SHAPED, BLOB), _dense, lambda a: (a.type, _raw(a))),
    Form(19, (Member(_refuse_strings, lambda e, a: None),), lambda a: a, lambda a: (a,)),
    Form(20, (_SHAPED, _ELEMENTS, _ELEMENTS), _sparse, lambda a: (a.type, a.indices, a.values)),
    Form(
        21,
        (Member(_distinct, lambda e, a: e.reference(ba.UNIT if a.referenced is None else a.referenced)),),
        lambda a: a,
        lambda a: (a,),
    ),
    Form(22, (STRING_ATTRIBUTE, listed(NUMBER, "numbers")), _range, _split_range),
)

# `distinct` attributes are written as text, which keeps their numbers.
_ATTRIBUTE_CODES: dict[type[Attribute], int] = {
    ba.ArrayAttr: 0, ba.DictionaryAttr: 1, ba.TypeAttr: 6, ba.UnitAttr: 7, ba.IntegerAttr: 8, ba.FloatAttr: 9,
    loc.CallSiteLoc: 10, loc.FileLineColLoc: 11, loc.NameLoc: 14, loc.UnknownLoc: 15, ba.DenseResourceAttr: 16,
    ba.DenseArrayAttr: 17, ba.DenseElementsAttr: 18, ba.SparseElementsAttr: 20,
    loc.FileRangeLoc: 22,
}  # fmt: skip


def _attribute_code(a: Attribute) -> int | None:
    if isinstance(a, ba.StringAttr):
        return 2 if a.type is ty.NONE else 3
    if isinstance(a, ba.SymbolRefAttr):
        return 5 if a.nested else 4
    if isinstance(a, loc.FusedLoc):
        return 12 if a.metadata is None else 13
    return _ATTRIBUTE_CODES.get(type(a))


_FLOATS = {"bf16": 3, "f16": 4, "f32": 5, "f64": 6, "f80": 7, "f128": 8}

_TYPES = (
    Form(0, (NUMBER,), _integer_type, lambda t: (t.width << 2 | _SIGNS.index(t.signedness),)),
    Form(1, (), _constant(ty.INDEX), _NO_PARTS),
    Form(
        2, (listed(TYPE, "inputs"), listed(TYPE, "results")), ty.FunctionType, lambda t: (t.inputs, t.results)
    ),
    *(Form(code, (), _constant(ty.FloatType(word)), _NO_PARTS) for word, code in _FLOATS.items()),
    Form(9, (TYPE,), _complex, lambda t: (t.element,)),
    Form(10, (_SHAPE, _MEMREF_ELEMENT, ATTRIBUTE), _memref, _split_memref),
    Form(
        11,
        (ATTRIBUTE, _SHAPE, _MEMREF_ELEMENT, ATTRIBUTE),
        lambda space, shape, element, layout: _memref(shape, element, layout, space),
        lambda t: (t.memory_space, *_split_memref(t)),
    ),
    Form(12, (), _constant(ty.NONE), _NO_PARTS),
    Form(13, (_SHAPE, _TENSOR_ELEMENT), ty.RankedTensorType, lambda t: (t.shape, t.element)),
    Form(
        14,
        (ATTRIBUTE, _SHAPE, _TENSOR_ELEMENT),
        lambda encoding, shape, element: ty.RankedTensorType(shape, element, encoding),
        lambda t: (t.encoding, t.shape, t.element),
    ),
    Form(15, (listed(TYPE, "types"),), ty.TupleType, lambda t: (t.types,)),
    Form(16, (_MEMREF_ELEMENT,), ty.UnrankedMemRefType, lambda t: (t.element,)),
    Form(
        17,
        (ATTRIBUTE, _MEMREF_ELEMENT),
        lambda space, element: ty.UnrankedMemRefType(element, _space(space)),
        lambda t: (t.memory_space, t.element),
    ),
    Form(18, (_TENSOR_ELEMENT,), ty.UnrankedTensorType, lambda t: (t.element,)),
    Form(19, (_SHAPE, _VECTOR_ELEMENT), ty.VectorType, lambda t: (t.shape, t.element)),
    Form(
        20,
        (listed(BOOL, "flags"), _SHAPE, _VECTOR_ELEMENT),
        lambda flags, shape, element: ty.VectorType(shape, element, flags if any(flags) else ()),
        lambda t: (t.scalable, t.shape, t.element),
    ),
)


def _type_code(t: Attribute) -> int | None:
    if isinstance(t, ty.FloatType):
        return _FLOATS.get(t.keyword)
    if isinstance(t, ty.MemRefType):
        return 10 if t.memory_space is None else 11
    if isinstance(t, ty.RankedTensorType):
        return 13 if t.encoding is None else 14
    if isinstance(t, ty.UnrankedMemRefType):
        return 16 if t.memory_space is None else 17
    if isinstance(t, ty.VectorType):
        return 20 if t.scalable else 19
    return _TYPE_CODES.get(type(t))


_TYPE_CODES: dict[type[Attribute], int] = {
    ty.IntegerType: 0, ty.IndexType: 1, ty.FunctionType: 2, ty.ComplexType: 9, ty.NoneType: 12, ty.TupleType: 15,
    ty.UnrankedTensorType: 18,
}  # fmt: skip

ATTRIBUTES = Forms(_ATTRIBUTES, _attribute_code)
TYPES = Forms(_TYPES, _type_code)
