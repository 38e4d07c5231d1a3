"""The greedy driver: folding, dead code, constants, patterns, limits."""

from __future__ import annotations

import functools

import pytest
from ir.sample_ops import (
    Add,
    Loop,
    Return,
    Store,
    Sub,
    add,
    block,
    check_structure,
    const,
    func,
    make_const,
    shape,
)

from tessera_tools.ir import greedy
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import I32

apply_greedily = functools.partial(greedy.apply_greedily, make_constant=make_const)


class AddToSub(RewritePattern):
    op_class = Add

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        rewriter.replace_op(op, rewriter.insert(Sub.create(op.operands, op.result_types)))
        return True


class SubToAdd(RewritePattern):
    op_class = Sub

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        rewriter.replace_op(op, rewriter.insert(Add.create(op.operands, op.result_types)))
        return True


def test_constants_are_folded() -> None:
    one, two = const(1), const(2)
    total = add(one.result, two.result)
    end = Return.create([total.result])
    root = func(block(one, two, total, end))
    outcome = apply_greedily(root)
    assert outcome.converged and outcome.rewrites["(fold)"] == 1
    assert shape(root) == ["t.const", "t.return"]
    (defined,) = end.operands
    assert defined.defining_op is not None and defined.defining_op.attributes["value"] is IntegerAttr(3, I32)
    check_structure(root)


def test_a_fold_to_an_operand_needs_no_constant() -> None:
    body = block(types=[I32])
    zero = body.append(const(0))
    total = body.append(add(body.arguments[0], zero.result))
    end = body.append(Return.create([total.result]))
    root = func(body)
    apply_greedily(root)
    assert end.operands == body.arguments and shape(root) == ["t.return"]


def test_constants_of_commutative_operations_go_right() -> None:
    body = block(types=[I32])
    zero = body.append(const(0))
    total = body.append(add(zero.result, body.arguments[0]))
    end = body.append(Return.create([total.result]))
    apply_greedily(func(body))
    assert end.operands == body.arguments


def test_equal_constants_become_one_at_the_top() -> None:
    body = block(types=[I32])
    inner = const(7)
    loop = Loop.create(regions=[Region([block(inner, Store.create([inner.result]), Return.create())])])
    body.append(loop)
    outer = body.append(const(7))
    body.append(Store.create([outer.result]))
    body.append(Return.create())
    root = func(body)
    apply_greedily(root)
    assert shape(root) == ["t.const", "t.loop", "t.store", "t.return", "t.store", "t.return"]
    check_structure(root)


def test_dead_code_is_removed_and_effects_stay() -> None:
    c = const(1)
    root = func(block(c, add(c.result, c.result), Store.create(), Return.create()))
    outcome = apply_greedily(root)
    assert shape(root) == ["t.store", "t.return"]
    assert outcome.rewrites["(fold)"] == 0 and outcome.changed


def test_patterns_are_counted_by_name() -> None:
    body = block(types=[I32])
    total = body.append(add(body.arguments[0], body.arguments[0]))
    body.append(Return.create([total.result]))
    outcome = apply_greedily(func(body), [AddToSub()])
    assert outcome.rewrites == {"AddToSub": 1} and outcome.converged


def test_bottom_up_reaches_the_same_end() -> None:
    results: list[list[str]] = []
    for top_down in (True, False):
        one = const(1)
        total = add(one.result, one.result)
        root = func(block(one, total, Return.create([add(total.result, one.result).result])))
        last = root.regions[0].block.last_op
        assert last is not None
        definition = last.operand(0).defining_op
        assert definition is not None
        root.regions[0].block.insert_before(last, definition)
        apply_greedily(root, top_down=top_down)
        results.append(shape(root))
    assert results[0] == results[1] == ["t.const", "t.return"]


class AddBehindSub(AddToSub):
    """Adds become subtractions from the arguments on."""

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        defined = op.operand(0).defining_op
        return (defined is None or isinstance(defined, Sub)) and super().match_and_rewrite(op, rewriter)


def test_users_of_what_is_replaced_are_visited_again_in_the_same_sweep() -> None:
    """From the bottom up, a user comes before its operand."""
    body = block(types=[I32])
    first = body.append(add(body.arguments[0], body.arguments[0]))
    second = body.append(add(first.result, body.arguments[0]))
    body.append(Return.create([second.result]))
    root = func(body)
    apply_greedily(root, [AddBehindSub()], top_down=False, max_iterations=1)
    assert shape(root) == ["t.sub", "t.sub", "t.return"]


def test_patterns_that_undo_each_other_hit_the_limit() -> None:
    body = block(types=[I32])
    total = body.append(add(body.arguments[0], body.arguments[0]))
    body.append(Return.create([total.result]))
    root = func(body)
    outcome = apply_greedily(root, [AddToSub(), SubToAdd()], max_rewrites=20)
    assert not outcome.converged and sum(outcome.rewrites.values()) == 20
    check_structure(root)


@pytest.mark.parametrize(("inserts", "says"), [(True, "did not apply, but"), (False, "applied, but")])
def test_a_pattern_says_whether_it_changed_something(inserts: bool, says: str) -> None:
    class Wrong(RewritePattern):
        op_class = Return

        def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
            if inserts:
                rewriter.insert(Store.create())
            return not inserts

    with pytest.raises(ValueError, match=f"the pattern Wrong says that it {says}"):
        apply_greedily(func(block(Return.create())), [Wrong()])


def test_a_pattern_that_only_says_why_not_changes_nothing() -> None:
    class Never(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> str:
            return "because"

    outcome = apply_greedily(func(block(Return.create())), [Never()])
    assert outcome.converged and not outcome.changed
