"""Clusters: the cluster barrier, mapa, distributed shared memory, setmaxnreg."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

SHARED = ".shared .align 8 .b64 cell;"
BARRIER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
NEIGHBOR = """
  mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, cell; add.u32 %r2, %r0, 10; st.shared.u32 [%r1], %r2;
  {before}
  xor.b32 %r3, %r0, 1; mapa.shared::cluster.u32 %r4, %r1, %r3; ld.shared::cluster.u32 %r5, [%r4];
  mul.wide.u32 %rd1, %r0, 4; add.s64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], %r5;
  {after}
"""


def neighbors(before: str, after: str, seed: int = 0) -> tuple[set[str], list[int]]:
    text = kernel(NEIGHBOR.format(before=before, after=after), module=SHARED)
    result, (out,) = run(text, np.zeros(2, np.uint32), grid=(2,), block=(1,), cluster=(2, 1, 1), seed=seed)
    return result.findings.kinds(), out.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_cta_reads_its_neighbors_shared_memory(seed: int) -> None:
    assert neighbors(BARRIER, BARRIER, seed) == (set(), [11, 10])


@pytest.mark.parametrize("seed", range(3))
def test_without_the_barrier_before_it_is_a_race(seed: int) -> None:
    assert "race" in neighbors("", BARRIER, seed)[0]


@pytest.mark.parametrize("seed", range(3))
def test_without_the_barrier_after_the_other_cta_may_be_gone(seed: int) -> None:
    assert "race" in neighbors(BARRIER, "", seed)[0]


def test_a_relaxed_arrive_orders_nothing() -> None:
    relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"
    assert "race" in neighbors(relaxed, BARRIER)[0]


def test_a_barrier_that_one_cta_skips_is_a_deadlock_that_names_it() -> None:
    body = """
  mov.u32 %r0, %cluster_ctarank; setp.eq.u32 %p0, %r0, 1;
  @%p0 bra OTHER;
  barrier.cluster.arrive; barrier.cluster.wait; bra DONE;
OTHER: bar.sync 1, 64;
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1), grid=(2,), block=(32,), cluster=(2, 1, 1))
    (finding,) = result.findings
    assert any("the cluster barrier, generation 0: warp 0 of CTA (1, 0, 0)" in note for note in finding.notes)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("barrier.cluster.wait;", "without a barrier.cluster.arrive"),
        ("barrier.cluster.arrive; barrier.cluster.arrive;", "twice"),
    ],
)
def test_misuse_of_the_cluster_barrier_is_found(body: str, message: str) -> None:
    result, _ = run(kernel(body), np.zeros(1), block=(1,))
    assert any(finding.kind == "barrier" and message in finding.message for finding in result.findings)


def test_getctarank_undoes_mapa() -> None:
    body = """
  mov.u32 %r1, cell; mapa.shared::cluster.u32 %r4, %r1, 1; getctarank.shared::cluster.u32 %r5, %r4;
  st.global.u32 [%rd0], %r5;
"""
    result, (out,) = run(
        kernel(body, module=SHARED), np.zeros(1, np.uint32), grid=(2,), block=(1,), cluster=(2, 1, 1)
    )
    assert not result.findings
    assert out[0] == 1


def cluster_of_two(body: str) -> tuple[list[str], list[int]]:
    """The messages of the findings, and a word of each CTA, which writes it to [%rd2]."""
    begin = "mov.u32 %r0, %cluster_ctarank; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd2, %rd0, %rd1;"
    text = kernel(begin + body, module=SHARED)
    result, (out,) = run(text, np.zeros(2, np.uint32), grid=(2,), block=(1,), cluster=(2, 1, 1))
    return [finding.message for finding in result.findings], out.tolist()


def test_an_address_of_shared_memory_holds_the_rank_of_its_cta() -> None:
    body = "mov.u32 %r1, cell; st.global.u32 [%rd2], %r1;"
    assert cluster_of_two(body) == ([], [0x400, 0x1000400])


def test_mapa_to_its_own_cta_changes_nothing() -> None:
    body = """mov.u32 %r1, cell; mapa.shared::cluster.u32 %r4, %r1, %r0; sub.u32 %r5, %r4, %r1;
  st.global.u32 [%rd2], %r5;"""
    assert cluster_of_two(body) == ([], [0, 0])


def test_a_shared_access_does_not_reach_another_cta() -> None:
    body = "mov.u32 %r1, cell; and.b32 %r1, %r1, 0xfeffffff; st.shared.u32 [%r1], %r0;"
    (message,), _ = cluster_of_two(body)
    assert message.startswith(
        "4 bytes of the shared memory of CTA 0 of the cluster, by CTA 1: only accesses of .shared::c"
    )


def test_clearing_the_lowest_bit_of_the_rank_signals_the_even_cta() -> None:
    """As CUTLASS does for pairs of CTAs."""
    init = "mbarrier.init.shared::cta.b64 [%r1], 2; fence.mbarrier_init.release.cluster;"
    body = f"""mov.u32 %r1, cell; {init} {BARRIER}
  and.b32 %r2, %r1, 0xfeffffff; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
  setp.ne.u32 %p0, %r0, 0; @%p0 bra DONE;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;
  st.global.u32 [%rd2], 7;
DONE: {BARRIER}"""
    assert cluster_of_two(body) == ([], [7, 0])


def test_isspacep_knows_the_window_of_its_own_cta() -> None:
    body = """cvta.shared.u64 %rd3, cell; mapa.u64 %rd4, %rd3, 1;
  isspacep.shared::cta %p0, %rd4; selp.u32 %r1, 1, 0, %p0; isspacep.shared::cluster %p0, %rd4; selp.u32 %r2, 2, 0, %p0;
  add.u32 %r1, %r1, %r2; st.global.u32 [%rd2], %r1;"""
    assert cluster_of_two(body) == ([], [2, 3])


def test_setmaxnreg_waits_for_registers_and_says_how_many_are_missing() -> None:
    body = "setmaxnreg.inc.sync.aligned.u32 200;"
    result, _ = run(kernel(body), np.zeros(1), block=(384,))
    (finding,) = result.findings
    assert finding.kind == "deadlock"
    assert "registers: 1024 more for 200 per thread" in finding.notes[0]


@pytest.mark.parametrize(("few", "expected"), [(32, []), (40, ["deadlock"])])
def test_setmaxnreg_gives_what_the_cta_was_launched_with(few: int, expected: list[str]) -> None:
    """640 threads have 96 registers each: what is left of the register file is not theirs."""
    body = f"""
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 128; @%p0 bra FEW;
  setmaxnreg.inc.sync.aligned.u32 112; bra.uni DONE;
FEW:
  setmaxnreg.dec.sync.aligned.u32 {few};
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1), block=(640,))
    assert [finding.kind for finding in result.findings] == expected


def test_setmaxnreg_of_part_of_a_warpgroup_is_found() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 32; @%p0 bra DONE;
  setmaxnreg.dec.sync.aligned.u32 40;
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1), block=(128,))
    (finding,) = result.findings
    assert finding.kind == "illegal"
    assert "all warps of a warpgroup" in finding.message
