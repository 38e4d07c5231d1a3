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


def test_a_warp_may_wait_at_a_barrier_at_which_it_has_arrived() -> None:
    """A barrier counts arrivals, and not warps: two warps arrive, and one of them also waits."""
    body = """
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1; st.shared.u32 [%r3], %r0;
  bar.arrive 1, 96;
  setp.lt.u32 %p0, %r0, 32; @!%p0 bra DONE;
  bar.sync 1, 96;
  ld.shared.u32 %r4, [%r3+128]; cvt.u64.u32 %rd1, %r1; add.u64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], %r4;
DONE:
"""
    result, (out,) = run(kernel(body, module=SHARED), np.zeros(32, np.uint32), block=(64,))
    assert not result.findings
    assert out.tolist() == [n + 32 for n in range(32)]


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


@pytest.mark.parametrize("words", [3, 4, 6])
@pytest.mark.parametrize("access", ["ld.global.u32 %r1, [{}];", "st.global.u32 [{}], %r0;"])
def test_an_allocation_that_was_accessed_ends_with_its_last_word(access: str, words: int) -> None:
    for place in range(4 * words, 8 * words + 4, 4):
        body = f"  mov.u32 %r0, 5; st.global.u32 [%rd0], %r0; {access.format(f'%rd0+{place}')}"
        result, (out,) = run(kernel(body), np.zeros(words, np.uint32), block=(1,))
        assert result.findings.kinds() == {"out-of-bounds"}
        assert out.tolist() == [5] + [0] * (words - 1)


@pytest.mark.parametrize("access", ["ld.shared.u32 %r1, [tile+12];", "st.shared.u32 [tile+12], 5;"])
def test_shared_memory_ends_with_its_last_word(access: str) -> None:
    body = f"st.shared.u32 [tile+8], 5; {access}"
    result, _ = run(kernel(body, 0, ".shared .align 4 .b8 tile[12];"), block=(1,))
    assert result.findings.kinds() == {"out-of-bounds"}


def test_a_misaligned_access_is_found() -> None:
    result, _ = run(kernel("  ld.global.u32 %r0, [%rd0+2];"), np.zeros(16, np.uint32), block=(1,))
    assert result.findings.kinds() == {"misaligned"}


def test_the_same_seed_gives_the_same_schedule() -> None:
    text = kernel(EXCHANGE.format(barrier="", other=256), module=SHARED)
    first, second = (run(text, np.zeros(128, np.uint32), block=(128,), seed=3) for _ in range(2))
    assert first[0].findings.text() == second[0].findings.text()
    assert (first[1][0] == second[1][0]).all()


TILE_OF_64 = """
  .reg .b32 start; mov.u32 start, %reserved_smem_offset_1; cvt.u64.u32 %rd5, start; cvta.shared.u64 %rd6, %rd5;
""" + EXCHANGE.replace(
    "{barrier}",
    """
  bar.warp.sync -1; shr.u32 %r10, %r0, 5; mov.u32 %r11, 1; shl.b32 %r12, %r11, %r10;
  and.b32 %r13, %r0, 31; setp.ne.u32 %p0, %r13, 0; @%p0 bra MET;
  atom.or.acq_rel.cta.b32 %r14, [%rd6], %r12; or.b32 %r14, %r14, %r12; setp.ne.u32 %p1, %r14, 3; @%p1 bra POLL;
  {release} bra MET;
POLL: ld.acquire.cta.u32 %r14, [%rd6]; and.b32 %r14, %r14, %r12; setp.ne.u32 %p1, %r14, 0; @%p1 bra POLL;
MET: bar.warp.sync -1;
""",
)
"""The barrier of a tile of two warps, as cooperative groups make it in reserved shared memory."""


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_tile_of_two_warps_meets_in_reserved_shared_memory(mode: str) -> None:
    body = TILE_OF_64.replace("{release}", "red.and.release.cta.b32 [%rd6], 0;").replace("{other}", "128")
    for seed in range(8):
        result, (out,) = run(
            kernel(body, 1, SHARED), np.zeros(64, np.uint32), block=(64,), mode=mode, seed=seed
        )
        assert not result.findings, result.findings.text()
        assert out.tolist() == [n ^ 32 for n in range(64)]


def test_a_barrier_in_reserved_shared_memory_that_is_relaxed_orders_nothing() -> None:
    body = TILE_OF_64.replace("{release}", "red.and.relaxed.cta.b32 [%rd6], 0;").replace("acq_rel", "relaxed")
    kinds: set[str] = set()
    for seed in range(8):
        kinds |= run(
            kernel(body.replace("{other}", "128"), 1, SHARED), np.zeros(64, np.uint32), block=(64,), seed=seed
        )[0].findings.kinds()
    assert "race" in kinds


@pytest.mark.parametrize(("read", "at"), [("", 736), ("mov.u32 %r9, %reserved_smem_offset_1;", 732)])
def test_other_shared_memory_of_the_system_cannot_be_accessed(read: str, at: int) -> None:
    result, _ = run(kernel(f"{read} mov.u32 %r1, {at}; st.shared.u32 [%r1], %r1;"), np.zeros(1, np.uint32))
    assert result.findings.kinds() == {"out-of-bounds"}
