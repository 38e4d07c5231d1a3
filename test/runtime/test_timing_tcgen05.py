"""The clock for tcgen05: rates of tcgen05.mma, and a kernel that uses it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools.runtime import timing_report
from tessera_tools.runtime.timing import Estimate
from tessera_tools.runtime.timing_picture import timeline_svg, trace_events
from tessera_tools.runtime.timing_report import roofline, summary
from tessera_tools.sim.clock.cost import Cost
from tessera_tools.sim.clock.record import Step, Trace, Umma
from tessera_tools.sim.clock.replay import replay
from tessera_tools.target import lookup
from tessera_tools.target.timing import timing


def interval(m: int, n: int, *, pair: bool = False, in_tensor_memory: bool = False) -> float:
    """Cycles from one tcgen05.mma to the next, of many with operands of 16 bits."""
    table = timing(lookup("sm_100a"))
    assert table is not None
    rows = m // 2 if pair else m
    work = (rows if pair else 128) * n * 16
    feed = (0 if in_tensor_memory else 32 * rows) + 32 * n // (2 if pair else 1)
    costs = {0: Cost(1.0, (), 4.0, "umma", (), ()), 1: Cost(1.0, (), 4.0, "umma.commit", (), ())}
    costs[2] = Cost(1.0, (), 4.0, "phase.wait", (), ())

    def cycles(count: int) -> float:
        traces = [Trace(0, 0, 0), Trace(1, 0, 0)]
        for _ in range(count):
            step = Step(0)
            step.product = Umma(work, feed, (0, 1) if pair else (0,), in_tensor_memory)
            traces[0].steps.append(step)
        commit, wait = Step(1), Step(2)
        commit.arrives = (("mbarrier", 0, 0, 0),)
        wait.waits = commit.arrives[0]
        traces[0].steps += [commit, wait]
        return replay(traces, costs, table, resident=1, l1_bytes=65536).cycles

    return (cycles(40) - cycles(20)) / 20


@pytest.mark.parametrize(
    ("m", "n", "options", "cycles"),
    [
        (64, 64, {}, 32), (64, 256, {}, 128), (128, 64, {}, 48), (128, 128, {}, 64), (128, 256, {}, 128),
        (128, 64, {"in_tensor_memory": True}, 32), (128, 256, {"in_tensor_memory": True}, 128),
        (128, 128, {"pair": True}, 32), (128, 256, {"pair": True}, 64), (256, 128, {"pair": True}, 64),
        (256, 256, {"pair": True}, 128),
    ],
)  # fmt: skip
def test_tcgen05_mma_runs_at_the_measured_rate(m: int, n: int, options: Any, cycles: float) -> None:
    """SemiAnalysisAI/microbench-blackwell, umma_latency: from shared or tensor memory, by one CTA or two."""
    assert interval(m, n, **options) == pytest.approx(cycles, rel=0.02)


def filled(*targets: int) -> float:
    """Cycles until copies of 128,000 bytes by each of two CTAs have completed the mbarrier of the first."""
    table = timing(lookup("sm_100a"))
    assert table is not None
    costs = {0: Cost(1.0, (), 4.0, "bulk", (), ()), 1: Cost(1.0, (), 4.0, "phase.wait", (), ())}
    traces = [Trace(0, 0, 0), Trace(1, 0, 0)]
    for trace, target in zip(traces, targets, strict=True):
        copy = Step(0)
        copy.bytes, copy.arrives, copy.targets = 128_000, (("mbarrier", 0, 0, 0),), (target,)
        trace.steps.append(copy)
    wait = Step(1)
    wait.waits = ("mbarrier", 0, 0, 0)
    traces[0].steps.append(wait)
    return replay(traces, costs, table, resident=1, l1_bytes=65536).cycles


def test_copies_of_a_pair_are_written_where_they_go() -> None:
    """Not where their mbarrier is: each shared memory takes 128 bytes a cycle."""
    assert filled(0, 0) - filled(0, 1) == pytest.approx(1000, rel=0.05)


GEMM = """\
cuda_tile.module @m {
  entry @gemm(%pointer: tile<ptr<f16>>, %other: tile<ptr<f16>>, %result: tile<ptr<f16>>) {
    %a = assume div_by<16>, %pointer : tile<ptr<f16>>
    %b = assume div_by<16>, %other : tile<ptr<f16>>
    %c = assume div_by<16>, %result : tile<ptr<f16>>
    %A = make_tensor_view %a, shape = [1024, 512], strides = [512, 1] : tensor_view<1024x512xf16, strides=[512,1]>
    %B = make_tensor_view %b, shape = [1024, 512], strides = [512, 1] : tensor_view<1024x512xf16, strides=[512,1]>
    %C = make_tensor_view %c, shape = [1024, 1024], strides = [1024, 1] : tensor_view<1024x1024xf16, strides=[1024,1]>
    %pa = make_partition_view %A : partition_view<tile=(128x64), tensor_view<1024x512xf16, strides=[512,1]>>
    %pb = make_partition_view %B
      : partition_view<tile=(128x64), tensor_view<1024x512xf16, strides=[512,1]>>
    %pc = make_partition_view %C : partition_view<tile=(128x128), tensor_view<1024x1024xf16, strides=[1024,1]>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %none = constant <f32: 0.0> : tile<128x128xf32>
    %sum = for %k in (%zero to %eight, step %one) : tile<i32>
        iter_values(%s = %none) -> (tile<128x128xf32>) {
      %l, %t = load_view_tko weak %pa[%x, %k]
        : partition_view<tile=(128x64), tensor_view<1024x512xf16, strides=[512,1]>>, tile<i32>
        -> tile<128x64xf16>, token
      %r, %u = load_view_tko weak %pb[%y, %k]
        : partition_view<tile=(128x64), tensor_view<1024x512xf16, strides=[512,1]>>, tile<i32>
        -> tile<128x64xf16>, token
      %q = permute %r [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
      %m = mmaf %l, %q, %s : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
      continue %m : tile<128x128xf32>
    }
    %h = ftof %sum : tile<128x128xf32> -> tile<128x128xf16>
    %v = store_view_tko weak %h, %pc[%x, %y]
      : tile<128x128xf16>, partition_view<tile=(128x128), tensor_view<1024x1024xf16, strides=[1024,1]>>, tile<i32>
      -> token
    return
  }
}
"""


@pytest.fixture(scope="module")
def blackwell() -> Estimate:
    """A GEMM by tcgen05.mma of 64 CTAs."""
    kernel = tt.compile(GEMM, "sm_100a")
    assert "tcgen05.mma" in kernel.ptx
    arrays = [np.zeros((1024, 512), np.float16), np.zeros((1024, 512), np.float16)]
    found = kernel[(8, 8)](*arrays, np.zeros((1024, 1024), np.float16), timing=True).estimate
    assert found is not None
    return found


def test_a_kernel_for_tcgen05_is_timed(blackwell: Estimate) -> None:
    assert [role.name for role in timing_report.roles(blackwell)] == ["consumer", "producer", "warps"]
    assert blackwell.flops["tcgen05.mma"] == 2 * 1024 * 1024 * 512
    # 32 products of 64 cycles by each CTA, on its own SM, and the loads before them.
    assert 32 * 64 + 900 < blackwell.cycles < 12_000
    assert summary(blackwell)[0].startswith("estimate for B200 at 1965 MHz")
    assert ElementTree.fromstring(timeline_svg(blackwell)).tag.endswith("svg")
    assert any(event["name"] == "tcgen05.mma" for event in trace_events(blackwell)["traceEvents"])


def test_no_two_events_of_a_track_overlap(blackwell: Estimate) -> None:
    """The trace format allows it only if one is inside the other. Copies and phases overlap otherwise."""
    events = trace_events(blackwell)["traceEvents"]
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    spans: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for one in events:
        if one["ph"] == "X":
            spans.setdefault((one["pid"], one["tid"]), []).append((one["ts"], one["ts"] + one["dur"]))
    assert spans.keys() == names.keys()
    assert any(name.endswith(", row 2") for name in names.values())
    for track in spans.values():
        assert all(end <= begin + 1e-9 for (_, end), (begin, _) in pairwise(track))


def test_its_roof_is_that_of_the_tensor_cores(blackwell: Estimate) -> None:
    under = roofline(blackwell)
    assert under is not None
    assert under.compute == pytest.approx(2 * 4096 * 148 * 1.965e9)


def test_a_kernel_whose_pairs_multiply_together_is_timed() -> None:
    """A pair computes 256x128 with half of B in each CTA: 64 cycles for each product, as measured (see above)."""
    kernel = tt.compile(GEMM, "sm_100a", cluster="blocks:2x1")
    assert "tcgen05.mma.cta_group::2" in kernel.ptx
    arrays = [np.zeros((1024, 512), np.float16), np.zeros((1024, 512), np.float16)]
    found = kernel[(8, 8)](*arrays, np.zeros((1024, 1024), np.float16), timing=True).estimate
    assert found is not None
    assert found.flops["tcgen05.mma"] == 2 * 1024 * 1024 * 512
    assert 32 * 64 + 900 < found.cycles < 12_000
    assert timing_report.busy(found)["tensor"] * found.cycles == pytest.approx(32 * 64, rel=0.02)


def test_clusters_that_run_cancel_the_others_in_turn() -> None:
    """1024 tile blocks: those that begin take 3 or 4 each, and run at once."""
    kernel = tt.compile(GEMM.replace("1024", "4096"), "sm_100a", persistent="cancel")
    assert "clusterlaunchcontrol.try_cancel" in kernel.ptx
    arrays = [np.zeros((4096, 512), np.float16), np.zeros((4096, 512), np.float16)]
    found = kernel[(32, 32)](*arrays, np.zeros((4096, 4096), np.float16), timing=True).estimate
    assert found is not None
    assert found.ctas in (148, 296)
    assert (found.simulated, found.waves) == (2, 1)
    assert sum(found.flops.values()) == pytest.approx(2 * 4096 * 4096 * 512, rel=0.01), found.flops
    assert timing_report.busy(found)["tensor"] > 0
