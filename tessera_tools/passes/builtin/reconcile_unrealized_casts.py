"""`reconcile-unrealized-casts`: remove chains of `builtin.unrealized_conversion_cast` that lead back to their type.

    %1 = unrealized_conversion_cast %0 : A to B
    %2 = unrealized_conversion_cast %1 : B to A      uses of %2 ──▶ %0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tessera_tools.ir.core import Operation, Value
from tessera_tools.passes.base import Pass, PassContext

_CAST = "builtin.unrealized_conversion_cast"


@dataclass(frozen=True)
class ReconcileUnrealizedCasts(Pass):
    """Cancel casts that undo each other, and drop those that nobody uses; others stay."""

    name = "reconcile-unrealized-casts"
    title = "ReconcileUnrealizedCasts"
    summary = "remove chains of unrealized casts that lead back to their type"
    ensures = "no unrealized cast is left whose result has the type of what its chain begins with"
    statistics: ClassVar[Mapping[str, str]] = {"num-casts": "Number of casts removed"}

    def run(self, op: Operation, context: PassContext) -> bool:
        casts = [inner for inner in op.walk() if inner.name == _CAST]
        for cast in casts:
            source = _source(cast)
            if source is not None:
                cast.replace_all_uses_with(source)
        erased = 0
        # Users stand after what they use, so that a chain falls from its end.
        for cast in reversed(casts):
            if not any(result.has_uses for result in cast.results):
                cast.erase()
                erased += 1
        context.count("num-casts", erased)
        return erased > 0


def _source(cast: Operation) -> Sequence[Value] | None:
    """The values of the same types that the cast's operands were cast from, perhaps over several casts; or None."""
    wanted = cast.result_types
    values: Sequence[Value] = cast.operands
    seen: set[Operation] = {cast}
    while values:
        if [value.type for value in values] == wanted:
            return values
        source = values[0].defining_op
        if source is None or source.name != _CAST or source in seen or list(source.results) != list(values):
            return None
        seen.add(source)  # dead code may go in circles
        values = source.operands
    return None
