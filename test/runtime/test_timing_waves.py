"""The clock of a grid of several waves: what is known of the waves that are not surveyed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from runtime.test_timing import estimate, loads

from tessera_tools.runtime.timing import Estimate, _reads_global


def rereads(surveyed: int, monkeypatch: pytest.MonkeyPatch) -> Estimate:
    """Three waves of 528 CTAs, each of which reads what the first one has read from DRAM; so many are surveyed."""
    loads = [f"  ld.global.v4.f32 {{%f2, %f3, %f4, %f0}}, [%rd3 + {512 * n}];" for n in range(4)]
    code = """  mov.u32 %r1, %ctaid.x; rem.u32 %r1, %r1, 528; shl.b32 %r1, %r1, 11; shl.b32 %r2, %r0, 4;
  add.u32 %r1, %r1, %r2; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd0, %rd3;
"""
    monkeypatch.setattr("tessera_tools.runtime.timing.MOST_SURVEYED", surveyed)
    return estimate(code + "\n".join(loads), grid=3 * 528, words=528 << 9)


def test_waves_that_are_not_surveyed_are_like_the_last_one_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    two, all_three = (rereads(waves * 528, monkeypatch) for waves in (2, 3))
    assert [one.surveyed for one in (two, all_three)] == [2 * 528, 3 * 528]
    assert two.cycles == pytest.approx(all_three.cycles)


@pytest.mark.parametrize(
    ("cluster", "grid", "near"), [(1, 70, 0.01), (2, 36, 0.01), (4, 132, 0.01), (2, 200, 0.15)]
)
def test_a_few_clusters_tell_the_time_of_all(
    cluster: int, grid: int, near: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large grid is estimated from a few of its clusters. Beyond the SMs, their waves are its mean."""
    found: list[Estimate] = []
    for most in (0, grid):
        monkeypatch.setattr("tessera_tools.runtime.timing._MOST_CLUSTERS", most)
        found.append(estimate(loads(4), threads=256, grid=grid, cluster=cluster, words=256 * grid))
    few, whole = found
    assert (few.simulated, whole.simulated) == (2 * cluster, grid)
    assert few.cycles == pytest.approx(whole.cycles, rel=near)


@pytest.mark.parametrize(
    ("instruction", "reads"),
    [
        ("ld.global.nc.L1::no_allocate.v4.u32", True),
        ("ldu.global.u32", True),
        ("cp.async.ca.shared.global", True),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", True),
        ("cp.async.bulk.global.shared::cta.bulk_group", False),
        ("st.global.u32", False),
    ],
)
def test_which_instructions_read_global_memory(instruction: str, reads: bool) -> None:
    opcode, *modifiers = instruction.split(".")
    assert _reads_global(SimpleNamespace(opcode=opcode, modifiers=modifiers)) is reads  # type: ignore[arg-type]
