"""The clock of grids whose CTAs differ in work: their sample against a simulation of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_tools import runtime
from tessera_tools.runtime.timing import Estimate
from tessera_tools.sim.clock.order import Work, corners, span

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{{
  .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %ctaid.z;
  {work}
  mul.lo.u32 %r4, %r4, 4;
  cvt.rn.f32.u32 %f0, %r0;
  mov.f32 %f1, %f0;
L:
  fma.rn.f32 %f0, %f0, %f0, %f1;
  fma.rn.f32 %f0, %f0, %f0, %f1;
  fma.rn.f32 %f0, %f0, %f0, %f1;
  sub.u32 %r4, %r4, 1;
  setp.ne.u32 %p0, %r4, 0;
  @%p0 bra L;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""
GRIDS = [
    ((8, 32, 1), "add.u32 %r4, %r1, 1;"),
    ((8, 32, 1), "sub.u32 %r4, 8, %r1;"),
    ((32, 8, 1), "add.u32 %r4, %r2, 1;"),
    ((4, 8, 8), "add.u32 %r4, %r1, %r3; add.u32 %r4, %r4, 1;"),
    ((256, 1, 1), "shr.u32 %r4, %r1, 5; sub.u32 %r4, 8, %r4;"),
]
"""256 CTAs, whose work grows or shrinks with one coordinate, or with two."""


def estimate(grid: tuple[int, int, int], work: str) -> Estimate:
    device = runtime.device("sim")
    out = device.buffer(np.zeros(32, np.float32), "out")
    kernel = device.load(KERNEL.format(work=work)).kernel("k")
    # One CTA fits on each of the 108 SMs.
    found = kernel.launch(grid, [out], block=(32,), shared=96 << 10, timing=True).estimate
    assert found is not None
    return found


@pytest.mark.parametrize(("grid", "work"), GRIDS)
def test_a_sample_takes_as_long_as_all_ctas_in_their_order(
    grid: tuple[int, int, int], work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled = estimate(grid, work)
    monkeypatch.setattr("tessera_tools.runtime.timing._MOST_CLUSTERS", 1000)
    whole = estimate(grid, work)
    assert (sampled.simulated, whole.simulated) == (2, 256)
    assert sampled.cycles == pytest.approx(whole.cycles, rel=0.04)


def test_the_work_of_a_grid_follows_from_its_corners() -> None:
    shape = (5, 7, 3)
    every = [[[3 + 2 * x + 10 * y + 100 * z for x in range(5)] for y in range(7)] for z in range(3)]
    true = np.array(every, np.float64).ravel()
    low, high = 1 + 5 * (1 + 7 * 0), 3 + 5 * (5 + 7 * 2)
    known = {number: float(true[number]) for number in (low, high, *corners(shape, low, high))}
    assert Work.of(shape, low, high, known).all() == pytest.approx(true)


def test_one_dimension_has_no_corners() -> None:
    assert corners((100, 1, 1), 25, 74) == []
    assert corners((1, 9, 1), 2, 6) == []


def test_the_time_of_each_cta_lies_on_a_line_through_two_of_them() -> None:
    work = Work.of((8, 1, 1), 2, 5, {2: 30.0, 5: 60.0})
    assert work.times((2, 5), (7.0, 13.0)) == pytest.approx([3, 5, 7, 9, 11, 13, 15, 17])


def test_no_cta_takes_less_than_no_time() -> None:
    work = Work.of((8, 1, 1), 2, 5, {2: 10.0, 5: 100.0})
    assert work.all()[:2].tolist() == [0, 0]
    times = work.times((2, 5), (1.0, 10.0))
    assert min(times) == 0
    assert times.mean() == pytest.approx(5.5)


def test_the_longest_ctas_take_longer_at_the_end_than_at_the_beginning() -> None:
    times = np.array([1.0, 1.0, 1.0, 1.0, 4.0])
    assert span(times, 2, 1.0) == 6
    assert span(times[::-1], 2, 1.0) == 4


def test_the_last_ctas_are_faster_where_they_have_the_gpu_for_themselves() -> None:
    # After 2 cycles, one of two slots is empty: the rest of the long one takes three quarters.
    assert span(np.array([2.0, 4.0]), 2, 0.5) == 2 + 2 * 0.75


def test_the_waves_before_the_last_ones_take_their_mean() -> None:
    random = np.random.default_rng(7)
    times = random.uniform(1, 3, 40_000)
    assert span(times, 100, 1.0) == pytest.approx(times.sum() / 100, rel=0.01)
