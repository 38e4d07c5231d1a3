"""The cost of an op on tiles for one SM: the cycles for which it occupies each resource, and its latency.

    nv_tileas.dot 128x128x64 f16, mma.sync, sm_90  →  tensor 813, shared 512, issue 128; latency 838

All warps of the CTA work on each tile.  A resource is occupied for the work divided by the rate (target/throughput.py);
the model has no waiting between ops.  Scalars, views and tokens cost nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from tessera_tools.analysis.hints import hint
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.atoms import MmaAtom
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileas.base import SmemType
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import FloatType, RankedTensorType, Type
from tessera_tools.records import dataclass, field
from tessera_tools.target import Target
from tessera_tools.target.throughput import Throughput, throughput

if TYPE_CHECKING:
    from tessera_tools.dialects import nv_tileas

__all__ = [
    "RARELY_ELSE",
    "RESOURCES",
    "USUAL_LATENCY",
    "Cost",
    "async_product_cost",
    "box_load_cost",
    "cost_of",
    "in_threads",
    "load_latency",
    "staged_read_cost",
]

RESOURCES: Mapping[str, str] = {
    "tensor": "tensor cores",
    "memory": "bytes from and to global memory",
    "shared": "bytes from and to shared memory",
    "special": "elementary functions (MUFU)",
    "fma": "floating-point lanes",
    "integer": "integer lanes",
    "convert": "conversions of formats",
    "issue": "issue slots",
    "threads": "instructions of the consumer warps, one op at a time",
    "correction": "instructions of the warps that change sums, one op at a time",
    "multiplier": "starts of products",
}
"""Descriptions of the resources of an SM."""

RARELY_ELSE = "nv_tileas.rarely_else"
"""A unit attribute of an `scf.if`: its else block runs so seldom that a schedule does not count it."""
USUAL_LATENCY = 5
"""The hint `latency`, 1 for few accesses of DRAM to 10 for many, that stands for the latency of the target's table."""
LANES = 32
_BUTTERFLY_STEPS = 5
"""Exchanges between the lanes of a warp for one result; each has about the latency of a load from shared memory."""
_SPECIAL = {
    "math.exp": 1, "math.exp2": 1, "math.log": 1, "math.log2": 1, "math.log10": 1, "math.rsqrt": 1, "math.sqrt": 2,
    "math.tanh": 2, "math.sin": 1, "math.cos": 1, "math.tan": 3, "math.powf": 2, "arith.divf": 1, "arith.remf": 1,
    "nv_tileaa.divf": 1, "nv_tileaa.exp": 1, "nv_tileaa.exp2": 1, "nv_tileaa.sqrt": 2, "nv_tileaa.rsqrt": 1,
    "nv_tileaa.tanh": 1,
}  # fmt: skip
"""Instructions on the MUFU for each element."""
_LONG = {"arith.divsi": 20, "arith.divui": 20, "arith.remsi": 20, "arith.remui": 20, "arith.divf": 8, "arith.remf": 30,
         "nv_tileaa.divf": 8, "math.sin": 10, "math.cos": 10, "math.tan": 20, "math.powf": 30,
         "math.log": 4, "math.log10": 4, "math.exp": 2, "nv_tileaa.exp": 2}  # fmt: skip
"""Other instructions for each element, if not one."""
_USUAL_BITS = 32
"""The width of an access whose atom does not say it, such as an atomic."""
_FREE = frozenset(
    {
        "arith.constant", "nv_tileaa.reshape", "nv_tileaa.permute", "nv_tileaa.broadcast", "nv_tileaa.splat",
        "nv_tileaa.unsplat", "nv_tileaa.iota", "nv_tileaa.constant_tensor", "nv_tileaa.assume", "nv_tileas.slice",
        "arith.bitcast", "nv_tileaa.cat", "nv_tileaa.extract", "scf.yield",
    }
)  # fmt: skip
"""Ops that rename registers, or whose tiles are constants."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles by resource, and cycles until the result is available."""

    cycles: Mapping[str, int] = field(default_factory=dict)
    latency: int = 0
    asynchronous: bool = False
    """The warps continue before the result is available: loads from global memory, wgmma products."""


_ROWS = {"wgmma": 64, "tcgen05": 128}
"""Rows of an instruction, or of what takes as long."""


def async_product_cost(
    op: nv_tileas.Dot | nv_tileas.AsyncDot, columns: int, target: Target, primitive: str = "wgmma"
) -> Cost:
    """The cost of a product by wgmma or tcgen05, of `columns` columns an instruction; it is started without waiting."""
    rates = throughput(target)
    a, b, c = op.a.type, op.b.type, op.c.type
    steps = _over(c.shape[-2], _ROWS[primitive])
    work = steps * _ROWS[primitive] * prod(c.shape[:-2]) * c.shape[-1] * a.shape[-1]
    tensor = _over(work, rates.tensor(primitive, storage_bits(a.element)))
    read = _bytes(a) * _over(c.shape[-1], columns) + _bytes(b) * steps
    return Cost(
        {"tensor": tensor, "shared": _over(read, rates.shared_bytes)}, tensor + rates.mma_latency, True
    )


def box_load_cost(op: Operation, target: Target) -> Cost:
    """The cost of a TMA load, which another agent starts."""
    rates = throughput(target)
    moved = _over(
        max(_bytes(v.type) for v in op.results if isinstance(v.type, RankedTensorType)), rates.memory_bytes
    )
    return Cost({"memory": moved}, moved + load_latency(op, target), True)


def staged_read_cost(op: Operation, target: Target) -> Cost:
    """The cost of reading a tile that another agent has brought to shared memory."""
    rates = throughput(target)
    read = _over(
        max(_bytes(v.type) for v in op.results if isinstance(v.type, RankedTensorType)), rates.shared_bytes
    )
    return Cost({"shared": read}, read + rates.shared_latency)


def load_latency(op: Operation, target: Target) -> int:
    """Cycles until the data of a load come: those of DRAM, times what the author's hint says of the traffic there."""
    return throughput(target).memory_latency * (hint(op, "latency") or USUAL_LATENCY) // USUAL_LATENCY


def in_threads(cost: Cost) -> Cost:
    """The cost of an op that occupies its warps until it completes."""
    if not cost.cycles:
        return cost
    return Cost({**cost.cycles, "threads": max(cost.cycles.values())}, cost.latency, cost.asynchronous)


def cost_of(op: Operation, target: Target) -> Cost:
    """The cost of an op including its regions (each counted once, one that rarely runs not at all)."""
    rates = throughput(target)
    if isinstance(op, nv_tileaa.Reduce | nv_tileaa.Scan):
        return _combination(op, rates)
    if op.regions:
        regions = op.regions[:1] if RARELY_ELSE in op.attributes else op.regions
        inner = [cost_of(o, target) for region in regions for block in region.blocks for o in block]
        if RARELY_ELSE in op.attributes:
            inner.append(Cost({"issue": 1}, rates.arithmetic_latency))
        total: Counter[str] = Counter()
        for one in inner:
            total.update(one.cycles)
        return Cost(dict(total), sum(one.latency for one in inner))
    return _Costs(op, target).cost()


def _combination(op: Operation, rates: Throughput) -> Cost:
    """A reduction or a scan: each op of the region once for each element, then a butterfly over lanes and warps."""
    elements = sum(prod(v.type.shape) for v in op.operands if isinstance(v.type, RankedTensorType))
    work = elements * max(len(op.regions[0].entry) - 1, 1)
    cycles = {"fma": _over(work, rates.fma), "issue": _over(work, LANES * rates.issue)}
    return Cost(cycles, max(cycles.values()) + _BUTTERFLY_STEPS * rates.shared_latency)


class _Costs:
    """The cost of one op without regions."""

    def __init__(self, op: Operation, target: Target) -> None:
        self.op, self.target, self.rates = op, target, throughput(target)
        self.tiles = [v.type for v in (*op.results, *op.operands) if isinstance(v.type, RankedTensorType)]

    def cost(self) -> Cost:
        name = self.op.name
        if not self.tiles or name in _FREE:
            return Cost()
        if name in ("nv_tileas.dot", "nv_tileaa.dot"):
            return self._product()
        if name.endswith((".tiled_load", ".tiled_store")) or name in (
            "nv_tileaa.load", "nv_tileaa.store", "nv_tileaa.atomic_rmw", "nv_tileaa.atomic_cas",
            "nv_tileaa.atomic_load", "nv_tileaa.atomic_store",
        ):  # fmt: skip
            return self._access("load" in name)
        if name == "nv_tileas.convert_layout":
            return self._conversion()
        return self._elementwise()

    def _product(self) -> Cost:
        assert isinstance(self.op, nv_tileaa.Dot | nv_tileas.Dot)
        a, b, c = self.op.a.type, self.op.b.type, self.op.c.type
        depth = a.shape[-1]
        atom = self.op.attributes.get("atom")
        primitive = atom.primitive if isinstance(atom, MmaAtom) else "mma"
        rate = self.rates.tensor(primitive, storage_bits(a.element))
        work = prod(c.shape) * depth
        if primitive == "fma":
            cycles = _over(work, rate)
            return Cost({"fma": cycles, "issue": _over(work, LANES * self.rates.issue)}, cycles)
        tensor = _over(work, rate)
        # Each operand is read once for every 64 rows or columns of the other side of the accumulator.
        read = _bytes(a) * _over(c.shape[-1], 64) + _bytes(b) * _over(c.shape[-2], 64)
        cycles = {"tensor": tensor, "shared": _over(read, self.rates.shared_bytes)}
        if primitive == "mma":
            m, n, k = atom.mnk if isinstance(atom, MmaAtom) else (16, 8, 16)
            cycles["issue"] = _over(work, m * n * k * self.rates.issue)
        return Cost(cycles, tensor + self.rates.mma_latency)

    def _access(self, loads: bool) -> Cost:
        size = max(_bytes(t) for t in self.tiles if not _is_pointer(t))
        atom = self.op.attributes.get("copy_atom", self.op.attributes.get("atom"))
        width = getattr(atom, "bits", 0) or _USUAL_BITS
        moved = _over(size, self.rates.memory_bytes)
        instructions = _over(size * 8, width * LANES)
        cycles = {"memory": moved, "issue": _over(instructions, self.rates.issue)}
        return Cost(cycles, moved + load_latency(self.op, self.target) if loads else 0, asynchronous=loads)

    def _conversion(self) -> Cost:
        moved = _over(2 * _bytes(self.tiles[0]), self.rates.shared_bytes)
        instructions = _over(2 * _bytes(self.tiles[0]), 16 * LANES * self.rates.issue)
        return Cost({"shared": moved, "issue": instructions}, moved + 2 * self.rates.shared_latency)

    def _elementwise(self) -> Cost:
        op = self.op
        count = max(prod(t.shape) for t in self.tiles)
        special, others = _SPECIAL.get(op.name, 0), _LONG.get(op.name, 0 if op.name in _SPECIAL else 1)
        narrows = op.name in ("arith.truncf", "nv_tileaa.truncf_satfinite", "arith.fptosi", "arith.fptoui")
        lane = "fma" if isinstance(self.tiles[0].element, FloatType) else "integer"
        cycles = {"issue": _over(count * (special + others), LANES * self.rates.issue)}
        if special:
            cycles["special"] = _over(count * special, self.rates.special)
        if narrows:
            cycles["convert"] = _over(count, self.rates.convert)
        elif others:
            cycles[lane] = _over(count * others, self.rates.fma if lane == "fma" else self.rates.integer)
        return Cost(cycles, max(cycles.values()) + self.rates.arithmetic_latency)


def _bytes(type: RankedTensorType | SmemType) -> int:
    return prod(type.shape) * max(storage_bits(type.element), 8) // 8


def _is_pointer(type: Type) -> bool:
    return not isinstance(type, RankedTensorType) or isinstance(type.element, PointerType)


def _over(amount: int, rate: int) -> int:
    """Cycles for an amount of work, rounded up."""
    return -(-amount // rate)
