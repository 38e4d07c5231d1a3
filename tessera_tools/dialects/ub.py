"""The `ub` dialect: poison and unreachable code."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.opdef import (
    CONSTANT_LIKE,
    PURE,
    TERMINATOR,
    AttrKind,
    Dialect,
    Op,
    attribute,
    by_word,
    ops_of,
    result,
)


class PoisonAttr(Attribute, name="ub.poison"):
    """`#ub.poison`: the poison constant."""


class Poison(Op, name="ub.poison", traits=(PURE, CONSTANT_LIKE)):
    """A poison value: any value, possibly different at each use."""

    value = attribute(
        AttrKind("PoisonAttrInterface instance", lambda a: isinstance(a, PoisonAttr)), default=PoisonAttr()
    )
    result = result()
    assembly = "attr-dict (`<` $value^ `>`)? `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        return [self.value]


class Unreachable(Op, name="ub.unreachable", traits=(TERMINATOR,)):
    """Ends a block that control never reaches."""

    assembly = "attr-dict"


def make_constant(value: Attribute, type: Type) -> Operation | None:
    """`ub.poison` for a poison attribute."""
    return Poison(result=type) if isinstance(value, PoisonAttr) else None


DIALECT = Dialect(
    "ub",
    "poison and unreachable code",
    ops_of(globals()),
    attributes=by_word(PoisonAttr),
    make_constant=make_constant,
    is_complete=True,
)
