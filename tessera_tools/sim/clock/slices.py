"""What decides the way of a warp through a loop (sim/clock/steady.py).

instructions of a loop ──slice_of()──▶ those that its branches, its barriers and its effects depend on
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tessera_tools.sim.clock.cost import Register, registers
from tessera_tools.sim.program import Address, Immediate, Instruction, Name, Operand

__all__ = ["Slice", "named", "slice_of", "targets"]

_PURE = frozenset({
    "add", "sub", "mul", "mad", "fma", "min", "max", "abs", "neg", "and", "or", "xor", "not", "shl", "shr", "shf",
    "lop3", "prmt", "bfe", "bfi", "bmsk", "szext", "fns", "setp", "set", "selp", "slct", "mov", "cvt", "cvta", "mad24",
    "mul24", "sad", "div", "rem", "popc", "clz", "bfind", "brev", "cnot", "addc", "subc", "madc", "dp4a", "dp2a",
    "isspacep", "testp", "copysign", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "mapa", "getctarank",
    "shfl", "vote", "match", "redux", "elect", "activemask",
})  # fmt: skip
"""Instructions that change only registers, by values of registers."""
_CONTROL = frozenset({"bra", "brx"})
_ENDS = frozenset({"exit", "ret", "trap", "call", "brkpt"})
_CLOCKS = ("%clock", "%globaltimer")


class _Wait(NamedTuple):
    """A wait for a parity."""

    base: Register | None
    """Of the address; None for a variable."""
    offset: int
    wanted: Register | None
    value: int
    """The parity, if no register has it."""


@dataclass(slots=True)
class Slice:
    """What decides the way of a warp through a loop."""

    registers: tuple[Register, ...]
    """All of the slice."""
    actions: dict[int, str]
    """By instruction: `run`, `branch`, `wait`, `sync`, `effect`; others do not matter."""
    following: dict[int, int]
    """By instruction of the loop: the next one that matters, or whose successor is not in the loop."""
    reads: dict[int, tuple[Register, ...]]
    """Registers that identify a barrier."""
    results: dict[int, tuple[Register, ...]]
    """Predicates that say whether a wait is over."""
    parities: dict[int, _Wait]


def slice_of(program: Sequence[Instruction], head: int, body: frozenset[int]) -> Slice | None:
    """The slice of the instructions of a loop; None if it depends on memory or on time."""
    instructions = {pc: program[pc] for pc in sorted(body)}
    actions: dict[int, str] = {}
    wanted: set[Register] = set()
    reads: dict[int, tuple[Register, ...]] = {}
    results: dict[int, tuple[Register, ...]] = {}
    parities: dict[int, _Wait] = {}
    for pc, inst in instructions.items():
        guard = named(inst, (inst.predicate,)) if inst.predicate is not None else ()
        if inst.opcode in _ENDS:
            if inst.opcode == "call":
                return None
            actions[pc] = "end"
            wanted.update(guard)
        elif inst.opcode in _CONTROL:
            actions[pc] = "branch"
            wanted.update(registers(inst)[0])
        elif inst.opcode in ("mbarrier", "bar", "barrier") and inst.modifiers[:1] != ("warp",):
            waits = inst.modifiers[:1] in (("try_wait",), ("test_wait",))
            actions[pc] = "wait" if waits else "sync"
            reads[pc] = _barrier(inst)
            wanted.update((*reads[pc], *guard))
            if waits:
                results[pc] = registers(inst)[1]
                if (parity := _parity(inst)) is not None:
                    parities[pc] = parity
        elif inst.opcode not in _PURE and guard:
            actions[pc] = "effect"
            wanted.update(guard)
    growing = True
    while growing:
        growing = False
        for pc, inst in instructions.items():
            if actions.get(pc) in ("run", "branch", "wait"):
                continue
            if not wanted.isdisjoint(_written(inst)):
                constant = inst.opcode == "ld" and {"param", "const"} & {*inst.modifiers}
                if (inst.opcode not in _PURE and not constant) or _timed(inst):
                    return None
                actions[pc] = "run"
                wanted.update(registers(inst)[0])
                growing = True
    following: dict[int, int] = {}
    for pc in sorted(body, reverse=True):
        after = pc + 1
        if pc in actions or pc == head:
            following[pc] = pc
        else:
            following[pc] = following.get(after, after)
    return Slice(tuple(sorted(wanted)), actions, following, reads, results, parities)


# -- instructions


def targets(inst: Instruction) -> list[int]:
    """Where a branch may go to."""
    scope = inst.scope
    names = [operand.name for operand in inst.operands if isinstance(operand, Name)]
    if inst.opcode == "bra":
        found = [scope.label(names[-1])] if names else []
    elif inst.opcode == "brx":
        found = [scope.label(label) for name in names for label in scope.target_list(name) or ()]
    else:
        return []
    return [target for target in found if target is not None]


def named(inst: Instruction, operands: Iterable[Operand]) -> tuple[Register, ...]:
    """The registers among the operands, and those in addresses."""
    found: list[Register] = []
    for operand in operands:
        name = operand.base if isinstance(operand, Address) else operand
        register = inst.scope.register(name.name) if isinstance(name, Name) else None
        if register is not None:
            found.append((register.type.bits, register.slot))
    return tuple(found)


def _barrier(inst: Instruction) -> tuple[Register, ...]:
    """The registers that tell which barrier, and which of its phases, an instruction means."""
    if inst.opcode != "mbarrier":
        return named(inst, inst.operands)
    places = [operand for operand in inst.operands if isinstance(operand, Address)]
    parity = inst.operands[2:3] if "parity" in inst.modifiers else ()
    return named(inst, (*places, *parity))


def _parity(inst: Instruction) -> _Wait | None:
    """What a wait for a parity waits for; None for another wait."""
    if "parity" not in inst.modifiers:
        return None
    address, parity = inst.operands[1:3]
    base, wanted = named(inst, (address,)), named(inst, (parity,))
    value = int(parity.value) if isinstance(parity, Immediate) else 0
    offset = address.offset if isinstance(address, Address) else 0
    return _Wait(base[0] if base else None, offset, wanted[0] if wanted else None, value)


def _written(inst: Instruction) -> tuple[Register, ...]:
    """The registers that an instruction writes, also later."""
    found = registers(inst)[1]
    if inst.opcode == "wgmma" and inst.operands:
        accumulators = inst.operands[0]
        found = named(inst, getattr(accumulators, "elements", ()))
    return found


def _timed(inst: Instruction) -> bool:
    """True if an instruction reads a clock."""
    return any(isinstance(operand, Name) and operand.name.startswith(_CLOCKS) for operand in inst.operands)
