"""Parts of one buffer in shared memory, on the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, fresh_seed
from tile.kernels import compiled, example, launch, strided

from tessera_tools.diagnostics import DiagnosticError


@pytest.mark.parametrize("depth", [32, 160, 200])
@pytest.mark.parametrize("passes", [(), ("tile-barrier-optimization",), ("tile-memory-management",)])
def test_a_ring_of_three_stages(depth: int, passes: tuple[str, ...]) -> None:
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-4, 5, (64, depth)).astype(np.float16)
    b = rng.integers(-4, 5, (depth, 128)).astype(np.float16)
    arrays, result = launch(
        example("gemm_ring"), *strided(a), *strided(b), *strided(np.zeros((64, 128), np.float32)), grid=(1, 2),
        target=str(rng.choice(TARGETS)), passes=passes,
    )  # fmt: skip
    assert not result.findings, result.findings.text("gemm")
    np.testing.assert_array_equal(arrays[2], a.astype(np.float64) @ b.astype(np.float64))


def test_the_barriers_of_a_ring_are_the_programs() -> None:
    """Other stages are on their way while one is multiplied: nothing waits for them."""
    ptx = compiled(example("gemm_ring")).ptx
    loop = ptx[ptx.index("cp.async.wait_group \t1") :]
    assert loop[: loop.index("st.global")].count("bar.sync") == 1


@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
def test_elements_of_stages_and_of_the_whole(element: str) -> None:
    """What is stored by stage is loaded from the whole buffer, and the other way round."""
    text = f"""
func.func @kernel(%A: memref<?x?x{element}>, %B: memref<?x?x{element}>)
    attributes {{tessera.kernel, tessera.threads = 32}} {{
  %s = tile.alloc_shared : memref<48x32x{element}, 3>
  %t = tile.thread_id : index
  scf.for %i = %c0 to %c3 step %c1 {{
    %first = arith.muli %i, %c16 : index
    %stage = memref.subview %s[%first, 0] [16, 32] [1, 1]
        : memref<48x32x{element}, 3> to memref<16x32x{element}, strided<[32, 1], offset: ?>, 3>
    scf.for %j = %c0 to %c16 step %c1 {{
      %row = arith.addi %first, %j : index
      %x = tile.load_global %A[%row, %t] : memref<?x?x{element}>
      tile.store_shared %x, %stage[%j, %t] : memref<16x32x{element}, strided<[32, 1], offset: ?>, 3>
    }}
  }}
  tile.barrier
  scf.for %row = %c0 to %c48 step %c1 {{
    %turned = arith.subi %c31, %t : index
    %x = tile.load_shared %s[%row, %turned] : memref<48x32x{element}, 3>
    tile.store_global_element %x, %B[%row, %t] : memref<?x?x{element}>
  }}
  return
}}
"""
    rng = np.random.default_rng(fresh_seed())
    type = {"i8": np.int8, "f32": np.float32, "f64": np.float64}[element]
    a = rng.integers(-100, 100, (48, 32)).astype(type)
    arrays, result = launch(text, *strided(a), *strided(np.zeros_like(a)), target=str(rng.choice(TARGETS)))
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[1], a[:, ::-1])


def _refused(body: str) -> str:
    text = f"""
func.func @kernel(%A: memref<?x?xf16>, %n: index) attributes {{tessera.kernel, tessera.threads = 32}} {{
  %s = tile.alloc_shared : memref<48x32xf16, 3>
  %t = tile.thread_id : index
  {body}
  return
}}
"""
    with pytest.raises(DiagnosticError) as raised:
        compiled(text)
    return raised.value.diagnostics[0].message


PART = "memref<16x32xf16, strided<[32, 1], offset: ?>, 3>"


@pytest.mark.parametrize(
    "body, message",
    [
        (
            f"%v = memref.subview %s[%n, 0] [16, 32] [1, 1] : memref<48x32xf16, 3> to {PART}",
            "takes 16 elements along dimension 0 at an offset that is not known to be a multiple of 16",
        ),
        (
            f"%i = arith.muli %t, %c16 : index\n"
            f"  %v = memref.subview %s[%i, 0] [16, 32] [1, 1] : memref<48x32xf16, 3> to {PART}",
            "has a thread-dependent offset",
        ),
        (
            "%v = memref.subview %s[0, 0] [16, 16] [1, 1] : memref<48x32xf16, 3> to "
            "memref<16x16xf16, strided<[32, 1]>, 3>",
            "takes 16x16 from memref<48x32xf16, 3>; expected a stage of it: one index, or a part that divides an "
            "extent, and the following dimensions whole",
        ),
        (
            "%v = memref.subview %s[0, 0] [16, 32] [1, 1] : memref<48x32xf16, 3> to memref<16x32xf16, 3>\n"
            "  %w = memref.subview %s[0, 0] [24, 32] [1, 1] : memref<48x32xf16, 3> to memref<24x32xf16, 3>",
            "from a buffer with stages of",
        ),
        (
            "%v = memref.subview %s[0, 0] [16, 32] [1, 1] : memref<48x32xf16, 3> to memref<16x32xf16, 3>\n"
            "  tile.cp_async %A, %s : memref<?x?xf16>, memref<48x32xf16, 3>",
            "uses all stages of a multi-stage buffer; select one stage with memref.subview",
        ),
    ],
)
def test_parts_that_are_refused(body: str, message: str) -> None:
    assert message in _refused(body)


@pytest.mark.parametrize("target", TARGETS)
def test_stages_with_rows_that_are_too_short_for_a_swizzle(target: str) -> None:
    """Also where TMA would copy them."""
    text = """
func.func @kernel(%A: memref<?x?xf16>) attributes {tessera.kernel} {
  %s = tile.alloc_shared {swizzle = "xor"} : memref<2x64x8xf16, 3>
  %in = memref.subview %A[0, 0] [64, 8] [1, 1] : memref<?x?xf16> to memref<64x8xf16>
  %v = memref.subview %s[1, 0, 0] [1, 64, 8] [1, 1, 1] : memref<2x64x8xf16, 3> to memref<64x8xf16, 3>
  tile.cp_async %in, %v : memref<64x8xf16>, memref<64x8xf16, 3>
  tile.async_wait
  return
}
"""
    with pytest.raises(DiagnosticError, match="has rows of 16 bytes; a swizzle needs 32 or more"):
        compiled(text, target)
