"""Accesses of single elements, which every thread makes for itself, on the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, assembled, decode, encode, fresh_seed, read_by_mlir_opt
from tile.kernels import compiled, launch, strided

from tessera_tools.diagnostics import DiagnosticError

TRANSPOSE = """
func.func @transpose(%A: memref<?x?x{element}>, %B: memref<?x?x{element}>)
    attributes {{tessera.kernel, tessera.threads = 64}} {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %s = tile.alloc_shared {{{swizzle}}} : memref<64x64x{element}, 3>
  %t = tile.thread_id : index
  tile.prefetch %A[%t, %c0] : memref<?x?x{element}>
  scf.for %i = %c0 to %c64 step %c2 {{
    %w = tile.warp_id : index
    %l = tile.lane_id : index
    %r = arith.addi %i, %w : index
    %l2 = arith.muli %l, %c2 : index
    %v = tile.load_global_vector %A[%r, %l2] {{vector_width = 2}} : memref<?x?x{element}>
    tile.store_shared_vector %v, %s[%r, %l2] {{vector_width = 2}} : memref<64x64x{element}, 3>
  }}
  tile.barrier
  scf.for %i = %c0 to %c64 step %c2 {{
    %x = tile.load_shared %s[%t, %i] : memref<64x64x{element}, 3>
    %j = arith.addi %i, %c1 : index
    %y = tile.load_shared %s[%t, %j] : memref<64x64x{element}, 3>
    tile.store_global_element %x, %B[%i, %t] : memref<?x?x{element}>
    tile.store_global_element %y, %B[%j, %t] : memref<?x?x{element}>
  }}
  return
}}
"""


@pytest.mark.parametrize("swizzle", ["", 'swizzle = "xor"', 'swizzle = "xor", swizzle_size = 32'])
@pytest.mark.parametrize("element", ["f32", "bf16", "i64"])
def test_a_transposition_by_elements(element: str, swizzle: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    bits = {"f32": np.uint32, "bf16": np.uint16, "i64": np.uint64}[element]
    a = rng.integers(0, 1 << 15, (64, 64)).astype(bits)
    text = TRANSPOSE.format(element=element, swizzle=swizzle)
    target = str(rng.choice(TARGETS))
    arrays, result = launch(text, *strided(a), *strided(np.zeros_like(a)), target=target)
    assert not result.findings, result.findings.text("transpose")
    np.testing.assert_array_equal(arrays[1], a.T)


def test_a_place_in_a_matrix_of_a_tensor() -> None:
    text = """
func.func @kernel(%A: memref<?x?x?xf16>, %B: memref<?xf16>) attributes {tessera.kernel, tessera.threads = 32} {
  %start = arith.constant 5 : index
  %m = tile.compute_tensor_slice %A, %start : memref<?x?x?xf16>, index -> memref<16x?xf16>
  %l = tile.lane_id : index
  %x = tile.load_global %m[%c3, %l] : memref<16x?xf16>
  %head = tile.block_id {axis = 1 : i64} : index
  %row = arith.muli %head, %c32 : index
  %place = arith.addi %row, %l : index
  tile.store_global_element %x, %B[%place] : memref<?xf16>
  return
}
"""
    rng = np.random.default_rng(fresh_seed())
    a = rng.standard_normal((2, 20, 40)).astype(np.float16)
    arrays, result = launch(text, *strided(a), *strided(np.zeros(64, np.float16)), grid=(1, 2))
    assert not result.findings
    np.testing.assert_array_equal(arrays[1].reshape(2, 32), a[:, 8, :32])


def test_elements_of_vectors() -> None:
    text = """
func.func @kernel(%A: memref<?xbf16>, %B: memref<?xbf16>) attributes {tessera.kernel, tessera.threads = 32} {
  %t = tile.thread_id : index
  %i = arith.muli %t, %c4 : index
  %v = tile.load_global_vector %A[%i] {vector_width = 4} : memref<?xbf16>
  %a = vector.extract %v[0] : bf16 from vector<4xbf16>
  %b = vector.extract %v[1] : bf16 from vector<4xbf16>
  %c = vector.extract %v[2] : bf16 from vector<4xbf16>
  %d = vector.extract %v[3] : bf16 from vector<4xbf16>
  %e = arith.addf %a, %b : bf16
  %r = vector.from_elements %d, %c, %b, %e : vector<4xbf16>
  tile.store_global_vector %r, %B[%i] {vector_width = 4} : memref<?xbf16>
  return
}
"""
    rng = np.random.default_rng(fresh_seed())
    a = encode("bf16", rng.integers(-100, 100, (32, 4)) * 0.5)
    arrays, result = launch(text, *strided(a.ravel()), *strided(np.zeros(128, a.dtype)))
    assert not result.findings
    found, given = decode("bf16", arrays[1]).reshape(32, 4), decode("bf16", a)
    expected = np.stack([given[:, 3], given[:, 2], given[:, 1], given[:, 0] + given[:, 1]], 1)
    np.testing.assert_array_equal(found, expected)


EXCHANGE = """
func.func @kernel(%A: memref<?xi32>) attributes {tessera.kernel, tessera.threads = 128} {
  %t = tile.thread_id : index
  %v = arith.index_cast %t : index to i32
  tile.store_global_element %v, %A[%t] : memref<?xi32>
  BARRIER
  %other = arith.xori %t, %c96 : index
  %w = tile.load_global %A[%other] : memref<?xi32>
  BARRIER
  %sum = arith.addi %w, %v : i32
  tile.store_global_element %sum, %A[%t] : memref<?xi32>
  return
}
"""


def test_barriers_between_accesses_of_global_memory_stay() -> None:
    arrays, result = launch(EXCHANGE.replace("BARRIER", "tile.barrier"), *strided(np.zeros(128, np.int32)))
    assert not result.findings, result.findings.text("exchange")
    np.testing.assert_array_equal(arrays[0], np.arange(128) + (np.arange(128) ^ 96))
    _, result = launch(EXCHANGE.replace("BARRIER", ""), *strided(np.zeros(128, np.int32)))
    assert result.findings


def test_barriers_between_accesses_of_shared_memory_are_put_in() -> None:
    text = """
func.func @kernel(%A: memref<?xi32>) attributes {tessera.kernel, tessera.threads = 128} {
  %s = tile.alloc_shared : memref<128xi32, 3>
  %t = tile.thread_id : index
  %v = arith.index_cast %t : index to i32
  tile.store_shared %v, %s[%t] : memref<128xi32, 3>
  %other = arith.xori %t, %c96 : index
  %w = tile.load_shared %s[%other] : memref<128xi32, 3>
  tile.store_global_element %w, %A[%t] : memref<?xi32>
  return
}
"""
    arrays, result = launch(text, *strided(np.zeros(128, np.int32)))
    assert not result.findings, result.findings.text("exchange")
    np.testing.assert_array_equal(arrays[0], np.arange(128) ^ 96)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            "%s = tile.alloc_shared : memref<64xi1, 3>\n %x = tile.load_shared %s[%t] : memref<64xi1, 3>",
            "accesses single elements of 1 bits",
        ),
        (
            "%x = tile.load_global_vector %A[%t, %t] {vector_width = 4} : memref<?x?xf32>\n"
            "%y = vector.extract %x[%t] : f32 from vector<4xf32>",
            "is not supported; expected one element at a constant position",
        ),
    ],
)
def test_what_is_refused(body: str, message: str) -> None:
    text = f"""
func.func @kernel(%A: memref<?x?xf32>) attributes {{tessera.kernel, tessera.threads = 32}} {{
  %t = tile.thread_id : index
  {body}
  return
}}
"""
    with pytest.raises(DiagnosticError, match=message):
        launch(text, *strided(np.zeros((4, 4), np.float32)))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_mlir_and_ptxas_take_it(target: str) -> None:
    made = compiled(TRANSPOSE.format(element="bf16", swizzle='swizzle = "xor"'), target)
    read_by_mlir_opt(made.llvm)
    assembled(made.ptx, target)
