"""Gangs: warps that run together get what they get one by one, and part where they must."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

from tessera_tools.sim import machine
from tessera_tools.sim.gang import Gang

FAR = """
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd8, %rd0, %rd9;
"""
TILE = ".shared .align 16 .b8 tile[4096];"
MIXED = (
    FAR
    + """
  ld.global.u32 %r1, [%rd8]; cvt.rn.f32.u32 %f0, %r1; fma.rn.f32 %f1, %f0, 0f3FC00000, 0f3E800000; sqrt.rn.f32 %f2, %f1;
  div.full.f32 %f2, %f2, 0f40400000; cvt.rzi.u32.f32 %r2, %f2; setp.gt.u32 %p0, %r1, 100; @%p0 add.u32 %r2, %r2, 7;
  prmt.b32 %r3, %r2, %r1, 0x5140; brev.b32 %r4, %r3; mov.b64 %rd2, {%r4, %r3}; mov.b64 {%r5, %r6}, %rd2;
  shfl.sync.bfly.b32 %r7, %r5, 3, 31, -1; mov.u32 %r8, tile; shl.b32 %r9, %r0, 2; add.u32 %r8, %r8, %r9;
  xor.b32 %r7, %r7, %r6; st.shared.u32 [%r8], %r7; bar.sync 0; ld.shared.u32 %r10, [%r8]; mov.u32 %r11, 0;
LOOP: add.u32 %r10, %r10, %r11; add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 5; @%p1 bra LOOP;
  mov.u32 %r12, %warpid; add.u32 %r10, %r10, %r12; st.global.u32 [%rd8], %r10;
"""
)
PRODUCTS = """
  mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f9, %r0;
  cvt.rn.f16x2.f32 %r1, %f9, %f9; add.u32 %r2, %r1, 5; mov.u32 %r3, %r1; mov.u32 %r4, %r2; mov.u32 %r5, %r2;
  mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f9; mov.f32 %f3, %f0; mov.f32 %f4, %f9; mov.f32 %f5, %f0;
  mov.f32 %f6, %f0; mov.f32 %f7, %f0;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r1,%r5}, {%f0,%f1,%f2,%f3};
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7}, {%r1,%r2,%r3,%r4}, {%r5,%r1}, {%f4,%f5,%f6,%f7};
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r4,%r2,%r3,%r1}, {%r5,%r1}, {%f4,%f5,%f6,%f7};
  add.f32 %f0, %f0, %f4; add.f32 %f1, %f1, %f5; add.f32 %f0, %f0, %f2; add.f32 %f1, %f1, %f3; add.f32 %f0, %f0, %f1;
  mul.wide.u32 %rd9, %r0, 4; add.s64 %rd8, %rd0, %rd9; st.global.f32 [%rd8], %f0;
"""

TILES = """
  mov.u32 %r0, %tid.x; ld.global.u32 %r1, [%rd0]; mad.lo.u32 %r1, %r1, %r0, %r0; xor.b32 %r2, %r1, %r0;
  mov.u32 %r8, tile; shl.b32 %r9, %r0, 4; add.u32 %r8, %r8, %r9;
  stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r8], {%r0, %r1, %r2, %r9};
  stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r8], {%r2, %r1};
  bar.sync 0; ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r8];
  add.u32 %r3, %r3, %r4; mad.lo.u32 %r3, %r3, 5, %r5; mad.lo.u32 %r3, %r3, 3, %r6;
  mul.wide.u32 %rd9, %r0, 4; add.s64 %rd8, %rd0, %rd9; st.global.u32 [%rd8], %r3;
"""


def outcome(
    monkeypatch: pytest.MonkeyPatch, share: float, body: str, words: np.ndarray, **more: object
) -> list[int]:
    monkeypatch.setattr(machine, "_TOGETHER", share)
    result, (out,) = run(kernel(body, 1, TILE), words, block=(len(words),), **more)
    assert not result.findings, result.findings.text()
    return [result.instructions, *out.view(np.uint32).tolist()]


@pytest.mark.parametrize(
    "body", [MIXED, PRODUCTS, TILES], ids=["registers and memory", "products", "matrices"]
)
@pytest.mark.parametrize("warps", [2, 5])
def test_a_gang_computes_what_its_warps_compute(
    body: str, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = int(np.random.default_rng().integers(1 << 30))
    print("seed", seed)
    words = np.random.default_rng(seed).integers(0, 1 << 10, 32 * warps).astype(np.uint32)
    assert outcome(monkeypatch, 1.0, body, words) == outcome(monkeypatch, 0.0, body, words)


def test_warps_that_run_together_and_store_to_one_address_are_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_TOGETHER", 1.0)
    body = "mov.u32 %r0, %tid.x; mov.u32 %r1, tile; st.shared.u32 [%r1], %r0; st.global.u32 [%rd0], %r0;"
    result, _ = run(kernel(body, 1, TILE), np.zeros(1, np.uint32), block=(128,))
    assert [finding.kind for finding in result.findings] == ["race", "race"]


def test_a_gang_reads_nothing_that_is_out_of_bounds_or_was_never_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "_TOGETHER", 1.0)
    body = FAR + "ld.global.u32 %r1, [%rd8]; mov.u32 %r2, tile; ld.shared.u32 %r3, [%r2];"
    result, _ = run(kernel(body, 1, TILE), np.zeros(100, np.uint32), block=(128,))
    assert result.findings.kinds() == {"out-of-bounds", "uninitialized"}
    (outside,) = [finding for finding in result.findings if finding.kind == "out-of-bounds"]
    assert outside.count == 28


def test_warps_part_at_a_branch_that_only_some_take(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        FAR
        + """
  setp.lt.u32 %p0, %r0, 64; mov.u32 %r1, 1; @%p0 bra LOW; mov.u32 %r1, 2; bra JOIN;
LOW: and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra JOIN; mov.u32 %r1, 3;
JOIN: bar.sync 0; st.global.u32 [%rd8], %r1;
"""
    )
    words = np.zeros(128, np.uint32)
    got = outcome(monkeypatch, 1.0, body, words)
    assert got[1:] == [1, 3] * 32 + [2] * 64


def test_warps_that_have_parted_meet_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warps 0 and 2 take a longer way, in part with half of their lanes; behind it, all four go on together."""
    monkeypatch.setattr(machine, "_TOGETHER", 1.0)
    sizes: list[int] = []
    ordinary = machine.Cluster.run_gang

    def watched(cluster: machine.Cluster, gang: Gang, *rest: int) -> None:
        sizes.append(len(gang.warps))
        ordinary(cluster, gang, *rest)

    monkeypatch.setattr(machine.Cluster, "run_gang", watched)
    body = (
        FAR
        + """
  mov.u32 %r1, %warpid; and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra JOIN;
  setp.lt.u32 %p1, %r0, 80; add.u32 %r1, %r1, 7; @%p1 bra JOIN; add.u32 %r1, %r1, 70;
JOIN: add.u32 %r1, %r1, 1; st.global.u32 [%rd8], %r1;
"""
    )
    result, (out,) = run(kernel(body), np.zeros(128, np.uint32), block=(128,))
    assert not result.findings
    assert out.tolist() == [8] * 32 + [2] * 32 + [10] * 16 + [80] * 16 + [4] * 32
    assert sizes == [4, 4]


def test_a_barrier_of_the_whole_cta_is_met_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        FAR
        + """
  mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; mov.u32 %r5, 0;
LOOP: st.shared.u32 [%r2], %r0; bar.sync 0; xor.b32 %r3, %r0, 96; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;
  ld.shared.u32 %r4, [%r3]; bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 3; @%p0 bra LOOP;
  st.global.u32 [%rd8], %r4;
"""
    )
    words = np.zeros(128, np.uint32)
    together = outcome(monkeypatch, 1.0, body, words)
    assert together == outcome(monkeypatch, 0.0, body, words)
    assert together[1:] == [lane ^ 96 for lane in range(128)]
