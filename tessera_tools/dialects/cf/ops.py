"""Branches between blocks.

A branch passes operands to the arguments of its target block: `branch_operands(i)` are those for successor i, and
`set_branch_operands(i, values)` replaces them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.interfaces import BranchLike
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I1, I32, RankedTensorType, VectorType, bit_width
from tessera_tools.opdef import (
    I32_ARRAY,
    NO_EFFECT,
    SIGNLESS_INTEGER,
    STRING_ATTR,
    TERMINATOR,
    AttrKind,
    CustomDirective,
    Op,
    attribute,
    exactly,
    operand,
    successor,
    variadic_operand,
    variadic_successor,
)
from tessera_tools.opdef.directive import Token

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class _Branch(BranchLike, Op, traits=(TERMINATOR, NO_EFFECT)):
    """The base of branches."""

    def verify_op(self) -> None:
        for i, block in enumerate(self.successors):
            given = self.branch_operands(i)
            if len(given) != len(block.arguments):
                raise self.error(
                    f"branch has {len(given)} operands for successor #{i}, but target block has {len(block.arguments)}"
                )
            for j, (value, argument) in enumerate(zip(given, block.arguments, strict=True)):
                if value.type is not argument.type:
                    raise self.error(f"type mismatch for bb argument #{j} of successor #{i}")


class Target(CustomDirective, name="Target"):
    """`^bb1(%a, %b : i32, f32)`: arguments are the successor and the operand field."""

    grammar = "custom: successor"

    def read(self, state: OpState, node: Node) -> None:
        (read,) = node
        token, tokens, types = read_successor(read)
        block, operands = self.arguments[:2]
        state.operands(operands, tokens)
        state.types(operands, types)
        state.successor(block, token)

    def write(self, p: Printer, op: Op) -> None:
        block, operands = self.arguments[:2]
        p.write(" ")
        p.successor(op.definition.fields[block].read(op), op.values_of(operands))


def read_successor(node: Node) -> tuple[Token, list[Token], list[Type]]:
    """The block's name, the operands and their types, of the grammar's rule `successor`."""
    token, passed = node
    return (token, [], []) if passed is None else (token, passed[0], passed[1])


class Branch(_Branch, name="cf.br"):
    """Goes to a block."""

    dest_operands = variadic_operand()
    dest = successor()
    assembly = "custom<Target>($dest, $dest_operands, type($dest_operands)) attr-dict"

    def branch_operands(self, index: int) -> list[Value]:
        """The values passed to the block."""
        return self.operands

    def set_branch_operands(self, index: int, values: Sequence[Value]) -> None:
        """Replace the values passed to the block."""
        self.set_operands(values)


class CondBranch(_Branch, name="cf.cond_br"):
    """Goes to one of two blocks by an i1."""

    condition = operand(exactly(I1))
    true_dest_operands = variadic_operand()
    false_dest_operands = variadic_operand()
    branch_weights = attribute(I32_ARRAY, optional=True)
    true_dest = successor()
    false_dest = successor()
    assembly = (
        "$condition (`weights` `(` $branch_weights^ `)`)? `,` "
        "custom<Target>($true_dest, $true_dest_operands, type($true_dest_operands)) `,` "
        "custom<Target>($false_dest, $false_dest_operands, type($false_dest_operands)) attr-dict"
    )

    def branch_operands(self, index: int) -> list[Value]:
        """The values passed to the first or second block."""
        return self.false_dest_operands if index else self.true_dest_operands

    def set_branch_operands(self, index: int, values: Sequence[Value]) -> None:
        """Replace the values passed to the first or second block."""
        self.set_field("false_dest_operands" if index else "true_dest_operands", values)

    def verify_op(self) -> None:
        super().verify_op()
        weights = self.branch_weights
        if weights is not None and len(weights) != 2:
            raise self.error(
                f"expects number of branch weights to match number of successors: {len(weights)} vs 2"
            )
        if weights is not None and not any(weights.values):
            raise self.error("branch weights cannot all be zero")


CASE_VALUES: AttrKind[DenseElementsAttr] = AttrKind(
    "integer elements attribute",
    lambda a: isinstance(a, DenseElementsAttr) and isinstance(a.type, RankedTensorType | VectorType),
)


class Cases(CustomDirective, name="Cases"):
    """`default: ^bb1(%a : i32), 42: ^bb2, -3: ^bb3`"""

    grammar = """custom: "default" ":" successor ("," custom_case)*
custom_case: INTEGER ":" successor"""

    def read(self, state: OpState, node: Node) -> None:
        default, *cases = node
        token, tokens, types = read_successor(default)
        state.operands("default_operands", tokens)
        state.types("default_operands", types)
        state.successor("default_destination", token)
        state.operands("case_operands", [])
        state.types("case_operands", [])
        values: list[int] = []
        sizes: list[int] = []
        for number, target in cases:
            token, tokens, types = read_successor(target)
            state.operands("case_operands", tokens)
            state.types("case_operands", types)
            state.successor("case_destinations", token)
            values.append(integer_of(number[0]))
            sizes.append(len(tokens))
        if values:
            (flag,) = state.value_types["flag"]
            try:
                bits = [IntegerAttr(v, flag).value for v in values]
            except ValueError as problem:
                raise state.error(cases[0][0], str(problem)) from None
            state.attribute("case_values", DenseElementsAttr.of(VectorType((len(values),), flag), bits))
        state.attribute("case_operand_segments", DenseArrayAttr(I32, tuple(sizes)))

    def write(self, p: Printer, op: Switch) -> None:
        mask = (1 << bit_width(op.flag.type)) - 1
        p.newline()
        p.write("  default: ")
        p.successor(op.default_destination, op.default_operands)
        numbers = op.case_numbers
        for i, value in enumerate(numbers):
            p.write(",")
            p.newline()
            p.write(f"  {value & mask}: ")
            p.successor(op.successors[i + 1], op.branch_operands(i + 1))
        if numbers:
            p.newline()


class Switch(_Branch, name="cf.switch"):
    """Goes to the block of the case that equals an integer, or to the default one."""

    flag = operand(SIGNLESS_INTEGER)
    default_operands = variadic_operand()
    case_operands = variadic_operand()
    case_values = attribute(CASE_VALUES, optional=True)
    case_operand_segments = attribute(I32_ARRAY)
    default_destination = successor()
    case_destinations = variadic_successor()
    assembly = (
        "$flag `:` type($flag) `,` `[` custom<Cases>($default_destination, $default_operands, $case_values, "
        "$case_destinations, $case_operands, $case_operand_segments) `]` attr-dict"
    )

    @property
    def case_numbers(self) -> list[int]:
        """The cases, in order."""
        if self.case_values is None:
            return []
        found = [a.value for a in self.case_values.attributes() if isinstance(a, IntegerAttr)]
        return found * self.case_values.shaped.num_elements if self.case_values.is_splat else found

    def _ends(self, index: int) -> tuple[int, int]:
        start = sum(self.case_operand_segments.values[: index - 1])
        return start, start + self.case_operand_segments.values[index - 1]

    def branch_operands(self, index: int) -> list[Value]:
        """The values passed to the default block (0) or to case `index` - 1."""
        if index == 0:
            return self.default_operands
        start, end = self._ends(index)
        return self.case_operands[start:end]

    def set_branch_operands(self, index: int, values: Sequence[Value]) -> None:
        """Replace the values passed to the default block (0) or to case `index` - 1."""
        if index == 0:
            self.set_field("default_operands", values)
            return
        start, end = self._ends(index)
        rest = self.case_operands
        self.set_field("case_operands", [*rest[:start], *values, *rest[end:]])
        sizes = list(self.case_operand_segments.values)
        sizes[index - 1] = len(values)
        self.case_operand_segments = DenseArrayAttr(I32, tuple(sizes))

    def verify_op(self) -> None:
        cases, count = self.case_values, len(self.case_destinations)
        if cases is None:
            if count:
                raise self.error(
                    f"number of case values (0) should match number of case destinations ({count})"
                )
        else:
            if cases.shaped.element is not self.flag.type:
                raise self.error(
                    f"'flag' type ('{self.flag.type}') should match case value type ('{cases.shaped.element}')"
                )
            if cases.shaped.num_elements != count:
                raise self.error(
                    f"number of case values ({cases.shaped.num_elements}) should match number of case destinations "
                    f"({count})"
                )
        sizes = self.case_operand_segments.values
        if len(sizes) != count or sum(sizes) != len(self.case_operands):
            raise self.error("'case_operand_segments' does not describe the operands of the cases")
        super().verify_op()


class Assert(Op, name="cf.assert"):
    """Ends the program with a message if an i1 is false."""

    arg = operand(exactly(I1))
    msg = attribute(STRING_ATTR)
    assembly = "$arg `,` $msg attr-dict"
