"""Verification that each side of a pipeline begins its stages one after the other, on every path.

    %i = create_iterator %p            %i is at the next stage: the first
    producer_acquire %p, %i            begins it: %i is one behind the next stage
    %n = inc_iter %i                   %n is at the next stage again
    for … iter_args(%c = %n) { … }     %c is as far from the next stage in each iteration

The place of an iterator is a root and a distance.  A root is the next stage at some point: where the agent begins,
where an iteration of a loop begins or the loop ends, and behind branches that begin different numbers of stages.  An op
that begins a stage must have an iterator at the next stage.  A side is the acquires or the waits of one agent.

Agents that take turns with a pipeline are one side of it together.  Each advances its iterator by the stages that the
others use, and what it may not do is wait for a stage outside of its turns: the parity of a phase only tells it from
the one before, and those that it leaves out may not have been filled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.core import Block, Operation, OpResult, Region, Value
from tessera_tools.ir.flow import sources
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import OneRegionRuns

BEGINS = (nv_tileas.ProducerAcquire, nv_tileas.ConsumerWait)
Begin: TypeAlias = nv_tileas.ProducerAcquire | nv_tileas.ConsumerWait


def out_of_order(function: Operation, inside: Iterable[Operation]) -> Iterator[DiagnosticError]:
    """Yields an error for each side of a pipeline that leaves out a stage or begins one twice: the first such op.

    `inside`: the ops in the function, at least those of pipelines.
    """
    sides: dict[tuple[Value, type[Operation], Region, int], list[Begin]] = {}
    for op in inside:
        if isinstance(op, BEGINS) and not nv_tileas.is_unwrapped(op):
            agent = nv_tileas.agent_of(op) or function.regions[0]
            part = 0 if op.part is None else op.part.value
            sides.setdefault((op.pipeline, type(op), agent, part), []).append(op)
    for (_, _, agent, _), begins in sides.items():
        try:
            _Side(agent, begins).block(agent.entry)
        except DiagnosticError as failure:
            yield failure


def out_of_turn(inside: Iterable[Operation]) -> Iterator[DiagnosticError]:
    """Yields an error where agents leave out stages of a pipeline that they do not use in turn, or wait for a stage of
    one that they do outside of their turns."""
    for op in inside:
        if isinstance(op, nv_tileas.IncIter) and op.count is not None:
            pipeline = nv_tileas.pipeline_of(op.iter)
            if pipeline is not None and pipeline.in_turn is None:
                yield op.error(
                    "leaves out stages of a pipeline that no agents use in turn; expected in_turn there"
                )
        elif isinstance(op, nv_tileas.CreatePipeline) and op.in_turn is not None:
            yield from _out_of_turn(op)


def _out_of_turn(pipeline: nv_tileas.CreatePipeline) -> Iterator[DiagnosticError]:
    waits = [user for user in pipeline.res.users if isinstance(user, nv_tileas.ConsumerWait)]
    agents = {nv_tileas.agent_of(wait) for wait in waits}
    around = pipeline.parent or ()
    orders = [op for op in around if isinstance(op, nv_tileas.CreateOrder) and agents <= set(op.agents)]
    if len(agents) < 2 or not orders:
        yield pipeline.error(
            "is used in turn, but no agents that read its stages have turns; expected a create_order"
        )
        return
    inside = {
        op
        for order in orders
        for agent in agents
        if agent
        for op in nv_tileas.in_turn(agent.entry, order.res)
    }
    for wait in waits:
        if wait not in inside:
            yield wait.error(
                "waits for a stage outside of the turn of its agent, and other agents use the pipeline"
            )


class _Place(NamedTuple):
    """The stage that is `distance` behind the one that was the next at `root`."""

    root: int
    distance: int

    def after(self, stages: int) -> _Place:
        return _Place(self.root, self.distance + stages)


_START = _Place(0, 0)


class _Side:
    """The stages that one agent begins, in a walk through its code."""

    def __init__(self, agent: Region, begins: Iterable[Begin]) -> None:
        self.begins = set(begins)
        self.iterators = _leading_to(op.iter for op in begins)
        """The iterators that acquires or waits of this side follow from."""
        steps = [value.op for value in self.iterators if isinstance(value, OpResult)]
        self.relevant = with_control(agent, (*begins, *steps))
        self.distances: dict[Operation, dict[int, int]] = {}
        """By loop that branches leave: how far its carried iterators are from the next stage."""
        self.left: dict[Operation, list[int | None]] = {}
        """By such a loop: how far those are that a `break` gives, by result."""
        self.next = _START
        self.roots = 0
        self.places: dict[Value, _Place | None] = {}
        """None: as far from the next stage as no single number says."""

    def root(self) -> _Place:
        """A new root, which is the next stage from here on."""
        self.roots += 1
        self.next = _Place(self.roots, 0)
        return self.next

    def place(self, value: Value) -> _Place | None:
        """The place of an iterator; one that is made outside of the agent is at the first stage, or behind it."""
        if value not in self.places and isinstance(value, OpResult):
            self.define(value.op)
        return self.places.get(value)

    def define(self, op: Operation) -> None:
        """The place of the iterator that an op makes."""
        if isinstance(op, nv_tileas.CreateIterator):
            self.places[op.res] = _START
        elif isinstance(op, nv_tileas.IncIter):
            before = self.place(op.iter)
            if op.count is None:
                self.places[op.res] = before.after(1) if before is not None else None
                return
            if before is None or before != self.next:
                raise op.error("leaves out stages from another one on than the next")
            self.places[op.res] = self.root()

    def distance(self, value: Value) -> int | None:
        """How many stages an iterator is behind the next one; None if that is not one number."""
        place = self.place(value)
        return place.distance - self.next.distance if place and place.root == self.next.root else None

    def block(self, block: Block) -> None:
        """Walk through a block."""
        for op in block:
            if op not in self.relevant:
                continue
            if isinstance(op, BEGINS) and op in self.begins:
                self.begin(op)
            elif isinstance(op, nv_tileaa.Continue | nv_tileaa.Break):
                self.leave(op)
            elif isinstance(op, LoopLike):
                self.loop(op)
            elif len(op.regions) > 1 and op.has_trait(OneRegionRuns):
                self.branch(op)
            elif op.regions:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
            else:
                self.define(op)

    def begin(self, op: Begin) -> None:
        """An acquire or a wait takes the next stage."""
        distance = self.distance(op.iter)
        if distance == 0:
            self.next = self.next.after(1)
            return
        if distance is None:
            self.refuse_unknown(op, op.iter)
        elif distance < 0:
            raise op.error("uses a stage a second time; advance the iterator with inc_iter in between")
        else:
            left = f"{distance} stage{'s' if distance > 1 else ''}"
            raise op.error(f"leaves out {left} of its pipeline; each side uses all of them, in order")

    def refuse_unknown(self, op: Operation, iterator: Value) -> NoReturn:
        """An op takes an iterator of which nothing says that it is at the next stage."""
        block = iterator.owner_block
        home = block.parent_op if block is not None else None
        loop = op.parent_op
        while loop is not None and not isinstance(loop, LoopLike | nv_tileas.AgentSwitch):
            loop = loop.parent_op
        if (
            loop is not None
            and isinstance(loop, LoopLike)
            and home is not loop
            and not loop.is_ancestor_of(home or loop)
        ):
            raise op.error(
                f"uses the same stage in each iteration of '{loop.name}'; carry the iterator through the loop, advanced"
            )
        if isinstance(iterator.defining_op, nv_tileas.CreateIterator):
            raise op.error(
                "begins with the first stage again; go on with the iterator that the code before has advanced"
            )
        raise op.error(
            "has an iterator that is not at the next stage on every path; loops and branches before it use stages, and "
            "do not give their iterator"
        )

    def loop(self, loop: Any) -> None:
        """Each iteration begins and ends with the carried iterators as far from the next stage."""
        carried = [i for i, argument in enumerate(loop.iter_args) if argument in self.iterators]
        before: dict[int, int] = {}
        for i in carried:
            distance = self.distance(loop.inits[i])
            if distance is None:
                self.refuse_unknown(loop, loop.inits[i])
            before[i] = distance
        root = self.root()
        for i, distance in before.items():
            self.places[loop.iter_args[i]] = root.after(distance)
        self.distances[loop] = before
        for block in loop.loop_body.blocks:
            self.block(block)
        if isinstance(loop, nv_tileaa.Loop):
            root = self.root()
            for result, distance in zip(loop.results, self.left.get(loop, ()), strict=False):
                self.places[result] = None if distance is None else root.after(distance)
            return
        self.end(loop, loop.yielded)
        root = self.root()
        for i, distance in before.items():
            self.places[loop.results[i]] = root.after(distance)

    def end(self, loop: Operation, yielded: Sequence[Value]) -> None:
        """The end of an iteration."""
        for i, distance in self.distances[loop].items():
            after = self.distance(yielded[i])
            if after != distance:
                self.refuse(loop, yielded[i], None if after is None else after - distance)

    def leave(self, op: nv_tileaa.Continue | nv_tileaa.Break) -> None:
        """An end of an iteration in a branch, or of its loop."""
        loop = enclosing_loop(op)
        if isinstance(op, nv_tileaa.Continue):
            self.end(loop, op.operands)
            return
        found = [self.distance(value) for value in op.operands]
        before = self.left.setdefault(loop, found)
        self.left[loop] = [a if a == b else None for a, b in zip(before, found, strict=True)]

    def refuse(self, loop: Operation, value: Value, ahead: int | None) -> None:
        """An iteration ends with an iterator that is `ahead` stages behind the next one, or it differs by the path."""
        step = value.defining_op
        op = step if step is not None and loop.is_ancestor_of(step) else loop
        if ahead is None:
            raise op.error(
                "gives an iterator that is at the next stage on some paths only; use the stage and advance the "
                "iterator in the same branch"
            )
        stages = f"{abs(ahead)} stage{'s' if abs(ahead) > 1 else ''}"
        if ahead < 0:
            raise op.error(
                f"carries an iterator that is {stages} behind after each iteration of '{loop.name}'; advance it"
            )
        raise op.error(
            f"advances an iterator past {stages} that '{loop.name}' does not use in each iteration"
        )

    def branch(self, op: Operation) -> None:
        """Behind branches, an iterator has a place if it is as far from the next stage in all of them."""
        begun, ends = self.next, list[tuple[_Place, list[int | None], list[_Place | None]]]()
        own = [i for i, result in enumerate(op.results) if result in self.iterators]
        for region in op.regions:
            self.next = begun
            for block in region.blocks:
                self.block(block)
            end = region.entry.last_op if region.blocks else None
            if isinstance(end, nv_tileaa.Continue | nv_tileaa.Break):
                continue
            given: list[Value] = list(end.operands) if end is not None else []
            values = [given[i] for i in own if i < len(given)]
            ends.append((self.next, [self.distance(v) for v in values], [self.place(v) for v in values]))
        if not ends:
            return
        nexts, distances, places = (list(part) for part in zip(*ends, strict=True))
        if all(one == nexts[0] for one in nexts) and all(one == places[0] for one in places):
            self.next = nexts[0]
            self.places.update((op.results[i], place) for i, place in zip(own, places[0], strict=False))
            return
        root = self.root()
        for number, i in enumerate(own):
            found = {one[number] for one in distances}
            distance = found.pop() if len(found) == 1 else None
            self.places[op.results[i]] = None if distance is None else root.after(distance)


def with_control(agent: Region, ops: Iterable[Operation]) -> set[Operation]:
    """Some ops of an agent, the loops and branches around them, and all that ends the iterations of these loops."""
    found: set[Operation] = set()
    for op in ops:
        around: Operation | None = op
        while around is not None and around is not agent.parent and around not in found:
            found.add(around)
            if isinstance(around, nv_tileaa.Loop):
                found.update(_ends_in_branches(around))
            around = around.parent_op
    return found


def _ends_in_branches(loop: nv_tileaa.Loop) -> Iterator[Operation]:
    """The ends of the iterations of a loop, with the branches around them."""
    for end in loop.ends():
        around: Operation | None = end
        while around is not None and around is not loop:
            yield around
            around = around.parent_op


def _leading_to(values: Iterable[Value]) -> set[Value]:
    """The iterators from which these follow, and these."""
    found: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value in found:
            continue
        found.add(value)
        if isinstance(value, OpResult) and isinstance(value.op, nv_tileas.IncIter):
            work.append(value.op.iter)
        else:
            work += sources(value) or []
    return found
