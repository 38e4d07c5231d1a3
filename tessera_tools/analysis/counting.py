"""Overflow of loop counters before they reach the upper bound."""

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
