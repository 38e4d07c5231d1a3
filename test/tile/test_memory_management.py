"""Bank conflicts that tile-memory-management predicts, against those that the simulated GPU counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import assembled, decode, empty, fresh_seed, random
from tile.kernels import compiled, example, launch, strided

from oracles import require_tool
from tessera_tools.analysis.lane_values import trips
from tessera_tools.dialects import tile
from tessera_tools.emit.measure import measure
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.tile.memory_management import IDEAL, PREDICTED
from tessera_tools.target import lookup

BEFORE, AFTER = "tile-memory-management{swizzle=false}", "tile-memory-management"

# Each writes rows and reads in another way; FILL and the loads at the end are the same for all.
HEAD = """
func.func @kernel(%A: memref<?x?x{element}>, %B: memref<?x{element}>)
    attributes {{tessera.kernel, tessera.threads = 128}} {{
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %s = tile.alloc_shared : memref<{rows}x{columns}x{element}, 3>
  %t = tile.thread_id : index
  %w = tile.warp_id : index
  %l = tile.lane_id : index
  scf.for %i = %c0 to %c{rows} step %c4 {{
    %r = arith.addi %i, %w : index
    scf.for %j = %c0 to %c{columns} step %c{stride} {{
      %first = arith.muli %l, %c{width} : index
      %c = arith.addi %j, %first : index
      %v = tile.load_global{vector} %A[%r, %c] {attributes} : memref<?x?x{element}>
      tile.store_shared{vector} %v, %s[%r, %c] {attributes} : memref<{rows}x{columns}x{element}, 3>
    }}
  }}
  tile.barrier
  {body}
  tile.store_global_element %x, %B[%t] : memref<?x{element}>
  return
}}
"""


def kernel(rows: int, columns: int, element: str, body: str) -> str:
    width = max(1, columns // 32)
    wide = width > 1 and width * int(element[-2:]) <= 128
    return HEAD.format(
        rows=rows,
        columns=columns,
        element=element,
        body=body.replace("TYPE", f"memref<{rows}x{columns}x{element}, 3>"),
        width=width if wide else 1,
        stride=32 * (width if wide else 1),
        vector="_vector" if wide else "",
        attributes=f"{{vector_width = {width}}}" if wide else "",
    )


PATTERNS = {
    "column of f32 rows": (32, 32, "f32", "%x = tile.load_shared %s[%l, %w] : TYPE"),
    "bf16 transposed": (
        64,
        64,
        "bf16",
        "%e = arith.remui %t, %c64 : index\n%x = tile.load_shared %s[%e, %w] : TYPE",
    ),
    "diagonal of bf16": (128, 128, "bf16", "%x = tile.load_shared %s[%t, %t] : TYPE"),
    "stride 2": (
        32,
        64,
        "f32",
        "%e = arith.muli %l, %c2 : index\n%x = tile.load_shared %s[%w, %e] : TYPE",
    ),
    "column of f64": (32, 32, "f64", "%x = tile.load_shared %s[%l, %w] : TYPE"),
    "vectors of columns": (
        64,
        64,
        "f16",
        "%r = arith.remui %t, %c64 : index\n%h = arith.divui %t, %c64 : index\n%e = arith.muli %h, %c8 : index\n"
        "%v = tile.load_shared_vector %s[%r, %e] {vector_width = 8} : TYPE\n"
        "%a = vector.extract %v[0] : f16 from vector<8xf16>\n%b = vector.extract %v[7] : f16 from vector<8xf16>\n"
        "%x = arith.addf %a, %b : f16",
    ),
}
KEPT = ("diagonal of bf16", "stride 2")
"""Where a swizzle would cost the stores what it gains for the load, or gain nothing."""
EXPECTED: dict[str, Any] = {
    "column of f32 rows": lambda a: a[:, :4].T.ravel(),
    "bf16 transposed": lambda a: np.array([a[t % 64, t // 32] for t in range(128)]),
    "diagonal of bf16": np.diag,
    "stride 2": lambda a: a[:4, ::2].ravel(),
    "column of f64": lambda a: a[:, :4].T.ravel(),
    "vectors of columns": lambda a: np.array(
        [a[t % 64, t // 64 * 8] + a[t % 64, t // 64 * 8 + 7] for t in range(128)], a.dtype
    ),
}


def managed(text: str, step: str) -> Any:
    """The module after a pass."""
    module = parse_module(text, "kernel.mlir", implicit_index_constants=True)
    pipeline = Pipeline("builtin.module")
    pipeline.add(parse_pass(step))
    PassManager(pipeline, verify_each=True).run(module)
    return module


def predicted(text: str, step: str) -> tuple[int, int]:
    """(wavefronts, the least) that a pass predicts for one block."""
    found, ideal = 0, 0
    for op in managed(text, step).walk():
        if PREDICTED in op.attributes:
            found += trips(op) * op.attributes[PREDICTED].value
            ideal += trips(op) * op.attributes[IDEAL].value
    return found, ideal


def counted(result: Any) -> int:
    return sum(result.stats.wavefronts.values())


@pytest.mark.parametrize("name", PATTERNS)
def test_accesses_by_element_cost_what_is_predicted(name: str) -> None:
    text = kernel(*PATTERNS[name])
    rows, columns, element, _ = PATTERNS[name]
    rng = np.random.default_rng(fresh_seed())
    bits = int(element[-2:])
    a = rng.integers(0, 1 << 9, (rows, columns)).astype(f"u{bits // 8}")
    a = a.astype(np.float16) if element == "f16" else a
    totals: list[int] = []
    for step in (BEFORE, AFTER):
        args = [*strided(a), *strided(np.zeros(128, a.dtype))]
        arrays, result = launch(text, *args, passes=(step,), stats=True)
        assert not result.findings, result.findings.text(name)
        np.testing.assert_array_equal(arrays[1], EXPECTED[name](a))
        totals.append(counted(result))
        assert totals[-1] == predicted(text, step)[0]
    before, after = totals
    print(name, before, after)
    assert after < before if name not in KEPT else after == before


def test_no_swizzle_is_better_than_the_one_chosen() -> None:
    for name, pattern in PATTERNS.items():
        text = kernel(*pattern)
        least = predicted(text, AFTER)[0]
        columns, element = pattern[1], pattern[2]
        for size in (0, 32, 64, 128):
            if columns * int(element[-2:]) // 8 < size:
                continue
            swizzle = f'{{swizzle = "xor", swizzle_size = {size}}}' if size else ""
            other = text.replace("tile.alloc_shared ", f"tile.alloc_shared {swizzle} ")
            assert predicted(other, BEFORE)[0] >= least, (name, size)


MMA = """
func.func @kernel(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xbf16, 3>
  %b = tile.alloc_shared : memref<64x64xbf16, 3>
  %x = tile.compute_tensor_slice %A, %c0 : memref<?x?xbf16>, index -> memref<64x?xbf16>
  %y = tile.compute_tensor_slice %B, %c0 : memref<?x?xbf16>, index -> memref<64x?xbf16>
  tile.cp_async %x, %a : memref<64x?xbf16>, memref<64x64xbf16, 3>
  tile.cp_async %y, %b : memref<64x?xbf16>, memref<64x64xbf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  %d = tile.mma %a, %b {TRANSPOSE} : memref<64x64xbf16, 3>, memref<64x64xbf16, 3> -> memref<8x4xf32, 5>
  tile.store_global %d, %D : memref<8x4xf32, 5>, memref<?x?xf32>
  return
}
"""


@pytest.mark.parametrize("transposed", [False, True], ids=["b", "b-transposed"])
@pytest.mark.parametrize("element, sum", [("bf16", "f32"), ("tf32", "f32"), ("f64", "f64"), ("i8", "i32")])
def test_operands_of_products_cost_what_is_predicted(element: str, sum: str, transposed: bool) -> None:
    text = MMA.replace("TRANSPOSE", f"transpose_b = {str(transposed).lower()}")
    text = text.replace("bf16", element).replace("f32", sum)
    rng = np.random.default_rng(fresh_seed())
    a, b = random(element, (64, 64), rng), random(element, (64, 64), rng)
    for step in (BEFORE, AFTER):
        args = [x for array in (a, b, empty(sum, (64, 64))) for x in strided(array)]
        _, result = launch(text, *args, passes=(step,), stats=True)
        assert not result.findings, result.findings.text("mma")
        total, ideal = predicted(text, step)
        assert counted(result) == total
        if element == "bf16":
            assert (total > ideal) is (step is BEFORE)


def test_a_copy_of_narrow_pieces_costs_what_is_predicted() -> None:
    """Of a small tile, of which some threads copy nothing, four bytes at a time."""
    text = """
func.func @kernel(%A: memref<?x?xf16>, %B: memref<?x?xf16>)
    attributes {tessera.kernel, tessera.alignment = 4, tessera.threads = 128} {
  %s = tile.alloc_shared : memref<8x16xf16, 3>
  %t = tile.thread_id : index
  %r = arith.remui %t, %c8 : index
  %c = arith.divui %t, %c8 : index
  %x = memref.subview %A[%c0, %c2] [8, 16] [1, 1] : memref<?x?xf16> to memref<8x16xf16, strided<[?, 1], offset: ?>>
  tile.cp_async %x, %s : memref<8x16xf16, strided<[?, 1], offset: ?>>, memref<8x16xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  %v = tile.load_shared %s[%r, %c] : memref<8x16xf16, 3>
  tile.store_global_element %v, %B[%r, %c] : memref<?x?xf16>
  return
}
"""
    rng = np.random.default_rng(fresh_seed())
    a = rng.standard_normal((8, 32)).astype(np.float16)
    for step in (BEFORE, AFTER):
        args = [*strided(a), *strided(np.zeros((8, 16), np.float16))]
        arrays, result = launch(text, *args, passes=(step,), stats=True)
        assert not result.findings, result.findings.text("pieces")
        np.testing.assert_array_equal(arrays[1], a[:, 2:18])
        assert counted(result) == predicted(text, step)[0] > 0


def test_the_examples_have_no_conflicts() -> None:
    for name in ("gemm_tile", "attention", "attention_causal", "flash_attention_listing"):
        text = example(name)
        assert predicted(text, AFTER) == predicted(text, BEFORE)
        found, ideal = predicted(text, AFTER)
        assert found == ideal > 0


def test_memory_management() -> None:
    """The unit test of the listing, with %thread_id defined."""
    text = """
    func @memory_test() {
      %thread_id = tile.thread_id : index
      %smem = tile.alloc_shared : memref<128x128xbf16, 3>
      %reg = tile.alloc_register : memref<8x8xf32, 5>

      // Operations that cause bank conflicts
      %0 = tile.load_shared %smem[%thread_id, %thread_id] : memref<128x128xbf16, 3>

      return
    }
    """
    ops = managed(text, AFTER).walk()
    assert any(isinstance(op, tile.AllocShared) and op.swizzle is not None for op in ops)


def combined(count: int) -> str:
    """Products, all of which are kept until the last is made."""
    text = """
func.func @kernel(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<128x64xbf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xbf16, 3>
  %total = tile.alloc_register : memref<8x8xf32, 5>
  tile.fill %total, %zero : memref<8x8xf32, 5>
"""
    for i in range(count):
        text += f"""
  %k{i} = arith.constant {64 * i} : index
  %x{i} = memref.subview %A[%c0, %k{i}] [128, 64] [1, 1]
    : memref<?x?xbf16> to memref<128x64xbf16, strided<[?, 1], offset: ?>>
  %y{i} = memref.subview %B[%k{i}, %c0] [64, 64] [1, 1]
    : memref<?x?xbf16> to memref<64x64xbf16, strided<[?, 1], offset: ?>>
  tile.barrier
  tile.cp_async %x{i}, %a : memref<128x64xbf16, strided<[?, 1], offset: ?>>, memref<128x64xbf16, 3>
  tile.cp_async %y{i}, %b : memref<64x64xbf16, strided<[?, 1], offset: ?>>, memref<64x64xbf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  %s{i} = tile.mma %a, %b : memref<128x64xbf16, 3>, memref<64x64xbf16, 3> -> memref<8x8xf32, 5>
"""
    for i in reversed(range(count)):
        text += f"""
  tile.scale_tensor %total, %two : memref<8x8xf32, 5>, f32
  tile.accumulate %total, %s{i} : memref<8x8xf32, 5>, memref<8x8xf32, 5>
"""
    return text + "  tile.store_global %total, %D : memref<8x8xf32, 5>, memref<?x?xf32>\n  return\n}\n"


def spilled_by_ptxas(text: str, passes: tuple[str, ...]) -> int:
    """Bytes that ptxas keeps in local memory for want of registers."""
    report = assembled(compiled(text, "sm_80", passes).ptx, "sm_80").report
    assert report is not None
    return sum(resources.spill_stores for resources in report.entries.values())


@pytest.mark.parametrize("mode", ["late", "early"])
def test_fragments_that_do_not_fit_are_spilled_and_come_back(mode: str) -> None:
    count = 4
    text = combined(count)
    rng = np.random.default_rng(fresh_seed())
    a, b = random("bf16", (128, 64 * count), rng), random("bf16", (64 * count, 64), rng)
    wide_a, wide_b = decode("bf16", a), decode("bf16", b)
    expected = np.zeros((128, 64))
    for i in reversed(range(count)):
        expected = 2 * expected + wide_a[:, 64 * i : 64 * i + 64] @ wide_b[64 * i : 64 * i + 64]
    args = [x for array in (a, b, empty("f32", (128, 64))) for x in strided(array)]
    arrays, result = launch(text, *args, passes=(AFTER,), mode=mode, stats=True)
    assert not result.findings, result.findings.text("spills")
    np.testing.assert_allclose(arrays[2], expected, rtol=1e-3, atol=1e-2)
    # What it keeps in shared memory costs no conflict, and it says what it costs.
    assert result.stats is not None
    assert counted(result) == sum(result.stats.ideal_wavefronts.values()) == predicted(text, AFTER)[0]


def test_spilled_fragments_need_no_local_memory_and_no_barriers() -> None:
    text = combined(6)
    assert spilled_by_ptxas(text, ()) > 0
    assert spilled_by_ptxas(text, (AFTER,)) == 0
    before, after = (compiled(text, "sm_80", passes).ptx.count("bar.sync") for passes in ((), (AFTER,)))
    assert before == after


def managed_as_compiled(text: str, target: str) -> tuple[int, int, int]:
    """(fragments spilled to shared memory, bytes that ptxas spills before, and afterwards)."""
    require_tool("ptxas")
    module = parse_module(text, "kernel.mlir", implicit_index_constants=True)
    before = measure(module, lookup(target))["kernel"].spilled
    pipeline = Pipeline("builtin.module")
    pipeline.add(parse_pass(f"tile-memory-management{{gpu-name={target}}}"))
    PassManager(pipeline, measure=measure).run(module)
    after = measure(module, lookup(target))["kernel"].spilled
    return sum(isinstance(op, tile.Spill) for op in module.walk()), before, after


def test_what_is_spilled_is_enough_for_ptxas() -> None:
    rng = np.random.default_rng(fresh_seed())
    count, target = int(rng.integers(5, 7)), str(rng.choice(["sm_80", "sm_90a"]))
    spilled, before, after = managed_as_compiled(combined(count), target)
    assert spilled > 0
    assert before > 0
    assert after == 0


def test_nothing_is_spilled_where_ptxas_needs_no_spill() -> None:
    """Fragments of 128 registers, twice: more than the estimate allows, and ptxas has room for them."""
    text = combined(2).replace("8x8xf32", "8x16xf32")
    text = text.replace("memref<64x64xbf16, 3>", "memref<64x128xbf16, 3>").replace("[64, 64]", "[64, 128]")
    text = text.replace("memref<64x64xbf16, strided", "memref<64x128xbf16, strided")
    assert managed_as_compiled(text, "sm_90a") == (0, 0, 0)
    assert any(isinstance(op, tile.Spill) for op in managed(text, AFTER).walk())


IN_PLACE = """
func.func @kernel(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c100 = arith.constant 100 : index
  %two = arith.constant 2.0 : f32
  %zero = arith.constant 0.0 : f32
  %t = tile.thread_id : index
  %low = arith.cmpi slt, %t, %c100 : index
  %a = tile.alloc_shared {swizzle = "xor", swizzle_size = 32} : memref<256x16xbf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<16x128xbf16, 3>
  %x = tile.compute_tensor_slice %A, %c0 : memref<?x?xbf16>, index -> memref<256x?xbf16>
  %y = tile.compute_tensor_slice %B, %c0 : memref<?x?xbf16>, index -> memref<16x?xbf16>
  tile.cp_async %x, %a : memref<256x?xbf16>, memref<256x16xbf16, 3>
  tile.cp_async %y, %b : memref<16x?xbf16>, memref<16x128xbf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  %kept = tile.alloc_register : memref<8x8xf32, 5>
  %sum = tile.alloc_register : memref<8x8xf32, 5>
  tile.fill %kept, %two : memref<8x8xf32, 5>
  tile.fill %sum, %zero : memref<8x8xf32, 5>
  scf.for %i = %c0 to %c3 step %c1 {
    %s = tile.mma %a, %b : memref<256x16xbf16, 3>, memref<16x128xbf16, 3> -> memref<8x8xf32, 5>
    tile.accumulate %sum, %s : memref<8x8xf32, 5>, memref<8x8xf32, 5>
    %even = arith.cmpi eq, %i, %c1 : index
    scf.if %even {
      tile.scale_tensor %kept, %two : memref<8x8xf32, 5>, f32
    }
    scf.if %low {
      tile.mask_fill %kept, %zero : memref<8x8xf32, 5>, f32
    } else {
      tile.accumulate %kept, %sum : memref<8x8xf32, 5>, memref<8x8xf32, 5>
    }
  }
  tile.accumulate %sum, %kept : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  tile.store_global %sum, %D : memref<8x8xf32, 5>, memref<?x?xf32>
  return
}
"""


def test_fragments_that_are_changed_in_place_are_spilled_again() -> None:
    """In a loop, in a branch, and for some of the threads: bit by bit what it is without spills."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("bf16", (256, 16), rng), random("bf16", (16, 128), rng)
    found: list[Any] = []
    for passes in ((), (AFTER,)):
        args = [x for array in (a, b, empty("f32", (256, 128))) for x in strided(array)]
        arrays, result = launch(IN_PLACE, *args, passes=passes)
        assert not result.findings, result.findings.text("in place")
        found.append(arrays[2])
    assert sum(isinstance(op, tile.Reload) for op in managed(IN_PLACE, AFTER).walk()) == 3
    np.testing.assert_array_equal(*found)
