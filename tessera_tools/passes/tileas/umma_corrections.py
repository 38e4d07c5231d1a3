"""Sums that stay in tensor memory while a loop changes them between its products, and the agent that changes them.

    for k iter_args(%o) { …; %f = exp …; %c = %o * broadcast %f; %o' = dot %p, %v, %c; yield %o' }
      ──▶  { for k { wait %f; acquire %o; load, * %f, store; commit } }      correction: a warpgroup of its own
           { for k { wait %p, %o; umma %o; release } }                      the multiplier
           { for k { …; hand %f over; hand %p over } }                      the consumer carries no sums

The chain from what the loop carries to what the product adds to is computed element by element, from the sums, from
constants, and from tiles of one column, which the consumer hands over in shared memory.  The right to use the sums
is a pipeline of one stage: it is full when the correction has stored them, and empty when the product is complete.
The correction stores what the loop begins with, and leaves the sums to the consumer behind it.

The other way is that the consumer carries the sums in registers, and adds those of each product (used_first).
tileas-schedule compares the schedules of both (umma_schedule.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, IntegerAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import F32, I64, RankedTensorType, bit_width
from tessera_tools.layout.shared import swizzled
from tessera_tools.layout.tensor_memory import LANES
from tessera_tools.passes.tileas.agent_control import State, copied
from tessera_tools.passes.tileas.box_stages import Pipeline, fill_with, first, following
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.producer_slice import Slice
from tessera_tools.passes.tileas.umma_parts import ROW_PARTS, may_have_parts, share_columns
from tessera_tools.passes.tileas.umma_warpgroups import has_rows
from tessera_tools.planning.shared_memory import ALIGN, narrowest
from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.umma_products import Accumulation, UmmaChoice

CORRECTION = "correction"
"""The name of the agent."""
COLUMN_STAGES = 2
"""Stages of what the consumer hands over: it may be one iteration ahead."""
_ONE = 0x3F800000
"""1 as f32."""
AT_ONCE = {1: 64, 2: 32}
"""Sums that a thread changes at once, by parts of the rows: its registers (umma_products.py) hold no more."""


@dataclass(eq=False)
class Correction:
    """How a loop changes the sums of products between them."""

    loop: scf.For
    number: int
    """Which of the values that the loop carries the sums are."""
    chain: list[Operation]
    """The ops from the sums that the loop carries to what the first product adds to, in the order of the program."""
    columns: list[Value]
    """The tiles of one column that they need."""
    slice: Any = None
    """The loops and branches around it."""

    @property
    def sums(self) -> Value:
        return self.loop.iter_args[self.number]


def correct(function: nv_tileaa.Func, choice: UmmaChoice) -> None:
    """Let an agent change the sums of a loop in tensor memory; one accumulation has it.  With several parts of the
    rows, each has a warpgroup of the consumer.  Raises Missed if none can have it."""
    parts = 1
    if choice.groups == ROW_PARTS and may_have_parts(choice.accumulations):
        parts = ROW_PARTS
    if choice.in_pairs:
        why = "is done by two CTAs together"
    elif choice.by_threads:
        why = "has factors that threads bring, beside which there are no registers for an agent that changes sums"
    elif parts == 1 and not has_rows(function, choice.accumulations):
        why = "needs more warpgroups of consumers than there are beside an agent that changes sums"
    else:
        why = "adds up no sums that a loop changes between its products, element by element"
        for one in choice.accumulations:
            found = find_correction(one, parts)
            if found is None or (parts > 1 and not share_columns(one, choice.accumulations)):
                continue
            one.correction, one.loop, one.number = found, found.loop, found.number
            choice.groups = choice.parts = parts
            return
    raise Missed(choice.accumulations[0].first, why)


def find_correction(one: Accumulation, parts: int = 1) -> Correction | None:
    """How an accumulation may stay in tensor memory, changed by an agent of its own; None if it cannot."""
    dot, end = one.first, one.last.res
    loop = dot.parent_op
    if (
        one.loop is not None
        or not isinstance(loop, scf.For)
        or not end.has_one_use
        or end.type.element is not F32
    ):
        return None
    if end.type.shape[0] > LANES * parts:
        # One warpgroup would change the rows of several instructions one after the other, and the product waits.
        return None
    numbers = [n for n, value in enumerate(loop.yielded) if value is end]
    if not numbers or splat_of(constant_value(loop.inits[numbers[0]])) is None:
        return None
    made = Correction(loop, numbers[0], [], [])
    if not _follow(dot.c, made, {dot}) or made.sums not in _operands(made):
        return None
    inside = {*made.chain, dot}
    if any(
        user not in inside
        for value in (made.sums, *(op.results[0] for op in made.chain))
        for user in value.users
    ):
        return None
    made.chain = [op for op in loop.body.entry if op in made.chain]
    try:
        made.slice = Slice([])
        made.slice.around(dot, dot)
    except Missed:
        return None
    if made.slice.handed:
        return None
    return made


def _operands(made: Correction) -> list[Value]:
    return [value for op in made.chain for value in op.operands]


def _follow(value: Value, made: Correction, seen: set[Operation]) -> bool:
    """Add the ops that compute a tile of the chain; False if it is computed otherwise."""
    if value is made.sums or splat_of(constant_value(value)) is not None:
        return True
    op = value.defining_op
    if op is None or op.parent is not made.loop.body.entry:
        return False
    if op in made.chain:
        return True
    type = value.type_as(RankedTensorType)
    if isinstance(op, nv_tileaa.Broadcast):
        source = op.source
        if source.type.shape != (type.shape[0], 1) or source.type.element is not F32:
            return False
        if source not in made.columns:
            made.columns.append(source)
        made.chain.append(op)
        return op.res.has_one_use
    if not is_elementwise(op) or op.regions or len(op.results) != 1 or type.element is not F32:
        return False
    made.chain.append(op)
    return all(_follow(operand, made, seen) for operand in op.operands)


def hoist(value: Value) -> None:
    """Move what computes a tile to where the last of its operands is computed, and that likewise."""
    op = value.defining_op
    if op is None or op.regions or not is_pure(op) or op.parent is None or not op.operands:
        return
    made = [operand.defining_op for operand in op.operands]
    inside = [one for one in made if one is not None and one.parent is op.parent]
    if not inside:
        return
    # The last operand may move in front of another one, which is the last one then.
    moved: set[Operation] = set()
    while (latest := _last(inside)) not in moved:
        moved.add(latest)
        hoist(latest.results[0])
    if latest.next_op is not op and not isinstance(op, nv_tileas.Dot):
        block = op.parent
        op.detach()
        block.insert_after(latest, op)


def _last(ops: list[Operation]) -> Operation:
    """The last of some ops of a block."""
    latest = ops[0]
    for op in ops[1:]:
        if latest.is_before_in_block(op):
            latest = op
    return latest


class Corrector:
    """The agent of one warpgroup that changes sums between products."""

    warps = WARPS_OF_WARPGROUP

    def __init__(self, kernel: Any, sums: Any) -> None:
        self.kernel, self.sums = kernel, sums
        self.correction: Correction = sums.of.correction
        product = sums.of.products[0]
        self.usable = Pipeline([], product)
        """The pipeline of the right to use the sums."""
        self.handed = {
            value: Pipeline([], product, stages=COLUMN_STAGES) for value in self.correction.columns
        }
        """The pipelines of the tiles of one column."""
        self.buffers: dict[Value, Value] = {}
        for pipeline in (self.usable, *self.handed.values()):
            kernel.places[pipeline] = product.dot

    def declare(self, builder: Builder) -> None:
        """The pipelines and buffers, before the agents."""
        user, parts = self.sums.of.first, self.kernel.parts
        self.usable.token = self.kernel.create(1, self.warps, 1, user, builder, parts=parts)
        for value, pipeline in self.handed.items():
            type = value.type_as(RankedTensorType)
            pipeline.token = self.kernel.create(
                COLUMN_STAGES,
                self.kernel.warps // parts,
                self.warps,
                user,
                builder,
                parts=parts,
            )
            layout = SharedAttr(swizzled(type.shape, bit_width(type.element), None, 0))
            alloc = nv_tileas.AllocTensor(
                res=SmemType((COLUMN_STAGES, *type.shape), type.element, layout), location=user.location
            )
            alloc.attributes[ALIGN] = i64(16)
            self.buffers[value] = builder.insert(alloc).res

    # -- the consumer

    def hand_over(self, block: Block, state: State) -> None:
        """In the consumer, store each tile of one column as soon as it is computed."""
        for value, pipeline in self.handed.items():
            made = value.defining_op
            if made is not None and made.parent is block:
                builder = Builder.after(made)
            else:
                builder = Builder.before(self.correction.chain[0])
            buffer, iterator = self.buffers[value], state[pipeline]

            def store(
                inside: Builder, value: Any = value, buffer: Value = buffer, iterator: Value = iterator
            ) -> None:
                stage, zero = _stage(buffer, iterator, inside)
                atom = narrowest(value.type.element)
                inside.insert(
                    nv_tileas.Store(value, stage, zero, None, atom, location=self.sums.of.first.location)
                )

            fill_with(pipeline.token, iterator, store, builder, self.sums.of.first.location)
            state[pipeline] = following(iterator, builder)

    # -- the agent

    def correct(self, source: Block, target: Block) -> None:
        """The agent's code: a copy of loops and branches, with the changes."""
        builder = Builder.at_end(target, self.kernel.function.location)
        state: State = {key: first(key, builder) for key in (self.usable, *self.handed.values(), self.sums)}
        mapping, loads = IRMapping(), self.correction.slice.loads
        if loads:
            none = builder.insert(nv_tileaa.CreateMemToken(res=nv_tileaa.MemTokenType())).results[0]
            mapping.values.update((op.token, none) for op in loads)
        self.copy(source, builder, mapping, state)
        builder.insert(nv_tileas.Yield([]))

    def copy(self, source: Block, builder: Builder, mapping: IRMapping, state: State) -> None:
        """Copy the needed ops of a block."""
        slice, correction = self.correction.slice, self.correction
        for op in source:
            if op in slice.ops:
                builder.insert(op.clone(mapping))
            if op is correction.loop:
                token = self.begin(builder, state)
                copied(correction.loop, slice, builder, mapping, state, self.kernel.places, self.copy)
                # The products of the last part are complete after those of the others.
                for part in reversed(self.row_parts()):
                    builder.insert(nv_tileas.ProducerTail(self.usable.token, state[self.usable], part=part))
                builder.insert(nv_tileas.ProducerCommit(token, location=op.location))
                state[self.sums] = following(state[self.sums], builder)
            elif isinstance(op, scf.For | scf.If) and op in slice.control:
                copied(op, slice, builder, mapping, state, self.kernel.places, self.copy)
            elif op is self.sums.of.first:
                self.change(builder, state)

    def begin(self, builder: Builder, state: State) -> Value:
        """Store what the loop begins with; returns the token of the stage."""
        location = self.sums.of.first.location
        acquired = builder.insert(
            nv_tileas.ProducerAcquire(
                self.sums.token, state[self.sums], res=nv_tileas.ProducerTokenType(), location=location
            )
        ).res
        written = nv_tileas.ProducerWrite.create(
            [acquired, state[self.sums]],
            [nv_tileas.ProducerTokenType()],
            {},
            [Region([Block()])],
            location=location,
        )
        builder.insert(written)
        inside = Builder.at_end(written.regions[0].entry, location)
        start = constant_value(self.correction.loop.inits[self.correction.number])
        assert isinstance(start, DenseElementsAttr)
        for part in self.row_parts():
            for column, type in self.parts():
                value = inside.insert(
                    arith.Constant(DenseElementsAttr(type, start.data), location=location)
                ).results[0]
                inside.insert(
                    nv_tileas.TmemStore(
                        value, self.sums.buffer, _row(part), column=i64(column), location=location
                    )
                )
        inside.insert(nv_tileas.Yield([]))
        return written.results[0]

    def change(self, builder: Builder, state: State) -> None:
        """One iteration."""
        for part in self.row_parts():
            self.change_rows(part, builder, state)
        for pipeline in (self.usable, *self.handed.values()):
            state[pipeline] = following(state[pipeline], builder)

    def change_rows(self, part: IntegerAttr | None, builder: Builder, state: State) -> None:
        """One iteration of one part of the rows."""
        location = self.sums.of.first.location
        mapping = IRMapping()
        for value, pipeline in self.handed.items():
            iterator = state[pipeline]
            waited = nv_tileas.ConsumerWait(
                pipeline.token,
                iterator,
                i32(0),
                part=part,
                res=nv_tileas.ConsumerTokenType(),
                location=location,
            )
            token = builder.insert(waited).res
            stage, zero = _stage(self.buffers[value], iterator, builder)
            old = value.type_as(RankedTensorType)
            type = RankedTensorType((self.rows, 1), old.element)
            at = DenseArrayAttr(I64, (0 if part is None else part.value * self.rows, 0))
            atom = narrowest(type.element, "lds")
            read = builder.insert(nv_tileas.Load(stage, zero, at, atom, res=type, location=location))
            mapping.values[value] = read.res
            builder.insert(nv_tileas.ConsumerRelease(token, location=location))

        def change(inside: Builder) -> None:
            needed = self.is_needed(mapping, inside)
            branch = None
            if needed is not None:
                branch = scf.If.create([needed], [], {}, [Region([Block()]), Region([])], location=location)
                inside.insert(branch)
                inside = Builder.at_end(branch.regions[0].entry, location)
            for column, type in self.parts():
                self.part(part, column, type, mapping, state[self.sums], inside)
            if branch is not None:
                inside.insert(scf.Yield([]))

        fill_with(self.usable.token, state[self.usable], change, builder, location, part)

    @property
    def rows(self) -> int:
        """Rows that the agent changes one after the other."""
        type = self.sums.of.first.c.type
        return type.shape[0] // self.kernel.parts

    def row_parts(self) -> list[IntegerAttr | None]:
        """The numbers of the parts of the rows; None for all of them."""
        parts = self.kernel.parts
        return [None] if parts == 1 else [i32(part) for part in range(parts)]

    def is_needed(self, mapping: IRMapping, builder: Builder) -> Value | None:
        """Whether this warp has a row whose sums change: not if they are multiplied by 1.  None if that cannot be told
        from what is handed over."""
        broadcast, *others = self.correction.chain
        is_product = len(others) == 1 and isinstance(others[0], arith.MulF)
        if (
            not isinstance(broadcast, nv_tileaa.Broadcast)
            or not is_product
            or self.sums.of.type.rows != LANES
        ):
            return None
        factors = mapping.value(broadcast.source)
        location = others[0].location
        ones = DenseElementsAttr.of(cast(RankedTensorType, factors.type), [_ONE])
        one = builder.insert(arith.Constant(ones, location=location)).results[0]
        other = builder.insert(arith.CmpF.of("une", factors, one)).results[0]
        return builder.insert(nv_tileas.AnyInWarp(other, self.sums.buffer, location=location)).res

    def part(
        self,
        part: IntegerAttr | None,
        column: int,
        type: RankedTensorType,
        outer: IRMapping,
        iterator: Value,
        builder: Builder,
    ) -> None:
        """Change so many columns from one on."""
        location = self.sums.of.first.location
        mapping = IRMapping()
        mapping.values.update(outer.values)
        row = _row(part)
        loaded = nv_tileas.TmemLoad(
            self.sums.buffer, iterator, row, column=i64(column), res=type, location=location
        )
        mapping.values[self.correction.sums] = builder.insert(loaded).res
        for op in self.correction.chain:
            for value in op.operands:
                constant = constant_value(value)
                if isinstance(constant, DenseElementsAttr) and value not in mapping.values:
                    made = arith.Constant(DenseElementsAttr(type, constant.data), location=op.location)
                    mapping.values[value] = builder.insert(made).results[0]
            copy = op.clone(mapping)
            copy.results[0].type = type
            builder.insert(copy)
        value = mapping.value(self.sums.of.first.c)
        builder.insert(
            nv_tileas.TmemStore(value, self.sums.buffer, row, column=i64(column), location=location)
        )

    def parts(self) -> Iterator[tuple[int, RankedTensorType]]:
        """(first column, type) of each part of the tile that is changed at once."""
        whole = self.sums.of.first.c.type
        rows, columns = self.rows, whole.shape[1]
        width = columns
        while rows * width > AT_ONCE[self.kernel.parts] * 32 * self.warps:
            width //= 2
        for column in range(0, columns, width):
            yield column, RankedTensorType((rows, width), whole.element)


def _row(part: IntegerAttr | None) -> IntegerAttr | None:
    """The first row of a part."""
    return None if part is None else i64(part.value * LANES)


def _stage(buffer: Value, iterator: Value, builder: Builder) -> tuple[Value, Value]:
    """The iterator's stage as a buffer of one, and 0."""
    old = buffer.type_as(SmemType)
    type = SmemType((1, *old.tile), old.element, old.layout)
    zero = builder.insert(arith.Constant(i32(0))).results[0]
    return builder.insert(nv_tileas.View(buffer, iterator, res=type)).res, zero
