"""mbarriers of nv_tileas: copies that arrive when they are complete, and a wait for all of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from programs import fresh_seed, random, worker

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.parser import parse_module
from tessera_tools.runtime import device
from tessera_tools.target import lookup

KERNEL = """
#rows = #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0],
  [8, 0], [16, 0], [32, 0]]}>
#threads = #nv_tileas.linear<{register = [[1, 0], [2, 0], [4, 0], [8, 0]],
  lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[16, 0], [32, 0]], block = []}>
!smem = !nv_tileas.smem<1x64x32xf32, #rows>
!tile = tensor<64x32xf32, #threads>
!view = !nv_tileaa.memref<64x32xf32>
module attributes {nv_tileaa.compute_capability = CAPABILITY : i32, nv_tileaa.target_spec = "TARGET"} {
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %a = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %from = nv_tileaa.make_memref %a, shape = [64, 32], stride = [32, 1],
      space = #nv_tileaa.global : !view
    %to = nv_tileaa.make_memref %q, shape = [64, 32], stride = [32, 1],
      space = #nv_tileaa.global : !view
    %bar = nv_tileas.alloc_tensor : !nv_tileas.smem<1x1xi64>
    %tile = nv_tileas.alloc_tensor : !smem
    nv_tileas.async.mbarrier_init %bar[%zero], 128 : !nv_tileas.smem<1x1xi64>
    nv_tileas.barrier
    nv_tileas.async.tiled_copy %from[%zero, %zero], %tile[%zero]
      {atom = #cute.copy_atom<sm80_cp_async_128_f32>} : !view, !smem
    nv_tileas.async.mbarrier_arrive %bar[%zero] copies : !nv_tileas.smem<1x1xi64>
    WAIT
    nv_tileas.async.commit_group
    nv_tileas.async.wait_group 0
    %x = nv_tileas.load %tile[%zero] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !smem -> !tile
    %s = nv_tileas.tiled_store %to[%zero, %zero], %x, %t
      {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
"""
WAIT = "nv_tileas.async.mbarrier_wait %bar[%zero], %zero : !nv_tileas.smem<1x1xi64>"


def compiled(target: str, wait: str = WAIT) -> tuple[str, Manifest]:
    gpu = lookup(target)
    text = (
        KERNEL.replace("CAPABILITY", str(gpu.compute_capability))
        .replace("TARGET", gpu.cpu)
        .replace("WAIT", wait)
    )
    module = parse_module(text, "kernel.mlir")
    ptx = compile_module(module, Options(gpu, until="ptx"), worker=worker()).text("ptx")
    version: Any = re.search(r"^\.version (\S+)", ptx, re.MULTILINE)
    return ptx, Manifest(gpu.cpu, version[1], tuple(kernels_of_module(module)))


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_copies_arrive_and_the_wait_ends(target: str, mode: str) -> None:
    ptx, manifest = compiled(target)
    assert "cp.async.mbarrier.arrive.noinc.shared" in ptx
    assert "mbarrier.try_wait.parity.shared" in ptx
    x = random("f32", (64, 32), np.random.default_rng(fresh_seed()))
    gpu = device("sim", gpu_name=target, processes=1)
    source, dest = gpu.buffer(x, "x"), gpu.buffer(np.zeros_like(x), "y")
    kernel = gpu.load(ptx, manifest, file="kernel.ptx").kernel(None)
    result = kernel.launch((1,), [source, dest], seed=fresh_seed("schedule"), mode=mode)
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(dest.array(), x)


def test_an_ampere_has_no_such_wait() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compiled("sm_80")
    assert "waits with mbarrier.try_wait, which sm_80 does not support" in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            "consumers = 4 pair",
            "its stages are those of a pair of CTAs, but the kernel has no cluster of two",
        ),
        (
            "consumers = 8, peers = [1]",
            "its stages are filled together with those of peers [1], but the kernel has clusters of 1 CTA; expected "
            "peers below that number",
        ),
    ],
    ids=["pair", "peers"],
)
def test_mbarriers_need_the_ctas_that_arrive(words: str, why: str) -> None:
    """Signals would go to mbarriers of other CTAs, or of none."""
    text = f"""
module attributes {{nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"}} {{
  nv_tileaa.func @kernel() attributes {{nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>}} {{
    %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, {words}
      : !nv_tileas.pipeline_token
    nv_tileaa.return
  }}
}}
"""
    with pytest.raises(DiagnosticError) as caught:
        compile_module(parse_module(text, "kernel.mlir"), Options(lookup("sm_100a"), until="llvm"))
    assert f"Failed to init mbarrier: {why}" in caught.value.diagnostics[0].message
