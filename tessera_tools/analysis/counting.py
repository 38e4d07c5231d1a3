"""Whether the counter of a loop may pass the largest number of its type before it reaches the upper bound."""

from __future__ import annotations

from tessera_tools.analysis.facts import Facts
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import bit_width


def may_wrap(upper: Value, step: Value, unsigned: bool, facts: Facts, ahead: int = 1) -> bool:
    """True if counter + ahead · step may not fit its type for a counter below `upper`; the step is a positive number.

    A loop that counts `lower, lower + step, …` below `upper` may then not ask for `counter + step < upper`.
    """
    most, by = facts.fact(upper), facts.fact(step)
    if by.lower < 1:
        return True
    # The last counter is at most upper - 1; of a step of 1 that is enough.
    if ahead * by.upper == 1:
        return False
    bits = bit_width(upper.type)
    if unsigned:
        return most.lower < 0 or most.upper - 1 + ahead * by.upper >= 1 << bits
    return most.upper - 1 + ahead * by.upper >= 1 << (bits - 1)
