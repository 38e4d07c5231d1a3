"""Instructions that blocks can move and batch (sim/blocks.py): what they use, and which of them are equal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tessera_tools.sim.program import Address, Immediate, Instruction, Name, Operand, Pair

if TYPE_CHECKING:
    from tessera_tools.sim.ports import PortKey

__all__ = ["Straight", "port_kind", "straight_of"]


@dataclass(frozen=True, slots=True)
class Straight:
    """An instruction that a block (sim/blocks.py) can move: it uses its ports and memory, and never jumps or blocks.

    `effect` is `none`, `load`, `store` or `other`. Instructions with equal keys differ only in their ports: the closure
    of one of them computes another if its `ports` are replaced in order. Ports that are not in `sources`
    are overwritten.
    """

    effect: str
    key: Hashable
    ports: tuple[int, ...]
    sources: frozenset[int]
    targets: frozenset[int]


_VALUES = frozenset(
    ("abs", "add", "and", "cvt", "fma", "ld", "mad", "max", "min", "mov", "mul", "or", "selp", "setp", "st", "sub",
     "xor")
)  # fmt: skip
"""Instructions whose immediate operands are ports. The closures of others may contain the numbers."""


def port_kind(key: PortKey) -> Hashable:
    """The kind and the dtype of the port with this key."""
    if key[0] == "register":
        return key[0], key[1], key[3]
    return key[0], key[1] if key[0] == "constant" else key[-1]


def _form(operand: Operand, exact: bool) -> Hashable:
    """An operand without the names of registers, and without the values of numbers unless `exact`."""
    if isinstance(operand, Name):
        return "name", operand.negated, operand.name == "_"
    if isinstance(operand, Immediate):
        return ("number", operand) if exact else "number"
    if isinstance(operand, Address):
        return "address", _form(operand.base, exact), len(operand.coordinates)
    if isinstance(operand, Pair):
        return "pair", _form(operand.first, exact), _form(operand.second, exact)
    return "list", tuple(_form(element, exact) for element in operand.elements)


def straight_of(
    inst: Instruction,
    effect: str,
    used: list[int],
    kinds: Sequence[Hashable],
    sources: set[int],
    targets: set[int],
    alone: int | None,
) -> Straight:
    """The description of a decoded instruction. `used` are the ports in the order in which its decoder requested them,
    with their kinds; `sources` and `targets` those that it reads and writes. `alone` tells it from all others."""
    ports = tuple(dict.fromkeys(used))
    exact = inst.opcode not in _VALUES
    pattern = tuple(map(used.index, used))
    form = tuple([_form(operand, exact) for operand in inst.operands])
    guard = None if inst.predicate is None else inst.predicate.negated
    # Lanes that a guard excludes keep the content of the targets.
    read = [port for port in ports if guard is not None or port not in targets or port in sources]
    key = (inst.opcode, inst.modifiers, guard, form, pattern, tuple(kinds), alone)
    return Straight(effect, key, ports, frozenset(read), frozenset(targets))
