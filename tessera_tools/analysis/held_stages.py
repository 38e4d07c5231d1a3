"""Verification that the stages of pipelines are read while they are held, and released when the reads are complete.

    %t = consumer_wait %p, %i          holds the stage of %i
    %s = view %buffer, %i
    %d = async.dot %s, …               reads it, and is complete at a dot_wait
    async.dot_wait 0
    consumer_release %t                gives it up

Each agent is played: an iterator is the number of its stage, a token is the stage that it stands for, and a state has
the stages that are held and the reads that are in flight.  Branches are played in every way, and a loop until its
iterations give no new state, counted from the next stage of each pipeline; at least `_ITERATIONS` times, so that what
it keeps from before it is seen to be old.  That stages begin in order is verified elsewhere (stage_order.py), and an
iterator of which it is not clear where it comes from is not followed here.  Nothing is said of an agent with more than
`_MOST_STATES` states at once, such as one with seven branches that release a stage or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tessera_tools.analysis.stage_order import with_control
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.effect_words import Completion, Kind
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import OneRegionRuns
from tessera_tools.records import dataclass, field, replace

_STEPS = (
    nv_tileas.CreateIterator,
    nv_tileas.IncIter,
    nv_tileas.ConsumerWait,
    nv_tileas.ConsumerRead,
    nv_tileas.ConsumerRelease,
)
_AT_ONCE = (Completion.AT_ONCE, Completion.TCGEN05, Completion.MBARRIER)
"""Reads of shared memory that are complete when the threads go on, or of which the release itself waits for the end."""
_ITERATIONS = 2
_MOST_ITERATIONS = 8
_MOST_STATES = 64
_LEFT_OUT = 1000
"""For an unknown number of stages that an agent leaves out: more than any pipeline has."""

_Stage = tuple[Value, int]
"""A pipeline, and the number of a stage, counted from its first."""


def not_held(function: Operation) -> Iterator[DiagnosticError]:
    """Yields an error for each agent that reads a stage which it does not hold, or releases one that is being read, and
    for buffers that nothing fills."""
    ops = list(function.walk())
    waits = (op for op in ops if isinstance(op, nv_tileas.ConsumerWait) and not nv_tileas.is_unwrapped(op))
    agents = dict.fromkeys(nv_tileas.agent_of(op) or function.regions[0] for op in waits)
    filled = _written(ops) if agents else set[Operation]()
    for region in agents:
        agent = _Agent(region)
        yield from agent.never_filled(filled)
        try:
            agent.block(region.entry, [_State()])
        except DiagnosticError as failure:
            yield failure
        except _TooManyStates:
            continue


@dataclass(frozen=True)
class _State:
    """Where an agent is."""

    values: dict[Value, _Stage] = field(default_factory=dict[Value, _Stage])
    """The stages of its iterators and tokens."""
    next: dict[Value, int] = field(default_factory=dict[Value, int])
    """The next stage of each pipeline."""
    held: frozenset[tuple[_Stage, int]] = frozenset()
    """The stages that it has waited for and not released, with the number of the part of a stage that has several."""
    flying: tuple[tuple[Completion, Operation, frozenset[_Stage]], ...] = ()
    """The reads in flight, the oldest first: how they complete, the op, the stages."""

    def key(self, values: Iterable[Value]) -> object:
        """What is the same for states that differ by whole iterations of a loop."""

        def near(stage: _Stage) -> _Stage:
            return stage[0], stage[1] - self.next.get(stage[0], 0)

        return (
            tuple(near(self.values[v]) if v in self.values else None for v in values),
            frozenset((near(stage), part) for stage, part in self.held),
            tuple((op, frozenset(map(near, stages))) for _, op, stages in self.flying),
        )


class _TooManyStates(Exception):
    """The branches of an agent give more states than are worth to be played."""


class _Agent:
    """The code of one agent."""

    def __init__(self, agent: Region) -> None:
        self.reads: dict[Operation, list[tuple[nv_tileas.View, Completion]]] = {}
        """The ops that read stages: the view of each, and when the read is complete."""
        ops = [op for block in agent.blocks for top in block for op in (top, *top.walk())]
        for op in ops:
            if found := _stages_read(op):
                self.reads[op] = found
        steps = (op for op in ops if op in self.reads or isinstance(op, _STEPS) or _waits(op))
        self.relevant = with_control(agent, steps)
        self.left: dict[Operation, list[tuple[Operation, _State]]] = {}
        """By loop that branches leave: the ends of the iteration that is played, with the states there."""

    def never_filled(self, filled: set[Operation]) -> Iterator[DiagnosticError]:
        """Yields an error for each read of a buffer that is not among those that an op writes."""
        for op, stages in self.reads.items():
            buffers = [nv_tileas.storage_of(view.res) for view, _ in stages if _is_filled(view.iter)]
            empty = [b for b in buffers if isinstance(b, nv_tileas.AllocTensor) and b not in filled]
            if empty:
                failure = op.error("reads a stage of a buffer that nothing fills")
                failure.diagnostics[0].note("it is this buffer", empty[0].location)
                yield failure

    def block(self, block: Block, states: list[_State]) -> list[_State]:
        """The states behind a block."""
        for op in block:
            if op not in self.relevant:
                continue
            if isinstance(op, nv_tileaa.Continue | nv_tileaa.Break):
                self.left.setdefault(enclosing_loop(op), []).extend((op, state) for state in states)
                return []
            if isinstance(op, LoopLike):
                states = self.loop(op, states)
            elif len(op.regions) > 1 and op.has_trait(OneRegionRuns):
                states = self.branch(op, states)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        states = self.block(inner, states)
                states = [self.step(op, state) for state in states]
        return states

    def step(self, op: Operation, state: _State) -> _State:
        """The state behind an op."""
        if isinstance(op, nv_tileas.CreateIterator):
            return _with(state, op.res, (op.pipeline, 0))
        if isinstance(op, nv_tileas.IncIter):
            return self.advance(op, state)
        if isinstance(op, nv_tileas.ConsumerWait):
            stage = self.stage(op.iter, state)
            if stage is None:
                return state
            part = 0 if op.part is None else op.part.value
            made = _with(state, op.res, stage)
            return replace(
                made, next={**state.next, stage[0]: stage[1] + 1}, held=state.held | {(stage, part)}
            )
        if isinstance(op, nv_tileas.ConsumerRead) and op.token in state.values:
            return _with(state, op.res, state.values[op.token])
        if isinstance(op, nv_tileas.ConsumerRelease) and op.token in state.values:
            return self.release(op, state.values[op.token], state)
        if op in self.reads:
            state = self.read(op, state)
        return _after_waits(op, state)

    def stage(self, iterator: Value, state: _State) -> _Stage | None:
        """The stage of an iterator; None if it is not known."""
        made = iterator.defining_op
        if isinstance(made, nv_tileas.CreateIterator):
            return made.pipeline, 0
        return state.values.get(iterator)

    def advance(self, op: nv_tileas.IncIter, state: _State) -> _State:
        before = self.stage(op.iter, state)
        if before is None:
            return state
        pipeline, number = before
        if op.count is None:
            return _with(state, op.res, (pipeline, number + 1))
        number += _LEFT_OUT
        return replace(_with(state, op.res, (pipeline, number)), next={**state.next, pipeline: number})

    def release(self, op: nv_tileas.ConsumerRelease, stage: _Stage, state: _State) -> _State:
        if op.products is None:
            for _, reader, stages in state.flying:
                if stage in stages:
                    failure = op.error(
                        f"releases a stage that '{reader.name}' may still read; expected a wait for it before"
                    )
                    failure.diagnostics[0].note("it reads the stage here", reader.location)
                    raise failure
        found = next((one for one in state.held if one[0] == stage), None)
        return state if found is None else replace(state, held=state.held - {found})

    def read(self, op: Operation, state: _State) -> _State:
        held = {stage for stage, _ in state.held}
        flying: dict[Completion, set[_Stage]] = {}
        for view, completion in self.reads[op]:
            stage = self.stage(view.iter, state)
            if stage is None:
                continue
            if stage not in held:
                raise op.error(
                    "reads a stage that its agent does not hold; expected it between the consumer_wait for the stage "
                    "and its consumer_release"
                )
            if completion not in _AT_ONCE:
                flying.setdefault(completion, set()).add(stage)
        effects = op.effects()
        for effect in effects.own if effects is not None else ():
            if effect.kind is Kind.ARRIVE and effect.completion not in _AT_ONCE:
                flying.setdefault(effect.completion, set())
        more = [(completion, op, frozenset(stages)) for completion, stages in flying.items()]
        return replace(state, flying=_counted((*state.flying, *more))) if more else state

    def branch(self, op: Operation, states: list[_State]) -> list[_State]:
        ends: list[_State] = []
        for region in op.regions:
            after = states
            for inner in region.blocks:
                after = self.block(inner, after)
            last = region.entry.last_op if region.blocks else None
            ends += [_passed(state, op.results, last.operands if last else []) for state in after]
        return _distinct(ends, op.results)

    def loop(self, op: LoopLike, states: list[_State]) -> list[_State]:
        """The states behind a loop, after any number of iterations."""
        states = [_passed(state, op.iter_args, op.inits) for state in states]
        ends = (
            [] if isinstance(op, nv_tileaa.Loop) else [_passed(s, op.results, op.iter_args) for s in states]
        )
        seen: set[object] = {state.key(op.iter_args) for state in states}
        for number in range(_MOST_ITERATIONS):
            states, left = self.iteration(op, states)
            states = _distinct(states, op.iter_args)
            new = [state for state in states if state.key(op.iter_args) not in seen]
            seen.update(state.key(op.iter_args) for state in new)
            ends += left
            if not isinstance(op, nv_tileaa.Loop):
                ends += [_passed(state, op.results, op.iter_args) for state in new]
            if number + 1 >= _ITERATIONS:
                if not new:
                    break
                states = new
        return _distinct(ends, op.results)

    def iteration(self, op: LoopLike, states: list[_State]) -> tuple[list[_State], list[_State]]:
        """The states before the next iteration, and those behind the loop that a `break` gives."""
        for block in op.loop_body.blocks:
            states = self.block(block, states)
        if not isinstance(op, nv_tileaa.Loop):
            return [_passed(state, op.iter_args, op.yielded) for state in states], []
        following: list[_State] = []
        behind: list[_State] = []
        for end, state in self.left.pop(op, []):
            if isinstance(end, nv_tileaa.Continue):
                following.append(_passed(state, op.iter_args, end.operands))
            else:
                behind.append(_passed(state, op.results, end.operands))
        return following, behind


def _with(state: _State, value: Value, stage: _Stage) -> _State:
    return replace(state, values={**state.values, value: stage})


def _passed(state: _State, to: Iterable[Value], given: Iterable[Value]) -> _State:
    """The state in which values have the stages of others, or none that is known."""
    to = list(to)
    known = {t: state.values[g] for t, g in zip(to, given, strict=True) if g in state.values}
    if not known and not any(value in state.values for value in to):
        return state
    kept = {value: stage for value, stage in state.values.items() if value not in to}
    return replace(state, values={**kept, **known})


def _distinct(states: list[_State], values: Iterable[Value]) -> list[_State]:
    values = list(values)
    found = {state.key(values): state for state in states}
    if len(found) > _MOST_STATES:
        raise _TooManyStates
    return list(found.values())


def _after_waits(op: Operation, state: _State) -> _State:
    """The state without the reads that an op waits for."""
    for completion, pending in _waits(op):
        places = [i for i, (how, _, _) in enumerate(state.flying) if how is completion]
        done = set(places[: len(places) - pending] if pending else places)
        state = replace(state, flying=tuple(one for i, one in enumerate(state.flying) if i not in done))
    return state


def _counted(
    flying: Iterable[tuple[Completion, Operation, frozenset[_Stage]]],
) -> tuple[tuple[Completion, Operation, frozenset[_Stage]], ...]:
    """The reads in flight, without groups that read no stage and come before all that do: no wait depends on them."""
    kept: list[tuple[Completion, Operation, frozenset[_Stage]]] = []
    for one in flying:
        if one[2] or any(how is one[0] for how, _, _ in kept):
            kept.append(one)
    return tuple(kept)


def _waits(op: Operation) -> list[tuple[Completion, int]]:
    """The completions that an op waits for, each with the number of groups that it leaves in flight."""
    effects = op.effects() if not op.regions else None
    return [
        (effect.completion, effect.pending)
        for effect in (effects.own if effects is not None else ())
        if effect.kind is Kind.WAIT and effect.completion not in _AT_ONCE
    ]


def _is_filled(iterator: Value) -> bool:
    """Whether anything fills the stages of the iterator's pipeline."""
    pipeline = nv_tileas.pipeline_of(iterator)
    return pipeline is not None and any(
        isinstance(user, nv_tileas.ProducerAcquire) for user in pipeline.res.users
    )


def _accessed(op: Operation, kind: Kind) -> Iterator[tuple[Value, Completion]]:
    """The operands that an op reads or writes by its own effects, and when each access is complete."""
    effects = op.effects() if not op.regions else None
    for effect in effects.own if effects is not None else ():
        value = getattr(op, effect.on) if effect.on is not None else None
        if effect.kind is kind and isinstance(value, Value):
            yield value, effect.completion


def _written(ops: Iterable[Operation]) -> set[Operation]:
    """The ops that allocate what others write."""
    places = (nv_tileas.storage_of(value) for op in ops for value, _ in _accessed(op, Kind.WRITE))
    return {place for place in places if place is not None}


def _stages_read(op: Operation) -> list[tuple[nv_tileas.View, Completion]]:
    """The views of stages in shared memory that an op reads, and when each read is complete."""
    if not any(isinstance(v.defining_op, nv_tileas.View) for v in op.operands):
        return []
    return [
        (made, completion)
        for value, completion in _accessed(op, Kind.READ)
        if isinstance(made := value.defining_op, nv_tileas.View)
        and isinstance(made.iter.type, nv_tileas.PipelineIterType)
    ]
