"""Waits for empty stages that other waits imply: what they wait for happens before something that the agent waits for.

    agent A: for { wait p; acquire q; fill q; … }       the acquire of q need not wait: B fills p again behind the
    agent B: for { fill p; wait q; release q }          release of q

The ops of a block run equally often, so that the numbers of their executions can be compared across agents: execution
n of a commit is before that of the wait for it, and execution n of a release before n + stages of an acquire.  In a
block, what stands before runs before, and all of execution n before all of n + 1.  A wait is implied if such steps
lead from each release of its stages to another wait of its agent, in time.  A release by products is when these are
complete, and a later commit of their agent says so, too.

All waits of an agent for an mbarrier are implied, or none: one that has missed a phase could take an older one for the
one it waits for, even if the products are complete.  Pipelines of several CTAs and of agents with turns are left out.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.nv_tileas import TmemType
from tessera_tools.dialects.nv_tileas.pipelines import Fill
from tessera_tools.ir.core import Block, BlockArgument, Operation, Region, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.records import dataclass

OF_THREADS = (nv_tileas.TmemLoad, nv_tileas.TmemStore)
"""Accesses of tensor memory that are complete in the program's order: a wait for them follows."""
ACCESSES = (nv_tileas.Umma, nv_tileas.TmemCopy, nv_tileas.S2tCopy, *OF_THREADS)
"""All of them; the others are asynchronous."""
_ON_STAGE = (nv_tileas.ProduceOne, nv_tileas.ProducerWrite, nv_tileas.ConsumeOne, nv_tileas.ConsumerRead)
"""Ops whose regions belong to the block around them."""
_ACQUIRES = (nv_tileas.ProducerAcquire, nv_tileas.ProducerTail)
_Barrier = tuple[nv_tileas.CreatePipeline, int]
"""A pipeline, and which part of its stages."""


def buffers_of(op: Operation) -> set[Value]:
    """The buffers in tensor memory that an access uses."""
    return {_origin(value) for value in op.operands if isinstance(value.type, TmemType)}


def _origin(value: Value) -> Value:
    """The buffer of which a copy gives a stage, or whose columns another one shares."""
    made = value.defining_op
    if isinstance(made, nv_tileas.TmemCopy):
        return _origin(made.target)
    if isinstance(made, nv_tileas.AllocTmem):
        other = made.shared_with(list[Value](made.results).index(value))
        return value if other is None else made.results[other]
    return value


def implied_waits(function: Operation) -> Iterator[nv_tileas.ProducerAcquire | nv_tileas.ProducerTail]:
    """The waits of a kernel for empty stages that need not be, because the others imply them."""
    agents = [
        _Agent(region, op.num_warps.values[number])
        for op in function.walk()
        if isinstance(op, nv_tileas.AgentSwitch)
        for number, region in enumerate(op.regions)
    ]
    network = _Network([one for agent in agents for one in agent.nodes()])
    for group in network.groups():
        if network.are_implied(group):
            network.left_out |= set(group)
            yield from dict.fromkeys(node.op for node in group)


@dataclass(eq=False)
class _Agent:
    """The code of an agent."""

    region: Region
    warps: int

    def __post_init__(self) -> None:
        self.places: dict[Operation, tuple[Block, int]] = {}
        """Where an op stands: in which block, and behind how many others."""
        for block in (
            self.region.entry,
            *(b for op in self.region.walk() for r in op.regions for b in r.blocks),
        ):
            around = block.parent_op
            if not isinstance(around, _ON_STAGE):
                self._number(block, block, 0)
        accesses = [op for op in self.region.walk() if isinstance(op, ACCESSES)]
        self.buffers = {buffer for op in accesses for buffer in buffers_of(op)}
        """The buffers in tensor memory that it uses."""
        self.by_threads = {b for op in accesses if isinstance(op, OF_THREADS) for b in buffers_of(op)}
        """Those that its threads load or store."""
        self.started: dict[Block, set[int]] = {}
        """Places of products and copies, and of loops and branches around them."""
        for op in accesses:
            around: Operation | None = None if isinstance(op, OF_THREADS) else op
            while around is not None and around in self.places:
                block, place = self.places[around]
                self.started.setdefault(block, set()).add(place)
                around = block.parent_op

    def _number(self, inner: Block, block: Block, place: int) -> int:
        for op in inner:
            self.places[op] = block, place
            place += 1
            if isinstance(op, _ON_STAGE):
                place = self._number(op.regions[0].entry, block, place)
        return place

    def nodes(self) -> Iterator[_Node]:
        """What its ops on stages do; those of a pipeline with parts, for each part."""
        found = [(op, pipeline) for op in self.region.walk() if (pipeline := _pipeline(op)) is not None]
        shares = max((_parts(pipeline) for op, pipeline in found if part_of(op) is None), default=1)
        for op, pipeline in found:
            for number in range(shares):
                part = part_of(op)
                if part is None:
                    part = min(number, _parts(pipeline) - 1)
                yield _Node(op, self, number, (pipeline, part), *self.places[op])


@dataclass(eq=False)
class _Node:
    """An arrival or a wait."""

    op: Any
    agent: _Agent
    share: int
    """Of which warps of the agent: those of a part."""
    barrier: _Barrier
    block: Block
    place: int

    @property
    def where(self) -> tuple[_Agent, int, Block]:
        """Nodes with the same have an order."""
        return self.agent, self.share, self.block

    @property
    def kind(self) -> tuple[Hashable, ...]:
        """Executions of a node alone with this, in whatever block, have the numbers of stages."""
        return self.agent, self.share, self.barrier, self.is_arrival, self.is_full, self.is_behind

    @property
    def stages(self) -> int:
        return self.barrier[0].stages.value

    @property
    def is_arrival(self) -> bool:
        return isinstance(self.op, nv_tileas.ProducerCommit | nv_tileas.ConsumerRelease)

    @property
    def is_full(self) -> bool:
        """Whether it is about full stages."""
        return isinstance(self.op, nv_tileas.ProducerCommit | nv_tileas.ConsumerWait)

    @property
    def is_of_products(self) -> bool:
        """Whether an arrival is when products are complete."""
        if isinstance(self.op, nv_tileas.ConsumerRelease):
            return self.op.products is not None
        return isinstance(self.op, nv_tileas.ProducerCommit) and self.op.is_of_products

    @property
    def is_of_all(self) -> bool:
        """Whether all warps of the agent arrive, or wait."""
        if self.agent.warps == 1 or isinstance(self.op, nv_tileas.ConsumerWait | nv_tileas.ProducerTail):
            return True
        if isinstance(self.op, nv_tileas.ConsumerRelease):
            return self.op.products is None
        if isinstance(self.op, nv_tileas.ProducerAcquire):
            writes = [user for user in self.op.res.users if isinstance(user, nv_tileas.ProducerWrite)]
        else:
            writes = [op for op in (self.op.token.defining_op,) if isinstance(op, nv_tileas.ProducerWrite)]
        return bool(writes) and all(bool(op.fills) and op.fills <= {Fill.TILES, Fill.COPIES} for op in writes)

    @property
    def is_behind(self) -> bool:
        """Whether it waits behind the loop that has filled the stages."""
        return isinstance(self.op, nv_tileas.ProducerTail) and isinstance(self.op.iter.defining_op, LoopLike)

    @property
    def is_counted(self) -> bool:
        """Whether the number of an execution is that of the stage."""
        if not isinstance(self.op, nv_tileas.ProducerTail):
            return True
        iterator = self.op.iter
        return isinstance(iterator, BlockArgument) and iterator.block is self.block


class _Network:
    """The arrivals and waits of the agents of a kernel."""

    def __init__(self, nodes: list[_Node]) -> None:
        self.nodes = nodes
        self.left_out: set[_Node] = set()
        """Waits that are implied."""
        self.number = Counter(node.kind for node in nodes)
        self.waits: dict[tuple[_Barrier, bool], list[_Node]] = {}
        self.releases: dict[_Barrier, list[_Node]] = {}
        self.together: dict[tuple[_Agent, int, Block], list[_Node]] = {}
        for node in nodes:
            self.together.setdefault(node.where, []).append(node)
            if not node.is_arrival:
                self.waits.setdefault((node.barrier, node.is_full), []).append(node)
            elif not node.is_full:
                self.releases.setdefault(node.barrier, []).append(node)

    def groups(self) -> Iterator[list[_Node]]:
        """The waits of an agent for the same empty stages."""
        found: dict[Hashable, list[_Node]] = {}
        for node in self.nodes:
            if isinstance(node.op, _ACQUIRES):
                found.setdefault((node.agent, node.barrier[0], part_of(node.op)), []).append(node)
        yield from found.values()

    def are_implied(self, group: list[_Node]) -> bool:
        """Whether the other waits of the agent imply all of these."""
        return all(
            self.number[node.kind] == 1
            and bool(self.releases.get(node.barrier))
            and all(self.says(release, node, group) for release in self.releases[node.barrier])
            for node in group
        )

    def says(self, release: _Node, wait: _Node, group: list[_Node]) -> bool:
        """Whether another wait of the agent follows a release, early enough for a wait."""
        if self.number[release.kind] > 1:
            return False
        lags = self.lags(release, wait, group)
        own = [n for n in self.together[wait.where] if n not in group and n not in self.left_out]
        if not wait.is_behind:
            return wait.is_counted and any(
                lags[other] + (other.place > wait.place) <= wait.stages
                for other in own
                if not other.is_arrival and other in lags
            )
        # Another wait behind the same loop, whose stages were filled as often.
        filled = {n.barrier: n.block for n in self.nodes if isinstance(n.op, nv_tileas.ProducerAcquire)}
        if wait.barrier not in filled:
            return False
        return any(
            other.is_behind
            and other.place < wait.place
            and other.op.iter.defining_op is wait.op.iter.defining_op
            and filled.get(other.barrier) is filled[wait.barrier]
            and any(
                lag <= wait.stages - other.stages
                for node, lag in lags.items()
                if isinstance(node.op, nv_tileas.ConsumerRelease) and node.barrier == other.barrier
            )
            for other in own
        )

    def lags(self, release: _Node, wait: _Node, group: list[_Node]) -> dict[_Node, int]:
        """By node: of execution n of a release is known before execution n + lag."""
        lags: dict[_Node, int] = {}
        reached: list[_Node] = []
        work: list[tuple[int, int]] = []

        def reach(node: _Node, lag: int) -> None:
            if node.is_of_all and self.number[node.kind] == 1 and lag < lags.get(node, 1 << 30):
                lags[node] = lag
                heapq.heappush(work, (lag, len(reached)))
                reached.append(node)

        since = release.place
        if release.is_of_products:
            started = release.agent.started.get(release.block, set())
            since = max((place for place in started if place < since), default=since)
        for node in self.together[release.where]:
            if node.is_arrival and self.tells(release, node, wait):
                reach(node, int(node.place < since))
        while work:
            lag, number = heapq.heappop(work)
            node = reached[number]
            if lag > lags[node]:
                continue
            if node.is_arrival:
                for other in self.waits.get((node.barrier, node.is_full), ()):
                    if other.is_counted and other not in group and other not in self.left_out:
                        reach(other, lag + (0 if node.is_full else node.stages))
                continue
            for other in self.together[node.where]:
                if other.is_arrival:
                    reach(other, lag + (other.place < node.place))
        return lags

    def tells(self, release: _Node, arrival: _Node, wait: _Node) -> bool:
        """Whether an arrival says what a release does: for products, a commit; for accesses of tensor memory, one with
        a fence, because agents wait for it that use the same buffers."""
        if release.is_of_products:
            return arrival.is_of_products
        used = release.agent.by_threads & wait.agent.buffers
        waiting = self.waits.get((arrival.barrier, arrival.is_full), ())
        return used <= {buffer for node in waiting for buffer in node.agent.buffers}


def part_of(op: Operation) -> int | None:
    """The part of a stage that an op names, itself or by the op that gives its token; None if it names none."""
    while not isinstance(op, (*_ACQUIRES, nv_tileas.ConsumerWait)):
        token = getattr(op, "token", None)
        if token is None or token.defining_op is None:
            return None
        op = token.defining_op
    return None if op.part is None else op.part.value


def _parts(pipeline: nv_tileas.CreatePipeline) -> int:
    return 1 if pipeline.parts is None else pipeline.parts.value


def _pipeline(op: Operation) -> nv_tileas.CreatePipeline | None:
    """The pipeline of an arrival or wait; None if it is another op, or if other CTAs or turns have a part in it."""
    if isinstance(op, nv_tileas.ProducerCommit | nv_tileas.ConsumerRelease):
        pipeline = nv_tileas.pipeline_of(op.token)
    elif isinstance(op, (*_ACQUIRES, nv_tileas.ConsumerWait)):
        pipeline = nv_tileas.pipeline_of(op.iter)
    else:
        return None
    if pipeline is None or pipeline.is_of_cluster or pipeline.in_turn is not None:
        return None
    return pipeline
