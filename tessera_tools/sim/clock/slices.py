"""What decides the way of a warp through a loop (sim/clock/steady.py).

instructions of a loop ──slice_of()──▶ those that its branches, its barriers and its effects depend on

Where no mbarrier tells which stage of a ring a lap uses, what the addresses in shared memory depend on is part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.clock.cost import Register, registers
from tessera_tools.sim.lanes import mask_of
from tessera_tools.sim.program import Address, Group, Immediate, Instruction, Name, Operand, Vector
from tessera_tools.sim.warp import Split, Warp

__all__ = [
    "Slice",
    "guard_of",
    "is_ticket",
    "merged",
    "named",
    "row_of",
    "slice_of",
    "targets",
    "with_addresses",
]

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
_SHARED = {"shared", "shared::cta"}
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
    places: dict[int, tuple[Register, ...]]
    """By access to shared memory: the registers of its address."""
    aligned: frozenset[int]
    """Barriers that all threads of a warp reach together."""
    tickets: frozenset[int]
    """The loads and atomic additions among those that run: their values must be known (sim/clock/tickets.py)."""


def slice_of(program: Sequence[Instruction], head: int, body: frozenset[int]) -> Slice | None:
    """The slice of the instructions of a loop; None if it depends on memory or on time."""
    instructions = {pc: program[pc] for pc in sorted(body)}
    actions: dict[int, str] = {}
    wanted: set[Register] = set()
    reads: dict[int, tuple[Register, ...]] = {}
    results: dict[int, tuple[Register, ...]] = {}
    parities: dict[int, _Wait] = {}
    aligned = frozenset(
        pc
        for pc, inst in instructions.items()
        if inst.opcode == "bar" or (inst.opcode == "barrier" and "aligned" in inst.modifiers)
    )
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
    if not _close(instructions, actions, wanted, loads=True):
        return None
    places: dict[int, tuple[Register, ...]] = {}
    seen: set[Register] = set()
    for pc, inst in instructions.items() if not parities else ():
        base = _stage(inst)
        if pc in actions or base is None or base in seen:
            continue
        seen.add(base)
        more, of = {**actions, pc: "touch"}, {*wanted, base}
        if _close(instructions, more, of, loads=False):
            actions, wanted, places[pc] = more, of, (base,)
    tickets = frozenset(pc for pc, action in actions.items() if action == "ticket")
    following = _following(head, body, actions)
    return Slice(
        tuple(sorted(wanted)), actions, following, reads, results, parities, places, aligned, tickets
    )


def _following(head: int, body: frozenset[int], actions: Mapping[int, str]) -> dict[int, int]:
    found: dict[int, int] = {}
    for pc in sorted(body, reverse=True):
        found[pc] = pc if pc in actions or pc == head else found.get(pc + 1, pc + 1)
    return found


def with_addresses(program: Sequence[Instruction], head: int, body: frozenset[int], one: Slice) -> Slice:
    """A slice that also has what all addresses of the loop are computed from, but for what comes from memory."""
    instructions = {pc: program[pc] for pc in sorted(body)}
    unknown: set[Register] = set()
    growing = True
    while growing:
        growing = False
        for pc, inst in instructions.items():
            written = _written(inst)
            if unknown.issuperset(written) or one.actions.get(pc) in ("run", "ticket", "wait"):
                continue
            constant = inst.opcode == "ld" and {"param", "const"} & {*inst.modifiers}
            known = (inst.opcode in _PURE or constant) and not _timed(inst)
            if not known or not unknown.isdisjoint(registers(inst)[0]):
                unknown.update(written)
                growing = True
    wanted = {*one.registers}
    for inst in instructions.values():
        for operand in inst.operands:
            if isinstance(operand, Address):
                wanted.update(named(inst, (operand, *operand.coordinates)))
    wanted -= unknown
    actions = {**one.actions}
    _close(instructions, actions, wanted, loads=False)
    return replace(
        one, registers=tuple(sorted(wanted)), actions=actions, following=_following(head, body, actions)
    )


def _close(
    instructions: Mapping[int, Instruction], actions: dict[int, str], wanted: set[Register], *, loads: bool
) -> bool:
    """Add all that the wanted registers depend on; False if they depend on memory or on time, with `loads` but for
    those that may be tickets."""
    growing = True
    while growing:
        growing = False
        for pc, inst in instructions.items():
            if actions.get(pc) in ("run", "branch", "wait", "ticket"):
                continue
            if wanted.isdisjoint(_written(inst)):
                continue
            constant = inst.opcode == "ld" and {"param", "const"} & {*inst.modifiers}
            asks = inst.opcode == "clusterlaunchcontrol" and inst.modifiers[:1] == ("query_cancel",)
            if _timed(inst):
                return False
            if inst.opcode in _PURE or constant or asks:
                actions[pc] = "run"
                wanted.update(registers(inst)[0])
            elif loads and is_ticket(inst):
                actions[pc] = "ticket"
                if inst.predicate is not None:
                    wanted.update(named(inst, (inst.predicate,)))
            else:
                return False
            growing = True
    return True


def is_ticket(inst: Instruction) -> bool:
    """Whether an instruction may load the number of a tile: from a counter, or from where a warp has put it."""
    modifiers = {*inst.modifiers}
    if inst.opcode == "ld":
        return bool(_SHARED & modifiers)
    return inst.opcode == "atom" and {"global", "add"} <= modifiers


def _stage(inst: Instruction) -> Register | None:
    """The register of the address in shared memory that an instruction accesses, if a register has it."""
    modifiers = {*inst.modifiers}
    if (
        inst.opcode not in ("ld", "st", "ldmatrix", "stmatrix", "cp")
        or not _SHARED & modifiers
        or "bulk" in modifiers
    ):
        return None
    places = [operand for operand in inst.operands if isinstance(operand, Address)]
    found = named(inst, places[:1])
    return found[0] if found else None


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


def guard_of(inst: Instruction) -> tuple[int, int, bool] | None:
    """The register of the predicate of an instruction, and whether it is negated."""
    if inst.predicate is None:
        return None
    ((bits, slot),) = named(inst, (inst.predicate,))
    return bits, slot, inst.predicate.negated


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
        found = named(inst, accumulators.elements if isinstance(accumulators, Group | Vector) else ())
    return found


def _timed(inst: Instruction) -> bool:
    """True if an instruction reads a clock."""
    return any(isinstance(operand, Name) and operand.name.startswith(_CLOCKS) for operand in inst.operands)


# -- warps


def merged(splits: list[Split]) -> list[Split]:
    """Splits with those at the same instruction as one."""
    found: dict[int, Split] = {}
    for split in splits:
        first = found.setdefault(split.pc, split)
        if first is not split:
            first.mask = mask_of(first.mask.bits | split.mask.bits)
    return list(found.values())


def row_of(warp: Warp, register: Register) -> Array:
    """The lanes of a register."""
    return warp.registers[register[0]][register[1]]
