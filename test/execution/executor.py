"""An oracle for kernels: runs the llvm and nvvm ops of one kernel, all threads of a CTA at once as NumPy arrays.

    memory = GlobalMemory();  address = memory.add(array)
    run(prepare(module), (2, 1, 1), [address, 1024, …], memory);  memory.read_back(address, array)

Threads are independent: each has its own place in the program. The block that comes first (in an order in which a loop
comes before what follows it) runs for all threads that stand at it; a barrier holds threads until all have arrived.
What a correct kernel never does is an ExecutionError that names the op and the CTA: accesses outside a buffer or not
aligned, reads of shared memory that nobody has written or that a cp.async has yet to fill, two threads at one byte
without a barrier between, warp-wide instructions by parts of warps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from execution.arithmetic import PURE, attribute, integer
from execution.instructions import EFFECTS
from execution.memory import GlobalMemory, SharedMemory
from execution.values import ExecutionError, Value, dtype, merge, poison

from tessera_tools.ir.core import Block, Operation
from tessera_tools.ir.core import Value as IrValue

BARRIERS = ("nvvm.barrier0", "nvvm.barrier")
BRANCHES = ("llvm.br", "llvm.cond_br", "llvm.return")
MAX_STEPS = 200_000
"""Blocks that a CTA may run before its loop is taken to be endless."""


@dataclass
class Step:
    """One op: a function of (cta, operands…), where its operands stand, and where its result goes (or -1)."""

    op: Operation
    run: Callable[..., Value]
    operands: list[int]
    result: int


@dataclass
class Branch:
    """Where a block's end goes: (condition slot or -1; per destination: position, values to assign)."""

    condition: int
    targets: list[tuple[int, list[tuple[int, int]]]]


@dataclass
class Stretch:
    """Ops without a barrier between; a block is one or more. `following` is the next of the block after a barrier."""

    steps: list[Step] = field(default_factory=list)
    barrier: Operation | None = None
    branch: Branch | None = None


class Program:
    """A kernel made ready for CTAs of a number of threads."""

    def __init__(self, kernel: Operation, threads: int) -> None:
        self.kernel, self.threads = kernel, threads
        self.slots: dict[IrValue, int] = {}
        self.types: list[Any] = []
        self.stretches: list[Stretch] = []
        self.start: dict[Block, int] = {}
        blocks = _order(kernel.regions[0].blocks[0])
        for block in blocks:
            for value in block.arguments:
                self._slot(value)
            self.start[block] = len(self.stretches)
            self.stretches.append(Stretch())
            for op in block:
                if op.name in BARRIERS:
                    self.stretches.append(Stretch())
        for block in blocks:
            self._block(block)
        self.parameters = [self.slots[v] for v in blocks[0].arguments]
        shared = kernel.attributes.get("nv_tileaa.dynamic_shared_memory")
        self.shared_bytes = shared.value if shared is not None else 0  # type: ignore[attr-defined]

    def _slot(self, value: IrValue) -> int:
        found = self.slots.get(value)
        if found is None:
            found = self.slots[value] = len(self.types)
            self.types.append(value.type)
        return found

    def _block(self, block: Block) -> None:
        at = self.start[block]
        for op in block:
            stretch = self.stretches[at]
            if op.name in BARRIERS:
                if op.op_operands:
                    raise ExecutionError(f"{op}: barriers of some threads only are not modeled")
                stretch.barrier = op
                at += 1
            elif op.name in BRANCHES:
                stretch.branch = self._branch(op)
            else:
                stretch.steps.append(self._step(op))

    def _step(self, op: Operation) -> Step:
        effect = EFFECTS.get(op.name)
        try:
            if effect is not None:
                run = effect(op)
            elif op.name in PURE:
                pure = PURE[op.name](op, self.threads)
                run = lambda cta, *values: pure(*values)  # noqa: E731
            else:
                raise ExecutionError("is not modeled")
        except ExecutionError as problem:
            raise ExecutionError(f"'{op.name}' {problem}: {op}") from None
        return Step(
            op, run, [self._slot(v) for v in op.operands], self._slot(op.results[0]) if op.results else -1
        )

    def _branch(self, op: Operation) -> Branch:
        operands = op.operands
        if op.name == "llvm.return":
            return Branch(-1, [])
        if op.name == "llvm.br":
            return Branch(-1, [self._target(op.successors[0], operands)])
        first = attribute(op, "operandSegmentSizes").values[1]
        return Branch(
            self._slot(operands[0]),
            [
                self._target(op.successors[0], operands[1 : 1 + first]),
                self._target(op.successors[1], operands[1 + first :]),
            ],
        )

    def _target(self, block: Block, values: Sequence[IrValue]) -> tuple[int, list[tuple[int, int]]]:
        pairs = [(self._slot(a), self._slot(v)) for a, v in zip(block.arguments, values, strict=True)]
        return self.start[block], pairs


def _order(entry: Block) -> list[Block]:
    """The reachable blocks in reverse post order: a block after those that lead to it, a loop before its exit."""
    seen, order = {entry}, []
    stack = [(entry, list(entry.successors))]
    while stack:
        block, left = stack[-1]
        if left:
            # The last successor first: it ends up behind the others.
            following = left.pop()
            if following not in seen:
                seen.add(following)
                stack.append((following, list(following.successors)))
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


GONE = 1 << 30
"""The place of threads that have returned."""


class Cta:
    """One CTA on its way."""

    def __init__(
        self, program: Program, memory: GlobalMemory, index: tuple[int, ...], grid: tuple[int, ...]
    ) -> None:
        self.program, self.memory, self.index, self.grid = program, memory, index, grid
        self.threads = program.threads
        self.shared = SharedMemory(program.shared_bytes, self.threads)
        self.values: list[Value] = [None] * len(program.types)
        self.place = np.zeros(self.threads, np.int64)
        self.waiting = np.zeros(self.threads, np.bool_)
        self.mask = np.ones(self.threads, np.bool_)
        self.active = np.arange(self.threads)

    def run(self, arguments: Sequence[int | float]) -> None:
        """Run all threads to their end."""
        for slot, argument in zip(self.program.parameters, arguments, strict=True):
            kind = dtype(self.program.types[slot])
            bits = (
                argument & ((1 << 8 * np.dtype(kind).itemsize) - 1) if isinstance(argument, int) else argument
            )
            self.values[slot] = np.full(self.threads, bits, kind)
        for _ in range(MAX_STEPS):
            ready = ~self.waiting & (self.place != GONE)
            if not ready.any():
                if not self.waiting.any():
                    return
                self._release()
                continue
            place = int(self.place[ready].min())
            self.mask = ready & (self.place == place)
            self.active = np.flatnonzero(self.mask)
            self._stretch(place)
        raise ExecutionError(f"CTA {self.index} does not come to an end")

    def _release(self) -> None:
        """All threads wait: let them go on, if it is at one barrier."""
        places = np.unique(self.place)
        if len(places) > 1:
            op = self.program.stretches[int(places[0]) - 1].barrier
            others = "have returned" if places[-1] == GONE else "wait at another"
            raise ExecutionError(f"CTA {self.index}: some threads wait at a barrier, others {others}: {op}")
        self.waiting.fill(False)
        self.shared.barrier()

    def _stretch(self, place: int) -> None:
        stretch = self.program.stretches[place]
        values, whole = self.values, len(self.active) == self.threads
        for step in stretch.steps:
            try:
                result = step.run(self, *[values[i] for i in step.operands])
            except ExecutionError as problem:
                raise ExecutionError(f"CTA {self.index}: '{step.op.name}' op {problem}: {step.op}") from None
            if step.result >= 0:
                self._assign(step.result, result, whole)
        if stretch.barrier is not None:
            self.waiting |= self.mask
            self.place[self.active] = place + 1
            return
        branch = stretch.branch
        assert branch is not None
        if not branch.targets:
            self.place[self.active] = GONE
        elif branch.condition < 0:
            self._go(branch.targets[0])
        else:
            taken = values[branch.condition] & self.mask
            both = ((taken, branch.targets[0]), (self.mask & ~taken, branch.targets[1]))
            for mask, target in both:
                self.mask, self.active = mask, np.flatnonzero(mask)
                if len(self.active):
                    self._go(target)

    def _assign(self, slot: int, value: Value, whole: bool) -> None:
        if not whole:
            old = self.values[slot]
            value = merge(
                self.mask, value, poison(self.program.types[slot], self.threads) if old is None else old
            )
        self.values[slot] = value

    def _go(self, target: tuple[int, list[tuple[int, int]]]) -> None:
        place, pairs = target
        whole = len(self.active) == self.threads
        moved = [self.values[source] for _, source in pairs]
        for (slot, _), value in zip(pairs, moved, strict=True):
            self._assign(slot, value, whole)
        self.place[self.active] = place


def kernel_of(module: Operation) -> Operation:
    """The only kernel of a module."""
    (kernel,) = (op for op in module.regions[0].blocks[0] if op.name == "llvm.func" and op.regions[0].blocks)
    return kernel


def prepare(module: Operation) -> Program:
    """The kernel of a module, with the number of threads that it asks for."""
    kernel = kernel_of(module)
    threads: Any = kernel.attributes["nvvm.reqntid"]
    return Program(kernel, threads.values[0])


def run(
    program: Program, grid: tuple[int, int, int], arguments: Sequence[int | float], memory: GlobalMemory
) -> None:
    """Run every CTA of the grid, one after the other, the last first."""
    with np.errstate(all="ignore"):
        for z, y, x in itertools.product(*(range(n - 1, -1, -1) for n in reversed(grid))):
            Cta(program, memory, (x, y, z), grid).run(arguments)


__all__ = ["Cta", "ExecutionError", "GlobalMemory", "Program", "integer", "kernel_of", "prepare", "run"]
