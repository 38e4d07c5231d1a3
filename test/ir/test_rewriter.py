"""The rewriter: changes and what listeners hear of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from ir.sample_ops import Branch, Loop, Return, add, block, check_structure, const, func, module, shape

from tessera_tools.ir.core import InsertionPoint, Operation, Region, Value
from tessera_tools.ir.rewriter import Listener, PatternSet, RewritePattern, Rewriter
from tessera_tools.ir.types import I32


class Log(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def op_inserted(self, op: Operation) -> None:
        self.lines.append(f"+{op.name}")

    def op_erased(self, op: Operation) -> None:
        self.lines.append(f"-{op.name}")

    def op_modified(self, op: Operation) -> None:
        self.lines.append(f"~{op.name}")

    def op_replaced(self, op: Operation, values: Sequence[Value]) -> None:
        self.lines.append(f"{op.name}→{len(values)}")


def rewriter_at(op: Operation) -> tuple[Rewriter, Log]:
    assert op.parent is not None
    log = Log()
    rewriter = Rewriter(InsertionPoint(op.parent, op))
    rewriter.listeners.append(log)
    return rewriter, log


def test_replacing_an_operation_tells_listeners_in_order() -> None:
    c = const(1)
    a = add(c.result, c.result)
    end = Return.create([a.result])
    root = func(block(c, a, end))
    rewriter, log = rewriter_at(a)
    fresh = rewriter.insert(const(2))
    rewriter.replace_op(a, fresh)
    assert log.lines == ["+t.const", "t.add→1", "~t.return", "-t.add"]
    assert end.operands == [fresh.result]
    check_structure(root)


def test_a_replacement_has_as_many_values_as_results() -> None:
    c = const(1)
    func(block(c))
    with pytest.raises(ValueError, match="'t.const' has 1 results, replaced by 0 values"):
        rewriter_at(c)[0].replace_op(c, [])


def test_erasing_a_used_operation_is_refused_before_anyone_is_told() -> None:
    c = const(1)
    func(block(c, Return.create([c.result])))
    rewriter, log = rewriter_at(c)
    with pytest.raises(ValueError, match="has uses"):
        rewriter.erase_op(c)
    assert log.lines == []


def test_erasing_tells_of_nested_operations_first() -> None:
    loop = Loop.create(regions=[Region([block(const(1), Return.create())])])
    func(block(loop, Return.create()))
    rewriter, log = rewriter_at(loop)
    rewriter.erase_op(loop)
    assert log.lines == ["-t.return", "-t.const", "-t.loop"]


def test_the_insertion_point_survives_the_erasure_of_its_operation() -> None:
    one, two = const(1), const(2)
    body = block(one, two)
    func(body)
    rewriter, _ = rewriter_at(one)
    rewriter.erase_op(one)
    three = rewriter.insert(const(3))
    assert list(body) == [three, two]


def test_inlining_a_block_replaces_its_arguments() -> None:
    c = const(1)
    inner = block(types=[I32])
    inner.append(add(inner.arguments[0], inner.arguments[0]))
    loop = Loop.create(regions=[Region([inner])])
    end = Return.create()
    root = func(block(c, loop, end))
    rewriter, _ = rewriter_at(loop)
    rewriter.inline_block_before(inner, loop, [c.result])
    rewriter.erase_op(loop)
    assert shape(root) == ["t.const", "t.add", "t.return"]
    check_structure(root)


def test_inlining_checks_the_number_of_arguments() -> None:
    inner, end = block(types=[I32]), Return.create()
    func(block(Loop.create(regions=[Region([inner])]), end))
    with pytest.raises(ValueError, match="the block has 1 arguments, got 0 values"):
        rewriter_at(end)[0].inline_block_before(inner, end)


def test_splitting_and_merging_blocks_undo_each_other() -> None:
    ops = [const(1), const(2), Return.create()]
    head = block(*ops)
    root = func(head)
    rewriter, _ = rewriter_at(ops[0])
    tail = head.split_before(ops[1])
    rewriter.inline_block_at_end(tail, head)
    assert root.regions[0].blocks == [head] and list(head) == ops


def test_regions_are_inlined_in_order() -> None:
    last = block(Return.create())
    inner = Region([block(Branch.create(successors=[last])), last])
    loop = Loop.create(regions=[inner])
    root = func(block(loop))
    rewriter, _ = rewriter_at(loop)
    moved = list(inner.blocks)
    rewriter.inline_region_before(inner, root.regions[0])
    assert root.regions[0].blocks[1:] == moved and inner.is_empty
    check_structure(root)


def test_regions_are_inlined_in_order_before_a_block() -> None:
    last = block(Return.create())
    inner = Region([block(Branch.create(successors=[last])), last])
    end = block(Return.create())
    loop = Loop.create(regions=[inner])
    root = func(block(loop, Branch.create(successors=[end])), end)
    rewriter, _ = rewriter_at(loop)
    moved = list(inner.blocks)
    outer = root.regions[0]
    rewriter.inline_region_before(inner, outer, 1)
    assert outer.blocks[1:] == [*moved, end]
    assert inner.is_empty


def test_modifying_in_place_is_told_at_the_end() -> None:
    c = const(1)
    func(block(c))
    rewriter, log = rewriter_at(c)
    with rewriter.modify(c):
        assert log.lines == []
    assert log.lines == ["~t.const"]


def test_the_saved_point_is_restored() -> None:
    c = const(1)
    body = block(c)
    func(body)
    rewriter, _ = rewriter_at(c)
    with rewriter.saved_point():
        rewriter.point = InsertionPoint(body)
        rewriter.insert(const(3))
    two = rewriter.insert(const(2))
    assert body.first_op is two


def test_erasing_a_block_whose_values_are_used_elsewhere_is_refused() -> None:
    c = const(1)
    first = block(c)
    func(first, block(Return.create([c.result])))
    with pytest.raises(ValueError, match="has uses"):
        rewriter_at(c)[0].erase_block(first)


class General(RewritePattern):
    pass


class Special(RewritePattern):
    op_class = type(const(1))
    benefit = 2
    name = "the-special"


def test_patterns_are_named_and_sorted_by_benefit() -> None:
    chosen = PatternSet([General(), Special()])
    assert [p.name for p in chosen.for_op(const(1))] == ["the-special", "General"]
    assert [p.name for p in chosen.for_op(module())] == ["General"]
