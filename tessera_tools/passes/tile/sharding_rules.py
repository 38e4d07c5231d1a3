"""Sharding rules: which dimensions of an op's tensors correspond, so that they can be sharded together.

tile.mma %A, %B        A: m k, B: k n  ─▶  m n        k is summed over: ranks with parts of it return partial sums
tile.launch @kernel    from the kernel's `tile.dimensions`
tile.add %x, %y        the same dimensions everywhere
tile.flash_attention   Q: b h q _, K: b h s _, V: b h s e  ─▶  b h q e: partial results along s are not sums
(attention_sharding.py)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tessera_tools.analysis.sharding import Sharding
from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.attention import AttentionDivide, AttentionRescale, FlashAttention
from tessera_tools.dialects.tile.collectives import Launch
from tessera_tools.dialects.tile.compute import (
    Apply,
    Broadcast,
    ByRow,
    Cast,
    Elementwise,
    Fma,
    Product,
    RowReduction,
)
from tessera_tools.dialects.tile.mesh import WHOLE
from tessera_tools.ir.core import Operation, Value
from tessera_tools.records import dataclass

__all__ = ["Rule", "contraction_of", "cut_by", "is_fresh", "is_zero", "rule_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Names of the dimensions of each operand and result; "_" for one that must be replicated."""

    operands: list[tuple[str, ...]]
    results: list[tuple[str, ...]]
    addend: Value | None = None
    """An operand that must be added once, not by each rank."""

    @property
    def summed(self) -> set[str]:
        """Dimensions that operands have and results do not."""
        kept = {name for names in self.results for name in names}
        return {name for names in self.operands for name in names} - kept - {WHOLE}


def rule_of(op: Operation) -> Rule | None:
    """The sharding rule of an op; None if unknown."""
    if isinstance(op, Product):
        a = ("k", "m") if op.transposes_a else ("m", "k")
        b = ("n", "k") if op.transposes_b else ("k", "n")
        if op.acc is not None:
            return Rule([a, b, ("m", "n")], [("m", "n")], op.acc)
        return Rule([a, b], [("m", "n")])
    if isinstance(op, Launch):
        names = op.names()
        return Rule(names[: len(op.operands)], names[len(op.operands) :])
    if isinstance(op, Elementwise | Fma | Cast | ByRow | Apply | Broadcast):
        named = [_positions(value) for value in [*op.operands, *op.results]]
        return Rule(named[: len(op.operands)], named[len(op.operands) :])
    if isinstance(op, FlashAttention):
        lead = _LEADING[: op.q.type.rank - 2]
        q, k, v = (*lead, "q", WHOLE), (*lead, "s", WHOLE), (*lead, "s", "e")
        places = [("q",), ("s",)][: len(op.positions)]
        return Rule([q, k, v, *places], [(*lead, "q", "e"), *[(*lead, "q")] * len(op.statistics)])
    if isinstance(op, AttentionRescale | AttentionDivide):
        whole = (*_LEADING[: op.source.type.rank - 2], "q", "e")
        rows = [whole[:-1]] * (len(op.operands) - 1)
        return Rule([whole, *rows], [whole, *rows[: len(op.results) - 1]])
    if isinstance(op, RowReduction):
        return Rule([("r", WHOLE)], [("r",)])
    return None


_LEADING = ("b", "h")
"""Names of the dimensions of attention before the sequence."""


def _positions(value: Value) -> tuple[str, ...]:
    """Names of a tensor's dimensions by position, rows first; empty for a scalar."""
    return tuple(f"d{axis}" for axis in range(getattr(value.type, "rank", 0)))


def cut_by(names: Sequence[str], chosen: Mapping[str, str]) -> Sharding:
    """The sharding of a tensor with these dimension names, for the axes chosen for some of them."""
    return Sharding(tuple(chosen.get(name) if name != WHOLE else None for name in names))


def contraction_of(value: Value, known: frozenset[Value] = frozenset()) -> int | None:
    """The contracted dimension of a value in a product that uses it, also in called functions (except for the arguments
    `known`); None if there is none."""
    from tessera_tools.dialects.func import Call, Func
    from tessera_tools.ir.symbols import lookup_symbol

    for use in value.uses:
        op = use.owner
        if isinstance(op, Call):
            callee = lookup_symbol(op, op.callee)
            argument = callee.arguments[use.index] if isinstance(callee, Func) and callee.arguments else value
            if argument is not value and argument not in known:
                found = contraction_of(argument, known | {value})
                if found is not None:
                    return found
        rule = rule_of(op)
        if rule is None:
            continue
        for dim, name in enumerate(rule.operands[use.index]):
            if name in rule.summed:
                return dim
    return None


def is_fresh(value: Value) -> bool:
    """True if the value is a new buffer that is at most filled, and then used once: it can be allocated with local
    extents."""
    op = value.defining_op
    if not isinstance(op, tile.AllocRegister):
        return False
    return sum(not isinstance(user, tile.Fill) for user in value.users) == 1


def is_zero(value: Value) -> bool:
    """Returns whether the value is a new buffer of zeros, or of undefined content."""
    if not is_fresh(value):
        return False
    for user in value.users:
        if isinstance(user, tile.Fill):
            constant = user.value.defining_op
            attribute = constant.attributes.get("value") if constant is not None else None
            if getattr(attribute, "bits", getattr(attribute, "value", None)) != 0:
                return False
    return True
