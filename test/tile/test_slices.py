"""Slices of tensors that end inside a tile: what lies beyond is zero when it is read, and stays when it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import TARGETS, Array, fresh_seed
from tile.kernels import compiled, launch, strided

COPY = """
func.func @kernel(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %I: memref<64x64xf16>, %n: index)
    attributes {{tessera.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {before}
  %s = tile.alloc_shared {{swizzle = "xor"}} : memref<64x64xf16, 3>
  %from = {source}
  tile.cp_async %from, %s : memref<{type}xf16{layout}>, memref<64x64xf16, 3>
  %one = tile.alloc_shared {{swizzle = "xor"}} : memref<64x64xf16, 3>
  tile.cp_async %I, %one : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %s, %one : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  {store}
  return
}}
"""
WHOLE = "tile.store_global %p, %D : memref<4x8xf32, 5>, memref<?x?xf32>"
STRIDED = ", strided<[?, 1], offset: ?>"


def run(size: tuple[int, int], n: int = 0, target: str = "", **parts: str) -> tuple[Array, Array, Any]:
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-4, 5, size).astype(np.float16)
    out = np.full((64, 64), 7, np.float32)
    fields = {"before": "", "type": "?x?", "layout": "", "store": WHOLE} | parts
    text = COPY.format(**fields)
    args = [*strided(a), *strided(out), *strided(np.eye(64, dtype=np.float16)), np.int64(n)]
    arrays, result = launch(text, *args, target=target or str(rng.choice(TARGETS)))
    return a, arrays[1], result


def padded(a: Array) -> Array:
    found = np.zeros((64, 64), np.float32)
    found[: a.shape[0], : a.shape[1]] = a
    return found


def test_rows_of_a_slice() -> None:
    source = "tile.compute_tensor_slice %A, %c1 : memref<?x?xf16>, index -> memref<16x?xf16>"
    a, found, result = run((64, 64), source=source, type="16x?")
    assert not result.findings
    np.testing.assert_array_equal(found, padded(a[1:17]))


def test_columns_of_a_slice() -> None:
    source = f"memref.subview %A[3, 8][64, 24][1, 1] : memref<?x?xf16> to memref<64x24xf16{STRIDED}>"
    a, found, result = run((80, 64), source=source, type="64x24", layout=STRIDED)
    assert not result.findings
    np.testing.assert_array_equal(found, padded(a[3:67, 8:32]))


def test_a_slice_that_ends_beyond_its_tensor_ends_with_it() -> None:
    source = f"memref.subview %A[3, 8][48, 24][1, 1] : memref<?x?xf16> to memref<48x24xf16{STRIDED}>"
    a, found, result = run((40, 24), source=source, type="48x24", layout=STRIDED)
    assert not result.findings
    np.testing.assert_array_equal(found, padded(a[3:, 8:]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_slice_that_starts_before_its_tensor_is_zero(target: str) -> None:
    source = f"memref.subview %A[%n, 0][64, 64][1, 1] : memref<?x?xf16> to memref<64x64xf16{STRIDED}>"
    _, found, result = run((80, 64), -5, target, source=source, type="64x64", layout=STRIDED)
    assert not result.findings
    assert not found.any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_slice_that_ends_before_its_tensor_begins_is_zero(target: str) -> None:
    """It ends inside the tile."""
    source = f"memref.subview %A[%n, 0][16, 64][1, 1] : memref<?x?xf16> to memref<16x64xf16{STRIDED}>"
    _, found, result = run((80, 64), -40, target, source=source, type="16x64", layout=STRIDED)
    assert not result.findings
    assert not found.any()


@pytest.mark.parametrize("target", TARGETS)
def test_as_many_rows_as_a_value_says_before_the_tensor_begins_end_the_kernel(target: str) -> None:
    """Five rows from ten before its first."""
    before = """%start = arith.subi %c0, %n : index
  %few = arith.shrui %n, %c1 : index"""
    source = f"memref.subview %A[%start, 0][%few, 64][1, 1] : memref<?x?xf16> to memref<?x64xf16{STRIDED}>"
    *_, result = run((80, 64), 10, target, before=before, source=source, type="?x64", layout=STRIDED)
    assert "the slice is out of bounds in dimension 0 of its tensor" in result.findings.text("kernel")


@pytest.mark.parametrize("rows", [0, 1, 31, 64])
def test_as_many_rows_as_a_value_says(rows: int) -> None:
    source = f"memref.subview %A[2, 0][%n, 64][1, 1] : memref<?x?xf16> to memref<?x64xf16{STRIDED}>"
    a, found, result = run((80, 64), rows, source=source, type="?x64", layout=STRIDED)
    assert not result.findings
    np.testing.assert_array_equal(found, padded(a[2 : 2 + rows]))


def test_more_rows_than_there_are_end_the_kernel() -> None:
    source = f"memref.subview %A[2, 0][%n, 64][1, 1] : memref<?x?xf16> to memref<?x64xf16{STRIDED}>"
    *_, result = run((60, 64), 59, source=source, type="?x64", layout=STRIDED)
    assert "the slice is out of bounds in dimension 0 of its tensor" in result.findings.text("kernel")


def test_what_is_written_ends_with_the_slice() -> None:
    source = "tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>"
    store = f"""%to = memref.subview %D[1, 4][16, %n][1, 1] : memref<?x?xf32> to memref<16x?xf32{STRIDED}>
  tile.store_global %p, %to : memref<4x8xf32, 5>, memref<16x?xf32{STRIDED}>"""
    a, found, result = run((64, 64), 21, source=source, type="64x?", store=store)
    assert not result.findings
    expected = np.full((64, 64), 7, np.float32)
    expected[1:17, 4:25] = a[:16, :21]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("condition", ['cf.assert %same, "not the same"', "llvm.intr.assume %same : i1"])
def test_an_extent_that_is_assumed_to_be_the_tensor_s_needs_no_check(condition: str) -> None:
    before = f"""%extent = memref.dim %A, %c1 : memref<?x?xf16>
  %same = arith.cmpi eq, %n, %extent : index
  {condition}"""
    source = f"memref.subview %A[0, 0][64, %n][1, 1] : memref<?x?xf16> to memref<64x?xf16{STRIDED}>"
    parts = {"before": before, "source": source, "type": "64x?", "layout": STRIDED, "store": WHOLE}
    assert "the slice ends" not in compiled(COPY.format(**parts)).ptx
    a, found, result = run((64, 56), 56, **parts)
    assert not result.findings
    np.testing.assert_array_equal(found, padded(a))


def test_an_assertion_that_does_not_hold_ends_the_kernel() -> None:
    before = """%extent = memref.dim %A, %c1 : memref<?x?xf16>
  %same = arith.cmpi eq, %n, %extent : index
  cf.assert %same, "not the same" """
    source = "tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>"
    *_, result = run((64, 56), 48, before=before, source=source, type="64x?")
    assert "not the same" in result.findings.text("kernel")
