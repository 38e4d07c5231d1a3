"""Overflow of loop counters before they reach the upper bound, and in front of the loop."""

from __future__ import annotations

from tessera_tools.analysis.facts import Facts
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import bit_width


def may_wrap(upper: Value, step: Value, unsigned: bool, facts: Facts, ahead: int = 1) -> bool:
    """True if counter + ahead · step may overflow for a counter below `upper`; the step must be positive.

    A loop over `lower, lower + step, …` below `upper` may then not compare `counter + step < upper`.
    """
    by = facts.fact(step)
    # The last counter is at most upper - 1, which is sufficient for a step of 1.
    return by.lower < 1 or (
        ahead * by.upper != 1 and _may_overflow(upper, -1 + ahead * by.upper, unsigned, facts)
    )


def may_pass(start: Value, step: Value, unsigned: bool, facts: Facts, ahead: int) -> bool:
    """True if start + ahead · step may overflow; the step must be positive.  The start may be that of a loop without
    iterations, which is not below the upper bound."""
    by = facts.fact(step)
    return by.lower < 1 or _may_overflow(start, ahead * by.upper, unsigned, facts)


def _may_overflow(value: Value, more: int, unsigned: bool, facts: Facts) -> bool:
    most, bits = facts.fact(value), bit_width(value.type) - (not unsigned)
    return (unsigned and most.lower < 0) or most.upper + more >= 1 << bits
