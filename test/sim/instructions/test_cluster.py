"""Clusters: the cluster barrier, mapa, distributed shared memory, setmaxnreg."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

SHARED = ".shared .align 8 .b32 cell;"
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


def test_setmaxnreg_waits_for_registers_and_says_how_many_are_missing() -> None:
    body = "setmaxnreg.inc.sync.aligned.u32 200;"
    result, _ = run(kernel(body), np.zeros(1), block=(384,))
    (finding,) = result.findings
    assert finding.kind == "deadlock"
    assert "registers: 1024 more for 200 per thread" in finding.notes[0]


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
