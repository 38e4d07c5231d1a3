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
LANES = 128
ROWS = {
    "shape_128x256b": 128,
    "shape_128x128b": 128,
    "shape_64x128b, warpx2_02_13": 64,
    "shape_64x128b, warpx2_01_23": 64,
    "shape_32x128b, warpx4": 32,
    "shape_4x256b": 4,
}
"""Shapes with their multicasts → rows of the source."""
BITS = re.compile(r"x(\d+)b")
KERNEL = """
#threads = #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]],
  lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#few = #nv_tileas.linear<FEW>
!smem = SMEM
!tmem = TMEM
!bar = !nv_tileas.smem<1x1xi64>
!tile = tensor<128x32xf32, #threads>
!few = tensor<ROWSx32xf32, #few>
!view = !nv_tileaa.memref<?x32xf32>
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %rows: i32) attributes {
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [CLUSTER, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %many = arith.constant 128 : i32
    %rows_in = arith.constant ROWS : i32
    %x = nv_tileas.cta_rank : i32
    %first = arith.muli %x, %rows_in : i32
    %begin = arith.muli %x, %many : i32
    %a = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %b = nv_tileaa.assume %q {divisor = 16 : i64} : !llvm.ptr<1>
    %from = nv_tileaa.make_memref %a, shape = [%rows, 32], stride = [32, 1], space = #nv_tileaa.global : !view
    %to = nv_tileaa.make_memref %b, shape = [%rows, 32], stride = [32, 1], space = #nv_tileaa.global : !view
    %bar = nv_tileas.alloc_tensor : !bar
    %tile = nv_tileas.alloc_tensor {nv_tileas.align = 1024 : i64} : !smem
    %d = nv_tileas.alloc_tmem PAIR : !tmem
    nv_tileas.async.mbarrier_init %bar[%zero], 1 : !bar
    %v, %vt = nv_tileas.tiled_load %from[%first, %zero], %t
      {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !few, !nv_tileaa.mem_token
    nv_tileas.store %v, %tile[%zero] {atom = #cute.copy_atom<sm80_sts_32_f32>} : !few, !smem
    BEFORE
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
    ctas: int,
    cluster: int | None = None,
    shape: str = "shape_128x256b",
    pair: bool | None = None,
    source_format: str = "",
) -> str:
    """The kernel: each CTA copies its rows, over ones."""
    cluster = ctas if cluster is None else cluster
    rows = ROWS[shape]
    smem = SmemType((1, rows, 32), F32, SharedAttr(swizzled((rows, 32), 32, (1, 0), 128)))
    # A thread has a row; with fewer rows than threads, several have the same.
    along = [[step, 0] if step < rows else [0, 0] for step in (1, 2, 4, 8, 16, 32, 64)]
    along_row = "register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]"
    few = f"{{{along_row}, lane = {along[:5]}, warp = {along[5:]}, block = []}}"
    before = (
        "%ones = arith.constant dense<1.0> : !tile\n    nv_tileas.tmem_store %ones, %d : !tile, !tmem"
        if rows == 4
        else ""
    )
    words = {
        "SMEM": str(smem),
        "TMEM": str(TmemType((1, *SHAPE), F32, umma_layout(SHAPE, 128))),
        "CLUSTER": str(cluster),
        "PAIR": "pair" if (ctas > 1 if pair is None else pair) else "",
        "ATOM": f"{shape}, ctas = {ctas}{', ' + source_format if source_format else ''}",
        "FEW": few,
        "ROWSx32xf32": f"{rows}x32xf32",
        "ROWS": str(rows),
        "BEFORE": before,
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
@pytest.mark.parametrize("shape", ROWS)
def test_each_cta_gets_its_own_tile(ctas: int, cluster: int, shape: str) -> None:
    made = compiled(text(ctas, cluster, shape))
    group = 2 if ctas > 1 else 1
    size, _, multicast = shape.removeprefix("shape_").partition(", ")
    word = f"{size}.{multicast.replace('_', '::', 1)}" if multicast else size
    bits = BITS.search(shape)
    assert bits is not None
    assert made.ptx.count(f"tcgen05.cp.cta_group::{group}.{word} ") == 32 * 32 // int(bits[1])
    x = random("f32", (ROWS[shape] * cluster, 32), np.random.default_rng(fresh_seed()))
    check(made, shape, cluster, x, x)


def check(made: Compiled, shape: str, cluster: int, x: np.ndarray, copied: np.ndarray) -> None:
    """Launch with the source `x`; each CTA stores the 128 lanes that its rows of `copied` are copied to."""
    rows = ROWS[shape]
    expected = np.ones((cluster, LANES, 32), np.float32)
    for cta in range(cluster):
        for row in range(rows):
            expected[cta, lanes_of(shape, row)] = copied[rows * cta + row]
    out = np.zeros((LANES * cluster, 32), np.float32)
    for mode in ("late", "early"):
        found, result = launch_ptx(
            made, [x, out, np.int32(LANES * cluster)], TARGET, (cluster,), file="k.ptx", mode=mode,
            seed=fresh_seed("schedule"),
        )  # fmt: skip
        assert not result.findings, result.findings.text("k")
        np.testing.assert_array_equal(found[1].view(np.uint32), expected.reshape(out.shape).view(np.uint32))


def lanes_of(shape: str, row: int) -> list[int]:
    """The lanes that get a row (PTX ISA, "tcgen05.cp")."""
    if "4x256b" in shape and ROWS[shape] == 4:
        return [32 * row]
    if "02_13" in shape:
        return [row, row + 64]
    if "01_23" in shape:
        return [row % 32 + 64 * (row // 32) + part for part in (0, 32)]
    return [row + 32 * part for part in range(4)] if "warpx4" in shape else [row]


@pytest.mark.parametrize("shape", ["shape_128x128b", "shape_64x128b, warpx2_01_23", "shape_32x128b, warpx4"])
@pytest.mark.parametrize(("source_format", "bits"), [("b6x16_p32", 6), ("b4x16_p64", 4)])
@pytest.mark.parametrize("ctas", [1, 2])
def test_packed_elements_become_bytes(shape: str, source_format: str, bits: int, ctas: int) -> None:
    """16 elements lie in 16 bytes, the first in the lowest bits."""
    made = compiled(text(ctas, shape=shape, source_format=source_format))
    assert f".b8x16.{source_format} " in made.ptx
    rng = np.random.default_rng(fresh_seed())
    elements = rng.integers(0, 1 << bits, (ROWS[shape] * ctas, 8, 16)).astype(np.uint8)
    packed = np.zeros((len(elements), 8, 16), np.uint8)
    for number in range(16):
        for bit in range(bits):
            at = bits * number + bit
            packed[:, :, at // 8] |= (elements[:, :, number] >> bit & 1) << at % 8
    # A number of 4 bits lies in bits 2 to 5 of its byte.
    unpacked = elements << 2 if bits == 4 else elements
    words = [np.ascontiguousarray(v).reshape(len(v), 128).view(np.float32) for v in (packed, unpacked)]
    check(made, shape, ctas, *words)


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("source_format", ["", "b6x16_p32", "b4x16_p64"])
def test_ptxas_takes_each_shape(shape: str, source_format: str) -> None:
    used = assembled(compiled(text(1, shape=shape, source_format=source_format)).ptx, TARGET)
    assert used.report is not None and used.warnings == []


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


IN_AN_AGENT = r"""nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [0] {
      \1
      nv_tileas.async.pipeline.yield
    }"""


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
        (
            re.sub(r"(nv_tileas.async.s2t_copy .*)", IN_AN_AGENT, text(1)),
            "is in an agent, but all threads of the CTA meet before the copy; use it outside of agents",
        ),
    ],
    ids=["no pair", "no second pair", "a buffer of one CTA", "a buffer of a pair", "an agent"],
)
def test_copies_that_cannot_be_done(program: str, why: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compiled(program)
    assert why in caught.value.diagnostics[0].message
