"""The ops of a block outside of innermost loops as a graph of costs and dependences, and their order.

    for { products }; %c = tiled_load; addf; tiled_store         66,164 cycles
      ──▶  %c = tiled_load; for { products }; addf; tiled_store  63,666 cycles

An inner loop is one task, as long as its schedule says.  An order must take clearly less time with few and with many
iterations, where their number is not known, and both in a launch of few CTAs, where it hides latency, and in one where
all multiprocessors are busy, which memory may limit in any order.

Ops without a cost, such as views and scalars, are no tasks: they follow their users.  What keeps its order: accesses
that tokens order, all other effects, and what the producer takes part in, because it fills the stages in the order of
the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod

from tessera_tools.analysis.launches import Launch
from tessera_tools.analysis.list_scheduling import Graph, Task, Tile, ordered, pressure, timed
from tessera_tools.analysis.modulo_scheduling import Dependence
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.tile_costs import Cost, async_product_cost, cost_of, in_threads, staged_read_cost
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import IntegerAttr, StringAttr, i32
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.effects import is_pure, memory_effects
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.traversal import values_used
from tessera_tools.ir.types import I1, RankedTensorType
from tessera_tools.passes.tileas.agent_registers import registers_of_several
from tessera_tools.passes.tileas.agent_schedule import OTHER_REGISTERS, REGISTERS, START_CYCLES, AgentLoop
from tessera_tools.passes.tileas.consumers import busy_of
from tessera_tools.passes.tileas.fills import only_for
from tessera_tools.passes.tileas.products import AsyncProduct, Choice
from tessera_tools.passes.tileas.scheduled_loop import (
    AGENT,
    CHART_COLUMNS,
    CYCLE,
    INTERVAL,
    ScheduledLoop,
    bar_of,
    has_token,
)
from tessera_tools.target import WARPS_OF_WARPGROUP, Target, occupancy
from tessera_tools.target.throughput import throughput

__all__ = ["KernelParts", "ScheduledBlock", "blocks_between_loops", "reorder"]

MANY_TRIPS = 64
"""Iterations of a loop whose number is not known, if they are not few."""
LEAST_GAIN = 16
"""An order must save one of so many cycles outside of the inner loops: the costs are estimates."""
SPARE_DRAM = 4
"""Where all multiprocessors are busy, an earlier load delays others, unless DRAM moves the bytes of the block in one
cycle of so many.  By the clock, a GEMM of 4096 rows and columns with a residual gains from 32 steps of 64 terms on,
where this is one of 3."""
MOST_CTAS = 4
"""CTAs of a multiprocessor beyond which more do not count."""
_LOOPS = (scf.For, scf.While, nv_tileaa.Loop)


class KernelParts:
    """What the blocks of a kernel share: the ops of its agents, its threads, and their registers.

    choice: its asynchronous products, if any; launch: if it is known; threads: those that compute.
    """

    def __init__(
        self, function: nv_tileaa.Func, choice: Choice | None, target: Target, launch: Launch | None = None
    ) -> None:
        self.choice, self.target, self.launch = choice, target, launch
        found = [] if choice is None else choice.products
        self.products: dict[Operation, AsyncProduct] = {p.dot: p for p in found}
        self.brought = {load.load for p in found for load in (*p.loads, *p.shared)}
        """Loads of the producer whose tiles products read from shared memory."""
        self.read = {load.load for p in found for load in p.read}
        """Loads of the producer whose tiles the consumer reads."""
        self.free = {op for p in found for load in p.loads for op in only_for(load)} - self.brought
        self.free |= {op for p in found for op in p.signs}
        spec = function.kernel_spec
        assert spec is not None
        warps = spec.num_warps if choice is None else choice.groups * WARPS_OF_WARPGROUP
        self.threads = 32 * warps

    def trips(self, op: Operation, unknown: int) -> int:
        """Iterations of a loop; 1 for another op."""
        if not isinstance(op, scf.For):
            return unknown if isinstance(op, _LOOPS) else 1
        if op.trip_count is not None or self.launch is None:
            return op.trip_count or unknown
        lower, upper, step = (self.launch.number(value) for value in (op.lower, op.upper, op.step))
        if lower is None or upper is None or step is None or step <= 0:
            return unknown
        return max(1, -(-(upper - lower) // step))

    def budget(self, least: int) -> int:
        """The most registers for tiles that cost no CTA of a multiprocessor, if the order of the program needs
        `least`."""
        most = (255 if self.choice is None else self.choice.consumer_registers) - OTHER_REGISTERS
        if self.choice is not None and self.choice.by_threads:
            # Accesses are narrow where TMA cannot be used, and have as many addresses again.
            most -= OTHER_REGISTERS
        ctas = self.ctas(least)
        while most > least and self.ctas(most) < ctas:
            most -= 1
        return most

    def ctas(self, registers: int) -> int:
        """CTAs that so many registers for tiles let a multiprocessor run at once."""
        needed, threads = min(registers + OTHER_REGISTERS, 255), self.threads
        if self.choice is None:
            return occupancy(self.target, threads=threads, registers=needed).blocks
        threads += 32 * WARPS_OF_WARPGROUP
        shared, _ = registers_of_several(self.choice.groups, needed, self.target, MOST_CTAS)
        return max(shared, occupancy(self.target, threads=threads, registers=needed).blocks)


class ScheduledBlock:
    """One block that has no innermost loop's body, and an order of its ops.

    loops: the schedules of innermost loops.  launches: in which an order must take less time, those where a CTA is
    alone (True), and those where all multiprocessors are busy (False).
    """

    def __init__(
        self,
        block: Block,
        kernel: KernelParts,
        loops: Mapping[Operation, ScheduledLoop],
        target: Target,
        launches: Collection[bool] = (True, False),
    ) -> None:
        self.block, self.target, self.kernel, self.loops = block, target, kernel, loops
        self.ops = [op for op in block if self._is_task(op)]
        self.numbers = {op: number for number, op in enumerate(self.ops)}
        self.source = list(range(len(self.ops)))
        self.launches = launches
        self.makers: dict[Operation, frozenset[int]] = {}
        """For each op of the block, the tasks whose results it needs, or itself."""
        self.roots: dict[Value, frozenset[Value]] = {}
        """For each tile that no task makes, the tiles whose registers it is made of."""
        for op in block:
            self._trace(op)

    def _trace(self, op: Operation) -> None:
        if op in self.numbers:
            self.makers[op] = frozenset({self.numbers[op]})
            return
        found = (self.makers.get(v.defining_op) for v in op.operands if v.defining_op is not None)
        self.makers[op] = frozenset[int]().union(*(one for one in found if one))
        tiles = [v for v in op.operands if isinstance(v.type, RankedTensorType)]
        roots = frozenset[Value]().union(*(self.roots.get(v, frozenset({v})) for v in tiles))
        self.roots.update(dict.fromkeys(op.results, roots))

    # -- the graph

    def _is_task(self, op: Operation) -> bool:
        if op.has_trait(Terminator) or op in self.kernel.free:
            return False
        return bool(op.regions) or not is_pure(op) or bool(cost_of(op, self.target).cycles)

    @cached_property
    def few(self) -> Graph:
        """The tasks, if a loop whose iterations are not known has one."""
        return self._graph(1)

    @cached_property
    def many(self) -> Graph:
        """The tasks, if such a loop has many."""
        return self._graph(MANY_TRIPS)

    def _graph(self, trips: int) -> Graph:
        tasks = [self._task(op, trips) for op in self.ops]
        return Graph(tasks, list(self._dependences(tasks)), self.tiles)

    def _task(self, op: Operation, trips: int) -> Task:
        if op in self.kernel.brought:
            # The wait for the tile is where its product is.
            return Task()
        if isinstance(op, nv_tileas.Dot) and op in self.kernel.products:
            product = async_product_cost(op, self.kernel.products[op].atom_n, self.target)
            return Task(START_CYCLES, product.latency)
        if op in self.kernel.read:
            cost = staged_read_cost(op, self.target)
            return Task(cost.cycles["shared"], cost.latency)
        if any(isinstance(inner, _LOOPS) for inner in (op, *op.walk())):
            cycles = self._cycles(op, trips)
            return Task(cycles, cycles, inside=self._inside(op))
        cost = self._cost(op)
        inside = self._inside(op) if isinstance(op, scf.If) else 0
        if "memory" in cost.cycles and not op.regions:
            # The threads go on while the bytes are moved.
            return Task(cost.cycles.get("issue", 1), cost.latency, {"memory": cost.cycles["memory"]})
        return Task(cost.cycles.get("threads", 0), cost.latency, inside=inside)

    @cached_property
    def ctas(self) -> int:
        """CTAs that a multiprocessor runs at once."""
        needed = [loop.needed_registers for loop in self.loops.values() if isinstance(loop, AgentLoop)]
        return max(1, self.kernel.ctas(max(needed) if needed else self.pressure))

    @cached_property
    def is_fed(self) -> bool:
        """Whether the producer brings tiles of the next iteration while the ops of this block compute."""
        around = self.block.parent_op
        while isinstance(around, scf.If):
            around = around.parent_op
        return isinstance(around, scf.For) and bool(self.kernel.products)

    def _cost(self, op: Operation) -> Cost:
        return in_threads(cost_of(op, self.target))

    def _cycles(self, op: Operation, trips: int) -> int:
        """Cycles for which an op with loops occupies the threads."""
        found, count = self.loops.get(op), self.kernel.trips(op, trips)
        if found is not None and self.is_fed:
            busy = Counter(busy_of(found.ops, found.costs))
            del busy["memory"]
            threads = sum(cost.cycles.get("threads", 0) for cost in found.costs)
            return count * max([1, threads, found.schedule.recurrence, *busy.values()])
        if found is not None:
            price = found.price if isinstance(found, AgentLoop) else found.schedule.interval
            return price * (count - 1) + max(found.schedule.cycles, default=0) + 1
        inner = [o for region in op.regions for block in region.blocks for o in block]
        total = sum(
            self._cycles(o, trips) if o.regions else self._cost(o).cycles.get("threads", 0) for o in inner
        )
        return max(1, total * count)

    def _dependences(self, tasks: Sequence[Task]) -> Iterator[Dependence]:
        for number, op in enumerate(self.ops):
            for value in _from_outside(op):
                for source in self.makers.get(value.defining_op, ()) if value.defining_op is not None else ():
                    token = value.type is nv_tileaa.MEM_TOKEN
                    yield Dependence(
                        source, number, tasks[source].threads if token else tasks[source].latency
                    )
        last, since = None, list[int]()
        for number, op in enumerate(self.ops):
            if is_pure(op):
                continue
            if last is not None:
                yield Dependence(last, number, tasks[last].threads)
            if self._is_fence(op):
                for other in since:
                    yield Dependence(other, number, 0)
                last, since = number, []
            else:
                since.append(number)
        agents = [n for n, op in enumerate(self.ops) if self._takes_part(op)]
        for first, second in pairwise(agents):
            yield Dependence(first, second, 0)

    def _is_fence(self, op: Operation) -> bool:
        """Whether an op has effects that no token orders."""
        if memory_effects(op) is None:
            return True
        inside = (
            inner for inner in (op, *op.walk()) if not inner.regions and not inner.has_trait(Terminator)
        )
        return any(not is_pure(inner) and not has_token(inner) for inner in inside)

    def _takes_part(self, op: Operation) -> bool:
        """Whether a producer brings something for an op."""
        kernel = self.kernel
        return any(
            inner in kernel.brought or inner in kernel.read or inner in kernel.products
            for inner in (op, *op.walk())
        )

    # -- registers

    @cached_property
    def tiles(self) -> list[Tile]:
        """The tiles in registers."""
        users: dict[Value, set[int]] = {}
        for number, op in enumerate([*self.ops, self.block.last_op]):
            for value in _from_outside(op) if op is not None else ():
                for root in self.roots.get(value, (value,)):
                    users.setdefault(root, set()).add(number)
        found: list[Tile] = []
        for value, by in users.items():
            maker = self.numbers.get(value.defining_op) if value.defining_op is not None else None
            if size := self._size(value):
                found.append(Tile(size, maker, frozenset(by)))
        return found

    def _size(self, value: Value) -> int:
        """Registers of a thread for a tile."""
        type, op = value.type, value.defining_op
        if not isinstance(type, RankedTensorType) or type.element is I1 or op in self.kernel.brought:
            return 0
        if (
            op is not None
            and op not in self.numbers
            and not op.regions
            and not cost_of(op, self.target).cycles
        ):
            return 0
        return prod(type.shape) * storage_bits(type.element) // (32 * self.kernel.threads)

    def _inside(self, op: Operation) -> int:
        """Registers of tiles while an op with regions runs, with those that it uses from outside."""
        found = self.loops.get(op)
        if isinstance(found, AgentLoop):
            return found.needed_registers
        inner = [
            ScheduledBlock(block, self.kernel, self.loops, self.target).pressure
            for region in op.regions
            for block in region.blocks
        ]
        return max(inner, default=0)

    @property
    def pressure(self) -> int:
        """Registers of a thread for tiles, in the order of the program."""
        return pressure(self.few, self.source)

    # -- the order

    @cached_property
    def order(self) -> list[int]:
        """An order that takes clearly less time than that of the program, and no more registers than there are;
        otherwise that of the program."""
        if len(self.ops) < 2:
            return self.source
        budget = self.kernel.budget(self.pressure)
        order = ordered(self.many, budget)
        # Ops are placed by their cycles, so that no other order may have them.
        starts = timed(self.many, order).cycles
        order = sorted(order, key=lambda number: (starts[number], number))
        if order == self.source or not self._has_registers(order, budget):
            return self.source
        if all(self._gains(order, trips, alone) for trips in (1, MANY_TRIPS) for alone in self.launches):
            return order
        return self.source

    def _has_registers(self, order: Sequence[int], budget: int) -> bool:
        """Whether an order needs no more registers than there are, or than that of the program.  Beside a loop all of a
        tile is live, elsewhere a thread may compute one part of it after the other."""
        return all(
            pressure(self.few, order, inside) <= max(budget, pressure(self.few, self.source, inside))
            for inside in (True, False)
        )

    def _gains(self, order: Sequence[int], trips: int, alone: bool) -> bool:
        """Whether an order takes clearly less time than that of the program."""
        before, after = (self._length(one, trips, alone) for one in (self.source, order))
        loops = sum(self._cycles(op, trips) for op in self.ops if op in self.loops)
        return (before - after) * LEAST_GAIN >= max(before - loops, 1)

    def _length(self, order: Sequence[int], trips: int, alone: bool) -> int:
        """Cycles of an order: alone, or of each of the CTAs that a multiprocessor runs at once, while all others move
        bytes too."""
        graph = self.few if trips == 1 else self.many
        length = timed(graph, order).length
        if alone:
            return length
        moved = sum(task.reserved.get("memory", 0) for task in graph.tasks)
        looped = sum(
            self.kernel.trips(inner, trips) * busy_of(found.ops, found.costs)["memory"]
            for op in self.ops
            for inner in (op, *op.walk())
            if (found := self.loops.get(inner)) is not None
        )
        # Other CTAs have brought to L2 what loops load.
        rates = throughput(self.target)
        far = moved * rates.memory_bytes // rates.dram_bytes
        return max(length // self.ctas, moved + looped, SPARE_DRAM * far)

    @property
    def is_changed(self) -> bool:
        """Whether the ops have another order than in the program."""
        return self.order != self.source

    @property
    def first_moved(self) -> Operation:
        """The first op of the schedule that comes later in the program."""
        moved = (now for now, before in zip(self.order, self.source, strict=True) if now != before)
        return self.ops[next(moved, 0)]

    @property
    def lengths(self) -> tuple[int, int]:
        """Cycles of the block in the order of the program, and in that of the schedule."""
        return self._length(self.source, MANY_TRIPS, True), self._length(self.order, MANY_TRIPS, True)

    # -- the result

    def agent(self, number: int) -> str:
        """The agent that runs an op."""
        return "producer" if self.ops[number] in self.kernel.brought else "consumer"

    def write(self) -> None:
        """Write the order to attributes, and replace an earlier one; inner loops then need the registers of the tiles
        that are live beside them."""
        starts = timed(self.many, self.order).cycles
        for number, op in enumerate(self.ops):
            for key in (CYCLE, AGENT):
                op.attributes.pop(key, None)
            if self.is_changed:
                op.attributes[CYCLE] = i32(starts[number])
                op.attributes[AGENT] = StringAttr(self.agent(number))
        needed = pressure(self.many, self.order) + OTHER_REGISTERS
        for op in self.ops if self.is_changed else ():
            for inner in (op, *op.walk()):
                if isinstance(found := inner.attributes.get(REGISTERS), IntegerAttr) and found.value < needed:
                    inner.attributes[REGISTERS] = i32(needed)

    def chart(self) -> list[str]:
        """A row for each op in the order of the schedule: `#` marks cycles in which it occupies the threads, `-` those
        until its result."""
        found = timed(self.many, self.order)
        length = max(found.length, 1)
        lines = []
        for number in self.order:
            task, start = self.many.tasks[number], found.cycles[number]
            busy = bar_of(start, task.threads, length, "#") if task.threads else " " * CHART_COLUMNS
            until = bar_of(start, max(task.latency, 1), length, "-")
            bar = "".join(mark if mark != " " else other for mark, other in zip(busy, until, strict=True))
            lines.append(
                f"cycle {start:6} |{bar}| {self.agent(number)} {self.ops[number].name}: {task.threads}"
            )
        return lines


def _from_outside(op: Operation) -> Iterator[Value]:
    """The values that an op and the ops in its regions use and do not define."""
    for value in values_used(op):
        home = value.owner_block
        if home is None or not op.is_ancestor_of(home.parent_op):
            yield value


def blocks_between_loops(function: Operation, innermost: Collection[Operation]) -> list[Block]:
    """The blocks of a kernel that no innermost loop holds, those of its loops and branches included."""
    found = list(function.regions[0].blocks)
    for op in function.walk():
        if isinstance(op, scf.For | scf.If) and not any(loop.is_ancestor_of(op) for loop in innermost):
            found += [block for region in op.regions for block in region.blocks]
    return found


def reorder(function: Operation) -> None:
    """Put the ops outside of innermost loops in the order that their attributes say."""
    innermost = [op for op in function.walk() if INTERVAL in op.attributes]
    for block in blocks_between_loops(function, innermost):
        tasks = [op for op in block if isinstance(op.attributes.get(CYCLE), IntegerAttr)]
        if tasks:
            _Reordered(block, tasks).run()


def _cycle(op: Operation) -> int:
    cycle = op.attributes[CYCLE]
    assert isinstance(cycle, IntegerAttr)
    return cycle.value


class _Reordered:
    """A block whose ops are put in another order.  Ops that are no tasks stay where they are among those in front of
    them, unless a task that is moved up needs them."""

    def __init__(self, block: Block, tasks: Sequence[Operation]) -> None:
        self.block, self.last = block, block.last_op
        self.tasks = sorted(tasks, key=_cycle)
        self.left = dict.fromkeys(op for op in block if op is not self.last)

    def run(self) -> None:
        waiting = set(self.tasks)
        for task in self.tasks:
            for op in list(self.left):
                if op in waiting:
                    break
                self._place(op)
            self._place(task)
            waiting.remove(task)
        for op in list(self.left):
            self._place(op)

    def _place(self, op: Operation) -> None:
        if op not in self.left:
            return
        del self.left[op]
        for value in values_used(op):
            if value.defining_op is not None:
                self._place(value.defining_op)
        assert self.last is not None
        op.move_before(self.last)
