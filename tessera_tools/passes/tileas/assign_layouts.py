"""tileas-assign-layouts: every tensor value gets a layout; conversions stand where a use wants another.

Values that must agree (operands and results of an elementwise op, what flows around a loop) form a class.  An anchor in
the class decides: a dot's accumulator, else a memory access, else the default.  Dot operands have the layouts that the
instruction prescribes; loads and stores keep coalesced layouts of their own in classes that a dot decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeGuard

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.diagnostics import error
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import LinearAttr
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Builder, Operation, OpOperand, Value
from tessera_tools.ir.types import RankedTensorType, Type
from tessera_tools.layout import LinearLayout, blocked, transpose
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.dot_layouts import dot_layouts
from tessera_tools.passes.tileas.kernel import kernel_spec, kernels

MOST_ELEMENTS = 1024
"""Elements of one tile in one thread beyond which a kernel would be spills and little else."""


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Give every tensor a layout."""

    name: ClassVar = "tileas-assign-layouts"
    summary: ClassVar = "give every tensor a layout"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops and a kernel_spec on each kernel"
    ensures: ClassVar = "every ranked tensor in a kernel carries a #nv_tileas.linear encoding"
    statistics: ClassVar = {"conversions": "layout conversions inserted"}

    def run(self, op: Operation, context: PassContext) -> None:
        for function in kernels(op):
            context.count("conversions", Assignment(function, kernel_spec(function).num_warps).run())


@lru_cache(maxsize=256)
def coalesced(type: RankedTensorType, vector: int, warps: int, axis: int | None = None) -> LinearLayout:
    """Threads along `axis` (the last) first, `vector` elements each, so that a warp touches whole lines."""
    rank = type.rank
    fast = rank - 1 if axis is None else axis
    order = [fast, *(i for i in range(rank - 1, -1, -1) if i != fast)]
    size = [1] * rank
    size[fast] = min(vector, type.shape[fast])
    lanes, warps_left = 32, warps
    threads, per_cta = [1] * rank, [1] * rank
    for i in order:
        room = max(1, type.shape[i] // size[i])
        threads[i] = min(lanes, room)
        lanes //= threads[i]
    threads[order[-1]] *= lanes
    for i in reversed(order):
        room = max(1, type.shape[i] // (size[i] * threads[i]))
        per_cta[i] = min(warps_left, room)
        warps_left //= per_cta[i]
    per_cta[order[-1]] *= warps_left
    return blocked(type.shape, size, threads, per_cta, order)


class Assignment:
    """One function's classes, their layouts, and the rewriting of types."""

    def __init__(self, function: Operation, warps: int) -> None:
        self.function = function
        self.warps = warps
        self.parent: dict[Value, Value] = {}
        self.anchors: dict[Value, tuple[int, LinearLayout]] = {}
        self.conversions = 0

    # -- classes

    def find(self, value: Value) -> Value:
        root = value
        while (up := self.parent.get(root, root)) is not root:
            root = up
        while (up := self.parent.get(value, value)) is not root:
            self.parent[value] = root
            value = up
        return root

    def union(self, a: Value, b: Value) -> None:
        """Put two tensors into one class (of shapes that agree)."""
        ra, rb = self.find(a), self.find(b)
        if ra is rb:
            return
        self.parent[rb] = ra
        anchor = self.anchors.pop(rb, None)
        if anchor is not None:
            self.propose(ra, *anchor)

    def propose(self, value: Value, strength: int, layout: LinearLayout) -> None:
        """Offer a layout for a value's class; the strongest, and of equals the first, wins."""
        root = self.find(value)
        old = self.anchors.get(root)
        if old is None or strength > old[0]:
            self.anchors[root] = (strength, layout)

    # -- the pass

    def run(self) -> int:
        """Assign layouts; the number of conversions inserted."""
        ops = list(self.function.walk())
        for op in ops:
            self.constrain(op)
        for op in ops:
            self.anchor(op)
        for op in ops:
            for result in op.results:
                self.set_type(result)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        self.set_type(argument)
        for op in ops:
            self.settle(op)
        return self.conversions

    def constrain(self, op: Operation) -> None:
        """Which values of an op share a layout."""
        if isinstance(op, scf.For):
            body = op.regions[0].blocks[0]
            terminator = body.last_op
            assert terminator is not None
            for init, argument, back, result in zip(
                op.operands[3:], body.arguments[1:], terminator.operands, op.results, strict=True
            ):
                if _is_tile(result):
                    for value in (init, argument, back):
                        self.union(result, value)
        elif isinstance(op, scf.If):
            for region in op.regions:
                last = region.blocks[0].last_op if region.blocks else None
                for result, value in zip(op.results, last.operands if last is not None else (), strict=False):
                    if _is_tile(result):
                        self.union(result, value)
        elif op.regions and any(_is_tile(v) for v in (*op.operands, *op.results)):
            raise op.error(
                "carries tiles, and has no layout assignment in this version; scf.for and scf.if have one"
            )
        elif isinstance(op, nv_tileas.Dot):
            self.union(op.res, op.c)
        elif _is_elementwise(op):
            tiles = [v for v in (*op.operands, *op.results) if _is_tile(v)]
            for value in tiles[1:]:
                self.union(tiles[0], value)

    def anchor(self, op: Operation) -> None:
        """What an op wants its class to be."""
        if isinstance(op, nv_tileas.Dot):
            self.propose(op.res, 3, dot_layouts(op, self.warps)[2])
        elif isinstance(op, nv_tileas.TiledLoad):
            self.propose(op.res, 2, self.access_layout(op, op.res.type))
        elif isinstance(op, nv_tileas.TiledStore):
            self.propose(op.value, 1, self.access_layout(op, op.value.type))

    def access_layout(self, op: Any, type: RankedTensorType) -> LinearLayout:
        """The coalesced layout for a memory access, as wide as its atom says."""
        view = op.view.defining_op
        axis = None
        if isinstance(view, nv_tileaa.MakeMemRef):
            axis = contiguous_axis(view)
        return coalesced(type, max(1, op.atom.bits // storage_bits(type.element)), self.warps, axis)

    def layout(self, value: Value) -> LinearLayout:
        """The layout of a value's class."""
        anchor = self.anchors.get(self.find(value))
        if anchor is not None:
            return anchor[1]
        type = value.type
        assert isinstance(type, RankedTensorType)
        source = value.defining_op
        if isinstance(source, nv_tileaa.Permute):
            layout = transpose(self.layout(source.source), source.permutation.values)
        else:
            layout = coalesced(type, max(1, min(4, 128 // storage_bits(type.element))), self.warps)
        self.anchors[self.find(value)] = (0, layout)
        return layout

    def set_type(self, value: Value) -> None:
        if _has_no_layout(value.type):
            elements = value.type.num_elements // (32 * self.warps)
            if elements > MOST_ELEMENTS:
                raise error(
                    value.location,
                    f"a tile of type {value.type} puts {elements} elements in each of {32 * self.warps} threads; "
                    f"at most {MOST_ELEMENTS} are compiled, since a thread has 255 registers: use a smaller tile, or "
                    'more warps (--convert-tileaa-to-tileas="num-warps=…")',
                )
            value.type = nv_tileas.with_layout(value.type, self.layout(value))

    def settle(self, op: Operation) -> None:
        """Insert the conversions that an op's operands or results need."""
        if isinstance(op, nv_tileas.Dot):
            a, b, _ = dot_layouts(op, self.warps)
            self.convert_use(op.op_operands[0], a)
            self.convert_use(op.op_operands[1], b)
        elif isinstance(op, nv_tileaa.Permute):
            wanted = transpose(nv_tileas.layout_of(op.source.type), op.permutation.values)
            self.convert_result(op, 0, wanted)
        elif isinstance(op, nv_tileas.TiledLoad):
            self.convert_result(op, 0, self.access_layout(op, op.res.type))
        elif isinstance(op, nv_tileas.TiledStore):
            field = type(op).value
            self.convert_use(op.op_operands[field.span(op)[0]], self.access_layout(op, op.value.type))
        elif op.name == "arith.constant" and _is_tile(op.results[0]):
            value = op.attributes["value"]
            assert isinstance(value, DenseElementsAttr)
            op.attributes["value"] = DenseElementsAttr(op.results[0].type, value.data)

    def convert_use(self, use: OpOperand, layout: LinearLayout) -> None:
        value = use.value
        if nv_tileas.layout_of(value.type) == layout:
            return
        conversion = nv_tileas.ConvertLayout(value, res=nv_tileas.with_layout(value.type, layout))  # type: ignore[arg-type]
        Builder.before(use.owner).insert(conversion)
        use.set(conversion.results[0])
        self.conversions += 1

    def convert_result(self, op: Operation, index: int, layout: LinearLayout) -> None:
        """The op makes `layout`; its users go on seeing the class's layout."""
        result = op.results[index]
        if nv_tileas.layout_of(result.type) == layout:
            return
        seen = result.type
        result.type = nv_tileas.with_layout(seen, layout)  # type: ignore[arg-type]
        conversion = nv_tileas.ConvertLayout(result, res=seen)
        Builder.after(op).insert(conversion)
        result.replace_all_uses_with(conversion.results[0], keep=lambda use: use.owner is conversion)
        self.conversions += 1


def _is_tile(value: Value) -> bool:
    return isinstance(value.type, RankedTensorType)


def _has_no_layout(type: Type) -> TypeGuard[RankedTensorType]:
    return isinstance(type, RankedTensorType) and type.encoding is None


def _is_elementwise(op: Operation) -> bool:
    return op.name.partition(".")[0] in ("arith", "math") and any(_is_tile(r) for r in op.results)


__all__ = ["AssignLayouts", "LinearAttr", "coalesced"]
