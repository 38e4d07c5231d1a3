"""Products by wgmma whose sums an mma.sync would use."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Value
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.planning.layout_rules import FREE, ties


def refuse_tied(
    function: nv_tileaa.Func, found: MutableMapping[nv_tileas.Dot, Any], refused: dict[nv_tileas.Dot, Missed]
) -> None:
    """Refuse products whose accumulator is used by a refused product: it would be converted back and forth."""
    parent: dict[Value, Value] = {}

    def root(value: Value) -> Value:
        while (up := parent.get(value, value)) is not value:
            value = up
        return value

    for op in function.walk() if refused else ():
        for group in ties(op):
            # Ops without cost are duplicated.
            first, *rest = [
                v for v in group if v.defining_op is None or v.defining_op.name not in FREE
            ] or group
            for other in rest:
                parent[root(other)] = root(first)
    bad = {root(dot.res): refusal for dot, refusal in refused.items()}
    for dot in list(found):
        other = bad.get(root(dot.res))
        if other is not None:
            del found[dot]
            refused[dot] = Missed(
                dot,
                f"shares its sums with a product that wgmma does not compute, because {other.because(dot)}",
                other.advice,
            )
