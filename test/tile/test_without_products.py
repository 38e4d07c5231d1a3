"""Kernels of the tile dialect without a product, on the simulated GPU against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from programs import TARGETS, Array, decode, encode, fresh_seed
from tile.kernels import compiled, example, launch, strided

from tessera_tools.diagnostics import DiagnosticError


def random() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


@pytest.mark.parametrize(
    "columns, passes",
    [(512, ()), (500, ()), (3, ()), (1, ()), (70, ("tile-register-coalescing", "tile-memory-management"))],
)
def test_softmax(columns: int, passes: tuple[str, ...]) -> None:
    rng = random()
    rows = int(rng.integers(1, 20))
    x = (rng.standard_normal((rows, columns)) * 8).astype(np.float32)
    arrays, result = launch(
        example("softmax"), *strided(x), *strided(np.zeros_like(x)), grid=(-(-rows // 8),), passes=passes,
        target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("softmax")
    weights = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(arrays[1], weights / weights.sum(1, keepdims=True), rtol=2e-5, atol=1e-7)


def _normal(x: Array, epsilon: float, centered: bool) -> Array:
    d = x - x.mean(1, keepdims=True) if centered else x
    return d / np.sqrt((d * d).mean(1, keepdims=True) + epsilon)


@pytest.mark.parametrize("columns", [1024, 1000, 8])
def test_layer_norm(columns: int) -> None:
    rng = random()
    rows = int(rng.integers(1, 9))
    x, gamma, beta = (
        encode("bf16", a)
        for a in (
            rng.standard_normal((rows, columns)) + 3,
            rng.standard_normal(columns),
            rng.standard_normal(columns),
        )
    )
    arrays, result = launch(
        example("layer_norm"), *strided(x), *strided(gamma), *strided(beta), *strided(np.zeros_like(x)),
        np.float32(1e-5), grid=(-(-rows // 4),), target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("layer_norm")
    expected = _normal(decode("bf16", x), 1e-5, True) * decode("bf16", gamma) + decode("bf16", beta)
    np.testing.assert_allclose(decode("bf16", arrays[3]), expected, rtol=2**-7, atol=1e-2)


@pytest.mark.parametrize("columns", [256, 1544, 8])
def test_rms_norm(columns: int) -> None:
    rng = random()
    rows = int(rng.integers(1, 20))
    x, gamma = (rng.standard_normal(shape).astype(np.float16) for shape in ((rows, columns), (columns,)))
    arrays, result = launch(
        example("rms_norm"), *strided(x), *strided(gamma), *strided(np.zeros_like(x)), np.float32(1e-3),
        grid=(-(-rows // 8),), target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("rms_norm")
    expected = _normal(x.astype(np.float64), 1e-3, False) * gamma
    np.testing.assert_allclose(arrays[2], expected, rtol=2**-9, atol=1e-3)


# -- by thread


@pytest.mark.parametrize("length", [1, 511, 512, 1500])
def test_a_copy_with_bounds_by_thread(length: int) -> None:
    rng = random()
    a = rng.standard_normal(length).astype(np.float32)
    arrays, result = launch(
        example("copy_bounds"), *strided(a), *strided(np.zeros_like(a)), grid=(-(-length // 512),),
        target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("copy")
    np.testing.assert_array_equal(arrays[1], a)


def test_bounds_by_thread_are_predicates() -> None:
    """A jump over the accesses, of which ptxas makes predicates; no barrier."""
    ptx = compiled(example("copy_bounds")).ptx
    assert "bar.sync" not in ptx
    # One of the loop, and one over both accesses.
    assert ptx.count("@%p") == 2


@pytest.mark.parametrize("passes", [(), ("tile-memory-management", "tile-barrier-optimization")])
@pytest.mark.parametrize("length", [1, 100, 1000])
def test_a_histogram(length: int, passes: tuple[str, ...]) -> None:
    rng = random()
    a = rng.integers(-128, 128, length, dtype=np.int8)
    arrays, result = launch(
        example("histogram"),
        *strided(a),
        *strided(np.zeros(32, np.int32)),
        target=str(rng.choice(TARGETS)),
        passes=passes,
    )
    assert not result.findings, result.findings.text("histogram")
    np.testing.assert_array_equal(arrays[1], np.bincount(a.astype(np.uint8) & 31, minlength=32))


RAGGED = """
func.func @ragged(%V: memref<?xf32>, %begins: memref<?xi32>, %S: memref<?xf32>)
    attributes {tessera.kernel, tessera.threads = 64} {
  %t = tile.thread_id : index
  %zero = arith.constant 0.0 : f32
  %t1 = arith.addi %t, %c1 : index
  %b = tile.load_global %begins[%t] : memref<?xi32>
  %e = tile.load_global %begins[%t1] : memref<?xi32>
  %begin = arith.index_cast %b : i32 to index
  %end = arith.index_cast %e : i32 to index
  %sum = scf.for %i = %begin to %end step %c1 iter_args(%s = %zero) -> (f32) {
    %x = tile.load_global %V[%i] : memref<?xf32>
    %positive = arith.cmpf ogt, %x, %zero : f32
    %next = scf.if %positive -> (f32) {
      %r = math.rsqrt %x : f32
      %n = arith.addf %s, %r : f32
      scf.yield %n : f32
    } else {
      scf.yield %s : f32
    }
    scf.yield %next : f32
  }
  tile.store_global_element %sum, %S[%t] : memref<?xf32>
  return
}
"""


def test_loop_bounds_by_thread_and_values_of_branches() -> None:
    rng = random()
    begins = np.concatenate(([0], np.cumsum(rng.integers(0, 6, 64)))).astype(np.int32)
    v = rng.standard_normal(max(1, int(begins[-1]))).astype(np.float32)
    arrays, result = launch(RAGGED, *strided(v), *strided(begins), *strided(np.zeros(64, np.float32)))
    assert not result.findings, result.findings.text("ragged")
    expected = [sum(1 / np.sqrt(float(x)) for x in v[b:e] if x > 0) for b, e in itertools.pairwise(begins)]
    np.testing.assert_allclose(arrays[2], expected, rtol=1e-5)


def test_a_branch_that_accesses_elements_and_changes_fragments() -> None:
    """Each thread stores where its condition holds; what it changes of the fragment it changes of its own part."""
    text = """
func.func @kernel(%A: memref<32x32xf32>, %B: memref<32x32xf32>, %C: memref<?xf32>) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  %half = arith.constant 64 : index
  %two = arith.constant 2.0 : f32
  %f = tile.alloc_register : memref<2x4xf32, 5>
  tile.load_global_tile %A, %f : memref<32x32xf32>, memref<2x4xf32, 5>
  %low = arith.cmpi slt, %t, %half : index
  scf.if %low {
    %x = tile.load_global %A[%c0, %c1] : memref<32x32xf32>
    tile.store_global_element %x, %C[%t] : memref<?xf32>
    %four = arith.mulf %two, %two : f32
    tile.scale_tensor %f, %four : memref<2x4xf32, 5>, f32
  } else {
    tile.store_global_element %two, %C[%t] : memref<?xf32>
    tile.scale_tensor %f, %two : memref<2x4xf32, 5>, f32
  }
  tile.store_global %f, %B : memref<2x4xf32, 5>, memref<32x32xf32>
  return
}
"""
    rng = random()
    a = rng.standard_normal((32, 32)).astype(np.float32)
    arrays, result = launch(
        text, *strided(a), *strided(np.zeros_like(a)), *strided(np.zeros(128, np.float32)),
        target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[2], np.where(np.arange(128) < 64, a[0, 1], np.float32(2)))
    factors = arrays[1] / a
    # Whichever elements a thread holds, each of two halves of the threads has 512 of them.
    assert sorted(factors.reshape(-1)) == [2.0] * 512 + [4.0] * 512


def test_shared_memory_under_a_condition_by_thread() -> None:
    """A store and a load of one thread's own place need no barrier between; one before the branch orders the rest."""
    text = """
func.func @kernel(%A: memref<?xf32>, %B: memref<?xf32>) attributes {tessera.kernel, tessera.threads = 64} {
  %t = tile.thread_id : index
  %s = tile.alloc_shared : memref<64xf32, 3>
  %x = tile.load_global %A[%t] : memref<?xf32>
  tile.store_shared %x, %s[%t] : memref<64xf32, 3>
  tile.barrier
  %even = arith.remui %t, %c2 : index
  %is = arith.cmpi eq, %even, %c0 : index
  scf.if %is {
    %n = arith.addi %t, %c1 : index
    %y = tile.load_shared %s[%n] : memref<64xf32, 3>
    tile.store_shared %y, %s[%t] : memref<64xf32, 3>
    %z = tile.load_shared %s[%t] : memref<64xf32, 3>
    tile.store_global_element %z, %B[%t] : memref<?xf32>
  }
  return
}
"""
    rng = random()
    a = rng.standard_normal(64).astype(np.float32)
    made = compiled(text)
    assert made.ptx.count("bar.sync") == 1
    arrays, result = launch(text, *strided(a), *strided(np.zeros_like(a)), target=str(rng.choice(TARGETS)))
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[1], np.where(np.arange(64) % 2 == 0, np.roll(a, -1), 0))


# -- integers and vectors


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("kind", ["max", "min", "sum"])
def test_reductions_of_integers(kind: str, element: str) -> None:
    text = f"""
func.func @kernel(%A: memref<?x?x{element}>, %R: memref<?x{element}>) attributes {{tessera.kernel}} {{
  %m = memref.subview %A[0, 0] [16, 64] [1, 1] : memref<?x?x{element}> to memref<16x64x{element}, strided<[?, 1]>>
  %f = tile.alloc_register : memref<1x8x{element}, 5>
  tile.load_global_tile %m, %f : memref<16x64x{element}, strided<[?, 1]>>, memref<1x8x{element}, 5>
  %r = tile.reduce {kind} %f : memref<1x8x{element}, 5> -> memref<1x{element}, 5>
  tile.store_global %r, %R : memref<1x{element}, 5>, memref<?x{element}>
  return
}}
"""
    rng = random()
    type = np.dtype(f"int{element[1:]}")
    limits = np.iinfo(type)
    a = rng.integers(limits.min, limits.max, (16, 64), type, endpoint=True)
    arrays, result = launch(text, *strided(a), *strided(np.zeros(16, type)), target=str(rng.choice(TARGETS)))
    assert not result.findings, result.findings.text("kernel")
    expected = {"max": a.max(1), "min": a.min(1), "sum": a.sum(1, dtype=type)}[kind]
    np.testing.assert_array_equal(arrays[1], expected)


@pytest.mark.parametrize(
    "old, new", [("f32", "i32"), ("i32", "i8"), ("i8", "i32"), ("f16", "i16"), ("i64", "f32")]
)
def test_casts(old: str, new: str) -> None:
    text = f"""
func.func @kernel(%A: memref<32x64x{old}>, %B: memref<32x64x{new}>) attributes {{tessera.kernel}} {{
  %f = tile.alloc_register : memref<2x8x{old}, 5>
  tile.load_global_tile %A, %f : memref<32x64x{old}>, memref<2x8x{old}, 5>
  %g = tile.cast %f : memref<2x8x{old}, 5> to memref<2x8x{new}, 5>
  tile.store_global %g, %B : memref<2x8x{new}, 5>, memref<32x64x{new}>
  return
}}
"""
    names = {"f": "float", "i": "int"}
    before, after = (np.dtype(f"{names[name[0]]}{name[1:]}") for name in (old, new))
    a = (random().standard_normal((32, 64)) * 1000).astype(before)
    arrays, result = launch(text, *strided(a), *strided(np.zeros((32, 64), after)))
    assert not result.findings
    np.testing.assert_array_equal(arrays[1], a.astype(after))


def test_a_line_is_a_tile_of_its_own() -> None:
    """C = select(A < B, A, sqrt(|B|)) over a vector: 8 elements a thread, so many threads as hold 512."""
    text = """
func.func @kernel(%A: memref<?xf32>, %B: memref<?xf32>, %C: memref<?xf32>) attributes {tessera.kernel} {
  %block = tile.block_id : index
  %begin = arith.muli %block, %c512 : index
  %x = memref.subview %A[%begin] [512] [1] : memref<?xf32> to memref<512xf32, strided<[1], offset: ?>>
  %y = memref.subview %B[%begin] [512] [1] : memref<?xf32> to memref<512xf32, strided<[1], offset: ?>>
  %z = memref.subview %C[%begin] [512] [1] : memref<?xf32> to memref<512xf32, strided<[1], offset: ?>>
  %a = tile.alloc_register : memref<8xf32, 5>
  %b = tile.alloc_register : memref<8xf32, 5>
  tile.load_global_tile %x, %a : memref<512xf32, strided<[1], offset: ?>>, memref<8xf32, 5>
  tile.load_global_tile %y, %b : memref<512xf32, strided<[1], offset: ?>>, memref<8xf32, 5>
  %less = tile.apply "arith.cmpf"(%a, %b) {predicate = 4 : i64}
      : (memref<8xf32, 5>, memref<8xf32, 5>) -> memref<8xi1, 5>
  %m = tile.apply "math.absf"(%b) : (memref<8xf32, 5>) -> memref<8xf32, 5>
  %r = tile.apply "math.sqrt"(%m) : (memref<8xf32, 5>) -> memref<8xf32, 5>
  %c = tile.apply "arith.select"(%less, %a, %r)
      : (memref<8xi1, 5>, memref<8xf32, 5>, memref<8xf32, 5>) -> memref<8xf32, 5>
  tile.store_global %c, %z : memref<8xf32, 5>, memref<512xf32, strided<[1], offset: ?>>
  return
}
"""
    rng = random()
    a, b = (rng.standard_normal(1000).astype(np.float32) for _ in range(2))
    made = compiled(text)
    assert ".reqntid 64" in made.ptx
    arrays, result = launch(text, *strided(a), *strided(b), *strided(np.zeros_like(a)), grid=(2,))
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_allclose(arrays[2], np.where(a < b, a, np.sqrt(np.abs(b))), rtol=1e-6)


def test_a_fragment_of_a_tile_that_nothing_decides() -> None:
    text = """
func.func @kernel(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %f = tile.alloc_register : memref<4x4xf32, 5>
  tile.load_global_tile %A, %f : memref<?x?xf32>, memref<4x4xf32, 5>
  return
}
"""
    with pytest.raises(DiagnosticError, match="produces a fragment whose tile cannot be inferred"):
        compiled(text)


PASSES = (
    "tile-register-coalescing", "tile-memory-management", "tile-barrier-optimization", "tile-performance-annotation",
)  # fmt: skip


@pytest.mark.parametrize("passes", [(), PASSES], ids=["plain", "passes"])
@pytest.mark.parametrize("shape", [(32, 32), (100, 37), (1, 70)])
def test_a_transposition(shape: tuple[int, int], passes: tuple[str, ...]) -> None:
    rng = random()
    a = rng.standard_normal(shape).astype(np.float32)
    grid = (-(-shape[0] // 32), -(-shape[1] // 32))
    arrays, result = launch(
        example("transpose"), *strided(a), *strided(np.zeros(shape[::-1], np.float32)), grid=grid,
        target=str(rng.choice(TARGETS)), passes=passes,
    )  # fmt: skip
    assert not result.findings, result.findings.text("transpose")
    np.testing.assert_array_equal(arrays[1], a.T)
