"""From tiles to the parts of one CTA: types, indices of accesses, and who else gets a tile.

tiled_load %v[%i, %j] : tensor<256x64xf16>, rows split        tiled_load %v[%i + 128 · rank, %j] : tensor<128x64xf16>
iota : tensor<256xi32>, split                                 iota : tensor<128xi32> + 128 · rank
tiled_store of a tile that several CTAs have                  if the other bits of the rank are 0 { tiled_store }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.dialects.nv_tileas import IN_STEP, SHARED_BY
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr, i32, i64
from tessera_tools.ir.core import Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.types import I64, IntegerType, RankedTensorType
from tessera_tools.passes.tileas.cluster_programs import guard
from tessera_tools.passes.tileas.cta_layouts import Blocks, part_shape, retype, shared_bits
from tessera_tools.passes.tileas.part_indices import part_index
from tessera_tools.planning.dot_layouts import piece_of, warp_grid
from tessera_tools.planning.kernel import kernel_spec
from tessera_tools.planning.layout_rules import is_tile

PARTS = "nv_tileas.cluster_parts"
"""The attribute of a kernel with the parts along rows and columns that an option asks for."""
SPLIT = "nv_tileas.split_over_cluster"
"""The attribute of a loop each of whose iterations is executed by one CTA of a cluster."""
WARPS_ALONE = "nv_tileas.warps_without_cluster"
"""The attribute of a kernel with the warps that it has if it cannot have the cluster that its author hints at."""


def refuse(function: nv_tileaa.Func) -> None:
    """Leave a kernel without a cluster, with the warps that whole tiles need."""
    alone = function.attributes.pop(WARPS_ALONE, None)
    warps = alone.value if isinstance(alone, IntegerAttr) else kernel_spec(function).num_warps
    function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(warps)
    set_grids(function, warps)


def set_grids(root: Operation, warps: int) -> None:
    """Let each chained product in an op have the grid of the warps that run it."""
    for op in root.walk():
        if isinstance(op, nv_tileas.Dot) and op.warps is not None:
            set_grid(op, op.c.type.shape, warps)


def set_grid(op: nv_tileas.Dot, shape: Sequence[int], warps: int) -> None:
    """The grid of warps of a chained product over sums of that shape."""
    op.warps = DenseArrayAttr(I64, warp_grid(shape, warps, piece_of(op.atom), along_rows=True))


def commit(function: nv_tileaa.Func, blocks: Mapping[Value, Blocks], bits: int) -> list[Operation]:
    """Rewrite a kernel to the parts of one CTA; returns the loads whose tiles several CTAs get."""
    return _Parts(function, blocks, bits).run()


class _Parts:
    def __init__(self, function: nv_tileaa.Func, blocks: Mapping[Value, Blocks], bits: int) -> None:
        self.function, self.blocks, self.bits = function, blocks, bits
        self.given: dict[Value, Blocks] = {}
        """The parts of tiles that are made here."""
        self.builder = Builder.at_start(function.body.entry, function.location)
        self.rank = self.builder.insert(nv_tileas.CtaRank()).res
        self.facts = Facts()
        self.known: dict[tuple[tuple[int, int], ...], Value] = {}

    def run(self) -> list[Operation]:
        shared: list[Operation] = []
        for op in list(self.function.walk()):
            # Operands first, while the types of results are those of whole tiles.
            if isinstance(op, nv_tileas.TiledLoad):
                own = self.of(op.res)
                self.move(op, op.res.type.shape, own)
                if (by := shared_bits(own)) != 0 and not self.is_split(op):
                    op.attributes[SHARED_BY] = i64(by)
                    shared.append(op)
            elif isinstance(op, nv_tileas.TiledStore):
                own = self.of(op.value)
                self.move(op, op.value.type.shape, own)
                self.only_one(op, shared_bits(own))
            elif isinstance(op, nv_tileaa.Store):
                value = op.value
                self.only_one(op, shared_bits(self.of(value)) if is_tile(value) else (1 << self.bits) - 1)
            elif op.name == "nv_tileas.tiled_prefetch":
                continue
            elif isinstance(op, nv_tileaa.Iota):
                self.count_on(op)
            elif isinstance(op, nv_tileaa.Reduce):
                self.exchange(op)
            elif isinstance(op, nv_tileas.Dot) and op.warps is not None:
                shape = part_shape(op.c.type.shape, self.of(op.res))
                assert shape is not None
                set_grid(op, shape, kernel_spec(self.function).num_warps)
            if isinstance(op, nv_tileas.Dot) and not self.is_split(op):
                # All CTAs run the same program.
                op.attributes[IN_STEP] = i64((1 << self.bits) - 1)
        for op in self.function.walk():
            op.attributes.pop(SPLIT, None)
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
                if is_tile(value):
                    self.shrink(value)
        return shared

    def is_split(self, op: Operation) -> bool:
        """Whether the CTAs of the cluster execute an op in iterations of their own."""
        outer = op.parent_op
        while outer is not None and SPLIT not in outer.attributes:
            outer = outer.parent_op
        return outer is not None

    def of(self, value: Value[RankedTensorType]) -> Blocks:
        return self.blocks.get(value) or self.given.get(value) or ((0,) * value.type.rank,) * self.bits

    def shrink(self, value: Value) -> None:
        own = self.blocks.get(value) or self.given.get(value)
        if own is None:
            return
        type = value.type_as(RankedTensorType)
        shape = part_shape(type.shape, own)
        assert shape is not None
        retype(value, RankedTensorType(shape, type.element))

    def start(self, own: Blocks, axis: int) -> Value | None:
        """Where the part of this CTA begins along an axis; None at 0."""
        steps = tuple((bit, basis[axis]) for bit, basis in enumerate(own) if basis[axis])
        if not steps:
            return None
        if steps not in self.known:
            self.known[steps] = self.begin(steps)
        return self.known[steps]

    def begin(self, steps: tuple[tuple[int, int], ...]) -> Value:
        """The sum of the steps whose bits of the rank are set: bits that lie next to each other are one number, if each
        step is twice the one before it."""
        b = self.builder
        runs = [[steps[0]]]
        for before, (bit, step) in pairwise(steps):
            if (bit, step) == (before[0] + 1, before[1] * 2):
                runs[-1].append((bit, step))
            else:
                runs.append([(bit, step)])
        total: Value | None = None
        for run in runs:
            first, step = run[0]
            number: Value = self.rank
            if first:
                number = b.insert(arith.ShRUI(number, self.constant(first))).results[0]
            number = b.insert(arith.AndI(number, self.constant((1 << len(run)) - 1))).results[0]
            number = b.insert(arith.MulI(number, self.constant(step))).results[0]
            total = number if total is None else b.insert(arith.AddI(total, number)).results[0]
        assert total is not None
        return total

    def constant(self, value: int) -> Value:
        return self.builder.insert(arith.Constant(i32(value))).results[0]

    def move(self, op: nv_tileas.TiledLoad | nv_tileas.TiledStore, shape: Sequence[int], own: Blocks) -> None:
        """Access the part of this CTA, of a tile of that shape."""
        before = Builder.before(op)
        for axis, (index, extent) in enumerate(zip(op.indices, shape, strict=True)):
            start = self.start(own, axis)
            if start is not None:
                op.set_operand(1 + axis, part_index(index, start, extent, self.facts, before, op.location))

    def count_on(self, op: nv_tileaa.Iota) -> None:
        start = self.start(self.of(op.res), 0)
        if start is None:
            return
        type = op.res.type
        element = type.element
        assert isinstance(element, IntegerType)
        width = element.width
        after = Builder.before(op.next_op)  # type: ignore[arg-type]
        if width > 32:
            start = after.insert(arith.ExtUI(start, out=element)).results[0]
        elif width < 32:
            start = after.insert(arith.TruncI(start, out=element)).results[0]
        part = RankedTensorType(part_shape(type.shape, self.of(op.res)) or (), element)
        tile = after.insert(nv_tileaa.Splat(start, res=part, location=op.location)).results[0]
        made = arith.AddI(op.res, tile, location=op.location)
        after.insert(made)
        op.res.replace_all_uses_with(made.results[0], keep=lambda use: use.owner is made)
        self.given[made.results[0]] = self.of(op.res)

    def exchange(self, op: nv_tileaa.Reduce) -> None:
        """Combine the results of the CTAs that have parts of the same lines."""
        axis = op.axis.value
        bits = sum(1 << bit for bit, basis in enumerate(self.of(op.sources[0])) if basis[axis])
        if not bits:
            return
        region = Region()
        op.body.clone_into(region, IRMapping())
        made = nv_tileas.ClusterReduce.create(
            list(op.results), op.result_types, {"bits": i64(bits)}, [region], location=op.location
        )
        assert op.parent is not None
        op.parent.insert_after(op, made)
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new, keep=lambda use: use.owner is made)
            if old in self.blocks:
                self.given[new] = self.blocks[old]

    def only_one(self, op: Operation, shared: int) -> None:
        """Of the CTAs that have the same tile, the first stores it."""
        if not shared:
            return
        before = Builder.before(op)
        own = before.insert(arith.AndI(self.rank, self.constant(shared))).results[0]
        predicate = IntegerAttr(CMPI_PREDICATES.index("eq"), I64)
        first = before.insert(arith.CmpI(predicate, own, self.constant(0))).results[0]
        guard(op, first)
