"""Where tcgen05.fence stands: nowhere but between accesses of tensor memory that a synchronization of threads orders.

    access; arrive ──▶ wait; access        fence::before_thread_sync before the arrival, ::after_thread_sync before
                                           the access behind the wait

An arrival has a fence if its threads have loaded or stored a buffer since their last fence which those that wait for
it use, too.  A commit needs none: it has the effect of one.  An access has a fence if its threads have waited, since
their last one, for arrivals behind accesses of the same buffer; one fence is for several waits.  If all of these waits
stand outside of a loop around the access, the fence stands behind them.  A thread's products are in order, but its
copies are not in order with its earlier ones, nor with the products that read these: the wait for the stage that is
copied orders them, because the stage was filled behind their commit.

A wait of an earlier fence may have ordered all that another wait orders: if products leave their sums right behind
the release of a factor that they have read, threads that have waited to replace the factor need no fence to load
these sums (`deferred`).  PTX ISA, "Memory Consistency Model for 5th generation of TensorCore operations".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tessera_tools.analysis.implied_waits import ACCESSES, OF_THREADS, buffers_of
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import OneRegionRuns
from tessera_tools.passes.llvm.releases import is_arrival, is_last, pipeline_of_op, pipeline_of_token
from tessera_tools.records import dataclass, field

Side = tuple[Operation | Value, bool]
"""A pipeline, and whether a wait is for full stages, which a producer commits, or for empty ones; or mbarriers that no
pipeline has."""
Agent = Region | None
"""The code of an agent; None for that around them."""


@dataclass(eq=False)
class TensorFences:
    """The ops of a kernel with a fence."""

    before: set[Operation] = field(default_factory=set[Operation])
    """Arrivals and accesses with a fence before them."""
    after: set[Operation] = field(default_factory=set[Operation])
    """Waits with a fence::after_thread_sync behind them."""


@dataclass(frozen=True)
class _State:
    """What may have happened since the last fence on a path."""

    accessed: frozenset[Value] = frozenset()
    """Buffers that threads have loaded or stored, with no fence since."""
    untold: frozenset[tuple[Value, Agent]] = frozenset()
    """Buffers that they have used, and the agents that no arrival since has told so."""
    waits: frozenset[Operation] = frozenset()
    """Waits that no fence follows yet."""
    is_behind: bool = False
    """Whether threads have waited at all since the last fence, so that what this implies may need one."""
    passed: frozenset[Operation | Value] = frozenset()
    """Pipelines of one stage that were acquired in this iteration on every path."""
    acquired: frozenset[Operation | Value] = frozenset()
    """Pipelines of one stage that were acquired in this iteration on every path, with a fence since."""

    def joined(self, other: _State) -> _State:
        return _State(
            self.accessed | other.accessed,
            self.untold | other.untold,
            self.waits | other.waits,
            self.is_behind or other.is_behind,
            (self.passed | self.acquired) & (other.passed | other.acquired),
            self.acquired & other.acquired,
        )


def tensor_fences(function: Operation) -> TensorFences:
    """The fences of a kernel."""
    found = TensorFences()
    accesses = [op for op in function.walk() if isinstance(op, ACCESSES)]
    if not accesses:
        return found
    agents: dict[Agent, set[Value]] = {}
    for op in accesses:
        agents.setdefault(nv_tileas.agent_of(op), set()).update(buffers_of(op))
    waiting: dict[Side, set[Agent]] = {}
    knowing: dict[Side, set[Agent]] = {}
    for op in function.walk():
        side = _waited(op)
        if side is not None:
            knowing.setdefault(side, set()).add(nv_tileas.agent_of(op))
            if not _is_implied(op):
                waiting.setdefault(side, set()).add(nv_tileas.agent_of(op))
    walks = [_Walk(region, agents, waiting, knowing, found) for region in _agents(function)]
    guarded: dict[tuple[Side, Agent], set[Value]] = {}
    for walk in walks:
        walk.arrivals()
        for key, buffers in walk.guarded.items():
            guarded.setdefault(key, set()).update(buffers)
    together = {pair for walk in walks for pair in walk.together}
    for walk in walks:
        walk.waits(guarded, together)
    return found


def _agents(function: Operation) -> Iterator[Region]:
    """The code of each agent, and that around them."""
    yield from function.regions
    for op in function.walk():
        if isinstance(op, nv_tileas.AgentSwitch):
            yield from op.regions


def _waited(op: Operation) -> Side | None:
    """What is done behind an op, because it waits, or because other waits imply it; None if nothing is."""
    if isinstance(op, nv_tileas.ConsumerWait):
        return pipeline_of_op(op), True
    if isinstance(op, nv_tileas.ProducerAcquire) and op.phase is not None:
        return pipeline_of_op(op), False
    if isinstance(op, nv_tileas.MBarrierWait):
        return op.mbarrier, True
    if isinstance(op, nv_tileas.ProducerTail):
        return pipeline_of_op(op), False
    return None


def _is_implied(op: Operation) -> bool:
    """Whether an op that acquires a stage does not wait, because the agent's other waits say that it is empty."""
    return isinstance(op, nv_tileas.ProducerAcquire | nv_tileas.ProducerTail) and op.implied is not None


def _completed(op: Operation) -> tuple[Side, bool] | None:
    """What an arrival completes, also if other waits imply it, and whether it is a commit of products or copies; None
    if it is not one."""
    if isinstance(op, nv_tileas.S2tCopy):
        return (op.mbarrier, True), True
    if not isinstance(op, nv_tileas.ProducerCommit | nv_tileas.ConsumerRelease) or is_last(op):
        return None
    if isinstance(op, nv_tileas.ProducerCommit):
        made = op.token.defining_op
        return (pipeline_of_token(op), True), isinstance(made, nv_tileas.ProducerAcquire)
    assert isinstance(op, nv_tileas.ConsumerRelease)
    return (pipeline_of_token(op), False), op.products is not None


class _Walk:
    """The accesses, arrivals and waits of one agent."""

    def __init__(
        self,
        region: Region,
        agents: dict[Agent, set[Value]],
        waiting: dict[Side, set[Agent]],
        knowing: dict[Side, set[Agent]],
        found: TensorFences,
    ) -> None:
        self.region, self.agents, self.found = region, agents, found
        self.waiting, self.knowing = waiting, knowing
        """By side: the agents that wait, and with those to whom other waits say as much."""
        self.agent = region if isinstance(region.parent, nv_tileas.AgentSwitch) else None
        self.guarded: dict[tuple[Side, Agent], set[Value]] = {}
        """By side, and agent that waits: the buffers that the agent has used before arrivals."""
        self.copied: dict[Side, set[Value]] = {}
        """By side: the buffers that the agent has copied to before a stage was filled again."""
        self.together: set[tuple[Side, Side]] = set()
        """Commits with no product between them."""
        self.orders: dict[tuple[Side, Agent], set[Value]] = {}
        self.covered: set[tuple[Side, Side]] = set()
        self.pending: dict[Operation, set[Operation]] = {}

    # -- arrivals

    def arrivals(self) -> None:
        """Find the fences before arrivals, and what the arrivals order."""
        own = [op for op in self.region.walk() if nv_tileas.agent_of(op) is self.agent]
        products = {
            buffer
            for op in own
            if isinstance(op, ACCESSES) and not isinstance(op, OF_THREADS)
            for buffer in buffers_of(op)
        }
        copies = {buffer for op in own if isinstance(op, nv_tileas.TmemCopy) for buffer in buffers_of(op)}
        for op in own:
            done = _completed(op)
            if done is None or not done[1]:
                continue
            for agent in self.knowing.get(done[0], ()):
                self.guarded.setdefault((done[0], agent), set()).update(products)
            if not done[0][1]:
                # The stage is filled again behind this commit.
                self.copied.setdefault((done[0][0], True), set()).update(copies)
            behind = op.next_op
            while behind is not None and not isinstance(behind, ACCESSES) and not behind.regions:
                other = _completed(behind)
                if other is not None and other[1]:
                    self.together.update({(done[0], other[0]), (other[0], done[0])})
                behind = behind.next_op
        self._block(self.region.entry, _State(), self._arrive)

    def _arrive(self, op: Operation, state: _State) -> _State:
        if isinstance(op, OF_THREADS):
            buffers = buffers_of(op)
            told = {(buffer, agent) for buffer in buffers for agent in self.agents if agent is not self.agent}
            return _State(state.accessed | buffers, state.untold | told)
        if isinstance(op, nv_tileas.S2tCopy) and not state.accessed.isdisjoint(buffers_of(op)):
            self.found.before.add(op)  # Its threads meet.
            return _State(untold=state.untold)
        done = _completed(op)
        if done is None or done[1]:
            return state
        agents = self.waiting.get(done[0], set()) if is_arrival(op) else set[Agent]()
        accessed = state.accessed
        if any(not accessed.isdisjoint(self.agents.get(agent, ())) for agent in agents):
            self.found.before.add(op)
            accessed = frozenset[Value]()
        for agent in self.knowing.get(done[0], set()):
            news = {buffer for buffer, other in state.untold if other is agent}
            self.guarded.setdefault((done[0], agent), set()).update(news)
        return _State(accessed, frozenset(one for one in state.untold if one[1] not in agents))

    # -- waits

    def waits(self, guarded: dict[tuple[Side, Agent], set[Value]], together: set[tuple[Side, Side]]) -> None:
        """Find the fences behind waits."""
        self.orders, self.covered = guarded, together
        self._block(self.region.entry, _State(), self._wait)
        for access, waits in self.pending.items():
            if _stands_before(access, waits):
                self.found.before.add(access)
                continue
            for wait in waits:
                if not any(_is_before(wait, other) for other in waits if other is not wait):
                    self.found.after.add(wait)

    def _wait(self, op: Operation, state: _State) -> _State:
        if isinstance(op, ACCESSES):
            needed = {wait for wait in state.waits if self._orders(wait, op)}
            if not needed:
                return state
            self.pending.setdefault(op, set()).update(needed)
            if not _stands_before(op, needed):
                # The fence stands behind the last of these waits, which may be far before the others.
                left = {wait for wait in state.waits if not any(_is_before(wait, other) for other in needed)}
                return _State(
                    waits=frozenset(left - needed),
                    is_behind=state.is_behind,
                    passed=state.passed,
                    acquired=state.acquired,
                )
            return _State(acquired=state.acquired | state.passed)
        side = _waited(op)
        if side is None or (_is_implied(op) and not state.is_behind):
            return state
        waits, passed = state.waits, state.passed
        if not self._is_covered(op, side, state):
            waits |= {op}
            if not side[1] and _is_one(side[0]):
                passed |= {side[0]}
        return _State(waits=waits, is_behind=True, passed=passed, acquired=state.acquired)

    def _orders(self, wait: Operation, access: Operation) -> bool:
        side = _waited(wait)
        if side is None:
            return False
        buffers = buffers_of(access)
        return not buffers.isdisjoint(self.orders.get((side, self.agent), ())) or (
            isinstance(access, nv_tileas.TmemCopy) and not buffers.isdisjoint(self.copied.get(side, ()))
        )

    def _is_covered(self, op: Operation, side: Side, state: _State) -> bool:
        """Whether a fence of this iteration has ordered what a wait for sums of the iteration before orders."""
        if not isinstance(op, nv_tileas.ConsumerWait) or op.deferred is None:
            return False
        return any((side, (pipeline, False)) in self.covered for pipeline in state.acquired)

    # -- paths

    def _block(self, block: Block, state: _State, step: Any) -> _State:
        for op in block:
            state = step(op, state)
            if isinstance(op, nv_tileas.AgentSwitch) or not op.regions:
                continue
            if isinstance(op, LoopLike):
                outer = state
                for _ in range(2):
                    entered = _State(state.accessed, state.untold, state.waits, state.is_behind)
                    for region in op.regions:
                        entered = self._block(region.entry, entered, step)
                    state = state.joined(entered)
                state = _State(
                    state.accessed,
                    state.untold,
                    state.waits,
                    state.is_behind,
                    outer.passed,
                    outer.acquired,
                )
            elif op.has_trait(OneRegionRuns):
                ends = [
                    self._block(region.entry, state, step) if region.blocks else state
                    for region in op.regions
                ]
                state = ends[0]
                for end in ends[1:]:
                    state = state.joined(end)
            else:
                for region in op.regions:
                    state = self._block(region.entry, state, step)
        return state


def _is_one(pipeline: Operation | Value) -> bool:
    return isinstance(pipeline, nv_tileas.CreatePipeline) and pipeline.stages.value == 1


def _loop_around(op: Operation) -> Operation | None:
    around = op.parent_op
    while around is not None and not isinstance(around, LoopLike | nv_tileas.AgentSwitch):
        around = around.parent_op
    return around if isinstance(around, LoopLike) else None


def _stands_before(access: Operation, waits: set[Operation]) -> bool:
    """Whether the fence of an access stands before it: it does unless all of the waits are outside of its loop."""
    around = _loop_around(access)
    return any(_loop_around(wait) is around for wait in waits)


def _is_before(op: Operation, other: Operation) -> bool:
    """Whether an op always runs before another one: it stands before it, or before what is around it."""
    around: Operation | None = other
    while around is not None and around.parent is not op.parent:
        around = around.parent_op
    return around is not None and around is not op and op.is_before_in_block(around)
