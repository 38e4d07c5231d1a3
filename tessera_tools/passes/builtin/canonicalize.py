"""`canonicalize`: folds, every dialect's canonicalization patterns, dead code, and simpler control flow.

fold and patterns to a fixpoint (greedy driver) ─▶ unreachable blocks, dead arguments ─▶ again if those changed
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tessera_tools.ir.core import Operation
from tessera_tools.ir.greedy import apply_greedily
from tessera_tools.ir.rewriter import RewritePattern
from tessera_tools.opdef.dialect import constant_for
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.passes.liveness import erase_dead, erase_unreachable_blocks
from tessera_tools.records import dataclass

__all__ = ["Canonicalize", "canonicalization_patterns"]


@dataclass(frozen=True)
class Canonicalize(Pass):
    """Bring the IR to canonical form."""

    name = "canonicalize"
    title = "Canonicalizer"
    summary = "fold and simplify operations, and erase dead ones"
    ensures = "no operation folds, no canonicalization pattern applies (unless a limit was hit)"
    statistics: ClassVar[Mapping[str, str]] = {
        "num-rewrites": "Number of folds, patterns and removals applied",
        "num-blocks": "Number of unreachable blocks erased",
    }

    max_iterations: int = option(10, "maximum number of sweeps over the IR; -1 for no limit")
    max_num_rewrites: int = option(-1, "maximum number of rewrites; -1 for no limit")
    region_simplify: str = option(
        "normal", "simplify control flow", choices=("disabled", "normal", "aggressive")
    )
    test_convergence: bool = option(False, "fail when a limit is hit")
    top_down: bool = option(True, "visit operations before their users in the first sweep")

    def run(self, op: Operation, context: PassContext) -> bool:
        patterns = canonicalization_patterns()
        sweeps = self.max_iterations if self.max_iterations >= 0 else 1_000_000
        rewrites = self.max_num_rewrites if self.max_num_rewrites >= 0 else None
        changed = False
        while True:
            result = apply_greedily(
                op,
                patterns,
                make_constant=constant_for,
                top_down=self.top_down,
                max_iterations=max(1, sweeps),
                max_rewrites=rewrites,
            )
            changed |= result.changed
            context.count("num-rewrites", result.rewrites.total())
            if not result.converged and self.test_convergence:
                raise PassFailure("canonicalization did not converge", op.location)
            if self.region_simplify == "disabled" or not self._simplify(op, context):
                return changed
            changed = True
            sweeps -= 1
            if not result.converged or sweeps <= 0:
                return changed

    @staticmethod
    def _simplify(op: Operation, context: PassContext) -> bool:
        """Erase unreachable blocks, dead arguments and dead ops; returns true if there were any."""
        blocks = erase_unreachable_blocks(op)
        context.count("num-blocks", blocks)
        erased = erase_dead(op)
        context.count("num-rewrites", erased.total())
        return bool(blocks or erased.total())


_known: tuple[frozenset[str], list[RewritePattern]] = (frozenset(), [])


def canonicalization_patterns() -> Sequence[RewritePattern]:
    """The patterns of all dialects that are in use.

    A dialect that was not imported has no ops.
    """
    global _known
    from tessera_tools.dialects.arith.rules import Rules
    from tessera_tools.opdef.dialect import find_dialect
    from tessera_tools.opdef.registry import DIALECT_MODULES

    # The patterns of one dialect may make ops of another, whose patterns then belong to these.
    while (names := frozenset(n for n, module in DIALECT_MODULES.items() if module in sys.modules)) != _known[
        0
    ]:
        dialects = [find_dialect(name) for name in DIALECT_MODULES if name in names]
        found = [pattern for dialect in dialects if dialect is not None for pattern in dialect.patterns()]
        _known = (names, [Rules(), *found])
    return _known[1]
