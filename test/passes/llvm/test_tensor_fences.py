# ruff: noqa: E501
"""Where the fences of tensor memory stand, in agents that are written by hand."""

from __future__ import annotations

import pytest

from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.llvm.tensor_fences import TensorFences, tensor_fences

TYPES = """
#columns = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4]]}>
#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!buffer = !nv_tileas.tmem<1x128x8xf32, #columns>
!tile = tensor<128x8xf32>
!iter = !nv_tileas.pipeline_iter<i32>
!read = !nv_tileas.consumer_token
!written = !nv_tileas.producer_token
"""


def fences(text: str) -> tuple[Operation, TensorFences]:
    (function,) = parse_module(TYPES + text, "program.mlir").regions[0].entry
    return function, tensor_fences(function)


def filled(pipeline: str, buffer: str) -> str:
    """A stage of a pipeline that says that the threads have stored a buffer."""
    return f"""
    %{pipeline}a = nv_tileas.async.pipeline.producer_acquire %{pipeline}, %{pipeline}i : !written
    %{pipeline}w = nv_tileas.async.pipeline.producer_write %{pipeline}a, %{pipeline}i {{
      nv_tileas.tmem_store %t, {buffer} : !tile, !buffer
      nv_tileas.async.pipeline.yield
    }}
    nv_tileas.async.pipeline.producer_commit %{pipeline}w
"""


def awaited(pipeline: str) -> str:
    return f"""
    %{pipeline}r = nv_tileas.async.pipeline.consumer_wait %{pipeline}, %{pipeline}i, 0 : !read
    nv_tileas.async.pipeline.consumer_release %{pipeline}r
"""


def test_a_fence_outside_of_a_loop_is_none_for_the_waits_in_it() -> None:
    """The first access in the loop has its fence behind the wait before the loop; the second one, whose wait is in the
    loop, has one of its own."""
    begin = "\n".join(f"%{p}i = nv_tileas.async.pipeline.create_iterator %{p} : !iter" for p in "pq")
    function, found = fences(f"""
func.func @kernel(%t: !tile, %n: i32, %one: i32, %slot: i32) {{
  %d:2 = nv_tileas.alloc_tmem : !buffer, !buffer
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 4 : !nv_tileas.pipeline_token
  %q = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 4 : !nv_tileas.pipeline_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {{
    {begin}
    {filled("p", "%d#0")}
    scf.for %k = %n to %n step %one : i32 {{
      {filled("q", "%d#1")}
    }}
    nv_tileas.async.pipeline.yield
  }}, {{
    {begin}
    {awaited("p")}
    scf.for %k = %n to %n step %one : i32 {{
      {awaited("q")}
      %x = nv_tileas.tmem_load %d#0, slot %slot : !buffer -> !tile
      %y = nv_tileas.tmem_load %d#1, slot %slot : !buffer -> !tile
    }}
    nv_tileas.async.pipeline.yield
  }}
  nv_tileas.dealloc_tmem %d#0, %d#1 : !buffer, !buffer
  return
}}
""")
    waits = [op for op in function.walk() if op.name.endswith("consumer_wait")]
    loads = [op for op in function.walk() if op.name.endswith("tmem_load")]
    assert [op in found.after for op in waits] == [True, False]
    assert [op in found.before for op in loads] == [False, True]


GIVEN = """
    %free = nv_tileas.async.pipeline.producer_acquire %f, slot %slot phase %slot : !written
    %given = nv_tileas.async.pipeline.producer_write %free, slot %slot {
      nv_tileas.async.pipeline.yield
    }
    nv_tileas.async.pipeline.producer_commit %given
"""
ARRIVALS = """
      nv_tileas.async.pipeline.consumer_release %full products
      nv_tileas.async.pipeline.producer_commit %free
"""


def loads_with_fences(body: str, *, before: str = "", arrivals: str = ARRIVALS, stages: int = 1) -> list[str]:
    """The pipelines of the loads that have a fence before them, of an agent with a loop.

    The agent takes sums of products from %d#1 by the pipeline `o`, and what threads store to %d#0 by `s`, and fills the
    `stages` of `f` for the products.
    """
    function, found = fences(f"""
!half = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @kernel(%t: !tile, %a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %add: i1, %n: i32,
                  %slot: i32) {{
  %d:2 = nv_tileas.alloc_tmem : !buffer, !half
  %s = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 1 : !nv_tileas.pipeline_token
  %f = nv_tileas.async.pipeline.create_pipeline stages = {stages}, producers = 4, consumers = 1 : !nv_tileas.pipeline_token
  %o = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4, 4] warp_id = [0, 4, 8] {{
    scf.for %k = %n to %n step %n : i32 {{
      %full = nv_tileas.async.pipeline.consumer_wait %f, slot %slot phase %slot, 0 : !read
      %free = nv_tileas.async.pipeline.producer_acquire %o, slot %slot phase %slot : !written
      nv_tileas.async.umma %a, %b, %d#1, slot %slot accumulate %add {{atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>}} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x16x8xf16>, !half
      {arrivals}
    }}
    nv_tileas.async.pipeline.yield
  }}, {{
    %si = nv_tileas.async.pipeline.create_iterator %s : !iter
    scf.for %k = %n to %n step %n : i32 {{
      {filled("s", "%d#0")}
    }}
    nv_tileas.async.pipeline.yield
  }}, {{
    %si = nv_tileas.async.pipeline.create_iterator %s : !iter
    {before}
    scf.for %k = %n to %n step %n : i32 {{
      {body}
    }}
    nv_tileas.async.pipeline.yield
  }}
  nv_tileas.dealloc_tmem %d#0, %d#1 : !buffer, !half
  return
}}
""")
    *_, stored, sums = [op for op in function.walk() if op.name.endswith("tmem_load")]
    return [pipeline for pipeline, load in (("s", stored), ("o", sums)) if load in found.before]


STORED = f"""
      {awaited("s")}
      %x = nv_tileas.tmem_load %d#0, slot %slot : !buffer -> !tile
"""
SUMS = """
      %sums = nv_tileas.async.pipeline.consumer_wait %o, slot %slot phase %slot, 0 deferred : !read
      %y = nv_tileas.tmem_load %d#1, slot %slot : !half -> tensor<64x8xf32>
      nv_tileas.async.pipeline.consumer_release %sums
"""


def test_an_acquire_of_the_iteration_before_orders_no_later_sums() -> None:
    """The consumer takes the sums of the iteration before, and only then acquires the stage whose release came with
    them: the fence behind its wait for the stage of `s` is too early for these sums."""
    later = GIVEN.replace("free", "later").replace("given", "more")
    assert loads_with_fences(STORED + SUMS + later, before=GIVEN) == ["s", "o"]


@pytest.mark.parametrize("arrivals", [ARRIVALS, "\n".join(reversed(ARRIVALS.splitlines()))])
def test_a_fence_behind_the_acquire_of_a_stage_orders_the_sums_that_came_with_its_release(
    arrivals: str,
) -> None:
    """Whichever of the two arrivals comes first."""
    assert loads_with_fences(GIVEN + STORED + SUMS, arrivals=arrivals) == ["s"]


def test_a_stage_of_several_may_have_been_released_long_ago() -> None:
    assert loads_with_fences(GIVEN + STORED + SUMS, stages=2) == ["s", "o"]


def test_sums_that_are_awaited_at_once_have_a_fence() -> None:
    """They are those of this iteration's products."""
    assert loads_with_fences(GIVEN + STORED + SUMS.replace(" deferred", "")) == ["s", "o"]


def test_arrivals_with_an_access_between_them_are_not_together() -> None:
    release, commit = ARRIVALS.strip().splitlines()
    copy = "%z = nv_tileas.tmem_load %d#1, slot %slot : !half -> tensor<64x8xf32>"
    assert loads_with_fences(GIVEN + STORED + SUMS, arrivals="\n".join((release, copy, commit))) == ["s", "o"]
