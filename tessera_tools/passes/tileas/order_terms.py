"""tileas-order-terms: the terms of a product come in the order in which threads hold its left factor.

    p = exp(dot q, k); o = dot p, v, c      ──▶      p' = permute(reshape p); v' = permute(reshape v); o = dot p', v', c

wgmma takes A from registers, in a layout of its own.  Elements of 16 bits that are computed from the sums of another
product have it; those of 8 or 32 bits do not, because a thread has two neighboring sums, and four neighbors, or one, as
terms.  In another order of the terms (planning/term_order.py) they have, too, and no data moves.  B then gets the same
order where it is written to shared memory.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.products import AsyncProduct, asynchronous_products, sums_behind
from tessera_tools.planning.dot_layouts import layouts_of
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.planning.term_order import Order, axes_of, term_order


class OrderTerms(Pass):
    """Order the terms of products as threads hold A."""

    name: ClassVar = "tileas-order-terms"
    summary: ClassVar = "order the terms of wgmma products whose left factor follows from the sums of others"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = (
        "a left factor of 8 or 32 bits that is computed from sums of wgmma can be in registers"
    )
    statistics: ClassVar = {"ordered": "products whose terms have another order"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            choice = asynchronous_products(function, target_of(op))
            products = {product.dot: product for product in choice.products} if choice is not None else {}
            for product in products.values():
                order = _order(product, products) if product.is_written else None
                if order is None:
                    continue
                for position in (0, 1):
                    _reorder(product.dot, position, order)
                changed = True
                context.count("ordered")
        return changed


def _order(product: AsyncProduct, products: dict[nv_tileas.Dot, AsyncProduct]) -> Order | None:
    """The order of the terms in which threads have A; None if they have it in none."""
    dot = product.dot
    made = sums_behind(dot.a)
    source = products.get(made) if made is not None else None
    if source is None or source.dot.c.type.shape != dot.a.type.shape:
        return None
    wanted, _, _ = layouts_of(dot.c.type.shape, dot.a.type.shape[1], product.atom(), product.grid)
    _, _, held = layouts_of(source.dot.c.type.shape, source.dot.a.type.shape[1], source.atom(), source.grid)
    return term_order(held, wanted) if wanted is not None else None


def _reorder(dot: nv_tileas.Dot, position: int, order: Order) -> None:
    """Give a factor the order."""
    builder = Builder.before(dot)
    value = dot.operand(position)
    type = value.type_as(RankedTensorType)
    shape, element = type.shape, type.element
    parts, permutation = axes_of(order, shape[1 - position])
    moved = tuple(parts[axis] for axis in permutation)
    if position == 0:
        split, turned = (shape[0], *parts), (shape[0], *moved)
        axes = (0, *(1 + axis for axis in permutation))
    else:
        split, turned = (*parts, shape[1]), (*moved, shape[1])
        axes = (*permutation, len(permutation))

    def of(shape: tuple[int, ...]) -> RankedTensorType:
        return RankedTensorType(shape, element)

    location = dot.location
    value = builder.insert(nv_tileaa.Reshape(value, res=of(split), location=location)).res
    value = builder.insert(
        nv_tileaa.Permute(value, DenseArrayAttr(I64, axes), res=of(turned), location=location)
    ).res
    value = builder.insert(nv_tileaa.Reshape(value, res=of(shape), location=location)).res
    dot.set_operand(position, value)
