"""The clock: kernels whose time is known from published measurements, and what the estimate says of them.

Each kernel is a small loop or chain of one instruction, as in the microbenchmarks that the table cites.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools import runtime
from tessera_tools.cli.run import run
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime.timing import Estimate
from tessera_tools.runtime.timing_picture import timeline_svg, trace_events
from tessera_tools.runtime.timing_report import (
    as_data,
    busy,
    roof_chart,
    roofline,
    summary,
    warp_lines,
)
from tessera_tools.sim.clock.cost import Cost, costs
from tessera_tools.sim.clock.record import Step, Trace
from tessera_tools.sim.clock.replay import replay
from tessera_tools.target import lookup
from tessera_tools.target.timing import timing

ROOT = Path(__file__).resolve().parents[2]
HEAD = ".version 8.0\n.target {target}\n.address_size 64\n"
BODY = """.visible .entry k(.param .u64 out)
{{
  .reg .f32 %f<70>; .reg .b32 %r<70>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  .shared .align 1024 .b8 buffer[49152];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  cvt.rn.f32.u32 %f1, %r0;
{code}
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""


def estimate(
    code: str, *, target: str = "sm_90a", threads: int = 32, grid: int = 1, cluster: int = 1, words: int = 0
) -> Estimate:
    """The estimate of a kernel with `code`; one buffer of a word for each thread, or of so many words."""
    device = runtime.device("sim")
    module = device.load(HEAD.format(target=target) + BODY.format(code=code))
    out = device.buffer(np.zeros(words or threads * cluster, np.float32), "out")
    result = module.kernel("k").launch((grid,), [out], block=(threads,), cluster=(cluster,), timing=True)
    assert not result.findings.of("error")
    assert result.estimate is not None
    return result.estimate


def slope(make: Any, low: int, high: int, **options: Any) -> float:
    """Cycles of one more instruction, between programs with `low` and with `high` of them."""
    return (estimate(make(high), **options).cycles - estimate(make(low), **options).cycles) / (high - low)


def chain(count: int) -> str:
    return "  fma.rn.f32 %f0, %f0, %f0, %f1;\n" * count


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_dependent_multiply_adds_take_four_cycles_each(target: str) -> None:
    assert slope(chain, 64, 192, target=target) == pytest.approx(4, abs=0.3)


@pytest.mark.parametrize(("target", "cycles"), [("sm_80", 2), ("sm_90a", 1)])
def test_multiply_adds_of_many_warps_run_at_the_rate_of_the_units(target: str, cycles: float) -> None:
    # Sixteen warps a partition: 16 cycles of issue, or 32 of units of 16 lanes, for one instruction of each.
    found = slope(chain, 64, 192, target=target, threads=1024)
    assert found == pytest.approx(max(8 * cycles, 4), rel=0.1)


def elementary(count: int) -> str:
    return "  ex2.approx.ftz.f32 %f0, %f0;\n" * count


def test_elementary_functions_of_many_warps_run_at_sixteen_lanes() -> None:
    assert slope(elementary, 32, 96, threads=1024) == pytest.approx(1024 / 16, rel=0.1)


def loads(count: int) -> str:
    lines = ["  mov.u32 %r1, buffer; mad.lo.u32 %r1, %r0, 16, %r1;"]
    lines += ["  st.shared.v4.b32 [%r1], {%r0, %r0, %r0, %r0}; bar.sync 0;"]
    for number in range(count):
        names = ", ".join(f"%r{4 + (4 * number + n) % 64}" for n in range(4))
        lines.append(f"  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{names}}}, [%r1];")
        lines.append(f"  xor.b32 %r3, %r3, %r{4 + 4 * number % 64};")
    lines.append("  cvt.rn.f32.u32 %f0, %r3;")
    return "  mov.u32 %r3, 0;\n" + "\n".join(lines)


def test_ldmatrix_x4_takes_four_cycles_of_the_port() -> None:
    """Sun et al., Table 9: many warps reach 128 bytes a cycle, which is 4 cycles for the 512 bytes of one."""
    found = slope(loads, 16, 48, target="sm_80", threads=512)
    assert 4 * 16 <= found <= 4 * 16 * 1.3


def copies(target: str) -> Estimate:
    """A vector addition of 48 MiB."""
    kernel = tt.compile(str(ROOT / "examples/vector_add.mlir"), target)
    count = 1 << 22
    a, b, c = (np.zeros(count, np.float32) for _ in range(3))
    result = kernel[count // 1024](a, b, c, timing=True)
    assert result.estimate is not None
    return result.estimate


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_vector_addition_runs_at_the_bandwidth_of_dram(target: str) -> None:
    found = copies(target)
    table = found.table
    moved = 3 * 4 * (1 << 22)
    assert moved / found.seconds / 1e9 == pytest.approx(table.value("dram_chip_gbs"), rel=0.15)
    assert next(iter(busy(found))) == "dram"
    assert any("DRAM bandwidth bounds the kernel" in line for line in summary(found))


def gemm(target: str, size: int) -> Estimate:
    kernel = tt.compile(str(ROOT / "test/corpus/gemm_f16_128x256x64.mlir"), target)
    a, b, c = (np.zeros((size, size), np.float16) for _ in range(3))
    result = kernel[(size // 128, size // 256)](a, b, c, timing=True)
    assert result.estimate is not None
    return result.estimate


@pytest.fixture(scope="module")
def hopper() -> Estimate:
    return gemm("sm_90a", 1024)


def test_a_kernel_with_agents_has_a_producer_and_consumers(hopper: Estimate) -> None:
    waits = {role["role"]: role["waiting"] for role in as_data(hopper)["roles"]}
    assert {"producer", "consumer"} <= waits.keys()
    assert next(iter(waits["producer"])) == "empty"


def test_its_products_and_bytes_are_counted_for_the_whole_grid(hopper: Estimate) -> None:
    data = as_data(hopper)
    assert data["flops"]["wgmma"] == 2 * 1024**3
    assert data["ctas"] == 32 and data["simulated_ctas"] < 32
    # Each CTA loads 128 rows of A and 256 columns of B, and stores its tile.
    assert data["l2_bytes"] == pytest.approx(32 * 2 * (384 * 1024 + 128 * 256), rel=0.01)


def test_the_tensor_cores_are_not_faster_than_their_peak(hopper: Estimate) -> None:
    assert 0 < busy(hopper)["tensor"] <= 1


def test_every_wait_is_within_the_life_of_its_warp(hopper: Estimate) -> None:
    for warp in hopper.timeline.warps:
        assert sum(warp.stalls.values()) + warp.issued <= (warp.end - warp.begin) * 1.001


def test_the_same_launch_has_the_same_time(hopper: Estimate) -> None:
    assert gemm("sm_90a", 1024).cycles == hopper.cycles


def test_a_launch_that_is_too_long_to_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_tools.runtime.timing.MOST_STEPS", 100)
    with pytest.raises(DiagnosticError, match="the clock records at most 100 warp instructions"):
        estimate(chain(200))


def test_traces_that_wait_for_each_other_are_refused() -> None:
    table = timing(lookup("sm_90"))
    assert table is not None
    step = Step(0)
    step.waits = ("mbarrier", 0, 0, 0)
    other = Step(1)
    other.arrives = (step.waits,)
    cost = {0: Cost(1, (), 4, "phase.wait", (), ()), 1: Cost(1, (), 4, "phase.arrive", (), ())}
    with pytest.raises(DiagnosticError, match="the clock cannot time this launch"):
        replay([Trace(0, 0, 0, [step, other])], cost, table, resident=1, l1_bytes=0)


def bulk(targets: int) -> float:
    """Cycles until 16 KiB have come to each of two CTAs, by copies of the first one: to one CTA each, or to both."""
    table = timing(lookup("sm_90"))
    assert table is not None
    kinds = ("bulk", "phase.wait")
    costs = {pc: Cost(1.0, (), 4.0, kind, (), ()) for pc, kind in enumerate(kinds)}
    traces = [Trace(0, 0, 0), Trace(1, 0, 0)]
    for number in range(2 // targets):
        copy = Step(0)
        copy.bytes = 16384 * targets
        copy.arrives = tuple(("mbarrier", cta, 0, 0) for cta in ((0, 1) if targets == 2 else (number,)))
        traces[0].steps.append(copy)
    for trace in traces:
        wait = Step(1)
        wait.waits = ("mbarrier", trace.cta, 0, 0)
        trace.steps.append(wait)
    return replay(traces, costs, table, resident=1, l1_bytes=65536).cycles


def test_a_multicast_writes_the_shared_memory_of_each_cta_at_once() -> None:
    # 16 KiB take 128 cycles of a port. Two copies also take two issues of the TMA unit.
    assert bulk(2) <= bulk(1)
    assert bulk(2) == pytest.approx(170 + 30 + 128, abs=80)


def cluster_barriers(arrive: str) -> Any:
    return lambda count: f"  barrier.cluster.{arrive}.aligned; barrier.cluster.wait.aligned;\n" * count


@pytest.mark.parametrize(("arrive", "low", "high"), [("arrive", 370, 400), ("arrive.relaxed", 100, 125)])
def test_the_barrier_of_a_cluster_takes_hundreds_of_cycles(arrive: str, low: float, high: float) -> None:
    assert low < slope(cluster_barriers(arrive), 4, 12, grid=2, cluster=2) < high


def test_a_cta_waits_at_the_barrier_for_the_others_of_its_cluster() -> None:
    """The second CTA computes for 4 cycles times 200 before it arrives."""
    work = f"""  mov.u32 %r5, %cluster_ctarank; mad.lo.u32 %r0, %r5, 32, %r0; setp.eq.u32 %p0, %r5, 0; @%p0 bra MEET;
{chain(200)}
MEET:
  barrier.cluster.arrive.relaxed; barrier.cluster.wait;
"""
    found = estimate(work, grid=2, cluster=2)
    waits = [warp.stalls["barrier"] for warp in found.timeline.warps]
    assert max(waits) - min(waits) > 700


def test_a_slower_clock_takes_longer_where_instructions_bound_the_kernel() -> None:
    device = runtime.device("sim")
    module = device.load(HEAD.format(target="sm_80") + BODY.format(code=chain(512)))
    times: list[float] = []
    for clock in (1410, 705):
        out = device.buffer(np.zeros(32, np.float32), "out")
        found = module.kernel("k").launch((1,), [out], block=(32,), timing=True, clock_mhz=clock).estimate
        assert found is not None
        assert as_data(found)["clock_mhz"] == clock
        times.append(found.seconds)
    assert times[1] == pytest.approx(2 * times[0], rel=0.15)


def test_dram_does_not_depend_on_the_clock_of_the_sms() -> None:
    table = timing(lookup("sm_80"))
    assert table is not None
    half = table.at(table.value("clock_mhz") / 2)
    far, near = table.value("dram_latency"), table.value("l2_latency")
    assert half.value("dram_latency") == pytest.approx(near + (far - near) / 2)
    assert half.value("l2_latency") == near
    assert half.value("dram_chip_gbs") == table.value("dram_chip_gbs")


def test_a_target_without_a_table_is_refused() -> None:
    with pytest.raises(
        DiagnosticError, match=r"the clock has no table for sm_86; expected one of sm_80, sm_90, sm_100"
    ):
        estimate(chain(1), target="sm_86")


def test_what_the_counts_come_from_is_said() -> None:
    found = estimate(chain(64))
    assert "instruction counts are those of the SASS" in summary(found)[-2]


def test_without_ptxas_the_counts_come_from_the_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_PTXAS", "/nowhere/ptxas")
    found = estimate(chain(64))
    assert found.source == "PTX"
    assert "instruction counts are estimated from the PTX" in summary(found)[-2]


def test_instructions_on_one_line_share_its_sass() -> None:
    assert estimate(chain(200).replace("\n", "")).cycles == pytest.approx(
        estimate(chain(200)).cycles, rel=0.1
    )


def test_sass_of_another_block_does_not_count_for_a_product() -> None:
    """ptxas gives a conversion behind a loop the line of the loop's product."""
    text = HEAD.format(target="sm_90a") + BODY.format(code=products("f16", 16, 4))
    module = runtime.device("sim").load(text)
    program = module.inner.program  # pyright: ignore[reportAttributeAccessIssue]
    (entry,) = program.entries()
    at = {inst.opcode: (pc, inst.line) for pc, inst in enumerate(program.instructions)}
    (product, line), (store, other) = at["mma"], at["st"]
    sass = {line: [(0, "LDS"), (1, "HMMA"), (3, "F2FP")], other: [(2, "IADD3"), (4, "STG")]}
    table = timing(lookup("sm_90"))
    assert table is not None
    whole, split = (costs(program, [entry], table, sass, blocks) for blocks in ([0], [0, 2]))
    assert (whole[product].slots, whole[store].slots) == (3, 2)
    assert (split[product].slots, split[store].slots) == (2, 3)


HALF = """.visible .entry k(.param .u64 out)
{{
  .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p0;
  mov.u32 %r1, %ctaid.x; setp.ge.u32 %p0, %r1, {working}; @%p0 bra DONE;
  ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mad.lo.u32 %r0, %r1, 32, %r0;
  mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;
  ld.global.f32 %f0, [%rd2];
{code}
  st.global.f32 [%rd2], %f0;
DONE:
  ret;
}}
"""


def with_idle(ctas: int, working: int) -> Estimate:
    """A grid of which the first CTAs work, and the others end at once, as those do that a swizzle adds."""
    device = runtime.device("sim")
    chain = "  fma.rn.f32 %f0, %f0, %f0, %f0;\n" * 2000
    module = device.load(HEAD.format(target="sm_90") + HALF.format(working=working, code=chain))
    out = device.buffer(np.zeros(32 * ctas, np.float32), "out")
    result = module.kernel("k").launch((ctas,), [out], block=(32,), shared=100 << 10, timing=True)
    assert result.estimate is not None
    return result.estimate


def test_ctas_that_end_at_once_take_no_part_of_a_wave() -> None:
    """264 CTAs fill the GPU once, with two on an SM."""
    filled, rounded = with_idle(264, 264), with_idle(520, 264)
    assert rounded.cycles == pytest.approx(filled.cycles, rel=0.1)


def test_a_warp_may_wait_for_the_mbarrier_at_which_it_arrived() -> None:
    """ptxas moves the parity of the wait before the arrival; the wait stays behind it."""
    code = """  .reg .b64 %state;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra ready;
  mbarrier.init.shared.b64 [buffer], 32;
ready:
  bar.sync 0;
  mbarrier.arrive.shared.b64 %state, [buffer];
again:
  mbarrier.try_wait.parity.shared.b64 %p1, [buffer], 0;
  @!%p1 bra again;
"""
    assert estimate(code).cycles > 0


COMMAND = [str(ROOT / "examples/vector_add.mlir"), "--gpu-name=sm_90", "--grid=2", "--timing"]
for letter in "abc":
    COMMAND += [f"--arg={letter}=zeros:f32:2048", "--arg=i32:2048", "--arg=i32:1"]


def test_the_command_prints_the_estimate_and_writes_it(tmp_path: Path) -> None:
    done = run([part.replace("--timing", f"--timing={tmp_path}/t.json") for part in COMMAND])
    assert done.exit_code == 0
    assert done.stdout.startswith(b"estimate for H100 SXM at 1830 MHz: ")
    assert b"2 CTAs use 2 of 132 SMs" in done.stdout
    assert json.loads((tmp_path / "t.json").read_text())["ctas"] == 2


@pytest.mark.parametrize(
    "option", ["--out=c=c.npy", "--expect=c=@c.npy", "--stats", "--schedules=2", "--modes=both"]
)
def test_a_sample_has_no_results(option: str) -> None:
    done = run([*COMMAND, option])
    assert done.exit_code == 1
    name = option.split("=", maxsplit=1)[0]
    assert f"error: {name} cannot be combined with --timing".encode() in done.stderr


def test_the_command_writes_pictures(tmp_path: Path) -> None:
    picture, trace = tmp_path / "t.svg", tmp_path / "t.json"
    done = run(
        [
            *(part for part in COMMAND if part != "--timing"),
            f"--timing-svg={picture}",
            f"--timing-trace={trace}",
        ]
    )
    assert done.exit_code == 0, done.stderr
    assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert json.loads(trace.read_text())["traceEvents"]
    # The bars are plain characters where there is no terminal.
    assert b"waits for memory" in done.stdout
    assert "█".encode() in done.stdout
    assert b"\x1b[" not in done.stdout


def test_each_warp_has_a_report(hopper: Estimate) -> None:
    warps = as_data(hopper)["warps"]
    assert [(warp["cta"], warp["warp"]) for warp in warps] == sorted(
        (warp.cta, warp.warp) for warp in hopper.timeline.warps
    )
    for warp in warps:
        assert 0 < warp["issuing"] + sum(warp["waiting"].values()) <= 1.01
        assert 0 <= warp["begin_cycles"] < warp["end_cycles"] <= hopper.cycles * 1.01
    producer = next(warp for warp in warps if warp["role"] == "producer")
    assert next(iter(producer["waiting"])) == "empty"
    assert any(line.startswith("  CTA 0 warp 0 producer: ") for line in warp_lines(hopper))


def test_the_command_prints_a_line_for_each_warp() -> None:
    done = run([part.replace("--timing", "--timing-warps") for part in COMMAND])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count(b" warps: ") >= 2
    assert b"  CTA 1 warp 0 warps: " in done.stdout


def test_the_picture_has_a_lane_for_each_warp_and_unit(hopper: Estimate) -> None:
    svg = ElementTree.fromstring(timeline_svg(hopper))
    texts = {node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"CTA 0 TMA", "CTA 0 tensor 0", "CTA 0 barriers", "CTA 0 warp 0 producer"} <= texts
    assert any(text and "of its roof" in text for text in texts)
    assert {"TFLOP/s", "operations a byte of DRAM"} <= set(texts)
    assert not [text for text in texts if text and re.fullmatch(r"[\d.]+e[+-]\d+", text)]


def test_the_trace_has_the_format_of_chromes_trace_events(hopper: Estimate) -> None:
    data = json.loads(json.dumps(trace_events(hopper)))
    named = {(e["pid"], e["tid"]) for e in data["traceEvents"] if e["name"] == "thread_name"}
    complete = [event for event in data["traceEvents"] if event["ph"] == "X"]
    assert {event["ph"] for event in data["traceEvents"]} == {"M", "X"}
    assert complete
    assert all((event["pid"], event["tid"]) in named for event in complete)
    assert all(event["dur"] > 0 and event["ts"] >= 0 for event in complete)
    assert [event["ts"] for event in complete] == sorted(event["ts"] for event in complete)
    assert max(event["ts"] + event["dur"] for event in complete) <= hopper.seconds * 1e6 * 1.001


def test_slices_of_a_warp_do_not_overlap(hopper: Estimate) -> None:
    lanes: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for one in hopper.timeline.slices:
        if one.lane.startswith("warp"):
            lanes.setdefault((one.cta, one.lane), []).append((one.begin, one.end))
    assert lanes
    for slices in lanes.values():
        assert all(after[0] >= before[1] - 1e-6 for before, after in pairwise(sorted(slices)))


def test_the_roofline_of_a_product_is_that_of_the_tensor_cores(hopper: Estimate) -> None:
    under = roofline(hopper)
    assert under is not None
    assert under.compute == pytest.approx(2 * 2048 * 132 * 1830e6)
    assert under.reached <= under.roof
    assert any("●" in line for line in roof_chart(hopper))


def products(type: str, k: int, registers: int) -> str:
    """One mma.sync of a type for which A has so many registers."""
    a = ", ".join(["%r0"] * registers)
    b = ", ".join(["%r0"] * (registers // 2))
    return (
        f"  mma.sync.aligned.m16n8k{k}.row.col.f32.{type}.{type}.f32 "
        f"{{%f2, %f3, %f4, %f5}}, {{{a}}}, {{{b}}}, {{%f0, %f0, %f0, %f0}};\n"
    )


@pytest.mark.parametrize(
    ("type", "k", "rate", "peak"), [("f16", 16, 1, "f16"), ("e4m3", 32, 2, "8-bit"), ("tf32", 8, 0.5, "tf32")]
)
def test_the_peak_is_that_of_the_type_of_the_products(type: str, k: int, rate: float, peak: str) -> None:
    found = estimate(products(type, k, 4))
    assert found.product_rate == rate
    assert f"of the {peak} tensor peak" in "\n".join(summary(found))
    under = roofline(found)
    assert under is not None
    assert under.compute == pytest.approx(2 * 1308 * rate * 132 * 1830e6)


READS = """.visible .entry k(.param .u64 out)
{{
  .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
{place}
  mad.lo.u32 %r3, %r2, 1024, %r0;
  mul.wide.u32 %rd1, %r3, 4;
  add.u64 %rd2, %rd0, %rd1;
  mov.u32 %r4, 0;
L:
  ld.global.f32 %f0, [%rd2];
  add.s64 %rd2, %rd2, {step};
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, {laps};
  @%p0 bra L;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""
HALVES = "  shl.b32 %r5, %r1, 9;  add.u32 %r0, %r0, %r5;  mov.u32 %r2, {first};"
"""Windows, each of which starts in the middle of the one before."""


@pytest.mark.parametrize(
    ("place", "step", "laps", "part"),
    [
        ("  mov.u32 %r2, %r1;", 128, 32, 1.0),
        ("  and.b32 %r2, %r1, 7;", 128, 32, 8 / 512),
        ("  shr.u32 %r2, %r1, 1;", 128, 32, 1 / 2),
        (HALVES.format(first=0), 128, 32, 1 / 2),
        # As in causal attention whose last block of keys is the first one.
        (HALVES.format(first=1), -128, 32, 1 / 2),
        # Of so many laps, only some are looked up.
        (HALVES.format(first=0), 64, 64, 1 / 2),
        (HALVES.format(first=1), -64, 64, 1 / 2),
    ],
)
def test_what_several_ctas_read_comes_from_dram_once(place: str, step: int, laps: int, part: float) -> None:
    """The address of a CTA's data is any function of its number."""
    device = runtime.device("sim")
    module = device.load(HEAD.format(target="sm_90a") + READS.format(place=place, step=step, laps=laps))
    out = device.buffer(np.zeros(513 * 1024, np.float32), "out")
    found = module.kernel("k").launch((512,), [out], block=(32,), timing=True).estimate
    assert found is not None
    read = 512 * 32 * 128
    stored = 512 * 128
    moved = found.timeline.dram_bytes * found.scale
    assert moved == pytest.approx(part * read + stored, rel=0.1)
    assert found.surveyed == 512


def test_loads_that_begin_late_are_surveyed() -> None:
    """The main loop of an unrolled kernel may begin after more than a thousand instructions."""
    place = "  fma.rn.f32 %f1, %f1, %f1, %f1;\n" * 1600 + "  and.b32 %r2, %r1, 7;"
    device = runtime.device("sim")
    text = HEAD.format(target="sm_90a") + READS.format(place=place, step=128, laps=32)
    out = device.buffer(np.zeros(513 * 1024, np.float32), "out")
    found = device.load(text).kernel("k").launch((128,), [out], block=(32,), timing=True).estimate
    assert found is not None
    moved = found.timeline.dram_bytes * found.scale
    assert moved == pytest.approx(8 * 32 * 128 + 128 * 128, rel=0.1)


FLAG = """.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra WRITES;
SPIN:
  {poll}
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  bra END;
WRITES:
  mov.u32 %r2, 0;
  mov.u32 %r1, %tid.x;
WORK:
  mad.lo.u32 %r1, %r1, %r1, %r2;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, {laps};
  @%p2 bra WORK;
  st.release.gpu.global.u32 [%rd0], 1;
END:
  st.global.u32 [%rd0+4], %r1;
  ret;
}}
"""


def flag(poll: str, laps: int) -> Estimate:
    device = runtime.device("sim")
    module = device.load(HEAD.format(target="sm_90a") + FLAG.format(poll=poll, laps=laps))
    out = device.buffer(np.zeros(64, np.uint32), "out")
    found = module.kernel("k").launch((2,), [out], block=(32,), timing=True).estimate
    assert found is not None
    return found


@pytest.mark.parametrize(
    "poll", ["ld.acquire.gpu.global.u32 %r1, [%rd0];", "atom.global.cas.b32 %r1, [%rd0], 7, 9;"]
)
def test_a_warp_that_polls_waits_for_the_write(poll: str) -> None:
    short, long = flag(poll, 50), flag(poll, 1050)
    first = next(warp for warp in long.timeline.warps if warp.cta == 0)
    assert first.stalls["flag"] > 0.5 * long.cycles
    # The time is that of the one who writes, however often the simulator polls meanwhile.
    assert long.cycles - short.cycles == pytest.approx(1000 * 6, rel=0.7)
    polls = sum(one.name == "issue" for one in long.timeline.slices if one.cta == 0)
    assert polls < 50


@pytest.mark.parametrize("name", ["sm_80", "sm_90"])
def test_every_number_of_a_table_has_a_source(name: str) -> None:
    table = timing(lookup(name))
    assert table is not None
    assert all(number.source and number.value > 0 for number in table.numbers.values())


def test_an_estimate_prints_as_its_summary() -> None:
    text = str(estimate("add.f32 %f1, %f1, %f1;"))
    assert text.startswith("estimate for H100 SXM at ")
    assert text == repr(estimate("add.f32 %f1, %f1, %f1;"))
    assert len(text) < 3000
