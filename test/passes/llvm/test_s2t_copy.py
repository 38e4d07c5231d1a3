"""nv_tileas.async.s2t_copy: tiles from shared to tensor memory by tcgen05.cp, of one CTA, a pair, or two pairs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from programs import Compiled, assembled, fresh_seed, launch_ptx, random, worker

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType, TmemType, umma_layout
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.ir.types import F32
from tessera_tools.layout.shared import swizzled
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline
from tessera_tools.target import lookup

TARGET = "sm_100a"
SHAPE = (128, 32)
KERNEL = """
#threads = #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]],
  lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
!smem = SMEM
!tmem = TMEM
!bar = !nv_tileas.smem<1x1xi64>
!tile = tensor<128x32xf32, #threads>
!view = !nv_tileaa.memref<?x32xf32>
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %rows: i32) attributes {
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [CLUSTER, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %many = arith.constant 128 : i32
    %x = nv_tileas.cta_rank : i32
    %begin = arith.muli %x, %many : i32
    %a = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %b = nv_tileaa.assume %q {divisor = 16 : i64} : !llvm.ptr<1>
    %from = nv_tileaa.make_memref %a, shape = [%rows, 32], stride = [32, 1], space = #nv_tileaa.global : !view
    %to = nv_tileaa.make_memref %b, shape = [%rows, 32], stride = [32, 1], space = #nv_tileaa.global : !view
    %bar = nv_tileas.alloc_tensor : !bar
    %tile = nv_tileas.alloc_tensor {nv_tileas.align = 1024 : i64} : !smem
    %d = nv_tileas.alloc_tmem PAIR : !tmem
    nv_tileas.async.mbarrier_init %bar[%zero], 1 : !bar
    %v, %vt = nv_tileas.tiled_load %from[%begin, %zero], %t
      {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !tile, !nv_tileaa.mem_token
    nv_tileas.store %v, %tile[%zero] {atom = #cute.copy_atom<sm80_sts_32_f32>} : !tile, !smem
    nv_tileas.fence_proxy
    nv_tileas.async.s2t_copy %tile, %d, %bar[%zero] {atom = #cute_nvgpu.s2t_copy<ATOM>} : !smem, !tmem, !bar
    nv_tileas.async.mbarrier_wait %bar[%zero], %zero : !bar
    %w = nv_tileas.tmem_load %d, slot %zero : !tmem -> !tile
    %s = nv_tileas.tiled_store %to[%begin, %zero], %w, %t
      {atom = #cute.copy_atom<sm80_stg_128_f32>} : !tile, !view, !nv_tileaa.mem_token
    nv_tileas.dealloc_tmem %d : !tmem
    nv_tileaa.return
  }
}
"""


def text(
    ctas: int, cluster: int | None = None, shape: str = "shape_128x256b", pair: bool | None = None
) -> str:
    """The kernel: each CTA copies its 128 rows."""
    cluster = ctas if cluster is None else cluster
    smem = SmemType((1, *SHAPE), F32, SharedAttr(swizzled(SHAPE, 32, (1, 0), 128)))
    words = {
        "SMEM": str(smem),
        "TMEM": str(TmemType((1, *SHAPE), F32, umma_layout(SHAPE, 128))),
        "CLUSTER": str(cluster),
        "PAIR": "pair" if (ctas > 1 if pair is None else pair) else "",
        "ATOM": f"{shape}, ctas = {ctas}",
    }
    found = KERNEL
    for word, meaning in words.items():
        found = re.sub(rf"\b{word}\b", lambda _, meaning=meaning: meaning, found)
    return found


PASSES = (
    "tileas-insert-barriers,convert-nv-tile-func-to-llvm,convert-tileas-to-llvm,reconcile-unrealized-casts"
)
"""Those behind plan-cta: the program says itself what each CTA does."""


def compiled(program: str) -> Compiled:
    module = parse_module(program, "kernel.mlir")
    PassManager(parse_pipeline(f"builtin.module({PASSES})")).run(module)
    ptx = compile_module(module, Options(lookup(TARGET), until="ptx"), worker=worker()).text("ptx")
    version = re.search(r"^\.version (\S+)", ptx, re.MULTILINE)
    assert version is not None
    return Compiled(ptx, Manifest(TARGET, version[1], tuple(kernels_of_module(module))))


@pytest.mark.parametrize(("ctas", "cluster"), [(1, 1), (2, 2), (2, 4), (4, 4)])
@pytest.mark.parametrize("shape", ["shape_128x256b", "shape_128x128b"])
def test_each_cta_gets_its_own_tile(ctas: int, cluster: int, shape: str) -> None:
    made = compiled(text(ctas, cluster, shape))
    group = 2 if ctas > 1 else 1
    bits = 256 if "256" in shape else 128
    assert len(re.findall(rf"tcgen05\.cp\.cta_group::{group}\.128x{bits}b", made.ptx)) == 32 * 32 // bits
    x = random("f32", (128 * cluster, 32), np.random.default_rng(fresh_seed()))
    for mode in ("late", "early"):
        found, result = launch_ptx(
            made, [x, np.zeros_like(x), np.int32(len(x))], TARGET, (cluster,), file="k.ptx", mode=mode,
            seed=fresh_seed("schedule"),
        )  # fmt: skip
        assert not result.findings, result.findings.text("k")
        np.testing.assert_array_equal(found[1], x)


@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_every_synchronization_is_needed(ctas: int) -> None:
    """Without the barrier, the fences, the commit or the wait, something is wrong in one of the modes."""
    made = compiled(text(ctas))
    x = random("f32", (128 * ctas, 32), np.random.default_rng(fresh_seed()))

    def is_found(ptx: str) -> bool:
        for mode, seed in product(("late", "early"), range(2)):
            try:
                found, result = launch_ptx(
                    replace(made, ptx=ptx), [x, np.zeros_like(x), np.int32(len(x))], TARGET, (ctas,),
                    file="mutant.ptx", mode=mode, seed=seed, max_instructions=20_000,
                )  # fmt: skip
            except DiagnosticError:
                return True
            if result.findings or not np.array_equal(found[1], x):
                return True
        return False

    assert not is_found(made.ptx)
    lines = made.ptx.split("\n")
    names = r"\s*(barrier\.cluster|fence\.proxy|tcgen05\.commit|tcgen05\.wait|mbarrier\.init)"
    numbers = [number for number, line in enumerate(lines) if re.match(names, line)]
    kept = [lines[n].strip() for n in numbers if not is_found("\n".join([*lines[:n], *lines[n + 1 :]]))]
    assert len(numbers) >= 4 and kept == []


@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_ptxas_assembles_it_without_a_warning(ctas: int) -> None:
    for target in (TARGET, "sm_103a"):
        ptx = compiled(text(ctas)).ptx.replace(f".target {TARGET}", f".target {target}")
        used = assembled(ptx, target)
        assert used.report is not None and used.warnings == []


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (
            text(2, 1),
            "Failed to init mbarrier: 2 CTAs copy together, but the kernel has clusters of 1; expected a ",
        ),
        (
            text(4, 2),
            "Failed to init mbarrier: 4 CTAs copy together, but the kernel has clusters of 2; expected a ",
        ),
        (text(2, pair=False), "copies by 2 CTAs to a buffer that is not allocated for pairs; all tcgen05"),
        (text(1, 2, pair=True), "copies by 1 CTA to a buffer that is allocated for pairs; all tcgen05"),
    ],
    ids=["no pair", "no second pair", "a buffer of one CTA", "a buffer of a pair"],
)
def test_copies_that_cannot_be_done(program: str, why: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compiled(program)
    assert why in caught.value.diagnostics[0].message
