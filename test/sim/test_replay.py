"""The replay of traces that are written by hand: what each kind of instruction takes, by the numbers of the table.

    warp(op("load.shared", writes=R), op(reads=R)) ──replay──▶ cycles = 1 + 29 + 1

An operation issues for one cycle; what depends on it issues when its result is there.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tessera_tools.sim.clock.cost import Cost, Register
from tessera_tools.sim.clock.record import Phase, Step, Trace, Umma
from tessera_tools.sim.clock.replay import replay
from tessera_tools.sim.clock.timeline import Timeline
from tessera_tools.target import lookup
from tessera_tools.target.timing import Number, Timing, timing

R: Register = (32, 0)
S: Register = (32, 1)


def table(**changed: float) -> Timing:
    """A GPU with all units: that of sm_90, and tensor memory as of sm_100."""
    hopper, blackwell = timing(lookup("sm_90")), timing(lookup("sm_100"))
    assert hopper is not None
    assert blackwell is not None
    numbers = {**blackwell.numbers, **hopper.numbers}
    return replace(
        hopper, numbers={**numbers, **{name: Number(value, "test") for name, value in changed.items()}}
    )


VALUES: Mapping[str, float] = {name: number.value for name, number in table().numbers.items()}


@dataclass(frozen=True)
class Op:
    """An instruction, and what one execution of it does."""

    cost: Cost
    step: Mapping[str, Any]


def op(
    kind: str = "plain",
    *,
    slots: float = 1,
    units: Mapping[str, float] | None = None,
    latency: float = 4,
    reads: Register | None = None,
    writes: Register | None = None,
    tensor: float = 0,
    feed: float = 0,
    group: int = 0,
    place: float = 0,
    **step: Any,
) -> Op:
    registers = [(one,) if one is not None else () for one in (reads, writes)]
    units = units or {}
    return Op(Cost(slots, (*units.items(),), latency, kind, *registers, tensor, feed, group, place), step)


def run(*warps: list[Op], ctas: list[int] | None = None, resident: int = 1, **changed: float) -> Timeline:
    """Replay warps of one CTA, or of a cluster with these `ctas`, on a GPU with some other numbers."""
    costs: dict[int, Cost] = {}
    traces: list[Trace] = []
    for number, ops in enumerate(warps):
        cta = ctas[number] if ctas is not None else 0
        trace = Trace(cta, 0, number)
        traces.append(trace)
        for one in ops:
            # No two neighbors are of one basic block, within which ptxas may have changed the order.
            pc = 2 * len(costs)
            costs[pc] = one.cost
            step = Step(pc)
            for name, value in one.step.items():
                setattr(step, name, np.array(value, np.uint64) if name == "sectors" else value)
            trace.steps.append(step)
    return replay(traces, costs, table(**changed), resident=resident, l1_bytes=65536)


def phase(cta: int = 0, place: int = 0, number: int = 0, kind: str = "mbarrier") -> Phase:
    return kind, cta, place, number


SECTORS = range(100, 116)
MOVED = 32 * len(SECTORS)
DRAM = VALUES["dram_chip_gbs"] * 1e3 / VALUES["clock_mhz"]
"""Bytes a cycle."""


@pytest.mark.parametrize(
    ("kind", "options", "takes", "stall"),
    [
        ("plain", {"latency": 9}, lambda t: 9, ""),
        ("load.shared", {"wavefronts": 4}, lambda t: 4 + t["shared_latency"], "shared"),
        ("load.shared", {"wavefronts": 0}, lambda t: 1 + t["shared_latency"], "shared"),
        (
            "load.global",
            {"sectors": SECTORS},
            lambda t: max(
                MOVED / t["l2_chip_rate"] + t["l2_latency"], MOVED / DRAM + t["dram_latency"]
            ),
            "memory",
        ),
        (
            "load.global",
            {"sectors": SECTORS, "fresh": 0.0},
            lambda t: max(MOVED / t["l2_chip_rate"] + t["l2_latency"], t["dram_latency"]),
            "memory",
        ),
        ("load.global", {"sectors": []}, lambda t: t["l1_latency"], "memory"),
        (
            "atomic",
            {"sectors": SECTORS},
            lambda t: MOVED / t["l2_chip_rate"] + t["atomic_latency"],
            "atomic",
        ),
        ("tmem.load", {"bytes": 8192}, lambda t: 8192 / t["tmem_read"] + t["tmem_load_latency"], "tensor memory"),
        ("tmem.store", {"bytes": 8192}, lambda t: 8192 / t["tmem_write"] + t["tmem_load_latency"], "tensor memory"),
        ("mma", {"tensor": 50}, lambda t: 50 + t["mma_latency"], "tensor"),
        ("wgmma", {"tensor": 50, "feed": 128 * 20}, lambda t: 50, "tensor"),
        ("wgmma", {"tensor": 50, "feed": 128 * 80}, lambda t: 80, "tensor"),
        ("phase.wait", {}, lambda t: t["mbarrier_wait"], "mbarrier"),
        ("phase.arrive", {}, lambda t: t["mbarrier_arrive"], "mbarrier"),
    ],
)  # fmt: skip
def test_a_result_is_there_after_its_latency(kind: str, options: Any, takes: Any, stall: str) -> None:
    """The warp waits for it, but for the cycle in which it issues."""
    found = run([op(kind, writes=R, **options), op(reads=R)])
    cycles = takes(VALUES)
    (warp,) = found.warps
    assert warp.end == pytest.approx(cycles + 1)
    assert warp.stalls == {stall or "arithmetic": pytest.approx(cycles - 1)}


DRAIN = VALUES["wgmma_drain"]
COPIED = 8 + VALUES["cp_async_latency"]
"""Eight wavefronts, of a copy without global memory."""
STORED = VALUES["tma_issue"] + 1 + VALUES["tma_latency"]
"""One cycle of the port of shared memory."""


@pytest.mark.parametrize(
    ("kind", "options", "wait", "ends", "stall"),
    [
        # Products follow each other on the tensor cores; copies do on the port of shared memory.
        ("wgmma", {"tensor": 100}, "wgmma", (100 + DRAIN, 200 + DRAIN), "tensor"),
        ("copy", {"wavefronts": 8}, "copy", (COPIED, COPIED + 8), "memory"),
        ("bulk", {"bytes": 128}, "bulk", (STORED, STORED + VALUES["tma_issue"]), "bulk store"),
    ],
)
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_wait_for_groups_leaves_the_last_ones(
    kind: str, options: Any, wait: str, ends: tuple[float, float], stall: str, left: int
) -> None:
    pair = [op(kind, **options), op(f"{wait}.commit")]
    (warp,) = run([*pair, *pair, op(f"{wait}.wait", group=left)]).warps
    over = max(4.0, (ends[1], ends[0], 0)[left])
    assert warp.end == pytest.approx(over + 1)
    assert warp.stalls == ({stall: pytest.approx(over - 4)} if left < 2 else {})


def test_the_wait_for_tensor_memory_is_for_all_loads_and_stores() -> None:
    (warp,) = run([op("tmem.store", bytes=1024 * 50), op("tmem.load"), op("tmem.wait")]).warps
    assert warp.end == 50 + VALUES["tmem_load_latency"] + 1
    assert warp.stalls == {"tensor memory": warp.end - 3}


def test_a_warp_is_one_product_ahead_of_the_tensor_core() -> None:
    """Five products of 32 cycles: the last one issues when the one before it begins to execute."""
    product = op("mma", tensor=32)
    found = run([product] * 5)
    assert found.warps[0].end == 4 * 32
    assert found.busy["tensor"] == 5 * 32
    assert found.warps[0].stalls == {"tensor": 4 * 32 - 5}


@pytest.mark.parametrize("kind", ["barrier", "cluster.arrive", "cluster.relaxed"])
def test_a_barrier_lasts_until_the_last_arrival(kind: str) -> None:
    """One warp arrives after 100 cycles; one meets the others before the last arrival, one after it."""
    takes = VALUES[
        {"barrier": "barrier_latency", "cluster.arrive": "cluster_barrier"}.get(
            kind, "cluster_barrier_relaxed"
        )
    ]
    meets = phase(kind="barrier" if kind == "barrier" else "cluster")
    arrive = [op(kind, arrives=(meets,))]
    meet = [op("barrier" if kind == "barrier" else "cluster.meet", waits=meets)]
    found = run([*arrive, *meet], [op(slots=100), *arrive, *meet], [*arrive, op(slots=1000), *meet])
    early, last, late = found.warps
    assert early.end == last.end == 100 + takes
    assert early.stalls == {"barrier": 100 + takes - 2}
    assert last.stalls == {"barrier": takes - 2}
    assert late.end == 1002
    assert not any(late.stalls.values())


def test_a_fence_keeps_its_warp() -> None:
    (warp,) = run([op("fence"), op()]).warps
    assert warp.end == VALUES["fence_latency"] + 1
    assert warp.stalls == {"fence": VALUES["fence_latency"] - 1}


@pytest.mark.parametrize(("cta", "way"), [(0, 0), (1, VALUES["dsmem_latency"] / 2)])
def test_an_arrival_takes_longer_to_another_cta(cta: int, way: float) -> None:
    full = phase(cta)
    found = run(
        [op("phase.arrive", arrives=(full,))],
        [op("phase.wait", waits=full, writes=R), op(reads=R)],
        ctas=[0, cta],
    )
    there = VALUES["mbarrier_arrive"] + way
    assert found.warps[1].end == there + VALUES["mbarrier_wait"] + 1
    assert found.warps[1].stalls == {"empty": there, "mbarrier": VALUES["mbarrier_wait"] - 1}


def test_an_arrival_of_copies_is_behind_them() -> None:
    full = phase()
    fill = [op("copy", wavefronts=8), op("copy.arrive", arrives=(full,))]
    found = run(fill, [op("phase.wait", waits=full)])
    there = COPIED + VALUES["mbarrier_arrive"]
    assert found.warps[1].stalls == {"full": there}
    assert (found.copies, found.stages) == (True, 1)


def test_the_commit_of_products_by_tensor_memory_signals_when_they_are_done() -> None:
    """64 cycles of the tensor cores; operands of 100 cycles of shared memory."""
    full = phase()
    product = op("umma", product=Umma(64 * VALUES["tensor_f16"], 12800, (0,), in_tensor_memory=False))
    found = run(
        [product, op("umma.commit", arrives=(full,))], [op("phase.wait", waits=full, writes=R), op(reads=R)]
    )
    assert found.warps[1].end == 100 + VALUES["umma_latency"] + 1
    assert found.busy["tensor"] == 4 * 64


@pytest.mark.parametrize("kind", ["store.global", "atomic"])
def test_a_write_that_another_warp_polls(kind: str) -> None:
    flag = phase(kind="write")
    found = run([op(kind, sectors=[7], arrives=(flag,))], [op("load.global", sectors=[7], waits=flag)])
    written = (32 / VALUES["l2_chip_rate"] if kind == "store.global" else 0) + VALUES["l2_latency"] / 2
    assert found.warps[1].stalls == {"flag": pytest.approx(written)}


def test_the_response_to_a_cancellation_comes_from_l2() -> None:
    full = phase()
    found = run([op("cancel", arrives=(full,)), op("phase.wait", waits=full)])
    assert found.warps[0].stalls == {"empty": VALUES["l2_latency"] - 1}


def test_warps_of_one_partition_share_its_scheduler_and_units() -> None:
    """Of five warps, the first and the last one are in the same of four partitions."""
    found = run(*[[op(slots=3, units={"fma": 3})]] * 5)
    assert [warp.end for warp in found.warps] == [3, 3, 3, 3, 6]
    assert found.warps[4].stalls == {"issue": 3}
    found = run(*[[op(slots=3, units={"fma": 5}), op(slots=1, units={"alu": 1})]] * 5)
    assert [warp.end for warp in found.warps] == [4, 4, 4, 4, 9]
    assert found.warps[4].stalls == {"fma": 5}
    assert (found.busy["issue"], found.busy["fma"], found.busy["alu"]) == (20, 25, 5)


def test_an_instruction_that_ptxas_removes_takes_no_time() -> None:
    """What reads its result waits for what it has read."""
    (warp,) = run([op("load.shared", writes=R), op(slots=0, reads=R, writes=S), op(reads=S)]).warps
    assert warp.end == 1 + VALUES["shared_latency"] + 1
    assert warp.stalls == {"shared": VALUES["shared_latency"]}
    assert warp.issued == 2


def test_instructions_of_a_block_issue_in_the_order_of_their_places() -> None:
    """ptxas has moved the dependent instruction behind the independent one; a branch begins another block."""
    costs = {
        0: op("load.shared", writes=R, place=0).cost,
        1: op(reads=R, place=2).cost,
        2: op(slots=100, place=1).cost,
    }
    for pcs, end in (((0, 1, 2), 102), ((0, 1, 0, 2), 30 + 1 + 1 + 100)):
        trace = Trace(0, 0, 0, [Step(pc) for pc in pcs])
        assert replay([trace], costs, table(), resident=1, l1_bytes=0).cycles == end


def test_a_run_of_products_issues_each_of_them() -> None:
    step = Step(0)
    step.count = 3
    costs = dict.fromkeys(range(3), op("mma", tensor=32).cost)
    assert replay([Trace(0, 0, 0, [step])], costs, table(), resident=1, l1_bytes=0).busy["tensor"] == 96


def grid(ctas: int, cluster: int = 1, **options: Any) -> Timeline:
    """CTAs of one warp that takes 100 cycles."""
    traces = [Trace(cta, cta // cluster, 0, [Step(0)]) for cta in range(ctas)]
    return replay(traces, {0: op(slots=100).cost}, table(sms=4), l1_bytes=0, **options)


@pytest.mark.parametrize(
    ("ctas", "options", "starts", "waves"),
    [
        (4, {"resident": 1}, [0] * 4, 1),
        (8, {"resident": 2}, [0] * 8, 1),
        (6, {"resident": 1}, [0] * 4 + [300] * 2, 1.5),
        (6, {"resident": 1, "cluster": 2}, [0] * 4 + [300] * 2, 1.5),
        (3, {"resident": 1, "share": 0.5}, [0] * 2 + [300], 1.5),
        (1, {"resident": 2, "share": 0.01}, [0], 0.5),
    ],
)
def test_a_cta_begins_where_another_has_ended(
    ctas: int, options: Any, starts: list[float], waves: float
) -> None:
    """Four SMs; a CTA takes 100 cycles and the launch of the next one 200."""
    found = grid(ctas, **options)
    assert [warp.begin for warp in found.warps] == starts
    assert found.cycles == starts[-1] + 100
    assert found.waves == waves
    assert found.sms == min(ctas, len([one for one in starts if not one]) // options["resident"]) or 1


def test_a_cluster_waits_until_all_its_ctas_have_room() -> None:
    """Of four SMs, three run a cluster; one is left empty until they are done."""
    assert [warp.begin for warp in grid(6, 3, resident=1).warps] == [0] * 3 + [300] * 3
    assert [warp.begin for warp in grid(6, 3, resident=2).warps] == [0] * 6


def test_ctas_spread_over_the_sms() -> None:
    """The SMs with the most room are filled first: four CTAs of one warp use one partition of each of four SMs."""
    found = grid(4, resident=2)
    assert found.sms == 4
    assert {warp.end for warp in found.warps} == {100}


def test_a_launch_lasts_until_its_data_is_written() -> None:
    """32 KiB by one store: DRAM takes longer than the warp."""
    found = run([op("store.global", sectors=range(1024))])
    assert found.warps[0].end == 1
    assert found.cycles == found.simulated == pytest.approx(32768 / DRAM)
    assert (found.l2_bytes, found.dram_bytes) == (32768, 32768)
    assert (found.busy["l2"], found.busy["dram"]) == (
        pytest.approx(32768 / VALUES["l2_chip_rate"]),
        found.cycles,
    )


def test_dram_turns_around_between_reads_and_writes() -> None:
    """Each byte that is read and written costs a part of a third one."""
    load, store = op("load.global", sectors=range(64)), op("store.global", sectors=range(100, 196))
    alone = run([load]).busy["dram"] + run([store]).busy["dram"]
    more = run([load, store]).busy["dram"] - alone
    assert more == pytest.approx(32 * 64 * VALUES["dram_turnaround"] / DRAM)


def test_sectors_are_held_by_l1_and_l2() -> None:
    """A load finds in L1 what its SM has loaded, a copy does not; L2 holds it for all."""
    load, copy = op("load.global", sectors=range(8)), op("copy", sectors=range(8))
    found = run([load, load, copy])
    assert (found.l2_bytes, found.dram_bytes) == (512, 256)
    found = run([load], [load], ctas=[0, 1])
    assert (found.l2_bytes, found.dram_bytes) == (512, 256)
    found = run([op("store.global", sectors=range(8)), load])
    assert (found.l2_bytes, found.dram_bytes) == (512, 256)
    found = run([load, load], l2_bytes=0)
    assert (found.l2_bytes, found.dram_bytes) == (256, 256)
    found = run([copy, copy], l2_bytes=0)
    assert (found.l2_bytes, found.dram_bytes) == (512, 512)


def test_every_cycle_of_a_warp_is_an_issue_or_a_wait() -> None:
    """Of random launches. A warp's slices in the picture are the same cycles; those of units are not longer."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    kinds = [
        "plain", "mma", "wgmma", "wgmma.commit", "wgmma.wait", "load.shared", "store.shared", "load.global",
        "store.global", "atomic", "copy", "copy.commit", "copy.wait", "bulk", "bulk.commit", "bulk.wait", "fence",
        "tmem.load", "tmem.store", "tmem.wait",
    ]  # fmt: skip

    def some() -> Op:
        kind = rng.choice(kinds)
        return op(
            kind,
            slots=rng.choice([0, 1, 2, 3.5]) if kind == "plain" else 1,
            units={unit: rng.randrange(5) for unit in rng.sample(["fma", "alu"], rng.randrange(3))},
            reads=rng.choice([R, S, None]),
            writes=rng.choice([R, S, None]),
            tensor=rng.randrange(40),
            group=rng.randrange(2),
            wavefronts=rng.randrange(9),
            bytes=rng.randrange(512),
            sectors=rng.sample(range(64), rng.randrange(8)),
        )

    for _ in range(8):
        meets = phase(kind="barrier")
        warps = [[some() for _ in range(rng.randrange(20))] for _ in range(rng.randrange(1, 9))]
        for warp in warps:
            warp.insert(rng.randrange(len(warp) + 1), op("barrier", arrives=(meets,), waits=meets))
        found = run(*warps)
        for number, warp in enumerate(found.warps):
            assert warp.begin == 0
            assert warp.issued + sum(warp.stalls.values()) == pytest.approx(warp.end)
            slices = sorted((one.begin, one.end) for one in found.slices if one.lane == f"warp {number}")
            assert sum(end - begin for begin, end in slices) == pytest.approx(warp.end, abs=len(slices))
            assert all(end <= begin + 1e-9 for (_, end), (begin, _) in pairwise(slices))
        every = [one.cost for warp in warps for one in warp]
        assert (
            found.busy["issue"] == sum(warp.issued for warp in found.warps) == sum(one.slots for one in every)
        )
        for unit in ("fma", "alu"):
            issued = [one for one in every if one.slots or one.kind != "plain"]
            assert found.busy[unit] == sum(dict(one.units).get(unit, 0) for one in issued)
        products = [one.tensor for one in every if one.kind in ("mma", "wgmma")]
        assert found.busy["tensor"] == sum(products)
