"""tileas-unwrap-pipeline-iterators: each iterator of a pipeline becomes two integers, its slot and its phase.

    %i = create_iterator %pipe                 0, 0
    producer_acquire %pipe, %i                 producer_acquire %pipe, slot %s phase %p
    view %buffer, %i                           view %buffer, slot %s
    %n = inc_iter %i                           %s + 1, %p; behind the last stage 0, %p ^ 1
    %n = inc_iter %i by %c                     (%s + %c) mod stages, %p ^ (%s + %c) / stages
    iter_args(%i = …), yield %i                iter_args(%s = …, %p = …), yield %s, %p

The late rewriter of the description does this on every create_pipeline: later passes see plain values.  An acquire of
the first stage of all needs no phase, because nobody has filled it.  An agent's `phase` is the parity of the round.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.dialects import arith, nv_tileas
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.ir.builtin_attributes import IntegerAttr, i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import I32, I64
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.planning.kernel import kernels

_WAITS = (nv_tileas.ProducerAcquire, nv_tileas.ProducerTail, nv_tileas.ConsumerWait, nv_tileas.BoxWait)
_ON_STAGE = (
    *_WAITS, nv_tileas.ProduceOne, nv_tileas.ProducerWrite, nv_tileas.ConsumeOne, nv_tileas.ConsumerRead,
    nv_tileas.TiledTmaLoad, nv_tileas.RequestLaunch, nv_tileas.BoxCopy, nv_tileas.BoxCommit, nv_tileas.View,
    nv_tileas.Umma, nv_tileas.TmemCopy, nv_tileas.TmemLoad,
)  # fmt: skip
"""Ops with the stage of an iterator."""


class UnwrapPipelineIterators(Pass):
    """Replace iterators of pipelines by integers."""

    name: ClassVar = "tileas-unwrap-pipeline-iterators"
    summary: ClassVar = "replace the iterators of pipelines by slots and phases"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "pipelines that are checked, and barriers in place"
    ensures: ClassVar = "no value is the iterator of a pipeline"
    statistics: ClassVar = {"unwrapped": "iterators that became two integers"}

    def run(self, op: Operation, context: PassContext) -> bool:
        count = 0
        for function in kernels(op):
            unwrap = _Unwrap(function)
            for block in function.body.blocks:
                unwrap.block(block)
            unwrap.finish()
            count += len(unwrap.pairs)
        context.count("unwrapped", count)
        return count > 0


class _Unwrap:
    """The iterators of one kernel."""

    def __init__(self, function: Operation) -> None:
        self.stages = {op: _stages(op) for op in function.walk() if isinstance(op, nv_tileas.IncIter)}
        """Of the pipelines of iterators that advance: found before loops carry anything else."""
        self.pairs: dict[Value, tuple[Value, Value]] = {}
        """The slot and the phase of each iterator."""
        self.replaced: list[Operation] = []
        self.arguments: list[tuple[Block, Value]] = []

    def block(self, block: Block) -> None:
        """Each argument that is an iterator becomes two, and each op has its integers."""
        for argument in list(block.arguments):
            if _is_iterator(argument):
                at = argument.index + 1
                slot, phase = (block.add_argument(I32, argument.location, at + i) for i in range(2))
                self._is(argument, slot, phase)
                self.arguments.append((block, argument))
        for op in list(block):
            self.op(op)

    def op(self, op: Operation) -> None:
        """One op, after what it takes."""
        if isinstance(op, nv_tileas.CreateIterator):
            zero = _number(0, Builder.before(op))
            self._is(op.res, zero, zero)
            self.replaced.append(op)
        elif isinstance(op, nv_tileas.IncIter):
            self._is(op.res, *self._following(op))
            self.replaced.append(op)
        elif isinstance(op, _ON_STAGE) and not nv_tileas.is_unwrapped(op):
            self._on_stage(op)
        elif any(map(_is_iterator, op.operands)) and not any(map(_is_iterator, op.results)):
            op.set_operands(self._flat(op.operands))
        if any(map(_is_iterator, op.results)) and op not in self.replaced:
            op = self._with_pairs(op)
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def _is(self, iterator: Value, slot: Value, phase: Value) -> None:
        self.pairs[iterator] = slot, phase
        if iterator.name_hint and slot is not phase:
            slot.name_hint, phase.name_hint = f"{iterator.name_hint}_slot", f"{iterator.name_hint}_phase"

    def _flat(self, values: list[Value]) -> list[Value]:
        return [one for value in values for one in self.pairs.get(value, (value,))]

    def _on_stage(self, op: Any) -> None:
        """The slot, and the phase where the op waits."""
        first = isinstance(op, nv_tileas.ProducerAcquire) and isinstance(
            op.iter.defining_op, nv_tileas.CreateIterator
        )
        slot, phase = self.pairs[op.iter]
        kept = [slot if value is op.iter else value for value in op.operands]
        op.set_operands([*kept, phase] if isinstance(op, _WAITS) and not first else kept)

    def _following(self, op: nv_tileas.IncIter) -> tuple[Value, Value]:
        """slot + 1; behind the last one, slot 0 with the other phase."""
        builder, stages = Builder.before(op), self.stages[op]
        slot, phase = self.pairs[op.iter]
        one = _number(1, builder)
        if op.count is not None:
            return self._further(builder, slot, phase, op.count, stages)
        if stages == 1:
            return slot, builder.insert(arith.XOrI(phase, one)).result
        if stages == 2:
            # The number of a stage says whether it is the last.
            return builder.insert(arith.XOrI(slot, one)).result, builder.insert(
                arith.XOrI(phase, slot)
            ).result
        following = builder.insert(arith.AddI(slot, one)).result
        equal = IntegerAttr(CMPI_PREDICATES.index("eq"), I64)
        wraps = builder.insert(arith.CmpI(equal, following, _number(stages, builder))).result
        other = builder.insert(arith.XOrI(phase, one)).result
        return (
            builder.insert(arith.Select(wraps, _number(0, builder), following)).result,
            builder.insert(arith.Select(wraps, other, phase)).result,
        )

    def _further(
        self, builder: Builder, slot: Value, phase: Value, count: Value, stages: int
    ) -> tuple[Value, Value]:
        """`count` stages further: the rounds in between change the phase."""
        sum, number = builder.insert(arith.AddI(slot, count)).result, _number(stages, builder)
        rounds = builder.insert(arith.DivUI(sum, number)).result
        odd = builder.insert(arith.AndI(rounds, _number(1, builder))).result
        return builder.insert(arith.RemUI(sum, number)).result, builder.insert(arith.XOrI(phase, odd)).result

    def _with_pairs(self, op: Operation) -> Operation:
        """An op whose results are integers instead of iterators; its regions move over."""
        types = [t for r in op.results for t in ([I32, I32] if _is_iterator(r) else [r.type])]
        regions = [Region() for _ in op.regions]
        new = type(op).create(
            self._flat(list(op.operands)), types, dict(op.attributes), regions, location=op.location
        )
        for old, region in zip(op.regions, regions, strict=True):
            region.take_blocks(old)
        Builder.before(op).insert(new)
        results = iter(new.results)
        for old in op.results:
            fresh = next(results)
            if _is_iterator(old):
                self._is(old, fresh, next(results))
            else:
                fresh.name_hint = old.name_hint
                old.replace_all_uses_with(fresh)
        self.replaced.append(op)
        return new

    def finish(self) -> None:
        """Erases what nothing uses anymore: users come after what they use."""
        for op in reversed(self.replaced):
            op.set_operands([])
        for op in reversed(self.replaced):
            op.erase()
        for block, argument in reversed(self.arguments):
            block.erase_argument(argument.index)  # type: ignore[attr-defined]


def _stages(op: nv_tileas.IncIter) -> int:
    pipeline = nv_tileas.pipeline_of(op.iter)
    if pipeline is None:
        raise op.error(nv_tileas.NO_PIPELINE)
    return pipeline.stages.value


def _is_iterator(value: Value) -> bool:
    return isinstance(value.type, nv_tileas.PipelineIterType)


def _number(value: int, builder: Builder) -> Value:
    return builder.insert(arith.Constant(i32(value))).results[0]
