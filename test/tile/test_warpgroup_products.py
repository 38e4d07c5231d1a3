"""Products of `tile` by wgmma on sm_90a: where they are, where not, that they are right; each fence is needed."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Compiled, assembled, empty, fresh_seed, launch_ptx, random
from tile.kernels import compiled, example, launch, strided

EXAMPLES = {
    "gemm_tile": "m64n128k16.f32.f16.f16",
    "gemm_ring": "m64n64k16.f32.f16.f16",
    "attention": "m64n64k16.f32.bf16.bf16",
    "attention_causal": "m64n64k16.f32.bf16.bf16",
}
RING = example("gemm_ring")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_multiply_by_wgmma(name: str) -> None:
    """ptxas serializes none of their products, and spills nothing."""
    text = example(name)
    ptx = compiled(text, "sm_90a").ptx
    assert f"wgmma.mma_async.sync.aligned.{EXAMPLES[name]}" in ptx and "mma.sync" not in ptx
    assert "wgmma" not in compiled(text, "sm_120a").ptx
    made = assembled(ptx, "sm_90a")
    assert made.report is not None
    assert [m.text for m in made.report.messages if "C75" in m.text] == []
    for resources in made.report.entries.values():
        assert (resources.spill_stores, resources.spill_loads) == (0, 0)


def test_the_instruction_is_the_one_that_intrinsic_lowering_names() -> None:
    ptx = compiled(RING, "sm_90a", ("tile-intrinsic-lowering{arch=sm_90}",)).ptx
    assert EXAMPLES["gemm_ring"] in ptx and "mma.sync" not in ptx


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(' {swizzle = "xor"}', "", id="without a swizzle"),
        pytest.param("tile.mma %a_now", "tile.wmma %a_now", id="mma.sync by name"),
    ],
)
def test_other_products_stay_with_mma_sync(old: str, new: str) -> None:
    text = RING.replace(old, new)
    assert text != RING
    if "wmma" in new:
        text = text.replace(
            "%b_now :", '%b_now {intrinsic = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"} :'
        )
    ptx = compiled(text, "sm_90a").ptx
    assert "mma.sync" in ptx and "wgmma" not in ptx


def product(made: Compiled, steps: int, seed: int, mode: str) -> tuple[float, bool]:
    """The greatest error of a product of 64x64 by `gemm_ring`, and whether there are findings."""
    rng = np.random.default_rng(fresh_seed())
    k = 32 * steps
    a, b, d = random("f16", (64, k), rng), random("f16", (k, 64), rng), empty("f32", (64, 64))
    args = [x for array in (a, b, d) for x in strided(array)]
    arrays, result = launch_ptx(made, args, "sm_90a", (1, 1), file="k.ptx", seed=seed, mode=mode)
    return float(np.abs(arrays[2] - a.astype(np.float64) @ b).max()), bool(result.findings)


INTEGERS = """
func.func @kernel(%A: memref<64x64xi8>, %D: memref<64x64xi32>) attributes {tessera.kernel} {
  %s = tile.alloc_shared {swizzle = "xor"} : memref<64x64xi8, 3>
  tile.cp_async %A, %s : memref<64x64xi8>, memref<64x64xi8, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %s, %s {transpose_b = true} : memref<64x64xi8, 3>, memref<64x64xi8, 3> -> memref<4x8xi32, 5>
  tile.store_global %p, %D : memref<4x8xi32, 5>, memref<64x64xi32>
  return
}
"""


def test_factors_of_integers_have_a_sign() -> None:
    a = np.random.default_rng(fresh_seed()).integers(-128, 128, (64, 64), dtype=np.int8)
    assert ".s32.s8.s8 " in compiled(INTEGERS, "sm_90a").ptx
    arrays, result = launch(INTEGERS, *strided(a), *strided(empty("i32", (64, 64))), target="sm_90a")
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[1], a.astype(np.int64) @ a.T.astype(np.int64))


def test_eight_schedules_agree() -> None:
    made = compiled(RING, "sm_90a")
    for seed in range(8):
        error, findings = product(made, 7, seed, "late" if seed % 2 else "early")
        assert error < 1e-3 and not findings


def test_every_fence_is_needed() -> None:
    """The proxy fence before a product, and the wait behind it."""
    made = compiled(RING, "sm_90a")
    lines = made.ptx.split("\n")
    words = ("fence.proxy", "wgmma.wait_group", "wgmma.commit_group")
    found = [n for n, line in enumerate(lines) if line.strip().startswith(words)]
    assert len(found) >= 3
    for number in found:
        ptx = "\n".join([*lines[:number], *lines[number + 1 :]])
        changed = Compiled(ptx, made.manifest, made.lower)
        runs = [product(changed, 7, 0, mode) for mode in ("late", "early")]
        assert any(findings or not error < 1e-3 for error, findings in runs), lines[number]
