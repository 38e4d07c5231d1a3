"""The advice of --timing: one sentence for each thing that may bound a kernel."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tessera_tools.runtime import timing_report
from tessera_tools.runtime.timing import Estimate
from tessera_tools.runtime.timing_report import advice, warp_lines
from tessera_tools.sim.clock.timeline import Timeline, WarpTime
from tessera_tools.target import lookup
from tessera_tools.target.timing import timing


def example(
    *,
    busy: dict[str, float] | None = None,
    stalls: dict[str, float] | None = None,
    role: str = "warps",
    **more: Any,
) -> Estimate:
    """An estimate of 1000 cycles on one SM: the busy part of units, and the part of their time that warps wait."""
    table = timing(lookup("sm_90"))
    assert table is not None
    timeline = Timeline(cycles=1000, sms=1)
    for unit, part in (busy or {}).items():
        timeline.busy[unit] = 1000 * part * (1 if unit in ("l2", "dram", "shared") else 4)
    warp = WarpTime(0, 0, role, 0.0, 1000.0, 100.0)
    for what, part in (stalls or {}).items():
        warp.stalls[what] = 1000 * part
    timeline.warps.append(warp)
    for name in ("stages", "stage_bytes", "copies"):
        if name in more:
            setattr(timeline, name, more.pop(name))
    made = Estimate(
        lookup("sm_90"), table, timeline, "SASS", "", Counter(), 32, ctas=1000, waves=8.0, cycles=8000
    )
    for name, value in more.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ctas": 16}, "16 CTAs use 16 of 132 SMs: smaller tiles, or a split of the reduction, would use more"),
        ({"ctas": 1}, "1 CTA uses 1 of 132 SMs: smaller tiles, or a split of the reduction, would use more"),
        ({"busy": {"tensor": 0.9}}, "the tensor cores bound the kernel (90% busy)"),
        ({"busy": {"dram": 0.8}}, "DRAM bandwidth bounds the kernel (80% busy)"),
        ({"busy": {"l2": 0.7}}, "L2 bandwidth bounds the kernel (70% busy)"),
        ({"busy": {"shared": 0.7}}, "shared memory bounds the kernel (70% busy)"),
        ({"busy": {"issue": 0.7}}, "the issue slots bound the kernel (70% busy)"),
        ({"busy": {"special": 0.7}}, "the MUFU bounds the kernel (70% busy)"),
        ({"busy": {"fma": 0.7}}, "the FMA units bound the kernel (70% busy)"),
        ({"busy": {"alu": 0.7}}, "integer and logic operations bound the kernel (70% busy)"),
        ({"waves": 1.2}, "the last of 1.20 waves fills 20% of the SMs"),
        ({"busy": {"multiply": 0.7}}, "integer products bound the kernel (70% busy): simpler addresses"),
        ({"busy": {"half": 0.7}}, "packed f16 operations bound the kernel (70% busy)"),
        ({"busy": {"convert": 0.7}}, "conversions bound the kernel (70% busy)"),
        ({"busy": {"shuffle": 0.7}}, "shuffles bound the kernel (70% busy): more elements in each thread"),
        ({"busy": {"double": 0.7}}, "the FP64 units bound the kernel (70% busy): f32 would be faster"),
        ({"stalls": {"memory": 0.5}}, "warps wait 50% of their time for global memory: larger tiles or more CTAs"),
        ({"stalls": {"memory": 0.5}, "copies": True}, "warps wait 50% of their time for copies: more stages"),
        ({"stalls": {"barrier": 0.5}}, "warps wait 50% of their time for barriers"),
        ({"stalls": {"shared": 0.5}}, "warps wait 50% of their time for shared memory"),
        ({"stalls": {"tensor": 0.5}}, "warps wait 50% of their time for products"),
        ({"stalls": {"arithmetic": 0.5}}, "warps wait 50% of their time for arithmetic"),
        ({"stalls": {"empty": 0.5}}, "warps wait 50% of their time for an mbarrier that other warps signal"),
        ({"stalls": {"flag": 0.5}}, "warps wait 50% of their time for what other CTAs write"),
        ({"stalls": {"issue": 0.5}}, "warps wait 50% of their time for issue slots"),
        ({}, "nothing is waited for"),
        (
            {"stalls": {"full": 0.31}, "role": "consumer", "stages": 3, "stage_bytes": 32768.0, "shared": 98304},
            "consumers wait 31% for stage 'full': raise --num-stages to 4 (+32 KiB)",
        ),
        (
            {"stalls": {"full": 0.31}, "role": "consumer", "stages": 4, "stage_bytes": 49152.0, "shared": 196608},
            "consumers wait 31% for stage 'full': shared memory has no room for stage 5 (48 KiB)",
        ),
    ],
)  # fmt: skip
def test_the_advice_names_what_bounds_the_kernel(given: dict[str, Any], said: str) -> None:
    assert advice(example(**given)).startswith(said)


def test_every_advice_is_tested() -> None:
    marks = test_the_advice_names_what_bounds_the_kernel.pytestmark  # type: ignore[attr-defined]
    given = [one for one, _ in marks[0].args[1]]
    assert {unit for one in given for unit in one.get("busy", {})} == set(timing_report._ABOUT_UNIT)
    assert {what for one in given for what in one.get("stalls", {})} == {*timing_report._ABOUT_WAIT, "full"}


def test_a_long_list_of_warps_ends() -> None:
    made = example(stalls={"memory": 0.5})
    made.timeline.warps *= 100
    assert len(warp_lines(made)) == 65
    assert warp_lines(made)[-1] == "  36 more warps are in the JSON of --timing=FILE"
