"""Programmatic dependent launch, and the fence between addresses of one memory."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, fresh_seed

from tessera_tools import sim

TEXT = """
  entry @kernel(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
    WAIT
    %x, %t1 = load_ptr_tko weak %p token=%t0 : tile<ptr<i32>> -> tile<i32>, token
    %t2 = gdc_launch_dependents_tko token = %t1 -> token
    %t3 = memory_fence_alias_tko %t2
    %t4 = store_ptr_tko weak %q, %x token=%t3 : tile<ptr<i32>>, tile<i32> -> token
    return
  }
"""
WAITING = TEXT.replace("WAIT", "%t0 = gdc_wait_tko -> token")


def _launch(text: str, target: str) -> tuple[sim.Result, int]:
    """A launch that may begin before the kernel that writes its input has ended."""
    made = compiled(text, target)
    module = sim.load(made.ptx, file="kernel.ptx")
    (kernel,) = made.manifest.kernels
    source, out = (module.memory.allocate(np.full(1, v, np.int32), n) for v, n in ((7, "source"), (0, "out")))
    with sim.unfinished(source):
        result = module.launch(
            "kernel", (1,), kernel.block, [source, out], kernel.dynamic_shared, seed=fresh_seed("schedule")
        )
    return result, int(out.array()[0])


@pytest.mark.parametrize("target", [t for t in TARGETS if t != "sm_80"])
def test_what_earlier_grids_write_is_seen_behind_the_wait(target: str) -> None:
    result, found = _launch(WAITING, target)
    assert not result.findings, result.findings.text()
    assert found == 7


def test_without_the_wait_it_is_not() -> None:
    result, _ = _launch(TEXT.replace("WAIT", "%t0 = make_token : token"), "sm_90a")
    assert result.findings


@pytest.mark.parametrize("target", TARGETS)
def test_grids_do_not_overlap_where_the_hardware_cannot(target: str) -> None:
    ptx = compiled(WAITING, target).ptx
    assert ("griddepcontrol.wait" in ptx) == (target != "sm_80")
    assert ("griddepcontrol.launch_dependents" in ptx) == (target != "sm_80")
    assert "fence.proxy.alias" in ptx
    check_tools(WAITING, target)
