"""Selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.arith.constants import Folded, bits_of, constant, one
from tessera_tools.dialects.arith.rules import fold_by_rules
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.types import (
    I1,
    RankedTensorType,
    VectorType,
    have_same_shape,
    with_element,
)
from tessera_tools.opdef import (
    ANY_TYPE,
    BOOL_LIKE,
    PURE,
    CustomDirective,
    Op,
    operand,
    result,
    same_as,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class SelectTypes(CustomDirective, name="SelectTypes"):
    """`i32`, or `vector<4xi1>, vector<4xi32>` if the condition is not a plain i1."""

    grammar = 'custom: TYPE ["," TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        first, second = node
        state.types("condition", [I1 if second is None else first])
        state.types("result", [first if second is None else second])

    def write(self, p: Printer, op: Select) -> None:
        if op.condition.type is not I1:
            p.write(f" {op.condition.type},")
        p.write(f" {op.result.type}")


class Select(Op, name="arith.select", traits=(PURE,)):
    """One of two values, by an i1; elementwise if the condition has their shape."""

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
        found = fold_by_rules(self)
        if found is not None:
            return found
        # A constant condition of mixed elements picks among constants.
        chosen, left, right = map(bits_of, operands)
        if chosen is None or left is None or right is None:
            return None
        left, right = (side * len(chosen) if len(side) == 1 else side for side in (left, right))
        return one(
            constant(self.result.type, [a if c else b for c, a, b in zip(chosen, left, right, strict=True)])
        )
