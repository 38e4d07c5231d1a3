"""Applies schedules to the consumer's loops: the start and the end of a product are separate ops.

    schedule: dot cycle 0, done 1049, interval 1024      prologue   wait; async.dot
    for { wait; async.dot; dot_wait; release }     ──▶   kernel     wait; async.dot; dot_wait 1; release the one before
                                                         epilogue   dot_wait 0; release

`Schedules` reads the attributes of tileas-schedule before the loops change, places the parts of each product at the
cycles of its start and its end, and pipelines the loops.  The number of products that may be in flight at a wait is
counted by simulating the pipelined loop.

Where warpgroups take turns (`nv_tileas.turns`), a turn lasts from the product marked `nv_tileas.turn` to the start of
the one before it in the order of the kernel; it may go around the end of the loop.  An instance of the prologue is a
turn too, so that the warpgroups enter the kernel one after the other.  The epilogue has no turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr, i32
from tessera_tools.ir.core import Block, Builder, Operation, Value
from tessera_tools.passes.tileas.agent_schedule import DONE, REGISTERS, REQUIRED, TURN, TURNS, chained
from tessera_tools.passes.tileas.fills import Filler
from tessera_tools.passes.tileas.products import Choice
from tessera_tools.passes.tileas.scheduled_loop import CYCLE, DEPTH, INTERVAL, MOST
from tessera_tools.passes.tileas.software_pipelining import Pipelined, Placement, pipelined
from tessera_tools.records import dataclass, field

__all__ = ["Schedules"]

_PLAYED = 4
"""Instances of the kernel to simulate; more give no new states."""


@dataclass(eq=False)
class _Product:
    """The parts of a product in a loop with a schedule."""

    start: int
    end: int
    chained: bool
    begins_turn: bool = False
    dot: Any = None
    stage: Any = None
    """The wait for its operands, if a pipeline brings them."""
    wait: Any = None


@dataclass(eq=False)
class Schedules:
    """The loops of a kernel that have a schedule."""

    products: dict[Operation, _Product] = field(default_factory=dict[Operation, _Product])
    cycles: dict[Operation, int] = field(default_factory=dict[Operation, int])
    order: list[tuple[Operation, Operation]] = field(default_factory=list[tuple[Operation, Operation]])
    split_products: list[_Product] = field(default_factory=list[_Product])
    most: int = 0
    """The most iterations of a load in flight that an option allows; 0 without one."""
    registers: int = 0
    """The most registers of a consumer's thread that a loop needs, by estimate."""
    turns: dict[Block, Value] = field(default_factory=dict[Block, Value])
    """The turns of the warpgroups of an agent, by its block."""

    @classmethod
    def read(cls, choice: Choice) -> Schedules:
        """Read the attributes of the products.  A loop in which the consumer writes an operand to shared memory, or a
        product is not asynchronous, is not changed: the writes would have to wait for products in flight.  Neither is
        one with a product that waits for itself."""
        found = cls()
        dots = [product.dot for product in choice.products]
        left = {p.dot.parent_op for p in choice.products if p.staged or p.sliced}
        left |= {op.parent_op for op in choice.refused}
        for dot in dots:
            loop = dot.parent_op
            if loop in left:
                continue
            start, end = _number(dot, CYCLE), _number(dot, DONE)
            if (
                not isinstance(loop, scf.For)
                or start is None
                or end is None
                or _number(loop, INTERVAL) is None
            ):
                continue
            found.products[dot] = _Product(start, end, chained(dot, dots), TURN in dot.attributes)
            found.most = _number(loop, MOST) or found.most
            found.registers = max(found.registers, _number(loop, REGISTERS) or 0)
            found.cycles.update((op, c) for op in loop.body.entry if (c := _number(op, CYCLE)) is not None)
            found.place_shapes(dot)
        return found

    def has(self, dot: Operation) -> bool:
        """True if a product has a schedule."""
        return dot in self.products

    def depth(self, loads: Sequence[Filler], dot: Operation) -> int | None:
        """The number of buffers in the schedule for the loads of a product; None without a schedule."""
        depths = [n for load in loads if (n := _number(load.load, DEPTH)) is not None]
        return max(depths) if dot in self.products and len(depths) == len(loads) else None

    def split(
        self,
        dot: Operation,
        started: nv_tileas.AsyncDot,
        stages: Sequence[tuple[nv_tileas.ConsumerWait, nv_tileas.FenceProxy | None]],
        ended: Sequence[Value],
        builder: Builder,
    ) -> Value:
        """Create the end of a started product, and the release of the stages that are `ended` then; returns the
        accumulator.

        stages: the waits for those of which it is the first reader."""
        product = self.products[dot]
        self.split_products.append(product)
        product.dot, product.stage = started, stages[0][0] if stages else None
        self.cycles[started] = product.start
        sums = None if product.chained else started.res
        wait = nv_tileas.AsyncDotWait(
            sums, i32(0), res=None if sums is None else sums.type, location=started.location
        )
        product.wait = builder.insert(wait)
        self.cycles[wait] = product.end
        self.order.append((started, wait))
        self.order += pairwise(stage for stage, _ in stages)
        for stage, fence in stages:
            if fence is not None:
                self.cycles[fence] = product.start
                self.order += [(stage, fence), (fence, started)]
            self.cycles[stage] = product.start
            self.order.append((stage, started))
        for token in ended:
            release = builder.insert(nv_tileas.ConsumerRelease(token, location=started.location))
            self.cycles[release] = product.end
            self.order.append((wait, release))
            if (first := token.defining_op) is not None:
                self.order.append((first, started))
        return started.res if sums is None else wait.results[0]

    def place(self, load: Operation, ops: Sequence[Operation]) -> None:
        """Give the ops that replace a load the load's cycle, if it has one; they keep their order."""
        cycle = self.cycles.get(load)
        if cycle is not None:
            self.cycles.update(dict.fromkeys(ops, cycle))
            self.order += pairwise(ops)

    def place_shapes(self, dot: nv_tileas.Dot) -> None:
        """Give the ops that only rename the elements of A the cycle of what makes it: an iteration then leaves A to the
        next one as the product takes it."""
        shapes: list[Operation] = []
        value = dot.a
        while (
            isinstance(op := value.defining_op, nv_tileaa.Reshape | nv_tileaa.Permute) and value.has_one_use
        ):
            shapes.append(op)
            value = op.source
        if op in self.cycles:
            self.cycles.update(dict.fromkeys(shapes, self.cycles[op]))

    def overlap(self) -> None:
        """Pipeline the loops."""
        loops = dict.fromkeys(product.dot.parent_op for product in self.split_products)
        for loop in loops:
            self._overlap(loop)

    def _overlap(self, loop: scf.For) -> None:
        block, end = loop.body.entry, loop.body.entry.last_op
        interval = _number(loop, INTERVAL)
        assert interval is not None and end is not None
        ops = set(block)
        placement = Placement(
            interval,
            {op: cycle for op, cycle in self.cycles.items() if op in ops},
            [pair for pair in self.order if pair[0] in ops],
        )
        inside = [product for product in self.split_products if product.dot in ops]
        in_flight = {p.dot.res for p in inside if p.chained}

        def finish(value: Value, made: Value, builder: Builder) -> Value:
            """Insert waits for accumulators that leave the loop."""
            if value not in in_flight:
                return made
            return builder.insert(nv_tileas.AsyncDotResult(made, location=loop.location)).res

        found = pipelined(loop, placement, finish)
        if found is not None:
            _count(found, inside)
            groups = _number(loop, TURNS)
            if groups is not None:
                self._take_turns(found, inside, groups, REQUIRED in loop.attributes)
            return
        for number, value in enumerate(end.operands):
            result = loop.results[number]
            if value in in_flight:
                uses = list(result.uses)
                builder = Builder.after(loop)
                waited = finish(value, result, builder)
                for use in uses:
                    use.owner.set_operand(use.index, waited)

    def _take_turns(self, found: Pipelined, products: list[_Product], groups: int, required: bool) -> None:
        """Insert the waits for turns and their ends into a pipelined loop."""
        copies = dict(found.kernel)
        order = [op for op, _ in found.kernel]
        starts = sorted(products, key=lambda product: order.index(product.dot))
        first = next(number for number, product in enumerate(starts) if product.begins_turn)
        last = copies[starts[first - 1].dot]
        begin = copies[starts[first].stage or starts[first].dot]
        kernel = begin.parent_op
        assert isinstance(kernel, scf.For)
        agent = nv_tileas.agent_of(kernel)
        assert agent is not None
        location = kernel.location
        token = self.turns.get(agent.entry)
        if token is None:
            made = nv_tileas.CreateOrder(
                i32(groups),
                required=UNIT if required else None,
                res=nv_tileas.OrderTokenType(),
                location=location,
            )
            token = self.turns[agent.entry] = Builder.at_start(agent.entry, location).insert(made).res
        if first > 0:
            Builder.before(kernel).insert(nv_tileas.OrderWait(token, location=location))
            Builder.after(kernel).insert(nv_tileas.OrderArrive(token, [], location=location))
        turns = [(begin, last)]
        for part in found.prologue:
            copies = dict(part)
            there = [product for product in starts if product.dot in copies]
            if there:
                in_order = sorted(there, key=lambda product: list(copies).index(product.dot))
                turns.append((copies[in_order[0].stage or in_order[0].dot], copies[in_order[-1].dot]))
        for begin, last in turns:
            Builder.before(begin).insert(nv_tileas.OrderWait(token, location=location))
            Builder.after(last).insert(nv_tileas.OrderArrive(token, [], location=location))


def _count(found: Pipelined, products: list[_Product]) -> None:
    """Set the number of products that each wait may leave in flight: those always started after its own."""
    dots = {product.dot: product for product in products}
    waits = {product.wait: product for product in products}
    pending: dict[Operation, int] = {}
    for instances in range(_PLAYED + found.stages):
        started: dict[tuple[_Product, int], int] = {}
        for op, copy, iteration in found.played(instances):
            if op in dots:
                started[dots[op], iteration] = len(started)
            elif op in waits:
                later = len(started) - 1 - started[waits[op], iteration]
                pending[copy] = min(pending.get(copy, later), later)
    for copy, count in pending.items():
        assert isinstance(copy, nv_tileas.AsyncDotWait)
        copy.pending = i32(count)


def _number(op: Operation, key: str) -> int | None:
    found = op.attributes.get(key)
    return found.value if isinstance(found, IntegerAttr) else None
