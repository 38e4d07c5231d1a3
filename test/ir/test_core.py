"""Operations, values, blocks, regions: links, traversal, copies."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir.sample_ops import (
    Add,
    Branch,
    Loop,
    Return,
    Store,
    add,
    at,
    block,
    check_structure,
    const,
    func,
    module,
    shape,
)

from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.types import F32, I32, I64


def test_a_value_lists_its_uses_with_owner_and_index() -> None:
    c = const(1)
    a = add(c.result, c.result)
    assert {(use.owner, use.index) for use in c.result.uses} == {(a, 0), (a, 1)}
    assert not c.result.has_one_use and not a.result.has_uses


def test_setting_an_operand_moves_the_use() -> None:
    one, two = const(1), const(2)
    a = add(one.result, one.result)
    a.set_operand(0, two.result)
    assert one.result.has_one_use and two.result.has_one_use
    assert a.operands == [two.result, one.result]


def test_setting_all_operands_may_change_their_number() -> None:
    one, two = const(1), const(2)
    store = Store.create([one.result])
    store.set_operands([two.result, two.result, one.result])
    assert [use.index for use in store.op_operands] == [0, 1, 2]
    assert len(list(two.result.uses)) == 2 and one.result.has_one_use


def test_replacing_all_uses_leaves_none_behind() -> None:
    one, two = const(1), const(2)
    users = [add(one.result, one.result) for _ in range(3)]
    one.result.replace_all_uses_with(two.result)
    assert not one.result.has_uses
    assert all(user.operands == [two.result, two.result] for user in users)


def test_replacing_all_uses_can_spare_some() -> None:
    one, two = const(1), const(2)
    kept, changed = add(one.result, one.result), add(one.result, one.result)
    one.result.replace_all_uses_with(two.result, keep=lambda use: use.owner is kept)
    assert kept.operands == [one.result] * 2 and changed.operands == [two.result] * 2


def test_replacing_a_value_by_itself_changes_nothing() -> None:
    one = const(1)
    user = add(one.result, one.result)
    one.result.replace_all_uses_with(one.result)
    assert user.operands == [one.result] * 2


def test_an_operation_with_uses_is_not_erased() -> None:
    one = const(1)
    block(one, add(one.result, one.result))
    with pytest.raises(ValueError, match="'t.const' cannot be erased: its result #0 has uses"):
        one.erase()
    assert one.parent is not None


def test_erasing_drops_the_uses_of_nested_operations() -> None:
    one = const(1)
    loop = Loop.create(regions=[Region([block(Return.create([one.result]))])])
    loop.erase()
    assert not one.result.has_uses


def test_order_in_a_block_follows_insertions() -> None:
    first, second, third = const(1), const(2), const(3)
    body = block(first, third)
    body.insert_before(third, second)
    assert list(body) == [first, second, third]
    assert first.is_before_in_block(second) and second.is_before_in_block(third)
    assert not third.is_before_in_block(second)


def test_moving_reorders() -> None:
    first, second = const(1), const(2)
    body = block(first, second)
    first.move_after(second)
    assert list(body) == [second, first]
    first.move_before(second)
    assert list(body) == [first, second]


def test_insertion_costs_the_same_in_a_long_block() -> None:
    body = block(*(const(i) for i in range(2000)))
    place = body.first_op
    for i in range(2000):
        body.insert_before(place, const(i))
    assert len(body) == 4000 and body._ordered is False  # no renumbering happened on the way


def test_iteration_survives_the_erasure_of_the_present_operation() -> None:
    body = block(*(const(i) for i in range(4)))
    for op in body:
        op.erase()
    assert len(body) == 0


def test_block_arguments_keep_their_numbers() -> None:
    body = Block([I32, I64])
    body.add_argument(F32, index=0)
    assert [(a.index, a.type) for a in body.arguments] == [(0, F32), (1, I32), (2, I64)]
    body.erase_argument(1)
    assert [(a.index, a.type) for a in body.arguments] == [(0, F32), (1, I64)]


def test_a_used_block_argument_is_not_erased() -> None:
    body = Block([I32])
    body.append(Return.create(body.arguments))
    with pytest.raises(ValueError, match="block argument #0 cannot be erased: it has uses"):
        body.erase_argument(0)


def test_splitting_a_block_moves_the_tail() -> None:
    ops = [const(i) for i in range(3)]
    head = block(*ops)
    owner = func(head)
    tail = head.split_before(ops[1])
    assert owner.regions[0].blocks == [head, tail]
    assert list(head) == ops[:1] and list(tail) == ops[1:]
    check_structure(owner)


def nested() -> Operation:
    inner = block(const(2), Return.create())
    return module(func(block(const(1), Loop.create(regions=[Region([inner])]), Return.create())))


def test_walk_is_pre_order() -> None:
    assert shape(nested()) == ["t.func", "t.const", "t.loop", "t.const", "t.return", "t.return"]


def test_walk_in_post_order_yields_the_inside_first() -> None:
    names = [op.name for op in nested().walk(post_order=True)]
    assert names == ["t.const", "t.const", "t.return", "t.loop", "t.return", "t.func"]


def test_walk_backwards() -> None:
    names = [op.name for op in nested().walk(reverse=True)]
    assert names == ["t.func", "t.return", "t.loop", "t.return", "t.const", "t.const"]


def test_walk_does_not_enter_what_was_erased() -> None:
    root = nested()
    seen: list[str] = []
    for op in root.walk():
        seen.append(op.name)
        if op.name == "t.loop":
            op.erase()
    assert seen == ["t.func", "t.const", "t.loop", "t.return"]


def test_walk_in_post_order_allows_erasure() -> None:
    root = nested()
    for op in root.walk(post_order=True):
        op.erase()
    assert shape(root) == []


def test_a_copy_maps_results_and_keeps_outer_operands() -> None:
    outer = const(1)
    original = add(outer.result, outer.result)
    original.result.name_hint = "sum"
    mapping = IRMapping()
    copy = original.clone(mapping)
    assert type(copy) is Add and copy.operands == [outer.result] * 2
    assert mapping.value(original.result) is copy.results[0] and copy.results[0].name_hint == "sum"
    assert copy.parent is None


def test_a_copy_uses_what_the_mapping_says() -> None:
    one, two = const(1), const(2)
    copy = add(one.result, one.result).clone(IRMapping({one.result: two.result}))
    assert copy.operands == [two.result] * 2


def test_attributes_of_a_copy_are_its_own() -> None:
    original = const(1)
    copy = original.clone()
    copy.attributes.clear()
    assert "value" in original.attributes


def test_a_copy_branches_to_its_own_blocks() -> None:
    target = block(Return.create())
    original = func(block(Branch.create(successors=[target])), target)
    copy = original.clone()
    first, second = copy.regions[0].blocks
    assert list(first.successors) == [second] and second is not target


def test_a_copy_resolves_uses_that_stand_before_the_definition() -> None:
    value = const(1)
    late = block(value, Return.create())
    loop = Loop.create(regions=[Region([block(Return.create([value.result]))])])
    early = block(loop, add(value.result, value.result), Return.create())
    original = func(block(Branch.create(successors=[late])), early, late)
    copy = original.clone()
    check_structure(copy)
    check_structure(original)
    defined = copy.regions[0].blocks[2].first_op
    assert defined is not None and len(list(defined.results[0].uses)) == 3
    assert len(list(value.result.uses)) == 3


def test_a_copy_resolves_uses_before_the_definition_in_one_block() -> None:
    value = const(1)
    original = module(Store.create([value.result]), value)
    copy = original.clone()
    store, defined = copy.regions[0].block
    assert store.operands == defined.results
    assert value.result.has_one_use


def test_an_unregistered_copy_keeps_name_and_properties() -> None:
    original = UnregisteredOp.named("x.y", (), [I32], properties={"p": const(1).attributes["value"]})
    copy = original.clone()
    assert isinstance(copy, UnregisteredOp) and copy.name == "x.y" and copy.properties == original.properties
    assert copy.properties is not original.properties


def test_the_builder_gives_its_location_to_ops_without_one() -> None:
    body = Block()
    builder = Builder.at_end(body, at(3))
    assert builder.insert(const(1)).location is at(3)
    assert builder.insert(const(1, location=at(4))).location is at(4)


def test_256_nested_regions_are_walked_and_copied() -> None:
    op: Operation = Loop.create(regions=[Region([block(Return.create())])])
    for _ in range(255):
        op = Loop.create(regions=[Region([block(op, Return.create())])])
    assert len(list(op.clone().walk())) == 511


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_links_hold_after_any_sequence_of_changes(data: st.DataObject) -> None:
    body = Block([I32, I32])
    root = module(func(body))
    values: list[Value] = list(body.arguments)
    for _ in range(data.draw(st.integers(1, 25))):
        ops = list(body)
        action = data.draw(
            st.sampled_from(["add", "insert", "erase", "replace", "move", "operand", "clone", "split"])
        )
        pick = data.draw(st.integers(0, 1000))
        op = ops[pick % len(ops)] if ops else None
        left, right = values[pick % len(values)], values[pick // 7 % len(values)]
        if action == "add":
            values.append(body.append(add(left, right)).result)
        elif op is None:
            continue
        elif action == "insert":
            values.append(body.insert_before(op, add(left, right)).result)
        elif action == "replace":
            op.results[0].replace_all_uses_with(left)
        elif action == "erase" and not op.results[0].has_uses:
            values.remove(op.results[0])
            op.erase()
        elif action == "move" and op is not ops[0]:
            op.move_before(ops[0])
        elif action == "operand":
            op.set_operand(pick % 2, right)
        elif action == "clone":
            values.append(body.insert_after(op, op.clone()).results[0])
        elif action == "split":
            tail = body.split_before(op)
            for moved in tail:
                moved.detach()
                body.append(moved)
            tail.erase()
        check_structure(root)
    check_structure(root.clone())


def test_predecessors_follow_changed_successors() -> None:
    first, second = Block(), Block()
    region = Region([block(Branch.create(successors=[first, second])), first, second])
    entry = region.blocks[0]
    branch = entry.last_op
    assert branch is not None
    assert first.predecessors() == [entry]
    assert second.single_predecessor() is entry
    branch.set_successor(0, second)
    assert first.predecessors() == []
    assert first.single_predecessor() is None
    assert second.single_predecessor() is entry
    first.append(Branch.create(successors=[second]))
    assert second.single_predecessor() is None
    branch.erase()
    assert second.predecessors() == [first]


def test_the_terminator_is_the_last_operation_if_it_is_one() -> None:
    end, unknown = Return.create(), UnregisteredOp.named("x.end", (), [])
    assert block(const(1), end).terminator is end
    assert block(const(1), unknown).terminator is unknown
    assert block(const(1)).terminator is None
    assert Block().terminator is None
