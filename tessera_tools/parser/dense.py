"""Dense literals: `dense<1>`, `dense<[[1, 2], [3, 4]]>`, `dense<"0x…">`, `dense<(1.0,2.0)>`, `array<i64: 1, 2>`."""

from __future__ import annotations

import re

from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import floats
from tessera_tools.ir import types as ty
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.scanner import integer_of
from tessera_tools.parser.lexical import MAX_DIGITS
from tessera_tools.parser.types import TypeScanner

_ELEMENT = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)|true\b|false\b")


def read_dense(s: TypeScanner, start: int) -> Attribute:
    """Parses a literal after the keyword `dense`."""
    s.expect("<")
    hex_data: str | None = None
    literals: list[tuple[str, int]] = []
    shape: tuple[int, ...] = ()
    empty = s.peek(">")
    if s.peek('"'):
        hex_data = s.string()
    elif not empty:
        shape = _read_nested(s, literals)
    s.expect(">")
    type = _implied_type(s) if s.implied is not None and not s.peek(":") else None
    if type is None:
        s.expect(":")
        type = s.type()
    if not isinstance(type, ty.ShapedType) or not type.is_static:
        raise s.error(f"elements literal must have a static shaped type, found {type}", start)
    shaped = type
    if hex_data is not None:
        return _from_hex(s, hex_data, shaped, start)
    splat = shape == () and not empty
    if not splat and shape != shaped.shape and not (empty and shaped.num_elements == 0):
        found = "x".join(map(str, shape)) or "empty"
        raise s.error(f"inferred shape of elements literal ({found}) does not match type ({shaped})", start)
    bits = [element_bits(s, text, at, shaped.element) for text, at in literals]
    if isinstance(shaped.element, ty.ComplexType):
        expected = 2 if splat else 2 * shaped.num_elements
        if len(bits) != expected:
            found = f"parsed {len(bits)} elements, but type ('{shaped}') expected {expected} elements"
            raise s.error(found, start)
        size = 8 * ba.element_bytes(shaped.element.element)
        bits = [bits[i] | bits[i + 1] << size for i in range(0, len(bits), 2)]
    return s.guarded(lambda: ba.DenseElementsAttr.of(shaped, bits), start)


def _implied_type(s: TypeScanner) -> Type | None:
    """The tensor type of a literal without one: the shape and elements of the type before it."""
    implied = s.implied
    return ty.RankedTensorType(implied.shape, implied.element) if isinstance(implied, ty.ShapedType) else None


def _read_nested(s: TypeScanner, literals: list[tuple[str, int]]) -> tuple[int, ...]:
    """Parse literals in row-major order; returns the shape of the brackets."""
    if s.optional("("):
        _read_literal(s, literals)
        s.expect(",")
        _read_literal(s, literals)
        s.expect(")")
        return ()
    if not s.peek("["):
        _read_literal(s, literals)
        return ()
    s.nest()
    at = s.at
    shapes = s.list("[", lambda: _read_nested(s, literals), "]")
    s.depth -= 1
    if any(inner != shapes[0] for inner in shapes):
        raise s.error("tensor literal is invalid; ranks are not consistent between elements", at)
    return (len(shapes), *(shapes[0] if shapes else ()))


def _read_literal(s: TypeScanner, literals: list[tuple[str, int]]) -> None:
    match = _ELEMENT.match(s.text, s.skip())
    if match is None:
        raise s.error(f"expected element literal of primitive type, found {s.found()}")
    literals.append((match.group(), match.start()))
    s.at = match.end()


def element_bits(s: TypeScanner, literal: str, at: int, element: Type) -> int:
    """The encoding of one literal in an element type."""
    if isinstance(element, ty.ComplexType):
        element = element.element
    if isinstance(element, ty.FloatType):
        keyword = element.keyword
        if literal in ("true", "false") or not ("." in literal or "x" in literal):
            raise s.error(f"expected floating-point element literal for {element}, found '{literal}'", at)
        return s.guarded(lambda: floats.parse(literal, keyword), at)
    if "." in literal:
        raise s.error(f"expected integer elements for {element}, found '{literal}'", at)
    if literal in ("true", "false"):
        if element is not ty.I1:
            raise s.error(f"expected i1 type for 'true' or 'false' values, found {element}", at)
        return int(literal == "true")
    if len(literal) > MAX_DIGITS:
        raise s.error(f"number is too long (limit {MAX_DIGITS} digits)", at)
    value = integer_of(literal)
    if isinstance(element, ty.IntegerType) and element.signedness == "unsigned" and literal.startswith("-"):
        raise s.error(f"expected unsigned integer elements, but parsed negative value {literal}", at)
    width = s.guarded(lambda: ty.bit_width(element), at)
    if not -(1 << width >> 1) <= value < 1 << width:
        raise s.error(f"integer constant out of range for type {element}: {value}", at)
    return value & ((1 << width) - 1)


def _from_hex(s: TypeScanner, text: str, type: ty.ShapedType, start: int) -> Attribute:
    try:
        if not text.startswith("0x"):
            raise ValueError
        data = bytes.fromhex(text[2:])
    except ValueError:
        raise s.error(
            "elements hex string must start with '0x' and hold pairs of hex digits", start
        ) from None
    if type.element is ty.I1:
        return _from_bits(s, data, type, start)
    expected = ba.element_bytes(type.element) * type.num_elements
    if len(data) not in (expected, ba.element_bytes(type.element)):
        raise s.error(f"elements hex data has {len(data)} bytes, {type} needs {expected}", start)
    return s.guarded(lambda: ba.DenseElementsAttr(type, data), start)


def _from_bits(s: TypeScanner, data: bytes, type: ty.ShapedType, start: int) -> Attribute:
    """Elements of one bit, eight per byte, the first in the low bit; a byte of equal bits may be a splat."""
    count = type.num_elements
    if len(data) == 1 and data[0] in (0x00, 0xFF) and count:
        return ba.DenseElementsAttr(type, bytes([data[0] & 1]))
    if len(data) != (count + 7) // 8:
        raise s.error(f"elements hex data has {len(data)} bytes, {type} needs {(count + 7) // 8}", start)
    return ba.DenseElementsAttr(type, bytes(data[i // 8] >> i % 8 & 1 for i in range(count)))


def read_sparse(s: TypeScanner, start: int) -> Attribute:
    """Parses a literal after the keyword `sparse`: `<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>`."""
    s.expect("<")
    index_literals: list[tuple[str, int]] = []
    literals: list[tuple[str, int]] = []
    index_shape: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    empty = s.peek(">")
    if not empty:
        index_shape = _read_nested(s, index_literals)
        s.expect(",")
        shape = _read_nested(s, literals)
    s.expect(">")
    s.expect(":")
    type = s.type()
    if not isinstance(type, ty.ShapedType) or not type.is_static:
        raise s.error(f"elements literal must have a static shaped type, found {type}", start)
    if empty:
        index_shape, shape = (0, type.rank), (0,)
    if not index_shape or (index_shape == (1,) and type.rank == 1):
        index_shape = (1, type.rank)  # one index is printed without its brackets
    count = index_shape[0] if len(index_shape) == 2 or type.rank == 1 else 1
    rank = index_shape[1] if len(index_shape) == 2 else 1
    if rank != type.rank or (shape or (count,)) != (count,):
        raise s.error(
            f"expected shape ({list(type.shape)}); inferred shape of indices literal ({list(index_shape)}); "
            f"inferred shape of values literal ({list(shape)})",
            start,
        )
    indices = [element_bits(s, text, at, ty.I64) for text, at in index_literals]
    indices *= count * rank if len(indices) == 1 else 1
    for number in range(count):
        index = indices[number * rank : (number + 1) * rank]
        if any(i >= extent for i, extent in zip(index, type.shape, strict=True)):
            raise s.error(
                f"sparse index #{number} is not contained within the value shape, with index={index}, and "
                f"type='{type}'",
                start,
            )
    bits = [element_bits(s, text, at, type.element) for text, at in literals]

    def build() -> Attribute:
        places = ba.DenseElementsAttr.of(ty.RankedTensorType(index_shape, ty.I64), indices)
        return ba.SparseElementsAttr(
            type, places, ba.DenseElementsAttr.of(ty.RankedTensorType((count,), type.element), bits)
        )

    return s.guarded(build, start)


def read_dense_array(s: TypeScanner, start: int) -> Attribute:
    """Parses a literal after the keyword `array`."""
    s.expect("<")
    element = s.type()
    if not isinstance(element, ty.IntegerType | ty.FloatType):
        raise s.error(f"expected an integer or float element type for array, found {element}", start)
    if element.width % 8 and element is not ty.I1:
        raise s.error(f"element type bitwidth must be a multiple of 8, found {element}", start)
    values: list[int] = []
    if s.optional(":"):
        while True:
            literals: list[tuple[str, int]] = []
            _read_literal(s, literals)
            if element is ty.I1 and literals[0][0] not in ("true", "false"):
                raise s.error("expected 'true' or 'false' values for i1 type", literals[0][1])
            bits = element_bits(s, *literals[0], element)
            values.append(bits if isinstance(element, ty.FloatType) else ba.wrap_int(bits, element))
            if not s.optional(","):
                break
    s.expect(">")
    return ba.DenseArrayAttr(element, tuple(values))
