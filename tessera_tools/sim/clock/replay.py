"""The replay of a trace: a discrete-event model of the SMs that run it.

    traces, costs, table ──replay()──▶ Timeline(cycles, stalls of each warp, busy units, bytes)

Each warp issues its steps in order. A step waits for its registers, then for its scheduler, then for its units.  An SM
has four partitions, each with a scheduler and units of its own; its shared memory, its TMA unit and its loads are ports
that serve one request after the other.  L2 and DRAM are shared by all SMs.  A CTA starts as soon as an SM has room.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence

from tessera_tools.diagnostics import error
from tessera_tools.sim.clock.cost import Cost, Register
from tessera_tools.sim.clock.record import Phase, Step, Trace, Umma, arrivals
from tessera_tools.sim.clock.timeline import Slice, Timeline, WarpTime
from tessera_tools.sim.clock.units import SECTOR, Cache, Partition, Port, Sm
from tessera_tools.target.timing import Timing

__all__ = ["replay"]

_MOST_SLICES = 200_000
"""Slices that a timeline keeps."""

_POLLING = {"phase.wait", "load.global", "atomic"}
"""Kinds of instructions that wait for a phase."""


class _Warp:
    __slots__ = (
        "bulk", "bulk_groups", "copies", "copy_groups", "cta", "index", "lane", "parked_at", "partition", "products",
        "product_groups", "registers", "sm", "steps", "tags", "tensor_lane", "time", "tmem",
    )  # fmt: skip

    def __init__(
        self, trace: Trace, sm: Sm, partition: Partition, time: WarpTime, steps: list[tuple[int, Step]]
    ) -> None:
        self.cta = trace.cta
        self.lane = f"warp {trace.warp}"
        self.tensor_lane = f"tensor {sm.partitions.index(partition)}"
        self.steps = steps
        self.index = 0
        self.sm = sm
        self.partition = partition
        self.time = time
        self.registers: dict[Register, float] = {}
        self.tags: dict[Register, str] = {}
        self.parked_at = 0.0
        self.copies = self.products = self.bulk = 0.0
        self.copy_groups: list[float] = []
        self.product_groups: list[float] = []
        self.bulk_groups: list[float] = []
        self.tmem: list[float] = []


class _Replay:
    def __init__(
        self,
        traces: Sequence[Trace],
        costs: Mapping[int, Cost],
        table: Timing,
        resident: int,
        l1_bytes: float,
        share: float,
    ) -> None:
        self.table = table
        self.costs = costs
        self.value = {name: number.value for name, number in table.numbers.items()}
        self.sms = [Sm(table, resident, l1_bytes) for _ in range(max(1, round(self.value["sms"] * share)))]
        self.l2 = Port(self.value["l2_chip_rate"] * share)
        self.dram = Port(self.value["dram_chip_gbs"] * 1e3 / self.value["clock_mhz"] * share)
        self.moved = [0.0, 0.0]
        """Bytes read from DRAM, and written."""
        self.held = Cache(self.value["l2_bytes"] * share)
        self.result = Timeline(resident=resident)
        self.left = arrivals(list(traces))
        self.latest: dict[Phase, float] = {}
        self.done: dict[Phase, float] = {}
        self.parked: dict[Phase, list[_Warp]] = {}
        self.arrived: dict[int, float] = {}
        """By id of a warp that waits at a barrier: since when."""
        self.heap: list[tuple[float, int, _Warp]] = []
        self.number = 0
        clusters: dict[int, dict[int, list[Trace]]] = {}
        for trace in traces:
            clusters.setdefault(trace.cluster, {}).setdefault(trace.cta, []).append(trace)
        self.waiting = deque(clusters[number] for number in sorted(clusters))
        count = sum(len(cluster) for cluster in self.waiting)
        self.result.waves = count / max(1, len(self.sms) * resident)
        self.open: dict[tuple[int, str], Slice] = {}
        """By CTA and lane: the last slice, which another may extend."""
        self.filled = self.stages(traces)
        self.running: Counter[int] = Counter()
        """Warps of each CTA that have not ended."""
        self.home: dict[int, Sm] = {}

    # -- the picture

    def show(self, sm: Sm, cta: int, lane: str, name: str, begin: float, end: float) -> None:
        """Add a slice of the first SM; one that continues the last one of its lane extends it."""
        if sm is not self.sms[0] or end <= begin:
            return
        before = self.open.get((cta, lane))
        if before is not None and before.name == name and begin <= before.end + 1:
            self.open[cta, lane] = before._replace(end=max(before.end, end))
            return
        if before is not None:
            self.keep(before)
        self.open[cta, lane] = Slice(cta, lane, name, begin, end)

    def keep(self, one: Slice) -> None:
        if len(self.result.slices) < _MOST_SLICES:
            self.result.slices.append(one)
        else:
            self.result.cut = True

    def wait(self, warp: _Warp, name: str, begin: float, end: float) -> None:
        """Account for a stall of a warp."""
        warp.time.stalls[name] += end - begin
        self.show(warp.sm, warp.cta, warp.lane, name, begin, end)

    def stages(self, traces: Sequence[Trace]) -> set[tuple[int, int]]:
        """The mbarriers that copies signal when they have filled a stage, by CTA and shared byte."""
        amounts: dict[Phase, int] = defaultdict(int)
        for trace in traces:
            for step in trace.steps:
                self.result.copies |= self.costs[step.pc].kind in ("copy", "bulk")
                if step.arrives and self.costs[step.pc].kind in ("bulk", "copy.arrive"):
                    for phase in step.arrives:
                        amounts[phase] += step.bytes // len(step.arrives)
        places = {(phase[1], phase[2]) for phase in amounts}
        if places:
            first = min(places)[0]
            self.result.stages = sum(cta == first for cta, _ in places)
            self.result.stage_bytes = sum(amounts.values()) / len(amounts)
        return places

    # -- CTAs

    def start(self, at: float) -> None:
        """Start clusters, in order, while there is room."""
        while self.waiting:
            cluster = self.waiting[0]
            free = sorted((sm for sm in self.sms if sm.room), key=lambda sm: -sm.room)
            if sum(sm.room for sm in free) < len(cluster):
                return
            self.waiting.popleft()
            for number, warps in sorted(cluster.items()):
                sm = max(free, key=lambda one: one.room)
                sm.room -= 1
                self.home[number] = sm
                self.running[number] = len(warps)
                for trace in sorted(warps, key=lambda one: one.warp):
                    self.begin(trace, sm, at)

    def begin(self, trace: Trace, sm: Sm, at: float) -> None:
        steps = self.ordered(trace)
        kinds = {self.costs[pc].kind for pc, _ in steps}
        role = "consumer" if kinds & {"wgmma", "umma"} else "producer" if "bulk" in kinds else "warps"
        time = WarpTime(trace.cta, trace.warp, role, at)
        self.result.warps.append(time)
        partition = sm.partitions[sm.warps % len(sm.partitions)]
        sm.warps += 1
        self.push(at, _Warp(trace, sm, partition, time, steps))

    def ordered(self, trace: Trace) -> list[tuple[int, Step]]:
        """The trace's steps, those of a basic block in the order that ptxas has given them."""
        steps: list[tuple[int, Step]] = []
        block: list[tuple[int, Step]] = []
        for step in trace.steps:
            for pc in range(step.pc, step.pc + step.count):
                if block and pc != block[-1][0] + 1:
                    steps += sorted(block, key=lambda one: self.costs[one[0]].place)
                    block = []
                block.append((pc, step))
        return steps + sorted(block, key=lambda one: self.costs[one[0]].place)

    def push(self, at: float, warp: _Warp) -> None:
        self.number += 1
        heapq.heappush(self.heap, (at, self.number, warp))

    def end(self, warp: _Warp, at: float) -> None:
        warp.time.end = at
        self.result.cycles = max(self.result.cycles, at)
        self.running[warp.cta] -= 1
        if not self.running[warp.cta]:
            self.home[warp.cta].room += 1
            self.start(at + self.value["cta_launch"])

    # -- phases

    def signal(self, phase: Phase, at: float) -> None:
        """One of the signals of a phase; the last one wakes those who wait."""
        self.latest[phase] = max(self.latest.get(phase, 0.0), at)
        self.left[phase] -= 1
        if not self.left[phase]:
            self.done[phase] = over = self.latest.pop(phase)
            home = self.home.get(phase[1])
            if home is not None:
                name = (
                    "full" if phase[1:3] in self.filled else "empty" if phase[0] == "mbarrier" else "barrier"
                )
                self.show(home, phase[1], "barriers", f"{name} {phase[2]}", over, over + 1)
            for warp in self.parked.pop(phase, ()):
                since = self.arrived.pop(id(warp), None)
                if since is not None:
                    over = max(self.done[phase], since)
                    self.wait(warp, "barrier", since, over)
                    self.push(over, warp)
                else:
                    self.push(warp.parked_at, warp)

    # -- memory

    def fetch(self, sm: Sm, sectors: Sequence[int], at: float, fresh: float, *, cached: bool) -> float:
        """When the last of the sectors is there."""
        value = self.value
        missing = sm.l1.misses(sectors) if cached else list(sectors)
        if not missing:
            return at + value["l1_latency"]
        absent = self.held.misses(missing)
        self.result.l2_bytes += SECTOR * len(missing)
        last = self.l2.take(at, SECTOR * len(missing)) + value["l2_latency"]
        if absent:
            # Who fetches what another SM fetches at the same time waits as long.
            amount = SECTOR * len(absent) * fresh
            last = max(last, self.transfer(at, amount, written=False) + value["dram_latency"])
        return last

    def transfer(self, at: float, amount: float, *, written: bool) -> float:
        """When DRAM has read or written an amount. It turns around between reads and writes, which takes time for
        each pair of bytes read and written."""
        before = min(self.moved)
        self.moved[written] += amount
        self.result.dram_bytes += amount
        return self.dram.take(at, amount + self.value["dram_turnaround"] * (min(self.moved) - before))

    def write(self, sectors: Sequence[int], at: float) -> float:
        self.held.misses(sectors)
        self.result.l2_bytes += SECTOR * len(sectors)
        self.transfer(at, SECTOR * len(sectors), written=True)
        return self.l2.take(at, SECTOR * len(sectors))

    # -- warps

    def run(self) -> Timeline:
        self.start(0.0)
        heap = self.heap
        while heap:
            at, _, warp = heapq.heappop(heap)
            limit = heap[0][0] if heap else float("inf")
            while True:
                if warp.index == len(warp.steps):
                    self.end(warp, at)
                    break
                following = self.step(warp, at)
                if following is None:
                    break
                at = following
                if at > limit:
                    self.push(at, warp)
                    break
        if self.waiting or self.parked:
            raise error(
                None,
                "the clock cannot time this launch: a warp waits for a barrier that no other warp signals",
                "kernels whose CTAs wait for each other are not supported",
            )
        result = self.result
        for one in self.open.values():
            self.keep(one)
        # What was written last is still on its way when the last warp ends.
        result.cycles = result.simulated = max(result.cycles, self.l2.free, self.dram.free)
        for sm in self.sms:
            if sm.warps:
                result.sms += 1
            result.busy["shared"] += sm.shared.busy
            for partition in sm.partitions:
                result.busy["issue"] += partition.issued
                result.busy["tensor"] += partition.tensor.busy
                for name, port in partition.units.items():
                    result.busy[name] += port.busy
        result.busy["l2"], result.busy["dram"] = self.l2.busy, self.dram.busy
        return result

    def step(self, warp: _Warp, at: float) -> float | None:
        """Issue the next step at `at` or later; when the warp can go on, or None if it is parked."""
        pc, step = warp.steps[warp.index]
        cost = self.costs[pc]
        first = step.pc == pc
        registers = warp.registers
        ready, tag = at, ""
        for register in cost.reads:
            known = registers.get(register, 0.0)
            if known > ready:
                ready, tag = known, warp.tags[register]
        kind = cost.kind
        if not cost.slots and kind == "plain":
            for register in cost.writes:
                registers[register], warp.tags[register] = ready, tag or "arithmetic"
            warp.index += 1
            return at
        if kind.endswith("wait") and kind != "phase.wait":
            groups, name = {
                "wgmma.wait": (warp.product_groups, "tensor"),
                "copy.wait": (warp.copy_groups, "memory"),
                "bulk.wait": (warp.bulk_groups, "bulk store"),
                "tmem.wait": (warp.tmem, "tensor memory"),
            }[kind]
            due = groups[: max(0, len(groups) - cost.group)]
            if due and max(due) > ready:
                ready, tag = max(due), name
        phase = step.waits if first else None
        if phase is not None and kind in _POLLING:
            if phase[3] >= 0 and self.left.get(phase, 0) > 0:
                self.parked.setdefault(phase, []).append(warp)
                warp.parked_at = at
                return None
            over = self.done.get(phase, 0.0)
            if over > ready:
                ready, tag = (
                    over,
                    "flag" if phase[0] == "write" else "full" if phase[1:3] in self.filled else "empty",
                )
        partition = warp.partition
        begin = ready
        if partition.free > begin:
            begin, tag = partition.free, "issue"
        for name, _ in cost.units:
            port = partition.units.get(name)
            if port is None:
                port = partition.units[name] = Port(1.0)
            if port.free > begin:
                begin, tag = port.free, name
        if begin > at:
            # The scheduler may issue another warp meanwhile.
            self.wait(warp, tag, at, begin)
            return begin
        for name, cycles in cost.units:
            partition.units[name].take(begin, cycles)
        partition.free = begin + cost.slots
        partition.issued += cost.slots
        warp.time.issued += cost.slots
        following = begin + cost.slots
        self.show(warp.sm, warp.cta, warp.lane, "issue", begin, following)
        warp.index += 1
        done, tag = begin + cost.latency, "arithmetic"
        if kind != "plain":
            done, tag, following = self.special(warp, cost, step if first else None, begin, following)
        for register in cost.writes:
            registers[register], warp.tags[register] = done, tag
        return following

    def special(
        self, warp: _Warp, cost: Cost, step: Step | None, at: float, following: float
    ) -> tuple[float, str, float | None]:
        """Memory, tensor cores and synchronization: when the result is available, its kind, when the warp continues."""
        value, sm, kind = self.value, warp.sm, cost.kind
        sectors: Sequence[int] = ()
        if step is not None and step.sectors is not None:
            sectors = step.sectors.tolist()
        fresh = step.fresh if step is not None else 1.0
        waves = step.wavefronts if step is not None else 0
        if kind == "mma":
            done = warp.partition.tensor.take(at, cost.tensor)
            self.show(sm, warp.cta, warp.tensor_lane, "mma", done - cost.tensor, done)
            # The warp can run ahead of the tensor core by one product.
            begin = done - cost.tensor
            if begin > following:
                self.wait(warp, "tensor", following, begin)
            return done + value["mma_latency"], "tensor", max(following, begin)
        if kind == "wgmma":
            fed = sm.shared.take(at, cost.feed)
            done = max(warp.partition.tensor.take(at, cost.tensor), fed)
            self.show(sm, warp.cta, warp.tensor_lane, "wgmma", done - cost.tensor, done)
            warp.products = max(warp.products, done + value["wgmma_drain"])
            return done, "tensor", following
        if kind == "wgmma.commit":
            warp.product_groups.append(warp.products)
        elif kind == "umma":
            if step is not None and step.product is not None:
                self.umma(warp, step.product, at)
        elif kind == "umma.commit":
            for phase in step.arrives if step is not None else ():
                self.signal(phase, max(at, warp.products))
        elif kind in ("tmem.load", "tmem.store"):
            amount = step.bytes if step is not None else 0
            done = sm.tmem.take(at, amount / value["tmem_read" if kind == "tmem.load" else "tmem_write"])
            done += value["tmem_load_latency"]
            warp.tmem[:] = [max([done, *warp.tmem])]
            return done, "tensor memory", following
        elif kind == "cancel":
            for phase in step.arrives if step is not None else ():
                self.signal(phase, at + value["l2_latency"])
        elif kind == "load.shared":
            return (
                sm.shared.take(at, value["shared_bytes"] * max(waves, 1)) + value["shared_latency"],
                "shared",
                following,
            )
        elif kind == "store.shared":
            sm.shared.take(at, value["shared_bytes"] * max(waves, 1))
        elif kind == "load.global":
            return self.fetch(sm, sectors, at, fresh, cached=True), "memory", following
        elif kind == "store.global":
            self.publish(step, self.write(sectors, at))
        elif kind == "atomic":
            self.publish(step, at)
            return self.write(sectors, at) + value["atomic_latency"], "atomic", following
        elif kind == "copy":
            there = self.fetch(sm, sectors, at, fresh, cached=False) if sectors else at
            # The port is charged now: it serves others until the data arrives.
            written = sm.shared.take(at, value["shared_bytes"] * max(waves, 1)) - at
            warp.copies = max(warp.copies, there + written + value["cp_async_latency"])
        elif kind == "copy.commit":
            warp.copy_groups.append(warp.copies)
        elif kind == "bulk":
            self.bulk(warp, step, sectors, at)
        elif kind == "bulk.commit":
            warp.bulk_groups.append(warp.bulk)
        elif kind == "fence":
            done = at + value["fence_latency"]
            if done > following:
                self.wait(warp, "fence", following, done)
                following = done
        elif kind in ("phase.arrive", "copy.arrive"):
            when = max(at, warp.copies) if kind == "copy.arrive" else at
            for phase in step.arrives if step is not None else ():
                # At the barrier of another CTA of the cluster, the arrival is half of a round trip later.
                way = value["dsmem_latency"] / 2 if phase[1] != warp.cta else 0.0
                self.signal(phase, when + value["mbarrier_arrive"] + way)
            return at + value["mbarrier_arrive"], "mbarrier", following
        elif kind == "phase.wait":
            return at + value["mbarrier_wait"], "mbarrier", following
        elif kind in ("cluster.arrive", "cluster.relaxed"):
            takes = value["cluster_barrier" if kind == "cluster.arrive" else "cluster_barrier_relaxed"]
            for phase in step.arrives if step is not None else ():
                self.signal(phase, at + takes)
        elif kind == "cluster.meet" and step is not None and step.waits is not None:
            return self.meet(warp, step.waits, following)
        elif kind == "barrier" and step is not None:
            for phase in step.arrives:
                self.signal(phase, at + value["barrier_latency"])
            if step.waits is not None:
                return self.meet(warp, step.waits, following)
        return at + cost.latency, "arithmetic", following

    def publish(self, step: Step | None, at: float) -> None:
        """A write that other warps poll is in L2."""
        for phase in step.arrives if step is not None else ():
            self.signal(phase, at + self.value["l2_latency"] / 2)

    def meet(self, warp: _Warp, phase: Phase, at: float) -> tuple[float, str, float | None]:
        """A barrier: the warp continues after the last arrival."""
        over = self.done.get(phase)
        if over is None:
            self.parked.setdefault(phase, []).append(warp)
            self.arrived[id(warp)] = at
            return at, "barrier", None
        over = max(over, at)
        self.wait(warp, "barrier", at, over)
        return over, "barrier", over

    def umma(self, warp: _Warp, product: Umma, at: float) -> None:
        """A tcgen05.mma by the tensor cores of the SMs of its CTAs, which begin and end together."""
        value = self.value
        cycles = product.work / value["tensor_f16"]
        homes = [self.home.get(cta, warp.sm) for cta in product.ctas]
        begin = done = max(at, *(one.tensor.free for sm in homes for one in sm.partitions))
        for sm, cta in zip(homes, product.ctas, strict=True):
            fed = sm.shared.take(begin, product.feed)
            done = max(done, fed, *(partition.tensor.take(begin, cycles) for partition in sm.partitions))
            self.show(sm, cta, "tensor", "tcgen05.mma", begin, begin + cycles)
        for sm in homes:
            for partition in sm.partitions:
                partition.tensor.free = done
        latency = "umma_latency_tmem" if product.in_tensor_memory else "umma_latency"
        if len(homes) > 1:
            latency = "umma_pair_latency"
        # The wait for its mbarrier is counted where a warp waits.
        warp.products = max(warp.products, done + value[latency] - value["mbarrier_wait"])

    def bulk(self, warp: _Warp, step: Step | None, sectors: Sequence[int], at: float) -> None:
        """A copy of the TMA unit."""
        value, sm = self.value, warp.sm
        begin = sm.bulk.take(at, value["tma_issue"])
        arrives = step.arrives if step is not None else ()
        if arrives:
            fresh = step.fresh if step is not None else 1.0
            there = self.fetch(sm, sectors, begin, fresh, cached=False) if sectors else begin
            size = step.bytes / len(arrives) if step is not None else 0.0
            targets = (step.targets if step is not None else ()) or [phase[1] for phase in arrives]
            for phase, cta in zip(arrives, targets, strict=True):
                # A multicast writes the shared memory of each CTA that it reaches.
                target = self.home.get(cta, sm)
                # What arrives is written while the rest is on its way.
                done = max(there, target.shared.write(at, size)) + value["tma_latency"]
                self.show(target, cta, "TMA", f"load {size:,.0f} bytes", begin, done)
                self.signal(phase, done)
        else:
            size = step.bytes if step is not None else 0
            read = begin + sm.shared.write(at, size) - at
            self.write(sectors, read)
            self.show(sm, warp.cta, "TMA", f"store {size:,} bytes", begin, read + value["tma_latency"])
            warp.bulk = max(warp.bulk, read + value["tma_latency"])


def replay(
    traces: Sequence[Trace],
    costs: Mapping[int, Cost],
    table: Timing,
    *,
    resident: int,
    l1_bytes: float,
    share: float = 1.0,
) -> Timeline:
    """The time of a launch.

    Raises DiagnosticError for traces that wait for each other in a circle.

    resident: CTAs that fit on an SM. l1_bytes: of L1 beside its shared memory.
    share: the part of the GPU that is replayed, with that part of L2 and DRAM.
    """
    return _Replay(traces, costs, table, resident, l1_bytes, share).run()
