"""The pipelines of a kernel with agents: which fillers share one, and how many stages each has."""

from __future__ import annotations

from collections import Counter

from tessera_tools.dialects import nv_tileaa
from tessera_tools.passes.tileas.agent_registers import exchanged_registers, registers_of_several
from tessera_tools.passes.tileas.agent_schedule import OTHER_REGISTERS
from tessera_tools.passes.tileas.box_stages import Pipeline
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.overlap import Schedules
from tessera_tools.passes.tileas.precision import sums_of
from tessera_tools.passes.tileas.products import FEWEST_STAGES, Choice, loops_around
from tessera_tools.passes.tileas.shared_stages import by_last_reader
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.target import FEWEST_REGISTERS, WARPS_OF_WARPGROUP, Target, max_registers_for

MOST_DEPTH = 5
"""Stages that a pipeline has, if they fit, even if its schedule needs fewer: L2 brings 5 of 16 KB to an SM in 1,900
cycles."""


class PipelinePlan:
    """The part of a kernel's conversion that divides shared memory and registers."""

    function: nv_tileaa.Func
    choice: Choice
    target: Target
    deepened: bool
    resident: int
    registers: tuple[int, int] | None
    hinted: int
    """CTAs on a multiprocessor for which the hint `occupancy` asks; 0 without one."""
    is_hinted: bool
    """Whether several CTAs share a multiprocessor because the hint says so."""
    not_followed: str
    """Why there are not as many as it says; "" if there are."""
    looped: list[Pipeline]
    """The pipelines that loops fill."""

    def group(self) -> list[Pipeline]:
        """Create the pipelines, with as many stages as fit."""
        found: list[Pipeline] = []
        for product in self.choice.products:
            converted = [load for load in product.loads if isinstance(load, ConvertedFill)]
            for made in converted:
                found += [Pipeline([load], product, True, 2, converted=True) for load in made.reads]
                found.append(Pipeline([made], product))
            others = [load for load in product.loads if load not in converted]
            inside = [load for load in others if load.load.parent is product.dot.parent]
            found += [Pipeline(together, product) for together in by_last_reader(product.dot, inside)]
            found += [Pipeline([load], product) for load in others if load not in inside]
            known = {load.load for pipeline in found for load in pipeline.loads}
            found += [Pipeline([load], product, True) for load in product.read if load.load not in known]
        found += [Pipeline([load], read=True) for load in self.choice.streams]
        looped = [p for p in found if loops_around(p.loads[0].load)]
        held = sum(p.bytes for p in found if p not in looped)
        held += sum(product.staged_bytes for product in self.choice.products)
        each = sum(p.bytes for p in looped)
        self.looped = looped
        self.schedules = Schedules.read(self.choice)
        # Without a schedule, a pipeline has as many stages as fit, but these at least.
        depths = {p: self.depth(p) or FEWEST_STAGES for p in looped}
        self.follow_hint(held + sum(depths[p] * p.bytes for p in looped))
        ctas = self.resident
        room = pipeline_room(self.target) - ctas * held
        stages = min(self.choice.stages, room // ctas // each) if each else 1
        if (
            ctas == 1
            and each
            and stages < FEWEST_STAGES
            and FEWEST_STAGES * each <= pipeline_room(self.target, at_most=True) - held
        ):
            room = FEWEST_STAGES * each
            stages = FEWEST_STAGES
        single = each > 0 and stages < FEWEST_STAGES and self.with_single_stages(looped, held)
        if not each and held > self.target.max_shared_per_block:
            raise Missed(
                found[0].user,
                f"has tiles of {held} bytes outside of loops, which do not fit in shared memory",
                "use smaller tiles",
            )
        if not single and (stages < 1 or (each and stages < FEWEST_STAGES)):
            several = f" with {ctas} CTAs, as the hint occupancy says" if ctas > 1 else ""
            raise Missed(
                found[0].user,
                f"has stages of {each} bytes; two of them do not fit in shared memory{several}",
                "use smaller tiles",
            )
        if single:
            return found
        self.room = room
        for pipeline in looped:
            pipeline.stages = stages
        depths = {p: self.depth(p) or p.stages for p in looped}
        if sum(depths[p] * p.bytes for p in looped) > room // ctas:
            self.schedules = Schedules()
        else:
            for pipeline in looped:
                pipeline.stages = depths[pipeline]
            self.share_registers(sum(p.stages * p.bytes for p in found))
            self.deepen(looped)
        return found

    def depth(self, pipeline: Pipeline) -> int | None:
        """The stages that a pipeline needs; None without a schedule."""
        return FEWEST_STAGES if pipeline.converted else self.schedules.depth(pipeline.loads, pipeline.user)

    def with_single_stages(self, looped: list[Pipeline], held: int) -> bool:
        """Give each pipeline of a loop one stage, and a second to as many as fit: first to those of innermost loops, in
        the order of their use.  False if one of each does not fit, or if a loop of products waits for a single one.

        A single stage is loaded while the threads compute, or while products take others.
        """
        room = pipeline_room(self.target, at_most=True) - held
        left = room - sum(p.bytes for p in looped)
        if left < 0 or self.resident > 1 or not self.choice.products or self.choice.converter is not None:
            return False
        inside = [p for p in looped if p.block is p.user.parent]
        for pipeline in (*inside, *(p for p in looped if p not in inside)):
            pipeline.stages = 1 + (pipeline.bytes <= left)
            left -= (pipeline.stages - 1) * pipeline.bytes
        count = Counter(pipeline.block for pipeline in inside)
        if any(p.stages == 1 and count[p.block] == 1 for p in inside):
            return False
        self.room, self.schedules = room, Schedules()
        return True

    def follow_hint(self, needed: int) -> None:
        """Divide the registers among as many CTAs as the hint asks for, or as fit with `needed` bytes of shared memory
        each."""
        if not self.choice.products:
            self.follow_hint_without_products()
            return
        columns = self.choice.columns()
        for ctas in range(self.hinted, 1, -1):
            room = pipeline_room(self.target) // ctas
            if self.choice.has_other_agents:
                why = "agents beside its consumer compute, and need the registers of a multiprocessor"
            elif ctas * columns > self.target.tmem_columns:
                why = f"its tiles take {columns} of {self.target.tmem_columns} columns of tensor memory"
            elif needed > room:
                why = f"its pipelines take {needed} bytes of shared memory, and a CTA would have {room}"
            elif (registers := self.registers_of_hint(ctas)) is None:
                why = "a thread of its consumer needs more registers than it would have"
            else:
                self.resident, self.registers, self.is_hinted = ctas, registers, True
                return
            self.not_followed = self.not_followed or why

    def follow_hint_without_products(self) -> None:
        """Follow the hint beside a producer, which has registers of the same limit."""
        spec = self.function.kernel_spec
        assert spec is not None
        threads = 32 * (spec.num_warps + WARPS_OF_WARPGROUP)
        if self.hinted > 1:
            if max_registers_for(self.target, threads=threads, blocks=self.hinted) < FEWEST_REGISTERS:
                raise Missed(
                    self.function,
                    f"would have fewer than {FEWEST_REGISTERS} registers for each thread with {self.hinted} CTAs, as "
                    "the hint occupancy says",
                    "remove the hint",
                )
            self.resident, self.is_hinted = self.hinted, True

    def registers_of_hint(self, ctas: int) -> tuple[int, int] | None:
        """Registers of the threads of the producer and of the consumer for so many CTAs; None if the consumer needs
        more."""
        sums = [sums_of(p.dot, self.choice.groups, p.sliced) for p in self.choice.products]
        least = self.schedules.registers or sum(sums) + OTHER_REGISTERS
        groups = self.choice.groups * self.choice.consumers
        return exchanged_registers(groups, least, self.target, ctas, max(sums))

    def share_registers(self, needed: int) -> None:
        """Divide the registers among as many CTAs as fit with `needed` bytes of shared memory each."""
        if self.hinted > 1:
            return
        least, products = self.schedules.registers, self.choice.products
        alone = self.choice.consumers == 1 and not self.choice.by_threads and not self.choice.converter
        if least and alone and all(self.schedules.has(p.dot) for p in products):
            most = 1 if self.hinted == 1 else self.room // needed
            self.resident, registers = registers_of_several(self.choice.groups, least, self.target, most)
            self.registers = registers or self.registers

    def deepen(self, looped: list[Pipeline]) -> None:
        """Give the pipelines of loops with schedules more stages, as long as no CTA fewer runs on a multiprocessor.

        The producer fills them while the consumer does what is between its loops, and where other CTAs keep memory
        busy, so that a load takes longer than the latency of the schedule.
        """
        needed = sum(p.stages * p.bytes for p in looped)
        if not self.schedules.products or not needed:
            return
        # Several warpgroups of consumers have all registers of a multiprocessor.
        several = self.resident > 1 or self.choice.groups * self.choice.consumers > 1
        ctas = self.resident if several or self.hinted == 1 else max(1, self.room // needed)
        most = self.schedules.most or MOST_DEPTH
        while True:
            more = [p for p in looped if p.stages < most and not p.converted]
            needed += sum(p.bytes for p in more)
            if not more or needed > self.room // ctas:
                return
            for pipeline in more:
                pipeline.stages += 1
                self.deepened = True
