"""Types and attributes: a scanner over the source that reads them by recursive descent.

The grammar treats a type, an attribute, an attribute dictionary and a location as one terminal each; the lexer
calls this scanner where the parser's state expects one.  Dialects read their own with `parse(scanner)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import floats
from tessera_tools.ir import types as ty
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.location import Location
from tessera_tools.opdef.dialect import find_dialect
from tessera_tools.parser.source import Source

T = TypeVar("T")

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_SIMPLE_WORD = re.compile(r"[A-Za-z_][\w$]*")
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|[0-9]+)")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+(?![\w.])|[0-9]+(\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
_SYMBOL = re.compile(r'@([A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*")')
_INT_TYPE = re.compile(r"(s|u)?i([0-9]+)\b")
_DIM = re.compile(r"(\?|[0-9]+)x")
_SCALABLE = re.compile(r"(?:\[([0-9]+)\]|([0-9]+))x")
_ESCAPE = re.compile(r'\\(n|t|"|\\|[0-9a-fA-F]{2})?')
_DIALECT_NAME = re.compile(r"[A-Za-z_][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_BRACKETS = re.compile(r'->|[<>()\[\]{}]|"(?:[^"\\\n]|\\.)*"')
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}

MAX_NESTING = 256
"""How deep types, attributes and regions may nest; deeper input is refused."""

WORD_TYPES: dict[str, Type] = {
    **{keyword: ty.FloatType(keyword) for keyword in ty.FLOAT_WIDTHS},
    **{f"i{w}": ty.IntegerType(w) for w in (1, 4, 8, 16, 32, 64, 128)},
    "index": ty.INDEX,
    "none": ty.NONE,
}
"""Types that are one word; integer types of other widths are added as they are met."""

SHORT_TYPES = {"tile": "cuda_tile", "ptr": "cuda_tile", "token": "cuda_tile", "tensor_view": "cuda_tile",
               "partition_view": "cuda_tile", "strided_view": "cuda_tile", "gather_scatter_view": "cuda_tile"}  # fmt: skip
"""Types of `cuda_tile` that are written without `!cuda_tile.`."""

_SHAPED = {"tensor", "vector", "memref", "tuple", "complex"}


class Scanner:
    """Reads types and attributes of `source` from `at` on; shared state (aliases) lives in `aliases`."""

    __slots__ = ("aliases", "allow_unregistered", "at", "depth", "implied", "source", "text")

    def __init__(self, source: Source, at: int = 0, *, aliases: Aliases | None = None, allow_unregistered: bool = False):
        self.source = source
        self.text = source.text
        self.at = at
        self.depth = 0
        self.implied: Type | None = None
        """The last shaped type that the op's format spelled: what `dense<…>` without a type is of (`memref.global`)."""
        self.allow_unregistered = allow_unregistered
        self.aliases = aliases if aliases is not None else Aliases(source, allow_unregistered)

    # -- characters and words

    def error(self, message: str, at: int | None = None) -> DiagnosticError:
        """An error where the scanner stands (or at an offset): `raise scanner.error("…")`."""
        return self.source.error(self.at if at is None else at, message)

    def skip(self) -> int:
        """Skip white space and comments; the new offset."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.at

    def found(self) -> str:
        """What stands here, in words for an error message."""
        self.skip()
        rest = self.text[self.at : self.at + 40]
        if not rest:
            return "end of file"
        match = _WORD.match(rest) or re.match(r"->|[^\s]", rest)
        return f"'{match.group()}'" if match else "white space"

    def peek(self, text: str) -> bool:
        """Whether `text` comes next."""
        self.skip()
        if not self.text.startswith(text, self.at):
            return False
        end = self.at + len(text)
        return not (text[-1].isalnum() and end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"))

    def optional(self, text: str) -> bool:
        """Take `text` if it comes next."""
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def expect(self, text: str) -> None:
        """Take `text`, or fail."""
        if not self.optional(text):
            raise self.error(f"expected '{text}', found {self.found()}")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.skip())
        if match is not None:
            self.at = match.end()
        return match

    def optional_word(self) -> str | None:
        """A bare identifier (with dots), if one comes next."""
        match = self._match(_WORD)
        return match.group() if match else None

    def word(self) -> str:
        """A bare identifier."""
        found = self.optional_word()
        if found is None:
            raise self.error(f"expected a keyword, found {self.found()}")
        return found

    def keyword(self, *choices: str) -> str:
        """One of the given keywords."""
        start = self.skip()
        word = self.optional_word()
        if word not in choices:
            self.at = start
            raise self.error(f"expected {' or '.join(repr(c) for c in choices)}, found {self.found()}")
        return word

    def optional_integer(self) -> int | None:
        match = self._match(_INTEGER)
        if match is None:
            return None
        if len(match.group()) > 4000:
            raise self.error("integer literal is too long (limit 4000 digits)", match.start())
        return int(match.group(), 0 if "x" in match.group() else 10)

    def integer(self) -> int:
        found = self.optional_integer()
        if found is None:
            raise self.error(f"expected an integer, found {self.found()}")
        return found

    def optional_string(self) -> str | None:
        match = self._match(_STRING)
        return self.unescape(match.group(1), match.start()) if match else None

    def string(self) -> str:
        found = self.optional_string()
        if found is None:
            raise self.error(f"expected a string, found {self.found()}")
        return found

    def unescape(self, body: str, start: int) -> str:
        """The text of a string literal's body; `\\XX` escapes are bytes of UTF-8 (lone ones become surrogates)."""
        if "\\" not in body:
            return body

        def replace(match: re.Match[str]) -> bytes:
            code = match.group(1)
            if code is None:
                raise self.error("unknown escape in string literal; expected \\n, \\t, \\\", \\\\ or two hex digits", start)
            return {"n": b"\n", "t": b"\t", '"': b'"', "\\": b"\\"}.get(code) or bytes([int(code, 16)])

        out, at = bytearray(), 0
        for match in _ESCAPE.finditer(body):
            out += body[at : match.start()].encode("utf-8", "surrogateescape") + replace(match)
            at = match.end()
        out += body[at:].encode("utf-8", "surrogateescape")
        return out.decode("utf-8", "surrogateescape")

    def optional_symbol_name(self) -> str | None:
        match = self._match(_SYMBOL)
        if match is None:
            return None
        name = match.group(1)
        return self.unescape(name[1:-1], match.start()) if name.startswith('"') else name

    def symbol(self) -> ba.SymbolRefAttr:
        """`@root::@nested`."""
        parts: list[str] = []
        while True:
            name = self.optional_symbol_name()
            if name is None:
                raise self.error(f"expected a symbol '@name', found {self.found()}")
            parts.append(name)
            if not self.optional("::"):
                return ba.SymbolRefAttr(parts[0], tuple(parts[1:]))

    def list(self, open: str, item: Callable[[], T], close: str) -> list[T]:
        """`open item, item, … close`, possibly empty."""
        self.expect(open)
        items: list[T] = []
        if self.optional(close):
            return items
        while True:
            items.append(item())
            if not self.optional(","):
                self.expect(close)
                return items

    def balanced(self) -> str:
        """The text from an opening bracket to its closing one, both included."""
        start = self.skip()
        stack: list[str] = []
        for match in _BRACKETS.finditer(self.text, start):
            piece = match.group()
            if piece in _CLOSING:
                stack.append(_CLOSING[piece])
            elif piece in (">", ")", "]", "}"):
                if not stack or stack.pop() != piece:
                    raise self.error(f"unbalanced '{piece}'", match.start())
            if not stack:
                break
        else:
            raise self.error("unbalanced brackets: end of file before the closing one", start)
        self.at = match.end()
        return self.text[start : self.at]

    def nest(self) -> None:
        """Count one more level of nesting; refused beyond `MAX_NESTING`."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error(f"types and attributes nest deeper than {MAX_NESTING} levels")

    def guarded(self, make: Callable[[], T], start: int) -> T:
        """Make an interned object; its ValueError becomes an error at `start`."""
        try:
            return make()
        except (ValueError, OverflowError) as problem:
            raise self.error(str(problem), start) from None

    # -- types

    def type(self, short: str | None = None) -> Type:
        """Any type.  Inside `short`'s own types, that dialect's type names need no prefix."""
        found = self.optional_type(short)
        if found is None:
            raise self.error(f"expected a type, found {self.found()}")
        return found

    def optional_type(self, short: str | None = None) -> Type | None:
        """A type, if one starts here."""
        start = self.skip()
        char = self.text[start : start + 1]
        if char == "!":
            self.at += 1
            return self._dialect_type(start)
        if char == "(":
            return self._function_type()
        match = _SIMPLE_WORD.match(self.text, start)
        if match is None:
            return None
        word = match.group()
        if short is not None:
            dialect = find_dialect(short)
            longest = _WORD.match(self.text, start)
            names = dialect.types if dialect is not None else {}
            for candidate in (longest.group() if longest else word, word):
                if candidate in names:
                    self.at = start + len(candidate)
                    return self._parse_with(names[candidate], start)
        known = WORD_TYPES.get(word)
        if known is not None:
            self.at = match.end()
            return known
        integer = _INT_TYPE.fullmatch(word)
        if integer is not None:
            self.at = match.end()
            sign = {"s": "signed", "u": "unsigned", None: "signless"}[integer.group(1)]
            if len(integer.group(2)) > 9:
                raise self.error("integer bitwidth is limited to 16777215 bits", start)
            known = WORD_TYPES[word] = self.guarded(lambda: ty.IntegerType(int(integer.group(2)), sign), start)
            return known
        if word in _SHAPED:
            self.at = match.end()
            self.nest()
            found = getattr(self, f"_{word}_type")(start)
            self.depth -= 1
            return found
        if word in SHORT_TYPES:
            dialect = find_dialect(SHORT_TYPES[word])
            if dialect is not None and word in dialect.types:
                self.at = match.end()
                return self._parse_with(dialect.types[word], start)
        return None

    def _parse_with(self, cls: Any, start: int) -> Any:
        self.nest()
        try:
            found = cls.parse(self) if hasattr(cls, "parse") else cls()
        except (ValueError, OverflowError, TypeError) as problem:
            raise self.error(str(problem), start) from None
        self.depth -= 1
        return found

    def _dialect_type(self, start: int) -> Type:
        match = self._match(_DIALECT_NAME)
        if match is None:
            raise self.error("expected a dialect type or alias name behind '!'")
        name = match.group()
        if "." not in name:
            if not self.peek("<") or name in self.aliases.types:
                return self.aliases.type(name, start)
        dialect_name, _, word = name.partition(".")
        dialect = find_dialect(dialect_name)
        if dialect is None:
            if not self.allow_unregistered:
                raise self.error(
                    f"dialect '{dialect_name}' is not registered; use --allow-unregistered-dialect to let its types pass",
                    start,
                )
            body = word + (self.balanced() if self.text.startswith("<", self.at) else "")
            return ty.OpaqueType(dialect_name, body)
        while word:
            if word in dialect.types:
                self.at = start + 1 + len(dialect_name) + 1 + len(word)
                return self._parse_with(dialect.types[word], start)
            word = word.rpartition(".")[0]
        raise self.error(f"unknown type '!{name}' in dialect '{dialect_name}'", start)

    def _function_type(self) -> Type:
        self.nest()
        inputs = self.list("(", self.type, ")")
        self.expect("->")
        results = self.list("(", self.type, ")") if self.peek("(") else [self.type()]
        if len(results) == 1 and self.peek("->"):
            raise self.error("a function type as result must stand in parentheses")
        self.depth -= 1
        return ty.FunctionType(tuple(inputs), tuple(results))

    def function_type(self) -> ty.FunctionType:
        """`(inputs) -> results`."""
        if not self.peek("("):
            raise self.error(f"expected a function type '(…) -> …', found {self.found()}")
        found = self._function_type()
        assert isinstance(found, ty.FunctionType)
        return found

    def dimensions(self) -> tuple[int, ...]:
        """`4x?x`: extents each followed by `x`; `DYNAMIC` for `?`."""
        dims: list[int] = []
        self.skip()
        while (match := _DIM.match(self.text, self.at)) is not None:
            dims.append(ty.DYNAMIC if match.group(1) == "?" else self._extent(match.group(1)))
            self.at = match.end()
        return tuple(dims)

    def _extent(self, digits: str) -> int:
        if len(digits) > 19 or int(digits) >= 1 << 63:
            raise self.error("dimension is too large: it must fit in 63 bits")
        return int(digits)

    def _unranked(self) -> bool:
        """Skip the `*x` of an unranked type."""
        if not self.text.startswith("*x", self.skip()):
            return False
        self.at = self.skip() + 2
        return True

    def _tensor_type(self, start: int) -> Type:
        self.expect("<")
        if self._unranked():
            element = self.type()
            self.expect(">")
            return ty.UnrankedTensorType(element)
        shape = self.dimensions()
        element = self.type()
        encoding = self.attribute() if self.optional(",") else None
        self.expect(">")
        return self.guarded(lambda: ty.RankedTensorType(shape, element, encoding), start)

    def _vector_type(self, start: int) -> Type:
        self.expect("<")
        self.skip()
        shape: list[int] = []
        scalable: list[bool] = []
        while (match := _SCALABLE.match(self.text, self.at)) is not None:
            shape.append(self._extent(match.group(1) or match.group(2)))
            scalable.append(match.group(1) is not None)
            self.at = match.end()
        element = self.type()
        self.expect(">")
        flags = tuple(scalable) if any(scalable) else ()
        return self.guarded(lambda: ty.VectorType(tuple(shape), element, flags), start)

    def _memref_type(self, start: int) -> Type:
        self.expect("<")
        unranked = self._unranked()
        shape = () if unranked else self.dimensions()
        element = self.type()
        extras: list[Attribute] = []
        while self.optional(","):
            extras.append(self.attribute())
        self.expect(">")
        layout = space = None
        for extra in extras:
            if isinstance(extra, ba.AffineMapAttr | ba.StridedLayoutAttr) and layout is None and space is None:
                layout = extra
            elif space is None:
                space = extra
            else:
                raise self.error(f"unexpected memref parameter '{extra}'", start)
        if isinstance(layout, ba.AffineMapAttr) and layout.map.is_identity:
            layout = None
        if space is not None and isinstance(space, ba.IntegerAttr) and space.value == 0:
            space = None
        if unranked:
            return ty.UnrankedMemRefType(element, space)
        return self.guarded(lambda: ty.MemRefType(shape, element, layout, space), start)

    def _tuple_type(self, start: int) -> Type:
        return ty.TupleType(tuple(self.list("<", self.type, ">")))

    def _complex_type(self, start: int) -> Type:
        self.expect("<")
        element = self.type()
        self.expect(">")
        if not isinstance(element, ty.IntegerType | ty.FloatType | ty.IndexType):
            raise self.error(f"invalid element type for complex: {element}", start)
        return ty.ComplexType(element)

    # -- attributes

    def attribute(self, type: Type | None = None) -> Attribute:
        """Any attribute.  With `type`, a number takes that type and no `: type` follows."""
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

    def optional_attribute(self) -> Attribute | None:
        """An attribute, if one can start here."""
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char and (char in '"@[{#-!(' or char.isalnum() or char == "_"):
            return self.attribute()
        return None

    def _number(self, type: Type | None, start: int) -> Attribute:
        match = self._match(_NUMBER)
        if match is None:
            raise self.error(f"expected a number, found {self.found()}")
        literal = match.group()
        if len(literal) > 4000:
            raise self.error("number is too long (limit 4000 digits)", start)
        is_float = match.group(1) is not None
        if type is None:
            type = self.type() if self.optional(":") else (ty.F64 if is_float else ty.I64)
        if isinstance(type, ty.FloatType):
            keyword = type.keyword
            if not is_float and "x" not in literal:
                raise self.error(f"expected a floating point literal for type {type}, found '{literal}'; write '{literal}.0'", start)
            return self.guarded(lambda: ba.FloatAttr(floats.parse(literal, keyword), type), start)
        if is_float:
            raise self.error(f"floating point value not valid for type {type}", start)
        value = int(literal, 0 if "x" in literal else 10)
        return self.guarded(lambda: _integer_attribute(value, type), start)

    def _word_attribute(self, type: Type | None, start: int) -> Attribute:
        match = _WORD.match(self.text, start)
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
        match = self._match(_DIALECT_NAME)
        if match is None:
            raise self.error("expected a dialect attribute or alias name behind '#'")
        name = match.group()
        if "." not in name and (name in self.aliases.attributes or not self.text.startswith("<", self.at)):
            return self.aliases.attribute(name, start)
        dialect_name, _, word = name.partition(".")
        dialect = find_dialect(dialect_name)
        if dialect is None:
            if not self.allow_unregistered:
                raise self.error(
                    f"dialect '{dialect_name}' is not registered; use --allow-unregistered-dialect to let its attributes pass",
                    start,
                )
            return ba.OpaqueAttr(dialect_name, word + (self.balanced() if self.text.startswith("<", self.at) else ""))
        if not word:
            # `#gpu<dim x>`: the word stands inside the brackets.
            self.expect("<")
            word = self.word()
            if word in dialect.attributes and hasattr(dialect.attributes[word], "parse_inside"):
                found = dialect.attributes[word].parse_inside(self)
                self.expect(">")
                return found
            raise self.error(f"unknown attribute '#{name}<{word} …>' in dialect '{dialect_name}'", start)
        if not word and self.optional("<"):
            # `#dialect<word …>`: an attribute whose text behind the word is not in angle brackets.
            word = self.word()
            if word not in dialect.attributes:
                raise self.error(f"unknown attribute '{word}' in dialect '{dialect_name}'", start)
            found = self._parse_with(dialect.attributes[word], start)
            self.expect(">")
            return found
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
        from tessera_tools.parser.locations import read_location

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


def _dense(scanner: Scanner, start: int) -> Attribute:
    from tessera_tools.parser.dense import read_dense

    return read_dense(scanner, start)


def _dense_array(scanner: Scanner, start: int) -> Attribute:
    from tessera_tools.parser.dense import read_dense_array

    return read_dense_array(scanner, start)


def _dense_resource(scanner: Scanner, start: int) -> Attribute:
    scanner.expect("<")
    key = scanner.optional_string() if scanner.peek('"') else scanner.word()
    scanner.expect(">")
    scanner.expect(":")
    return ba.DenseResourceAttr(key, scanner.type())


def _affine_map(scanner: Scanner, start: int) -> Attribute:
    from tessera_tools.parser.affine import read_affine_map

    scanner.expect("<")
    found = read_affine_map(scanner)
    scanner.expect(">")
    return ba.AffineMapAttr(found)


def _affine_set(scanner: Scanner, start: int) -> Attribute:
    from tessera_tools.parser.affine import read_integer_set

    scanner.expect("<")
    found = read_integer_set(scanner)
    scanner.expect(">")
    return ba.IntegerSetAttr(found)


def _strided(scanner: Scanner, start: int) -> Attribute:
    def stride() -> int:
        return ty.DYNAMIC if scanner.optional("?") else scanner.integer()

    scanner.expect("<")
    strides = scanner.list("[", stride, "]")
    offset = 0
    if scanner.optional(","):
        scanner.keyword("offset")
        scanner.expect(":")
        offset = stride()
    scanner.expect(">")
    return ba.StridedLayoutAttr(tuple(strides), offset)


def _location(scanner: Scanner, start: int) -> Attribute:
    scanner.at = start
    return scanner.location()


_WORD_ATTRIBUTES: dict[str, Callable[[Scanner, int], Attribute]] = {
    "unit": lambda scanner, start: ba.UNIT,
    "dense": _dense,
    "dense_resource": _dense_resource,
    "array": _dense_array,
    "affine_map": _affine_map,
    "affine_set": _affine_set,
    "strided": _strided,
    "loc": _location,
}


class Aliases:
    """The alias definitions of one file, `#name = attribute` and `!name = type`; read when first used, so that a use
    may come before the definition (as MLIR prints locations)."""

    __slots__ = ("_reading", "allow_unregistered", "attributes", "source", "types")

    _DEFINITION = re.compile(r"^[ \t]*([#!])([A-Za-z_$][\w$]*)[ \t]*=(?!=)", re.MULTILINE)

    def __init__(self, source: Source, allow_unregistered: bool = False) -> None:
        self.source = source
        self.allow_unregistered = allow_unregistered
        self.types: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self._reading: set[str] = set()
        for match in self._DEFINITION.finditer(source.text):
            table = self.attributes if match.group(1) == "#" else self.types
            table.setdefault(match.group(2), match.end())

    def type(self, name: str, start: int) -> Type:
        return self._find(self.types, "!", name, start, Scanner.type)

    def attribute(self, name: str, start: int) -> Attribute:
        return self._find(self.attributes, "#", name, start, Scanner.attribute)

    def _find(self, table: dict[str, Any], sigil: str, name: str, start: int, read: Callable[[Scanner], Any]) -> Any:
        value = table.get(name)
        if value is None:
            noun = "type" if sigil == "!" else "attribute"
            raise self.source.error(start, f"undefined {noun} alias '{sigil}{name}'; define it with '{sigil}{name} = …'")
        if isinstance(value, int):
            if sigil + name in self._reading:
                raise self.source.error(start, f"alias '{sigil}{name}' is defined by itself")
            self._reading.add(sigil + name)
            scanner = Scanner(self.source, value, aliases=self, allow_unregistered=self.allow_unregistered)
            value = table[name] = read(scanner)
            self._reading.discard(sigil + name)
        return value
