"""`builtin.unrealized_conversion_cast`, which type conversion leans on; the builtin dialect declares its text.

A cast from N values to M values that only says: these stand for those.  Pairs that undo each other cancel.
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
    """The class with syntax, set by the builtin dialect when it is imported."""

    @classmethod
    def make(
        cls, values: Sequence[Value], types: Sequence[Type], location: Location = UNKNOWN
    ) -> UnrealizedConversionCast:
        """A detached cast of `values` to `types`, of the builtin dialect's class where that is loaded."""
        return (UnrealizedConversionCast.declared or cls).create(values, types, location=location)


def reconcile(casts: Iterable[UnrealizedConversionCast]) -> list[UnrealizedConversionCast]:
    """Cancel casts that undo others, erase those that nobody uses, and return what remains, in order."""
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
    """The values of the same types that the cast's operands were cast from, perhaps over several casts; or None."""
    wanted = cast.result_types
    values: Sequence[Value] = cast.operands
    seen: set[Operation] = {cast}
    while values:
        if [v.type for v in values] == wanted:
            return values
        source = values[0].defining_op
        if not isinstance(source, UnrealizedConversionCast) or source in seen or source.results != values:
            return None
        seen.add(source)  # dead code may go in circles
        values = source.operands
    return values if not wanted else None
