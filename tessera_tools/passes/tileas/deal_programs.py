"""tileas-deal-programs: CTAs take the numbers of their next programs, their tickets, while they run.

    scf.for %p = %own to %n step %ctas { body } {dealt = "counter"}         in a kernel of one group of threads
      ──▶  loop (%p = %own) { %p < %n, or break; body; %next = %ctas + what one thread adds to a counter; continue }

    agent_switch { scf.for %p … { body }, { scf.for %p … { body } }         in a kernel with agents
      ──▶  %tickets = create_pipeline
           agent_switch { loop (%p = %own, %i) { …; take a ticket into stage %i; body; %next = read stage %i } },
                        { loop (%p = %own, %i) { …;                              body; %next = read stage %i } }

The agent that has the first loop, the producer, takes tickets for all, one program ahead.  Each agent reads all of them
from a pipeline of their own, and runs the same programs in the same order, so that the other pipelines stay as they
are.  A `counter` in memory gives the numbers behind those with which CTAs begin; a producer of one warp need not read
what its thread has stored.  With `cancel`, a CTA takes the place of one that has not begun (launch_control.py of
nv_tileas); the answer arrives by the async proxy.  The first CTA of a cluster takes tickets for all of them.  Of a pair
of CTAs, one multiplies, and the agent of the other one reads tickets alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar

from tessera_tools.analysis.persistent import (
    CANCEL,
    COUNTER,
    DEALT,
    PERSISTENT,
    WANTED,
    Persistent,
    persistent_of,
)
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileaa.base import MEM_TOKEN
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.dialects.nv_tileas.launch_control import RESPONSE_WORDS
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import I32, I64, bit_width
from tessera_tools.layout.shared import swizzled
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.agent_channels import fill_one, read_one, stage_of
from tessera_tools.passes.tileas.raster import Numbers
from tessera_tools.planning.kernel import kernel_spec, kernels
from tessera_tools.planning.shared_memory import ALIGN
from tessera_tools.records import dataclass
from tessera_tools.target.grids import MOST_PROGRAMS, MOST_RESIDENT

STAGES = 4
"""Tickets under way: how many programs an agent may be behind the one that takes them."""
_ITERATOR = nv_tileas.PipelineIterType(I32)


class DealPrograms(Pass):
    """Let CTAs take the numbers of their programs while they run."""

    name: ClassVar = "tileas-deal-programs"
    summary: ClassVar = "let CTAs take their next programs from a counter, or from CTAs that have not begun"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "agents whose values are their own, if the kernel has any"
    ensures: ClassVar = "no loop has the attribute nv_tileas.dealt"
    statistics: ClassVar = {
        "dealt": "kernels whose CTAs take numbers of programs",
        "tickets": "pipelines of such numbers, for agents",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            loops = [inner for inner in function.walk() if DEALT in inner.attributes]
            if not loops:
                continue
            chosen = function.attributes.pop(WANTED, None) is not None
            dealer = _Dealer(function, _checked(function, loops))
            changed = True
            if chosen and dealer.would_differ:
                dealer.keep(context)
                continue
            dealer.deal(context)
            context.count("dealt")
        return changed


def _checked(function: nv_tileaa.Func, loops: Sequence[Operation]) -> dict[Region | None, scf.For]:
    """The loop of each agent.  DiagnosticError for any other use of the attribute."""
    found: dict[Region | None, scf.For] = {}
    for loop in loops:
        agent = nv_tileas.agent_of(loop)
        around = function.body if agent is None else agent
        block = loop.parent
        if agent is not None and block is not around.entry and isinstance(loop.parent_op, scf.If):
            block = loop.parent_op.parent
        if not isinstance(loop, scf.For) or loop.lower.type is not I32 or block is not around.entry:
            raise loop.error(
                f"has the attribute {DEALT}; expected an scf.for of i32 in the block of the kernel, or of an agent"
            )
        if agent in found or (found and None in (agent, *found)):
            raise loop.error(
                "deals out programs, as another loop does; expected one loop in the kernel, or in each agent"
            )
        found[agent] = loop
    _check_others(found)
    return found


def _check_others(found: Mapping[Region | None, scf.For]) -> None:
    """DiagnosticError if another agent has the same loop over programs, and would run those of its bounds."""
    first = next(iter(found.values()))
    bounds = first.lower, first.upper, first.step
    switches = {agent.parent for agent in found if agent is not None}
    for agent in (region for switch in switches if switch is not None for region in switch.regions):
        for op in (op for block in agent.blocks for top in block for op in (top, *top.walk())):
            if isinstance(op, scf.For) and (op.lower, op.upper, op.step) == bounds and agent not in found:
                failure = op.error(
                    f"runs the programs of its bounds, but CTAs deal out those of another agent; expected {DEALT} on "
                    "the loops over programs of all agents"
                )
                failure.diagnostics[0].note("CTAs deal out this loop", first.location)
                raise failure


class _Dealer:
    """The loops over programs of one kernel, by agent."""

    def __init__(self, function: nv_tileaa.Func, loops: dict[Region | None, scf.For]) -> None:
        self.function, self.loops = function, loops
        first = next(iter(loops.values()))
        known = persistent_of(function.attributes.get(PERSISTENT))
        if known is None:
            raise first.error(
                f"deals out programs, but its kernel has no {PERSISTENT}; run --tileas-resolve-program-ids"
            )
        for loop in loops.values():
            dealt = loop.attributes[DEALT]
            if known.scheduler not in (COUNTER, CANCEL) or dealt != StringAttr(known.scheduler):
                raise loop.error(
                    f"has {DEALT} = {dealt}, and its kernel the scheduler {known.scheduler}; expected {COUNTER} or "
                    f"{CANCEL} for both"
                )
        self.known: Persistent = known
        self.ctas = prod(kernel_spec(function).cluster)

    def deal(self, context: PassContext) -> None:
        if None in self.loops:
            self.alone(self.loops[None])
            return
        self.among_agents()
        context.count("tickets")

    # -- one group of threads

    @property
    def would_differ(self) -> bool:
        """Whether each CTA of a cluster would take programs of its own."""
        return None in self.loops and self.ctas > 1

    def keep(self, context: PassContext) -> None:
        """Run the loop with its bounds: nobody has asked for tickets."""
        for loop in self.loops.values():
            del loop.attributes[DEALT]
        text = (
            f"the clusters take no tickets by {self.known.scheduler}, as would cost less: there are no agents"
        )
        context.failed(self.function, text, "cluster", "schedule")

    def alone(self, loop: scf.For) -> None:
        """All threads run the loop."""
        if self.would_differ:
            taken = "take a number from the counter" if self.known.scheduler == COUNTER else "cancel a launch"
            raise self.function.error(
                f"has clusters of {self.ctas} CTAs, which would each {taken}, and no agents, which would read what one "
                "of them gets",
                "use the scheduler static",
            )
        source = _Counted(self, loop) if self.known.scheduler == COUNTER else _Canceled(self, loop)
        counted = self.unbounded(loop, source.carried)
        body = counted.made.body.entry
        source.begin(counted.start)
        end = Builder.at_end(body, loop.location)
        carried = body.arguments[len(body.arguments) - len(source.carried) :]
        following, *more = source.end(end, carried)
        end.insert(nv_tileaa.Continue([following, *counted.yielded, *more]))

    # -- agents

    def among_agents(self) -> None:
        """One agent takes tickets, and all of them read these."""
        switch = next(agent.parent for agent in self.loops if agent is not None)
        assert isinstance(switch, nv_tileas.AgentSwitch)
        taker = next(region for region in switch.regions if region in self.loops)
        counted_alone = self.known.scheduler == COUNTER and self.ctas == 1 and _warps(switch, taker) == 1
        readers = [agent for agent in self.loops if not (agent is taker and counted_alone)]
        # Beside the other pipelines, whose mbarriers one fence makes visible.
        others = (op for op in switch.parent or () if isinstance(op, nv_tileas.CreatePipeline))
        before = Builder.before(next(others, switch))
        made = nv_tileas.CreatePipeline(
            i32(STAGES),
            i32(1),
            i32(self.ctas * sum(_warps(switch, agent) for agent in readers)),
            by_first=UNIT if self.ctas > 1 else None,
            res=nv_tileas.PipelineTokenType(),
            location=self.loops[taker].location,
        )
        tickets = before.insert(made).res
        kind = _CountedTickets if self.known.scheduler == COUNTER else _CanceledTickets
        source: Any = kind(self, self.loops[taker], tickets, before)
        loops = list(self.loops.items())
        loops += [(agent, _otherwise(loop)) for agent, loop in loops if isinstance(loop.parent_op, scf.If)]
        for agent, loop in loops:
            start = nv_tileas.CreateIterator(tickets, res=_ITERATOR, location=loop.location)
            counted = self.unbounded(loop, [Builder.before(loop).insert(start).res])
            body = counted.made.body.entry
            own = body.arguments[-1]
            own.name_hint = "ticket"
            end = Builder.at_end(body, loop.location)
            if agent is taker:
                source.begin(counted.start, own)
                source.end(end, own)
            following = source.read(end, own) if agent in readers else source.known(end)
            advanced = end.insert(nv_tileas.IncIter(own)).res
            end.insert(nv_tileaa.Continue([following, *counted.yielded, advanced]))

    # -- for both

    def unbounded(self, loop: scf.For, more: Sequence[Value]) -> _Unbounded:
        return _unbounded(loop, more, self.known.scheduler == CANCEL)

    def counter(self) -> Value:
        """The counter's address."""
        number = self.known.counter
        if number is None or number >= len(self.function.body.entry.arguments):
            raise self.function.error(f"has the scheduler {COUNTER}, but no parameter for the counter")
        return self.function.body.entry.arguments[number]

    def extents(self, builder: Builder) -> tuple[Value, Value]:
        """The columns and rows of the grid that was launched."""
        x, y = (builder.insert(nv_tileaa.GetNumPrograms(i32(axis), res=I32)).res for axis in (0, 1))
        return x, y


def _otherwise(loop: scf.For) -> scf.For:
    """A loop of nothing, where the branch around a loop is not taken: each warp reads each ticket in all CTAs."""
    branch = loop.parent_op
    assert isinstance(branch, scf.If)
    other = branch.regions[branch.regions[0] is loop.parent.parent]  # type: ignore[union-attr]
    if not other.blocks:
        other.append(Block())
        Builder.at_end(other.entry, loop.location).insert(scf.Yield([]))
    end = other.entry.last_op
    assert end is not None
    made = scf.For(loop.lower, loop.upper, loop.step, [], results=[], location=loop.location)
    made.body.append(Block([I32], [loop.location]))
    Builder.at_end(made.body.entry, loop.location).insert(scf.Yield([]))
    return Builder.before(end).insert(made)


def _warps(switch: nv_tileas.AgentSwitch, agent: Region | None) -> int:
    return switch.num_warps.values[next(i for i, r in enumerate(switch.regions) if r is agent)]


@dataclass(frozen=True)
class _Unbounded:
    """A loop that ends when its number is that of no program."""

    made: nv_tileaa.Loop
    """(%program, what the counted loop carried, more); its body has no end yet."""
    yielded: list[Value]
    """What the body yields for what the counted loop carried."""
    start: Builder
    """Behind the check at the start of the body."""


def _unbounded(loop: scf.For, more: Sequence[Value], canceled: bool) -> _Unbounded:
    """Replace a counted loop. The body is moved, without its end.  Where launches are canceled, there is no program if
    the number is negative."""
    inits = [loop.lower, *loop.inits, *more]
    made = nv_tileaa.Loop(inits, results=[v.type for v in loop.inits], location=loop.location)
    made.body.take_blocks(loop.body)
    body = made.body.entry
    for value in more:
        body.add_argument(value.type, loop.location)
    end = body.last_op
    assert end is not None
    yielded = list(end.operands)
    end.erase()
    Builder.before(loop).insert(made)
    start = Builder.at_start(body, loop.location)
    n, number = Numbers(start), body.arguments[0]
    left = (
        start.insert(arith.CmpI.of("sge", number, n.constant(0))).result
        if canceled
        else n.less(number, loop.upper)
    )
    branch = nv_tileaa.If(left, results=[], location=loop.location)
    then, otherwise = Block(), Block()
    Builder.at_end(then, loop.location).insert(nv_tileaa.Yield([]))
    kept = body.arguments[1 : 1 + len(loop.inits)]
    Builder.at_end(otherwise, loop.location).insert(nv_tileaa.Break(list(kept)))
    branch.then.append(then)
    branch.otherwise.append(otherwise)
    start.insert(branch)
    for old, new in zip(loop.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    loop.erase()
    return _Unbounded(made, yielded, start)


class _Counted:
    """Numbers that one thread takes from a counter in memory, and gives to the others."""

    carried: Sequence[Value] = ()

    def __init__(self, dealer: _Dealer, loop: scf.For) -> None:
        self.counter, self.ctas = dealer.counter(), loop.step

    def begin(self, builder: Builder) -> None:
        """Nothing before a program."""

    def end(self, builder: Builder, carried: Sequence[Value]) -> list[Value]:
        """The next number, behind those with which the CTAs begin."""
        n = Numbers(builder)
        token = builder.insert(nv_tileaa.CreateMemToken(res=MEM_TOKEN)).results[0]
        taken = builder.insert(
            nv_tileaa.AtomicRmw(
                nv_tileaa.AtomicModeAttr("add"), nv_tileaa.OrderingAttr("relaxed"), nv_tileaa.ScopeAttr("gpu"),
                self.counter, n.constant(1), None, token, res=I32, out_token=MEM_TOKEN,
            )
        ).res  # fmt: skip
        return [n.add(_bounded(taken, builder), self.ctas)]


class _Canceled:
    """The places of CTAs that have not begun: one thread asks while the program runs, and all read the answer."""

    def __init__(self, dealer: _Dealer, loop: scf.For) -> None:
        builder = Builder.before(loop)
        self.columns, self.rows = dealer.extents(builder)
        self.zero = Numbers(builder).constant(0)
        self.carried = [self.zero]
        self.response = _buffer(builder, (1, RESPONSE_WORDS), I32, 16)
        self.mbarrier = _buffer(builder, (1, 1), I64, 8)
        builder.insert(nv_tileas.MBarrierInit(self.mbarrier, self.zero, i32(1)))

    def begin(self, builder: Builder) -> None:
        """Ask for the next program."""
        builder.insert(nv_tileas.CancelLaunch(self.response, self.mbarrier))

    def end(self, builder: Builder, carried: Sequence[Value]) -> list[Value]:
        """The answer.  All have read it before the next one is written, through the async proxy."""
        (parity,) = carried
        n = Numbers(builder)
        builder.insert(nv_tileas.MBarrierWait(self.mbarrier, self.zero, parity))
        asked = nv_tileas.CanceledProgramId(self.response, self.columns, self.rows, res=I32)
        following = builder.insert(asked).res
        builder.insert(nv_tileas.FenceProxy())
        return [following, n.xor(parity, n.constant(1))]


class _CountedTickets:
    """Numbers from a counter: one thread adds to it while the program is loaded, and then stores what it got."""

    def __init__(self, dealer: _Dealer, loop: scf.For, tickets: Value, builder: Builder) -> None:
        self.counter, self.ctas, self.tickets = dealer.counter(), loop.step, tickets
        self.buffer = _buffer(builder, (STAGES, 1), I32, 4)

    def begin(self, builder: Builder, iterator: Value) -> None:
        self.taken = builder.insert(nv_tileas.TakeNumber(self.counter, res=I32)).res

    def end(self, builder: Builder, iterator: Value) -> None:
        self.number = Numbers(builder).add(_bounded(self.taken, builder), self.ctas)

        def store(inside: Builder) -> None:
            stage, zero = stage_of(self.buffer, iterator, inside)
            inside.insert(nv_tileas.StoreElement(self.number, stage, zero, [zero]))

        fill_one(self.tickets, iterator, builder, store, builder.location)

    def known(self, builder: Builder) -> Value:
        """The number in the warp whose first thread has taken it."""
        return builder.insert(nv_tileas.OfFirstLane(self.number, res=I32)).res

    def read(self, builder: Builder, iterator: Value) -> Value:
        def load(inside: Builder) -> Value:
            stage, zero = stage_of(self.buffer, iterator, inside)
            return inside.insert(nv_tileas.LoadElement(stage, zero, [zero], res=I32)).res

        return read_one(self.tickets, iterator, builder, load, builder.location)


class _CanceledTickets:
    """The places of CTAs that have not begun: the answers to what one thread asks before a program is loaded."""

    def __init__(self, dealer: _Dealer, loop: scf.For, tickets: Value, builder: Builder) -> None:
        self.tickets = tickets
        self.columns, self.rows = dealer.extents(builder)
        self.buffer = _buffer(builder, (STAGES, RESPONSE_WORDS), I32, 16)

    def begin(self, builder: Builder, iterator: Value) -> None:
        def ask(inside: Builder) -> None:
            inside.insert(nv_tileas.RequestLaunch(self.buffer, iterator))

        fill_one(self.tickets, iterator, builder, ask, builder.location)

    def end(self, builder: Builder, iterator: Value) -> None:
        """The answer comes by itself."""

    def read(self, builder: Builder, iterator: Value) -> Value:
        """What the answer is.  It has been read before the next one is written there, through the async proxy."""

        def decode(inside: Builder) -> Value:
            response = SmemType((1, RESPONSE_WORDS), I32, self.buffer.type.layout)  # type: ignore[attr-defined]
            stage = inside.insert(nv_tileas.View(self.buffer, iterator, res=response)).res
            asked = nv_tileas.CanceledProgramId(stage, self.columns, self.rows, res=I32)
            found = inside.insert(asked).res
            inside.insert(nv_tileas.FenceProxy())
            return found

        return read_one(self.tickets, iterator, builder, decode, builder.location)


def _bounded(taken: Value, builder: Builder) -> Value:
    """What a counter gives, which does not wrap."""
    bounded = nv_tileaa.Assume(taken, lower=i64(0), upper=i64(MOST_PROGRAMS + MOST_RESIDENT), res=I32)
    return builder.insert(bounded).res


def _buffer(builder: Builder, shape: tuple[int, ...], element: Type, alignment: int) -> Value:
    layout = SharedAttr(swizzled(shape[1:], bit_width(element), None, 0))
    made = nv_tileas.AllocTensor(res=SmemType(shape, element, layout))
    made.attributes[ALIGN] = i64(alignment)
    return builder.insert(made).res
