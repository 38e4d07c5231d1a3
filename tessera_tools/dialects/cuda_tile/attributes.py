"""The attributes of `cuda_tile`: enumerations, assume predicates, optimization hints.

#cuda_tile.rounding<zero>   #cuda_tile.div_by<16>   #cuda_tile.bounded<0, ?>   #cuda_tile.same_elements<[2, 4]>
#cuda_tile.optimization_hints<sm_90 = {num_cta_in_cga = 2}>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    attribute_key,
    float_text,
)
from tessera_tools.ir.types import I1, I32, I64, INDEX
from tessera_tools.opdef import AttrKind, EnumAttr, enum, integer_enum

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner
    from tessera_tools.opdef.directive import Token


class RoundingAttr(EnumAttr, name="cuda_tile.rounding"):
    """The rounding mode of a result."""

    cases = ("nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero",
             "nearest_away")  # fmt: skip


class SignednessAttr(EnumAttr, name="cuda_tile.signedness"):
    """Whether integers are read as signed or unsigned."""

    cases = ("unsigned", "signed")


class OverflowAttr(EnumAttr, name="cuda_tile.overflow"):
    """Which kinds of overflow the compiler may assume not to happen."""

    cases = ("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")


class ComparisonPredicateAttr(EnumAttr, name="cuda_tile.comparison_predicate"):
    """The predicate of `cmpi` and `cmpf`."""

    cases = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")


class ComparisonOrderingAttr(EnumAttr, name="cuda_tile.comparison_ordering"):
    """Whether a floating-point comparison with a NaN is true (`unordered`) or false (`ordered`)."""

    cases = ("unordered", "ordered")


EnumT = TypeVar("EnumT", bound=EnumAttr)


def spelled(attribute: type[EnumT], noun: str, *cases: str) -> AttrKind[EnumT]:
    """A keyword of an enumeration in a format; another word is refused with the list of `cases`."""
    plain = enum(attribute)
    choices = ", ".join(f"'{case}'" for case in cases or attribute.cases)

    def build(token: Token) -> Attribute:
        if token[0] not in attribute.cases:
            raise ValueError(f"expected {noun} to be one of: {{{choices}}}, but got: '{token[0]}'")
        return attribute(token[0])

    return AttrKind(plain.summary, plain.check, "keyword", build, lambda a: a.value, plain.detail)


PREDICATE = spelled(ComparisonPredicateAttr, "'comparison_predicate'")
ORDERING = spelled(ComparisonOrderingAttr, "'comparison_ordering'", "ordered", "unordered")
SIGNEDNESS = spelled(SignednessAttr, "signedness", "signed", "unsigned")


class PaddingValueAttr(EnumAttr, name="cuda_tile.padding_value"):
    """The value of elements out of bounds in a load through a view."""

    cases = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")

    def verify(self) -> None:
        if self.value not in self.cases:
            raise ValueError(
                f'invalid padding_value attribute specification. Got "{self.value}" but expect one of: '
                f"{', '.join(self.cases)}"
            )


class PtrAttr(EnumAttr, name="cuda_tile.ptr_attr"):
    """The memory of a pointer: `multicast` memory is replicated on every GPU of a team, and multimem ops access all
    copies."""

    cases = ("none", "unicast", "multicast")


class MultimemReductionAttr(EnumAttr, name="cuda_tile.multimem_reduction_kind"):
    """How the copies of multicast memory are combined."""

    cases = ("add", "min", "max", "and", "or", "xor", "umin", "umax")


class SymbolVisibilityAttr(EnumAttr, name="cuda_tile.symbol_visibility"):
    """Whether a global is seen outside its module."""

    cases = ("public", "private")


MEMORY_ORDERING = integer_enum(
    "memory ordering semantics", {"weak": 0, "relaxed": 1, "acquire": 2, "release": 3, "acq_rel": 4}, I32
)
MEMORY_SCOPE = integer_enum("memory scope", {"tl_blk": 0, "device": 1, "sys": 2}, I32)


class DivByAttr(Attribute, name="cuda_tile.div_by"):
    """`div_by<16>`: elements (or the address of a view) are multiples of `divisor`, a power of two.

    With `every 4 along 0`, only the first of each 4 elements along dimension 0 is, and the others count up by one.
    """

    divisor: int
    every: int | None = None
    along: int | None = None

    @classmethod
    def parse(cls, s: Scanner) -> DivByAttr:
        """What follows `div_by`."""
        s.expect("<")
        divisor = s.integer()
        every = along = None
        if s.optional(","):
            s.expect("every")
            every = s.integer()
            s.expect("along")
            along = s.integer()
        s.expect(">")
        return cls(divisor, every, along)

    def body(self) -> str:
        groups = f", every {self.every} along {self.along}" if self.every is not None else ""
        return f"div_by<{self.divisor}{groups}>"

    def text(self) -> str:
        return f"#cuda_tile.{self.body()}"


class SameElementsAttr(Attribute, name="cuda_tile.same_elements"):
    """`same_elements<[2, 4]>`: along each dimension, groups of that many elements are equal."""

    values: tuple[int, ...]

    @classmethod
    def parse(cls, s: Scanner) -> SameElementsAttr:
        """What follows `same_elements`."""
        s.expect("<")
        values = tuple(s.list("[", s.integer, "]"))
        s.expect(">")
        return cls(values)

    def body(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.values))}]>"

    def text(self) -> str:
        return f"#cuda_tile.{self.body()}"


class BoundedAttr(Attribute, name="cuda_tile.bounded"):
    """`bounded<0, ?>`: inclusive bounds of all elements, read as signed integers; `?` (None) means unbounded."""

    lower: int | None
    upper: int | None

    @classmethod
    def parse(cls, s: Scanner) -> BoundedAttr:
        """What follows `bounded`."""
        s.expect("<")
        lower = None if s.optional("?") else s.integer()
        s.expect(",")
        upper = None if s.optional("?") else s.integer()
        s.expect(">")
        return cls(lower, upper)

    def body(self) -> str:
        lower, upper = ("?" if bound is None else str(bound) for bound in (self.lower, self.upper))
        return f"bounded<{lower}, {upper}>"

    def text(self) -> str:
        return f"#cuda_tile.{self.body()}"


PREDICATES = (DivByAttr, SameElementsAttr, BoundedAttr)
"""What `assume` may assume."""


class OptimizationHintsAttr(Attribute, name="cuda_tile.optimization_hints"):
    """`optimization_hints<sm_90 = {num_cta_in_cga = 2}>`: per architecture (or `default`), named hints."""

    value: DictionaryAttr

    def verify(self) -> None:
        for key, entry in self.value.entries:
            if not isinstance(entry, DictionaryAttr):
                raise ValueError(
                    f"expected dictionary attribute for optimization_hints entry `{key}` got value={entry}"
                )

    @classmethod
    def of(cls, entries: dict[str, Attribute]) -> OptimizationHintsAttr:
        """From hints by architecture. Numbers, which are written without their type, become i32 where they fit."""
        made: dict[str, Attribute] = {}
        for key, entry in entries.items():
            if isinstance(entry, DictionaryAttr):
                made[key] = DictionaryAttr(tuple((name, _sized(value)) for name, value in entry.entries))
            else:
                made[key] = entry
        return cls(DictionaryAttr.of(made))

    def hint(self, architecture: str, name: str) -> Attribute | None:
        """A hint for an architecture such as "sm_90", or the default's; None if there is none."""
        for key in (architecture, "default"):
            entry = self.value.get(key)
            if isinstance(entry, DictionaryAttr) and entry.get(name) is not None:
                return entry.get(name)
        return None

    @classmethod
    def parse(cls, s: Scanner) -> OptimizationHintsAttr:
        """What follows `optimization_hints`."""
        s.expect("<")
        entries: dict[str, Attribute] = {}
        while not s.optional(">"):
            if entries:
                s.expect(",")
            key = s.optional_word() or s.string()
            if key in entries:
                raise s.error(f"duplicate optimization_hints key `{key}`")
            s.expect("=")
            entries[key] = s.attribute()
        return cls.of(entries)

    def body(self) -> str:
        """`<sm_90 = {…}>`; numbers are written without their type."""
        shown = []
        for key, entry in self.value.entries:
            assert isinstance(entry, DictionaryAttr)
            hints = (f"{attribute_key(name)} = {_untyped(value)}" for name, value in entry.entries)
            shown.append(f"{attribute_key(key)} = {{{', '.join(hints)}}}")
        return f"<{', '.join(shown)}>"

    def text(self) -> str:
        return f"#cuda_tile.optimization_hints{self.body()}"


def _sized(value: Attribute) -> Attribute:
    if isinstance(value, IntegerAttr) and value.type is I64 and -(1 << 31) <= value.value < 1 << 31:
        return IntegerAttr(value.value, I32)
    return value


def _untyped(value: Attribute) -> str:
    if isinstance(value, IntegerAttr) and value.type not in (I1, INDEX):
        return str(value.value)
    if isinstance(value, FloatAttr):
        return float_text(value.bits, value.type)
    return str(value)
