"""Dominance, in blocks, between blocks, and into nested regions."""

from __future__ import annotations

import random

from ir.sample_ops import Branch, Loop, Return, Store, block, const, func, module

from tessera_tools.ir.core import Block, Region
from tessera_tools.ir.dominance import DominanceInfo, reverse_postorder
from tessera_tools.ir.types import I32


def diamond() -> tuple[Block, Block, Block, Block]:
    """entry → left, right → join"""
    join = block(Return.create())
    left, right = block(Branch.create(successors=[join])), block(Branch.create(successors=[join]))
    entry = block(Branch.create(successors=[left, right]))
    func(entry, left, right, join)
    return entry, left, right, join


def test_in_a_block_what_stands_first_dominates() -> None:
    one, two = const(1), const(2)
    func(block(one, two))
    info = DominanceInfo()
    assert info.properly_dominates(one.result, two)
    assert not info.properly_dominates(two.result, one)
    assert not info.properly_dominates(one, one)


def test_block_arguments_dominate_their_block() -> None:
    store = Store.create()
    body = block(store, types=[I32])
    func(body)
    assert DominanceInfo().properly_dominates(body.arguments[0], store)


def test_the_entry_dominates_a_diamond_and_its_arms_do_not() -> None:
    entry, left, right, join = diamond()
    info = DominanceInfo()
    assert all(info.block_dominates(entry, b) for b in (entry, left, right, join))
    assert not info.block_dominates(left, join) and not info.block_dominates(left, right)
    assert info.immediate_dominator(join) is entry and info.immediate_dominator(entry) is None


def test_a_loop_header_dominates_its_body() -> None:
    header, body, after = Block(), Block(), block(Return.create())
    header.append(Branch.create(successors=[body, after]))
    body.append(Branch.create(successors=[header]))
    entry = block(Branch.create(successors=[header]))
    func(entry, header, body, after)
    info = DominanceInfo()
    assert info.block_dominates(header, body) and info.block_dominates(header, after)
    assert not info.block_dominates(body, header)


def test_unreachable_blocks_are_dominated_by_all_and_dominate_none_that_is_reachable() -> None:
    entry, dead = block(Return.create()), block(Return.create())
    func(entry, dead)
    info = DominanceInfo()
    assert not info.is_reachable(dead) and info.is_reachable(entry)
    assert info.block_dominates(entry, dead) and not info.block_dominates(dead, entry)


def test_a_value_dominates_what_regions_after_it_hold_but_not_its_own() -> None:
    value, inside, own = const(1), Store.create(), Store.create()
    loop = Loop.create((), [I32], regions=[Region([block(inside)])])
    outer = Loop.create((), [I32], regions=[Region([block(own)])])
    func(block(value, loop, outer))
    info = DominanceInfo()
    assert info.properly_dominates(value.result, inside)
    assert not info.properly_dominates(outer.results[0], own)


def test_what_is_inside_a_region_does_not_dominate_the_outside() -> None:
    inner, after = const(1), Store.create()
    func(block(Loop.create(regions=[Region([block(inner)])]), after))
    assert not DominanceInfo().properly_dominates(inner.result, after)


def test_in_a_graph_region_order_does_not_count() -> None:
    one, two = const(1), const(2)
    module(one, two)
    assert DominanceInfo().properly_dominates(two.result, one)


def test_trees_are_made_anew_after_invalidation() -> None:
    _entry, left, right, join = diamond()
    info = DominanceInfo()
    assert not info.block_dominates(left, join)
    (branch,) = right
    branch.erase()
    right.append(Return.create())
    info.invalidate(join.parent)
    assert info.block_dominates(left, join)


def test_dominance_agrees_with_paths_in_random_graphs() -> None:
    chance = random.Random(20)
    for _ in range(40):
        blocks = [Block() for _ in range(chance.randint(2, 8))]
        for b in blocks:
            b.append(
                Branch.create(
                    successors=chance.sample(blocks[1:], chance.randint(0, min(2, len(blocks) - 1)))
                )
            )
        owner = func(*blocks)
        info = DominanceInfo()

        def reached(avoiding: Block | None, entry: Block = blocks[0]) -> set[Block]:
            seen: set[Block] = set()
            work = [entry] if entry is not avoiding else []
            while work:
                b = work.pop()
                if b not in seen:
                    seen.add(b)
                    work += [s for s in b.successors if s is not avoiding]
            return seen

        reachable = reached(None)
        assert set(reverse_postorder(owner.regions[0])) == reachable
        for a in reachable:
            for b in reachable:
                assert info.block_dominates(a, b) == (a is b or b not in reached(a))
