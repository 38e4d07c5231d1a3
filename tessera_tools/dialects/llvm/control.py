"""Control flow: branches, switch, return, unreachable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.diagnostics import error
from tessera_tools.dialects.llvm.base import ANY, I1_CONSTRAINT, INTEGER, Emitter, LLVMOp
from tessera_tools.dialects.llvm.loops import LoopAnnotationAttr
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, IntegerAttr, TypeAttr
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I32, VectorType
from tessera_tools.opdef import (
    ELEMENTS_ATTR,
    I32_ARRAY,
    PURE,
    RETURN_LIKE,
    TERMINATOR,
    CustomDirective,
    attribute,
    of_class,
    operand,
    optional_operand,
    successor,
    variadic_operand,
    variadic_successor,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


def _write_successor(p: Printer, block: Block, values: list[Node]) -> None:
    p.successor(block, values)


class BrTarget(CustomDirective, name="BrTarget"):
    """`^bb1(%a : i32)`."""

    grammar = "custom: successor"

    def read(self, state: OpState, node: Node) -> None:
        _read_successor(state, node[0], "dest", "dest_operands")

    def write(self, p: Printer, op: Operation) -> None:
        p.space()
        _write_successor(p, op.successors[0], op.operands)


def _read_successor(state: OpState, node: Node, field: str, operands: str) -> None:
    caret, passed = node
    tokens, types = passed if passed is not None else ([], [])
    state.successor(field, caret)
    state.operands(operands, tokens)
    state.types(operands, types)


def _weights_text(op: Operation, e: Emitter) -> str:
    weights = op.attributes.get("branch_weights")
    if not isinstance(weights, DenseArrayAttr):
        return ""
    entries = ", ".join(f"i32 {weight}" for weight in weights.values)
    node = e.metadata(f'!{{!"branch_weights", {entries}}}')
    return f", !prof {node}"


def _loop_text(op: Operation, e: Emitter) -> str:
    annotation = op.attributes.get("loop_annotation")
    return f", !llvm.loop {e.node(annotation)}" if isinstance(annotation, LoopAnnotationAttr) else ""


LOOP_ANNOTATION = of_class(LoopAnnotationAttr)


class Br(LLVMOp, name="llvm.br", traits=(TERMINATOR, PURE)):
    """Go to a block."""

    dest_operands = variadic_operand(ANY)
    loop_annotation = attribute(LOOP_ANNOTATION, optional=True)
    dest = successor()
    assembly = "custom<BrTarget>($dest_operands, type($dest_operands)) attr-dict"

    def llvm_ir(self, e: Emitter) -> None:
        e.emit(f"br {e.branch(self, self.successors[0], self.operands)}{_loop_text(self, e)}")


def _verify_weights(op: Operation) -> None:
    weights = op.attributes.get("branch_weights")
    if isinstance(weights, DenseArrayAttr) and len(weights) != len(op.successors):
        raise error(
            op.location,
            "expects number of branch weights to match number of successors: "
            f"{len(weights)} vs {len(op.successors)}",
        )


class CondBrTargets(CustomDirective, name="CondBrTargets"):
    """`%c weights([1, 2]), ^bb1(%a : i32), ^bb2`."""

    grammar = """
    custom: VALUE custom_weights "," successor "," successor
    custom_weights: "weights" "(" integer_array ")" -> present
                  | -> absent
    """

    def read(self, state: OpState, node: Node) -> None:
        condition, (alias, weights), first, second = node
        state.operand("condition", condition)
        if alias == "present":
            state.attribute(
                "branch_weights", DenseArrayAttr(I32, tuple(integer_of(t.text) for t in weights[0]))
            )
        _read_successor(state, first, "true_dest", "true_dest_operands")
        _read_successor(state, second, "false_dest", "false_dest_operands")

    def write(self, p: Printer, op: CondBr) -> None:
        p.space()
        p.write(p.name(op.condition))
        if op.branch_weights is not None:
            p.write(f" weights([{', '.join(map(str, op.branch_weights.values))}])")
        p.write(", ")
        _write_successor(p, op.successors[0], op.true_dest_operands)
        p.write(", ")
        _write_successor(p, op.successors[1], op.false_dest_operands)


class CondBr(LLVMOp, name="llvm.cond_br", traits=(TERMINATOR, PURE)):
    """Go to one of two blocks."""

    condition = operand(I1_CONSTRAINT)
    true_dest_operands = variadic_operand(ANY)
    false_dest_operands = variadic_operand(ANY)
    branch_weights = attribute(I32_ARRAY, optional=True)
    loop_annotation = attribute(LOOP_ANNOTATION, optional=True)
    true_dest = successor()
    false_dest = successor()
    assembly = "custom<CondBrTargets>($condition, $true_dest_operands, $false_dest_operands, $branch_weights) attr-dict"

    def llvm_ir(self, e: Emitter) -> None:
        first, second = self.successors
        operands = self.operands
        sizes = self.attributes["operandSegmentSizes"]
        assert isinstance(sizes, DenseArrayAttr)
        split = 1 + sizes.values[1]
        text = f"br {e.operand(operands[0])}, {e.branch(self, first, operands[1:split])}, "
        e.emit(text + e.branch(self, second, operands[split:]) + _weights_text(self, e) + _loop_text(self, e))

    def verify_op(self) -> None:
        _verify_weights(self)


class SwitchCases(CustomDirective, name="SwitchCases"):
    """`%v : i32, ^default [` one `value: ^block(…)` a line `]`."""

    grammar = """
    custom: VALUE ":" TYPE "," successor "[" [custom_case ("," custom_case)*] "]"
    custom_case: INTEGER ":" successor
    """

    def read(self, state: OpState, node: Node) -> None:
        value, type, default, *cases = node
        state.operand("value", value)
        state.types("value", [type])
        _read_successor(state, default, "default_destination", "default_operands")
        sizes: list[int] = []
        numbers: list[int] = []
        for case in cases:
            if case is None:
                continue
            number, target = case
            numbers.append(integer_of(number.text))
            _read_successor(state, target, "case_destinations", "case_operands")
            sizes.append(len(target[1][0]) if target[1] is not None else 0)
        if numbers:
            shaped = VectorType((len(numbers),), type)
            state.attribute("case_values", DenseElementsAttr.of(shaped, numbers))
        state.attribute("case_operand_segments", DenseArrayAttr(I32, tuple(sizes)))

    def write(self, p: Printer, op: Switch) -> None:
        p.space()
        p.write(f"{p.name(op.value)} : ")
        p.write(f"{p.type(op.value.type)}, ")
        _write_successor(p, op.successors[0], op.default_operands)
        p.write(" [")
        last = (op.case_numbers() or [None])[-1]
        for number, block, values in op.cases():
            p.newline()
            p.write(f"  {number}: ")
            _write_successor(p, block, values)
            p.write("," if number != last else "")
        p.newline()
        p.write("]")


class Switch(LLVMOp, name="llvm.switch", traits=(TERMINATOR, PURE)):
    """Go to the block of the equal case, else to the default."""

    value = operand(INTEGER)
    default_operands = variadic_operand(ANY)
    case_operands = variadic_operand(ANY)
    case_values = attribute(ELEMENTS_ATTR, optional=True)
    case_operand_segments = attribute(I32_ARRAY)
    branch_weights = attribute(I32_ARRAY, optional=True)
    default_destination = successor()
    case_destinations = variadic_successor()
    assembly = (
        "custom<SwitchCases>($value, $default_operands, $case_operands, $case_values, $case_operand_segments) "
        "attr-dict"
    )

    def case_numbers(self) -> list[int]:
        """The cases' values, signed."""
        values = self.case_values
        if values is None:
            return []
        count = values.shaped.num_elements
        numbers = [a.value for a in values.attributes() if isinstance(a, IntegerAttr)]
        return numbers * count if values.is_splat else numbers

    def cases(self) -> list[tuple[int, Block, list[Value]]]:
        """(value, block, operands) of each case."""
        found: list[tuple[int, Block, list[Value]]] = []
        rest = self.case_operands
        numbers = self.case_numbers()
        for number, block, size in zip(
            numbers, self.successors[1:], self.case_operand_segments.values, strict=True
        ):
            found.append((number, block, rest[:size]))
            rest = rest[size:]
        return found

    def llvm_ir(self, e: Emitter) -> None:
        type = e.type(self.value.type)
        default = e.branch(self, self.successors[0], self.default_operands)
        cases = " ".join(
            [f"{type} {number}, {e.branch(self, block, values)}" for number, block, values in self.cases()]
        )
        e.emit(f"switch {e.operand(self.value)}, {default} [ {cases} ]{_weights_text(self, e)}")

    def verify_op(self) -> None:
        count = len(self.case_numbers())
        if count != len(self.successors) - 1 or count != len(self.case_operand_segments.values):
            raise self.error(f"has {count} case values, but {len(self.successors) - 1} case destinations")
        if sum(self.case_operand_segments.values) != len(self.case_operands):
            raise self.error("'case_operand_segments' must add up to the number of case operands")
        if self.case_values is not None and self.case_values.shaped.element is not self.value.type:
            raise error(self.location, "expects case value type to match condition value type")
        _verify_weights(self)


class Return(LLVMOp, name="llvm.return", traits=(RETURN_LIKE, PURE)):
    """Return from the function (or define a global's initial value)."""

    arg = optional_operand(ANY)
    assembly = "attr-dict ($arg^ `:` type($arg))?"

    def llvm_ir(self, e: Emitter) -> None:
        e.emit(f"ret {e.operand(self.operand(0))}" if self._operands else "ret void")

    def verify_op(self) -> None:
        function = self.parent_op
        from tessera_tools.dialects.llvm.types import VOID, FunctionType

        declared = function.attributes.get("function_type") if function is not None else None
        signature = declared.value if isinstance(declared, TypeAttr) else None
        # As upstream: the return type is unknown in a function of another dialect, or in an initializer.
        if not isinstance(signature, FunctionType):
            return
        wanted = signature.result
        if wanted is VOID and self.operands:
            raise self.error("expected no operands, as the function returns void")
        if wanted is not VOID and not self.operands:
            raise self.error(f"expected one operand of type '{wanted}'")
        if self.operands and self.operand(0).type is not wanted:
            raise self.error(
                f"mismatching result types: function returns '{wanted}', but got '{self.operand(0).type}'"
            )


class Unreachable(LLVMOp, name="llvm.unreachable", traits=(TERMINATOR,)):
    """Never reached."""

    assembly = "attr-dict"

    def llvm_ir(self, e: Emitter) -> None:
        e.emit("unreachable")
