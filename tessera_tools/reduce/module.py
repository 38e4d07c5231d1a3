"""Reduction of IR: a module becomes smaller by one kind of change after the other, until none helps.

module ──steps.STEPS──▶ sites ──search.remove_parts──▶ changed copy ──verify, print, test──▶ smaller module
"""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.ir.core import Operation
from tessera_tools.ir.verifier import verify
from tessera_tools.reduce.search import Budget, remove_parts
from tessera_tools.reduce.steps import STEPS, Step

__all__ = ["reduce_module"]


def reduce_module(
    module: Operation, write: Callable[[Operation], bytes], budget: Budget, *, unverified: bool = False
) -> Operation:
    """The smallest module that verifies and is still interesting; `module` itself is not changed.

    write: the form of a candidate that is tested. unverified: also test modules that do not verify.
    Raises Exhausted when the budget is spent.
    """
    current = module
    while True:
        changed = False
        for step in STEPS:
            fewer, current = _reduce_by(step, current, write, budget, unverified)
            changed |= fewer
        if not changed:
            return current


def _reduce_by(
    step: Step, current: Operation, write: Callable[[Operation], bytes], budget: Budget, unverified: bool
) -> tuple[bool, Operation]:
    def attempt(begin: int, end: int) -> int | None:
        nonlocal current
        candidate = current.clone()
        sites = step.sites(candidate)[begin:end]
        # The last sites first: what uses a value is removed before the value.
        applied = [step.apply(candidate, site) for site in reversed(sites)]
        if not any(applied):
            return None
        if (not unverified and verify(candidate)) or not budget.interesting(write(candidate)):
            return None
        current = candidate
        return len(step.sites(current))

    return remove_parts(len(step.sites(current)), attempt), current
