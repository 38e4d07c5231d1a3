"""The schedule of a loop with asynchronous products: work of the producer, the tensor cores, and the threads.

    start of a product ──▶ tensor cores ──▶ its end: the accumulator may be read, the operand buffers released

A product does not occupy the threads that start it.  All other ops on tiles do, one at a time, because each warp runs
its instructions in order.  The end of a product is a separate op: the schedule then defines how many other products
start before the wait for it.  There is no wait for an accumulator that only later products use (`chained`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from functools import cached_property
from math import prod

from tessera_tools.analysis.modulo_scheduling import Dependence, Schedule, conflicts, delayed, schedule
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.tile_costs import (
    Cost,
    async_product_cost,
    box_load_cost,
    cost_of,
    in_threads,
    staged_read_cost,
)
from tessera_tools.dialects import arith, nv_tileas, scf
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, i32
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.traversal import values_used
from tessera_tools.ir.types import I1, RankedTensorType
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.fills import BoxLoad, only_for
from tessera_tools.passes.tileas.producer_slice import only_for_indices
from tessera_tools.passes.tileas.products import FEWEST_STAGES, AsyncProduct, Choice
from tessera_tools.passes.tileas.scheduled_loop import ScheduledLoop, bar_of
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.target import WARPS_OF_WARPGROUP, Target
from tessera_tools.target.throughput import throughput

__all__ = ["DONE", "REGISTERS", "REQUIRED", "TURN", "TURNS", "AgentLoop", "chained"]

DONE = "nv_tileas.done"
TURNS = "nv_tileas.turns"
"""The number of warpgroups that take turns with the tensor cores, an attribute of their loop."""
REGISTERS = "nv_tileas.registers"
"""Registers of a thread of the consumer that the loop needs, by estimate."""
TURN = "nv_tileas.turn"
"""A unit attribute of the product with which a warpgroup's turn begins."""
REQUIRED = "nv_tileas.turns_required"
"""A unit attribute of a loop whose turns an option asks for."""
ATTEMPTS = 8
"""Placements per op, for one interval: threads run one op at a time, so that few orders are worth a try."""
START_CYCLES = 16
"""Cycles that the start of a product takes in the threads: the wait for its operands, and their descriptors."""
SWAPPED = 8
"""Rounds in which neighbors may change places."""
OTHER_REGISTERS = 48
"""Registers of a thread for what is not a tile: addresses, descriptors, counters, the rows' numbers, and what ptxas
computes ahead.  Attention of depth 128 with 192 registers of tiles spills, and with 160 takes 205 to 211."""
MOST_INSTANCES = 2
"""The maximum number of iterations that the consumer has in flight: each adds a copy of the code in the prologue and
epilogue."""


def chained(dot: Operation, among: Container[Operation]) -> bool:
    """True if the accumulator of a product is used only by other products of its block, as their accumulator; results
    of the loop are not counted."""
    block = dot.parent
    assert block is not None
    loop, end = block.parent_op, block.last_op

    def only_added_to(value: Value, carried: bool) -> bool:
        for use in value.uses:
            user = use.owner
            if (
                isinstance(user, nv_tileas.Dot)
                and user in among
                and user.parent is block
                and user.c is value
                and user.a is not value
            ):
                continue
            if carried and user is end and isinstance(loop, scf.For):
                if not only_added_to(loop.iter_args[use.index], carried=False):
                    return False
                continue
            return False
        return True

    return only_added_to(dot.results[0], carried=True)


class AgentLoop(ScheduledLoop):
    """An innermost loop of a kernel whose products are asynchronous."""

    def __init__(self, loop: scf.For, target: Target, choice: Choice, most: int = 0, turns: int = 1) -> None:
        self.turns = turns
        """The number of warpgroups that take turns; 1: all of them run the loop together."""
        self.sharers = {"tensor": turns} if turns > 1 else {}
        self.products: dict[Operation, AsyncProduct] = {p.dot: p for p in choice.products}
        self.boxes: dict[Operation, AsyncProduct] = {
            load.load: p for p in choice.products for load in p.loads
        }
        self.shared = {load.load for p in choice.products for load in p.shared}
        """Loads of tiles that are in the stages of others."""
        self.produced = {op for p in choice.products for load in p.loads for op in only_for(load)}
        """Ops of the producer, which do not occupy the consumer."""
        self.produced |= only_for_indices(list(loop.body.entry), self.shared.union(self.boxes)) | self.shared
        self.readers = {
            load.load: [p.dot, *(load.also.values() if isinstance(load, BoxLoad) else ())]
            for p in choice.products
            for load in p.loads
        }
        """The products that read what a load brings, in the order of the program."""
        self.reads: set[Operation] = {load.load for p in choice.products for load in p.read}
        """Loads of the producer from whose stages the consumer reads the tile."""
        self.choice = choice
        self.signs = {op for product in choice.products for op in product.signs}
        self.limit_of_registers = 0
        super().__init__(loop, target, most)

    # -- the graph

    def _graph(self) -> None:
        self.costs = [self._cost(op) for op in self.ops]
        self.ends: dict[int, int] = {}
        """Product → its end."""
        for number, op in enumerate(self.ops):
            if op in self.products:
                self.ends[number] = len(self.costs)
                self.costs.append(Cost())
        self.dependences = list(self._dependences())

    def _cost(self, op: Operation) -> Cost:
        if isinstance(op, nv_tileas.Dot) and op in self.products:
            cost = self._own(async_product_cost(op, self.products[op].atom_n, self.target))
            return Cost({**cost.cycles, "threads": START_CYCLES}, cost.latency, cost.asynchronous)
        if op in self.boxes:
            return box_load_cost(op, self.target)
        if op in self.reads:
            read, brought = self._own(staged_read_cost(op, self.target)), box_load_cost(op, self.target)
            return Cost({**in_threads(read).cycles, "memory": brought.cycles["memory"]}, read.latency)
        if op in self.signs or op in self.produced:
            return Cost()
        return in_threads(self._own(cost_of(op, self.target)))

    def _own(self, cost: Cost) -> Cost:
        """The cost of the part of an op that is one warpgroup's, if the warpgroups take turns."""
        if self.turns == 1 or not cost.cycles:
            return cost
        cycles = {name: -(-amount // self.turns) for name, amount in cost.cycles.items()}
        saved = max(cost.cycles.values()) - max(cycles.values())
        return Cost(cycles, cost.latency - saved, cost.asynchronous)

    @cached_property
    def work(self) -> int:
        """The most cycles for which the warpgroups that take turns occupy a resource of the SM in one iteration."""
        sums: Counter[str] = Counter()
        for number, cost in enumerate(self.costs):
            op = self.ops[number] if number < len(self.ops) else None
            for name, cycles in cost.cycles.items():
                # The producer brings a tile once for all warpgroups.
                once = op in self.boxes or (op in self.reads and name == "memory")
                sums[name] += cycles if once or name == "threads" else self.turns * cycles
        return max(sums.values(), default=0)

    def _dependences(self) -> Iterator[Dependence]:
        yield from super()._dependences()
        for number, end in self.ends.items():
            yield Dependence(number, end, self.costs[number].latency)
            if self._holds_factor(self.ops[number]):
                # The product starts with a copy of A, in registers that are read until the end.
                yield Dependence(end, number, 0, 1)
        for first, *others in self.readers.values():
            # The first of the products waits for the stage.
            for dot in others if first in self.numbers else ():
                if dot is not first and dot in self.numbers:
                    yield Dependence(self.numbers[first], self.numbers[dot], START_CYCLES)

    def _holds_factor(self, dot: Operation) -> bool:
        """Whether A of a product is in registers."""
        product = self.products[dot]
        return product.a is None and 0 not in product.staged

    def _dependence(
        self, source: int, number: int, user: Operation, value: Value, distance: int
    ) -> Dependence:
        if source in self.ends:
            other = user if user in self.products else None
            if (
                isinstance(other, nv_tileas.Dot)
                and value is other.c
                and chained(self.ops[source], self.products)
            ):
                return Dependence(source, number, self.costs[source].cycles["tensor"], distance)
            return Dependence(self.ends[source], number, 0, distance)
        return super()._dependence(source, number, user, value, distance)

    # -- the schedule

    def _found(self, least: int) -> Schedule:
        operations = [cost.cycles for cost in self.costs]
        least = max(least, self.work) if self.turns > 1 else least
        found = schedule(operations, self.dependences, least, self.sharers, self.recurrence, ATTEMPTS)
        loads = [n for n, op in enumerate(self.ops) if op in self.boxes or not self.costs[n].cycles]
        found = self._shortened(delayed(found, operations, self.dependences, loads, self.sharers))
        # Tiles of few registers are computed at their uses.
        small = [
            n for n, op in enumerate(self.ops) if op not in self.products and not self._moves_registers(op)
        ]
        found = delayed(found, operations, self.dependences, small, self.sharers)
        queued = self._queued(found)
        return queued if self._fits(queued) else found

    def _moves_registers(self, op: Operation) -> bool:
        """True if delaying an op extends the live range of a tile in registers that it reads."""
        return any(
            self._size(v.type)
            for value in values_used(op)
            for n, _ in self._definitions(value, set())
            for v in self.ops[n].results
        )

    def _shortened(self, found: Schedule) -> Schedule:
        """The schedule after swaps of adjacent independent ops that shorten the live ranges of tiles."""
        cycles = list(found.cycles)
        threads = [n for n, cost in enumerate(self.costs) if "threads" in cost.cycles]
        best = self._lifetimes(found)
        for _ in range(SWAPPED):
            changed = False
            order = sorted(threads, key=lambda n: cycles[n])
            for position, first in enumerate(order[:-1]):
                then = order[position + 1]
                if cycles[then] - cycles[first] >= found.interval:
                    continue
                moved = list(cycles)
                moved[then] = cycles[first]
                moved[first] = max(
                    cycles[first] + self.costs[then].cycles["threads"],
                    cycles[then] + self.costs[then].cycles["threads"] - self.costs[first].cycles["threads"],
                )
                trial = Schedule(found.interval, tuple(moved), found.resources, found.recurrence)
                if self._holds(trial, (first, then)) and (length := self._lifetimes(trial)) < best:
                    cycles, best, changed = moved, length, True
                    order[position], order[position + 1] = then, first
            if not changed:
                break
        return Schedule(found.interval, tuple(cycles), found.resources, found.recurrence)

    def _holds(self, found: Schedule, moved: tuple[int, int]) -> bool:
        """True if the dependences of the moved ops hold, and their slots in the threads are free."""
        for one in self.dependences:
            if (one.source in moved or one.target in moved) and (
                found.cycles[one.target] + one.distance * found.interval
                < found.cycles[one.source] + one.latency
            ):
                return False
        return not conflicts(found, [cost.cycles for cost in self.costs], moved, self.sharers)

    def _lifetimes(self, found: Schedule) -> int:
        """The sum over tiles of registers times live cycles."""
        return sum(size * (end - start) for start, end, size in self._spans(found))

    def _queued(self, found: Schedule) -> Schedule:
        """The schedule in which a product with a chained accumulator ends after the start of the next one, so that
        the tensor cores have work while the threads wait."""
        cycles = list(found.cycles)
        for number, end in self.ends.items():
            product = self.products[self.ops[number]]
            if product.a is not None and chained(product.dot, self.products):
                cycles[end] = max(cycles[end], cycles[number] + found.interval + 1)
        return Schedule(found.interval, tuple(cycles), found.resources, found.recurrence)

    def _fitting(self) -> Schedule:
        self.limit_of_registers = 1 << 16
        alone = self._found(self._sequential())
        self.limit_of_registers = max(self.spare_registers, self.registers(alone))
        return super()._fitting()

    def _fits(self, found: Schedule) -> bool:
        if self.instances(found) > MOST_INSTANCES:
            return False
        depths = self.depths(found)
        if self.most and max(depths.values(), default=1) > max(self.most, FEWEST_STAGES):
            return False
        needed = sum(depth * _bytes(self.ops[number].results[0]) for number, depth in depths.items())
        least = all(depth == FEWEST_STAGES for depth in depths.values()) and self.turns == 1
        outside = sum(
            _bytes(op.results[0])
            for op in self.boxes
            if op not in self.numbers  # live during the loop
        )
        # What the agent reads that computes factors.
        outside += FEWEST_STAGES * sum(
            load.bytes
            for p in self.products.values()
            for fill in p.loads
            if isinstance(fill, ConvertedFill)
            for load in fill.reads
        )
        if needed + outside > pipeline_room(self.target) and not least:
            return False
        return self.registers(found) <= self.limit_of_registers and not self._crosses(found)

    def _crosses(self, found: Schedule) -> bool:
        """True if an accumulator that is read is in flight between two instances of the loop.  Register moves, which a
        loop may need for carried values, must not read it."""
        first = self._consumer_start(found)
        return any(
            (found.cycles[number] - first) // found.interval != (found.cycles[end] - first) // found.interval
            for number, end in self.ends.items()
            if not chained(self.ops[number], self.products)
        )

    def depths(self, found: Schedule | None = None) -> dict[int, int]:
        """For each load of a product of the loop: the number of buffers that its tile needs, until the product ends."""
        found = found or self.schedule
        fewest = max(FEWEST_STAGES, self.instances(found) + self._goes_around(found))
        depths: dict[int, int] = {}
        for number, op in enumerate(self.ops):
            product = self.boxes.get(op)
            if product is not None and product.dot in self.numbers:
                end = max(found.cycles[self.ends[self.numbers[dot]]] for dot in self.readers[op])
                held = end - found.cycles[number]
                depths[number] = max(fewest, -(-held // found.interval))
            elif op in self.reads:
                brought = box_load_cost(op, self.target).latency
                held = brought + self.costs[number].cycles["threads"]
                depths[number] = max(fewest, -(-held // found.interval))
        return depths

    def instances(self, found: Schedule) -> int:
        """The number of iterations that the consumer has in flight.  Each pipeline has at least as many buffers.
        Otherwise there could be a deadlock: the producer fills the buffers in program order, and could wait for a
        buffer that the consumer releases only after a later one is filled."""
        own = [c for n, c in enumerate(found.cycles) if n >= len(self.ops) or self.agent(n) == "consumer"]
        return (max(own) - min(own)) // found.interval + 1

    def registers(self, found: Schedule) -> int:
        """The maximum number of live registers of tiles in a thread, over all iterations in flight."""
        spans = list(self._spans(found))
        slots = sorted({start % found.interval for start, _, _ in spans})
        most = 0
        for slot in slots:
            most = max(
                most, sum(size * _alive(start, end, slot, found.interval) for start, end, size in spans)
            )
        return most + self.outside

    def _spans(self, found: Schedule) -> Iterator[tuple[int, int, int]]:
        """(from, to, registers) of each tile that an op of the loop computes."""
        cycles, interval = found.cycles, found.interval
        last: dict[int, int] = {}
        for source, reader, distance in self.tile_uses:
            until = cycles[reader] + distance * interval
            if until > last.get(source, 0):
                last[source] = until
        for number, end in last.items():
            yield cycles[number], end, self.sizes[number]

    @cached_property
    def sizes(self) -> dict[int, int]:
        """Op → registers of the tiles that it makes, if they are the consumer's."""
        return {
            number: size
            for number, op in enumerate(self.ops)
            if op not in self.boxes
            and op not in self.produced
            and (size := sum(self._size(v.type) for v in op.results))
        }

    @cached_property
    def tile_uses(self) -> list[tuple[int, int, int]]:
        """(maker, the op or the end of a product until which it is read, iterations between) of tiles in registers."""
        return [
            (one.source, self.ends[one.target] if one.latency else one.target, one.distance)
            for one in self._tile_uses()
            if one.source in self.sizes
        ]

    def _tile_uses(self) -> Iterator[Dependence]:
        """Uses of tiles by ops with a cost, also through ops without; latency 1 if the registers are an operand of a
        product."""
        for number, op in enumerate(self.ops):
            if not self.costs[number].cycles:
                continue
            for value in values_used(op):
                for source, distance in self._definitions(value, set()):
                    factor = op in self.products and value is op.operands[0] and self._holds_factor(op)
                    yield Dependence(source, number, int(factor), distance)

    def _definitions(self, value: Value, seen: set[Value]) -> Iterator[tuple[int, int]]:
        found = self._origin(value)
        if found is None or value in seen or not isinstance(value.type, RankedTensorType):
            return
        seen.add(value)
        source, distance = found
        if self.costs[source].cycles:
            yield source, distance
            return
        for inner in values_used(self.ops[source]):
            for definition, further in self._definitions(inner, seen):
                yield definition, distance + further

    def _size(self, type: Type) -> int:
        if not isinstance(type, RankedTensorType):
            return 0
        if type.element is I1:
            # Comparisons are recomputed at their uses.
            return 0
        threads = 32 * WARPS_OF_WARPGROUP * self.choice.groups
        return prod(type.shape) * storage_bits(type.element) // (32 * threads)

    @cached_property
    def outside(self) -> int:
        """Registers of tiles that are defined before the loop."""
        found: set[Value] = set()
        for op in self.ops:
            for value in values_used(op):
                source = value.defining_op if not isinstance(value, BlockArgument) else None
                if source is None or self._is_inside(source) or source in self.boxes or source in self.shared:
                    continue
                if not isinstance(source, arith.Constant) and cost_of(source, self.target).cycles:
                    found.add(value)
        return sum(self._size(value.type) for value in found)

    def _is_inside(self, op: Operation) -> bool:
        """Whether an op is in the loop, perhaps in a region there."""
        return self.loop.is_ancestor_of(op)

    # -- the result

    def agent(self, number: int) -> str | None:
        """The agent that runs an op: the producer starts TMA loads."""
        if self.ops[number] in self.boxes:
            return "producer"
        return "consumer" if self.costs[number].cycles else None

    def data_after(self, number: int) -> int | None:
        """Also for loads that the consumer reads from their stages."""
        op = self.ops[number]
        return box_load_cost(op, self.target).latency if op in self.reads else super().data_after(number)

    def write(self) -> None:
        """Also writes the end cycle of each product, and which warpgroups take turns."""
        super().write()
        for key in (TURNS, REQUIRED):
            self.loop.attributes.pop(key, None)
        if self.turns > 1:
            self.loop.attributes[TURNS] = i32(self.turns)
        needed = self.needed_registers + self._registers_of_accesses + OTHER_REGISTERS
        self.loop.attributes[REGISTERS] = i32(needed)
        first = self.first_of_turn(self.schedule)
        for number, end in self.ends.items():
            op = self.ops[number]
            op.attributes[DONE] = i32(self.schedule.cycles[end])
            op.attributes.pop(TURN, None)
            if self.turns > 1 and number == first:
                op.attributes[TURN] = UNIT

    # -- turns

    def chart(self) -> list[str]:
        """With turns, also a row for each warpgroup: `=` marks the cycles of its turn, from where its phase begins."""
        lines = super().chart()
        if self.turns == 1:
            return lines
        found = self.schedule
        order = self._products_in_kernel(found)
        first = self.first_of_turn(found)
        last = order[order.index(first) - 1]
        length = (found.cycles[last] - found.cycles[first]) % found.interval + self.costs[last].cycles[
            "tensor"
        ]
        for group in range(self.turns):
            phase = group * found.interval // self.turns
            start = (found.cycles[first] + phase) % found.interval
            bar = bar_of(start, length, found.interval, "=")
            lines.append(f"warpgroup {group} phase {phase:6} |{bar}| turn with the tensor cores")
        return lines

    @property
    def may_take_turns(self) -> bool:
        """Whether there are several warpgroups, and the consumer writes no operand of the products: it would have to
        meet for that in each iteration."""
        computes = any(p.staged or p.sliced for op, p in self.products.items() if op in self.numbers)
        refused = any(op.parent_op is self.loop for op in self.choice.refused)
        return self.choice.groups > 1 and not computes and not refused

    def first_of_turn(self, found: Schedule) -> int:
        """The product with which a turn begins: the one after the longest time without a product of the warpgroup."""
        order = self._products_in_kernel(found)
        before = [order[-1], *order[:-1]]

        def idle(position: int) -> int:
            ended = found.cycles[before[position]] + self.costs[before[position]].cycles["tensor"]
            return (found.cycles[order[position]] - ended) % found.interval

        return order[max(range(len(order)), key=idle)]

    def _goes_around(self, found: Schedule) -> bool:
        """True if turns go around the end of the loop.  A warpgroup may then wait, during its turn, for a stage of the
        next iteration, and another one may not have released the stage of this iteration before its own turn."""
        return self.turns > 1 and self.first_of_turn(found) != self._products_in_kernel(found)[0]

    def _products_in_kernel(self, found: Schedule) -> list[int]:
        """The products in the order of the pipelined loop, which begins with the consumer's first op."""
        first = self._consumer_start(found)
        return sorted(self.ends, key=lambda n: (found.cycles[n] - first) % found.interval)

    def _consumer_start(self, found: Schedule) -> int:
        """The first cycle of the consumer."""
        return min(c for n, c in enumerate(found.cycles) if n >= len(self.ops) or self.agent(n) == "consumer")

    @property
    def price(self) -> int:
        """Cycles of an iteration: the interval, and with turns, two barriers, and the part of an interval for which the
        last warpgroup comes later, if it is known over how many iterations that is spread."""
        interval, trips = self.schedule.interval, self.loop.trip_count
        if self.turns == 1:
            return interval
        late = (interval - interval // self.turns) // trips if trips else 0
        return interval + 2 * throughput(self.target).barrier_latency + late

    @property
    def needed_registers(self) -> int:
        """Registers of a thread that the schedule needs for tiles."""
        return self.registers(self.schedule)

    @property
    def _registers_of_accesses(self) -> int:
        """Registers of a thread for the addresses and conditions of the accesses to global memory that the consumer
        makes in the loop: about as many as their tiles take, up to OTHER_REGISTERS."""
        own = [op for n, op in enumerate(self.ops) if self.agent(n) == "consumer" and op not in self.reads]
        found = (one for op in own for one in (op, *op.walk()) if not one.regions)
        accesses = [op for op in found if "memory" in cost_of(op, self.target).cycles]
        tiles = (max(self._size(v.type) for v in (*op.operands, *op.results)) for op in accesses)
        return min(sum(tiles), OTHER_REGISTERS)

    @property
    def has_registers(self) -> bool:
        """Whether there are as many registers as the schedule needs."""
        return self.needed_registers <= self.spare_registers

    @property
    def spare_registers(self) -> int:
        """Registers of a thread that there are for tiles."""
        return self.choice.consumer_registers - OTHER_REGISTERS


def _alive(start: int, end: int, slot: int, interval: int) -> int:
    """The number of iterations whose value is live at a slot, if each is live from start to end."""
    first = -(-(start - slot) // interval)
    return max(0, -(-(end - slot) // interval) - first)


def _bytes(tile: Value) -> int:
    type = tile.type_as(RankedTensorType)
    return prod(type.shape) * max(storage_bits(type.element), 8) // 8
