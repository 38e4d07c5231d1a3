"""Loops and branches of agents, which carry the iterators of the pipelines that are used in them.

    for %k { load … }     ──copied()──▶     for %k iter_args(%i) { fill %pipe, %i; yield %next }        in another agent
    for %k { dot … }      ──rewritten()──▶  for %k iter_args(…, %i) { wait %pipe, %i; … }               in place

`state` has the current iterator of each pipeline, and `places` an op of the program where it is used: a loop or branch
around that op carries the iterator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias, TypeVar

from tessera_tools.dialects import scf
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.passes.tileas.materialize_pipeline import with_carried, with_results
from tessera_tools.passes.tileas.producer_slice import Slice

PlaceT = TypeVar("PlaceT", bound=Hashable)
"""What a kernel has for a pipeline."""
State: TypeAlias = dict[PlaceT, Value]
"""Pipeline → its current iterator."""
CopyBlock: TypeAlias = Callable[[Block, Builder, IRMapping, State[PlaceT]], None]


def copied(
    op: scf.For | scf.If,
    slice: Slice,
    builder: Builder,
    mapping: IRMapping,
    state: State[PlaceT],
    places: Mapping[PlaceT, Operation],
    copy: CopyBlock[PlaceT],
) -> None:
    """Copy a loop or branch with what a slice needs of it; `copy` copies the ops of a block."""
    moving = [p for p in state if op.is_ancestor_of(places[p])]
    if isinstance(op, scf.For):
        _copied_loop(op, slice, builder, mapping, state, moving, copy)
    else:
        _copied_branch(op, builder, mapping, state, moving, copy)


def _copied_loop(
    loop: scf.For,
    slice: Slice,
    builder: Builder,
    mapping: IRMapping,
    state: State[PlaceT],
    moving: list[PlaceT],
    copy: CopyBlock[PlaceT],
) -> None:
    carried = [i for i, result in enumerate(loop.results) if result in slice.carried]
    inits = [*(mapping.value(loop.inits[i]) for i in carried), *(state[p] for p in moving)]
    made = scf.For(
        mapping.value(loop.lower),
        mapping.value(loop.upper),
        mapping.value(loop.step),
        inits,
        results=[v.type for v in inits],
        location=loop.location,
    )
    made.attributes.update({k: v for k, v in loop.attributes.items() if k not in made.attributes})
    block = Block([loop.lower.type, *(v.type for v in inits)], [loop.location] * (len(inits) + 1))
    made.body.append(block)
    builder.insert(made)
    mapping.values[loop.induction[0]] = block.arguments[0]
    for number, i in enumerate(carried):
        mapping.values[loop.iter_args[i]] = block.arguments[1 + number]
        mapping.values[loop.results[i]] = made.results[number]
    inner = dict(state)
    for number, p in enumerate(moving):
        inner[p] = block.arguments[1 + len(carried) + number]
        state[p] = made.results[len(carried) + number]
    inside = Builder.at_end(block, loop.location)
    copy(loop.body.entry, inside, mapping, inner)
    inside.insert(
        scf.Yield([*(mapping.value(loop.yielded[i]) for i in carried), *(inner[p] for p in moving)])
    )


def _copied_branch(
    branch: scf.If,
    builder: Builder,
    mapping: IRMapping,
    state: State[PlaceT],
    moving: list[PlaceT],
    copy: CopyBlock[PlaceT],
) -> None:
    made = scf.If.create(
        [mapping.value(branch.condition)],
        [state[p].type for p in moving],
        {},
        [Region([Block()]), Region([Block()])],
        location=branch.location,
    )
    builder.insert(made)
    for old, region in zip(branch.regions, made.regions, strict=True):
        inner = dict(state)
        inside = Builder.at_end(region.entry, branch.location)
        if old.blocks:
            copy(old.entry, inside, mapping, inner)
        inside.insert(scf.Yield([inner[p] for p in moving]))
    state.update(zip(moving, made.results, strict=True))


def rewritten(
    op: scf.For | scf.If,
    state: State[PlaceT],
    places: Mapping[PlaceT, Operation],
    rewrite: Callable[[Block, State[PlaceT]], None],
) -> scf.For | scf.If:
    """Let a loop or branch carry iterators, and rewrite its blocks; returns the op that takes its place."""
    moving = [p for p in state if op.is_ancestor_of(places[p])]
    if isinstance(op, scf.For):
        return _rewritten_loop(op, state, moving, rewrite)
    return _rewritten_branch(op, state, moving, rewrite)


def _rewritten_loop(
    loop: scf.For, state: State[PlaceT], moving: list[PlaceT], rewrite: Callable[[Block, State[PlaceT]], None]
) -> scf.For:
    inner = dict(state)
    if moving:
        loop = with_carried(loop, [state[p] for p in moving])
        for p, argument, result in zip(
            moving, loop.iter_args[-len(moving) :], loop.results[-len(moving) :], strict=True
        ):
            inner[p], state[p] = argument, result
    rewrite(loop.body.entry, inner)
    if moving:
        end = loop.body.entry.last_op
        assert end is not None
        end.set_operands([*end.operands, *(inner[p] for p in moving)])
    return loop


def _rewritten_branch(
    branch: scf.If,
    state: State[PlaceT],
    moving: list[PlaceT],
    rewrite: Callable[[Block, State[PlaceT]], None],
) -> scf.If:
    inner = {region: dict(state) for region in branch.regions}
    if moving:
        branch, old = with_results(branch, [state[p].type for p in moving]), branch
        inner = dict(zip(branch.regions, inner.values(), strict=True))
        old.erase()
    for region, own in inner.items():
        if not region.blocks:
            continue
        rewrite(region.entry, own)
        end = region.entry.last_op
        assert end is not None
        end.set_operands([*end.operands, *(own[p] for p in moving)])
    if moving:
        state.update(zip(moving, branch.results[-len(moving) :], strict=True))
    return branch
