"""The clock of persistent kernels whose programs differ in work: a sample of the CTAs against all of them."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_tools import runtime
from tessera_tools.runtime.timing import Estimate
from tessera_tools.sim.clock.sample import spaced
from tessera_tools.sim.clock.tickets import Tickets

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 counter)
{{
  .reg .f32 %f<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd2, [counter];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r3, %nctaid.x;
  cvt.rn.f32.u32 %f0, %r0;
  mov.f32 %f1, %f0;
P:
  {work}
L:
  fma.rn.f32 %f0, %f0, %f0, %f1;
  fma.rn.f32 %f0, %f0, %f0, %f1;
  sub.u32 %r4, %r4, 1;
  setp.ne.u32 %p0, %r4, 0;
  @%p0 bra L;
  {next}
  setp.lt.u32 %p1, %r1, 432;
  @%p1 bra P;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd1, %rd0, %rd1;
  st.global.f32 [%rd1], %f0;
  ret;
}}
"""
"""108 CTAs run 432 programs."""
STRIDE = "add.u32 %r1, %r1, %r3;"
TICKET = """setp.eq.u32 %p2, %r0, 0;
  mov.u32 %r1, 0;
  @%p2 atom.global.add.u32 %r1, [%rd2], 1;
  shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;
  add.u32 %r1, %r1, %r3;"""
EQUAL = "sub.u32 %r4, %r3, 91;"
"""17 laps, which ptxas does not know."""
BY_PLACE = "and.b32 %r4, %r1, 15; add.u32 %r4, %r4, 1; shl.b32 %r4, %r4, 1;"
"""2 to 32 laps, 17 on average: by the place in a row of 16 programs, of which a stride of 108 meets four."""
LATER = "sub.u32 %r4, 432, %r1; shr.u32 %r4, %r4, 4; add.u32 %r4, %r4, 3;"
"""30 to 3 laps: the later ones are shorter."""


def estimate(work: str, following: str) -> Estimate:
    device = runtime.device("sim")
    arrays = [
        device.buffer(np.zeros(32, np.float32), "out"),
        device.buffer(np.zeros(1, np.uint32), "counter"),
    ]
    kernel = device.load(KERNEL.format(work=work, next=following)).kernel("k")
    # One CTA fits on each of the 108 SMs.
    found = kernel.launch((108, 1, 1), arrays, block=(32,), shared=96 << 10, timing=True).estimate
    assert found is not None
    return found


@pytest.mark.parametrize("work", [EQUAL, BY_PLACE, LATER], ids=["equal", "by place", "later ones shorter"])
def test_with_a_stride_the_longest_cta_counts(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = estimate(work, STRIDE)
    monkeypatch.setattr("tessera_tools.runtime.timing._MOST_CLUSTERS", 1000)
    whole = estimate(work, STRIDE)
    assert (sampled.simulated, whole.simulated) == (2, 108)
    assert sampled.cycles == pytest.approx(whole.cycles, rel=0.06)


def test_tickets_balance_unequal_programs() -> None:
    """All CTAs are done after as much work as with equal programs, and a part of the last one."""
    equal, unequal = (estimate(work, TICKET).cycles for work in (EQUAL, BY_PLACE))
    assert equal < unequal < 1.25 * equal


def test_the_clusters_that_tell_more_lie_at_equal_distances() -> None:
    assert spaced(132) == (16, 49, 82, 115)
    assert spaced(2) == (0, 1)


def test_every_run_of_an_estimate_counts_tickets_from_the_start() -> None:
    """Runs for one estimate count in the same memory, so that a later one finds the counter where the one before has
    left it."""
    known: dict[int, tuple[int, int]] = {}
    one = np.ones(1, np.uint32)
    for found in (0, 9):
        tickets = Tickets(132, first=known)
        given = [int(tickets.counted(5, 1 << 20, one * np.uint32(found), one)[0]) for _ in range(3)]
        assert given == [5, 137, 269]
