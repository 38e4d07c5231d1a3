"""Verification of a kernel's pipelines: each side must use every stage once and in order.

    producer: acquire → write → commit        consumer: wait → read → release        then inc_iter, on every path

`problems` yields an error for each violated rule. Rules that the ops verify themselves (the op that defines a token, a
single writing agent) are not repeated here. Values of tokens and iterators are tracked through loops and
branches by `flow` (ir/flow.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations

from tessera_tools.analysis.held_stages import not_held
from tessera_tools.analysis.stage_order import out_of_order, out_of_turn
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import OneRegionRuns, Terminator

_BEGINS = (nv_tileas.ProducerAcquire, nv_tileas.ConsumerWait)
_ENDS = (nv_tileas.ProducerWrite, nv_tileas.ProducerCommit, nv_tileas.ConsumerRead, nv_tileas.ConsumerRelease)
_TOKENS = (nv_tileas.ConsumerTokenType, nv_tileas.ProducerTokenType)


def problems(function: Operation, inside: Iterable[Operation] | None = None) -> Iterator[DiagnosticError]:
    """Yields an error for each op that leaves a stage unmatched on some path. `inside`: the ops of the function, from
    a caller who has them."""
    walked = function.walk() if inside is None else inside
    ops = [op for op in walked if op.regions or _uses_stages(type(op))]
    yield from out_of_order(function, ops)
    yield from out_of_turn(ops)
    yield from not_held(function)
    for op in ops:
        if isinstance(op, nv_tileas.CreatePipeline):
            yield from _sides(op)
        elif isinstance(op, _BEGINS):
            yield from _stage(op)
        elif isinstance(op, nv_tileas.ProducerWrite | nv_tileas.ConsumerRead):
            yield from _same_stage(op)
        if isinstance(op, nv_tileas.ProducerAcquire | nv_tileas.ProducerWrite):
            yield from _passed_on(op, op.res, (nv_tileas.ProducerWrite, nv_tileas.ProducerCommit))
        elif isinstance(op, nv_tileas.ConsumerWait | nv_tileas.ConsumerRead):
            yield from _passed_on(op, op.res, (nv_tileas.ConsumerRead, nv_tileas.ConsumerRelease))
        elif isinstance(op, nv_tileas.ProducerCommit) and op.is_of_products:
            yield from _committed(op, function)
        elif op.regions:
            yield from _carried(op)


@cache
def _uses_stages(cls: type[Operation]) -> bool:
    """Whether ops of a class make a pipeline, an iterator of one, or use its stages."""
    return issubclass(cls, (nv_tileas.CreatePipeline, nv_tileas.IncIter, *_BEGINS, *_ENDS))


def _same_stage(op: nv_tileas.ProducerWrite | nv_tileas.ConsumerRead) -> Iterator[DiagnosticError]:
    """Checks that the stage is the one whose token the op has."""
    begun = op.token.defining_op
    if isinstance(begun, _BEGINS) and not nv_tileas.is_unwrapped(op) and op.iter is not begun.iter:
        word = "writes" if isinstance(op, nv_tileas.ProducerWrite) else "reads"
        yield op.error(f"{word} another stage than '{begun.name}', which gives its token")


def _committed(op: nv_tileas.ProducerCommit, function: Operation) -> Iterator[DiagnosticError]:
    """Checks that there are products that fill a stage without a producer_write."""
    agent = nv_tileas.agent_of(op)
    blocks = agent.blocks if agent is not None else function.regions[0].blocks
    ops = (op for block in blocks for top in block for op in (top, *top.walk()))
    if not any(isinstance(inner, nv_tileas.Umma) for inner in ops):
        yield op.error(
            "commits a stage that no producer_write has written, and no product of its agent fills"
        )


def _carried(op: Operation) -> Iterator[DiagnosticError]:
    """A token that a loop carries, or that a loop or branch gives, is used as one that an op of a pipeline gives."""
    for block in (block for part in op.regions for block in part.blocks):
        for argument in block.arguments:
            if isinstance(argument.type, _TOKENS):
                if not _is_taken(argument):
                    yield op.error(f"carries a stage into its body that is never {_ended(argument)} there")
                yield from _passed_on(op, argument, _ENDS, block)
    for result in op.results:
        if isinstance(result.type, _TOKENS) and not isinstance(op, _ENDS):
            if not _is_taken(result):
                yield op.error(f"gives a stage that is never {_ended(result)}")
            yield from _passed_on(op, result, _ENDS)


def _ended(token: Value) -> str:
    return "released" if isinstance(token.type, nv_tileas.ConsumerTokenType) else "committed"


def _is_taken(token: Value) -> bool:
    """Whether any op uses up a token, or passes it on."""
    return any(isinstance(user, (*_ENDS, LoopLike)) or user.has_trait(Terminator) for user in token.users)


def _sides(pipeline: nv_tileas.CreatePipeline) -> Iterator[DiagnosticError]:
    """Checks that a pipeline has both a producer and a consumer."""
    users = list(pipeline.res.users)
    filled, read = (any(isinstance(user, kind) for user in users) for kind in _BEGINS)
    if filled and not read:
        yield pipeline.error("is filled, but nothing waits for its stages")
    if read and not filled:
        yield pipeline.error("is waited for, but nothing fills its stages")


def _stage(op: nv_tileas.ProducerAcquire | nv_tileas.ConsumerWait) -> Iterator[DiagnosticError]:
    """Checks that the iterator belongs to the pipeline."""
    if nv_tileas.is_unwrapped(op):
        return  # Numbers of stages are what iterators were made into, after they were checked.
    made = nv_tileas.pipeline_of(op.iter)
    if made is not None and made.res is not op.pipeline:
        failure = op.error("has an iterator of another pipeline")
        failure.diagnostics[0].note("the iterator belongs to this pipeline", made.location)
        yield failure


def _passed_on(
    op: Operation, token: Value, takers: tuple[type[Operation], ...], block: Block | None = None
) -> Iterator[DiagnosticError]:
    """A token is used on every path behind the op that gives it, and by one op on each: in its block (or in `block`,
    for an argument of it), or by what the block's end passes on."""
    users = list(dict.fromkeys(token.users))
    taking = [user for user in users if isinstance(user, takers)]
    ends = [user for user in taking if isinstance(user, _ENDS)]
    passed = any(user.has_trait(Terminator) or isinstance(user, LoopLike) for user in users)
    here = op.parent if block is None else block
    if not passed and ends and here is not None and not _on_every_path(here, ends):
        yield op.error(
            f"yields a stage that '{ends[0].name}' uses on some paths only; move it into the block of this op"
        )
    for first, second in combinations(ends, 2):
        if type(first) is type(second) and not _exclude_each_other(first, second):
            failure = second.error("uses a token that was already used")
            failure.diagnostics[0].note("it is used here", first.location)
            yield failure


def _on_every_path(block: Block, ops: Sequence[Operation]) -> bool:
    """True if one of the ops runs whenever the end of a block is reached."""
    if any(op.parent is block for op in ops):
        return True
    for inner in block:
        if inner.has_trait(OneRegionRuns) and inner.regions:
            inside = [op for op in ops if inner.is_ancestor_of(op)]
            # If there are several regions, one runs; the single region of a pipeline op always runs.
            runs = len(inner.regions) > 1 or inner.name.startswith("nv_tileas.")
            if inside and runs and all(r.blocks and _on_every_path(r.entry, inside) for r in inner.regions):
                return True
    return False


def _exclude_each_other(a: Operation, b: Operation) -> bool:
    """True if two ops are in different regions of an op that runs only one of them, or run in different units."""
    above: dict[Operation, Block] = {}
    block = a.parent
    while block is not None and block.parent_op is not None:
        above[block.parent_op] = block
        block = block.parent_op.parent
    block = b.parent
    while block is not None and block.parent_op is not None:
        outer = block.parent_op
        if outer in above:
            if above[outer] is block:
                return False
            return outer.has_trait(OneRegionRuns) or isinstance(outer, nv_tileas.AgentSwitch)
        block = outer.parent
    return False
