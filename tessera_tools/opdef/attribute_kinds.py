"""Kinds of attributes: the values of a declared attribute, its check, and its text in a format.

Each kind has a grammar symbol (`symbol`), converts the parsed text to the attribute (`build`), and prints it (`text`).
An attribute of known type is a plain number, so that the op can use `: i32` for other purposes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, AttributeT_co, Type
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    TRUE,
    UNIT,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    float_text,
    quote,
    symbol_text,
)
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import F32, F64, I1, I32, I64, INDEX, FloatType

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner
    from tessera_tools.opdef.directive import Node, Token

EnumT = TypeVar("EnumT", bound="EnumAttr")
OneT = TypeVar("OneT", bound=Attribute)


class AttrKind(Generic[AttributeT_co]):
    """A kind of attribute.

    symbol: the grammar symbol (a terminal or rule of grammar/structure.lark).
    build:  parsed symbol -> attribute; raises ValueError with a message for invalid input.
    text:   attribute -> text in a custom format.
    check:  true if an attribute is of this kind; `summary` names the kind in the error.
    detail: an enumeration's class, or its names and numbers; a number's or element's type.
    """

    __slots__ = ("build", "check", "detail", "summary", "symbol", "text")

    def __init__(
        self,
        summary: str,
        check: Callable[[Attribute], bool],
        symbol: str = "ATTRIBUTE",
        build: Callable[[Node], Attribute] = lambda value: value,
        text: Callable[[Any], str] = str,
        detail: type[EnumAttr] | Mapping[str, int] | Type | None = None,
    ) -> None:
        self.detail = detail
        self.summary = summary
        self.check = check
        self.symbol = symbol
        self.build = build
        self.text = text


def _integer(type: Type, article: str) -> AttrKind[IntegerAttr]:
    return AttrKind(
        f"{article} integer attribute",
        lambda a: isinstance(a, IntegerAttr) and a.type is type,
        "INTEGER",
        lambda token: IntegerAttr(integer_of(token[0]), type),
        lambda a: str(a.value),
        type,
    )


def _float(type: FloatType) -> AttrKind[FloatAttr]:
    return AttrKind(
        f"{type.width}-bit float attribute",
        lambda a: isinstance(a, FloatAttr) and a.type is type,
        "FLOAT",
        lambda token: FloatAttr(floats.parse(token[0], type.keyword), type),
        lambda a: float_text(a.bits, a.type),
    )


def _dense_array(element: Type, summary: str) -> AttrKind[DenseArrayAttr]:
    return AttrKind(
        summary,
        lambda a: isinstance(a, DenseArrayAttr) and a.element is element,
        "integer_array",
        lambda tokens: DenseArrayAttr(element, tuple(integer_of(t[0]) for t in tokens)),
        lambda a: f"[{', '.join(map(str, a.values))}]",
    )


ANY_ATTR: AttrKind = AttrKind("any attribute", lambda a: True)
TYPED_ATTR: AttrKind = AttrKind("typed attribute", lambda a: isinstance(getattr(a, "type", None), Type))
ELEMENTS_ATTR: AttrKind[DenseElementsAttr] = AttrKind(
    "constant vector/tensor attribute", lambda a: isinstance(a, DenseElementsAttr)
)
ARRAY_ATTR: AttrKind[ArrayAttr] = AttrKind("array attribute", lambda a: isinstance(a, ArrayAttr))
DICT_ATTR: AttrKind[DictionaryAttr] = AttrKind(
    "dictionary of named attribute values", lambda a: isinstance(a, DictionaryAttr)
)
UNIT_ATTR: AttrKind[UnitAttr] = AttrKind(
    "unit attribute", lambda a: isinstance(a, UnitAttr), "UNIT", lambda _: UNIT, lambda _: "unit"
)
BOOL_ATTR: AttrKind[IntegerAttr] = AttrKind(
    "bool attribute",
    lambda a: isinstance(a, IntegerAttr) and a.type is I1,
    "boolean",
    lambda token: TRUE if token[0] == "true" else FALSE,
    str,
)
I32_ATTR = _integer(I32, "32-bit signless")
I64_ATTR = _integer(I64, "64-bit signless")
INDEX_ATTR = _integer(INDEX, "index")
F32_ATTR = _float(F32)
F64_ATTR = _float(F64)
I1_ARRAY: AttrKind[DenseArrayAttr] = AttrKind(
    "i1 dense array attribute", lambda a: isinstance(a, DenseArrayAttr) and a.element is I1, detail=I1
)
I32_ARRAY = _dense_array(I32, "i32 dense array attribute")
I64_ARRAY = _dense_array(I64, "i64 dense array attribute")
STRING_ATTR: AttrKind[StringAttr] = AttrKind(
    "string attribute",
    lambda a: isinstance(a, StringAttr),
    "STRING",
    lambda token: StringAttr(token[0]),
    lambda a: quote(a.value),
)
TYPE_ATTR: AttrKind[TypeAttr] = AttrKind(
    "any type attribute",
    lambda a: isinstance(a, TypeAttr),
    "type",
    TypeAttr,
    lambda a: str(a.value),
)
SYMBOL_NAME: AttrKind[StringAttr] = AttrKind(
    "string attribute",
    lambda a: isinstance(a, StringAttr),
    "SYMBOL",
    lambda token: StringAttr(token[0][0]),
    lambda a: symbol_text(a.value),
)
"""The name that a symbol op defines: `@name` in a format, a string attribute in the IR."""
SYMBOL_REF: AttrKind[SymbolRefAttr] = AttrKind(
    "symbol reference attribute",
    lambda a: isinstance(a, SymbolRefAttr),
    "SYMBOL",
    lambda token: SymbolRefAttr(token[0][0], tuple(token[0][1:])),
    str,
)


def of_class(*classes: type[OneT], summary: str | None = None) -> AttrKind[OneT]:
    """Any attribute of the given classes, written in full (`#dialect.name<…>`)."""
    return AttrKind(
        summary or " or ".join(c.name or c.__name__ for c in classes), lambda a: isinstance(a, classes)
    )


def integer_enum(summary: str, cases: Mapping[str, int], type: Type = I64) -> AttrKind[IntegerAttr]:
    """An integer attribute whose values have names: a format has the keyword, the generic form the number."""
    names = {number: keyword for keyword, number in cases.items()}

    def build(token: Token) -> Attribute:
        if token[0] not in cases:
            raise ValueError(f"unknown {summary} '{token[0]}'; expected one of {', '.join(cases)}")
        return IntegerAttr(cases[token[0]], type)

    return AttrKind(
        summary,
        lambda a: isinstance(a, IntegerAttr) and a.type is type and a.value in names,
        "keyword",
        build,
        lambda a: names[a.value],
        dict(cases),
    )


class EnumAttr(Attribute):
    """The base of a dialect's enumerations: one of `cases`, `#dialect.name<case>` in full.

        class LinkageAttr(EnumAttr, name="llvm.linkage"):
            cases = ("internal", "external", …)

    With `separator` set ("," or "|") the value may be several cases (bit flags, as in `fastmath<nnan,contract>`).
    """

    value: str
    cases: ClassVar[tuple[str, ...]] = ()
    separator = ""

    def verify(self) -> None:
        parts = self.value.split(self.separator) if self.separator else [self.value]
        for part in parts:
            if part.strip() not in self.cases:
                short = self.name.split(".")[-1]
                raise ValueError(f"unknown {short} '{part.strip()}'; expected one of {', '.join(self.cases)}")

    def text(self) -> str:
        return f"#{self.name}<{self.value}>"

    @classmethod
    def parse(cls, scanner: Scanner) -> Attribute:
        """From the body of `#dialect.name<…>`; see `tessera_tools.parser.scanner.Scanner`."""
        scanner.expect("<")
        words = [scanner.word()]
        while cls.separator and scanner.optional(cls.separator):
            words.append(scanner.word())
        scanner.expect(">")
        return cls((cls.separator or ",").join(words))


def in_full(value: Any, expected: type[Attribute]) -> Attribute | None:
    """The attribute, if the text has it in full in place of a format's short `<…>`; None for the short form."""
    if not isinstance(value, Attribute):
        return None
    if not isinstance(value, expected):
        raise ValueError(f"expected a '#{expected.name}' attribute, found {value}")
    return value


def enum(attribute: type[EnumT], *, angled: bool = False) -> AttrKind[EnumT]:
    """A dialect's enumeration, printed in a format as the keyword (or `<keyword>` if `angled`)."""
    symbol = "angled_keywords" if angled else "keyword"

    def build(read: Node) -> Attribute:
        if angled:
            return in_full(read[0], attribute) or attribute(
                (attribute.separator or ",").join(t[0] for t in read)
            )
        return attribute(read[0])

    return AttrKind(
        f"{attribute.name} attribute",
        lambda a: isinstance(a, attribute),
        symbol,
        build,
        lambda a: f"<{a.value}>" if angled else a.value,
        attribute,
    )
