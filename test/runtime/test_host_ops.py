"""Ops of functions on the host that compute: kernels are written for them, and ranks run these."""

from __future__ import annotations

import math

import numpy as np
import pytest
from programs import decode, encode, fresh_seed
from runtime import threads
from runtime.plans import compiled

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime import ranks_mpi
from tessera_tools.runtime.ranks import PlanResult, run_plan

Array = np.ndarray


def run(text: str, *arguments: Array) -> list[Array]:
    """The whole results of a module's plan, run on as many ranks as its mesh has; no finding, no disagreement."""
    ptx, manifest = compiled(text)
    seed = int(np.random.default_rng(fresh_seed("schedule")).integers(1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks_mpi, "run_job", threads.run_job)
        made: PlanResult = run_plan(ptx, manifest, manifest.plans[0], arguments, transport="mpi", seed=seed)
    assert not made.disagreements
    for one in made.ranks:
        for launch in one.launches:
            assert not launch.findings, launch.findings.text("launch")
    return [result for result, _ in made.results]


def layer(ranks: int, x: str, w: str, v: str, out: str) -> str:
    """Two products with a gate between, tanh(s X W) ∘ X W, and a normalization by rows at the end."""
    return f"""
module attributes {{tile.mesh = #tile.mesh<x = {ranks}>}} {{
  func.func @main(%X: memref<64x32xf16> {{sharding = #tile.sharding<{x}>}},
                  %W: memref<32x128xf16> {{sharding = #tile.sharding<{w}>}},
                  %V: memref<128x48xf16> {{sharding = #tile.sharding<{v}>}})
      -> (memref<64x48xf32, 5> {{sharding = #tile.sharding<{out}>}}) {{
    %half = arith.constant 0.5 : f32
    %h = tile.mma %X, %W : memref<64x32xf16>, memref<32x128xf16> -> memref<64x128xf32, 5>
    %g = tile.apply "arith.mulf"(%h, %half) : (memref<64x128xf32, 5>, f32) -> memref<64x128xf32, 5>
    %t = tile.apply "math.tanh"(%g) : (memref<64x128xf32, 5>) -> memref<64x128xf32, 5>
    %u = tile.mul %t, %h : memref<64x128xf32, 5>, memref<64x128xf32, 5> -> memref<64x128xf32, 5>
    %u16 = tile.cast %u : memref<64x128xf32, 5> to memref<64x128xf16, 5>
    %y = tile.mma %u16, %V : memref<64x128xf16, 5>, memref<128x48xf16> -> memref<64x48xf32, 5>
    %m = tile.row_max %y : memref<64x48xf32, 5> -> memref<64xf32, 5>
    %e = tile.exp_subtract %y, %m : memref<64x48xf32, 5>, memref<64xf32, 5> -> memref<64x48xf32, 5>
    %s = tile.row_sum %e : memref<64x48xf32, 5> -> memref<64xf32, 5>
    %p = tile.div_broadcast %e, %s : memref<64x48xf32, 5>, memref<64xf32, 5> -> memref<64x48xf32, 5>
    return %p : memref<64x48xf32, 5>
  }}
}}
"""


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "cuts",
    [
        ("[{x}, {}]", "[{}, {}]", "[{}, {}]", "[{x}, {}]"),
        ("[{}, {}]", "[{}, {x}]", "[{x}, {}]", "[{}, {}]"),
        ("[{}, {x}]", "[{x}, {}]", "[{}, {x}]", "[{x}, {}]"),
    ],
    ids=["rows", "columns, then rows", "depth"],
)
def test_elementwise_ops_between_products(cuts: tuple[str, ...], ranks: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, w, v = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 32), (32, 128), (128, 48)))
    (found,) = run(layer(ranks, *cuts), x, w, v)
    wide = [a.astype(np.float64) for a in (x, w, v)]
    h = wide[0] @ wide[1]
    u = (np.tanh(h / 2) * h).astype(np.float16).astype(np.float64)
    y = u @ wide[2]
    e = np.exp(y - y.max(1, keepdims=True))
    # A unit of the last place of an f16 in the middle, summed up, stands in an exponent.
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=0.2, atol=0.02)


@pytest.mark.parametrize(
    "element, result, turned",
    [
        ("f16", "f16", ""), ("bf16", "bf16", "transpose_b = true"), ("f32", "f32", "transpose_a = true"),
        ("f16", "bf16", "transpose_a = true, transpose_b = true"), ("f32", "f16", "transpose_b = true"),
    ],
)  # fmt: skip
def test_products_of_every_type(element: str, result: str, turned: str) -> None:
    m, n, k = 72, 40, 64
    a_shape, b_shape = (
        (k, m) if "transpose_a" in turned else (m, k),
        (n, k) if "transpose_b" in turned else (k, n),
    )
    a_type, b_type, d_type = (
        f"memref<{'x'.join(map(str, s))}x{e}{space}>"
        for s, e, space in ((a_shape, element, ""), (b_shape, element, ""), ((m, n), result, ", 5"))
    )
    text = f"""
func.func @main(%A: {a_type}, %B: {b_type}) -> {d_type} {{
  %d = tile.mma %A, %B {{{turned}}} : {a_type}, {b_type} -> {d_type}
  return %d : {d_type}
}}
"""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.integers(-4, 5, shape).astype(np.float64) for shape in (a_shape, b_shape))
    (found,) = run(text, encode(element, a), encode(element, b))
    expected = (a.T if "transpose_a" in turned else a) @ (b.T if "transpose_b" in turned else b)
    np.testing.assert_array_equal(decode(result, found), decode(result, encode(result, expected)))


def test_a_product_of_bytes_that_begins_with_something() -> None:
    text = """
func.func @main(%A: memref<64x64xi8>, %B: memref<64x80xi8>) -> memref<64x80xi32, 5> {
  %seven = arith.constant 7 : i32
  %c = tile.alloc_register : memref<64x80xi32, 5>
  tile.fill %c, %seven : memref<64x80xi32, 5>
  %d = tile.mma %A, %B, %c : memref<64x64xi8>, memref<64x80xi8>, memref<64x80xi32, 5> -> memref<64x80xi32, 5>
  return %d : memref<64x80xi32, 5>
}
"""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((64, 64), (64, 80)))
    (found,) = run(text, a, b)
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32) + 7)


def test_changes_in_place_are_new_values() -> None:
    """What is read before a change is what it was."""
    text = """
module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func @main(%A: memref<64x32xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<32x48xf16>)
      -> (memref<64x48xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) {
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %d = tile.mma %A, %B : memref<64x32xf16>, memref<32x48xf16> -> memref<64x48xf32, 5>
    %before = tile.add %d, %d : memref<64x48xf32, 5>, memref<64x48xf32, 5> -> memref<64x48xf32, 5>
    tile.scale_tensor %d, %three : memref<64x48xf32, 5>, f32
    tile.accumulate %d, %before : memref<64x48xf32, 5>, memref<64x48xf32, 5>
    %r = tile.row_min %d : memref<64x48xf32, 5> -> memref<64xf32, 5>
    tile.scale_accumulator %d, %r : memref<64x48xf32, 5>, memref<64xf32, 5>
    %c = tile.alloc_register : memref<64x48xf32, 5>
    tile.fill %c, %two : memref<64x48xf32, 5>
    %o = tile.fma %c, %d, %before
        : memref<64x48xf32, 5>, memref<64x48xf32, 5>, memref<64x48xf32, 5> -> memref<64x48xf32, 5>
    return %o : memref<64x48xf32, 5>
  }
}
"""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 48)))
    (found,) = run(text, a, b)
    d = a.astype(np.float64) @ b.astype(np.float64)
    changed = 5 * d
    np.testing.assert_array_equal(found, 2 * changed * changed.min(1, keepdims=True) + 2 * d)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            "tile.accumulate %C, %d : memref<64x64xf32, 5>, memref<64x64xf32, 5>",
            "modifies an argument in a host function; return a new tensor instead",
        ),
        (
            "%n = arith.addf %x, %x : f32\n    tile.scale_tensor %d, %n : memref<64x64xf32, 5>, f32",
            "uses a non-constant number in a host function",
        ),
        (
            "%i = arith.constant 3 : index\n    tile.causal_mask %d, %i, %i, %x : memref<64x64xf32, 5>",
            "is not supported in a host function",
        ),
        (
            "%e = tile.mma %A, %A : memref<64x64xf16>, memref<64x64xf16> -> memref<64x64xf64, 5>",
            "multiplies memref<64x64xf16> by memref<64x64xf16> into f64 on the host",
        ),
    ],
)
def test_what_is_refused(body: str, message: str) -> None:
    text = f"""
  func.func @main(%A: memref<64x64xf16>, %C: memref<64x64xf32, 5>) -> memref<64x64xf32, 5> {{
    %x = arith.constant 1.0 : f32
    %d = tile.mma %A, %A : memref<64x64xf16>, memref<64x64xf16> -> memref<64x64xf32, 5>
    {body}
    return %d : memref<64x64xf32, 5>
  }}
"""
    with pytest.raises(DiagnosticError) as raised:
        compiled(text)
    assert message in raised.value.diagnostics[0].message


@pytest.mark.parametrize("strided", [0, 1])
def test_a_tensor_with_strides_is_refused_wherever_it_is(strided: int) -> None:
    types = ["memref<64x64xf16>", "memref<64x64xf16>"]
    types[strided] = "memref<64x64xf16, strided<[128, 1]>>"
    text = f"""
func.func @main(%A: {types[0]}, %B: {types[1]}) -> memref<64x64xf32, 5> {{
  %d = tile.mma %A, %B : {types[0]}, {types[1]} -> memref<64x64xf32, 5>
  return %d : memref<64x64xf32, 5>
}}
"""
    with pytest.raises(DiagnosticError) as raised:
        compiled(text)
    diagnostic = raised.value.diagnostics[0]
    assert "expected contiguous tensors of static extents" in diagnostic.message
    assert diagnostic.location is not None and diagnostic.location.start() == ("plan.mlir", 3, 8)


def test_functions_that_only_compute_are_called() -> None:
    """An activation in a function of its own, which follows how its argument is cut."""
    text = """
module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func private @gelu(%x: memref<64x48xf32, 5>) -> memref<64x48xf32, 5> {
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.70710678 : f32
    %a = tile.apply "arith.mulf"(%x, %root) : (memref<64x48xf32, 5>, f32) -> memref<64x48xf32, 5>
    %b = tile.apply "math.erf"(%a) : (memref<64x48xf32, 5>) -> memref<64x48xf32, 5>
    %c = tile.apply "arith.addf"(%b, %one) : (memref<64x48xf32, 5>, f32) -> memref<64x48xf32, 5>
    %d = tile.mul %c, %x : memref<64x48xf32, 5>, memref<64x48xf32, 5> -> memref<64x48xf32, 5>
    tile.scale_tensor %d, %half : memref<64x48xf32, 5>, f32
    return %d : memref<64x48xf32, 5>
  }
  func.func @main(%A: memref<64x32xf16> {sharding = #tile.sharding<[{x}, {}]>}, %B: memref<32x48xf16>)
      -> (memref<64x48xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) {
    %d = tile.mma %A, %B : memref<64x32xf16>, memref<32x48xf16> -> memref<64x48xf32, 5>
    %g = func.call @gelu(%d) : (memref<64x48xf32, 5>) -> memref<64x48xf32, 5>
    return %g : memref<64x48xf32, 5>
  }
}
"""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 32), (32, 48)))
    (found,) = run(text, a, b)
    x = a.astype(np.float64) @ b.astype(np.float64)
    erf = np.vectorize(math.erf)
    np.testing.assert_allclose(found, x * (1 + erf(x / np.sqrt(2))) / 2, rtol=1e-4, atol=1e-5)
