"""tileas-promote-accumulators: sums of 8-bit floats keep the precision of f32 where the program does not give it up.

    for k { acc = dot a, b, acc }      ──▶      for k { part = dot a, b, 0; acc = addf acc, part }

The tensor cores of sm_90 add the products of 8-bit floats with about 14 bits, also to an f32 accumulator.  The sum of
one tile along K starts from zero, and is added in f32.  Where the threads have no registers for all sums twice, or the
tile is too deep, the product is only marked: it adds slice by slice (`promoted` of nv_tileas.async.dot).  A product
with `fast_acc` stays as it is, and so does one that `wgmma` does not do: `mma.sync` on sm_90
multiplies 8-bit floats as f16.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import arith
from tessera_tools.ir.builtin_attributes import UNIT, DenseElementsAttr
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.precision import MOST_TERMS, PROMOTED, SLICED, loses_precision
from tessera_tools.passes.tileas.products import (
    asynchronous_products,
)
from tessera_tools.planning.kernel import kernels, target_of


class PromoteAccumulators(Pass):
    """Add the sums of 8-bit floats in f32."""

    name: ClassVar = "tileas-promote-accumulators"
    summary: ClassVar = "add the partial sums of wgmma products of 8-bit floats in f32"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = (
        "no product of 8-bit floats by wgmma adds to the sums of another, unless it has `fast_acc`"
    )
    statistics: ClassVar = {"promoted": "products whose sums are added in f32"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            # If there are none, the pass that makes the agents says why.
            choice = asynchronous_products(function, target_of(op))
            for product in choice.products if choice is not None else ():
                dot = product.dot
                if not loses_precision(dot):
                    continue
                changed = True
                if product.sliced:
                    dot.attributes[SLICED] = UNIT
                    context.count("promoted")
                    context.passed(
                        dot,
                        "sums of 8-bit floats are added in f32, a few columns of each tile at a time: there are no "
                        f"registers for all sums twice, or the tile has more than {MOST_TERMS} terms",
                        "precision",
                        "tensorcore",
                    )
                    continue
                type = dot.c.type
                zero = DenseElementsAttr(type, bytes(element_bytes(type.element)))
                start = Builder.at_start(function.body.entry, dot.location)
                begin = start.insert(arith.Constant(zero, location=dot.location)).results[0]
                old = dot.c
                dot.set_operand(2, begin)
                dot.attributes[PROMOTED] = UNIT
                total = Builder.after(dot).insert(arith.AddF(old, dot.res, location=dot.location))
                dot.res.replace_all_uses_with(total.results[0])
                total.set_operands([old, dot.res])
                context.count("promoted")
                context.passed(
                    dot, "sums of 8-bit floats are added in f32, each tile along K", "precision", "tensorcore"
                )
        return changed
