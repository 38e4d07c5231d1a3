"""`reconcile-unrealized-casts`: remove chains of `builtin.unrealized_conversion_cast` that return to their source type.

%1 = unrealized_conversion_cast %0 : A to B
%2 = unrealized_conversion_cast %1 : B to A      uses of %2 ──▶ %0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.ir.casts import UnrealizedConversionCast, reconcile
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext


class ReconcileUnrealizedCasts(Pass):
    """Remove inverse casts and unused casts; keep the others."""

    name = "reconcile-unrealized-casts"
    title = "ReconcileUnrealizedCasts"
    summary = "remove chains of unrealized casts that cancel out"
    ensures = "no remaining unrealized cast returns the source type of its chain"
    statistics: ClassVar[Mapping[str, str]] = {"num-casts": "Number of casts removed"}

    def run(self, op: Operation, context: PassContext) -> bool:
        casts = [inner for inner in op.walk() if isinstance(inner, UnrealizedConversionCast)]
        erased = len(casts) - len(reconcile(casts))
        context.count("num-casts", erased)
        return erased > 0
