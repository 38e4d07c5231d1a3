"""wgmma.mma_async, .fence, .commit_group, .wait_group (PTX ISA, "Asynchronous Warpgroup Level Matrix …").

    mma_async ──▶ in flight: accumulators and A registers are poison ──commit──▶ a group ──wait N──▶ D is there

Each warp of a warpgroup issues its 16 of the 64 rows at its own time, and the operation completes once all four have:
`wait_group` waits for the other three warps' issue, and for nothing else of them. In the mode `late` the operands are
read at the first such wait, in `early` at the issue. What is in flight is kept in sim/warpgroup.py. The arithmetic is
that of sim/products.py, also for fp8, where a GPU keeps fewer bits of the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.sim import fragments
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.elements import ELEMENTS, Element, split
from tessera_tools.sim.instructions.mma import and_popc, emit, load_matrix, ports_of, whole_warp
from tessera_tools.sim.matrix_descriptor import k_major, mn_major
from tessera_tools.sim.memory import SHARED_START
from tessera_tools.sim.products import ACCUMULATORS, integer_product, multiply_accumulate, saturate_s32
from tessera_tools.sim.program import Immediate, Operand, Vector
from tessera_tools.sim.proxies import async_read
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Wait, Warp
from tessera_tools.sim.warpgroup import (
    POISON,
    Operation,
    Register,
    State,
    complete,
    issue,
    land,
    registers_of,
    state_of,
    unit_bytes,
    warpgroup_of,
)

Array = np.ndarray[Any, Any]

_DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
"""K by element type: 32 bytes of it, always."""
_RESULTS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"),
            "e5m2": ("f16", "f32"), "s8": ("s32",), "u8": ("s32",), "b1": ("s32",)}  # fmt: skip
_TOGETHER = (("e4m3", "e5m2"), ("s8", "u8"))


def _sync(ctx: Context) -> None:
    for modifier in ("sync", "aligned"):
        if not ctx.flag(modifier):
            raise ctx.error(f"needs .{modifier}")
    ctx.aligned()


@instruction("wgmma.fence")
def fence(ctx: Context) -> Execute:
    """wgmma.fence: orders other uses of the registers before the wgmmas that follow."""
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
    if not isinstance(count, Immediate):
        raise ctx.error("needs a number of groups")
    most = int(count.value)

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
                landing = state.groups[0]
                while landing:
                    land(warp, state, landing.pop(0))
                del state.groups[0]

        def describe() -> str:
            names = ", ".join(str(other.index) for other in group.behind(last.number))
            return (
                f"the wgmma at PTX line {last.line}, which warps {names} of the warpgroup have not issued: it "
                "completes once all four have"
            )

        if not group.behind(last.number):
            finish(warp, mask)
            return None
        return Wait(lambda: not group.behind(last.number), describe, finish)

    return execute


class _Source:
    """A matrix in shared memory, by descriptor: `rows` of M or N for this warp."""

    def __init__(
        self, ctx: Context, operand: Operand, element: Element, extent: int, *, transposed: bool
    ) -> None:
        self.port = ctx.read(operand, TYPES["b64"])
        self.element = element
        self.extent = extent
        self.transposed = transposed

    def units(self, warp: Warp, mask: Mask, what: str, part: slice | None) -> Array | None:
        """The 16-byte units, [rows, 2] or [16, chunks]; None, with a finding, if they are not shared memory."""
        row = warp.ports[self.port]
        descriptor = int(row[0])
        if (row != row[0]).any():
            warp.report("illegal", f"the descriptor of {what} differs between the lanes", mask)
        if self.transposed:
            found = mn_major(descriptor, self.extent)
            if part is not None:
                found = found[:, part.start // 8 : part.stop // 8]
        else:
            found = k_major(descriptor, self.extent)
            if part is not None:
                found = found[part]
        size = warp.cta.shared.size
        low, high = int(found.min()) * 16, int(found.max()) * 16 + 16
        if low < SHARED_START or high > size:
            warp.report(
                "out-of-bounds",
                f"the descriptor of {what} covers bytes {low} to {high} of shared memory, which has {size}",
                mask,
            )
            return None
        return found

    def matrix(self, warp: Warp, units: Array) -> Array:
        """float64, K first."""
        raw = warp.cta.shared.views[16][units.reshape(-1)].view(np.uint8)
        element = self.element
        values = element.values(split(raw.reshape(units.shape[0], -1), element.bits))
        return values if self.transposed else np.ascontiguousarray(values.T)


@instruction("wgmma.mma_async.sp")
def sparse(ctx: Context) -> Execute:
    """Sparse wgmma: refused."""
    raise ctx.error("multiplies a sparse matrix, which the simulated GPU does not; expected wgmma.mma_async")


@instruction("wgmma.mma_async")
def mma_async(ctx: Context) -> Execute:
    """wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype{.and.popc} d, a, b-desc, scale-d {, …}.

    a is a descriptor or four registers. Floats have imm-scale-a and -b (1 or -1), 16-bit ones imm-trans-a (for a
    descriptor) and -b (0 or 1).
    """
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
    from_registers = isinstance(a, Vector)
    floats, halves = d_name != "s32", a_name in ("f16", "bf16")
    expected = 4 + 2 * floats + (2 - from_registers) * halves
    if len(operands) != expected:
        raise ctx.error(f"has {len(operands)} operands; expected {expected}")
    flags = [_number(ctx, operand) for operand in operands[4:]]
    signs, transposes = flags[: 2 * floats], flags[2 * floats :]
    if any(sign not in (1, -1) for sign in signs) or any(flag not in (0, 1) for flag in transposes):
        raise ctx.error("has a scale other than 1 and -1, or a transpose other than 0 and 1")
    if saturate and floats:
        raise ctx.error("has .satfinite, which only integers take")
    a_type, b_type, kind = ELEMENTS[a_name], ELEMENTS[b_name], ACCUMULATORS[d_name]
    depth = _DEPTH[a_name]
    result = fragments.wgmma_accumulator(n, kind.packed)
    d_ports = ports_of(ctx, d, "D", result.registers, 32, write=True)
    d_registers = frozenset(registers_of(ctx.inst, [d]))
    predicate, negated = ctx.predicate(scale)
    a_ports: list[int] = []
    a_source: _Source | None = None
    a_registers: frozenset[Register] = frozenset()
    left = fragments.mma_a(16, depth, a_type.packed)
    if from_registers:
        a_ports = ports_of(ctx, a, "A", 4, 32, write=False)
        a_registers = frozenset(registers_of(ctx.inst, [a]))
        if a_registers & d_registers:
            raise ctx.error("has a register of A among those of D")
    else:
        a_source = _Source(ctx, a, a_type, 64, transposed=bool(halves and transposes[0]))
    b_source = _Source(ctx, b, b_type, n, transposed=bool(halves and transposes[-1]))
    sign = float(np.prod(signs)) if signs else 1.0
    product = and_popc if a_name == "b1" else multiply_accumulate if floats else integer_product
    pack = saturate_s32 if saturate else kind.pack
    # The sums stand beside the registers, in rows of their own.
    take_sum = load_matrix(range(len(d_ports)), result, kind.bits, kind.values, None)
    give_sum = emit(range(len(d_ports)), result)
    take_a = load_matrix(range(4), left, a_type.bits, a_type.values, -1)
    line = ctx.inst.line
    pc = ctx.pc

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        state = state_of(warp)
        if not _ready(warp, mask, state, d_registers, a_registers, shape):
            return
        _in_step(warp, mask, state, pc, (b_source.port, *([a_source.port] if a_source else ())))
        member = warp.index % 4
        rows = slice(16 * member, 16 * member + 16)
        b_units = b_source.units(warp, mask, "B", None)
        a_units = a_source.units(warp, mask, "A", rows) if a_source is not None else None
        if b_units is None or (a_source is not None and a_units is None):
            return
        reads = [units.reshape(-1) for units in (a_units, b_units) if units is not None]
        shared = warp.cta.shared
        for units in reads:
            async_read(warp, mask, shared, unit_bytes(units), "wgmma")
        accumulate = bool(warp.ports[predicate][0]) ^ negated
        if warp.stats is not None:
            warp.stats.flops["wgmma"] += 2 * 16 * n * depth
            warp.stats.bytes["wgmma.shared"] += 16 * sum(len(units) for units in reads)
        ports = warp.ports
        sums = state.sums
        for port in d_ports:
            if port not in sums:
                sums[port] = ports[port].view(np.uint32).copy()
        early = warp.cta.cluster.engine.early
        a_rows = [ports[port].copy() for port in a_ports]

        def compute() -> None:
            if a_source is not None:
                assert a_units is not None
                first = a_source.matrix(warp, a_units)
            else:
                first = take_a(
                    _Rows([_current(ports[port], row) for port, row in zip(a_ports, a_rows, strict=True)])
                )
            if sign < 0:
                first = -first
            second = b_source.matrix(warp, b_units)
            rows = _Rows([sums[port] for port in d_ports])
            before = take_sum(rows) if accumulate else np.zeros((16, n))
            give_sum(rows, pack(product(first, second, before)))

        number = state.issued - 1
        operation = Operation(
            shape, d_ports, d_registers, a_registers, a_ports, a_rows, reads, compute, line, pc, number
        )
        if early:
            compute()
            operation.finished = True
            for port in d_ports:
                ports[port].view(np.uint32)[...] = sums[port]
        else:
            for port in (*d_ports, *a_ports):
                ports[port].view(np.uint32)[...] = POISON
        issue(warp, state, operation)

    return execute


class _Rows:
    """Rows where `load_matrix` and `emit` expect a warp's ports."""

    def __init__(self, ports: list[Array]) -> None:
        self.ports: list[Any] = ports


def _current(row: Array, issued: Array) -> Array:
    """A register of A as the operation finds it: poison stands for what it was at issue."""
    return np.where(row == POISON, issued, row)


def _number(ctx: Context, operand: Operand) -> int:
    if not isinstance(operand, Immediate):
        raise ctx.error("needs numbers for scales and transposes")
    value = int(operand.value)
    return value - (1 << 64) if value >= 1 << 63 else value


def _check(ctx: Context, shape: str, d: str, a: str, b: str) -> int:
    """N, if the instruction exists."""
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
    """Report what a wgmma must not find; False if it cannot run at all."""
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
    for other in state.flying():
        if other.a_registers & d or other.d_registers & a:
            warp.report("in-flight", f"registers of A of a wgmma overlap D of the one at PTX line {other.line}, or "
                        "the other way round, before a wgmma.wait_group", mask)  # fmt: skip
        elif other.shape != shape and other.d_registers & d:
            warp.report(
                "asynchronous", f"D is in use by a wgmma of another shape at PTX line {other.line}", mask
            )
    return True


def _in_step(warp: Warp, mask: Mask, state: State, pc: int, descriptors: tuple[int, ...]) -> None:
    """The four warps of a warpgroup run the same wgmmas, with the same descriptors."""
    logs = warp.cta.state.setdefault("wgmma order", {})
    log = logs.setdefault(warp.index // 4, [])
    entry = (pc, *[int(warp.ports[port][0]) for port in descriptors])
    if state.issued == len(log):
        log.append(entry)
    elif log[state.issued] != entry:
        what = "another wgmma" if log[state.issued][0] != pc else "other descriptors"
        warp.report("divergence", f"another warp of the warpgroup runs {what} at this point", mask)
    state.issued += 1
