"""The verifier's checks and messages."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from ir.sample_ops import (
    Add,
    Branch,
    Const,
    Func,
    Loop,
    Module,
    Return,
    Store,
    add,
    at,
    block,
    const,
    func,
    module,
)

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import arith
from tessera_tools.ir.core import Block, Operation, Region, UnregisteredOp
from tessera_tools.ir.types import I32, I64, IntegerType
from tessera_tools.ir.verifier import verify, verify_or_raise


def messages(op: Operation) -> list[str]:
    return [d.message for d in verify(op)]


def test_a_valid_program_has_no_errors() -> None:
    c = const(1)
    assert verify(module(func(block(c, add(c.result, c.result), Return.create())))) == []


def test_an_operand_must_be_defined_before() -> None:
    c = const(1, location=at(2))
    a = add(c.result, c.result)
    a.location = at(1)
    (first, _second) = verify(func(block(a, c, Return.create())))
    assert first.message == "operand #0 does not dominate this use" and first.location is at(1)
    (note,) = first.notes
    assert note.message == "operand defined here (op in the same block)" and note.location is at(2)


def test_an_operand_from_another_block_must_dominate() -> None:
    c = const(1)
    join = block(Return.create([c.result]))
    left, right = block(c, Branch.create(successors=[join])), block(Branch.create(successors=[join]))
    (error,) = verify(func(block(Branch.create(successors=[left, right])), left, right, join))
    assert error.notes[0].message == "operand defined here (op in the same region)"


def test_an_operand_from_a_child_region_does_not_dominate() -> None:
    c = const(1)
    loop = Loop.create(regions=[Region([block(c, Return.create())])])
    (error,) = verify(func(block(loop, Return.create([c.result]))))
    assert error.notes[0].message == "operand defined here (op in a child region)"


def test_an_operand_from_a_sibling_region_does_not_dominate() -> None:
    c = const(1)
    one = Loop.create(regions=[Region([block(c, Return.create())])])
    two = Loop.create(regions=[Region([block(Return.create([c.result]))])])
    (error,) = verify(func(block(one, two, Return.create())))
    note = "operand defined here (op is neither in a parent nor in a child region)"
    assert error.notes[0].message == note


def test_an_operation_may_not_use_its_own_result_inside() -> None:
    use = Return.create()
    loop = Loop.create((), [I32], regions=[Region([block(use)])])
    use.set_operands(loop.results)
    (error,) = verify(func(block(loop, Return.create())))
    assert error.notes[0].message == "operand defined here (op in a parent region)"


def test_a_block_argument_that_does_not_dominate_is_named_by_its_block() -> None:
    inner = block(Return.create(), types=[I32])
    loop = Loop.create(regions=[Region([inner])])
    (error,) = verify(func(block(loop, Return.create(inner.arguments))))
    assert error.notes[0].message == "operand defined as a block argument (block #0 in a child region)"


def test_order_does_not_count_in_a_graph_region() -> None:
    c = const(1)
    assert verify(module(Store.create([c.result]), c)) == []


def test_order_does_not_count_inside_an_unregistered_operation() -> None:
    c = const(1)
    inside = Region([block(Store.create([c.result]), c, UnregisteredOp.named("x.end"))])
    assert verify(func(block(UnregisteredOp.named("x.y", regions=[inside]), Return.create()))) == []


def test_an_unreachable_block_is_not_held_to_dominance() -> None:
    c = const(1)
    dead = block(Store.create([c.result]), c, Return.create())
    assert verify(func(block(Return.create()), dead)) == []


def test_isolation_from_above() -> None:
    c = const(1, location=at(1))
    inner = func(block(Return.create([c.result])))
    inner.location = at(2)
    (error,) = verify(module(c, inner))
    assert error.message == "'t.return' op using value defined outside the region"
    assert error.notes[0].message == "required by region isolation constraints"
    assert error.notes[0].location is at(2)


def test_a_block_must_end_with_a_terminator() -> None:
    (message,) = messages(func(block(UnregisteredOp.named("x.y"), const(1))))
    assert message.startswith("block with no terminator, has ") and "t.const" in message


def test_an_unregistered_operation_may_be_a_terminator() -> None:
    assert verify(func(block(UnregisteredOp.named("x.y")))) == []


def test_an_empty_block_needs_a_terminator() -> None:
    assert messages(func(Block())) == ["empty block: expect at least a terminator"]


def test_an_operation_without_terminators_may_hold_an_empty_block() -> None:
    assert verify(module()) == []


def test_a_terminator_stands_last() -> None:
    (message,) = messages(func(block(Return.create(), Return.create())))
    assert message == "'t.return' op must be the last operation in the parent block"


def test_branches_stay_in_their_region() -> None:
    elsewhere = block(Return.create())
    func(elsewhere, name="g")
    (message,) = messages(func(block(Branch.create(successors=[elsewhere]))))
    assert message == "'t.br' op branching to block of a different region"


def test_the_entry_block_has_no_predecessors() -> None:
    entry = Block()
    entry.append(Branch.create(successors=[entry]))
    assert messages(func(entry)) == ["entry block of region may not have predecessors"]


def test_only_the_last_operation_has_successors() -> None:
    other = block(Return.create())
    middle = UnregisteredOp.named("x.y", successors=[other])
    (message,) = messages(func(block(middle, Branch.create(successors=[other])), other))
    assert message == "operation with block successors must terminate its parent block"


def test_traits_are_checked() -> None:
    twice = Module.create(regions=[Region([Block(), Block()])])
    assert "'builtin.module' op expects region #0 to have 0 or 1 blocks" in messages(twice)
    same = module(func(block(Return.create())), func(block(Return.create())))
    (error,) = verify(same)
    assert error.message == "'t.func' op redefinition of symbol named 'f'"
    assert error.notes[0].message == "see existing symbol definition here"


class Checked(Operation):
    __slots__ = ()
    name = "t.checked"

    def verify_declared(self) -> None:
        if self.op_operands:
            raise self.error("takes no operands")

    def verify_op(self) -> None:
        raise self.error("is never right")


def test_declared_constraints_come_before_the_ops_own_check() -> None:
    c = const(1)
    root = func(block(c, Checked.create([c.result]), Checked.create(), Return.create()))
    assert messages(root) == ["'t.checked' op takes no operands", "'t.checked' op is never right"]


def test_errors_come_in_source_order() -> None:
    late, early = Checked.create(location=at(9)), Checked.create(location=at(3))
    loop = Loop.create(regions=[Region([block(early, Return.create())])], location=at(2))
    assert [d.location for d in verify(func(block(loop, late, Return.create())))] == [at(3), at(9)]


def test_verify_or_raise_carries_every_error() -> None:
    with pytest.raises(DiagnosticError) as failure:
        verify_or_raise(func(block(Checked.create(), Checked.create(), Return.create())))
    assert len(failure.value.diagnostics) == 2


def test_256_nested_regions_are_verified() -> None:
    c = const(1)
    inner: Operation = Loop.create(regions=[Region([block(Return.create([c.result]))])])
    for _ in range(255):
        inner = Loop.create(regions=[Region([block(inner, Return.create())])])
    assert verify(func(block(c, inner, Return.create()))) == []


def test_work_is_linear_in_the_number_of_operations() -> None:
    def lines(count: int) -> int:
        """Lines of Python that verifying `count` operations executes."""
        c = const(1)
        body = block(c)
        for _ in range(count):
            last = body.last_op
            assert isinstance(last, Add | Const)
            body.append(add(last.result, c.result))
        body.append(Return.create())
        root = Func.create(regions=[Region([body])])
        root.attributes["sym_name"] = func(Block()).attributes["sym_name"]
        executed = 0

        def trace(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal executed
            executed += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            assert verify(root) == []
        finally:
            sys.settrace(before)
        return executed

    assert lines(2000) < 11 * lines(200)


def test_an_invalid_op_at_the_end_of_a_block_is_shown_in_the_generic_form() -> None:
    def shown(type: IntegerType) -> str:
        body = Block([I32, type])
        body.append(arith.AddI.create(body.arguments, [I32]))
        (message,) = (m for m in messages(module(func(body))) if "no terminator" in m)
        return message.partition("has ")[2]

    assert "arith.addi" in shown(I32) and '"arith.addi"' not in shown(I32)
    assert '"arith.addi"' in shown(I64)
