"""Straight-line code for gangs, in batches: equal instructions of an unrolled loop run as one.

    ld %r1; fma %r2, %r1, …; add %r3, %r2, …        level 0: ld %r1, %r4 ──▶ one load of 2 × 128 lanes
    ld %r4; fma %r5, %r4, …; add %r6, %r5, …   ──▶  level 1: fma %r2, %r5     level 2: add %r3, %r6

A block is a range of instructions that only use registers and memory. Registers belong to their thread, so only the
order of the accesses to memory can be observed. Loads keep their order with stores, and stores with each other.
Everything else runs as soon as its operands are computed. A batch copies the rows of its operands together, runs the
closure of its first instruction once, and copies the results back. If the closure refuses, because an access has a
finding, the instructions run one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Together
from tessera_tools.sim.program import Name
from tessera_tools.sim.races import code_bits
from tessera_tools.sim.straight import Straight
from tessera_tools.sim.warp import JointOutcome

if TYPE_CHECKING:
    from tessera_tools.sim.counters import Counters
    from tessera_tools.sim.decode import Batched
    from tessera_tools.sim.gang import Gang
    from tessera_tools.sim.machine import Cta
    from tessera_tools.sim.module import Module
    from tessera_tools.sim.ports import PortKey
    from tessera_tools.sim.warp import Warp

__all__ = ["Batch", "Blocks", "Step"]

LEAST = 6
"""Instructions of the shortest block: a shorter one gains nothing."""
_MOST = 1024
"""Instructions of the longest block."""
_FEWEST = 3
"""Instructions of the smallest batch."""
_FEWEST_CHEAP = 8
_FEWEST_COPIES = 2
_CHEAP = frozenset(
    ("add", "and", "cvta", "mov", "mul", "not", "or", "selp", "setp", "shl", "shr", "sub", "xor")
)
"""Instructions that take as long as the copies of their operands: a batch of them must be larger."""
_COPIES = frozenset(("cp", "ld", "ldmatrix", "shfl", "st"))
"""Instructions that take much longer."""
_LARGE = 32
"""Instructions of a part of a block that is worth a schedule at once."""
_HOP = 25
"""Instructions that a hop skips at most, and one."""
_KEPT = 4096
"""Blocks that a module keeps."""


class Step:
    """Instructions that run as one. `pcs` are in program order; with a single one, it runs by itself."""

    __slots__ = ("execute", "fixed", "gathers", "marks", "pcs", "scatters")

    def __init__(self, module: Module, pcs: Sequence[int]) -> None:
        self.pcs = tuple(pcs)
        self.gathers: list[tuple[int, int, Array, np.dtype, int]] = []
        """Port, width, slots, dtype and distance of the elements in a register."""
        self.fixed: list[tuple[int, tuple[int, ...]]] = []
        """Ports that are no registers."""
        self.scatters: list[tuple[int, int, Array, np.dtype, bool]] = []
        if len(pcs) == 1:
            return
        self.execute = joined(
            [joint for pc in pcs if _is_batched(joint := module.together[pc], module.straight[pc])]
        )
        self.marks = code_bits(np.array(pcs))[:, None]
        all_of = [straight for pc in pcs if (straight := module.straight[pc]) is not None]
        first = all_of[0]
        for port, *ports in zip(*[straight.ports for straight in all_of], strict=True):
            keys = [module.keys[each] for each in (port, *ports)]
            if keys[0][0] != "register":
                self.fixed.append((port, (port, *ports)))
                continue
            bits, dtype = keys[0][1], keys[0][3]
            slots = np.array([key[2] for key in keys], np.intp)
            if port in first.targets:
                self.scatters.append((port, bits, slots, dtype, port not in first.sources))
            if port in first.sources:
                distance = 1 if bits == 1 else bits // (8 * dtype.itemsize)
                self.gathers.append((port, bits, slots, dtype, distance))


class Joining:
    """A closure around another one, with more that it knows of its instruction."""

    @staticmethod
    def join(closures: Sequence[Batched]) -> Batched:
        """The closure for several instructions that differ only in their ports."""
        raise NotImplementedError


def _is_batched(execute: Together | None, straight: Straight | None) -> TypeGuard[Batched]:
    """True if a closure runs for a batch, too: all of straight-line code do that equal others."""
    return execute is not None and straight is not None


def joined(closures: Sequence[Batched]) -> Batched:
    """The closure that runs all of these, whose instructions have equal keys, on the ports of the first."""
    for closure in closures:
        if isinstance(closure, Joining):
            return closure.join(closures)
    return closures[0]


def _registers(keys: Sequence[PortKey], ports: Iterable[int]) -> set[tuple[int, int]]:
    """The registers, by width and slot, among ports."""
    return {(key[1], key[2]) for port in ports if (key := keys[port])[0] == "register"}


class Batch:
    """The instructions of a step for a gang, with the interface of a gang: a row has all lanes of each instruction."""

    __slots__ = ("gang", "mask", "ports", "step")

    def __init__(self, gang: Gang, step: Step) -> None:
        self.gang, self.step = gang, step
        self.mask = gang.lanes(len(step.pcs))
        self.ports = ports = dict[int, Array]()
        all_registers, first, last = gang.cta.registers, gang.first, gang.last
        whole = last - first == len(gang.cta.warps)
        for port, bits, slots, dtype, distance in step.gathers:
            registers = all_registers[bits]
            rows = registers.take(slots, 0) if whole else registers[slots, first:last]
            row = rows.reshape(-1)
            if bits != 1:
                row = row.view(dtype)
                if distance > 1:
                    row = row[::distance]
            ports[port] = row
        for port, others in step.fixed:
            ports[port] = gang.rows_of(others)
        for port, _, _, dtype, fresh in step.scatters:
            if fresh:
                ports[port] = np.empty(len(self.mask.array), dtype)

    def run(self) -> JointOutcome:
        result = self.step.execute(self, self.mask)
        if result is NotImplemented:
            return result
        gang = self.gang
        shape = (len(self.step.pcs), gang.last - gang.first, 32)
        for port, bits, slots, _, _ in self.step.scatters:
            registers = gang.cta.registers[bits]
            registers[slots, gang.first : gang.last] = self.ports[port].view(registers.dtype).reshape(shape)
        return None

    @property
    def cta(self) -> Cta:
        return self.gang.cta

    @property
    def warps(self) -> list[Warp]:
        return self.gang.warps

    @property
    def stats(self) -> Counters | None:
        return self.gang.stats

    @property
    def limit(self) -> int:
        return self.gang.limit

    def records(self) -> Array:
        """Each lane's access record, by its own instruction (sim/races.py)."""
        return (self.gang.clocks() | self.step.marks).reshape(-1)


class Blocks:
    """The blocks of a module. `ends` has, for each instruction, the end of the straight-line code that it is in."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.ends = _ends(module.straight)
        self.hops = _hops(module)
        """Branches over a few instructions of straight-line code, and where they jump."""
        self._regions: dict[int, list[Step]] = {}
        self._known: dict[tuple[int, int], list[Step] | None] = {}
        self._seen: set[int] = set()

    def of(self, module: Module) -> Blocks:
        """These blocks for a module whose straight-line code is the same."""
        made = copy.copy(self)
        made.module, made.hops = module, _hops(module)
        return made

    def steps(self, begin: int, end: int) -> list[Step] | None:
        """The steps of the instructions from `begin` up to `end`, which is at most `ends[begin]`.

        None the first time, unless it is a large part of code that has a schedule: making one takes as long as running
        the code some times.
        """
        key = begin, end
        found = self._known.get(key)
        if found is not None:
            return found
        last = self.ends[begin]
        whole = self._regions.get(last)
        if len(self._known) >= _KEPT:
            self._known.clear()
        if whole is None and last not in self._seen:
            self._seen.add(last)
            return None
        if key not in self._known and end - begin < min(_LARGE, last - begin):
            self._known[key] = None
            return None
        if whole is None:
            first = begin
            while first and self.ends[first - 1] == last:
                first -= 1
            whole = self._regions[last] = schedule(self.module, first, last)
        found = self._known[key] = _part(self.module, whole, begin, end)
        return found


def _ends(straight: Sequence[Straight | None]) -> list[int]:
    ends = list(range(len(straight)))
    end = 0
    for pc in reversed(range(len(straight))):
        if straight[pc] is None:
            end = pc
        elif end - pc > _MOST:
            end = pc + 1
        ends[pc] = end if straight[pc] is not None else pc
    return ends


def _hops(module: Module) -> dict[int, int]:
    found: dict[int, int] = {}
    for pc, inst in enumerate(module.program.instructions):
        if inst.opcode == "bra" and inst.predicate is not None and isinstance(inst.operands[0], Name):
            target = inst.scope.label(inst.operands[0].name)
            if target is not None and pc + 1 < target <= pc + _HOP and all(module.straight[pc + 1 : target]):
                found[pc] = target
    return found


def _part(module: Module, whole: Sequence[Step], begin: int, end: int) -> list[Step]:
    """The steps of a part of the straight-line code, in the same order."""
    found: list[Step] = []
    for step in whole:
        inside = [pc for pc in step.pcs if begin <= pc < end]
        if len(inside) == len(step.pcs):
            found.append(step)
        elif inside:
            found += _grouped(module, inside)
    return found


def _grouped(module: Module, pcs: Sequence[int]) -> list[Step]:
    opcode = module.program.instructions[pcs[0]].opcode
    fewest = _FEWEST_CHEAP if opcode in _CHEAP else _FEWEST_COPIES if opcode in _COPIES else _FEWEST
    if len(pcs) >= fewest:
        return [Step(module, pcs)]
    return [Step(module, (pc,)) for pc in pcs]


def schedule(module: Module, begin: int, end: int) -> list[Step]:
    """The instructions from `begin` up to `end`, in steps by dependence: a step needs nothing of later ones."""
    levels: dict[tuple[int, Hashable], list[int]] = {}
    written: dict[tuple[int, int], int] = {}
    """Register → the level of its last writer."""
    read: dict[tuple[int, int], int] = {}
    """Register → the highest level that reads it since."""
    loaded = stored = -1
    keys = module.keys
    store: tuple[int, Hashable] | None = None
    """The step of the last access, if it is a store that others can join."""
    guarded: set[tuple[int, int]] = set()
    """The registers that the stores of this step read."""
    for pc in range(begin, end):
        straight = module.straight[pc]
        assert straight is not None
        sources = _registers(keys, straight.sources)
        targets = _registers(keys, straight.targets)
        level = 0
        for register in sources:
            level = max(level, written.get(register, -1) + 1)
        for register in targets:
            level = max(level, written.get(register, -1) + 1, read.get(register, -1) + 1)
        if targets & guarded:
            store = None
        key: Hashable = straight.key
        if straight.effect == "load":
            level = max(level, stored + 1)
            loaded = max(loaded, level)
            store = None
        elif straight.effect == "store":
            level = max(level, loaded + 1)
            if store is not None and store[1] == key:
                level = max(level, store[0])
                # Nothing after the earlier stores needs them: they can wait for the operands of this one.
                for register in guarded:
                    read[register] = max(read.get(register, -1), level)
                levels.setdefault((level, key), levels.pop(store))
            else:
                level, guarded = max(level, stored + 1), set()
            store = level, key
            guarded |= sources
            stored = max(stored, level)
        elif straight.effect == "other":
            level = max(level, loaded + 1, stored + 1)
            loaded = stored = level
            store, key = None, pc
        for register in sources:
            read[register] = max(read.get(register, -1), level)
        for register in targets:
            written[register] = level
            read.pop(register, None)
        levels.setdefault((level, key), []).append(pc)
    found: list[Step] = []
    for _, pcs in sorted(levels.items(), key=lambda item: (item[0][0], item[1][0])):
        found += _grouped(module, pcs)
    return found
