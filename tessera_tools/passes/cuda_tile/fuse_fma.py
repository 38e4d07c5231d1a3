"""`fuse-fma`: fuses products and their sums or differences to fused multiply-adds.

    %p = mulf %a, %b                                        %n = negf %c
    %r = addf %p, %c   ──▶  %r = fma %a, %b, %c             %r = fma %a, %b, %n  ◀──  %r = subf %p, %c

One of two roundings is removed, which changes the last bits of results: the pass runs only on request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.dialects.cuda_tile.canonicalize import ProductFirst
from tessera_tools.dialects.cuda_tile.float_ops import AddF, Fma, MulF, NegF, SubF
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.greedy import apply_greedily
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.opdef.dialect import constant_for
from tessera_tools.passes.base import Pass, PassContext

__all__ = ["FuseFMA"]


class FuseAdd(RewritePattern[AddF]):
    """A sum whose left operand is a product."""

    # a·b + c = fma(a, b, c), except for one rounding

    def match_and_rewrite(self, op: AddF, rewriter: Rewriter) -> bool | str | None:
        product = _product(op)
        if isinstance(product, str):
            return product
        _fuse(op, product, op.rhs, rewriter)
        return True


class FuseSub(RewritePattern[SubF]):
    """A difference whose left operand is a product."""

    # a·b - c = fma(a, b, -c), except for one rounding

    def match_and_rewrite(self, op: SubF, rewriter: Rewriter) -> bool | str | None:
        product = _product(op)
        if isinstance(product, str):
            return product
        _fuse(op, product, rewriter.insert(NegF(op.rhs, location=op.location)).result, rewriter)
        return True


def _product(op: AddF | SubF) -> MulF | str:
    """The product on the left of `op`, or the reason why there is none."""
    product = op.lhs.defining_op
    if not isinstance(product, MulF) or not product.result.has_one_use:
        return "the left operand is not a product with a single use"
    if product.rounding_mode is not op.rounding_mode or product.flush_to_zero is not op.flush_to_zero:
        return "the two round differently"
    return product


def _fuse(op: AddF | SubF, product: MulF, addend: Value, rewriter: Rewriter) -> None:
    made = Fma(
        product.lhs, product.rhs, addend, rounding_mode=op.rounding_mode, flush_to_zero=op.flush_to_zero,
        location=op.location,
    )  # fmt: skip
    rewriter.replace_op(op, rewriter.insert(made))
    rewriter.erase_op(product)


class FuseFMA(Pass):
    """Fuse a product with a single use and the sum or difference of which it is the left operand.

    Both must have the same rounding mode and the same `flush_to_zero`. A product on the right of a sum is swapped to
    the left first.
    """

    name = "fuse-fma"
    title = "FuseFMAPass"
    summary = "fuse multiplications and additions (changes rounding)"
    ensures = "no addition or subtraction has a fusible product as its left operand"
    statistics: ClassVar[Mapping[str, str]] = {"num-fused": "Number of operations fused"}

    def run(self, op: Operation, context: PassContext) -> bool:
        result = apply_greedily(op, [ProductFirst(), FuseAdd(), FuseSub()], make_constant=constant_for)
        context.count("num-fused", result.rewrites[FuseAdd.name] + result.rewrites[FuseSub.name])
        return result.changed
