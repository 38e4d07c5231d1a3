"""tcgen05.mma and .mma.ws (PTX ISA, "Tensorcore 5th Generation Instructions").

    descriptors ──▶ units of shared memory (or cells of A) ──checks at issue──▶ in flight ──commit──▶ D in tensor memory

One thread issues an operation for its CTA, or with cta_group::2 for a pair of CTAs: each has half of the rows of A and
D, half of the columns of B (N), and the same addresses. The rows of D and A have these lanes:

    M of one CTA  128      lane = row
                  64       lane = row % 16 + 32 × (row / 16), plus 16 if the address has lane 16
                  64, pair of M 128, and .ws     lane = row + 64 × (column / (N / 2))
                  32, .ws                        lane = row + 32 × (column / (N / 4))

In the last two, the rows of A are repeated, once for each part of N. The scale factors of 32 rows stand in one column,
one row a lane, as up to 4 bytes; rows 32 and on follow in the next column, and each group of 32 lanes has all of them.
With M of 128 in a pair, the scale factors of the second half of N stand in lanes 64 and on.

The arithmetic is that of sim/products.py; block scales multiply the elements exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.elements import ELEMENTS, SUB_BYTE, matrix_values, scale_values
from tessera_tools.sim.instruction_descriptor import SCALED, Instruction, decode
from tessera_tools.sim.instructions.tensor_memory import cta_group, require_target
from tessera_tools.sim.interfaces import HasPorts
from tessera_tools.sim.machine import Cta
from tessera_tools.sim.matrix_descriptor import k_major, mn_major
from tessera_tools.sim.products import ACCUMULATORS, integer_product, multiply_accumulate, patterns_of
from tessera_tools.sim.program import Address, Vector
from tessera_tools.sim.tcgen05 import (
    Source,
    in_shared,
    issue,
    pair_of,
    same_group,
    use_of,
    valid_descriptor,
)
from tessera_tools.sim.tensor_memory import Issued, Place, Use, tensor_memory
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp, mask_of
from tessera_tools.sim.zero_columns import ZeroColumns
from tessera_tools.sim.zero_columns import decode as decode_zero_columns
from tessera_tools.target import Feature

_KINDS = ("f16", "tf32", "f8f6f4", "i8", *SCALED)
_VECTORS = ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
_BLOCKS = {
    ("mxf8f6f4", ""): 32,
    ("mxf8f6f4", "scale_vec::1X"): 32,
    ("mxf8f6f4", "block32"): 32,
    ("mxf4", ""): 32,
    ("mxf4", "scale_vec::2X"): 32,
    ("mxf4", "block32"): 32,
    ("mxf4nvf4", "scale_vec::2X"): 32,
    ("mxf4nvf4", "block32"): 32,
    ("mxf4nvf4", "scale_vec::4X"): 16,
    ("mxf4nvf4", "block16"): 16,
}
"""Elements of a block, by kind and scale vector."""
_SCALE_ADDRESS = 0x3FFFFFFF
"""The two high bits of the address of scale factors are a byte number for the instruction descriptor."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a matrix of one CTA stands: lanes and columns [rows, columns of D], relative to the address."""

    lanes: Array
    columns: Array
    copies: tuple[int, ...]
    """Offsets of the lanes at which the rows of A are repeated."""
    half: bool
    """Only 16 of 32 lanes are used."""


@lru_cache(maxsize=256)
def _layout(rows: int, n: int, parts: int) -> _Layout:
    """`rows` of a CTA, whose N is divided into `parts` groups of lanes."""
    row, column = np.ogrid[:rows, :n]
    width = n // parts
    if parts > 1:
        step = 128 // parts
        lanes, columns = row + step * (column // width), column % width + 0 * row
        return _Layout(lanes, columns, tuple(step * part for part in range(parts)), False)
    if rows == 64:
        return _Layout(row % 16 + 32 * (row // 16), column, (0,), True)
    return _Layout(row, column, (0,), False)


@lru_cache(maxsize=64)
def _a_rows(rows: int, parts: int) -> Array:
    row = np.arange(rows)[:, None]
    return row % 16 + 32 * (row // 16) if parts == 1 and rows == 64 else row


class _Product:
    """One tcgen05.mma: what its text says."""

    def __init__(self, ctx: Context, *, stationary: bool) -> None:
        self.group = cta_group(ctx)
        self.stationary = stationary
        if stationary and self.group != 1:
            raise ctx.error("has .cta_group::2; .ws needs .cta_group::1")
        self.kind = ctx.choose(*(f"kind::{kind}" for kind in _KINDS))[6:]
        if self.kind == "i8":
            require_target(ctx, Feature.TCGEN05_INT8)
        scaled = self.kind in SCALED
        if ctx.flag("block_scale") != scaled or (scaled and stationary):
            raise ctx.error(
                f"has .kind::{self.kind} {'without' if scaled and not stationary else 'with'} .block_scale"
            )
        vector = ctx.choose(*_VECTORS, default="")
        self.block = 0
        if scaled:
            if (self.kind, vector) not in _BLOCKS:
                known = " or ".join(f".{v}" if v else "none" for kind, v in _BLOCKS if kind == self.kind)
                found = f".{vector}" if vector else "no scale vector"
                raise ctx.error(f"has .kind::{self.kind} with {found}; expected {known}")
            self.block = _BLOCKS[self.kind, vector]
        elif vector:
            raise ctx.error(f"has .{vector}, which needs block scales")
        self.shifts_a = ctx.flag("ashift")
        if self.shifts_a and (scaled or stationary):
            raise ctx.error(f"has .ashift, which {'.ws' if stationary else '.block_scale'} does not have")
        self.collector = "discard"
        self._collector(ctx)
        self._operands(ctx, scaled)
        if self.shifts_a and self.a_cells is None:
            raise ctx.error("has .ashift with A in shared memory; expected [a-tmem]")
        self.what = f"'tcgen05.mma{'.ws' if stationary else ''}' at PTX line {ctx.inst.line}"
        self.pc = ctx.pc

    def _collector(self, ctx: Context) -> None:
        """Take the use of the collector buffer, which has no effect on values."""
        for modifier in ctx.remaining():
            if not modifier.startswith("collector::"):
                continue
            _, buffer, *use = modifier.split("::")
            allowed = ("b0", "b1", "b2", "b3") if self.stationary else ("a",)
            if buffer not in allowed or use not in (["fill"], ["use"], ["lastuse"], ["discard"]):
                raise ctx.error(
                    f"has .{modifier}; expected .collector::{allowed[0]} and ::fill, ::use, ::lastuse or ::discard"
                )
            if self.shifts_a and use[0] in ("fill", "use"):
                raise ctx.error(f"has .{modifier} with .ashift; expected ::lastuse or ::discard")
            self.collector = use[0]
            ctx.flag(modifier)

    def _operands(self, ctx: Context, scaled: bool) -> None:
        operands = list(ctx.operands())
        if len(operands) < 5 + 2 * scaled:
            raise ctx.error(f"has {len(operands)} operands; expected {5 + 2 * scaled} at least")
        d, a, b, descriptor = operands[:4]
        rest = operands[4:]
        self.d = ctx.address(d)
        self.a_cells = ctx.address(a) if isinstance(a, Address) else None
        self.a = None if isinstance(a, Address) else ctx.read_sum(a, TYPES["b64"])
        self.b, self.descriptor = ctx.read_sum(b, TYPES["b64"]), ctx.read(descriptor, TYPES["b32"])
        self.scales: tuple[Callable[[HasPorts], Array], Callable[[HasPorts], Array]] | None = None
        if scaled:
            self.scales = ctx.address(rest.pop(0)), ctx.address(rest.pop(0))
        self.disabled: list[int] = []
        if rest and isinstance(rest[0], Vector) and not scaled and not self.stationary:
            self.disabled = ctx.reads(rest.pop(0), TYPES["b32"])
            if len(self.disabled) != 4 * self.group:
                raise ctx.error(
                    f"has {len(self.disabled)} words of disabled lanes; expected {4 * self.group}"
                )
        if not rest:
            raise ctx.error("needs a predicate enable-input-d")
        self.enable, self.negated = ctx.predicate(rest.pop(0))
        self.shift = 0
        self.zero_columns: int | None = None
        if rest and self.stationary:
            self.zero_columns = ctx.read(rest.pop(0), TYPES["b64"])
        if rest and not scaled and not self.stationary:
            shift = ctx.number(rest.pop(0))
            if shift is None or not 0 <= shift <= 15:
                raise ctx.error("needs a number from 0 to 15 as scale-input-d")
            if self.kind not in ("f16", "tf32"):
                raise ctx.error(f"has scale-input-d, which kind::{self.kind} does not have")
            self.shift = shift
        if rest:
            raise ctx.error(f"has {len(rest)} operands too many")

    def execute(self, warp: Warp, mask: Mask) -> None:
        """Issue the operation, once for each lane."""
        for lane in map(int, mask.lanes):
            self._issue(warp, mask_of(1 << lane), lane)

    def _decoded(self, warp: Warp, mask: Mask, lane: int) -> Instruction | None:
        bits = int(warp.ports[self.descriptor][lane])
        found = decode(bits, self.kind)
        if isinstance(found, Instruction):
            found = self._invalid_shape(found) or found
        if isinstance(found, str):
            warp.report("illegal", f"the instruction descriptor {bits:#010x} {found}", mask)
            return None
        return found

    def _invalid_shape(self, found: Instruction) -> str | None:
        if self.stationary:
            rows, columns = (32, 64, 128), "64, 128 or 256"
            valid = found.n in (64, 128, 256)
        elif self.group == 2:
            rows = (256,) if self.kind == "mxf8f6f4" else (128, 256)
            step = 32 if self.kind == "i8" else 16
            valid, columns = found.n % step == 0, f"a multiple of {step}, {step} to 256"
        else:
            rows = (128,) if self.kind in SCALED else (64, 128)
            step = 8 if found.m == 64 or self.kind in SCALED else 16
            valid, columns = found.n % step == 0, f"a multiple of {step}, {step} to 256"
            if self.kind == "i8" and found.m == 64:
                valid, columns = (
                    found.n in (8, 24) or found.n % 16 == 0,
                    "8, 24 or a multiple of 16, 16 to 256",
                )
        if self.shifts_a:
            # In a pair, PTX does not say which of 64 rows is the last row of tensor memory.
            rows = (128 * self.group,)
        if found.m not in rows:
            what = " with .ashift" if self.shifts_a else ""
            return f"has M of {found.m}{what}; expected {' or '.join(map(str, rows))}"
        if not valid or not 8 <= found.n <= 256:
            return f"has N of {found.n}; expected {columns}"
        return None

    def _issue(self, warp: Warp, mask: Mask, lane: int) -> None:
        same_group(warp, mask, self.group)
        inst, ctas = self._decoded(warp, mask, lane), pair_of(warp, mask, self.group)
        if inst is None or ctas is None:
            return
        rows = inst.m // self.group
        parts = 128 // rows if self.stationary else 2 if self.group == 2 and rows == 64 else 1
        layout = _layout(rows, inst.n, parts)
        address = int(self.d(warp)[lane])
        first, column = address >> 16 & 0xFFFF, address & 0xFFFF
        if first not in ((0, 16) if layout.half else (0,)):
            warp.report(
                "illegal", f"D begins at lane {first}; expected {'0 or 16' if layout.half else '0'}", mask
            )
            return
        key = address, inst.m, inst.n, self.kind
        use = use_of(warp, mask, self.what, Issued("mma", self.group, key))
        part = _Part(self, inst, use, ctas, lane)
        if not part.check(layout, first, column, parts):
            return
        if warp.stats is not None:
            warp.stats.flops["tcgen05.mma"] += 2 * inst.m * inst.n * inst.k
            # Every K is 32 bytes: 16 numbers of 16 bits. One CTA uses all lanes for its rows; 64 rows take as long.
            work = (128 if self.group == 1 else rows) * inst.n * 16
            numbers = tuple(cta.number for cta in ctas)
            feed = sum(16 * units.size for _, units in part.reads) // len(ctas)
            warp.stats.umma(work, feed, numbers, in_tensor_memory=not part.a_units)
        # A launch that is timed has no results.
        issue(use, ctas, part.reads, part.run if not warp.cta.cluster.launch.timed else _nothing)


def _nothing() -> None:
    """What a product computes if only its time matters."""


class _Part:
    """One issued product: the checked places of its matrices."""

    def __init__(
        self, product: _Product, inst: Instruction, use: Use, ctas: tuple[Cta, ...], lane: int
    ) -> None:
        self.product, self.inst, self.use, self.ctas, self.lane = product, inst, use, ctas, lane
        self.reads: list[Source] = []
        self.a_units: list[Array] = []
        self.b_units: list[Array] = []
        self.a_places: list[Place] = []
        self.d_places: list[Place] = []
        self.scale_places: list[tuple[Place, ...]] = []
        warp = use.warp
        self.accumulate = bool(warp.ports[product.enable][lane]) ^ product.negated
        self.zero_columns: ZeroColumns | None = None
        self.skipped = 0
        """Columns of B in its first units that are not used."""
        self.disabled = [int(warp.ports[port][lane]) for port in product.disabled]

    def check(self, layout: _Layout, first: int, column: int, parts: int) -> bool:
        """Find and check all operands; False if one is invalid."""
        inst, product, use = self.inst, self.product, self.use
        rows, n = inst.m // product.group, inst.n
        if product.zero_columns is not None and not self._decode_zero_columns(product.zero_columns):
            return False
        shift = self.zero_columns.shift if self.zero_columns is not None else 0
        for cta in self.ctas:
            if product.a is not None:
                units = self._units(self._sum(product.a), inst.a, 0, rows, inst.a_transposed, "A")
                if units is None or not in_shared(use, cta, units, "A"):
                    return False
                self.a_units.append(units)
                self.reads.append((cta, units))
            elif not self._check_a(cta, layout, rows, parts):
                return False
            columns = n // product.group
            units = self._units(self._sum(product.b), inst.b, shift, columns, inst.b_transposed, "B")
            if units is None or not in_shared(use, cta, units, "B"):
                return False
            self.b_units.append(units)
            self.reads.append((cta, units))
            if product.scales is not None and not self._check_scales(cta, rows, parts):
                return False
        for number, cta in enumerate(self.ctas):
            place: Place = layout.lanes + first, layout.columns + column
            if self.disabled:
                shape = np.broadcast_shapes(place[0].shape, place[1].shape)
                kept = np.broadcast_to(self._kept(number, place), shape)
                place = np.broadcast_to(place[0], shape)[kept], np.broadcast_to(place[1], shape)[kept]
            memory = tensor_memory(cta)
            if place[0].size and (
                (self.accumulate and not memory.reads(use, place)) or not memory.writes(use, place)
            ):
                return False
            self.d_places.append((layout.lanes + first, layout.columns + column))
        return True

    def _decode_zero_columns(self, port: int) -> bool:
        inst, product, warp = self.inst, self.product, self.use.warp
        bits = int(warp.ports[port][self.lane])
        found = decode_zero_columns(bits, inst.m, inst.n)
        if not isinstance(found, str):
            self.zero_columns = found
            if found.shift <= inst.reuse_shift or product.collector == "discard":
                return True
            found = (
                f"shifts by {found.shift} columns of a B that is reused; bits 30 and 31 of the instruction descriptor "
                f"allow {inst.reuse_shift}"
            )
        warp.report("illegal", f"the zero-column mask descriptor {bits:#018x} {found}", self.use.mask)
        return False

    def _sum(self, source: tuple[int, int]) -> int:
        """A descriptor: what a register holds, plus a number."""
        port, number = source
        return int(self.use.warp.ports[port][self.lane]) + number & 0xFFFFFFFFFFFFFFFF

    def _kept(self, number: int, place: Place) -> Array:
        """Which of the lanes are written."""
        words = np.array(self.disabled[4 * number : 4 * number + 4], np.uint32)
        return np.unpackbits(words.view(np.uint8), bitorder="little")[place[0]] == 0

    def _units(
        self, descriptor: int, name: str, first: int, rows: int, transposed: bool, what: str
    ) -> Array | None:
        """The units of `rows` rows of M or N from `first` on."""
        if not valid_descriptor(self.use, descriptor, what):
            return None
        if not transposed:
            return k_major(descriptor, first + rows)[first:]
        bits = 8 if name in SUB_BYTE else ELEMENTS[name].bits
        unit = 128 // bits
        self.skipped = first % unit
        return mn_major(descriptor, -(-(first + rows) // unit) * unit, bits)[:, first // unit :]

    def _check_a(self, cta: Cta, layout: _Layout, rows: int, parts: int) -> bool:
        product, use = self.product, self.use
        assert product.a_cells is not None
        address = int(product.a_cells(use.warp)[self.lane])
        first, column = address >> 16 & 0xFFFF, address & 0xFFFF
        if self.inst.a_transposed:
            use.warp.report(
                "illegal", "A in tensor memory is MN-major; expected bit 15 of the descriptor clear", use.mask
            )
            return False
        columns = np.arange(8)[None, :] + column
        memory = tensor_memory(cta)
        lanes = _a_rows(rows, parts) + first
        if product.shifts_a:
            lanes = np.minimum(lanes + 1, lanes[-1])
        for offset in layout.copies:
            if not memory.reads(use, (lanes + offset, columns)):
                return False
        self.a_places.append((lanes, columns))
        return True

    def _check_scales(self, cta: Cta, rows: int, parts: int) -> bool:
        """Scale factors of A and B: every group of 32 lanes has those that it needs."""
        product, use, inst = self.product, self.use, self.inst
        assert product.scales is not None
        memory = tensor_memory(cta)
        count = inst.k // product.block
        places: list[Place] = []
        for address_of, extent, begin, what in (
            (product.scales[0], rows, inst.a_scale, "A"),
            (product.scales[1], inst.n, inst.b_scale, "B"),
        ):
            if begin + count > 4 or begin % count:
                use.warp.report(
                    "illegal",
                    f"the instruction descriptor has {begin} as the first byte of {count} scale factors of {what}",
                    use.mask,
                )
                return False
            address = int(address_of(use.warp)[self.lane]) & _SCALE_ADDRESS
            first, column = address >> 16, address & 0xFFFF
            if first:
                use.warp.report(
                    "illegal",
                    f"the scale factors of {what} begin at lane {first} of tensor memory; expected lane 0, because "
                    "each group of 32 lanes has them",
                    use.mask,
                )
                return False
            halves = 2 if what == "B" and parts == 2 else 1
            width = -(-extent // halves // 32)
            lanes, columns = np.arange(128)[:, None], np.arange(width)[None, :] + column
            if not memory.reads(use, (lanes, columns)):
                return False
            if memory.has_sums(use, (lanes, columns)):
                use.warp.report(
                    "illegal",
                    f"{use.what} reads as scale factors of {what}, from column {column} of tensor memory on, what a "
                    "tcgen05.mma has left there",
                    use.mask,
                )
                return False
            places.append((lanes, columns))
        self.scale_places.append(tuple(places))
        return True

    # -- execution

    def run(self) -> None:
        """Compute D."""
        inst, product = self.inst, self.product
        rows = inst.m // product.group
        b = np.concatenate(
            [
                self._shared(cta, units, inst.b, inst.b_transposed)
                for cta, units in zip(self.ctas, self.b_units, strict=True)
            ],
            axis=1,
        )
        if self.zero_columns is not None:
            used = b[:, self.skipped : self.skipped + inst.n]
            b = np.where(self.zero_columns.zero, 0.0, used)
        for number, cta in enumerate(self.ctas):
            memory = tensor_memory(cta)
            if self.a_units:
                a = self._shared(cta, self.a_units[number], inst.a, inst.a_transposed)
            else:
                raw = (
                    np.ascontiguousarray(memory.data[self.a_places[number]]).view(np.uint8).reshape(rows, -1)
                )
                a = matrix_values(raw, inst.a, padded=True, scaled4=inst.kind in ("mxf4", "mxf4nvf4"))
                a = np.ascontiguousarray(a.T)[: inst.k]
            left, right = a, b
            if self.scale_places:
                left, right = self._scaled(number, a, b)
            place = self.d_places[number]
            patterns = self._multiply(-left if inst.negate else left, right, memory.data[place])
            if self.disabled:
                patterns = np.where(self._kept(number, place), patterns, memory.data[place])
            memory.data[place] = patterns

    def _shared(self, cta: Cta, units: Array, name: str, transposed: bool) -> Array:
        """A matrix in shared memory as float64, K first."""
        raw = cta.shared.views[16][units.reshape(-1)].view(np.uint8).reshape(units.shape[0], -1)
        scaled4 = self.inst.kind in ("mxf4", "mxf4nvf4")
        values = matrix_values(raw, name, padded=False, scaled4=scaled4)
        return values if transposed else np.ascontiguousarray(values.T)

    def _multiply(self, a: Array, b: Array, held: Array) -> Array:
        inst, kind = self.inst, ACCUMULATORS[self.inst.d]
        if self.accumulate:
            before = kind.values(held.astype(np.uint16) if kind.bits == 16 else held)
            if self.product.shift:
                before = before * 2.0**-self.product.shift
        else:
            before = np.zeros((a.shape[1], b.shape[1]))
        product = integer_product if inst.kind == "i8" else multiply_accumulate
        return patterns_of(product, kind, saturate=inst.saturate)(a, b, before).astype(np.uint32)

    def _scaled(self, number: int, a: Array, b: Array) -> tuple[Array, Array]:
        inst, block = self.inst, self.product.block
        memory = tensor_memory(self.ctas[number])
        count = inst.k // block
        result: list[Array] = []
        for place, matrix, begin, what in zip(
            self.scale_places[number], (a, b), (inst.a_scale, inst.b_scale), "AB", strict=True
        ):
            cells = np.ascontiguousarray(memory.data[place])
            octets = cells.view(np.uint8).reshape(4, 32, -1, 4)[..., begin : begin + count]
            extent = matrix.shape[1]
            halves = -(-extent // 32) // octets.shape[2]
            columns: list[Array] = []
            for half in range(halves):
                group = octets[half * 4 // halves : (half + 1) * 4 // halves]
                if some(group != group[0]):
                    self.use.warp.cta.cluster.launch.report(
                        "illegal",
                        f"the scale factors of {what} differ between groups of 32 lanes, which must all have them",
                        self.product.pc,
                        self.use.warp.cta.index,
                        self.use.warp.cta.thread(32 * self.use.warp.index + self.lane),
                    )
                # [32 rows, column, byte] → [byte, row]
                columns.append(group[0].transpose(2, 1, 0).reshape(count, -1)[:, : extent // halves])
            factors = scale_values(np.concatenate(columns, axis=1), inst.scale)
            result.append(matrix * np.repeat(factors, block, axis=0))
        return result[0], result[1]


@instruction("tcgen05.mma")
def mma(ctx: Context) -> Execute:
    """tcgen05.mma.cta_group.kind{.block_scale{.scale_vec}}{.ashift}{.collector} [d], a, b, idesc{, [sa], [sb]}
    {, lanes}, enable{, shift}."""
    return _Product(ctx, stationary=False).execute


@instruction("tcgen05.mma.ws")
def mma_stationary(ctx: Context) -> Execute:
    """tcgen05.mma.ws.cta_group::1.kind{.collector} [d], a, b, idesc, enable{, zero-column mask}."""
    return _Product(ctx, stationary=True).execute


@instruction("tcgen05.mma.sp", "tcgen05.mma.ws.sp")
def sparse(ctx: Context) -> Execute:
    """Sparse tcgen05.mma: rejected."""
    raise ctx.error("multiplies a sparse matrix, which the simulated GPU does not; expected tcgen05.mma")
