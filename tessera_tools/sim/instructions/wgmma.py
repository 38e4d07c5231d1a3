"""wgmma.mma_async, .fence, .commit_group, .wait_group (PTX ISA, "Asynchronous Warpgroup Level Matrix …").

    mma_async ──▶ in flight: accumulators and A registers are poison ──commit──▶ a group ──wait N──▶ D is written

Each warp of a warpgroup independently issues its 16 of the 64 rows. The operation completes when all four have issued:
`wait_group` waits only for the issue of the other three warps. In the mode `late` the operands are read at the first
such wait, in `early` at issue. sim/warpgroup.py has the state of operations in flight. The arithmetic is that of
sim/products.py, also for fp8, for which a GPU keeps fewer bits of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tessera_tools.sim import fragments
from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.elements import ELEMENTS, Element, split
from tessera_tools.sim.gang import Gang
from tessera_tools.sim.instructions.mma import and_popc
from tessera_tools.sim.instructions.mma_registers import collect, distribute, ports_of, whole_warp
from tessera_tools.sim.instructions.mma_runs import slots_of
from tessera_tools.sim.interfaces import HasLanes
from tessera_tools.sim.matrix_descriptor import k_major, mn_major
from tessera_tools.sim.memory import SHARED_START
from tessera_tools.sim.products import ACCUMULATORS, integer_product, multiply_accumulate, patterns_of
from tessera_tools.sim.program import Operand, Vector
from tessera_tools.sim.proxies import async_read, readable
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import JointOutcome, Mask, Wait, Warp
from tessera_tools.sim.warpgroup import (
    POISON,
    Decoded,
    Operation,
    Product,
    Reads,
    Register,
    State,
    complete,
    issue,
    registers_of,
    state_of,
    unit_bytes,
    warpgroup_of,
    write_back,
)
from tessera_tools.sim.watched import Shared

_DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
"""K by element type: always 32 bytes."""
_RESULTS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"),
            "e5m2": ("f16", "f32"), "s8": ("s32",), "u8": ("s32",), "b1": ("s32",)}  # fmt: skip
_TOGETHER = (("e4m3", "e5m2"), ("s8", "u8"))


def _sync(ctx: Context) -> None:
    ctx.require("sync", "aligned")
    ctx.aligned()


@instruction("wgmma.fence")
def fence(ctx: Context) -> Execute:
    """wgmma.fence: orders prior register accesses before the wgmmas that follow."""
    _sync(ctx)
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        state = state_of(warp)
        state.fenced = True
        state.touched.clear()

    return execute


@instruction("wgmma.commit_group")
def commit_group(ctx: Context) -> Execute:
    """wgmma.commit_group: closes a group of the wgmmas issued since the last one."""
    _sync(ctx)
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        state = state_of(warp)
        state.groups.append(state.open)
        state.open = []

    return execute


@instruction("wgmma.wait_group")
def wait_group(ctx: Context) -> Execute:
    """wgmma.wait_group n: at most the n latest groups stay in flight."""
    _sync(ctx)
    (count,) = ctx.operands(1)
    most = ctx.number(count)
    if most is None or most < 0:
        raise ctx.error("needs a number of groups")

    def execute(warp: Warp, mask: Mask) -> Wait | None:
        state = state_of(warp)
        ended = [
            operation for group in state.groups[: max(len(state.groups) - most, 0)] for operation in group
        ]
        if not ended:
            del state.groups[: max(len(state.groups) - most, 0)]
            return None
        group, last = warpgroup_of(warp), ended[-1]

        def finish(warp: Warp, mask: Mask) -> None:
            complete(group, last.number)
            assert group.seen is not None
            warp.cta.cluster.clocks.acquire(warp, group.seen)
            while len(state.groups) > most:
                oldest = state.groups[0]
                while oldest:
                    write_back(warp, state, oldest.pop(0))
                del state.groups[0]

        def describe() -> str:
            names = ", ".join(str(other.index) for other in group.missing(last.number))
            return (
                f"the wgmma at PTX line {last.line}, which warps {names} of the warpgroup have not issued: it "
                "completes once all four have"
            )

        if not group.missing(last.number):
            finish(warp, mask)
            return None
        return Wait(lambda: not group.missing(last.number), describe, finish)

    return execute


def _span(units: Array) -> tuple[int, int]:
    """The first byte of the units, and the first byte after them."""
    return int(units.min()) * 16, int(units.max()) * 16 + 16


class _Source:
    """A matrix in shared memory, by descriptor: `rows` of M or N for this warp."""

    def __init__(
        self, ctx: Context, operand: Operand, element: Element, extent: int, *, transposed: bool
    ) -> None:
        self.port = ctx.read(operand, TYPES["b64"])
        self.element = element
        self.extent = extent
        self.transposed = transposed

    def located(self, descriptor: int, rows: slice | None) -> Array:
        """The 16-byte units of the matrix or of some of its rows, [rows, 2] or [16, chunks]."""
        if self.transposed:
            found = mn_major(descriptor, self.extent)
            return found if rows is None else found[:, rows.start // 8 : rows.stop // 8]
        found = k_major(descriptor, self.extent)
        return found if rows is None else found[rows]

    def units(self, warp: Warp, mask: Mask, what: str, rows: slice | None) -> Array | None:
        """Like `located`; None, with a finding, if the units are not in shared memory."""
        row = warp.ports[self.port]
        if some(row != row[0]):
            warp.report("illegal", f"the descriptor of {what} differs between the lanes", mask)
        found = self.located(int(row[0]), rows)
        low, high = _span(found)
        size = warp.cta.shared.size
        if low < SHARED_START or high > size:
            warp.report(
                "out-of-bounds",
                f"the descriptor of {what} covers bytes {low} to {high} of shared memory, which has {size}",
                mask,
            )
            return None
        return found

    def units_of(self, gang: Gang, lanes: slice, rows: slice | None) -> Array | None:
        """Like `located`, for lanes of a warpgroup; None if one of their descriptors is invalid."""
        row = gang.ports[self.port][lanes]
        if some(row != row[0]):
            return None
        found = self.located(int(row[0]), rows)
        low, high = _span(found)
        return None if low < SHARED_START or high > gang.cta.shared.size else found

    def matrix(self, shared: Shared, units: Array, decoded: Decoded) -> Array:
        """float64, K first; taken from `decoded`, if present."""
        key = id(units), self.element.name, self.transposed
        found = decoded.matrices.get(key)
        if found is None:
            # The units are kept, so that no other array has their id.
            found = decoded.matrices[key] = units, self._matrix(shared, units)
        return found[1]

    def _matrix(self, shared: Shared, units: Array) -> Array:
        raw = shared.views[16][units.reshape(-1)].view(np.uint8)
        element = self.element
        values = element.values(split(raw.reshape(units.shape[0], -1), element.bits))
        return values if self.transposed else np.ascontiguousarray(values.T)


@instruction("wgmma.mma_async.sp")
def sparse(ctx: Context) -> Execute:
    """Sparse wgmma: rejected."""
    raise ctx.error("multiplies a sparse matrix, which the simulated GPU does not; expected wgmma.mma_async")


@dataclass(frozen=True)
class _Spelling:
    """What the text of a wgmma.mma_async says."""

    shape: str
    n: int
    d: str
    a: str
    b: str
    saturate: bool
    operands: tuple[Operand, Operand, Operand, Operand]
    """d, a, b, scale-d."""
    sign: float
    """The product of imm-scale-a and -b."""
    transposed: tuple[bool, bool]
    """imm-trans-a and -b."""


def _read(ctx: Context) -> _Spelling:
    """The modifiers and operands of a valid wgmma.mma_async."""
    _sync(ctx)
    shape = next((m for m in ctx.remaining() if m.startswith("m64n")), "")
    if not shape:
        raise ctx.error("needs a shape .m64nNkK")
    ctx.flag(shape)
    saturate = ctx.flag("satfinite")
    d_name, a_name, b_name = (ctx.choose(*_DEPTH, "f32", "s32") for _ in range(3))
    n = _check(ctx, shape, d_name, a_name, b_name)
    if a_name == "b1":
        ctx.choose("and")
        ctx.choose("popc")
    operands = list(ctx.operands())
    if len(operands) < 4:
        raise ctx.error(f"has {len(operands)} operands; expected d, a, b and scale-d at least")
    d, a, b, scale = operands[:4]
    floats, halves = d_name != "s32", a_name in ("f16", "bf16")
    expected = 4 + 2 * floats + (2 - isinstance(a, Vector)) * halves
    if len(operands) != expected:
        raise ctx.error(f"has {len(operands)} operands; expected {expected}")
    flags = [_number(ctx, operand) for operand in operands[4:]]
    signs, transposes = flags[: 2 * floats], flags[2 * floats :]
    if any(sign not in (1, -1) for sign in signs) or any(flag not in (0, 1) for flag in transposes):
        raise ctx.error("has a scale other than 1 and -1, or a transpose other than 0 and 1")
    if saturate and floats:
        raise ctx.error("has .satfinite, which only integers support")
    transposed = (bool(halves and transposes[0]), bool(halves and transposes[-1]))
    return _Spelling(
        shape, n, d_name, a_name, b_name, saturate, (d, a, b, scale), float(prod(signs)), transposed
    )


@instruction("wgmma.mma_async")
def mma_async(ctx: Context) -> Execute:
    """wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype{.and.popc} d, a, b-desc, scale-d {, …}.

    a is a descriptor or four registers. Floats have imm-scale-a and -b (1 or -1), 16-bit ones imm-trans-a (for a
    descriptor) and -b (0 or 1).
    """
    product = _Product(ctx, _read(ctx))
    ctx.together = product.together
    return product.execute


class _Product:
    """One wgmma.mma_async: where its matrices are, and the arithmetic."""

    def __init__(self, ctx: Context, spelling: _Spelling) -> None:
        d, a, b, scale = spelling.operands
        self.shape, self.n, self.depth = spelling.shape, spelling.n, _DEPTH[spelling.a]
        self.line, self.pc = ctx.inst.line, ctx.pc
        a_type, kind = ELEMENTS[spelling.a], ACCUMULATORS[spelling.d]
        result = fragments.wgmma_accumulator(self.n, kind.packed)
        self.d_slots = _slots(ctx, d, "D", result.registers, write=True)
        self.d_registers = frozenset(registers_of(ctx.inst, [d]))
        self.predicate, self.negated = ctx.predicate(scale)
        self.a_slots: list[int] = []
        self.a_source: _Source | None = None
        self.a_registers: frozenset[Register] = frozenset()
        if isinstance(a, Vector):
            self.a_slots = _slots(ctx, a, "A", 4, write=False)
            self.a_registers = frozenset(registers_of(ctx.inst, [a]))
            if self.a_registers & self.d_registers:
                raise ctx.error("has a register of A among those of D")
        else:
            self.a_source = _Source(ctx, a, a_type, 64, transposed=spelling.transposed[0])
        self.b_source = _Source(ctx, b, ELEMENTS[spelling.b], self.n, transposed=spelling.transposed[1])
        self.descriptors = (self.b_source.port, *([self.a_source.port] if self.a_source else ()))
        self.negative = spelling.sign < 0
        floats = spelling.d != "s32"
        product = and_popc if spelling.a == "b1" else multiply_accumulate if floats else integer_product
        self.patterns = patterns_of(product, kind, saturate=spelling.saturate)
        self.values = kind.values
        self.take_sum = collect(result, kind.bits, kind.values, None)
        self.give_sum = distribute(result)
        self.take_a = collect(fragments.mma_a(16, self.depth, a_type.packed), a_type.bits, a_type.values, -1)
        self.d_index, self.a_index = np.array(self.d_slots), np.array(self.a_slots, np.intp)
        self.d_set = frozenset(self.d_slots)
        self.d_key = tuple(self.d_slots)
        by_columns = self.a_source is not None and self.a_source.transposed
        self.whole = Product(self.compute, 1 if by_columns else 0)

    def compute(
        self,
        warps: list[Warp],
        a_units: Array | None,
        a_rows: Array,
        b_units: Array,
        accumulate: bool,
        decoded: Decoded,
    ) -> None:
        """Compute the sums of adjacent warps."""
        cta, states = warps[0].cta, [state_of(warp) for warp in warps]
        if self.a_source is not None:
            assert a_units is not None
            first = self.a_source.matrix(cta.shared, a_units, decoded)
        else:
            now = cta.registers[32][self.a_index, warps[0].index : warps[-1].index + 1]
            first = self._a_of_registers(now, a_rows)
        second = self.b_source.matrix(cta.shared, b_units, decoded)
        key = self.d_key, warps[0].index, len(warps)
        known = decoded.take(key, self.d_set)
        if not accumulate:
            before = np.zeros((16 * len(warps), self.n))
        elif known is not None:
            before = self.values(known.reshape(-1, self.n))
        else:
            before = self.take_sum(np.stack([state.sums[self.d_index] for state in states])).reshape(
                -1, self.n
            )
        patterns = self.patterns(-first if self.negative else first, second, before)

        def give(patterns: Array) -> None:
            for state, rows in zip(states, self.give_sum(patterns), strict=True):
                state.sums[self.d_index] = rows

        decoded.sums[key] = self.d_set, patterns.reshape(len(warps), 16, self.n), give

    def start(self, warps: list[Warp], a_units: Array | None, b_units: Array, accumulate: bool) -> None:
        """Begin the parts of adjacent warps of a warpgroup."""
        cta, states = warps[0].cta, [state_of(warp) for warp in warps]
        span = slice(warps[0].index, warps[-1].index + 1)
        registers = cta.registers[32]
        fresh = False
        for warp, state in zip(warps, states, strict=True):
            if not state.held >= self.d_set:
                fresh = True
                new = [slot for slot in self.d_slots if slot not in state.held]
                state.sums[new] = warp.registers[32][new]
                state.held |= self.d_set
        a_rows = registers[self.a_index, span]
        for number, state in enumerate(states if self.a_slots else ()):
            for other in state.in_flight():
                # Products in flight that read the same registers have left poison there.
                for index, slot in enumerate(self.a_slots):
                    if slot in other.a_slots:
                        mine, theirs = a_rows[index, number], other.a_rows[other.a_slots.index(slot)]
                        a_rows[index, number] = np.where(mine == POISON, theirs, mine)
        reads = [units.reshape(-1) for units in (a_units, b_units) if units is not None]
        common = Reads(reads, warps, a_units, a_rows, b_units, accumulate, self.whole)
        if cta.cluster.launch.timed:
            # A launch that is timed has no results.
            pass
        elif cta.cluster.engine.early:
            decoded = Decoded()
            common.run(decoded)
            decoded.finish()
            for warp, state in zip(warps, states, strict=True):
                warp.registers[32][self.d_index] = state.sums[self.d_index]
        else:
            # The registers of sums in flight are poison already.
            if fresh:
                registers[self.d_index, span] = POISON
            if self.a_slots:
                registers[self.a_index, span] = POISON
        issue(warps, [
            Operation(
                self.shape, self.d_slots, self.d_registers, self.a_registers, self.a_slots, a_rows[:, number],
                common, self.line, self.pc, state.issued - 1,
            )
            for number, state in enumerate(states)
        ])  # fmt: skip

    def _a_of_registers(self, now: Array, issued: Array) -> Array:
        """The matrix A, K first, from what its registers hold now; poison stands for the value at issue."""
        rows = np.where(now == POISON, issued, now).swapaxes(0, 1)
        return np.moveaxis(self.take_a(np.ascontiguousarray(rows)), 0, 1).reshape(self.depth, -1)

    def execute(self, warp: Warp, mask: Mask) -> None:
        """Issue one warp's part, with findings."""
        if not whole_warp(warp, mask):
            return
        state = state_of(warp)
        if not _ready(warp, mask, state, self.d_registers, self.a_registers, self.shape):
            return
        _in_step(warp, mask, state, self.pc, self.descriptors)
        member = warp.index % 4
        rows = slice(16 * member, 16 * member + 16)
        b_units = self.b_source.units(warp, mask, "B", None)
        a_units = self.a_source.units(warp, mask, "A", rows) if self.a_source is not None else None
        if b_units is None or (self.a_source is not None and a_units is None):
            return
        reads = [units.reshape(-1) for units in (a_units, b_units) if units is not None]
        for units in reads:
            if not readable([warp], warp.cta.shared, units):
                async_read(warp, mask, warp.cta.shared, unit_bytes(units), "wgmma")
        if warp.stats is not None:
            warp.stats.flops["wgmma"] += 2 * 16 * self.n * self.depth
            warp.stats.bytes["wgmma.shared"] += 16 * sum(len(units) for units in reads)
        self.start([warp], a_units, b_units, bool(warp.ports[self.predicate][0]) ^ self.negated)

    def _start_together(self, gang: Gang, warps: list[Warp]) -> bool:
        """Begin the parts of adjacent warps of a warpgroup; False, without an effect, if an operand is invalid."""
        begin, first = 32 * (warps[0].index - gang.first), 16 * (warps[0].index % 4)
        lanes = slice(begin, begin + 32 * len(warps))
        rows = slice(first, first + 16 * len(warps)) if len(warps) < 4 else None
        if not all(_is_ready(state_of(w), self.d_registers, self.a_registers, self.shape) for w in warps):
            return False
        b_units = self.b_source.units_of(gang, lanes, None)
        a_units = self.a_source.units_of(gang, lanes, rows) if self.a_source is not None else None
        if b_units is None or (self.a_source is not None and a_units is None):
            return False
        scale, shared = gang.ports[self.predicate][lanes], gang.cta.shared
        if some(scale != scale[0]) or not _are_in_step(warps, self.pc, self.descriptors):
            return False
        reads = [units.reshape(-1) for units in (a_units, b_units) if units is not None]
        if not all(readable(warps, shared, units) for units in reads):
            return False
        for warp in warps:
            _in_step(warp, warp.splits[0].mask, state_of(warp), self.pc, self.descriptors)
        self.start(warps, a_units, b_units, bool(scale[0]) ^ self.negated)
        return True

    def together(self, gang: Gang, mask: HasLanes) -> JointOutcome:
        """Issue the parts of the warps of a gang, warpgroup by warpgroup."""
        if gang.stats is not None or not mask.full:
            return NotImplemented
        for first in range(gang.first // 4 * 4, gang.last, 4):
            warps = gang.cta.warps[max(first, gang.first) : min(first + 4, gang.last)]
            is_whole = first + 4 <= len(gang.cta.warps)
            if len(warps) == 1 or not is_whole or not self._start_together(gang, warps):
                for warp in warps:
                    warp.split = warp.splits[0]
                    warp.split.pc = self.pc
                    self.execute(warp, warp.split.mask)
        return None


def _slots(ctx: Context, operand: Operand, what: str, count: int, *, write: bool) -> list[int]:
    """The slots of a fragment's registers."""
    ports_of(ctx, operand, what, count, 32, write=write)
    slots = slots_of(ctx, operand)
    if slots is None:
        raise ctx.error(f"has {what} in something else than 32-bit registers")
    return slots


def _number(ctx: Context, operand: Operand) -> int:
    value = ctx.number(operand)
    if value is None:
        raise ctx.error("needs numbers for scales and transposes")
    return value


def _check(ctx: Context, shape: str, d: str, a: str, b: str) -> int:
    """N, if the instruction is valid."""
    if a not in _DEPTH or (a != b and not any(a in group and b in group for group in _TOGETHER)):
        raise ctx.error(f"multiplies .{a} by .{b}")
    if d not in _RESULTS[a]:
        raise ctx.error(f"has D of .{d} with A of .{a}; expected .{' or .'.join(_RESULTS[a])}")
    extent, _, depth = shape[4:].partition("k")
    n = int(extent) if extent.isdigit() else 0
    if depth != str(_DEPTH[a]):
        raise ctx.error(f"has .{shape} with .{a}; expected .m64nNk{_DEPTH[a]}")
    integers = d == "s32"
    if n % 8 or not 8 <= n <= 256 or (integers and n > 24 and n % 16):
        raise ctx.error(
            f"has N of {n}; expected a multiple of {'16 (or 8, 24)' if integers else '8'}, 8 to 256"
        )
    return n


def _ready(
    warp: Warp, mask: Mask, state: State, d: frozenset[Register], a: frozenset[Register], shape: str
) -> bool:
    """Report invalid state at a wgmma; False if the wgmma cannot run."""
    if warp.index // 4 * 4 + 4 > len(warp.cta.warps):
        warp.report("illegal", f"a warpgroup of {len(warp.cta.warps) % 4} warps; wgmma needs four", mask)
        return False
    used = d | a
    if not state.fenced:
        warp.report("asynchronous", "no wgmma.fence before the first wgmma.mma_async", mask)
        state.fenced = True
    elif used & state.touched:
        warp.report(
            "asynchronous",
            f"{len(used & state.touched)} of its registers were used by other instructions with no wgmma.fence since",
            mask,
        )
    state.touched -= used
    for other in state.in_flight():
        if other.a_registers & d or other.d_registers & a:
            warp.report("in-flight", f"registers of A of a wgmma overlap D of the one at PTX line {other.line}, or "
                        "the other way round, before a wgmma.wait_group", mask)  # fmt: skip
        elif other.shape != shape and other.d_registers & d:
            warp.report(
                "asynchronous", f"D is in use by a wgmma of another shape at PTX line {other.line}", mask
            )
    return True


def _is_ready(state: State, d: frozenset[Register], a: frozenset[Register], shape: str) -> bool:
    """True if `_ready` finds no error."""
    return (
        state.fenced
        and not state.touched & (d | a)
        and not any(
            other.a_registers & d or other.d_registers & a or (other.shape != shape and other.d_registers & d)
            for other in state.in_flight()
        )
    )


def _are_in_step(warps: list[Warp], pc: int, descriptors: tuple[int, ...]) -> bool:
    """True if all warps issue the same wgmma, as the warps before them did."""
    log = warps[0].cta.state.setdefault("wgmma order", {}).setdefault(warps[0].index // 4, [])
    issued = state_of(warps[0]).issued
    entry = (pc, *[int(warps[0].ports[port][0]) for port in descriptors])
    return all(state_of(warp).issued == issued for warp in warps) and (
        issued == len(log) or log[issued] == entry
    )


def _in_step(warp: Warp, mask: Mask, state: State, pc: int, descriptors: tuple[int, ...]) -> None:
    """Checks that the four warps of a warpgroup run the same wgmmas, with the same descriptors."""
    logs = warp.cta.state.setdefault("wgmma order", {})
    log = logs.setdefault(warp.index // 4, [])
    entry = (pc, *[int(warp.ports[port][0]) for port in descriptors])
    if state.issued == len(log):
        log.append(entry)
    elif log[state.issued] != entry:
        what = "another wgmma" if log[state.issued][0] != pc else "other descriptors"
        warp.report("divergence", f"another warp of the warpgroup runs {what} at this point", mask)
    state.issued += 1
