"""`builtin.unrealized_conversion_cast`, used by type conversion; the builtin dialect declares its syntax.

The cast of N values to M values states that the results represent the operands.  Inverse casts cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import PURE
from tessera_tools.ir.location import UNKNOWN, Location


class UnrealizedConversionCast(Operation):
    """`%0 = builtin.unrealized_conversion_cast %a : f32 to i32`"""

    __slots__ = ()

    name = "builtin.unrealized_conversion_cast"
    traits = (PURE,)
    declared: ClassVar[type[UnrealizedConversionCast] | None] = None
    """The class with the syntax, set by the builtin dialect when it is imported."""

    @classmethod
    def make(
        cls, values: Sequence[Value], types: Sequence[Type], location: Location = UNKNOWN
    ) -> UnrealizedConversionCast:
        """A detached cast of `values` to `types`, of the builtin dialect's class if that dialect is loaded."""
        return (UnrealizedConversionCast.declared or cls).create(values, types, location=location)


def reconcile(casts: Iterable[UnrealizedConversionCast]) -> list[UnrealizedConversionCast]:
    """Cancel inverse casts, erase unused ones, and return the remaining casts in order."""
    alive = dict.fromkeys(casts)
    for cast in alive:
        source = cancelled_by(cast)
        if source is not None:
            cast.replace_all_uses_with(source)
    work = list(alive)
    while work:
        cast = work.pop()
        if cast not in alive or any(r.has_uses for r in cast.results):
            continue
        sources = [v.defining_op for v in cast.operands]
        cast.erase()
        del alive[cast]
        work += [op for op in sources if isinstance(op, UnrealizedConversionCast)]
    return list(alive)


def cancelled_by(cast: UnrealizedConversionCast) -> Sequence[Value] | None:
    """The values of the result types from which the operands were cast, possibly by several casts; or None."""
    wanted = cast.result_types
    values: Sequence[Value] = cast.operands
    seen: set[Operation] = {cast}
    while values:
        if [v.type for v in values] == wanted:
            return values
        source = values[0].defining_op
        if not isinstance(source, UnrealizedConversionCast) or source in seen or source.results != values:
            return None
        seen.add(source)  # dead code may contain cycles
        values = source.operands
    return values if not wanted else None
