"""tileas-alternate-consumers: two consumers take the iterations of a loop in turn, so that their epilogues overlap.

    agent_switch { producer }, { for %p { main loop; epilogue } }  {nv_tileas.consumers = 2}
      ──▶  %order = create_order groups = 2
           agent_switch { producer }, { consumer 0 }, { consumer 1 }          the same code, on warps of its own:
             for %p iter_args(%it, %mine) {
               %next = scf.if %mine { order_wait; main loop; order_arrive; epilogue } else { inc_iter %it by … }
               yield %next, not %mine
             }

The main loop of one consumer runs beside the epilogue of the other (CUTLASS's ping-pong kernels).  The producer stays
as it is: it fills the stages of all iterations in order.  A consumer leaves out the stages that the other one uses,
whose number follows from the trip counts of the loops there.  A turn lasts from the first wait for a stage to the start
of the last product.

Where the loop carries a token, the accesses of the epilogue keep the order of the iterations by turns of their own,
which last until stores are complete.  Those of one iteration come while the other consumer multiplies.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import arith, nv_tileas, scf
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, UNIT, DenseArrayAttr, IntegerAttr, i32
from tessera_tools.ir.core import (
    Block,
    BlockArgument,
    Builder,
    IRMapping,
    Operation,
    OpResult,
    Region,
    Value,
)
from tessera_tools.ir.types import I32, I64, bit_width
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.consumers import CONSUMERS, is_computed_again, ordered_accesses
from tessera_tools.passes.tileas.materialize_pipeline import with_carried
from tessera_tools.passes.tileas.propagate_execution_unit import propagate
from tessera_tools.planning.kernel import kernels

_OF_A_TURN = (nv_tileas.ConsumerWait, nv_tileas.AsyncDot)
"""The ops that an agent runs in its turn only."""


class AlternateConsumers(Pass):
    """Let two consumers take the iterations of a loop in turn."""

    name: ClassVar = "tileas-alternate-consumers"
    summary: ClassVar = (
        "let two consumers take the tiles of a loop in turn, so that epilogues overlap products"
    )
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "agents with pipelines, as tileas-materialize-schedule leaves them"
    ensures: ClassVar = (
        "no loop has the attribute nv_tileas.consumers; loops that had it are those of two agents"
    )
    statistics: ClassVar = {"alternated": "consumers that became two"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            marked = [loop for loop in function.walk() if CONSUMERS in loop.attributes]
            for loop in marked:
                del loop.attributes[CONSUMERS]
                changed = True
                waits = any(isinstance(inner, nv_tileas.ConsumerWait) for inner in loop.walk())
                if isinstance(loop, scf.For) and waits:
                    _alternate(loop)
                    context.count("alternated")
            propagate(function)
        return changed


def _alternate(loop: scf.For) -> None:
    """Make two agents of that of a loop.  DiagnosticError where they could not take turns."""
    region = nv_tileas.agent_of(loop)
    switch = region.parent if region is not None else None
    if region is None or not isinstance(switch, nv_tileas.AgentSwitch) or loop.parent is not region.entry:
        raise loop.error(
            "has iterations for several consumers; expected a loop of an agent, in no other loop"
        )
    carried = [value for value in loop.iter_args if not _is_carried(value)]
    if carried:
        raise loop.error(
            f"carries a value of type {carried[0].type} from one iteration to the next, and its consumers take them in "
            "turn; expected iterators of pipelines and tokens only"
        )
    place = switch.regions.index(region)
    accesses = ordered_accesses(loop)

    def made() -> Value:
        order = nv_tileas.CreateOrder(i32(2), res=nv_tileas.OrderTokenType(), location=loop.location)
        return Builder.before(switch).insert(order).res

    token = made()
    if accesses:
        _access_in_turn(loop, accesses, made())
    for inner in region.walk():
        if isinstance(inner, nv_tileas.ConsumerWait):
            pipeline = inner.pipeline.defining_op
            assert pipeline is not None
            pipeline.attributes["in_turn"] = UNIT
    branch = _in_turn(loop, token)
    mapping, other = IRMapping(), Region()
    region.clone_into(other, mapping)
    # The consumers differ in whose iteration is the first.
    first = mapping.values[branch.condition]
    assert isinstance(first, BlockArgument)
    own = first.block.parent_op
    assert isinstance(own, scf.For)
    no = Builder.before(own).insert(arith.Constant(FALSE, location=loop.location)).results[0]
    own.set_operand(3 + first.index - 1, no)
    regions = [Region() for _ in switch.regions]
    for old, new in zip(switch.regions, regions, strict=True):
        new.take_blocks(old)
    warps, starts = list(switch.num_warps.values), list(switch.warp_id.values)
    attributes: dict[str, Attribute] = {
        "num_warps": DenseArrayAttr(I64, (*warps, warps[place])),
        "warp_id": DenseArrayAttr(I64, (*starts, switch.total_warps)),
    }
    if switch.registers is not None:
        given = switch.registers.values
        attributes["registers"] = DenseArrayAttr(I64, (*given, given[place]))
    Builder.before(switch).insert(
        nv_tileas.AgentSwitch.create([], [], attributes, [*regions, other], location=switch.location)
    )
    switch.erase()


def _in_turn(loop: scf.For, order: Value) -> scf.If:
    """Let a loop run every other iteration, and leave out the stages of those in between; the branch that it has."""
    location = loop.location
    yes = Builder.before(loop).insert(arith.Constant(TRUE, location=location)).results[0]
    loop = with_carried(loop, [yes])
    body = loop.body.entry
    end = body.last_op
    assert end is not None
    mine = body.arguments[-1]
    mine.name_hint = "mine"
    given = list(end.operands)
    own, others = Block(), Block()
    skipped = Builder.at_end(others, location)
    count = _Counts(loop, skipped)
    advanced = [
        count.advanced(before, after) if isinstance(before.type, nv_tileas.PipelineIterType) else before
        for before, after in zip(loop.iter_args, given, strict=False)
    ]
    skipped.insert(scf.Yield(advanced))
    for op in list(body):
        if op is not end:
            op.detach()
            own.append(op)
    Builder.at_end(own, location).insert(scf.Yield(given))
    _take_turn(own, order)
    branch = scf.If.create(
        [mine], [v.type for v in given], {}, [Region([own]), Region([others])], location=location
    )
    inside = Builder.before(end)
    inside.insert(branch)
    one = inside.insert(arith.Constant(TRUE, location=location)).results[0]
    then = inside.insert(arith.XOrI(mine, one, location=location)).result
    end.set_operands([*branch.results, then])
    return branch


def _take_turn(block: Block, order: Value) -> None:
    """Begin a turn in front of the first wait for a stage of a block, and end it behind the last product."""
    first = next((op for op in block if _has_turn(op)), None)
    assert first is not None
    Builder.before(first).insert(nv_tileas.OrderWait(order, location=first.location))
    _end_turn(block, order, first)


def _end_turn(block: Block, order: Value, location: Operation) -> None:
    """End a turn behind the last product of a block: in each block of a branch, if it is in one, so that what is behind
    it there is in no turn."""
    last = next((op for op in reversed(list(block)) if _has_turn(op)), None)
    if isinstance(last, scf.If) and all(region.blocks for region in last.regions):
        for region in last.regions:
            _end_turn(region.entry, order, last)
        return
    arrive = nv_tileas.OrderArrive(order, [], location=location.location)
    (Builder.at_start(block, location.location) if last is None else Builder.after(last)).insert(arrive)


def _is_carried(value: Value) -> bool:
    """Whether consumers that take iterations in turn know a value from one to the next."""
    return isinstance(value.type, nv_tileas.PipelineIterType) or value.type is MEM_TOKEN


def _access_in_turn(loop: scf.For, accesses: list[Operation], order: Value) -> None:
    """Begin a turn in front of the first of these accesses of an iteration, and end it behind the last one, where all
    are complete."""
    block = loop.body.entry
    around = [op for op in block if any(op is one or op.is_ancestor_of(one) for one in accesses)]
    first, last = around[0], around[-1]
    Builder.before(first).insert(nv_tileas.OrderWait(order, location=first.location))
    tokens = [value for op in around for value in op.results if value.type is MEM_TOKEN]
    Builder.after(last).insert(nv_tileas.OrderArrive(order, tokens, location=last.location))


def _has_turn(op: Operation) -> bool:
    return any(isinstance(inner, _OF_A_TURN) for inner in (op, *op.walk()))


class _Counts:
    """The number of stages that an iteration uses, computed where it is left out."""

    def __init__(self, loop: scf.For, builder: Builder) -> None:
        self.loop, self.builder, self.mapping = loop, builder, IRMapping()

    def advanced(self, before: Value, after: Value) -> Value:
        """The iterator behind an iteration."""
        count = self.between(before, after)
        if count == 0:
            return before
        return self.builder.insert(
            nv_tileas.IncIter(before, self.number(count), location=self.loop.location)
        ).res

    def between(self, before: Value, after: Value) -> int | Value:
        """How many stages an iterator is behind another, from which it follows."""
        if after is before:
            return 0
        op = after.op if isinstance(after, OpResult) else None
        if isinstance(op, nv_tileas.IncIter):
            own = 1 if op.count is None else self.computed(op.count)
            return self.sum(self.between(before, op.iter), own)
        assert isinstance(after, OpResult | BlockArgument)
        if isinstance(op, scf.For):
            number = after.index
            each = self.between(op.iter_args[number], op.yielded[number])
            inside = self.product(self.trips(op), each) if each != 0 else 0
            return self.sum(self.between(before, op.inits[number]), inside)
        if isinstance(op, scf.If) and op.regions[1].blocks:
            ends = [region.entry.last_op for region in op.regions]
            yes, no = (self.between(before, end.operands[after.index]) for end in ends if end is not None)
            if isinstance(yes, int) and yes == no:
                return yes
            condition = self.computed(op.condition)
            return self.insert(arith.Select(condition, self.number(yes), self.number(no)))
        raise self.loop.error(
            "uses stages of which the consumer that leaves them out cannot know the number; expected iterators that "
            "loops and branches advance"
        )

    def trips(self, loop: scf.For) -> Value:
        """The trip count of a loop, 0 if its bounds are the wrong way around."""
        lower, upper, step = (self.computed(v) for v in (loop.lower, loop.upper, loop.step))
        type = lower.type
        one = self.insert(arith.Constant(IntegerAttr(1, type)))
        zero = self.insert(arith.Constant(IntegerAttr(0, type)))
        less = loop.less_than
        runs = self.insert(arith.CmpI(IntegerAttr(CMPI_PREDICATES.index(less), I64), lower, upper))
        last = self.insert(arith.SubI(self.insert(arith.SubI(upper, lower)), one))
        count = self.insert(arith.AddI(self.insert(arith.DivUI(last, step)), one))
        count = self.insert(arith.Select(runs, count, zero))
        if type is I32:
            return count
        narrows = bit_width(type) > bit_width(I32)
        return self.insert(arith.TruncI(count, res=I32) if narrows else arith.ExtUI(count, res=I32))

    def computed(self, value: Value) -> Value:
        """A number of the iteration, computed again.  DiagnosticError where it is not made of its number alone."""
        if value in self.mapping.values:
            return self.mapping.values[value]
        block = value.owner_block
        home = block.parent_op if block is not None else None
        if home is None or not (home is self.loop or self.loop.is_ancestor_of(home)):
            return value
        if isinstance(value, BlockArgument) and home is self.loop:
            return value
        op = value.op if isinstance(value, OpResult) else None
        if op is None or not is_computed_again(op):
            raise (op or self.loop).error(
                "says how many stages an iteration uses, and the consumer that leaves them out does not compute it"
            )
        for operand in op.operands:
            self.computed(operand)
        copy = self.builder.insert(op.clone(self.mapping))
        assert isinstance(value, OpResult)
        return copy.results[value.index]

    def insert(self, op: Operation) -> Value:
        return self.builder.insert(op).results[0]

    def number(self, count: int | Value) -> Value:
        return self.insert(arith.Constant(i32(count))) if isinstance(count, int) else count

    def sum(self, a: int | Value, b: int | Value) -> int | Value:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if b == 0 or a == 0:
            return a if b == 0 else b
        return self.insert(arith.AddI(self.number(a), self.number(b)))

    def product(self, a: Value, b: int | Value) -> Value:
        return a if b == 1 else self.insert(arith.MulI(a, self.number(b)))
