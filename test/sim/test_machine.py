"""The machine: divergence, barriers, deadlock, limits, and the findings of shared and global memory."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

STORE_TID = """
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd0, %rd0, %rd9;
"""
SHARED = ".shared .align 4 .b8 s[4096];"
EXCHANGE = (
    STORE_TID
    + """
  mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
  {barrier}
  xor.b32 %r4, %r2, {other}; add.s32 %r4, %r4, %r1; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd0], %r5;
"""
)


def test_divergent_lanes_meet_again() -> None:
    body = (
        STORE_TID
        + """
  and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra EVEN;
  mov.u32 %r2, 7; bra JOIN;
EVEN: mov.u32 %r2, 9;
JOIN: activemask.b32 %r3; add.u32 %r2, %r2, %r3; st.global.u32 [%rd0], %r2;
"""
    )
    result, (out,) = run(kernel(body), np.zeros(32, np.uint32))
    assert not result.findings
    assert out.tolist() == [8, 6] * 16


@pytest.mark.parametrize("leave", ["exit", "ret"])
def test_lanes_that_stay_go_on_with_the_next_instruction(leave: str) -> None:
    body = (
        STORE_TID
        + f"""
  mov.u32 %r2, 1; and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0;
  @%p0 {leave};
  add.u32 %r2, %r2, 4;
  add.u32 %r2, %r2, 8;
  st.global.u32 [%rd0], %r2;
"""
    )
    result, (out,) = run(kernel(body), np.zeros(32, np.uint32))
    assert not result.findings
    assert out.tolist() == [0, 13] * 16


def test_a_lane_that_spins_does_not_starve_the_lane_it_waits_for() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 31; @%p0 bra SET;
SPIN: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra SPIN;
  bra DONE;
SET: mov.u32 %r2, 1; st.volatile.global.u32 [%rd0], %r2;
DONE:
"""
    result, (out,) = run(kernel(body), np.zeros(1, np.uint32))
    assert not result.findings
    assert out[0] == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_barrier_orders_shared_memory(seed: int) -> None:
    text = kernel(EXCHANGE.format(barrier="bar.sync 0;", other=256), module=SHARED)
    result, (out,) = run(text, np.zeros(128, np.uint32), block=(128,), seed=seed)
    assert not result.findings
    assert out.tolist() == [n ^ 64 for n in range(128)]


@pytest.mark.parametrize("seed", range(4))
def test_a_missing_barrier_is_a_race_or_an_uninitialized_read(seed: int) -> None:
    text = kernel(EXCHANGE.format(barrier="", other=256), module=SHARED)
    result, _ = run(text, np.zeros(128, np.uint32), block=(128,), seed=seed)
    assert result.findings.kinds() & {"race", "uninitialized"}


def test_lanes_of_one_warp_race_without_bar_warp_sync() -> None:
    result, _ = run(kernel(EXCHANGE.format(barrier="", other=4), module=SHARED), np.zeros(32, np.uint32))
    assert result.findings.kinds() == {"race"}


def test_bar_warp_sync_orders_the_lanes_of_a_warp() -> None:
    text = kernel(EXCHANGE.format(barrier="bar.warp.sync 0xffffffff;", other=4), module=SHARED)
    result, (out,) = run(text, np.zeros(32, np.uint32))
    assert not result.findings
    assert out.tolist() == [n ^ 1 for n in range(32)]


def test_a_write_after_another_threads_read_needs_a_barrier() -> None:
    body = EXCHANGE.format(barrier="bar.sync 0;", other=256) + "  mov.u32 %r6, 1; st.shared.u32 [%r3], %r6;"
    result, _ = run(kernel(body, module=SHARED), np.zeros(128, np.uint32), block=(128,))
    assert result.findings.kinds() == {"race"}


def test_an_uninitialized_shared_read_is_found_with_its_line() -> None:
    body = "  mov.u32 %r1, s; ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd0], %r2;"
    result, _ = run(kernel(body, module=SHARED), np.zeros(1, np.uint32), block=(1,))
    (finding,) = result.findings
    assert (finding.kind, finding.instruction) == ("uninitialized", "ld.shared.u32")
    assert finding.thread == (0, 0, 0)


def test_a_warp_that_arrives_twice_at_a_barrier_is_found() -> None:
    """One warp arrives for both."""
    body = """
  mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 32;
  @%p0 bra DONE;
  bar.arrive 1, 64; bar.arrive 1, 64;
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1), block=(64,))
    (finding,) = result.findings
    assert finding.kind == "barrier"
    assert "arrives again at barrier 1 before its generation ends: 32 of 64 threads" in finding.message


def test_a_warp_may_arrive_at_each_generation_of_a_barrier() -> None:
    """The producers of one barrier are the consumers of the other."""
    body = """
  mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 32;
  @%p0 bra SECOND;
  bar.arrive 1, 64; bar.sync 2, 64; bar.arrive 1, 64; bar.sync 2, 64;
  bra DONE;
SECOND: bar.sync 1, 64; bar.arrive 2, 64; bar.sync 1, 64; bar.arrive 2, 64;
DONE:
"""
    assert not run(kernel(body), np.zeros(1), block=(64,))[0].findings


def test_a_barrier_that_some_warps_never_reach_is_a_deadlock() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bra LOOP;
  bar.sync 1, 64;
  bra DONE;
LOOP: bar.sync 2, 64;
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1, np.uint32), block=(64,))
    (finding,) = result.findings
    assert finding.kind == "deadlock"
    assert any("barrier 1: 32 of 64 threads" in note for note in finding.notes)
    assert any("barrier 2: 32 of 64 threads" in note for note in finding.notes)


def test_an_aligned_barrier_in_divergent_code_is_found() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW;
  bar.sync 0; bra DONE;
LOW: bar.sync 0;
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1, np.uint32))
    assert "divergence" in result.findings.kinds()


def test_an_endless_loop_ends_at_the_instruction_limit_and_says_where() -> None:
    result, _ = run(kernel("HERE: bra HERE;"), np.zeros(1, np.uint32))
    (finding,) = result.findings
    assert (finding.kind, finding.instruction) == ("limit", "bra")


def test_an_access_outside_an_allocation_is_found_and_harms_nothing() -> None:
    body = "  mov.u32 %r0, 5; st.global.u32 [%rd0+64], %r0; st.global.u32 [%rd0-4], %r0;"
    result, (out,) = run(kernel(body), np.zeros(16, np.uint32), block=(1,))
    assert result.findings.kinds() == {"out-of-bounds"}
    assert len(result.findings) == 1 or len(result.findings) == 2
    assert not out.any()


def test_a_misaligned_access_is_found() -> None:
    result, _ = run(kernel("  ld.global.u32 %r0, [%rd0+2];"), np.zeros(16, np.uint32), block=(1,))
    assert result.findings.kinds() == {"misaligned"}


def test_the_same_seed_gives_the_same_schedule() -> None:
    text = kernel(EXCHANGE.format(barrier="", other=256), module=SHARED)
    first, second = (run(text, np.zeros(128, np.uint32), block=(128,), seed=3) for _ in range(2))
    assert first[0].findings.text() == second[0].findings.text()
    assert (first[1][0] == second[1][0]).all()
