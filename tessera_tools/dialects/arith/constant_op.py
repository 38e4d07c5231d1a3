"""The constant op, and its materialization by folding."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.arith.constants import Folded
from tessera_tools.dialects.ub import Poison, PoisonAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    DenseElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    SparseElementsAttr,
)
from tessera_tools.ir.core import Operation, OpOperand
from tessera_tools.ir.rewriter import Rewriter
from tessera_tools.ir.types import (
    IntegerType,
    ShapedType,
    VectorType,
    element_type,
)
from tessera_tools.opdef import (
    CONSTANT_LIKE,
    PURE,
    TYPED_ATTR,
    Op,
    attribute,
    derived,
    result,
)

_NUMBERS = (IntegerAttr, FloatAttr, DenseElementsAttr, DenseResourceAttr, SparseElementsAttr)


class Constant(Op, name="arith.constant", traits=(PURE, CONSTANT_LIKE)):
    """An integer, a floating-point number, or a vector or tensor of them."""

    value = attribute(TYPED_ATTR)
    result = result(
        derived(
            "the type of 'value'",
            lambda value: getattr(value, "type", None),
            "value",
            rule="all of {value, result} have same type",
        )
    )
    assembly = "attr-dict $value"

    def verify_op(self) -> None:
        type = self.result.type
        element = element_type(type)
        if (
            not isinstance(type, ShapedType)
            and isinstance(element, IntegerType)
            and element.signedness != "signless"
        ):
            raise self.error("integer return type must be signless")
        if not isinstance(
            self.value, IntegerAttr | FloatAttr | DenseElementsAttr | DenseResourceAttr | SparseElementsAttr
        ):
            raise self.error("value must be an integer, float, or elements attribute")
        if (
            isinstance(type, VectorType)
            and any(type.scalable)
            and not (isinstance(self.value, DenseElementsAttr) and self.value.is_splat)
        ):
            raise self.error(
                "initializing scalable vectors with elements attribute is not supported unless it's a vector splat"
            )

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.value]


def make_constant(value: Attribute, type: Type) -> Operation | None:
    """`arith.constant` for a number or elements of that type, `ub.poison` for poison, detached; else None."""
    if isinstance(value, PoisonAttr):
        return Poison(result=type)
    if isinstance(value, IntegerAttr | FloatAttr | DenseElementsAttr) and value.type is type:
        if isinstance(type, IntegerType) and type.signedness != "signless":
            return None
        return Constant(value)
    return None


def replace_by_constant(uses: Sequence[OpOperand], value: IntegerAttr, rewriter: Rewriter) -> bool:
    """Make uses of a value refer to a constant; whether there was one."""
    if not uses:
        return False
    known = rewriter.insert(Constant(value)).result
    for use in uses:
        with rewriter.modify(use.owner):
            use.set(known)
    return True
