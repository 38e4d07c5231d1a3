"""The resources that a kernel of the `tile` dialect uses, and those of the GPU.

    func.func @k attributes {tessera.kernel} ──resources_of(function, target)──▶ Resources: numbers only
                                                                              ──▶ strategy.py: recommendations

Shared memory and copies are counted; instructions are those that tile-intrinsic-lowering selects.  Registers are
reported by ptxas if the kernel was compiled.  Otherwise they are estimated: fragments by liveness, operands of products
by layout.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.fragments import Fragments, declared_threads, fragments_of, is_fragment
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, tile
from tessera_tools.dialects.tile.asynchronous import CopyLike, WaitLike
from tessera_tools.dialects.tile.compute import Product, RowReduction
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.passes.base import Measured
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.barrier_optimization import needed
from tessera_tools.passes.tile.compute import product_atom
from tessera_tools.passes.tile.instruction_names import warp_instruction
from tessera_tools.passes.tile.intrinsic_lowering import moves_sixteen_bytes
from tessera_tools.passes.tile.liveness import Liveness
from tessera_tools.passes.tile.registers import RESERVED, operand_registers
from tessera_tools.passes.tile.tma_copies import Groups, boxes_of
from tessera_tools.passes.tile.warpgroup_products import by_warpgroups
from tessera_tools.records import dataclass, field
from tessera_tools.target import Occupancy, Target, max_registers_for, occupancy


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer in shared memory."""

    name: str
    type: str
    bytes: int
    swizzle: str
    """`none` or `xor`."""


@dataclass(frozen=True, slots=True)
class ProductUse:
    """One execution of a matrix product by the whole block."""

    line: int
    m: int
    n: int
    k: int
    instruction: str
    """The PTX instruction of the tensor cores; "" for fused multiply-adds."""
    instructions: int
    """The number of instructions that a block issues; one of a warp or a warpgroup is counted once."""
    operands: str
    accumulator: str
    in_loop: bool

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True, slots=True)
class CopyUse:
    """One execution of an asynchronous copy."""

    line: int
    buffer: str
    bytes: int
    instruction: str
    """`cp.async.bulk.tensor`, `cp.async.cg` or `cp.async.ca`."""
    in_loop: bool
    overlaps: bool
    """The copy overlaps with uses of another iteration's copy in the enclosing loop."""
    without_tma: str
    """Why it is not by TMA."""


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a kernel. Sizes are in bytes; registers have 32 bits."""

    kernel: str
    target: Target
    threads: int
    buffers: tuple[Buffer, ...]
    shared: int
    fragment_registers: int
    """The maximum number of live registers of fragments in a thread."""
    peak_line: int
    """The line of this maximum."""
    operand_registers: int
    """Registers for operands of products that ptxas loads early there, if registers are available."""
    estimate: int
    """The sum for a thread, with `RESERVED` for addresses and scalars; at most the target's limit."""
    registers: int
    """Reported by ptxas if the kernel was compiled, otherwise the estimate."""
    measured: Measured | None
    """The resources of the compiled kernel; None if it was not compiled."""
    register_limit: int
    """The maximum per thread for a block of this size."""
    products: tuple[ProductUse, ...]
    reductions: int
    copies: tuple[CopyUse, ...]
    barriers: tuple[int, int]
    """Number in the kernel; in its loops."""
    barriers_needed: tuple[int, int]
    """The same after tile-barrier-optimization."""
    waits: int
    mbarriers: int
    """Of the groups of copies by TMA."""
    occupancy: Occupancy
    swizzled_away: tuple[str, ...] = field(default=())
    """Operands of products in shared memory without a swizzle, whose rows are in the same banks."""

    @property
    def required_registers(self) -> int:
        """The minimum number of registers of a thread."""
        return self.fragment_registers + RESERVED

    @property
    def uses_tensor_cores(self) -> bool:
        return any(p.instruction for p in self.products)

    @property
    def high_precision(self) -> bool:
        """True if products accumulate in a wider type than that of their operands."""
        return any(p.operands != p.accumulator for p in self.products)

    @property
    def can_use_tma(self) -> bool:
        return bool(self.copies) and all(c.instruction == "cp.async.bulk.tensor" for c in self.copies)

    @property
    def unoverlapped_copies(self) -> tuple[CopyUse, ...]:
        """Copies in loops that do not overlap with computation."""
        return tuple(c for c in self.copies if c.in_loop and not c.overlaps)

    @property
    def double_buffered_bytes(self) -> int:
        """Shared memory with a second buffer for each of these copies."""
        names = {c.buffer for c in self.unoverlapped_copies}
        return self.shared + sum(b.bytes for b in self.buffers if b.name in names)

    @property
    def benefits_from_double_buffering(self) -> bool:
        return (
            bool(self.unoverlapped_copies) and self.double_buffered_bytes <= self.target.max_shared_per_block
        )

    @property
    def flops_per_byte(self) -> float | None:
        """Operations of products per copied byte, in loops, or in the whole kernel if there are no loops."""
        looping = any(p.in_loop for p in self.products)
        copied = sum(c.bytes for c in self.copies if c.in_loop or not looping)
        flops = sum(p.flops for p in self.products if p.in_loop or not looping)
        return flops / copied if copied else None


def resources_of(function: func.Func, target: Target, measured: Measured | None = None) -> Resources:
    """Count the resources of a kernel; occupancy is computed from measured resources if the kernel was compiled.

    Raises the errors of the analyses: fragments of unknown tiles, barriers that not all threads reach.
    """
    ops = [op for op in function.walk() if op.name.startswith("tile.")]
    has_fragments = any(is_fragment(v) for op in ops for v in (*op.operands, *op.results))
    fragments = fragments_of(function) if has_fragments else Fragments(threads=declared_threads(function))
    buffers = tuple(_buffer(op) for op in ops if isinstance(op, tile.AllocShared))
    shared = sum(b.bytes for b in buffers)
    liveness = Liveness(function)
    peak, place, ahead = 0, function, 0
    for op in liveness.before:
        if op.regions:
            continue
        found, operands = liveness.pressure(op), operand_registers(op, fragments, target)[1]
        if found > peak:
            peak, place = found, op
        ahead = max(ahead, found + operands)
    limit = min(target.max_registers_per_thread, max_registers_for(target, threads=fragments.threads))
    estimate = min(limit, ahead + RESERVED)
    registers = measured.registers if measured is not None else estimate
    products = [op for op in ops if isinstance(op, Product)]
    optimized, groups = needed(function), boxes_of(function, target)
    return Resources(
        kernel=function.sym_name.value,
        target=target,
        threads=fragments.threads,
        buffers=buffers,
        shared=shared,
        fragment_registers=peak,
        peak_line=_line(place),
        operand_registers=ahead - peak,
        estimate=estimate,
        registers=registers,
        measured=measured,
        register_limit=limit,
        products=tuple(_product(op, fragments, target) for op in products),
        reductions=sum(isinstance(op, RowReduction) for op in ops),
        copies=_copies(function, ops, groups),
        barriers=_barriers(function),
        barriers_needed=_barriers(optimized),
        waits=sum(isinstance(op, WaitLike | tile.AsyncWait) for op in ops),
        mbarriers=groups.slots if groups.boxes else 0,
        occupancy=occupancy(
            target,
            threads=fragments.threads,
            registers=registers,
            shared=measured.shared if measured is not None else shared,
        ),
        swizzled_away=_conflicting(products),
    )


def _buffer(op: tile.AllocShared) -> Buffer:
    type = op.res.type
    swizzle = op.swizzle.value if op.swizzle is not None else "none"
    return Buffer(_name(op.res), str(type), type.num_elements * storage_bits(type.element) // 8, swizzle)


def _name(value: Value) -> str:
    """The name in the program, or the line if it has no name."""
    hint = value.name_hint
    op = value.defining_op
    return f"%{hint}" if hint and not hint.isdigit() else f"line {_line(op)}" if op is not None else "?"


def _line(op: Operation) -> int:
    start = op.location.start()
    return start[1] if start is not None else 0


def _loops(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    around = op.parent_op
    while around is not None:
        if isinstance(around, LoopLike):
            found.append(around)
        around = around.parent_op
    return found


def _product(op: Product, fragments: Fragments, target: Target) -> ProductUse:
    m, n = fragments.shape(op.res)
    source, axis = (op.lhs, 0 if op.transposes_a else 1)
    k = (fragments.shape(source) if is_fragment(source) else source.type.shape)[axis]
    instruction = by_warpgroups(op, fragments, target) or warp_instruction(product_atom(op, target)) or ""
    a, c = op.lhs.type.element, op.res.type.element
    count = 0
    if instruction:
        rows, columns, depth = _shape(instruction)
        count = -(-m // rows) * -(-n // columns) * -(-k // depth)
    return ProductUse(_line(op), m, n, k, instruction, count, str(a), str(c), bool(_loops(op)))


def _shape(instruction: str) -> tuple[int, int, int]:
    """(64, 128, 16) of `wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16`."""
    word = next(w for w in instruction.split(".") if w.startswith("m") and w[1:2].isdigit())
    m, _, rest = word[1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k)


def _copies(function: Operation, ops: list[Operation], groups: Groups) -> tuple[CopyUse, ...]:
    facts, alignment = Facts(), alignment_of(function)
    found: list[CopyUse] = []
    for op in ops:
        if not isinstance(op, CopyLike):
            continue
        bypasses = isinstance(op, tile.CpAsyncCg) or (op.bypass_l1 is not None and op.bypass_l1.value)
        if op in groups.boxes:
            instruction = "cp.async.bulk.tensor"
        elif bypasses and moves_sixteen_bytes(op, facts, alignment):
            instruction = "cp.async.cg"
        else:
            instruction = "cp.async.ca"
        size = op.dest.type.num_elements * storage_bits(op.dest.type.element) // 8
        loops = _loops(op)
        why = groups.missed.get(op, "")
        found.append(
            CopyUse(_line(op), _name(op.dest), size, instruction, bool(loops), _overlaps(op, loops), why)
        )
    return tuple(found)


def _overlaps(op: Any, loops: list[Operation]) -> bool:
    """True if the enclosing loop computes while a copy is in flight: there is a product or a read of shared memory
    between the copy and its wait, or before the wait of the next iteration; or the loop only starts copies."""
    if not loops:
        return False
    body = loops[0]
    if not any(isinstance(inner, WaitLike | tile.AsyncWait) for inner in body.walk()):
        return True
    following: list[Operation] = []
    seen = False
    for inner in body.walk():
        seen = seen or inner is op
        if seen:
            following.append(inner)
    for inner in [*following, *body.walk()]:
        if isinstance(inner, WaitLike) and inner.pending.value == 0:
            return False
        if isinstance(inner, tile.AsyncWait):
            return False
        if isinstance(inner, Product | tile.LoadShared | tile.LoadSharedVector):
            return op.dest not in inner.operands
    return False


def _barriers(function: Operation) -> tuple[int, int]:
    found = [op for op in function.walk() if isinstance(op, tile.Barrier)]
    return len(found), sum(bool(_loops(op)) for op in found)


def _conflicting(products: list[Any]) -> tuple[str, ...]:
    """Operands without a swizzle whose rows have at least 32 bytes: eight rows of a matrix are read at once."""
    found: dict[str, None] = {}
    for op in products:
        for value in (op.lhs, op.rhs):
            alloc = value.defining_op
            if not isinstance(alloc, tile.AllocShared):
                continue
            row = value.type.shape[-1] * storage_bits(value.type.element) // 8
            if (alloc.swizzle is None or alloc.swizzle.value == "none") and row >= 32 and row % 32 == 0:
                found[_name(value)] = None
    return tuple(found)
