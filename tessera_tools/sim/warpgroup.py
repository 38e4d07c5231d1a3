"""The wgmmas that are in flight: their groups, accumulators, and the registers and shared memory that they use.

    issue ──▶ State.open ──commit──▶ State.groups ──wait──▶ `complete`: all four warps' parts have read their operands
                                                     └────▶ `land`: the D of the waiting warp goes to its registers

A wgmma is one operation of four warps. It completes once all four have issued it, so the wait of one warp waits
for the other three, and comes after what the operation read on behalf of all of them.

D is kept beside its registers until the wait, and the registers are poison in the mode `late`. What other
instructions do with them is noticed by `watch`, which wraps the instructions that name such a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.sim import memory
from tessera_tools.sim.decode import Execute, after_decoding
from tessera_tools.sim.program import Address, Function, Group, Instruction, Name, Pair, Program, Vector
from tessera_tools.sim.proxies import mark
from tessera_tools.sim.races import record_at
from tessera_tools.sim.warp import Mask, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cta

__all__ = [
    "POISON",
    "READING",
    "Operation",
    "Register",
    "State",
    "Warpgroup",
    "complete",
    "issue",
    "land",
    "registers_of",
    "state_of",
    "warpgroup_of",
    "watch",
]

Array = np.ndarray[Any, Any]
Register = tuple[int, int]
"""Width in bits, and slot."""

POISON = np.uint32(0xFFFFFFFF)
READING = np.uint64(int.from_bytes(bytes([memory.READING]) * 8, "little"))
"""The state of eight bytes that an asynchronous operation reads."""
_OCTETS = np.arange(16)


@dataclass(eq=False, slots=True)
class Operation:
    """One warp's part of a wgmma. `a_rows` are the values that A's registers had when it was issued."""

    shape: str
    d_ports: Sequence[int]
    d_registers: frozenset[Register]
    a_registers: frozenset[Register]
    a_ports: Sequence[int]
    a_rows: list[Array]
    units: list[Array]
    """Units of shared memory that it reads."""
    compute: Callable[[], None]
    line: int
    pc: int
    number: int = 0
    """How many wgmmas the warp had issued before this one."""
    finished: bool = False
    """The accumulator has been computed."""
    read: bool = False
    """The operands in shared memory are no longer in use."""


@dataclass(slots=True)
class State:
    """A warp's wgmmas: those in flight, by group, and the accumulators that they have so far."""

    open: list[Operation] = field(default_factory=list[Operation])
    groups: list[list[Operation]] = field(default_factory=list[list[Operation]])
    sums: dict[int, Array] = field(default_factory=dict[int, Array])
    """By port: the accumulator's value while its register is poison."""
    fenced: bool = False
    """A wgmma.fence has been run."""
    touched: set[Register] = field(default_factory=set[Register])
    """Registers that other instructions have used since the last wgmma.fence."""
    issued: int = 0

    def flying(self) -> Iterable[Operation]:
        for group in self.groups:
            yield from group
        yield from self.open


def state_of(warp: Warp) -> State:
    found = warp.state.get("wgmma")
    if found is None:
        found = warp.state["wgmma"] = State()
    return found


@dataclass(eq=False, slots=True)
class Warpgroup:
    """The four warps that issue wgmmas together. `agent` reads shared memory for them (sim/races.py)."""

    warps: list[Warp]
    agent: int
    pending: list[tuple[Warp, Operation]] = field(default_factory=list[tuple["Warp", Operation]])
    """Parts of operations that still read shared memory, in the order of their issue."""
    seen: Array | None = None
    """What to acquire to come after the operations that have completed."""

    def behind(self, number: int) -> list[Warp]:
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


def issue(warp: Warp, state: State, operation: Operation) -> None:
    """Start the part of `warp` in an operation: its operands in shared memory are in use from now on."""
    shared, readers = warp.cta.shared, readers_of(warp.cta)
    group = warpgroup_of(warp)
    record, _ = warp.cta.cluster.clocks.act(group.agent, operation.pc)
    for units in operation.units:
        mark(warp, shared, unit_bytes(units), record, write=False)
        readers[units] += 1
        shared.states[16][units] |= READING
    group.pending.append((warp, operation))
    state.open.append(operation)


def complete(group: Warpgroup, number: int) -> None:
    """The operations up to `number`, which all four warps have issued, have read their operands."""
    cta = group.warps[0].cta
    shared, readers = cta.shared, readers_of(cta)
    done = [pair for pair in group.pending if pair[1].number <= number]
    if not done:
        return
    group.pending = [pair for pair in group.pending if pair[1].number > number]
    act, seen = cta.cluster.clocks.act(group.agent, 0)
    for warp, operation in done:
        record = record_at(act, operation.pc)
        if not operation.finished:
            operation.compute()
            operation.finished = True
        for units in operation.units:
            readers[units] -= 1
            shared.states[16][units[readers[units] == 0]] &= ~READING
            mark(warp, shared, unit_bytes(units), record, write=False)
    group.seen = seen


def land(warp: Warp, state: State, operation: Operation) -> None:
    """Give a warp the result of a complete operation, unless a later one still works on the same registers."""
    others = list(state.flying())
    busy = {port for other in others for port in other.d_ports}
    for port in operation.d_ports:
        if port not in busy and port in state.sums:
            warp.ports[port].view(np.uint32)[...] = state.sums.pop(port)
    held = {port for other in others for port in other.a_ports}
    for port, row in zip(operation.a_ports, operation.a_rows, strict=False):
        if port not in held and (warp.ports[port] == POISON).all():
            warp.ports[port][...] = row


def unit_bytes(units: Array) -> Array:
    return (units[:, None] * 16 + _OCTETS).reshape(-1)


def registers_of(inst: Instruction, operands: Iterable[Any]) -> set[Register]:
    """The registers that operands name."""
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
def watch(program: Program, function: Function, code: list[Any]) -> None:
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


def _watching(execute: Execute, used: frozenset[Register]) -> Execute:
    def run(warp: Warp, mask: Mask) -> Any:
        state = warp.state.get("wgmma")
        if state is not None:
            for operation in state.flying():
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
