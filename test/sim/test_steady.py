"""Long loops on the clock: laps of a steady state are skipped, and the estimate is that of all laps.

Each kernel is timed twice: as it is, and with every lap simulated.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools import runtime
from tessera_tools.runtime.timing import Estimate, TimedLaunch
from tessera_tools.runtime.timing_report import as_data, summary
from tessera_tools.sim.clock.cuts import Cut
from tessera_tools.sim.clock.record import Recorder, Step, Trace
from tessera_tools.sim.clock.steady import Skips, Steady

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 count)
{{
  .reg .f32 %f<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .pred %p<8>;
  .shared .align 8 .b8 buffer[4096];
  ld.param.u64 %rd0, [data];
  ld.param.u32 %r0, [count];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd2, %rd0, %rd1;
  mov.u32 %r2, 0;
  mov.u32 %r5, 0;
  mov.f32 %f0, 0f00000000;
{code}
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""
LAP = """  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r0;
  @%p0 bra {head};
"""


def time_of(code: str, count: int, *, threads: int = 64, grid: int = 1, data: Any = None) -> Estimate:
    device = runtime.device("sim")
    module = device.load(KERNEL.format(code=code))
    data = device.buffer(np.zeros(1 << 16, np.uint32) if data is None else data, "data")
    result = module.kernel("k").launch((grid,), [data, count], block=(threads,), timing=True)
    assert not result.findings.of("error")
    assert result.estimate is not None
    return result.estimate


@pytest.mark.parametrize(("second", "fails"), [(4, False), (5, True)])
def test_clusters_that_should_be_alike_skip_the_same_laps(second: int, fails: bool) -> None:
    traces = [Trace(cta=0, cluster=0, warp=0), Trace(cta=1, cluster=1, warp=0)]
    steady = Steady(SimpleNamespace(instructions=[]), (), Skips())  # type: ignore[arg-type]
    for trace, times in zip(traces, (4, second), strict=True):
        trace.cuts.append(Cut(number=0, at=8, steps=4, laps=1, times=times, phases={}, first={}, kind=0))
        steady.agreed[trace.cluster].append(trace.cuts[0])
    steady.check(traces, alike=False)
    assert not steady.failed
    steady.check(traces, alike=True)
    assert steady.failed == fails


@pytest.mark.parametrize(("phase", "fails"), [(6, False), (7, True)])
def test_a_warp_without_a_cut_may_not_have_the_phases_that_others_have_skipped(
    phase: int, fails: bool
) -> None:
    """The other warps have skipped phases of a barrier from the seventh on."""
    trace, step = Trace(cta=0, cluster=0, warp=1), Step(pc=3)
    step.waits = ("mbarrier", 0, 64, phase)
    trace.steps.append(step)
    steady = Steady(SimpleNamespace(instructions=[]), (), Skips())  # type: ignore[arg-type]
    place = ("mbarrier", 0, 64)
    cut = Cut(number=0, at=8, steps=4, laps=1, times=4, phases={place: 1}, first={place: 7}, kind=0)
    steady.agreed[0].append(cut)
    steady.check([trace], alike=False)
    assert steady.failed == fails


def without_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, every lap is simulated."""
    watch = TimedLaunch.watch
    monkeypatch.setattr(TimedLaunch, "watch", lambda self, recorder, skips: watch(self, recorder, Skips(0)))


def check(monkeypatch: pytest.MonkeyPatch, call: Any, tolerance: float = 0.03) -> Estimate:
    """Skips laps, and has the time, bytes and operations of the launch with all laps."""
    # As many SMs are replayed together, however long the traces are.
    monkeypatch.setattr("tessera_tools.runtime.timing._STEPS_TOGETHER", 1 << 40)
    found = call()
    assert found.executed < 0.6 * found.instructions
    without_skips(monkeypatch)
    whole = call()
    assert found.instructions == whole.instructions == whole.executed
    assert found.cycles == pytest.approx(whole.cycles, rel=tolerance)
    assert found.flops == whole.flops
    for name in ("l2_bytes", "dram_bytes"):
        assert getattr(found.timeline, name) == pytest.approx(getattr(whole.timeline, name), rel=tolerance)
    for unit, cycles in whole.timeline.busy.items():
        assert found.timeline.busy[unit] == pytest.approx(cycles, rel=tolerance, abs=1)
    return found


def check_not_skipped(call: Any) -> Estimate:
    found = call()
    assert found.executed == found.instructions
    return found


STREAM = f"""L:
  ld.global.f32 %f1, [%rd2];
  add.f32 %f0, %f0, %f1;
  add.u64 %rd2, %rd2, 256;
{LAP.format(head="L")}"""


def test_a_counted_loop_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, lambda: time_of(STREAM, 600))


def test_its_pointers_continue_where_the_skipped_laps_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store after the loop would write out of bounds if they did not: the buffer ends there."""
    found = time_of(STREAM.replace("%rd2, 256", "%rd2, 4"), 1000, data=np.zeros(1064, np.uint32))
    assert found.executed < found.instructions


def test_a_trip_count_that_is_loaded_before_the_loop_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "  ld.global.u32 %r0, [%rd0];\n" + STREAM
    check(monkeypatch, lambda: time_of(code, 0, data=np.full(1 << 16, 500, np.uint32)))


def test_a_trip_count_that_is_loaded_in_the_loop_is_not_extrapolated() -> None:
    code = f"L:\n  ld.global.u32 %r0, [%rd2];\n{LAP.format(head='L')}"
    check_not_skipped(lambda: time_of(code, 0, data=np.full(1 << 16, 300, np.uint32)))


def test_a_branch_that_depends_on_data_is_not_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"""L:
  ld.global.f32 %f1, [%rd2];
  setp.gt.f32 %p1, %f1, 0f3F000000;
  @!%p1 bra NEXT;
  ex2.approx.ftz.f32 %f0, %f0;
NEXT:
  add.u64 %rd2, %rd2, 256;
{LAP.format(head="L")}"""
    rng = np.random.default_rng(0)
    data = rng.random(1 << 16, np.float32).view(np.uint32)
    check_not_skipped(lambda: time_of(code, 300, data=data))


def test_a_loop_that_reads_a_clock_is_not_extrapolated() -> None:
    code = f"L:\n  mov.u32 %r3, %clock;\n  setp.eq.u32 %p1, %r3, 7;\n  @%p1 bra L;\n{LAP.format(head='L')}"
    check_not_skipped(lambda: time_of(code, 300))


@pytest.mark.parametrize("begin", [100, 700])
def test_laps_that_do_other_work_are_not_counted_as_those_before(
    monkeypatch: pytest.MonkeyPatch, begin: int
) -> None:
    """As in causal attention, where the last blocks are masked."""
    heavy = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 20
    code = f"""L:
  add.f32 %f0, %f0, %f1;
  setp.lt.u32 %p1, %r2, {begin};
  @%p1 bra NEXT;
{heavy}NEXT:
{LAP.format(head="L")}"""
    found = time_of(code, 800)
    without_skips(monkeypatch)
    assert found.cycles == pytest.approx(time_of(code, 800).cycles, rel=0.03)


def test_another_steady_state_of_a_loop_is_extrapolated_too(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"""L:
  setp.lt.u32 %p1, %r2, 250;
  @%p1 bra NEXT;
  ex2.approx.ftz.f32 %f0, %f0;
NEXT:
{LAP.format(head="L")}"""
    found = check(monkeypatch, lambda: time_of(code, 500))
    assert found.executed < 0.3 * found.instructions


def test_a_stage_that_wraps_around_has_a_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fifth lap does more."""
    heavy = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 20
    code = f"""L:
  add.u32 %r5, %r5, 1;
  setp.ne.u32 %p1, %r5, 5;
  @%p1 bra NEXT;
  mov.u32 %r5, 0;
{heavy}NEXT:
{LAP.format(head="L")}"""
    check(monkeypatch, lambda: time_of(code, 801))


def test_loops_in_loops_are_both_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"""OUTER:
  mov.u32 %r4, 0;
INNER:
  add.f32 %f0, %f0, %f1;
  ex2.approx.ftz.f32 %f1, %f0;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, 150;
  @%p1 bra INNER;
  ld.global.f32 %f2, [%rd2];
  add.f32 %f0, %f0, %f2;
  add.u64 %rd2, %rd2, 256;
{LAP.format(head="OUTER")}"""
    found = check(monkeypatch, lambda: time_of(code, 40))
    assert found.executed < 0.25 * found.instructions


def test_diverged_lanes_and_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One warp signals by one lane, all meet at a barrier, as in a pipeline."""
    code = f"""  setp.ne.u32 %p2, %r1, 0;
  mov.u32 %r6, buffer;
  mov.u32 %r7, 0;
  @%p2 bra READY;
  mbarrier.init.shared.b64 [%r6], 1;
READY:
  bar.sync 0;
L:
  @%p2 bra WAIT;
  ex2.approx.ftz.f32 %f0, %f0;
  mbarrier.arrive.shared.b64 _, [%r6];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r6], %r7;
  @!%p3 bra WAIT;
  xor.b32 %r7, %r7, 1;
  bar.sync 0;
{LAP.format(head="L")}"""
    check(monkeypatch, lambda: time_of(code, 400))


RING = """  mov.u32 %r6, buffer;
  mov.u32 %r7, 0;
  mov.u32 %r8, 0;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra READY;
  mbarrier.init.shared.b64 [buffer], 1;
  mbarrier.init.shared.b64 [buffer+8], 1;
  mbarrier.init.shared.b64 [buffer+16], 1;
  mbarrier.init.shared.b64 [buffer+32], 1;
  mbarrier.init.shared.b64 [buffer+40], 1;
  mbarrier.init.shared.b64 [buffer+48], 1;
READY:
  bar.sync 0;
  setp.lt.u32 %p1, %r1, 32;
  @!%p1 bra CONSUMER;
PRODUCER:
  mov.u32 %r4, 0;
FILL:
  xor.b32 %r9, %r8, 1;
EMPTY:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r6+32], %r9;
  @!%p3 bra EMPTY;
  ex2.approx.ftz.f32 %f0, %f0;
  @!%p2 mbarrier.arrive.shared.b64 _, [%r6];
{advance}
  setp.lt.u32 %p4, %r4, {laps};
  @%p4 bra FILL;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r0;
  @%p0 bra PRODUCER;
  bra END;
CONSUMER:
  setp.ne.u32 %p2, %r1, 32;
TILE:
  mov.u32 %r4, 0;
DRAIN:
FULL:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r6], %r8;
  @!%p3 bra FULL;
{work}
  @!%p2 mbarrier.arrive.shared.b64 _, [%r6+32];
{advance}
  setp.lt.u32 %p4, %r4, {laps};
  @%p4 bra DRAIN;
  {tile}
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r0;
  @%p0 bra TILE;
END:
"""
ADVANCE = """  add.u32 %r4, %r4, 1;
  add.u32 %r7, %r7, 1;
  setp.eq.u32 %p5, %r7, 3;
  selp.b32 %r7, 0, %r7, %p5;
  selp.b32 %r9, 1, 0, %p5;
  xor.b32 %r8, %r8, %r9;
  mad.lo.u32 %r6, %r7, 8, buffer_address;
"""


def ring(laps: int, tile: str = "") -> str:
    """A producer and a consumer of a persistent kernel, which share a ring of three stages; tiles of `laps`."""
    advance = ADVANCE.replace("mad.lo.u32 %r6, %r7, 8, buffer_address", "mad.lo.u32 %r6, %r7, 8, %r10")
    work = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 30
    code = RING.format(advance=advance, laps=laps, work=work, tile=tile)
    return code.replace("  mov.u32 %r6, buffer;", "  mov.u32 %r10, buffer;\n  mov.u32 %r6, buffer;", 1)


@pytest.mark.parametrize("laps", [50, 49, 48])
def test_tiles_that_begin_at_other_stages_are_extrapolated(
    monkeypatch: pytest.MonkeyPatch, laps: int
) -> None:
    """Eleven tiles of 50 laps have a period of three tiles, and of six with their parities: four tiles are enough."""
    found = check(monkeypatch, lambda: time_of(ring(laps), 11))
    assert found.executed < 0.5 * found.instructions


def test_tiles_of_which_some_do_more_are_not_taken_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 500
    tile = f"setp.lt.u32 %p6, %r2, 6;\n  @%p6 bra LIGHT;\n{heavy}LIGHT:"
    found = time_of(ring(50, tile), 11)
    without_skips(monkeypatch)
    assert found.cycles == pytest.approx(time_of(ring(50, tile), 11).cycles, rel=0.03)


def test_tiles_whose_barriers_depend_on_data_are_not_extrapolated() -> None:
    tile = "ld.global.u32 %r11, [%rd2];\n  add.u32 %r7, %r7, %r11;"
    check_not_skipped(lambda: time_of(ring(48, tile), 11, data=np.zeros(1 << 16, np.uint32)))


def test_ctas_of_a_sample_take_their_part_of_the_tiles_from_a_counter() -> None:
    """As if the others of the grid took theirs: 640 tiles of 64 CTAs are ten for each, of 30 instructions a tile."""
    work = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 30
    code = f"""  setp.ne.u32 %p2, %r1, 0;
NEXT:
  @%p2 bra MEET;
  atom.global.add.u32 %r3, [%rd0], 1;
  st.shared.u32 [buffer], %r3;
MEET:
  bar.sync 0;
  ld.shared.u32 %r3, [buffer];
  bar.sync 0;
  setp.ge.u32 %p0, %r3, %r0;
  @%p0 bra DONE;
{work}  bra NEXT;
DONE:
"""
    found = time_of(code, 640, threads=32, grid=64)
    assert 2 * 10 * 30 < found.instructions < 2 * 12 * 45


def counted_tiles(number: str, work: str = "") -> str:
    """Tiles whose `number` comes from a counter; each has a loop of 50 laps, and stores what it has computed."""
    lap = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 30
    return f"""  setp.ne.u32 %p2, %r1, 0;
NEXT:
  @%p2 bra MEET;
  atom.global.add.u32 %r3, [%rd0], 1;
  {number}
  st.shared.u32 [buffer], %r3;
MEET:
  bar.sync 0;
  ld.shared.u32 %r3, [buffer];
  bar.sync 0;
  setp.ge.u32 %p0, %r3, %r0;
  @%p0 bra DONE;
  rem.u32 %r5, %r3, 40;
  mad.wide.u32 %rd3, %r5, 256, %rd2;
  mov.u32 %r4, 0;
{work}LAP:
{lap}  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p4, %r4, 50;
  @%p4 bra LAP;
  st.global.f32 [%rd3+256], %f0;
  bra NEXT;
DONE:
"""


@pytest.mark.parametrize("number", ["", "add.u32 %r3, %r3, 7;"])
def test_tiles_whose_numbers_come_from_a_counter_are_extrapolated(
    monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """The warp that counts diverges, and the places of tiles do not grow evenly: the stores stay in the buffer."""
    code = counted_tiles(number)
    data = np.zeros(64 * 42, np.uint32)
    check(monkeypatch, lambda: time_of(code, 64 * 9 + 5, grid=64, data=data.copy()), tolerance=0.001)


def test_tiles_whose_numbers_are_not_tickets_are_not_taken_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The square of a counter is not foreseen: each tile runs, and only its loop is extrapolated."""
    code = counted_tiles("mul.lo.u32 %r3, %r3, %r3;")
    found = time_of(code, 1 << 19, grid=64)
    without_skips(monkeypatch)
    whole = time_of(code, 1 << 19, grid=64)
    assert found.instructions == whole.instructions
    assert found.cycles == pytest.approx(whole.cycles, rel=0.001)


def test_tiles_from_a_counter_of_which_some_do_more(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 300
    code = counted_tiles("", f"  setp.lt.u32 %p6, %r3, 300;\n  @%p6 bra LAP;\n{heavy}")
    found = time_of(code, 64 * 12, grid=64)
    without_skips(monkeypatch)
    whole = time_of(code, 64 * 12, grid=64)
    assert found.instructions == whole.instructions
    assert found.cycles == pytest.approx(whole.cycles, rel=0.001)


def test_the_stages_of_a_ring_without_mbarriers_have_a_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four stages, whose addresses seem to grow evenly from window to window of eleven laps."""
    work = "  ex2.approx.ftz.f32 %f0, %f0;\n" * 130
    code = f"""  mov.u32 %r6, buffer;
  mov.u32 %r7, 0;
L:
  mad.lo.u32 %r8, %r7, 1024, %r6;
  st.shared.f32 [%r8], %f0;
  bar.sync 0;
  ld.shared.f32 %f1, [%r8];
{work}  add.u32 %r7, %r7, 1;
  setp.eq.u32 %p5, %r7, 4;
  selp.b32 %r7, 0, %r7, %p5;
{LAP.format(head="L")}"""
    check(monkeypatch, lambda: time_of(code, 150))


def test_a_grid_that_runs_at_once_takes_as_long_as_its_longest_ctas() -> None:
    def code(half: int) -> str:
        """CTAs below `half` have a quarter of the laps."""
        return f"""  mov.u32 %r3, %ctaid.x;
  setp.ge.u32 %p1, %r3, {half};
  shr.u32 %r4, %r0, 2;
  selp.b32 %r0, %r0, %r4, %p1;
L:
  ex2.approx.ftz.f32 %f0, %f0;
{LAP.format(head="L")}"""

    longest = time_of(code(0), 400, grid=100).cycles
    assert time_of(code(50), 400, grid=100).cycles == pytest.approx(longest, rel=0.02)
    # Of more CTAs than run at once, the mean counts.
    longest = time_of(code(0), 400, grid=10_000, threads=64).cycles
    assert time_of(code(5_000), 400, grid=10_000, threads=64).cycles < 0.9 * longest


def test_warps_with_other_trip_counts_at_one_barrier_are_simulated_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One warp meets the other at a barrier in every second of its laps only."""
    code = """  setp.lt.u32 %p1, %r1, 32;
  @%p1 bra A;
  shl.b32 %r0, %r0, 1;
B:
  and.b32 %r3, %r2, 1;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra NEXT;
  bar.sync 0;
NEXT:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r0;
  @%p0 bra B;
  bra END;
A:
  ex2.approx.ftz.f32 %f0, %f0;
  bar.sync 0;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r0;
  @%p0 bra A;
END:
"""
    found = time_of(code, 500)
    without_skips(monkeypatch)
    assert found.cycles == pytest.approx(time_of(code, 500).cycles, rel=0.03)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_the_main_loop_of_a_product(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """On sm_90a, agents with mbarriers; on sm_80, cp.async."""
    kernel = tt.compile(str(ROOT / "test/corpus/gemm_f16_64x64x32.mlir"), target)
    a, b = np.zeros((512, 4096), np.float16), np.zeros((4096, 512), np.float16)
    c = np.zeros((512, 512), np.float16)

    def call() -> Estimate:
        found = kernel[8, 8](a, b, c, timing=True).estimate
        assert found is not None
        return found

    found = check(monkeypatch, call)
    assert any("instructions were executed; the others are laps of loops" in line for line in summary(found))
    data = as_data(found)
    assert data["executed_instructions"] < data["instructions"]


def test_more_instructions_than_the_clock_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_tools.runtime.timing.MOST_STEPS", 20_000)
    found = time_of(STREAM.replace("%rd2, 256", "%rd2, 4"), 20_000)
    assert found.instructions > 200_000
    assert found.executed < 20_000


def test_a_long_loop_without_a_steady_state_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it will execute is known from its slice, long before it is executed."""
    monkeypatch.setattr("tessera_tools.runtime.timing.MOST_STEPS", 20_000)
    code = f"""L:
  mul.lo.u32 %r3, %r2, -1640531535;
  setp.lt.u32 %p1, %r3, 1234567890;
  @%p1 bra NEXT;
  ex2.approx.ftz.f32 %f0, %f0;
NEXT:
{LAP.format(head="L")}"""
    recorders: list[Recorder] = []
    watch = TimedLaunch.watch

    def watched(self: TimedLaunch, recorder: Recorder, skips: Skips) -> None:
        recorders.append(recorder)
        watch(self, recorder, skips)

    monkeypatch.setattr(TimedLaunch, "watch", watched)
    time_of(code, 100)
    with pytest.raises(tt.DiagnosticError, match="the clock records at most 20,000 warp instructions"):
        time_of(code, 10_000)
    assert sum(len(trace.steps) for trace in recorders[-1].traces.values()) < 1_000


def test_a_kernel_that_polls_is_not_cut() -> None:
    recorder = Recorder()
    device = runtime.device("sim")
    code = f"L:\n  ld.acquire.gpu.global.u32 %r3, [%rd0];\n{LAP.format(head='L')}"
    module = device.load(KERNEL.format(code=code))
    data = device.buffer(np.zeros(64, np.uint32), "data")
    result = module.kernel("k").launch((1,), [data, 300], block=(32,), timing=True)
    assert result.estimate is not None
    assert recorder.steady is None
    assert result.estimate.executed == result.estimate.instructions


def test_the_ctas_that_stand_for_a_grid_are_symmetric_in_each_dimension() -> None:
    """In causal attention the work grows with the first coordinate: two CTAs with the same one would not do."""
    from tessera_tools.sim.clock.sample import representatives

    assert representatives((32, 4, 1)) == (8 + 32 * 1, 23 + 32 * 2)
    assert representatives((132, 1, 1)) == (33, 98)
    assert representatives((1, 1, 1)) == (0,)
    for shape in ((5, 7, 3), (2, 2, 2), (100, 1, 9)):
        places = [np.unravel_index(number, shape[::-1])[::-1] for number in representatives(shape)]
        for at, extent in zip(zip(*places, strict=True), shape, strict=True):
            assert sum(at) == extent - 1
