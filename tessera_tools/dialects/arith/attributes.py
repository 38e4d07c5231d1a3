"""Attributes of `arith`: flags, rounding modes and comparison predicates, with upstream's numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.types import I32, I64, IntegerType
from tessera_tools.opdef import AttrKind, EnumAttr, TypeConstraint, attribute, integer_enum, like
from tessera_tools.opdef.attribute_kinds import in_full
from tessera_tools.opdef.fields import AttributeField

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.scanner import Scanner


class FlagsAttr(EnumAttr):
    """A set of flags: `cases` except "none" and `everything`, printed in declaration order."""

    separator = ","
    spacing: ClassVar[str] = ","
    everything: ClassVar[str | None] = None

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """The attribute of a set of flags in any order; ValueError for an unknown one."""
        given = set(words)
        single = [case for case in cls.cases if case not in ("none", cls.everything)]
        if cls.everything is not None and (cls.everything in given or given.issuperset(single)):
            return cls(cls.everything)
        unknown = given.difference(cls.cases)
        if unknown:
            return cls(sorted(unknown)[0])
        return cls(cls.spacing.join(case for case in single if case in given) or "none")

    @property
    def flags(self) -> frozenset[str]:
        """The single flags that are set."""
        parts = frozenset(part.strip() for part in self.value.split(","))
        if self.everything in parts:
            return frozenset(self.cases) - {"none", self.everything}
        return parts - {"none"}

    def intersection(self, other: FlagsAttr) -> Self:
        """The flags that both have: what a combination of two ops may promise."""
        return self.of(self.flags & other.flags)

    @classmethod
    def parse(cls, scanner: Scanner) -> Self:
        """From the body of `#arith.name<…>`."""
        scanner.expect("<")
        words = [scanner.word()]
        while scanner.optional(","):
            words.append(scanner.word())
        scanner.expect(">")
        return cls.of(words)


class FastMathFlagsAttr(FlagsAttr, name="arith.fastmath"):
    """Assumptions about floating-point arithmetic: `#arith.fastmath<nnan,contract>`."""

    cases = ("none", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast")
    everything = "fast"


class IntegerOverflowFlagsAttr(FlagsAttr, name="arith.overflow"):
    """Wrapping that is poison: `#arith.overflow<nsw, nuw>`."""

    cases = ("none", "nsw", "nuw")
    spacing = ", "


FlagsT = TypeVar("FlagsT", bound=FlagsAttr)


def flags(attribute_class: type[FlagsT]) -> AttrKind[FlagsT]:
    """The kind of a flags attribute, written `<a,b>` in a format."""
    return AttrKind(
        f"{attribute_class.name} attribute",
        lambda a: isinstance(a, attribute_class),
        "angled_keywords",
        lambda read: in_full(read[0], attribute_class) or attribute_class.of(t[0] for t in read),
        lambda a: f"<{a.value}>",
    )


FAST_MATH = flags(FastMathFlagsAttr)
OVERFLOW = flags(IntegerOverflowFlagsAttr)


def fastmath_field() -> AttributeField[FastMathFlagsAttr]:
    """The field `fastmath` of a floating-point op, none by default."""
    return attribute(FAST_MATH, "what may be assumed", default=FastMathFlagsAttr("none"))


def overflow_field() -> AttributeField[IntegerOverflowFlagsAttr]:
    """The field `overflowFlags` of an integer op, none by default."""
    default = IntegerOverflowFlagsAttr("none")
    return attribute(OVERFLOW, "wrapping that is poison", default=default, key="overflowFlags")


ROUNDING_MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
NEAREST_EVEN = ROUNDING_MODES[0]
ROUNDING_MODE = integer_enum(
    "floating point rounding mode", {m: i for i, m in enumerate(ROUNDING_MODES)}, I32
)


def rounding_mode_of(op: Operation) -> str:
    """The rounding mode of a cast: to nearest even, unless it has another one."""
    mode = op.attributes.get("roundingmode")
    return ROUNDING_MODES[mode.value] if isinstance(mode, IntegerAttr) else NEAREST_EVEN


CMPI_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPI_PREDICATE = integer_enum(
    "allowed 64-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9",
    {p: i for i, p in enumerate(CMPI_PREDICATES)},
    I64,
)
SWAPPED_PREDICATE = {
    "eq": "eq", "ne": "ne", "slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "ult": "ugt", "ule": "uge",
    "ugt": "ult", "uge": "ule",
}  # fmt: skip
"""a ∘ b as b ∘' a, for the predicates of integers."""
INVERSE_PREDICATE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt", "ult": "uge", "ule": "ugt",
    "ugt": "ule", "uge": "ult",
}  # fmt: skip
"""a ∘ b as not (a ∘' b), for the predicates of integers."""
CMPF_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
CMPF_PREDICATE = integer_enum(
    "allowed 64-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    {p: i for i, p in enumerate(CMPF_PREDICATES)},
    I64,
)

FIXED_WIDTH_INTEGER_LIKE = like(
    TypeConstraint("signless integer", lambda t: isinstance(t, IntegerType) and t.signedness == "signless"),
    "signless-fixed-width-integer-like",
)
"""Signless integers but not `index`, and vectors and tensors of them."""
