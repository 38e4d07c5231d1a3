"""Attributes: numbers, strings, symbols, lists, dictionaries, those that start with a word, and the dialects' own."""

from __future__ import annotations

import re
from collections.abc import Callable

from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import floats
from tessera_tools.ir import types as ty
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.location import Location
from tessera_tools.ir.scanner import integer_of
from tessera_tools.opdef.dialect import find_dialect
from tessera_tools.parser.affine import read_affine_map, read_integer_set
from tessera_tools.parser.dense import read_dense, read_dense_array, read_sparse
from tessera_tools.parser.lexical import MAX_DIGITS, WORD
from tessera_tools.parser.locations import read_location
from tessera_tools.parser.types import DIALECT_NAME, TypeScanner

_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+(?![\w.])|[0-9]+(\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)")


class AttributeScanner(TypeScanner):
    """Reads attributes."""

    __slots__ = ()

    # -- attributes

    def attribute(self, type: Type | None = None) -> Attribute:
        """Any attribute.  If `type` is given, a number has that type and no `: type` follows."""
        start = self.skip()
        char = self.text[start : start + 1]
        self.nest()
        try:
            if char == '"':
                value = self.string()
                if type is None and self.optional(":"):
                    return ba.StringAttr(value, self.type())
                return ba.StringAttr(value)
            if char == "@":
                return self.symbol()
            if char == "[":
                return ba.ArrayAttr(tuple(self.list("[", self.attribute, "]")))
            if char == "{":
                return ba.DictionaryAttr.of(self.dictionary())
            if char == "#":
                self.at += 1
                return self._dialect_attribute(start)
            if char.isdigit() or char == "-":
                return self._number(type, start)
            return self._word_attribute(type, start)
        finally:
            self.depth -= 1

    def _number(self, type: Type | None, start: int) -> Attribute:
        match = self._match(_NUMBER)
        if match is None:
            raise self.error(f"expected a number, found {self.found()}")
        literal = match.group()
        if len(literal) > MAX_DIGITS:
            raise self.error(f"number is too long (limit {MAX_DIGITS} digits)", start)
        is_float = match.group(1) is not None
        kind: Type = ty.F64 if is_float else ty.I64
        if type is not None:
            kind = type
        elif self.optional(":"):
            kind = self.type()
        if isinstance(kind, ty.FloatType):
            keyword = kind.keyword
            if not is_float and "x" not in literal:
                raise self.error(
                    f"expected a floating point literal for type {kind}, found '{literal}'; write '{literal}.0'",
                    start,
                )
            return self.guarded(lambda: ba.FloatAttr(floats.parse(literal, keyword), kind), start)
        if is_float:
            raise self.error(f"floating point value not valid for type {kind}", start)
        return self._integer(literal, kind, start)

    def _integer(self, literal: str, type: Type, start: int) -> Attribute:
        value = integer_of(literal)
        return self.guarded(lambda: _integer_attribute(value, type), start)

    def _word_attribute(self, type: Type | None, start: int) -> Attribute:
        match = WORD.match(self.text, start)
        word = match.group() if match else ""
        if word in ("true", "false"):
            self.at = start + len(word)
            return ba.TRUE if word == "true" else ba.FALSE
        reader = _WORD_ATTRIBUTES.get(word)
        if reader is not None:
            self.at = start + len(word)
            return reader(self, start)
        found = self.optional_type()
        if found is not None:
            return ba.TypeAttr(found)
        raise self.error(f"expected an attribute, found {self.found()}")

    def _dialect_attribute(self, start: int) -> Attribute:
        match = self._match(DIALECT_NAME)
        if match is None:
            raise self.error("expected a dialect attribute or alias name after '#'")
        name = match.group()
        if "." not in name and ("#" + name in self.aliases or not self.text.startswith("<", self.at)):
            return self.aliases.attribute(name, start, self.depth)
        dialect_name, _, word = name.partition(".")
        dialect = find_dialect(dialect_name)
        if dialect is None:
            if not self.allow_unregistered:
                raise self.error(
                    f"dialect '{dialect_name}' is not registered; "
                    "use --allow-unregistered-dialect to let its attributes pass",
                    start,
                )
            return ba.OpaqueAttr(
                dialect_name, word + (self.balanced() if self.text.startswith("<", self.at) else "")
            )
        if not word:
            # `#gpu<dim x>`: the word stands inside the brackets.
            self.expect("<")
            word = self.word()
            inside = getattr(dialect.attributes.get(word), "parse_inside", None)
            if inside is not None:
                found = self.guarded(lambda: inside(self), start)
                self.expect(">")
                return found
            raise self.error(f"unknown attribute '#{name}<{word} …>' in dialect '{dialect_name}'", start)
        while word:
            if word in dialect.attributes:
                self.at = start + 1 + len(dialect_name) + 1 + len(word)
                return self._parse_with(dialect.attributes[word], start)
            word = word.rpartition(".")[0]
        raise self.error(f"unknown attribute '#{name}' in dialect '{dialect_name}'", start)

    def dictionary(self) -> dict[str, Attribute]:
        """`{key = value, flag}`."""
        entries: dict[str, Attribute] = {}

        def entry() -> None:
            start = self.skip()
            key = self.optional_string() if self.peek('"') else self.optional_word()
            if key is None:
                raise self.error(f"expected an attribute name, found {self.found()}")
            if key in entries:
                raise self.error(f"duplicate key '{key}' in dictionary attribute", start)
            entries[key] = self.attribute() if self.optional("=") else ba.UNIT

        self.list("{", entry, "}")
        return entries

    # -- locations

    def location(self) -> Location:
        """`loc(…)`."""
        self.expect("loc")
        self.expect("(")
        found = read_location(self)
        self.expect(")")
        return found


def _integer_attribute(value: int, type: Type) -> Attribute:
    if isinstance(type, ty.IntegerType) and type.signedness == "signless" and type.width > 1:
        if not -(1 << type.width >> 1) <= value < 1 << type.width:
            raise ValueError(f"integer constant out of range for type {type}: {value}")
        return ba.IntegerAttr.wrap(value, type)
    if type is ty.I1 and value in (-1, 0, 1):
        return ba.IntegerAttr(abs(value), type)
    return ba.IntegerAttr(value, type)


def _dense_resource(scanner: AttributeScanner, start: int) -> Attribute:
    scanner.expect("<")
    key = scanner.string() if scanner.peek('"') else scanner.word()
    scanner.expect(">")
    scanner.expect(":")
    type = scanner.type()
    if not isinstance(type, ty.ShapedType | ty.UnrankedTensorType | ty.UnrankedMemRefType):
        raise scanner.error(f"`dense_resource` expected a shaped type, found '{type}'", start)
    return ba.DenseResourceAttr(key, type, scanner.source.resources.get(key))


def _distinct(scanner: AttributeScanner, start: int) -> Attribute:
    scanner.expect("[")
    number = scanner.integer()
    scanner.expect("]")
    scanner.expect("<")
    found = ba.DistinctAttr(number, None if scanner.peek(">") else scanner.attribute())
    scanner.expect(">")
    known = scanner.aliases.shared.setdefault(ba.DistinctAttr, {}).setdefault(number, found)
    if known is not found:
        raise scanner.error(f"referenced attribute does not match previous definition: {known}", start)
    return found


def _affine_map(scanner: AttributeScanner, start: int) -> Attribute:
    scanner.expect("<")
    found = read_affine_map(scanner)
    scanner.expect(">")
    return ba.AffineMapAttr(found)


def _affine_set(scanner: AttributeScanner, start: int) -> Attribute:
    scanner.expect("<")
    found = read_integer_set(scanner)
    scanner.expect(">")
    return ba.IntegerSetAttr(found)


def _strided(scanner: AttributeScanner, start: int) -> Attribute:
    def stride() -> int:
        return ty.DYNAMIC_INDEX if scanner.optional("?") else scanner.integer()

    scanner.expect("<")
    strides = scanner.list("[", stride, "]")
    offset = 0
    if scanner.optional(","):
        scanner.keyword("offset")
        scanner.expect(":")
        offset = stride()
    scanner.expect(">")
    return ba.StridedLayoutAttr(tuple(strides), offset)


def _location(scanner: AttributeScanner, start: int) -> Attribute:
    scanner.at = start
    return scanner.location()


_WORD_ATTRIBUTES: dict[str, Callable[[AttributeScanner, int], Attribute]] = {
    "unit": lambda scanner, start: ba.UNIT,
    "dense": read_dense,
    "dense_resource": _dense_resource,
    "sparse": read_sparse,
    "distinct": _distinct,
    "array": read_dense_array,
    "affine_map": _affine_map,
    "affine_set": _affine_set,
    "strided": _strided,
    "loc": _location,
}
