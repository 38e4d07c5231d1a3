"""Arithmetic on fragments: what the ops say is what the kernel computes, on the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, Array, fresh_seed
from tile.kernels import compiled, launch, strided

KERNEL = """
func.func @kernel(%A: memref<64x64x{a}>, %D: memref<64x64x{d}>) attributes {{tessera.kernel}} {{
  %s = tile.alloc_shared {{swizzle = "xor"}} : memref<64x64x{a}, 3>
  tile.cp_async %A, %s : memref<64x64x{a}>, memref<64x64x{a}, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %s, %s {{transpose_b = true}} : memref<64x64x{a}, 3>, memref<64x64x{a}, 3> -> memref<4x8x{p}, 5>
  {body}
  tile.store_global %r, %D : memref<4x8x{d}, 5>, memref<64x64x{d}>
  return
}}
"""


def run(body: str, a: Array, d: str = "f32", a_type: str = "f16", p: str = "f32") -> Array:
    rng = np.random.default_rng(fresh_seed("target"))
    text = KERNEL.format(body=body, a=a_type, d=d, p=p)
    out = np.zeros((64, 64), {"f32": np.float32, "i32": np.int32}[d])
    arrays, result = launch(text, *strided(a), *strided(out), target=str(rng.choice(TARGETS)))
    assert not result.findings, result.findings.text("kernel")
    return arrays[1]


def numbers() -> Array:
    """Small integers in f16, whose products and sums are exact in f32."""
    return np.random.default_rng(fresh_seed()).integers(-4, 5, (64, 64)).astype(np.float16)


@pytest.mark.parametrize("kind, function", [("max", np.max), ("min", np.min), ("sum", np.sum)])
def test_a_reduction_spread_over_columns(kind: str, function: object) -> None:
    a = numbers()
    body = f"""%m = tile.reduce {kind} %p : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %r = tile.broadcast %m : memref<4xf32, 5> -> memref<4x8xf32, 5>"""
    product = a.astype(np.float64) @ a.T.astype(np.float64)
    expected = np.repeat(function(product, axis=1)[:, None], 64, axis=1)  # type: ignore[operator]
    np.testing.assert_array_equal(run(body, a), expected)


def test_integers() -> None:
    a = np.random.default_rng(fresh_seed()).integers(-128, 128, (64, 64), dtype=np.int8)
    body = """%three = arith.constant 3 : i32
  %q = tile.alloc_register : memref<4x8xi32, 5>
  tile.fill %q, %three : memref<4x8xi32, 5>
  %n = tile.sub %q, %p : memref<4x8xi32, 5>, memref<4x8xi32, 5> -> memref<4x8xi32, 5>
  %f = tile.fma %q, %p, %n : memref<4x8xi32, 5>, memref<4x8xi32, 5>, memref<4x8xi32, 5> -> memref<4x8xi32, 5>
  %r = tile.element_min %f, %p : memref<4x8xi32, 5>, memref<4x8xi32, 5> -> memref<4x8xi32, 5>
  tile.accumulate %r, %q : memref<4x8xi32, 5>, memref<4x8xi32, 5>
  tile.scale_tensor %r, %three : memref<4x8xi32, 5>, i32"""
    product = a.astype(np.int64) @ a.T.astype(np.int64)
    expected = (np.minimum(3 * product + 3 - product, product) + 3) * 3
    np.testing.assert_array_equal(run(body, a, "i32", "i8", "i32"), expected)


def test_integers_as_floats() -> None:
    a = np.random.default_rng(fresh_seed()).integers(-128, 128, (64, 64), dtype=np.int8)
    body = "%r = tile.cast %p : memref<4x8xi32, 5> to memref<4x8xf32, 5>"
    np.testing.assert_array_equal(run(body, a, "f32", "i8", "i32"), a.astype(np.int64) @ a.T.astype(np.int64))


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
def test_a_fragment_as_an_operand(left: bool) -> None:
    a = numbers() / np.float16(4)
    operands, types = ("%h, %s", "memref<4x8xf16, 5>, memref<64x64xf16, 3>")
    if not left:
        operands, types = ("%s, %h", "memref<64x64xf16, 3>, memref<4x8xf16, 5>")
    body = f"""%h = tile.cast %p : memref<4x8xf32, 5> to memref<4x8xf16, 5>
  %r = tile.mma {operands} : {types} -> memref<4x8xf32, 5>"""
    product = (a.astype(np.float64) @ a.T.astype(np.float64)).astype(np.float16).astype(np.float64)
    expected = product @ a.astype(np.float64) if left else a.astype(np.float64) @ product
    np.testing.assert_allclose(run(body, a), expected, rtol=1e-5, atol=1e-3)


def test_a_condition_by_thread_chooses_each_threads_own_elements() -> None:
    a = numbers()
    body = """%c64 = arith.constant 64 : index
  %t = tile.thread_id : index
  %first = arith.cmpi slt, %t, %c64 : index
  %value = arith.constant 0.5 : f32
  %other = arith.constant 0.25 : f32
  scf.if %first {
    tile.mask_fill %p, %value : memref<4x8xf32, 5>, f32
  } else {
    tile.fill %p, %other : memref<4x8xf32, 5>
  }
  %r = tile.add %p, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>"""
    found = run(body, a)
    assert (found == 1.0).sum() == (found == 0.5).sum() == 64 * 64 // 2


def test_a_copy_is_no_alias() -> None:
    a = numbers()
    body = """%zero = arith.constant 0.0 : f32
  %r = tile.alloc_register : memref<4x8xf32, 5>
  tile.copy %p, %r : memref<4x8xf32, 5>
  tile.fill %p, %zero : memref<4x8xf32, 5>
  tile.accumulate %r, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5>"""
    np.testing.assert_array_equal(run(body, a), a.astype(np.float64) @ a.T.astype(np.float64))


def test_a_kernel_without_ops_of_the_dialect_is_one_by_its_attribute() -> None:
    made = compiled("func.func @k(%a: memref<?xf32>) attributes {tessera.kernel} { return }")
    assert ".visible .entry k(" in made.ptx


@pytest.mark.parametrize("type", ["i8", "f16"])
def test_a_small_tile_is_spilled_where_several_threads_would_hold_an_element(type: str) -> None:
    """Loads of 4 bytes give an element to one of four threads; the slot has room for each element once."""
    text = f"""
func.func @kernel(%A: memref<8x32x{type}>, %B: memref<8x32x{type}>) attributes {{tessera.kernel}} {{
  %slot = tile.alloc_shared : memref<256x{type}, 3>
  %x = tile.alloc_register : memref<1x1x{type}, 5>
  tile.load_global_tile %A, %x : memref<8x32x{type}>, memref<1x1x{type}, 5>
  tile.spill %x, %slot : memref<1x1x{type}, 5>, memref<256x{type}, 3>
  %y = tile.reload %slot : memref<256x{type}, 3> -> memref<1x1x{type}, 5>
  tile.store_global %y, %B : memref<1x1x{type}, 5>, memref<8x32x{type}>
  return
}}
"""
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-9, 10, (8, 32)).astype({"i8": np.int8, "f16": np.float16}[type])
    arrays, result = launch(text, *strided(a), *strided(np.zeros_like(a)), target=str(rng.choice(TARGETS)))
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[1], a)
