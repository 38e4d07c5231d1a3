"""tcgen05.alloc, .dealloc, .relinquish_alloc_permit, .ld, .st, .wait and .fence (PTX ISA, "Tensor Memory").

    alloc ──▶ address in shared memory      ld ──▶ registers are poison ──wait::ld──▶ registers      st ──wait::st──▶

ld and st belong to the warp that executes them, which can access the 32 lanes 32 × (warp % 4) and on. Whether an access
is ordered after other operations is checked at issue (sim/tensor_memory.py). st takes its registers at issue. The
registers of ld are poison until wait::ld, or until their first use, which is then reported: PTX requires the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tessera_tools.sim import access
from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.blocks import Joining, joined
from tessera_tools.sim.decode import Context, Execute, Together, after_decoding, instruction
from tessera_tools.sim.instructions.common import architecture_without
from tessera_tools.sim.instructions.mma_registers import whole_warp
from tessera_tools.sim.interfaces import HasLanes, Warps
from tessera_tools.sim.machine import Cta
from tessera_tools.sim.program import Address, Function, Operand, Program, Vector
from tessera_tools.sim.tcgen05 import pair_of, same_group
from tessera_tools.sim.tensor_memory import (
    COLUMNS,
    LEAST_COLUMNS,
    Issued,
    Place,
    TensorMemory,
    Use,
    log_of,
    order_of,
    tensor_memory,
)
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import JointOutcome, Mask, Outcome, Wait, Warp, mask_of
from tessera_tools.sim.warpgroup import Register, registers_of
from tessera_tools.target import Feature, targets_with

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Batched

__all__ = ["cta_group", "require_target", "uniform"]

_POISON = np.uint32(0xFFFFFFFF)
_COUNTS = tuple(f"x{1 << number}" for number in range(8))


def require_target(ctx: Context, feature: Feature = Feature.TCGEN05) -> None:
    """Refuse tcgen05, or a part of it, in a module for an architecture without it."""
    name = architecture_without(ctx, feature)
    if name is not None:
        what = "tensor memory" if feature is Feature.TCGEN05 else feature.value
        having = ", ".join(other.cpu for other in targets_with(feature))
        raise ctx.error(f"needs {what}, which {name} does not have; expected one of {having}")


def cta_group(ctx: Context) -> int:
    """Take .cta_group::1 or ::2."""
    require_target(ctx)
    return int(ctx.choose("cta_group::1", "cta_group::2")[-1])


def _aligned(ctx: Context) -> None:
    ctx.require("sync", "aligned")
    ctx.aligned()


def uniform(warp: Warp, mask: Mask, row: Array, what: str) -> int:
    """The value that all lanes have; a finding if they differ."""
    first = int(row[mask.first])
    if some(row[mask.array] != row[mask.first]):
        warp.report("illegal", f"{what} differs between the lanes", mask)
    return first


# -- allocation


def _columns(warp: Warp, mask: Mask, row: Array) -> int | None:
    columns = uniform(warp, mask, row, "the number of columns")
    if not LEAST_COLUMNS <= columns <= COLUMNS or columns & (columns - 1):
        warp.report(
            "illegal", f"{columns} columns; expected a power of two, {LEAST_COLUMNS} to {COLUMNS}", mask
        )
        return None
    return columns


@instruction("tcgen05.alloc")
def alloc(ctx: Context) -> Execute:
    """tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], columns: waits until the columns are free.

    With cta_group::2, the same warp of each CTA of the pair executes it, and both get the same columns.
    """
    group = cta_group(ctx)
    _aligned(ctx)
    space = "shared" if ctx.flag("shared::cta") else "generic"
    ctx.type("b32")
    target, count = ctx.operands(2)
    address, columns_of = ctx.address(target), ctx.read(count, TYPES["u32"])

    def execute(warp: Warp, mask: Mask) -> Wait | None:
        same_group(warp, mask, group)
        columns, ctas = _columns(warp, mask, warp.ports[columns_of]), pair_of(warp, mask, group)
        if columns is None or ctas is None:
            return None
        memory, cluster = tensor_memory(warp.cta), warp.cta.cluster
        if memory.relinquished:
            warp.report(
                "illegal",
                f"tcgen05.alloc after the CTA's relinquish_alloc_permit at PTX line {memory.relinquished}",
                mask,
            )
        high = bool(cluster.random.random() < 0.5)
        # With cta_group::2, the request of the same warp of the other CTA must be present.
        asked: dict[tuple[Cta, int], int] = cluster.state.setdefault("tcgen05 asked", {})
        given: dict[tuple[Cta, int], int] = cluster.state.setdefault("tcgen05 given", {})
        keys = [(cta, warp.index) for cta in ctas]
        asked[warp.cta, warp.index] = columns

        def ready() -> bool:
            if (warp.cta, warp.index) in given:
                return True
            if any(key not in asked for key in keys):
                return False
            start = memory.find(columns, high=high)
            if start is None or any(tensor_memory(cta).live[start : start + columns].any() for cta in ctas):
                return False
            for key in keys:
                other = asked.pop(key)
                if other != columns:
                    warp.report(
                        "illegal", f"{columns} columns, and {other} in the other CTA of the pair", mask
                    )
                tensor_memory(key[0]).allocate(start, columns)
                given[key] = start
            cluster.launch.progress += 1
            return True

        def finish(warp: Warp, mask: Mask) -> None:
            # A warp that does not wait, because the clock asks for its first accesses only, gets no columns.
            start = given.pop((warp.cta, warp.index), 0)
            one = mask_of(1 << mask.first)
            row = np.array([start], np.uint32)
            for part, lanes, addresses in access.parts(warp, one, space, address(warp)):
                part.store(warp, lanes, addresses, 4, row)
            # All lanes of the warp execute the instruction, so that any of them can read the address after it.
            cluster.clocks.synchronize([warp])

        def describe() -> str:
            if any(key not in asked for key in keys):
                return f"tcgen05.alloc by warp {warp.index} of the other CTA of the pair"
            free = COLUMNS - int(memory.live.sum())
            return f"{columns} columns of tensor memory in a row; {free} of {COLUMNS} are free"

        if ready():
            finish(warp, mask)
            return None
        return Wait(ready, describe, finish)

    return execute


@instruction("tcgen05.dealloc")
def dealloc(ctx: Context) -> Execute:
    """tcgen05.dealloc.cta_group.sync.aligned.b32 taddr, columns."""
    group = cta_group(ctx)
    _aligned(ctx)
    ctx.type("b32")
    place, count = ctx.operands(2)
    start_of, columns_of = ctx.read(place, TYPES["u32"]), ctx.read(count, TYPES["u32"])

    def execute(warp: Warp, mask: Mask) -> None:
        same_group(warp, mask, group)
        memory = tensor_memory(warp.cta)
        start = uniform(warp, mask, warp.ports[start_of], "the address")
        columns = uniform(warp, mask, warp.ports[columns_of], "the number of columns")
        found = memory.allocations.get(start)
        if found is None:
            _, line = memory.released.get(start, (0, 0))
            why = f"was freed at PTX line {line}" if line else "no tcgen05.alloc returned"
            warp.report("illegal", f"tcgen05.dealloc of {start:#x}, which {why}", mask)
            return
        if found != columns:
            warp.report("illegal", f"tcgen05.dealloc of {columns} columns; the allocation has {found}", mask)
        memory.check_free(warp, mask, start, found)
        memory.free(start)
        line = warp.cta.cluster.launch.module.program.instructions[warp.split.pc].line
        memory.released[start] = found, line
        warp.cta.cluster.launch.progress += 1

    return execute


@instruction("tcgen05.relinquish_alloc_permit")
def relinquish(ctx: Context) -> Execute:
    """tcgen05.relinquish_alloc_permit.cta_group.sync.aligned: the CTA allocates no more."""
    group = cta_group(ctx)
    _aligned(ctx)
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        same_group(warp, mask, group)
        line = warp.cta.cluster.launch.module.program.instructions[warp.split.pc].line
        tensor_memory(warp.cta).relinquished = line

    return execute


# -- registers


@dataclass(frozen=True, eq=False, slots=True)
class _Shape:
    """The cells of ld and st, relative to the address: [register, lane of the warp]."""

    lanes: Array
    columns: Array
    height: int
    """Lanes of tensor memory: 16 or 32."""


_SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""Registers of .x1."""


@lru_cache(maxsize=256)
def _shape(name: str, count: int, split: int) -> _Shape:
    register, thread = np.ogrid[: count * _SHAPES[name], :32]
    if name == "32x32b":
        lanes, columns = thread, register
    elif name == "16x64b":
        lanes, columns = thread // 4 + 8 * (thread % 2), thread // 2 % 2 + 2 * register
    elif name == "16x128b":
        lanes, columns = thread // 4 + 8 * (register % 2), thread % 4 + 4 * (register // 2)
    elif name == "16x256b":
        lanes = thread // 4 + 8 * (register // 2 % 2)
        columns = 2 * (thread % 4) + register % 2 + 8 * (register // 4)
    else:
        lanes, columns = thread % 16, register + split * (thread // 16)
    shape = np.broadcast_shapes(lanes.shape, columns.shape)
    return _Shape(
        np.broadcast_to(lanes, shape), np.broadcast_to(columns, shape), 32 if name == "32x32b" else 16
    )


@dataclass(eq=False, slots=True)
class _Load:
    """A load whose wait::ld has not been executed."""

    registers: frozenset[Register]
    line: int
    slots: Array
    values: Array
    extra: tuple[int, Array] | None
    """The slot of the result of a reduction, and its values."""
    given: bool = False
    """The registers have the values."""
    used: bool = False


class _Access:
    """What ld and st have in common: shape, address, and packing."""

    def __init__(self, ctx: Context, packing: str) -> None:
        require_target(ctx)
        _aligned(ctx)
        self.name = ctx.choose(*_SHAPES)
        self.count = int(ctx.choose(*_COUNTS)[1:])
        self.packed = ctx.flag(packing)
        self.registers = self.count * _SHAPES[self.name]
        if self.registers > 128:
            raise ctx.error(
                f"has .x{self.count} with .{self.name}, which needs {self.registers} registers; at most 128"
            )
        self.split = 0
        self.line = ctx.inst.line

    def place(self, ctx: Context, operand: Operand, split: Operand | None) -> None:
        """Take the address, and the number of columns between the halves of .16x32bx2."""
        self.address = ctx.address(operand)
        if split is not None:
            columns = ctx.number(split)
            if columns is None or not 0 <= columns < COLUMNS:
                raise ctx.error(f"needs 0 to {COLUMNS - 1} columns between the halves of .16x32bx2")
            self.split = columns
        # A packed register has two adjacent columns.
        shape = _shape(self.name, self.count, self.split // 2 if self.packed and self.split else self.split)
        columns = shape.columns
        if self.packed:
            columns = np.stack([2 * columns, 2 * columns + 1], axis=-1)
            self.lanes = np.broadcast_to(shape.lanes[..., None], columns.shape)
        else:
            self.lanes = shape.lanes
        self.columns, self.height = columns, shape.height

    def cells(self, warp: Warp, mask: Mask, what: str) -> Place | None:
        """The cells; None, with a finding, if the warp cannot access them."""
        address = uniform(warp, mask, self.address(warp), "the address")
        lane, column = address >> 16 & 0xFFFF, address & 0xFFFF
        first = 32 * (warp.index % 4)
        allowed = (first,) if self.height == 32 else (first, first + 16)
        if lane not in allowed:
            warp.report(
                "illegal",
                f"{what} from lane {lane} of tensor memory by warp {warp.index}; a warp accesses the 32 lanes of its "
                f"place in the warpgroup, here from lane {' or '.join(map(str, allowed))}",
                mask,
            )
            return None
        return self.lanes + lane, self.columns + column


def _operands(ctx: Context, operands: Sequence[Operand], access: _Access) -> tuple[Operand, Operand | None]:
    """The address, and the split of .16x32bx2."""
    wanted = 1 + (access.name == "16x32bx2")
    if len(operands) != wanted or not isinstance(operands[0], Address):
        more = " and the number of columns between the halves" if wanted == 2 else ""
        raise ctx.error(f"needs [taddr]{more}")
    return operands[0], operands[1] if wanted == 2 else None


def _slots(ctx: Context, operand: Operand, count: int, *, write: bool) -> Array:
    if not isinstance(operand, Vector):
        raise ctx.error(f"has no list of registers in braces; expected {count}")
    if len(operand.elements) != count:
        raise ctx.error(f"has {len(operand.elements)} registers; expected {count}")
    slots: list[int] = []
    for element in operand.elements:
        (ctx.write if write else ctx.read)(element, TYPES["b32"])
        register = next(iter(registers_of(ctx.inst, [element])), None)
        if register is None or register[0] != 32:
            raise ctx.error("needs 32-bit registers")
        slots.append(register[1])
    return np.array(slots)


def _use(warp: Warp, mask: Mask, what: str, kind: str) -> Use:
    """A load or store of a warp, which its own agent performs."""
    order, clocks = order_of(warp), warp.cta.cluster.clocks
    agent = order.load if kind == "ld" else order.store
    issued = Issued(kind, 0)
    log_of(warp)[clocks.now] = issued
    record, _ = clocks.act(agent, warp.split.pc)
    return Use(warp, mask, what, issued, record, agent)


def _loads(warp: Warp) -> list[_Load]:
    return warp.state.setdefault("tcgen05 loads", [])


@instruction("tcgen05.ld")
def load(ctx: Context) -> Execute:
    """tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32 r, [taddr]{, split}."""
    access = _Access(ctx, "pack::16b")
    ctx.type("b32")
    target, *rest = ctx.operands()
    access.place(ctx, *_operands(ctx, rest, access))
    return _load(ctx, access, target, None, lambda values: values)


@instruction("tcgen05.ld.red")
def load_red(ctx: Context) -> Execute:
    """tcgen05.ld.red.sync.aligned.shape.num.op{.abs}{.NaN}.type r, result, [taddr]{, split}: also the extreme value."""
    require_target(ctx, Feature.TCGEN05_LD_RED)
    access = _Access(ctx, "pack::16b")
    if access.name not in ("32x32b", "16x32bx2") or access.count < 2:
        raise ctx.error(f"has .{access.name}.x{access.count}; expected .32x32b or .16x32bx2, and .x2 or more")
    if access.packed:
        raise ctx.error("has .pack::16b, which only tcgen05.ld has")
    least = ctx.choose("min", "max") == "min"
    absolute, keeps = ctx.flag("abs"), ctx.flag("NaN")
    type = ctx.type("f32", "u32", "s32")
    if type.name != "f32" and (absolute or keeps):
        raise ctx.error("has .abs or .NaN, which only .f32 has")
    target, result, *rest = ctx.operands()
    access.place(ctx, *_operands(ctx, rest, access))

    def reduce(values: Array) -> Array:
        found = values.view(type.dtype)
        if absolute:
            found = np.abs(found)
        if type.name != "f32" or keeps:
            function = np.minimum if least else np.maximum
        else:
            function = np.fmin if least else np.fmax
        reduced = np.ascontiguousarray(function.reduce(found, axis=0))
        patterns = reduced.view(np.uint32)
        return (
            np.where(np.isnan(reduced), np.uint32(0x7FFFFFFF), patterns) if type.name == "f32" else patterns
        )

    return _load(ctx, access, target, result, reduce)


def _load(
    ctx: Context,
    access: _Access,
    target: Operand,
    result: Operand | None,
    reduce: Callable[[Array], Array],
) -> Execute:
    slots = _slots(ctx, target, access.registers, write=True)
    extra = int(_slots(ctx, Vector((result,)), 1, write=True)[0]) if result is not None else None
    registers = frozenset(registers_of(ctx.inst, [target, *([result] if result is not None else [])]))
    what = f"'tcgen05.ld' at PTX line {access.line}"

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        memory = tensor_memory(warp.cta)
        cells = access.cells(warp, mask, "tcgen05.ld")
        if cells is None or not memory.reads(_use(warp, mask, what, "ld"), cells):
            warp.registers[32][slots] = _POISON
            return
        values = _of(memory, access, cells)
        reduced = None if extra is None else (extra, reduce(values))
        if warp.stats is not None:
            warp.stats.tensor_memory("tcgen05.ld", 4 * values.size)
        _loads(warp).append(_Load(registers, access.line, slots, values, reduced))
        if not warp.cta.cluster.engine.early:
            warp.registers[32][slots] = _POISON
            if extra is not None:
                warp.registers[32][extra] = _POISON
        else:
            _give(warp, _loads(warp)[-1])

    return execute


def _of(memory: TensorMemory, access: _Access, cells: Place) -> Array:
    values = memory.data[cells]
    if not access.packed:
        return values
    halves = values & np.uint32(0xFFFF)
    return halves[..., 0] | halves[..., 1] << np.uint32(16)


def _give(warp: Warp, load: _Load) -> None:
    if load.given:
        return
    load.given = True
    warp.registers[32][load.slots] = load.values
    if load.extra is not None:
        warp.registers[32][load.extra[0]] = load.extra[1]


@instruction("tcgen05.st")
def store(ctx: Context) -> Execute:
    """tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32 [taddr]{, split}, r."""
    access = _Access(ctx, "unpack::16b")
    ctx.type("b32")
    *rest, source = ctx.operands()
    access.place(ctx, *_operands(ctx, rest, access))
    slots = _slots(ctx, source, access.registers, write=False)
    what = f"'tcgen05.st' at PTX line {access.line}"

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        memory = tensor_memory(warp.cta)
        cells = access.cells(warp, mask, "tcgen05.st")
        if cells is None or not memory.writes(_use(warp, mask, what, "st"), cells):
            return
        values = warp.registers[32][slots]
        if access.packed:
            values = np.stack([values & np.uint32(0xFFFF), values >> np.uint32(16)], axis=-1)
        memory.data[cells] = values
        if warp.stats is not None:
            warp.stats.tensor_memory("tcgen05.st", 4 * values.size)

    return execute


@instruction("tcgen05.wait::ld", "tcgen05.wait::st")
def wait(ctx: Context) -> Execute:
    """tcgen05.wait::ld and ::st.sync.aligned: the warp's loads or stores are complete."""
    require_target(ctx)
    loads = "wait::ld" in ctx.inst.modifiers
    _aligned(ctx)
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        order, clocks = order_of(warp), warp.cta.cluster.clocks
        agent = order.load if loads else order.store
        _, seen = clocks.act(agent, warp.split.pc)
        clocks.acquire(warp, seen)
        np.maximum(order.row, seen, out=order.row)
        if loads:
            found = _loads(warp)
            for each in found:
                _give(warp, each)
            found.clear()

    return execute


@instruction("tcgen05.fence::before_thread_sync")
def fence_before(ctx: Context) -> Execute:
    """tcgen05.fence::before_thread_sync: orders the thread's earlier operations before the synchronization after it."""
    require_target(ctx)
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        order, clocks = order_of(warp), warp.cta.cluster.clocks
        marks = [order.fence, *(order.pipes[lane][1] for lane in order.pipes if mask.array[lane])]
        for agent in marks:
            _, seen = clocks.act(agent, warp.split.pc)
            clocks.acquire(warp, seen)

    return execute


@instruction("tcgen05.fence::after_thread_sync")
def fence_after(ctx: Context) -> Execute:
    """tcgen05.fence::after_thread_sync: orders later operations after the synchronization before it."""
    require_target(ctx)
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        order, clocks = order_of(warp), warp.cta.cluster.clocks
        np.maximum(order.row, clocks.known[warp.rank], out=order.row)
        relaxed = warp.state.get("relaxed wait")
        if relaxed is not None:
            np.maximum(order.row, relaxed, out=order.row)

    return execute


# -- registers that a load still writes


@after_decoding
def watch(program: Program, function: Function, code: list[Execute], together: list[Together | None]) -> None:
    """Wrap the instructions that use registers of the function's loads."""
    span = range(function.start, function.end)
    watched: set[Register] = set()
    for pc in span:
        inst = program.instructions[pc]
        if inst.opcode == "tcgen05" and inst.modifiers and inst.modifiers[0] == "ld":
            places = 2 if "red" in inst.modifiers else 1
            watched |= registers_of(inst, inst.operands[:places])
    if not watched:
        return
    for pc in span:
        inst = program.instructions[pc]
        used = frozenset(registers_of(inst, inst.operands) & watched)
        if used:
            code[pc] = _watching(code[pc], used)
            if (joint := together[pc]) is not None:
                together[pc] = _Together(joint)


def _watching(execute: Execute, used: frozenset[Register]) -> Execute:
    def run(warp: Warp, mask: Mask) -> Outcome:
        loads = warp.state.get("tcgen05 loads")
        if loads:
            for each in loads:
                if each.registers & used and not each.used:
                    each.used = True
                    # ptxas tracks the register, and Triton relies on that.
                    warp.report(
                        "in-flight",
                        f"use of a register that the tcgen05.ld at PTX line {each.line} still writes: no "
                        "tcgen05.wait::ld since",
                        mask,
                        severity="warning",
                        cause=("tcgen05.ld", each.line),
                    )
                    _give(warp, each)
        return execute(warp, mask)

    return run


_Several = TypeVar("_Several", bound=Warps)


class _Together(Joining, Generic[_Several]):
    """Like `_watching`, for several warps, unless one of them has a load in flight."""

    def __init__(self, execute: Callable[[_Several, HasLanes], JointOutcome]) -> None:
        self.execute = execute

    def __call__(self, gang: _Several, mask: HasLanes) -> JointOutcome:
        if any(warp.state.get("tcgen05 loads") for warp in gang.warps):
            return NotImplemented
        return self.execute(gang, mask)

    @staticmethod
    def join(closures: Sequence[Batched]) -> Batched:
        """The closure for several instructions that differ only in their registers (sim/blocks.py)."""
        plain = joined([each.execute if isinstance(each, _Together) else each for each in closures])
        return _Together(plain) if any(isinstance(each, _Together) for each in closures) else plain
