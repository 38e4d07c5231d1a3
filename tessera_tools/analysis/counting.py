"""Overflow of loop counters before they reach the upper bound, and in front of the loop."""

from __future__ import annotations

from tessera_tools.analysis.facts import Facts
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import bit_width


def may_wrap(upper: Value, step: Value, unsigned: bool, facts: Facts, ahead: int = 1) -> bool:
    """True if counter + ahead · step may overflow for a counter below `upper`; the step must be positive.

    A loop over `lower, lower + step, …` below `upper` may then not compare `counter + step < upper`.
    """
    most, by = facts.fact(upper), facts.fact(step)
    if by.lower < 1:
        return True
    # The last counter is at most upper - 1, which is sufficient for a step of 1.
    if ahead * by.upper == 1:
        return False
    bits = bit_width(upper.type)
    if unsigned:
        return most.lower < 0 or most.upper - 1 + ahead * by.upper >= 1 << bits
    return most.upper - 1 + ahead * by.upper >= 1 << (bits - 1)


def may_pass(start: Value, step: Value, unsigned: bool, facts: Facts, ahead: int) -> bool:
    """True if start + ahead · step may overflow; the step must be positive.  The start may be that of a loop without
    iterations, which is not below the upper bound."""
    most, by = facts.fact(start), facts.fact(step)
    bits = bit_width(start.type) - (not unsigned)
    return by.lower < 1 or (unsigned and most.lower < 0) or most.upper + ahead * by.upper >= 1 << bits
