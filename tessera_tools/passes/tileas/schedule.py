"""tileas-schedule: computes the start cycle of each op of an innermost loop, so that iterations overlap.

The pass only writes attributes (`nv_tileas.` is omitted here):

    scf.for %k … {                      {interval = 813, stages = 3}
      %a, %t = nv_tileas.tiled_load …   {agent = "producer", cycle = 0, depth = 3, stage = 0}
      %c = nv_tileas.dot %a, %b, %acc   {agent = "consumer", cycle = 1626, stage = 2}

With turns (ping-pong), `turns` is the number of warpgroups that take them, `turn` marks the product with which a turn
begins, and each warpgroup runs the loop interval / turns cycles after the one before.  Schedules with and without turns
are compared by the cycles of an iteration.

The loop is converted to a graph with the costs of analysis/tile_costs.py, and analysis/modulo_scheduling.py finds the
interval.  A loaded tile needs a buffer for each iteration between the start of the load and the end of its last user.
If the buffers do not fit the target's shared memory, the interval is increased until they do.

In a kernel with tensor memory, each op of a loop with products by tcgen05.mma gets a cycle, a stage and one of the
agents of such kernels (umma_schedule.py): the producer, multipliers, the consumer, and a correction of sums.

The ops outside of innermost loops get a `cycle` and an `agent` too where another order takes less time
(scheduled_block.py).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from tessera_tools.analysis.hints import hint
from tessera_tools.analysis.launches import launch_of
from tessera_tools.analysis.modulo_scheduling import SchedulingError
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import UNIT, i32
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.charts import charts_wanted, record_chart
from tessera_tools.passes.tileas.agent_schedule import REQUIRED, AgentLoop
from tessera_tools.passes.tileas.consumer_warpgroups import CONSUMER_WARPGROUPS, FOR_TURNS
from tessera_tools.passes.tileas.consumers import (
    CONSUMERS,
    Epilogue,
    busy_of,
    loop_over_tiles,
    price_in_turn,
    why_not,
)
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.packed_factors import unpack_factors
from tessera_tools.passes.tileas.products import (
    IN_TURN,
    Choice,
    asynchronous_products,
    choose,
)
from tessera_tools.passes.tileas.scheduled_block import KernelParts, ScheduledBlock, blocks_between_loops
from tessera_tools.passes.tileas.scheduled_loop import ScheduledLoop, is_innermost
from tessera_tools.passes.tileas.umma_schedule import explain_correction, schedule_tensor_memory
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP, Feature, Target
from tessera_tools.target.throughput import throughput


@dataclass(frozen=True)
class ScheduleLoops(Pass):
    """Schedule each innermost loop by iterative modulo scheduling."""

    name: ClassVar = "tileas-schedule"
    summary: ClassVar = "compute a modulo schedule for each innermost loop"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = (
        "nv_tileas ops, on GPUs without tensor memory with atoms, before copies and buffers are made explicit"
    )
    ensures: ClassVar = "each op on tiles in an innermost loop has a stage, a cycle and an agent"
    statistics: ClassVar = {"scheduled": "loops scheduled", "ordered": "blocks in another order"}

    chart: bool = option(False, "print each schedule as a chart, on stderr")
    only_agents: bool = option(False, "schedule only the loops of kernels whose products can be asynchronous")
    num_stages: int = option(0, "maximum iterations of a load in flight; 0 for as many as fit shared memory")
    num_consumer_warpgroups: int = option(
        0,
        "warpgroups that compute the products of a kernel with agents: 1, 2 or 4; 0 for as many as their sums need",
    )

    ping_pong: str = option(
        "auto",
        "whether the consumer warpgroups of a loop take turns with the tensor cores: if that takes less time, or if it "
        "is possible at all, or never; or by tiles of a loop over them, so that an epilogue overlaps products",
        choices=("auto", "always", "never", "tiles"),
    )

    between_loops: str = option(
        "auto",
        "whether the ops outside of innermost loops get another order: if that takes less time in any launch, or in "
        "one of few CTAs, or never",
        choices=("auto", "always", "never"),
    )
    agents: str = option(
        "auto",
        "with tensor memory, what changes sums between products: auto, what takes less time; multipliers: the "
        "consumer, which carries them in registers; correction: an agent of its own; an error where there can be none",
        choices=("auto", "multipliers", "correction"),
    )
    tile_blocks: int = option(0, "the tile blocks of a launch of few CTAs; 0 for any launch")
    arguments: tuple[str, ...] = option(
        (), "the integers among the arguments of that launch; ? for any other"
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        if self.num_stages < 0:
            raise op.error(
                f"option num-stages={self.num_stages} is invalid; expected a number of stages, or 0"
            )
        if self.num_consumer_warpgroups < 0:
            raise op.error(
                f"option num-consumer-warpgroups={self.num_consumer_warpgroups} is invalid; expected 1, 2 or 4, or 0"
            )
        target, changed = target_of(op), False
        launch = launch_of(op, self.tile_blocks, self.arguments)
        functions = kernels(op)
        for function in functions:
            if target.has(Feature.TCGEN05) and self._schedule_tensor_memory(function, target, context):
                changed = True
                continue
            made = _Made(self.num_stages)
            choice = self._choice(function, target)
            in_turn = self._alternated(function, made, target, choice, context)
            choice = in_turn or self._divided(function, made, target, choice)
            if choice is not None:
                changed = True
                number = choice.groups * choice.consumers
                groups = f"{number} consumer warpgroup{'s' if number > 1 else ''}"
                loads = "a warp that loads" if not choice.by_threads else "a warpgroup that loads"
                context.passed(function, f"{loads} and {groups}: {choice.why}", "warps", "schedule")
            self._tell_of_unfollowed_hints(function, choice, context)
            taken, loops = False, dict[Operation, ScheduledLoop]()
            for loop in innermost_loops(function) if choice is not None or not self.only_agents else ():
                try:
                    together = made.together(loop, target, choice)
                    scheduled = self._with_turns(together, made, function, context)
                except SchedulingError:
                    # Effects of one iteration depend on each other: the loop is not reordered.
                    continue
                scheduled.write()
                loops[loop] = scheduled
                changed = True
                if scheduled.turns > 1:
                    taken = True
                    if self.ping_pong == "always":
                        loop.attributes[REQUIRED] = UNIT
                self._tell(scheduled, function, context)
            if self.between_loops != "never" and in_turn is None:
                kernel = KernelParts(function, choice, target, launch if len(functions) == 1 else None)
                changed |= self._schedule_blocks(function, kernel, loops, context)
            if self.ping_pong == "always" and not taken and _multiplies(function):
                raise function.error(
                    f"cannot take turns, for which ping-pong=always asks: {_why_no_turns(choice)}"
                )
        return changed

    def _tell(self, scheduled: ScheduledLoop, function: Operation, context: PassContext) -> None:
        """Remarks and the chart of a loop's schedule."""
        _tell_of_hints(scheduled, function, context)
        if self.num_stages and (needed := max(scheduled.depths().values(), default=0)) > self.num_stages:
            text = (
                f"{needed} stages, more than num-stages={self.num_stages}: the agents of the loop need "
                "that many for the iterations that they have in flight"
            )
            context.missed(scheduled.loop, text, "stages", "schedule", function=function)
        context.count("scheduled")
        found = scheduled.schedule
        title = f"one iteration every {found.interval} cycles, {found.stages} in flight"
        limited = f"{title}; limited by {scheduled.limit()}"
        if charts_wanted():
            record_chart(limited, scheduled.loop.location, scheduled.chart())
        if self.only_agents and not self.chart:
            return
        context.remark(scheduled.loop.location, limited, rule="schedule", category="schedule")
        if self.chart:
            sys.stderr.write("\n".join(scheduled.chart()) + "\n")

    def _schedule_tensor_memory(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> bool:
        """Schedule the loops with products by tcgen05.mma; False if there are none."""
        try:
            made = schedule_tensor_memory(function, target, self.agents, self.num_stages)
        except Missed as refusal:
            raise refusal.error(
                f", so that its kernel has no such agents as agents={self.agents} asks for"
            ) from None
        finally:
            unpack_factors(function)
        if made is None:
            return False
        for scheduled in made.loops:
            scheduled.write()
            self._tell(scheduled, function, context)
        explain_correction(made, function, context)
        return True

    def _schedule_blocks(
        self,
        function: nv_tileaa.Func,
        kernel: KernelParts,
        loops: Mapping[Operation, ScheduledLoop],
        context: PassContext,
    ) -> bool:
        """Order the ops outside of innermost loops, where that takes less time."""
        changed, few = False, self.between_loops == "always" or self.tile_blocks > 0
        for block in blocks_between_loops(function, innermost_loops(function)):
            scheduled = ScheduledBlock(block, kernel, loops, kernel.target, (True,) if few else (True, False))
            scheduled.write()
            if not scheduled.is_changed:
                continue
            changed = True
            context.count("ordered")
            before, after = scheduled.lengths
            text = f"the ops between loops take {after} cycles instead of {before} in another order"
            context.passed(scheduled.first_moved, text, "order", "schedule", function=function)
            if charts_wanted():
                record_chart(text, scheduled.first_moved.location, scheduled.chart())
            if self.chart:
                sys.stderr.write("\n".join((text, *scheduled.chart())) + "\n")
        return changed

    def _with_turns(
        self, scheduled: ScheduledLoop, made: _Made, function: Operation, context: PassContext
    ) -> ScheduledLoop:
        """The schedule in which the consumer warpgroups take turns, if that is possible and takes less time."""
        if self.ping_pong == "never" or not isinstance(scheduled, AgentLoop) or not scheduled.may_take_turns:
            return scheduled
        loop, groups = scheduled.loop, scheduled.choice.groups
        try:
            turned = made.in_turns(loop, scheduled.target, scheduled.choice)
        except SchedulingError as failure:
            text = f"the {groups} consumer warpgroups do not take turns with the tensor cores: {failure}"
            context.failed(loop, text, "turns", "schedule", function=function)
            return scheduled
        if self.ping_pong == "always":
            why = f", as ping-pong=always says: an iteration takes {turned.price} cycles, together {scheduled.price}"
        else:
            why = f": an iteration takes {turned.price} cycles instead of {scheduled.price}"
            against = (
                f"an iteration would take {turned.price} cycles instead of {scheduled.price}"
                if turned.price >= scheduled.price
                else None
                if turned.has_registers
                else f"their tiles need {turned.needed_registers} registers of a thread, of {turned.spare_registers}, "
                "so that ptxas spills some"
            )
            if against is not None:
                text = f"the {groups} consumer warpgroups do not take turns with the tensor cores: {against}"
                context.missed(loop, text, "turns", "schedule", function=function)
                return scheduled
        text = f"{groups} consumer warpgroups take turns with the tensor cores (ping-pong){why}"
        context.passed(loop, text, "turns", "schedule", function=function)
        return turned

    def _choice(self, function: nv_tileaa.Func, target: Target) -> Choice | None:
        """The asynchronous products of a kernel.  An error if it has products and cannot have the consumers that the
        option asks for."""
        if not self.num_consumer_warpgroups or not _multiplies(function):
            return asynchronous_products(function, target)
        function.attributes[CONSUMER_WARPGROUPS] = i32(self.num_consumer_warpgroups)
        try:
            return choose(function)
        except Missed as refusal:
            raise refusal.error(
                ", so that its kernel has no consumer warpgroups, of which num-consumer-warpgroups asks for "
                f"{self.num_consumer_warpgroups}"
            ) from None

    def _divided(
        self, function: nv_tileaa.Func, made: _Made, target: Target, choice: Choice | None
    ) -> Choice | None:
        """Two consumer warpgroups that take turns instead of one that nobody asks for, if that takes less time."""
        if choice is None or choice.groups > 1 or self.ping_pong == "never":
            return choice
        if self.num_consumer_warpgroups or hint(function, "num_worker_warps_per_cta") is not None:
            return choice
        function.attributes.update({CONSUMER_WARPGROUPS: i32(2), FOR_TURNS: UNIT})
        try:
            two = choose(function)
        except Missed:
            # Each of two warpgroups has fewer registers for the addresses of the producer.
            two = choice
        if two.groups > 1 and self._divides(function, made, target, choice, two):
            return two
        for key in (CONSUMER_WARPGROUPS, FOR_TURNS):
            del function.attributes[key]
        return choice

    def _alternated(
        self,
        function: nv_tileaa.Func,
        made: _Made,
        target: Target,
        choice: Choice | None,
        context: PassContext,
    ) -> Choice | None:
        """Two consumers that take the tiles of a loop in turn, if that is possible and takes less time; marks the
        loop."""
        required = self.ping_pong == "tiles"
        loop = loop_over_tiles(function) if choice is not None else None
        if choice is None or loop is None:
            if required and _multiplies(function):
                raise function.error(f"cannot alternate tiles, for which ping-pong=tiles asks: {NO_LOOP}")
            return None
        if self.ping_pong in ("always", "never"):
            return None
        alone = self._alone(function, loop)
        if isinstance(alone, str):
            if required:
                raise loop.error(f"cannot alternate tiles, for which ping-pong=tiles asks: {alone}")
            better, why = False, alone
        elif required:
            better, why = True, "as ping-pong=tiles says"
        else:
            better, why = self._is_better_in_turn(made, target, choice, alone, loop)
        if not better or isinstance(alone, str):
            text = f"the consumers do not take tiles in turn: {why}"
            context.missed(loop, text, "turns", "schedule", function=function)
            return None
        loop.attributes[CONSUMERS] = i32(IN_TURN)
        text = f"{IN_TURN} consumers take tiles in turn, so that the epilogue of one overlaps products: {why}"
        context.passed(loop, text, "turns", "schedule", function=function)
        return alone

    def _alone(self, function: nv_tileaa.Func, loop: scf.For) -> Choice | str:
        """The products of a kernel where each consumer has tiles of its own, or why none can."""
        warps = hint(function, "num_worker_warps_per_cta") or IN_TURN * WARPS_OF_WARPGROUP
        if (self.num_consumer_warpgroups * WARPS_OF_WARPGROUP or warps) != IN_TURN * WARPS_OF_WARPGROUP:
            return f"{IN_TURN} warpgroups take tiles in turn, and a hint or an option asks for another number"
        loop.attributes[CONSUMERS] = i32(IN_TURN)
        try:
            choice = choose(function)
        except Missed as refusal:
            return refusal.text(loop)
        finally:
            del loop.attributes[CONSUMERS]
        return why_not(loop, choice.products) or choice

    def _is_better_in_turn(
        self, made: _Made, target: Target, together: Choice, alone: Choice, loop: scf.For
    ) -> tuple[bool, str]:
        """Whether a tile takes less time if each consumer has tiles of its own, and why."""
        if together.groups != IN_TURN:
            return False, "with one warpgroup of consumers, the CTAs of a multiprocessor overlap"
        epilogue, loops = Epilogue.of(loop, target), _loops_with(alone)
        try:
            schedules = {inner: made.together(inner, target, alone) for inner in loops}
            intervals = {inner: self._interval(inner, made, target, together) for inner in loops}
        except SchedulingError as failure:
            return False, str(failure)
        needs = [
            (one.needed_registers, one.spare_registers)
            for one in schedules.values()
            if isinstance(one, AgentLoop)
        ]
        words = epilogue.bytes // (4 * 32 * WARPS_OF_WARPGROUP)
        for need, spare in (*needs, (words, alone.consumer_registers - EPILOGUE_REGISTERS)):
            if need > spare:
                return False, f"their tiles need {need} registers of a thread, of {spare}"
        known = all(inner.trip_count for inner in loops)
        found: list[str] = []
        for trips in (1,) if known else (1, MANY_TRIPS):
            main, before, busy = 0, 0, Counter[str]()
            for inner, one in schedules.items():
                count = inner.trip_count or trips
                main += count * one.schedule.interval
                before += count * intervals[inner]
                busy.update({name: count * cycles for name, cycles in busy_of(one.ops, one.costs).items()})
            price = price_in_turn(main, busy, epilogue, throughput(target).barrier_latency)
            other = before + epilogue.cycles
            tile = "a tile" if known else f"a tile of {trips} step{'s' * (trips > 1)}"
            if price >= other:
                return False, f"{tile} would take {price} cycles instead of {other}"
            found.append(f"{tile} takes {price} cycles instead of {other}")
        return True, found[0]

    def _interval(self, loop: scf.For, made: _Made, target: Target, choice: Choice) -> int:
        """Cycles of an iteration if the warpgroups run it together, or with turns in it."""
        together = made.together(loop, target, choice)
        if isinstance(together, AgentLoop) and together.may_take_turns:
            with suppress(SchedulingError):
                turned = made.in_turns(loop, target, choice)
                if turned.has_registers:
                    return min(together.schedule.interval, turned.price)
        return together.schedule.interval

    def _divides(self, function: Operation, made: _Made, target: Target, one: Choice, two: Choice) -> bool:
        """Whether each loop with products takes less time, if its warpgroups take turns, than with one warpgroup."""
        found = False
        for loop in innermost_loops(function):
            try:
                together = made.together(loop, target, one)
                if not isinstance(together, AgentLoop):
                    continue
            except SchedulingError:
                continue
            try:
                turned = made.in_turns(loop, target, two)
            except SchedulingError:
                return False
            if not turned.may_take_turns:
                return False
            if self.ping_pong == "auto" and not (turned.price < together.price and turned.has_registers):
                return False
            found = True
        return found

    def _tell_of_unfollowed_hints(
        self, function: Operation, choice: Choice | None, context: PassContext
    ) -> None:
        """Remarks on the loads whose latency the author hints at, and which no schedule starts."""
        loops = set(innermost_loops(function)) if choice is not None or not self.only_agents else set()
        for op in function.walk():
            if isinstance(op, nv_tileas.TiledLoad) and op.parent_op not in loops and hint(op, "latency"):
                why = "the hint latency is not followed: the load is not in a loop of asynchronous products"
                context.failed(op, why, "latency", "schedule", function=function)


class _Made:
    """The schedules of the loops of a kernel, by the numbers of consumer warpgroups and of consumers.  Each is computed
    once.

    Errors: SchedulingError if a loop has none.
    """

    def __init__(self, num_stages: int) -> None:
        self.num_stages = num_stages
        self._found: dict[tuple[scf.For, tuple[int, int], bool], ScheduledLoop] = {}

    def together(self, loop: scf.For, target: Target, choice: Choice | None) -> ScheduledLoop:
        """The schedule of a loop, with asynchronous products if it has any."""
        key = (loop, (0, 1) if choice is None else (choice.groups, choice.consumers), False)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._together(loop, target, choice)
        return found

    def _together(self, loop: scf.For, target: Target, choice: Choice | None) -> ScheduledLoop:
        inside = [] if choice is None else [p for p in choice.products if p.dot.parent is loop.body.entry]
        # 16-bit accumulators share registers, and a loop that carries them unpacks them: the wait follows immediately.
        if choice is not None and inside and all(element_bytes(p.dot.c.type.element) == 4 for p in inside):
            return AgentLoop(loop, target, choice, self.num_stages)
        return ScheduledLoop(loop, target, self.num_stages)

    def in_turns(self, loop: scf.For, target: Target, choice: Choice) -> AgentLoop:
        """The schedule of a loop whose warpgroups take turns."""
        key = (loop, (choice.groups, choice.consumers), True)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = AgentLoop(loop, target, choice, self.num_stages, choice.groups)
        assert isinstance(found, AgentLoop)
        return found


def _tell_of_hints(scheduled: ScheduledLoop, function: Operation, context: PassContext) -> None:
    """Remarks on the loads whose latency the author hints at."""
    for number, op in enumerate(scheduled.ops):
        latency, cycles = hint(op, "latency"), scheduled.data_after(number)
        if latency is not None and cycles is not None:
            context.passed(
                op,
                f"scheduled for data after {cycles} cycles, as the hint latency = {latency} says",
                "latency",
                "schedule",
                function=function,
            )


MANY_TRIPS = 64
"""Iterations of a loop with products where their number is not known: of few and of many, a tile must take less."""
EPILOGUE_REGISTERS = 24
"""Registers of a thread that hold no tiles while an epilogue loads one: addresses, mostly."""
NO_LOOP = "no loop over tiles has all products of the kernel, each in a loop in it"


def _loops_with(choice: Choice) -> list[scf.For]:
    """The innermost loops with asynchronous products of a kernel."""
    found = dict.fromkeys(product.dot.parent_op for product in choice.products)
    return [loop for loop in found if isinstance(loop, scf.For)]


def _multiplies(function: Operation) -> bool:
    return any(isinstance(op, nv_tileas.Dot) for op in function.walk())


def _why_no_turns(choice: Choice | None) -> str:
    """Why the consumer warpgroups of a kernel with products take no turns."""
    if choice is None:
        return "it has no consumer warpgroups"
    if choice.groups == 1:
        return "it has one consumer warpgroup, because a hint or an option says so, or its products cannot be divided"
    return "no innermost loop has only products that are asynchronous, of operands that no consumer computes"


def innermost_loops(function: Operation) -> list[scf.For]:
    """The counted loops that have a schedule."""
    return [op for op in function.walk() if isinstance(op, scf.For) and is_innermost(op)]
