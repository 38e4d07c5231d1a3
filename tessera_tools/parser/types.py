"""Types: the builtin ones, the dialects' own, and their aliases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import types as ty
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.opdef.dialect import find_dialect
from tessera_tools.parser.lexical import WORD, TextScanner
from tessera_tools.parser.source import Source

if TYPE_CHECKING:
    from tessera_tools.parser.aliases import Aliases

_SIMPLE_WORD = re.compile(r"[A-Za-z_][\w$]*")
_INT_TYPE = re.compile(r"(s|u)?i([0-9]+)\b")
_DIM = re.compile(r"(\?|[0-9]+)\s*x\s*")
_SCALABLE = re.compile(r"(?:\[([0-9]+)\]|([0-9]+))\s*x\s*")
_SPACED_EXTENT = re.compile(r"([0-9]+)\s*x")
DIALECT_NAME = re.compile(r"[A-Za-z_][\w$]*(?:\.[A-Za-z_$][\w$]*)*")

WORD_TYPES: dict[str, Type] = {
    **{keyword: ty.FloatType(keyword) for keyword in ty.FLOAT_WIDTHS},
    **{f"i{w}": ty.IntegerType(w) for w in (1, 4, 8, 16, 32, 64, 128)},
    "index": ty.INDEX,
    "none": ty.NONE,
}
"""Types that are one word; integer types of other widths are added on first use."""

SHORT_TYPES = dict.fromkeys(
    ("tile", "ptr", "token", "tensor_view", "partition_view", "strided_view", "gather_scatter_view"),
    "cuda_tile",
)
"""Types of `cuda_tile` that are printed without `!cuda_tile.`."""

NO_MEMREF_ELEMENT = (
    ty.RankedTensorType, ty.UnrankedTensorType, ty.TupleType, ty.FunctionType, ty.NoneType,
)  # fmt: skip
NO_TENSOR_ELEMENT = (*NO_MEMREF_ELEMENT, ty.MemRefType, ty.UnrankedMemRefType)
NO_VECTOR_ELEMENT = (*NO_TENSOR_ELEMENT, ty.VectorType, ty.ComplexType)
"""Builtin types that cannot be nested in another type; types of dialects can."""

SHAPED_TYPES = frozenset({"tensor", "vector", "memref", "tuple", "complex"})
"""Types of MLIR with parameters in angle brackets."""


class TypeScanner(TextScanner):
    """Reads types."""

    __slots__ = ("aliases", "allow_unregistered", "implied")

    def __init__(self, source: Source, at: int, aliases: Aliases, allow_unregistered: bool) -> None:
        super().__init__(source, at)
        self.aliases = aliases
        self.allow_unregistered = allow_unregistered
        self.implied: Type | None = None
        """The last shaped type that the op's format spelled: what `dense<…>` without a type is of (`memref.global`)."""

    def attribute(self, type: Type | None = None) -> Attribute:
        """Any attribute: an encoding, a layout or a memory space inside a type, metadata inside a location."""
        raise AssertionError("the scanner of attributes reads this")

    # -- types

    def type(self, short: str | None = None) -> Type:
        """Any type.  Inside `short`'s own types, that dialect's type names need no prefix."""
        found = self.optional_type(short)
        if found is None:
            expected = "a type" if short is None else "valid keyword (a type)"
            raise self.error(f"expected {expected}, found {self.found()}")
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
            longest = WORD.match(self.text, start)
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
            known = WORD_TYPES[word] = self.guarded(
                lambda: ty.IntegerType(int(integer.group(2)), sign), start
            )
            return known
        if word in SHAPED_TYPES:
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
            found = cls.parse(self)
        except (ValueError, OverflowError, TypeError) as problem:
            raise self.error(str(problem), start) from None
        self.depth -= 1
        return found

    def _dialect_type(self, start: int) -> Type:
        match = self._match(DIALECT_NAME)
        if match is None:
            raise self.error("expected a dialect type or alias name after '!'")
        name = match.group()
        if "." not in name and ("!" + name in self.aliases or not self.peek("<")):
            return self.aliases.type(name, start, self.depth)
        dialect_name, _, word = name.partition(".")
        dialect = find_dialect(dialect_name)
        if dialect is None:
            if not self.allow_unregistered:
                raise self.error(
                    f"dialect '{dialect_name}' is not registered; "
                    "use --allow-unregistered-dialect to let its types pass",
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
            raise self.error("a function type as result must be in parentheses")
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

    def extent(self) -> int:
        """One extent with its `x`, `4x` or `4 x`."""
        match = _SPACED_EXTENT.match(self.text, self.skip())
        if match is None:
            raise self.error(f"expected an extent and 'x', found {self.found()}")
        found = self._extent(match.group(1))
        self.at = match.end()
        return found

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

    def _element(self, container: str, refused: tuple[type[Type], ...]) -> Type:
        """The element type of a shaped type."""
        start = self.skip()
        element = self.type()
        if isinstance(element, refused):
            raise self.error(f"invalid {container} element type '{element}'", start)
        return element

    def _tensor_type(self, start: int) -> Type:
        self.expect("<")
        if self._unranked():
            element = self._element("tensor", NO_TENSOR_ELEMENT)
            self.expect(">")
            return ty.UnrankedTensorType(element)
        shape = self.dimensions()
        element = self._element("tensor", NO_TENSOR_ELEMENT)
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
        element = self._element("vector", NO_VECTOR_ELEMENT)
        self.expect(">")
        flags = tuple(scalable) if any(scalable) else ()
        return self.guarded(lambda: ty.VectorType(tuple(shape), element, flags), start)

    def _memref_type(self, start: int) -> Type:
        self.expect("<")
        unranked = self._unranked()
        shape = () if unranked else self.dimensions()
        element = self._element("memref", NO_MEMREF_ELEMENT)
        extras: list[Attribute] = []
        while self.optional(","):
            extras.append(self.attribute())
        self.expect(">")
        layout = space = None
        for extra in extras:
            if (
                isinstance(extra, ba.AffineMapAttr | ba.StridedLayoutAttr)
                and layout is None
                and space is None
            ):
                layout = extra
            elif space is None:
                if extra.name.startswith("builtin.") and not isinstance(
                    extra, ba.IntegerAttr | ba.StringAttr | ba.DictionaryAttr | ba.OpaqueAttr
                ):
                    raise self.error(f"unsupported memory space Attribute '{extra}'", start)
                space = extra
            else:
                raise self.error(f"unexpected memref parameter '{extra}'", start)
        if (
            isinstance(layout, ba.AffineMapAttr)
            and layout.map.is_identity
            and layout.map.num_dims == len(shape)
        ):
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
