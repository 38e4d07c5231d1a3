"""Pipelines between agents: stages of shared memory that a producer fills while a consumer reads others.

    %pipe = create_pipeline stages = 3, producers = 1, consumers = 8        two mbarriers a stage: full, empty
    agent_switch {                                  }, {
      %t = producer_acquire %pipe, %iter              %c = consumer_wait %pipe, %iter      the stage is empty / full
      %w = producer_write %t, %iter { … }             %r, … = consumer_read %c, %iter { … }
      producer_commit %w                              consumer_release %r                  it is full / empty
      inc_iter %iter                                  inc_iter %iter
    }

An iterator is a stage's number and the parity of the round; both sides begin at the first stage.  Behind
tileas-unwrap-pipeline-iterators, these are integers of their own: `producer_acquire %pipe, slot %s phase %p`.
`producers` and `consumers` are the arrivals that complete a phase of the full and the empty barriers: one for
each reading warp, and for each kind of what fills a stage (`Fill`) those of its threads.

The effects of the ops are on the two phases of the pipeline: an acquire waits for `EMPTY`, a commit arrives at `FULL`,
a wait waits for `FULL`, a release arrives at `EMPTY`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from tessera_tools.dialects.nv_tileas.agents import Yield, agent_of
from tessera_tools.dialects.nv_tileas.pipeline_types import (
    CONSUMER,
    ITERATOR,
    PIPELINE,
    PRODUCER,
    STAGE,
    PipelineIterType,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Region, Value
from tessera_tools.ir.effects import Kind, Reach
from tessera_tools.ir.flow import Flow, sources
from tessera_tools.ir.interfaces import HasFlow, LoopLike
from tessera_tools.ir.types import I32
from tessera_tools.opdef import (
    I32_ATTR,
    I64_ARRAY,
    ONE_REGION_RUNS,
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    SINGLE_BLOCK,
    UNIT_ATTR,
    Completion,
    CustomDirective,
    ImplicitTerminator,
    MemoryEffects,
    Op,
    Resource,
    arrive,
    attribute,
    exactly,
    operand,
    optional_operand,
    region,
    result,
    same_as,
    variadic_result,
    wait,
    write,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from tessera_tools.dialects.nv_tileas.launch_control import RequestLaunch
    from tessera_tools.dialects.nv_tileas.tensor_memory import TmemCopy, TmemLoad, Umma
    from tessera_tools.dialects.nv_tileas.tma import TiledTmaLoad, View
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

    OnStage: TypeAlias = "StageOfPipeline | ProducerWrite | ConsumerRead | TiledTmaLoad | RequestLaunch"
    """The ops with an iterator, or the number of a stage."""


FULL, EMPTY = "full", "empty"
"""The phases of a pipeline: a stage can be read, a stage can be filled."""
NO_PIPELINE = (
    "has an iterator without a unique pipeline: it must derive from a single create_iterator on every path"
)
"""What is wrong with an op of whose iterator or token `pipeline_of` finds no pipeline."""


class Place(CustomDirective, name="Place"):
    """`%iter`, `slot %s` or, with a field for the parity, `slot %s phase %p`."""

    grammar = 'custom: VALUE -> iterator | "slot" VALUE -> slot | "slot" VALUE "phase" VALUE -> both'

    def read(self, state: OpState, node: Node) -> None:
        form, tokens = node
        for field, token in zip(self.arguments, tokens, strict=False):
            state.operand(field, token)
            state.types(field, [PipelineIterType(I32) if form == "iterator" else I32])
        if len(tokens) > len(self.arguments):
            raise state.error(None, "has a phase, but does not wait")

    def write(self, p: Printer, op: OnStage) -> None:
        slot, *phase = (value for field in self.arguments for value in op.values_of(field))
        if is_unwrapped(op):
            p.write(f" slot {p.name(slot)}" + "".join(f" phase {p.name(v)}" for v in phase))
        else:
            p.write(f" {p.name(slot)}")


def is_unwrapped(op: OnStage | View | Umma | TmemCopy | TmemLoad) -> bool:
    """Whether an op on a stage has the stage's number instead of an iterator."""
    return not isinstance(op.iter.type, PipelineIterType)


class CreatePipeline(
    Op,
    name="nv_tileas.async.pipeline.create_pipeline",
    traits=(MemoryEffects(write("res", Resource.BARRIER)),),
):
    """A pipeline of `stages`, with the numbers of arrivals of producers and consumers that complete a phase.

    With `peers`, TMA fills the stages of several CTAs of the cluster at once. A stage is then empty when the consumers
    of all of them have released it.

    With `in_turn`, one of the agents that read stages uses each of them, and releases it alone; the others leave it
    out.  They have turns (create_order).
    With `parts`, each stage is as many stages with barriers of their own, for the row parts of a tile, and the numbers
    of arrivals are those of one part.  A warpgroup of an agent of several uses the part of its number; agents of one
    say which they use.
    With `pair`, products of two CTAs read or fill the stages of both, and a thread of the CTA of the even rank, the
    leader, starts them.  What it waits for arrives at the barriers of the leader, from both CTAs; what it completes
    arrives in both.  Peers are CTAs of other pairs then: TMA completes the barriers of the leader of each CTA that gets
    the tile, and a stage is empty when the products of all pairs are complete to which a CTA sends.
    With `by_first`, the CTA of rank 0 fills the stages of all CTAs of the cluster, with the same.  A stage is empty
    when the consumers of all of them have released it, which arrive at the barriers of that CTA alone.
    """

    stages = attribute(I32_ATTR)
    producers = attribute(I32_ATTR)
    consumers = attribute(I32_ATTR)
    peers = attribute(
        I64_ARRAY, "CTAs whose stages are filled together with those of this one, by rank xor", optional=True
    )
    pair = attribute(UNIT_ATTR, "products of a pair of CTAs use the stages of both", optional=True)
    in_turn = attribute(UNIT_ATTR, "the agents that read stages take turns", optional=True)
    parts = attribute(I32_ATTR, "row parts of a stage", optional=True)
    by_first = attribute(
        UNIT_ATTR, "the first CTA of the cluster fills the stages of all of them", optional=True
    )
    res = result(PIPELINE)
    assembly = (
        "`stages` `=` $stages `,` custom<Arrivals>($producers, $consumers) (`,` `peers` `=` $peers^)? "
        "(`pair` $pair^)? (`in_turn` $in_turn^)? (`parts` `=` $parts^)? (`by_first` $by_first^)? "
        "attr-dict `:` type($res)"
    )

    @property
    def barriers(self) -> int:
        """Barriers of the full stages, of which there are as many of the empty ones."""
        return self.stages.value * (1 if self.parts is None else self.parts.value)

    @property
    def is_of_cluster(self) -> bool:
        """Whether threads or copies of other CTAs arrive at its barriers."""
        return self.peers is not None or self.pair is not None or self.by_first is not None

    @property
    def is_of_products(self) -> bool:
        """Whether products fill the stages."""
        acquires = [user for user in self.res.users if isinstance(user, ProducerAcquire)]
        return any(isinstance(user, ProducerCommit) for op in acquires for user in op.res.users)

    def verify_op(self) -> None:
        for word in ("stages", "producers", "consumers", "parts"):
            given = self.attributes.get(word)
            value = given.value if isinstance(given, IntegerAttr) else 1
            if not 1 <= value < 1 << 20:
                raise self.error(f"has {word} = {value}; expected at least 1")
        if self.peers is not None and (min(self.peers.values, default=0) < 1 or max(self.peers.values) > 15):
            raise self.error(f"has peers {list(self.peers.values)}; expected differences of ranks, 1 to 15")
        if self.pair is not None and self.peers is not None and any(n & 1 for n in self.peers.values):
            raise self.error(
                f"has peers {list(self.peers.values)} and a pair, whose CTAs differ by 1; expected even differences of "
                "ranks, to CTAs of other pairs"
            )
        others = [self.peers, self.pair, self.in_turn, self.parts]
        if self.by_first is not None and any(other is not None for other in others):
            raise self.error(
                "is filled by the first CTA, and has peers, a pair, turns or parts; expected none of these"
            )
        sides: dict[type[Op], Region | None] = {}
        for user in self.res.users:
            side = type(user)
            if side not in (ProducerAcquire, ConsumerWait):
                continue
            agent = agent_of(user)
            if side is ProducerAcquire and sides.setdefault(side, agent) is not agent:
                raise user.error(
                    "writes a pipeline that another agent writes; a pipeline has a single producer"
                )


class CreateIterator(Op, name="nv_tileas.async.pipeline.create_iterator", traits=(PURE,)):
    """The first stage of a pipeline, in its first round."""

    pipeline = operand(PIPELINE)
    res = result(ITERATOR)
    assembly = "$pipeline attr-dict `:` type($res)"


class IncIter(Op, name="nv_tileas.async.pipeline.inc_iter", traits=(PURE,)):
    """The next stage. After the last stage follows the first stage of the next round.

    `by` a number, it leaves out as many stages, which another agent uses: the agents have turns (create_order).
    """

    iter = operand(ITERATOR)
    count = optional_operand(exactly(I32))
    res = result(same_as("iter"))
    assembly = "$iter (`by` $count^)? attr-dict `:` type($res)"

    def verify_op(self) -> None:
        again = [u for u in self.iter.users if isinstance(u, IncIter) and u is not self]
        if any(u.parent is self.parent for u in again):
            raise self.error("advances an iterator that has already been advanced")


class _Region(HasFlow, Op, traits=(ONE_REGION_RUNS, ImplicitTerminator(Yield))):
    """The base of ops that run their region once, and return what it yields."""

    def flow(self) -> Flow:
        """A result is what the region yields."""
        end = self.regions[0].entry.last_op
        given = list(end.operands) if end is not None else []
        own = self.results[-len(given) :] if given else []
        return [(res, [value]) for res, value in zip(own, given, strict=True)]

    @classmethod
    def types_of_regions(cls, regions: Sequence[Region]) -> list[Type]:
        """The types of the results where the text leaves them out: those that the region yields."""
        end = regions[0].entry.last_op if regions and regions[0].blocks else None
        return list(end.operand_types) if end is not None else []

    def verify_yield(self, types: Sequence[Type]) -> None:
        """An error unless the region yields values of these types."""
        end = self.regions[0].entry.last_op
        given = [] if end is None else end.operand_types
        if list(types) != given:
            raise self.error(
                f"returns ({', '.join(map(str, types))}), but its region yields ({', '.join(map(str, given))})"
            )


def _is_in_loop(op: Operation) -> bool:
    around = op.parent_op
    while around is not None and not isinstance(around, LoopLike):
        around = around.parent_op
    return around is not None


class StageOfPipeline(Op):
    """The base of ops on the stage of a pipeline that an iterator is at."""

    pipeline = operand(PIPELINE)
    iter = operand(STAGE)

    def verify_part(self) -> None:
        """An error if the op names a part that its pipeline does not have."""
        part, pipeline = self.attributes.get("part"), pipeline_at(self)
        if not isinstance(part, IntegerAttr) or pipeline is None:
            return
        parts = 1 if pipeline.parts is None else pipeline.parts.value
        if pipeline.parts is None or not 0 <= part.value < parts:
            raise self.error(f"uses part {part.value} of a stage; its pipeline has {parts}")


class ProduceOne(
    StageOfPipeline,
    _Region,
    name="nv_tileas.async.pipeline.produce_one",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS),
):
    """Fills one stage: an acquire, a write and a commit."""

    body = region()
    assembly = "$pipeline `,` custom<Place>($iter) $body attr-dict"

    def verify_op(self) -> None:
        self.verify_yield([])


class ProducerAcquire(
    StageOfPipeline,
    name="nv_tileas.async.pipeline.producer_acquire",
    traits=(MemoryEffects(wait(Completion.MBARRIER, "pipeline", phase=EMPTY)),),
):
    """Waits until the consumers have released the stage.  A slot without a phase has never been filled.

    With `implied`, another wait of the agent says that they have, and this one is none.
    """

    phase = optional_operand(exactly(I32))
    part = attribute(I32_ATTR, "which part of a stage that has several", optional=True)
    implied = attribute(UNIT_ATTR, "other waits say that the stage is empty", optional=True)
    res = result(PRODUCER)
    assembly = (
        "$pipeline `,` custom<Place>($iter, $phase) (`part` $part^)? (`implied` $implied^)? attr-dict "
        "`:` type($res)"
    )

    def verify_op(self) -> None:
        self.verify_part()
        _verify_once(self, self.res, (ProducerWrite, ProducerCommit), "is acquired, but not written")


class ProducerTail(
    StageOfPipeline,
    name="nv_tileas.async.pipeline.producer_tail",
    traits=(MemoryEffects(wait(Completion.MBARRIER, "pipeline", phase=EMPTY)),),
):
    """Waits until the consumers have released the stage, which nobody fills again: what another CTA still does to the
    barriers of this one is complete when the producer has waited for all stages.

    With `implied`, another wait of the agent says that they have, and this one is none.
    """

    phase = optional_operand(exactly(I32))
    part = attribute(I32_ATTR, "which part of a stage that has several", optional=True)
    implied = attribute(UNIT_ATTR, "other waits say that the stage is empty", optional=True)
    assembly = "$pipeline `,` custom<Place>($iter, $phase) (`part` $part^)? (`implied` $implied^)? attr-dict"

    def verify_op(self) -> None:
        self.verify_part()


class Fill(Enum):
    """A kind of what fills a stage, by the completion of its writes; its arrivals at the full barrier."""

    BOXES = "boxes by TMA: one thread, with the number of bytes, which complete the phase"
    COPIES = "cp.async: every thread, when its copies are complete"
    TILES = "stores by all threads: every warp, after them"
    NUMBERS = "stores of elements by one thread: that thread, after them"
    PRODUCTS = "tcgen05.mma: the thread that starts the products, when they are complete"

    def arrivals(self, warps: int) -> int:
        """The arrivals of a producer of so many warps."""
        return {Fill.COPIES: 32 * warps, Fill.TILES: warps}.get(self, 1)


def fill_of(op: Operation) -> Fill | None:
    """How an op fills a stage; None if it does not."""
    effects = op.effects()
    for effect in effects.own if effects is not None else ():
        if effect.kind is Kind.WRITE and effect.on == "buffer":
            if effect.completion is Completion.MBARRIER:
                return Fill.BOXES
            if effect.completion is Completion.GROUP:
                return Fill.COPIES
            return Fill.NUMBERS if effect.reach is Reach.BY_THREAD else Fill.TILES
    return None


class ProducerWrite(
    _Region, name="nv_tileas.async.pipeline.producer_write", traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS)
):
    """Fills a stage, or starts the copies that do. One thread announces the bytes of TMA and starts its copies; all
    threads execute the others, and store tiles."""

    token = operand(PRODUCER)
    iter = operand(STAGE)
    res = result(PRODUCER)
    body = region()
    assembly = "$token `,` custom<Place>($iter) $body attr-dict"

    @property
    def fills(self) -> set[Fill]:
        """What fills the stage."""
        return {fill for op in self.regions[0].entry.walk() if (fill := fill_of(op)) is not None}

    def verify_op(self) -> None:
        self.verify_yield([])
        if not isinstance(self.token.defining_op, ProducerAcquire):
            raise self.error("writes a stage that no producer_acquire has acquired")
        if Fill.NUMBERS in self.fills and len(self.fills) > 1:
            raise self.error(
                "stores numbers, which one thread does, with tiles or copies; use a pipeline for each"
            )
        _verify_once(self, self.res, (ProducerCommit,), "is written, but not committed")


class ProducerCommit(
    Op,
    name="nv_tileas.async.pipeline.producer_commit",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "token", phase=FULL)),),
):
    """The stage is full when the copies that were started are complete, and the stores done.

    Without a producer_write, products fill the stage: it is full when those are complete that the agent has started.
    """

    token = operand(PRODUCER)
    assembly = "$token attr-dict"

    @property
    def is_of_products(self) -> bool:
        """Whether products fill the stage."""
        return isinstance(self.token.defining_op, ProducerAcquire)

    def effects(self) -> MemoryEffects | None:
        """With cp.async, threads also arrive when their copies are complete."""
        own, write = super().effects(), self.token.defining_op
        if self.is_of_products:
            return MemoryEffects(arrive(Completion.TCGEN05, "token", phase=FULL))
        if own is None or not isinstance(write, ProducerWrite) or Fill.COPIES not in write.fills:
            return own
        return own.and_also(arrive(Completion.GROUP, "token", phase=FULL))

    def verify_op(self) -> None:
        if not isinstance(self.token.defining_op, ProducerWrite | ProducerAcquire):
            raise self.error("commits a stage that no producer_write has written")


class ConsumeOne(
    StageOfPipeline,
    _Region,
    name="nv_tileas.async.pipeline.consume_one",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS),
):
    """Reads one stage: a wait, a read and a release. The results are what the region yields."""

    consumer_idx = attribute(I32_ATTR)
    results_ = variadic_result()
    body = region()
    assembly = (
        "$pipeline `,` custom<Place>($iter) `consumer_idx` `=` $consumer_idx custom<OlderType>() "
        "(`->` type($results)^)? $body attr-dict"
    )

    def verify_op(self) -> None:
        self.verify_yield(self.result_types)


class ConsumerWait(
    StageOfPipeline,
    name="nv_tileas.async.pipeline.consumer_wait",
    traits=(MemoryEffects(wait(Completion.MBARRIER, "pipeline", phase=FULL)),),
):
    """Waits until the stage is full.

    With `deferred`, products have filled it in the iteration before that of the loop around.
    """

    consumer_idx = attribute(I32_ATTR)
    deferred = attribute(UNIT_ATTR, "filled in the iteration before", optional=True)
    phase = optional_operand(exactly(I32))
    part = attribute(I32_ATTR, "which part of a stage that has several", optional=True)
    res = result(CONSUMER)
    assembly = (
        "$pipeline `,` custom<Place>($iter, $phase) `,` $consumer_idx (`part` $part^)? "
        "(`deferred` $deferred^)? attr-dict `:` type($res)"
    )

    def verify_op(self) -> None:
        if not self.res.has_uses:
            raise self.error("waits for a stage that is never read")
        self.verify_part()
        if self.deferred is not None and not _is_in_loop(self):
            raise self.error(
                "is deferred, but in no loop; expected a loop, whose iteration before has filled it"
            )
        if is_unwrapped(self) and self.phase is None:
            raise self.error("waits for a slot without a phase; expected `slot %s phase %p`")


class ConsumerRead(
    _Region, name="nv_tileas.async.pipeline.consumer_read", traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS)
):
    """Reads a full stage. The results are what the region yields."""

    token = operand(CONSUMER)
    iter = operand(STAGE)
    res = result(CONSUMER)
    results_ = variadic_result()
    body = region()
    assembly = "$token `,` custom<Place>($iter) (`->` type($results)^)? $body attr-dict"

    def verify_op(self) -> None:
        self.verify_yield([r.type for r in self.results[1:]])
        if not isinstance(self.token.defining_op, ConsumerWait):
            raise self.error("reads a stage that no consumer_wait has waited for")
        if not self.res.has_uses:
            raise self.error("reads a stage that is never released")


class ConsumerRelease(
    Op,
    name="nv_tileas.async.pipeline.consumer_release",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "token", phase=EMPTY)),),
):
    """The stage is empty when every consumer has released it: one arrival a warp.

    With `products`, those read the stage that the agent has started, and the arrival is when they are complete.
    """

    token = operand(CONSUMER)
    products = attribute(UNIT_ATTR, "products read the stage", optional=True)
    assembly = "$token (`products` $products^)? attr-dict"

    def effects(self) -> MemoryEffects | None:
        if self.products is None:
            return super().effects()
        return MemoryEffects(arrive(Completion.TCGEN05, "token", phase=EMPTY))

    def verify_op(self) -> None:
        if isinstance(self.token.defining_op, ConsumerWait) and any(
            isinstance(user, ConsumerRead) for user in self.token.users
        ):
            raise self.error("releases a stage before it is read")


def _verify_once(op: Op, token: Value, by: tuple[type[Op], ...], found: str) -> None:
    users = [user for user in token.users if isinstance(user, by)]
    if len(users) != 1:
        raise op.error(
            f"yields a stage that {found}" if not users else "yields a token that is used more than once"
        )


def pipeline_at(op: OnStage) -> CreatePipeline | None:
    """The pipeline whose stage an op is on, from its iterator, or from its token or that of the op around it."""
    if not is_unwrapped(op):
        return pipeline_of(op.iter)
    if isinstance(op, StageOfPipeline):
        return pipeline_of(op.pipeline)
    if isinstance(op, ProducerWrite | ConsumerRead):
        return pipeline_of(op.token)
    return pipeline_at(op.parent_op) if isinstance(op.parent_op, ProducerWrite) else None


def pipeline_of(iterator: Value) -> CreatePipeline | None:
    """The pipeline that an iterator or token is of, through loops and branches; None if there is none, or several."""
    seen: set[Value] = set()
    work = [iterator]
    found: set[Operation] = set()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        inner = sources(value)
        if inner is not None:
            work += inner
        elif isinstance(value, OpResult):
            op = value.op
            if isinstance(op, CreatePipeline):
                found.add(op)
            elif isinstance(op, CreateIterator | ProducerAcquire | ConsumerWait):
                work.append(op.pipeline)
            elif isinstance(op, IncIter):
                work.append(op.iter)
            elif isinstance(op, ProducerWrite | ConsumerRead):
                work.append(op.token)
            else:
                return None
        else:
            assert isinstance(value, BlockArgument)
            return None
    only = found.pop() if len(found) == 1 else None
    return only if isinstance(only, CreatePipeline) else None
