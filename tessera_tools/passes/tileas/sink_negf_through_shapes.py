"""sink-negf-through-shapes: a sign is inverted before the ops that change the shape of a tile.

    negf(broadcast(x)) ──▶ broadcast(negf(x))

There are fewer signs to invert before a broadcast.  Behind the shapes, the negation stands where a product finds it:
wgmma inverts the signs of its factors itself (`AsyncProduct.negates` in products.py).
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.ir.core import Operation
from tessera_tools.ir.greedy import apply_greedily
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.opdef.dialect import constant_for
from tessera_tools.passes.base import Pass, PassContext


class ExchangeNegWithBroadcastPattern(RewritePattern[arith.NegF]):
    """A tile that is repeated, or gets axes of one element, and then negated."""

    # -broadcast(x) = broadcast(-x);  -reshape(x) = reshape(-x) where only axes of one element are added

    def match_and_rewrite(self, op: arith.NegF, rewriter: Rewriter) -> bool | str | None:
        shape = op.operands[0].defining_op
        if shape is None or not (isinstance(shape, nv_tileaa.Broadcast | nv_tileaa.Splat) or _expands(shape)):
            return "no broadcast/expand_dim op"
        source = shape.operands[0]
        if isinstance(shape, nv_tileaa.Reshape) and not shape.res.has_one_use:
            return "the expanded tile has other users, and would be expanded twice"
        negated = rewriter.insert(arith.NegF(source, fastmath=op.fastmath, location=op.location))
        made = shape.clone()
        made.set_operands([negated.results[0]])
        rewriter.replace_op(op, rewriter.insert(made))
        return True


def _expands(op: Operation | None) -> bool:
    """True if an op only adds axes of one element."""
    if not isinstance(op, nv_tileaa.Reshape):
        return False
    return op.only_renames and op.res.type.rank > op.source.type.rank


class SinkNegFThroughShapes(Pass):
    """Invert signs before broadcasts."""

    name: ClassVar = "sink-negf-through-shapes"
    summary: ClassVar = "move negf before shape operations"
    ensures: ClassVar = "no negf of a broadcast, and none of a tile that only got axes of one element"
    statistics: ClassVar = {"moved": "negations moved before a shape operation"}

    def run(self, op: Operation, context: PassContext) -> bool:
        if not any(isinstance(inner, arith.NegF) for inner in op.walk()):
            return False
        result = apply_greedily(op, [ExchangeNegWithBroadcastPattern()], make_constant=constant_for)
        context.count("moved", result.rewrites["ExchangeNegWithBroadcastPattern"])
        return result.changed
