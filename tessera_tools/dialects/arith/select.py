"""Constants and selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects.arith.constants import Folded, bits_of, constant, constant_of, splat_of
from tessera_tools.dialects.arith.integers import CmpI, defined_by
from tessera_tools.dialects.ub import Poison, PoisonAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    DenseElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
)
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.ir.types import (
    I1,
    IntegerType,
    RankedTensorType,
    ShapedType,
    VectorType,
    element_type,
    have_same_shape,
    with_element,
)
from tessera_tools.opdef import (
    ANY_TYPE,
    BOOL_LIKE,
    CONSTANT_LIKE,
    PURE,
    TYPED_ATTR,
    CustomDirective,
    Op,
    attribute,
    derived,
    operand,
    result,
    same_as,
)


class Constant(Op, name="arith.constant", traits=(PURE, CONSTANT_LIKE)):
    """An integer, a floating-point number, or a vector or tensor of them."""

    value = attribute(TYPED_ATTR)
    result = result(derived("the type of 'value'", lambda value: getattr(value, "type", None), "value"))
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
        if not isinstance(self.value, IntegerAttr | FloatAttr | DenseElementsAttr | DenseResourceAttr):
            raise self.error("value must be an integer, float, or elements attribute")
        if isinstance(type, VectorType) and any(type.scalable) and not getattr(self.value, "is_splat", False):
            raise self.error(
                "initializing scalable vectors with elements attribute is not supported unless it's a vector splat"
            )

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.value]


class SelectTypes(CustomDirective, name="SelectTypes"):
    """`i32`, or `vector<4xi1>, vector<4xi32>` where the condition is not a plain i1."""

    grammar = 'custom: TYPE ["," TYPE]'

    def read(self, state: Any, node: Any) -> None:
        first, second = node
        state.types("condition", [I1 if second is None else first])
        state.types("result", [first if second is None else second])

    def write(self, p: Any, op: Select) -> None:
        if op.condition.type is not I1:
            p.write(f" {op.condition.type},")
        p.write(f" {op.result.type}")


class Select(Op, name="arith.select", traits=(PURE,)):
    """One of two values, by an i1; elementwise where the condition has their shape."""

    condition = operand(BOOL_LIKE)
    true_value = operand(ANY_TYPE)
    false_value = operand(same_as("true_value"))
    result = result(same_as("true_value"))
    assembly = (
        "$condition `,` $true_value `,` $false_value attr-dict "
        "`:` custom<SelectTypes>(type($condition), type($result))"
    )

    def verify_op(self) -> None:
        condition, type = self.condition.type, self.result.type
        if condition is I1:
            return
        if not isinstance(type, VectorType | RankedTensorType):
            raise self.error(f"expected condition to be a signless i1, but got '{condition}'")
        if not have_same_shape(condition, type):
            raise self.error("failed to verify that condition is signless i1 or has matching shape")
        expected = with_element(type, I1)
        if condition is not expected:
            raise self.error(
                "expected condition type to have the same shape as the result type, "
                f"expected '{expected}', but got '{condition}'"
            )

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        yes, no = self.true_value, self.false_value
        condition, if_true, if_false = operands
        # select(true, x, y) = x;  select(false, x, y) = y;  select(c, x, x) = x
        truth = splat_of(condition)
        if yes is no or truth is not None:
            return [yes if yes is no or truth else no]
        # A poison side may be taken for the other; a poison condition makes either right.
        if isinstance(if_true, PoisonAttr) or isinstance(if_false, PoisonAttr):
            return [no if isinstance(if_true, PoisonAttr) else yes]
        if isinstance(condition, PoisonAttr):
            return [condition]
        # select(c, true, false) = c
        if self.result.type is self.condition.type and splat_of(if_true) == 1 and splat_of(if_false) == 0:
            return [self.condition]
        # select(a == b, a, b) = b and select(a == b, b, a) = a;  with != the other one
        compare = defined_by(self.condition, CmpI)
        if (
            compare is not None
            and compare.predicate_name in ("eq", "ne")
            and {yes, no} == {compare.lhs, compare.rhs}
        ):
            return [no if compare.predicate_name == "eq" else yes]
        # A constant condition of mixed elements picks among constants.
        chosen, left, right = bits_of(condition), bits_of(if_true), bits_of(if_false)
        if chosen is None or left is None or right is None:
            return None
        left, right = (side * len(chosen) if len(side) == 1 else side for side in (left, right))
        picked = constant(
            self.result.type, [a if c else b for c, a, b in zip(chosen, left, right, strict=True)]
        )
        return None if picked is None else [picked]


def materialize(builder: Builder, value: Attribute, type: Type) -> Operation | None:
    """`arith.constant` for a number or elements attribute of that type, `ub.poison` for poison; else None."""
    if isinstance(value, PoisonAttr):
        return builder.insert(Poison(result=type))
    if isinstance(value, IntegerAttr | FloatAttr | DenseElementsAttr) and value.type is type:
        if isinstance(type, IntegerType) and type.signedness != "signless":
            return None
        return builder.insert(Constant(value))
    return None


__all__ = ["Constant", "Select", "SelectTypes", "constant_of", "materialize"]
