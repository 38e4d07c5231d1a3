"""A product of deep factors adds its terms in parts, for tileas-cut-products.

    a = load 64x512                         d = for p in 0..4 iter_args(acc = c) {
    b = load 512x128                  ──▶     dot (load a[:, 128 p:] : 64x128), (load b[128 p:, :] : 128x128), acc }
    d = dot a, b, c : 64x128

A pipeline needs two stages of both factors, for which an SM has no room here.  A factor that is loaded once, outside of
the loop of the product, is then loaded for each product; what is behind the product has all sums, as before.
"""

from __future__ import annotations

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.liveness import erase_unused
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.part_indices import move_to_part
from tessera_tools.passes.tileas.products import has_room
from tessera_tools.target import Target

_FEWEST_BYTES = 128
"""Of a row of a part: those that TMA swizzles."""


def cut_terms(dot: nv_tileas.Dot, target: Target) -> nv_tileas.Dot:
    """Let a loop around a product add the terms in parts; returns the product of a part.  Raises Missed, and changes
    nothing, if the factors are not loaded, or if that would not help."""
    depth = dot.a.type.shape[1]
    each = _terms(dot, target)
    factors = [_Factor(dot, position) for position in (0, 1)]
    location = dot.location
    before = Builder.before(dot)
    first, last, step = (
        before.insert(arith.Constant(i32(n), location=location)).results[0] for n in (0, depth // each, 1)
    )
    block = Block([first.type, dot.c.type], [location, location])
    loop = scf.For(first, last, step, [dot.c], results=[dot.c.type], body=Region([block]), location=location)
    before.insert(loop)
    builder = Builder.at_end(block, location)
    parts = [factor.part(builder, depth // each, block.arguments[0]) for factor in factors]
    made = dot.clone()
    made.set_operands([*parts, block.arguments[1]])
    builder.insert(made)
    builder.insert(scf.Yield([made.results[0]]))
    dot.res.replace_all_uses_with(loop.results[0])
    old = [dot.a.defining_op, dot.b.defining_op]
    dot.erase()
    erase_unused(*old)
    assert isinstance(made, nv_tileas.Dot)
    return made


def _terms(dot: nv_tileas.Dot, target: Target) -> int:
    """The most terms for which there is room for four stages of both factors.  Raises Missed if there are none."""
    if dot.scales:
        raise Missed(dot, "has scales")
    shape = dot.c.type.shape
    each = dot.a.type.shape[1] // 2
    while not has_room(dot, shape, target, True, 2 * each):
        each //= 2
        if each * element_bytes(dot.a.type.element) < _FEWEST_BYTES:
            raise Missed(dot, "has no room for fewer terms either")
    return each


class _Factor:
    """A factor that is loaded.  Raises Missed if it is not."""

    def __init__(self, dot: nv_tileas.Dot, position: int) -> None:
        self.steps: list[Operation] = []
        self.axis = 1 - position
        """The axis of the loaded tile that has the terms."""
        value: Value = dot.operand(position)
        while not isinstance(op := value.defining_op, nv_tileas.TiledLoad):
            if isinstance(op, nv_tileaa.Permute):
                self.axis = op.permutation.values[self.axis]
            elif isinstance(op, nv_tileaa.Reshape):
                self.axis = axis_before(op, self.axis)
            elif not isinstance(op, arith.NegF):
                raise Missed(dot, "has a factor that no load brings")
            self.steps.insert(0, op)
            value = op.operands[0]
        self.load = op
        if op.out_token.has_uses:
            raise Missed(op, "is ordered by its token before other accesses")

    def part(self, builder: Builder, parts: int, part: Value) -> Value:
        """The part of the factor that has the terms of a part of the product."""
        made = self.load.clone()
        assert isinstance(made, nv_tileas.TiledLoad)
        builder.insert(made)
        old = self.load.res.type
        shape = tuple(n // parts if axis == self.axis else n for axis, n in enumerate(old.shape))
        made.res.type = RankedTensorType(shape, old.element)
        move_to_part(made, self.axis, old.shape[self.axis], parts, part)
        value: Value = made.res
        axis = self.axis
        for step in self.steps:
            type = step.results[0].type_as(RankedTensorType)
            if isinstance(step, nv_tileaa.Permute):
                axis = step.permutation.values.index(axis)
            elif isinstance(step, nv_tileaa.Reshape):
                axis = next(n for n in range(type.rank) if type.shape[n] > 1 and axis_before(step, n) == axis)
            inner = step.clone()
            inner.set_operands([value])
            inner.results[0].type = RankedTensorType(
                tuple(n // parts if i == axis else n for i, n in enumerate(type.shape)), type.element
            )
            builder.insert(inner)
            value = inner.results[0]
        return value


def axis_before(op: nv_tileaa.Reshape, axis: int) -> int:
    """The axis of a reshape's source that is an axis of its result.  Missed if there is none."""
    old, new = op.source.type.shape, op.res.type.shape
    if not op.only_renames or new[axis] == 1:
        raise Missed(op, "joins rows with columns")
    count = sum(n != 1 for n in new[:axis])
    return [i for i, n in enumerate(old) if n != 1][count]
