"""tileaa-drop-batches: the product of a batch of one matrix becomes a product of matrices.

    %s = scf.for … iter_args(%acc = %z : 1x64x64) {         %s = scf.for … iter_args(%acc = %z : 64x64) {
      %a = tiled_load … : 1x64x32                             %a = reshape (tiled_load … : 1x64x32) : 64x32
      %b = tiled_load … : 1x32x64                    ──▶      %b = reshape (tiled_load … : 1x32x64) : 32x64
      %d = dot %a, %b, %acc                                   %d = dot %a, %b, %acc
      yield %d }                                              yield %d }

Programs have such batches where a tile of an array of three dimensions is multiplied as it is.  wgmma and tcgen05.mma
multiply matrices, and all passes that prepare products for them know matrices only.

The axis is dropped from every tile that is connected with the product: around loops and out of branches, in elementwise
ops, in reductions of other axes.  Where that ends, such as at an access, a reshape adds or drops it, which moves no
data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, i32
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.planning.kernel import kernels

_MATRIX = 2
"""The rank of a matrix."""


class DropBatches(Pass):
    """Make products of matrices of those of batches of one."""

    name: ClassVar = "tileaa-drop-batches"
    summary: ClassVar = "make products of matrices of those of batches of one matrix"
    requires: ClassVar = "nv_tileaa ops"
    ensures: ClassVar = "no product has a batch of one matrix"
    statistics: ClassVar = {"dropped": "products that had a batch of one matrix"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            dots = [
                inner for inner in function.walk() if isinstance(inner, nv_tileaa.Dot) and _is_lone(inner)
            ]
            if dots and _is_structured(function):
                _Batch(function, dots).drop()
                context.count("dropped", len(dots))
                changed = True
        return changed


def _is_lone(dot: nv_tileaa.Dot) -> bool:
    return dot.c.type.rank > _MATRIX and dot.c.type.shape[0] == 1


def _is_structured(function: nv_tileaa.Func) -> bool:
    """Whether values are passed on by structured control flow only."""
    ops: list[Operation] = [function, *function.walk()]
    return all(len(region.blocks) < 2 for op in ops for region in op.regions)


class _Batch:
    """The tiles of a function that are connected with its products of batches of one matrix."""

    def __init__(self, function: nv_tileaa.Func, dots: list[nv_tileaa.Dot]) -> None:
        self.ops = [*function.walk()]
        self.following = {op for op in self.ops if _follows(op)}
        self.tied: dict[Value, list[Value]] = {}
        """The tiles that one may be equal to, because loops and branches pass them on."""
        self.passed_on: set[Value] = set()
        """The results and arguments of loops and branches."""
        for op in self.ops:
            for target, sources in flow_of(op):
                self.passed_on.add(target)
                for source in sources:
                    self.tied.setdefault(target, []).append(source)
                    self.tied.setdefault(source, []).append(target)
        self.tiles: dict[Value, None] = {}
        """The tiles whose first axis is dropped."""
        work = [value for dot in dots for value in (*dot.operands, dot.res)]
        while work:
            value = work.pop()
            if value in self.tiles or not _has_lone_axis(value):
                continue
            self.tiles[value] = None
            work += self.tied.get(value, [])
            around = [value.defining_op, *(use.owner for use in value.uses)]
            work += [other for op in around if op in self.following for other in _tiles_of(op)]

    def drop(self) -> None:
        """Change the types, and add reshapes where tiles keep the axis."""
        for value in self.tiles:
            op = value.defining_op
            if value in self.passed_on or (op is not None and (op in self.following or _can_make(op))):
                self._retype(value)
            else:
                self._flatten(value)
        for op in self.ops:
            if op in self.following and any(value in self.tiles for value in op.results):
                _shift_axes(op)
            elif isinstance(op, nv_tileaa.Reshape) and op.source.type is op.res.type:
                op.res.replace_all_uses_with(op.source)
                op.erase()

    def _retype(self, value: Value) -> None:
        """Drop the axis of a tile; ops that do not follow take it with the axis."""
        old = value.type_as(RankedTensorType)
        users = [use for use in value.uses if not self._takes(use.owner)]
        value.type = _dropped(old)
        op = value.defining_op
        if isinstance(op, arith.Constant | nv_tileaa.ConstantTensor) and isinstance(
            op.value, DenseElementsAttr
        ):
            op.attributes["value"] = DenseElementsAttr(value.type, op.value.data)
        if users:
            back = _after(value).insert(nv_tileaa.Reshape(value, res=old, location=value.location)).res
            for use in users:
                use.owner.set_operand(use.index, back)

    def _flatten(self, value: Value) -> None:
        """Let the ops that follow take a tile that another op makes without its axis."""
        users = [use for use in value.uses if self._takes(use.owner)]
        type = _dropped(value.type_as(RankedTensorType))
        flat = _after(value).insert(nv_tileaa.Reshape(value, res=type, location=value.location)).res
        for use in users:
            use.owner.set_operand(use.index, flat)

    def _takes(self, op: Operation) -> bool:
        """Whether an op takes a tile of these without its axis."""
        if op.has_trait(Terminator):
            return not isinstance(op, nv_tileaa.Return)
        return bool(flow_of(op)) or op in self.following or isinstance(op, nv_tileaa.Reshape)


def _has_lone_axis(value: Value) -> bool:
    type = value.type
    return isinstance(type, RankedTensorType) and type.rank >= _MATRIX and type.shape[0] == 1


def _dropped(type: RankedTensorType) -> RankedTensorType:
    return RankedTensorType(type.shape[1:], type.element)


def _tiles_of(op: Operation) -> Iterator[Value]:
    return (v for v in (*op.operands, *op.results) if isinstance(v.type, RankedTensorType))


def _follows(op: Operation) -> bool:
    """Whether an op does the same to tiles without their first axis, if all its tiles have one of one element."""
    if isinstance(op, nv_tileaa.Permute):
        kept = op.permutation.values[0] == 0
    elif isinstance(op, nv_tileaa.Reduce | nv_tileaa.Scan):
        kept = op.axis.value > 0
    elif isinstance(op, nv_tileaa.Dot):
        # A matrix of one row is no batch.
        kept = _is_lone(op)
    else:
        kept = isinstance(op, nv_tileaa.Broadcast) or (
            is_elementwise(op) and not op.regions and bool(op.operands)
        )
    return kept and all(map(_has_lone_axis, _tiles_of(op)))


def _can_make(op: Operation) -> bool:
    """Whether an op makes a tile of any shape."""
    if isinstance(op, arith.Constant | nv_tileaa.ConstantTensor):
        return isinstance(op.attributes["value"], DenseElementsAttr)
    return isinstance(op, nv_tileaa.Splat | nv_tileaa.Reshape)


def _shift_axes(op: Operation) -> None:
    """Let the attributes of an op name the axes without the first."""
    if isinstance(op, nv_tileaa.Permute):
        order = DenseArrayAttr(I64, tuple(axis - 1 for axis in op.permutation.values[1:]))
        op.attributes["permutation"] = order
    elif isinstance(op, nv_tileaa.Reduce | nv_tileaa.Scan):
        op.attributes["axis"] = i32(op.axis.value - 1)


def _after(value: Value) -> Builder:
    """A builder behind the op that makes a value, or at the start of its block."""
    if value.defining_op is not None:
        return Builder.after(value.defining_op)
    block = value.owner_block
    assert block is not None
    return Builder.at_start(block, value.location)
