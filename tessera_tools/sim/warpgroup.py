"""The wgmmas in flight: their groups, accumulators, and the registers and shared memory that they use.

    issue ──▶ State.open ──commit──▶ State.groups ──wait──▶ `complete`: all four warps' parts have read their operands
                                                     └────▶ `write_back`: the D of the waiting warp to its registers

A wgmma is one operation of four warps. It completes when all four have issued it. So the wait of one warp waits for
the other three, and is ordered after the operation's reads for all of them.

D is stored outside its registers until the wait; in the mode `late` the registers are poison. `watch` wraps the
instructions that use such a register, so that their accesses are detected.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tessera_tools.sim import memory
from tessera_tools.sim.arrays import Array, every
from tessera_tools.sim.blocks import Joining, joined
from tessera_tools.sim.decode import Execute, Together, after_decoding
from tessera_tools.sim.interfaces import HasLanes, Warps
from tessera_tools.sim.program import (
    Address,
    Function,
    Group,
    Instruction,
    Name,
    Operand,
    Pair,
    Program,
    Vector,
)
from tessera_tools.sim.races import record_at
from tessera_tools.sim.warp import JointOutcome, Mask, Outcome, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Batched
    from tessera_tools.sim.machine import Cta

__all__ = [
    "POISON",
    "READING",
    "Decoded",
    "Operation",
    "Product",
    "Reads",
    "Register",
    "State",
    "Warpgroup",
    "complete",
    "issue",
    "write_back",
    "registers_of",
    "state_of",
    "warpgroup_of",
    "watch",
]

Register = tuple[int, int]
"""Width in bits, and slot."""

POISON = np.uint32(0xFFFFFFFF)
READING = np.uint64(int.from_bytes(bytes([memory.READING]) * 8, "little"))
"""The state of eight bytes that an asynchronous operation reads."""
_OCTETS = np.arange(16)


@dataclass(eq=False, slots=True)
class Decoded:
    """What the products of one completion share: matrices of shared memory, and sums that later products add to."""

    matrices: dict[tuple[int, str, bool], tuple[Array, Array]] = field(
        default_factory=dict[tuple[int, str, bool], tuple[Array, Array]]
    )
    """By the id of their units, the element and the order: the units, and the matrix."""
    sums: dict[Hashable, tuple[frozenset[int], Array, Callable[[Array], None]]] = field(
        default_factory=dict[Hashable, tuple[frozenset[int], Array, Callable[[Array], None]]]
    )
    """Warps and slots → the slots, the patterns as a matrix, and the function that writes them to the accumulators."""

    def take(self, key: Hashable, slots: frozenset[int]) -> Array | None:
        """The sums of these slots, if the last product with one of them had the same slots and warps."""
        found = self.sums.get(key)
        if found is None:
            for other, (held, patterns, give) in list(self.sums.items()):
                if held & slots:
                    give(patterns)
                    del self.sums[other]
        return None if found is None else found[1]

    def finish(self) -> None:
        for _, patterns, give in self.sums.values():
            give(patterns)
        self.sums.clear()


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """The computation of one wgmma instruction for adjacent warps of a warpgroup."""

    compute: Callable[[list[Warp], Array | None, Array, Array, bool, Decoded], None]
    """(warps, units of A, rows of A's registers, units of B, whether D is added, what is shared)."""
    rows_axis: int
    """The axis of the units of A along which the rows of the warps follow each other."""


@dataclass(eq=False, slots=True)
class Reads:
    """The shared memory that a wgmma of one or of several warps reads, and the computation of its sums."""

    units: list[Array]
    warps: list[Warp]
    a_units: Array | None
    a_rows: Array
    """[register, warp, lane]"""
    b_units: Array
    accumulate: bool
    product: Product
    finished: bool = False
    """The accumulators have been computed."""

    def run(self, decoded: Decoded) -> None:
        if not self.finished:
            self.product.compute(
                self.warps, self.a_units, self.a_rows, self.b_units, self.accumulate, decoded
            )
            self.finished = True

    def joins(self, other: Reads) -> bool:
        """Whether `other` is the same product of the next warps."""
        return (
            self.product is other.product
            and self.accumulate == other.accumulate
            and not self.finished
            and not other.finished
            and self.warps[-1].index + 1 == other.warps[0].index
            and (self.b_units is other.b_units or np.array_equal(self.b_units, other.b_units))
        )


def run_all(parts: list[Reads], decoded: Decoded) -> None:
    """Run parts of one operation, adjacent warps at once."""
    parts = sorted(parts, key=lambda part: part.warps[0].index)
    while parts:
        count = 1
        while count < len(parts) and parts[count - 1].joins(parts[count]):
            count += 1
        if count == 1:
            parts[0].run(decoded)
        else:
            found, first = parts[:count], parts[0]
            a_units = [part.a_units for part in found if part.a_units is not None]
            first.product.compute(
                [warp for part in found for warp in part.warps],
                np.concatenate(a_units, axis=first.product.rows_axis) if a_units else None,
                np.concatenate([part.a_rows for part in found], axis=1),
                first.b_units,
                first.accumulate,
                decoded,
            )
            for part in found:
                part.finished = True
        parts = parts[count:]


@dataclass(eq=False, slots=True)
class Operation:
    """One warp's part of a wgmma. `a_rows` [register, lane] are the values of A's registers at issue."""

    shape: str
    d_slots: Sequence[int]
    """Slots of 32-bit registers."""
    d_registers: frozenset[Register]
    a_registers: frozenset[Register]
    a_slots: Sequence[int]
    a_rows: Array
    reads: Reads
    line: int
    pc: int
    number: int = 0
    """The number of wgmmas that the warp had issued before this one."""


@dataclass(slots=True)
class State:
    """A warp's wgmmas: those in flight, by group, and their current accumulators."""

    sums: Array
    """By slot: the value of an accumulator's register, if it is `held`."""
    open: list[Operation] = field(default_factory=list[Operation])
    groups: list[list[Operation]] = field(default_factory=list[list[Operation]])
    held: set[int] = field(default_factory=set[int])
    """Slots of registers that are poison, or will become poison."""
    fenced: bool = False
    """A wgmma.fence has been executed."""
    touched: set[Register] = field(default_factory=set[Register])
    """Registers that other instructions have accessed since the last wgmma.fence."""
    issued: int = 0

    def in_flight(self) -> Iterable[Operation]:
        for group in self.groups:
            yield from group
        yield from self.open


def state_of(warp: Warp) -> State:
    found = warp.state.get("wgmma")
    if found is None:
        found = warp.state["wgmma"] = State(np.empty_like(warp.registers[32]))
    return found


@dataclass(eq=False, slots=True)
class Warpgroup:
    """The four warps that issue wgmmas together. `agent` reads shared memory for them (sim/races.py)."""

    warps: list[Warp]
    agent: int
    pending: list[Operation] = field(default_factory=list[Operation])
    """Parts of operations that still read shared memory, in issue order."""
    seen: Array | None = None
    """What to acquire to be ordered after the complete operations."""

    def missing(self, number: int) -> list[Warp]:
        """The warps that have not issued the operation `number` yet."""
        return [warp for warp in self.warps if state_of(warp).issued <= number]


def warpgroup_of(warp: Warp) -> Warpgroup:
    groups = warp.cta.state.setdefault("warpgroups", {})
    number = warp.index // 4
    found = groups.get(number)
    if found is None:
        agent = warp.cta.cluster.clocks.agent()
        found = groups[number] = Warpgroup(warp.cta.warps[4 * number : 4 * number + 4], agent)
    return found


def readers_of(cta: Cta) -> Array:
    """How many wgmmas in flight read each 16-byte unit of the CTA's shared memory."""
    found = cta.state.get("wgmma readers")
    if found is None:
        found = cta.state["wgmma readers"] = np.zeros(len(cta.shared.views[16]), np.int32)
    return found


def issue(warps: list[Warp], operations: list[Operation]) -> None:
    """Start the parts of warps in an operation; all read the same memory, which is in use from now on."""
    cta, group = warps[0].cta, warpgroup_of(warps[0])
    shared, readers = cta.shared, readers_of(cta)
    record, _ = cta.cluster.clocks.act(group.agent, operations[0].pc)
    for units in operations[0].reads.units:
        shared.history.note_read(units, 16, record)
        readers[units] += 1
        shared.states[16][units] |= READING
    for warp, operation in zip(warps, operations, strict=True):
        group.pending.append(operation)
        state_of(warp).open.append(operation)


def complete(group: Warpgroup, number: int) -> None:
    """Operations up to `number`, which all four warps have issued, have read their operands."""
    cta = group.warps[0].cta
    shared, readers = cta.shared, readers_of(cta)
    done = [operation for operation in group.pending if operation.number <= number]
    if not done:
        return
    group.pending = [operation for operation in group.pending if operation.number > number]
    act, seen = cta.cluster.clocks.act(group.agent, 0)
    decoded = Decoded()
    parts = {operation.reads: operation for operation in done}
    # A launch that is timed has no results.
    for each in sorted({operation.number for operation in done}) if not cta.cluster.launch.timed else ():
        run_all([reads for reads, operation in parts.items() if operation.number == each], decoded)
    decoded.finish()
    for reads, operation in parts.items():
        record = record_at(act, operation.pc)
        for units in reads.units:
            readers[units] -= 1
            shared.states[16][units[readers[units] == 0]] &= ~READING
            shared.history.note_read(units, 16, record)
    group.seen = seen


def write_back(warp: Warp, state: State, operation: Operation) -> None:
    """Write the result of a complete operation to a warp, unless a later one still uses the same registers."""
    others = list(state.in_flight())
    if not operation.a_slots and any(other.d_slots == operation.d_slots for other in others):
        return
    registers = warp.registers[32]
    if not others and not operation.a_slots and state.held.issuperset(operation.d_slots):
        free = list(operation.d_slots)
        registers[free] = state.sums[free]
        state.held.difference_update(free)
        return
    busy = {slot for other in others for slot in other.d_slots}
    free = [slot for slot in operation.d_slots if slot not in busy and slot in state.held]
    registers[free] = state.sums[free]
    state.held.difference_update(free)
    read = {slot for other in others for slot in other.a_slots}
    for slot, row in zip(operation.a_slots, operation.a_rows, strict=True):
        if slot not in read and every(registers[slot] == POISON):
            registers[slot] = row


def unit_bytes(units: Array) -> Array:
    return (units[:, None] * 16 + _OCTETS).reshape(-1)


def registers_of(inst: Instruction, operands: Iterable[Operand]) -> set[Register]:
    """The registers that the operands use."""
    found: set[Register] = set()
    for operand in operands:
        if isinstance(operand, Name):
            register = inst.scope.register(operand.name)
            if register is not None:
                found.add((register.type.bits, register.slot))
        elif isinstance(operand, Address):
            found |= registers_of(inst, [operand.base])
        elif isinstance(operand, Pair):
            found |= registers_of(inst, [operand.first, operand.second])
        elif isinstance(operand, Group | Vector):
            found |= registers_of(inst, operand.elements)
    return found


@after_decoding
def watch(program: Program, function: Function, code: list[Execute], together: list[Together | None]) -> None:
    """Wrap the instructions that use registers of the function's wgmmas."""
    span = range(function.start, function.end)
    watched: set[Register] = set()
    for pc in span:
        inst = program.instructions[pc]
        if inst.opcode == "wgmma" and "mma_async" in inst.modifiers:
            watched |= registers_of(inst, [op for op in inst.operands[:2] if isinstance(op, Vector)])
    if not watched:
        return
    for pc in span:
        inst = program.instructions[pc]
        used = frozenset(registers_of(inst, inst.operands) & watched)
        if used and inst.opcode != "wgmma":
            code[pc] = _watching(code[pc], used)
            if (joint := together[pc]) is not None:
                together[pc] = _Together(joint, used)


def _watching(execute: Execute, used: frozenset[Register]) -> Execute:
    def run(warp: Warp, mask: Mask) -> Outcome:
        state = warp.state.get("wgmma")
        if state is not None:
            for operation in state.in_flight():
                if operation.d_registers & used or operation.a_registers & used:
                    which = "accumulates in" if operation.d_registers & used else "reads"
                    warp.report(
                        "in-flight",
                        f"use of a register that the wgmma at PTX line {operation.line} still {which}: no "
                        "wgmma.wait_group has freed it",
                        mask,
                    )
                    break
            state.touched |= used
        return execute(warp, mask)

    return run


_Several = TypeVar("_Several", bound=Warps)


class _Together(Joining, Generic[_Several]):
    """Like `_watching`, for several warps, unless one of them has a wgmma in flight."""

    def __init__(
        self, execute: Callable[[_Several, HasLanes], JointOutcome], used: frozenset[Register]
    ) -> None:
        self.execute, self.used = execute, used

    def __call__(self, gang: _Several, mask: HasLanes) -> JointOutcome:
        states = [state for warp in gang.warps if (state := warp.state.get("wgmma")) is not None]
        for state in states:
            if state.open or state.groups:
                return NotImplemented
        result = self.execute(gang, mask)
        if result is not NotImplemented:
            for state in states:
                state.touched |= self.used
        return result

    @staticmethod
    def join(closures: Sequence[Batched]) -> Batched:
        """The closure for several instructions that differ only in their registers (sim/blocks.py)."""
        watching = [each for each in closures if isinstance(each, _Together)]
        plain = joined([each.execute if isinstance(each, _Together) else each for each in closures])
        return _Together(plain, frozenset[Register]().union(*[each.used for each in watching]))
