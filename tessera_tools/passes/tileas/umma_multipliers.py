"""The agents that multiply by tcgen05.mma: of one warp each, of which a thread starts the products.

    for k { a = load; b = load; acc = dot a, b, acc }  ──▶  acquire; for k { wait; async.umma; release }; commit

See materialize_tensor_memory.py for what they wait for, and what they leave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr, i32
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.types import I1
from tessera_tools.passes.tileas.agent_control import State, copied
from tessera_tools.passes.tileas.box_stages import Pipeline, first, following
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.producer_slice import Slice
from tessera_tools.passes.tileas.umma_parts import start_parts
from tessera_tools.passes.tileas.umma_products import SCALES, Accumulation, Handed, UmmaProduct
from tessera_tools.records import dataclass, field

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.materialize_tensor_memory import TensorKernel

T = TypeVar("T")


@dataclass(eq=False)
class Sums:
    """An accumulation, its buffer and its pipeline."""

    of: Accumulation
    buffer: Any = None
    token: Any = None
    """The pipeline."""
    filled: list[Value] = field(default_factory=list[Value])
    """In the multiplier: the right to fill the stage, for each part of the rows."""


@dataclass(eq=False)
class Multiplier:
    """An agent of one warp, of which a thread starts the products that leave some of the sums."""

    kernel: TensorKernel
    sums: list[Sums]

    def __post_init__(self) -> None:
        kernel = self.kernel
        own = [one for one in self.sums if one not in kernel.corrected]
        self.begins = by_op((one.of.begin, one) for one in own)
        self.ends = by_op((one.of.end, one) for one in own)
        correctors = [kernel.corrected[one] for one in self.sums if one in kernel.corrected]
        self.usable = [corrector.usable for corrector in correctors]
        """The pipelines of the right to use sums that are changed between products."""
        self.used_from = {one.sums.of.first: one.usable for one in correctors}
        self.used_up_to = {one.sums.of.last: one.usable for one in correctors}
        self.by_dot = {product.dot: one for one in self.sums for product in one.of.products}
        self.by_product = {product.dot: product for one in self.sums for product in one.of.products}
        products = list(self.by_product.values())
        own = [p for p in kernel.pipelines if not p.read and any(dot in self.by_dot for dot in p.readers)]
        self.brought = own
        """The pipelines of factors that the producer brings."""
        inside = [(p, [dot for dot in p.readers if dot in self.by_dot]) for p in own if p.is_inside]
        self.waited_before = by_op((readers[0], p) for p, readers in inside)
        self.released_behind = by_op((readers[-1], p) for p, readers in inside)
        handed = [pipeline for pipeline in kernel.handed if pipeline.product in products]
        self.pipelines = [*self.brought, *handed]
        self.sharing: dict[Sums, list[Pipeline]] = {}
        """The pipelines of factors in the columns of sums."""
        for pipeline in kernel.handed:
            for factor in pipeline.loads:
                for one in self.sums:
                    if isinstance(factor, Handed) and factor.shares is one.of:
                        self.sharing.setdefault(one, []).append(pipeline)
        self.slice = Slice([], kernel.channels)
        for product in products:
            self.slice.around(product.dot, product.dot)
            for load in product.loads:
                self.slice.around(load.load, load.load)
        kernel.channels += len(self.slice.handed)
        if self.slice.handed and kernel.in_pairs:
            raise Missed(
                products[0].dot,
                "is in a loop or branch that depends on what the consumer computes, which in a pair of CTAs the agent "
                "that multiplies does not know in this version",
            )

    def multiply(self, source: Block, target: Block) -> None:
        """The agent's code: a copy of loops and branches, with the products.  In a pair, the leader alone has them."""
        location = self.kernel.function.location
        builder = Builder.at_end(target, location)
        if self.kernel.in_pairs:
            branch = scf.If.create(
                [_leads(builder)], [], {}, [Region([Block()]), Region([])], location=location
            )
            builder.insert(branch)
            inside = Builder.at_end(branch.regions[0].entry, location)
            self.start(source, inside)
            inside.insert(scf.Yield([]))
        else:
            self.start(source, builder)
        builder.insert(nv_tileas.Yield([]))

    def start(self, source: Block, builder: Builder) -> None:
        """The iterators, and the code."""
        sharing = [pipeline for pipelines in self.sharing.values() for pipeline in pipelines]
        keys = (*self.pipelines, *self.usable, *self.sums, *sharing)
        state: State = {key: first(key, builder) for key in keys}
        mapping = IRMapping()
        if self.slice.loads:
            none = builder.insert(nv_tileaa.CreateMemToken(res=nv_tileaa.MemTokenType())).results[0]
            mapping.values.update((op.token, none) for op in self.slice.loads)
        self.copy(source, builder, mapping, state)

    def copy(self, source: Block, builder: Builder, mapping: IRMapping, state: State) -> None:
        """Copy the needed ops and the products of a block."""
        held: list[Value] = []
        used: dict[Pipeline, Value] = {}
        inside: dict[Pipeline, Value] = {}
        left = {p: list(p.loads) for p in self.brought if p.block is source}
        for op in source:
            read: list[Value] = []
            if op in self.slice.ops:
                builder.insert(op.clone(mapping))
            for pipeline in self.kernel.handed_before.get(op, ()):
                if pipeline not in self.pipelines or self.kernel.parts > 1:
                    continue
                token = self.kernel.wait(pipeline, builder, state)
                (read if op in self.by_product else held).append(token)
            for one in self.begins.get(op, ()) if self.kernel.parts == 1 else ():
                acquired = nv_tileas.ProducerAcquire(
                    one.token, state[one], res=nv_tileas.ProducerTokenType(), location=op.location
                )
                one.filled.append(builder.insert(acquired).res)
            found = self.kernel.by_load.get(op)
            if found is not None:
                pipeline, load = found
                if pipeline in left:
                    left[pipeline].remove(load)
                    if not left[pipeline] and not pipeline.is_inside:
                        held.append(self.kernel.wait(pipeline, builder, state))
            elif isinstance(op, scf.For | scf.If) and op in self.slice.control:
                copied(op, self.slice, builder, mapping, state, self.kernel.places, self.copy)
            elif isinstance(op, nv_tileas.Dot) and op in self.by_product:
                product = self.by_product[op]
                for own in self.waited_before.get(op, ()):
                    inside[own] = self.kernel.wait(own, builder, state)
                read += [inside.pop(own) for own in self.released_behind.get(op, ())]
                if self.kernel.parts > 1:
                    start_parts(self, product, builder, mapping, state)
                    for token in read:
                        builder.insert(nv_tileas.ConsumerRelease(token, UNIT, location=op.location))
                    continue
                if op in self.used_from:
                    used[self.used_from[op]] = self.kernel.wait(self.used_from[op], builder, state)
                self.start_product(product, builder, mapping, state)
                if op in self.used_up_to:
                    read.append(used[self.used_up_to[op]])
                for token in read:
                    builder.insert(nv_tileas.ConsumerRelease(token, UNIT, location=op.location))
            for one in self.ends.get(op, ()):
                builder.insert(nv_tileas.ProducerCommit(one.filled.pop(), location=op.location))
                state[one] = following(state[one], builder)
            self.slice.receive(op, builder, mapping)
        for token in held:
            builder.insert(nv_tileas.ConsumerRelease(token, UNIT))

    def start_product(
        self,
        product: UmmaProduct,
        builder: Builder,
        mapping: IRMapping,
        state: State,
        row: IntegerAttr | None = None,
    ) -> None:
        """One product, or the instructions for the rows from one on."""
        dot = product.dot
        location = dot.location
        a, b = (
            self.kernel.views[load if load is not None else product.handed[position]]
            for position, load in enumerate((product.a, product.b))
        )
        one = self.by_dot[dot]
        builder.insert(
            nv_tileas.Umma(
                a,
                b,
                one.buffer,
                state[one],
                self.adds(one.of, product, builder, mapping),
                [
                    self.kernel.views[product.scales.get(position) or product.handed[position]]
                    for position in range(SCALES, SCALES + len(dot.scales))
                ],
                product.atom(),
                negate_a=UNIT if product.negates(0) else None,
                negate_b=UNIT if product.negates(1) else None,
                pair=UNIT if self.kernel.in_pairs else None,
                row=row,
                location=location,
            )
        )

    def adds(self, one: Accumulation, product: UmmaProduct, builder: Builder, mapping: IRMapping) -> Value:
        """Whether a product adds to the sums, or is the first of them."""
        location = product.dot.location
        if product is one.products[0] and one.loop is not None and one.correction is None:
            loop = one.loop
            compared = arith.CmpI.of("ne", mapping.value(loop.induction[0]), mapping.value(loop.lower))
            return builder.insert(compared).results[0]
        adds = product is not one.products[0] or one.correction is not None
        return builder.insert(arith.Constant(IntegerAttr(int(adds), I1), location=location)).results[0]


def by_op(pairs: Iterable[tuple[Operation, T]]) -> dict[Operation, list[T]]:
    """What begins or ends with an op: the sums of a loop, or stages."""
    found: dict[Operation, list[T]] = {}
    for op, one in pairs:
        found.setdefault(op, []).append(one)
    return found


def _leads(builder: Builder) -> Value:
    """Whether this CTA is the leader of its pair."""
    one, zero = (builder.insert(arith.Constant(i32(number))).results[0] for number in (1, 0))
    bit = builder.insert(arith.AndI(builder.insert(nv_tileas.CtaRank()).res, one)).results[0]
    return builder.insert(arith.CmpI.of("eq", bit, zero)).results[0]
