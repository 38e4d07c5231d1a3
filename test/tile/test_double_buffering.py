"""Loops with a second buffer, which tile-double-buffering makes, on the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Array, fresh_seed
from tile.kernels import compiled, example, launch, strided

PASSES = ("tile-double-buffering",)
PRODUCT = """
func.func @product(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x32xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<32x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  %depth = memref.dim %A, %c1 : memref<?x?xf16>
  scf.for %k = %c0 to %depth step %c32 {
    %a_in = memref.subview %A[0, %k] [64, 32] [1, 1] : memref<?x?xf16> to memref<64x32xf16, strided<[?, 1], offset: ?>>
    %b_in = memref.subview %B[%k, 0] [32, 64] [1, 1] : memref<?x?xf16> to memref<32x64xf16, strided<[?, 1], offset: ?>>
    tile.barrier
    tile.cp_async %a_in, %a : memref<64x32xf16, strided<[?, 1], offset: ?>>, memref<64x32xf16, 3>
    tile.cp_async %b_in, %b : memref<32x64xf16, strided<[?, 1], offset: ?>>, memref<32x64xf16, 3>
    WAIT
    tile.barrier
    %u = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %u : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  }
  %d = memref.subview %D[0, 0] [64, 64] [1, 1] : memref<?x?xf32> to memref<64x64xf32, strided<[?, 1]>>
  tile.store_global %acc, %d : memref<4x8xf32, 5>, memref<64x64xf32, strided<[?, 1]>>
  return
}
"""
WAITS = ("tile.cp_commit_group\n    tile.cp_wait_group 0", "tile.async_wait")


def factors(depth: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(fresh_seed())
    return (
        rng.integers(-4, 5, (64, depth)).astype(np.float16),
        rng.integers(-4, 5, (depth, 64)).astype(np.float16),
    )


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("depth", [0, 32, 200])
def test_a_product(depth: int, target: str) -> None:
    """Also without an iteration, and with a last one that ends in the tile."""
    a, b = factors(depth)
    text = PRODUCT.replace("WAIT", WAITS[depth // 32 % 2])
    for mode in ("late", "early"):
        arrays, result = launch(
            text, *strided(a), *strided(b), *strided(np.zeros((64, 64), np.float32)), target=target,
            passes=PASSES, mode=mode,
        )  # fmt: skip
        assert not result.findings, result.findings.text("product")
        np.testing.assert_array_equal(arrays[2], a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_loop_in_a_loop(target: str) -> None:
    """The first copy for the next rows waits until all threads have read the last tile of these."""
    start, end = PRODUCT.index("  scf.for"), PRODUCT.index("  %d =")
    inner = PRODUCT[start:end].replace("%A[0,", "%A[%row,")
    outer = f"%rows = memref.dim %A, %c0 : memref<?x?xf16>\n  scf.for %row = %c0 to %rows step %c64 {{\n{inner}  }}\n"
    text = (PRODUCT[:start] + outer + PRODUCT[end:]).replace("WAIT", WAITS[0])
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-4, 5, (192, 96)).astype(np.float16)
    b = rng.integers(-4, 5, (96, 64)).astype(np.float16)
    for mode in ("late", "early"):
        arrays, result = launch(
            text, *strided(a), *strided(b), *strided(np.zeros((64, 64), np.float32)), target=target,
            passes=PASSES, mode=mode,
        )  # fmt: skip
        assert not result.findings, result.findings.text("product")
        np.testing.assert_array_equal(arrays[2], a.astype(np.float64).reshape(3, 64, 96).sum(axis=0) @ b)


WRITES = """    %half = tile.cast %u : memref<4x8xf32, 5> to memref<4x8xf16, 5>
    %next = arith.addi %k, %c32 : index
    %out = memref.subview %MATRIX[0, %next] [64, 64] [1, 1] : memref<?x?xf16> to memref<64x64xf16, strided<[?, 1], offset: ?>>
    tile.store_global %half, %out : memref<4x8xf16, 5>, memref<64x64xf16, strided<[?, 1], offset: ?>>
"""  # noqa: E501


def test_a_loop_that_writes_what_its_next_iteration_copies() -> None:
    """It stays as it is: a copy ahead would bring the old tile. Another argument may be the same matrix."""
    text = PRODUCT.replace("WAIT", WAITS[0]).replace("    tile.accumulate", WRITES + "    tile.accumulate")
    for matrix in ("A", "B", "C"):
        own = text.replace("%MATRIX", f"%{matrix}").replace("%D: ", "%C: memref<?x?xf16>, %D: ")
        assert "cp.async.wait_group \t1" not in compiled(own, passes=PASSES).ptx


def test_the_next_tile_is_on_its_way_during_the_product() -> None:
    text = PRODUCT.replace("WAIT", WAITS[0])
    before, after = (compiled(text, passes=passes).ptx for passes in ((), PASSES))
    assert "cp.async.wait_group \t0" in before and "cp.async.wait_group \t1" not in before
    loop = after[after.index("cp.async.wait_group \t1") :]
    assert "mma.sync" in loop


def test_attention_with_two_buffers_of_keys_and_values() -> None:
    """TMA copies to either stage, and wgmma reads it."""
    made = compiled(example("attention"), "sm_90a", passes=PASSES)
    assert made.ptx.count("cp.async.bulk.tensor") == 5 and "wgmma.mma_async" in made.ptx
