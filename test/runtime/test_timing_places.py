"""The clock's survey of CTAs that read at places which they have loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools.runtime import device

ROOT = Path(__file__).resolve().parents[2]
PASSED = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 data)
{
  .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  .shared .align 4 .b32 place;
  mov.u32 %r0, %tid.x;
  setp.ge.u32 %p0, %r0, 32;
  @!%p0 bra READS;
  ld.param.u64 %rd0, [table];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd2, %rd0, %rd1;
  ld.global.u32 %r2, [%rd2];
  st.shared.u32 [place], %r2;
  bar.sync 0;
  ret;
READS:
  bar.sync 0;
  ld.shared.u32 %r3, [place];
  mad.lo.u32 %r3, %r3, 1024, %r0;
  ld.param.u64 %rd3, [data];
  mul.wide.u32 %rd4, %r3, 4;
  add.u64 %rd5, %rd3, %rd4;
  mov.u32 %r4, 0;
L:
  ld.global.f32 %f0, [%rd5];
  add.u64 %rd5, %rd5, 128;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, 32;
  @%p1 bra L;
  st.global.f32 [%rd5], %f0;
  ret;
}
"""


@pytest.mark.parametrize("shared_by", [1, 8])
def test_a_place_that_another_warp_has_loaded(shared_by: int) -> None:
    """The CTAs that run at the same time and read the same page share it, whatever the table says."""
    sim = device("sim")
    pages = np.random.default_rng(0).permutation(512).astype(np.int32)
    table = sim.buffer(pages[np.arange(512) // shared_by], "table")
    data = sim.buffer(np.zeros(513 * 1024, np.float32), "data")
    found = sim.load(PASSED).kernel("k").launch((512,), [table, data], block=(64,), timing=True).estimate
    assert found is not None
    read, stored, numbers = 512 * 4096, 512 * 128, 512 * 32
    moved = found.timeline.dram_bytes * found.scale
    assert moved == pytest.approx(read / shared_by + stored, rel=0.1, abs=numbers)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_a_product_is_not_surveyed_until_it_stores(target: str) -> None:
    """All CTAs run until their first loads, and none to its bulk stores, behind the loop: factors that L2 holds are
    loaded once."""
    kernel = tt.compile(str(ROOT / "test/corpus/gemm_f16_64x64x32.mlir"), target)
    a, b = np.zeros((1024, 2048), np.float16), np.zeros((2048, 1024), np.float16)
    c = np.zeros((1024, 1024), np.float16)
    found = kernel[16, 16](a, b, c, timing=True).estimate
    assert found is not None
    assert ".global.shared::cta" in kernel.ptx
    assert found.timeline.dram_bytes * found.scale == pytest.approx(a.nbytes + b.nbytes + c.nbytes, rel=0.15)
