"""Copies of `tile` by TMA: the tiles arrive whole, every synchronization is needed, and the names of instructions are
those that are emitted."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Compiled, assembled, empty, fresh_seed, launch_ptx, random
from tile.kernels import compiled, example, launch, strided
from trials import Trial, missed, mutants, near

from tessera_tools.dialects import func, tile
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.tile.resources import resources_of
from tessera_tools.target import lookup

sys.path.insert(0, str(Path(__file__).parents[1] / "pipelines"))


BY_TMA = {"gemm_tile", "gemm_ring", "attention", "attention_causal", "flash_attention_listing"}
OTHERS = {"copy_bounds", "histogram", "layer_norm", "rms_norm", "softmax"}

COPY = """
func.func @kernel(%A: memref<?x?x{type}>, %D: memref<?x?x{type}>) attributes {{tessera.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %columns = arith.constant {columns} : index
  %x = tile.block_id : index
  %start = arith.muli %x, %columns : index
  %t = tile.thread_id : index
  %a = tile.alloc_shared {{swizzle = "{swizzle}"{size}}} : memref<{rows}x{columns}x{type}, 3>
  %s = memref.subview %A[0, %start] [{rows}, {columns}] [1, 1] : memref<?x?x{type}> to memref<{rows}x{columns}x{type}, strided<[?, 1], offset: ?>>
  tile.cp_async %s, %a : memref<{rows}x{columns}x{type}, strided<[?, 1], offset: ?>>, memref<{rows}x{columns}x{type}, 3>
  tile.async_wait
  tile.barrier
  %last = arith.constant {rows} : index
  %threads = arith.constant 128 : index
  scf.for %i = %c0 to %last step %c1 {{
    scf.for %j = %t to %columns step %threads {{
      %v = tile.load_shared %a[%i, %j] : memref<{rows}x{columns}x{type}, 3>
      %at = arith.addi %start, %j : index
      tile.store_global_element %v, %D[%i, %at] : memref<?x?x{type}>
    }}
  }}
  return
}}
"""  # noqa: E501


@pytest.mark.parametrize("target", ["sm_90a", "sm_90", "sm_100a", "sm_120a"])
def test_tiles_arrive_whole(target: str) -> None:
    """Of random types, extents and swizzles; zeros are what is outside of the tensor."""
    rng = np.random.default_rng(fresh_seed())
    for _ in range(3):
        type, size = [("f16", 2), ("bf16", 2), ("f32", 4), ("i8", 1), ("i32", 4), ("i16", 2)][
            int(rng.integers(6))
        ]
        swizzle = int(rng.choice([0, 32, 64, 128]))
        rows = int(rng.choice([8, 16, 64]))
        columns = max(swizzle, 16) // size * int(rng.choice([1, 2, 4]))
        word = ("xor", f", swizzle_size = {swizzle} : i64") if swizzle else ("none", "")
        text = COPY.format(type=type, rows=rows, columns=columns, swizzle=word[0], size=word[1])
        ptx = compiled(text, target).ptx
        assert "cp.async.bulk.tensor" in ptx and "cp.async.c" not in ptx.replace("cp.async.commit", "")
        width = 16 // size * int(rng.integers(1, 2 * columns * size // 16 + 1))
        height = int(rng.integers(1, rows + 8))
        a = random(type, (height, width), rng)
        out = empty(type, (rows, 2 * columns))
        arrays, result = launch(
            text,
            *strided(a),
            *strided(out),
            target=target,
            grid=(2,),
            mode=str(rng.choice(["late", "early"])),
        )
        assert not result.findings, result.findings.text("kernel")
        expected = np.zeros_like(out)
        part = a[:rows, : 2 * columns]
        expected[: part.shape[0], : part.shape[1]] = part
        np.testing.assert_array_equal(arrays[1], expected)


MANY_GROUPS = """
func.func @kernel(%A: memref<128x16xf16>, %D: memref<128x16xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %t = tile.thread_id : index
  %a = tile.alloc_shared : memref<16x8x16xf16, 3>
  scf.for %i = %c0 to %c16 step %c1 {
    %row = arith.muli %i, %c8 : index
    %in = memref.subview %A[%row, 0] [8, 16] [1, 1] : memref<128x16xf16> to memref<8x16xf16, strided<[16, 1], offset: ?>>
    %s = memref.subview %a[%i, 0, 0] [1, 8, 16] [1, 1, 1] : memref<16x8x16xf16, 3> to memref<8x16xf16, strided<[16, 1], offset: ?>, 3>
    tile.cp_async %in, %s : memref<8x16xf16, strided<[16, 1], offset: ?>>, memref<8x16xf16, strided<[16, 1], offset: ?>, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  tile.barrier
  %stage = arith.divui %t, %c8 : index
  %row = arith.remui %t, %c8 : index
  scf.for %j = %c0 to %c16 step %c1 {
    %v = tile.load_shared %a[%stage, %row, %j] : memref<16x8x16xf16, 3>
    tile.store_global_element %v, %D[%t, %j] : memref<128x16xf16>
  }
  return
}
"""  # noqa: E501


@pytest.mark.parametrize("mode", ["late", "early"])
def test_many_groups_may_be_waited_for_at_once(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    a, out = random("f16", (128, 16), rng), empty("f16", (128, 16))
    arrays, result = launch(MANY_GROUPS, *strided(a), *strided(out), target="sm_90a", grid=(1,), mode=mode)
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[1], a)


STORED_BEFORE = """
func.func @kernel(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %D: memref<64x64xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : f16
  %row = tile.thread_id : index
  %c64 = arith.constant 64 : index
  %mine = arith.remui %row, %c64 : index
  %half = arith.divui %row, %c64 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  tile.cp_async %B, %b : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.store_shared %none, %a[%mine, %half] : memref<64x64xf16, 3>
  tile.barrier
  tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  %p = tile.mma %a, %b : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.accumulate %acc, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.store_global %acc, %D : memref<4x8xf32, 5>, memref<64x64xf32>
  return
}
"""


def test_a_fence_stands_between_stores_and_a_copy_to_the_same_buffer() -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (64, 64), rng), random("f16", (64, 64), rng)
    args = [x for array in (a, b, empty("f32", (64, 64))) for x in strided(array)]
    made = compiled(STORED_BEFORE, "sm_90a")
    arrays, result = launch_ptx(made, args, "sm_90a", (1,), file="k.ptx", mode="early")
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b, atol=0.05)
    before = made.ptx[: made.ptx.index("wgmma")]
    # One stands before the copy, and one before the product.
    assert before.count("fence.proxy.async") == 2
    without = Compiled(
        re.sub(r"\tfence\.proxy\.async[^\n]*\n", "", made.ptx, count=1), made.manifest, made.lower
    )
    _, result = launch_ptx(without, args, "sm_90a", (1,), file="k.ptx", mode="early")
    assert "proxy" in {finding.kind for finding in result.findings}


# -- every synchronization


def gemm(rng: np.random.Generator) -> tuple[list[Any], tuple[int, int], int, Any]:
    a, b, d = random("f16", (64, 7 * 32), rng), random("f16", (7 * 32, 64), rng), empty("f32", (64, 64))
    return [x for m in (a, b, d) for x in strided(m)], (1, 1), 2, a.astype(np.float64) @ b


def attention(rng: np.random.Generator) -> tuple[list[Any], tuple[int, int], int, Any]:
    q, k, v = (random("bf16", (1, 1, 192, 64), rng) for _ in range(3))
    wide = [(m.astype(np.uint32) << 16).view(np.float32).astype(np.float64)[0, 0] for m in (q, k, v)]
    scores = wide[0] @ wide[1].T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True) @ wide[2]
    return [x for m in (q, k, v, empty("bf16", q.shape)) for x in strided(m)], (3, 1), 3, expected


@pytest.mark.parametrize(
    ("name", "case"),
    [("gemm_ring", gemm), ("attention", attention)],
    ids=["ring", "attention"],
)
def test_every_synchronization_is_needed(name: str, case: Any) -> None:
    """All but barriers of the program, which also stand where each thread waits for the bytes itself."""
    args, grid, place, expected = case(np.random.default_rng(fresh_seed()))
    made = compiled(example(name), "sm_90a")

    right = near(place, expected, 0.05, "bf16" if name == "attention" else "")
    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(3)]
    trial = Trial(args, "sm_90a", grid, right, schedules, {"max_instructions": 100_000})
    changed = [(what, ptx) for what, ptx in mutants(made.ptx) if "bar.sync" not in what]
    assert missed(Compiled(made.ptx, made.manifest, made.lower), changed, trial) == []


# -- names


@pytest.mark.parametrize("name", sorted(BY_TMA | OTHERS))
def test_names_are_what_is_emitted(name: str) -> None:
    """The instructions that tile-intrinsic-lowering names, and those that tile-analyze counts."""
    check_names(example(name), name in BY_TMA)


def check_names(text: str, by_tma: bool, target: str = "sm_90a") -> set[str]:
    """The names of the products' instructions, which are those in PTX."""
    module = parse_module(text, "kernel.mlir", implicit_index_constants=True)
    pipeline = Pipeline("builtin.module")
    pipeline.add(parse_pass(f"tile-intrinsic-lowering{{arch={target}}}"))
    PassManager(pipeline, verify_each=True).run(module)
    ops = list(module.walk())
    named = {
        op.intrinsic.value.replace(".row.col", "").partition(".aligned.")[2]
        for op in ops
        if isinstance(op, tile.Wgmma | tile.Wmma)
    }
    ptx = compiled(text, target).ptx
    emitted = set(re.findall(r"(?:wgmma\.mma_async|mma)\.sync\.aligned\.(\S+)", ptx))
    assert {word.replace(".row.col", "") for word in emitted} == named
    boxes = [op for op in ops if isinstance(op, tile.TmaLoad)]
    assert bool(boxes) == by_tma == ("shared::cta.global.tile.mbarrier" in ptx)
    if by_tma:
        (function,) = (op for op in ops if isinstance(op, func.Func))
        found = resources_of(function, lookup(target))
        assert found.can_use_tma
        assert ptx.count("mbarrier.init") == found.mbarriers
    return named


TYPES = """
func.func @kernel(%A: memref<{m}x{k}x{type}>, %B: memref<{n}x{k}x{type}>, %D: memref<{m}x{n}x{sum}>) attributes {{tessera.kernel}} {{
  %a = tile.alloc_shared {swizzle} : memref<{m}x{k}x{type}, 3>
  %b = tile.alloc_shared {swizzle} : memref<{n}x{k}x{type}, 3>
  tile.cp_async %A, %a : memref<{m}x{k}x{type}>, memref<{m}x{k}x{type}, 3>
  tile.cp_async %B, %b : memref<{n}x{k}x{type}>, memref<{n}x{k}x{type}, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %a, %b {{transpose_b = true}} : memref<{m}x{k}x{type}, 3>, memref<{n}x{k}x{type}, 3> -> memref<{rows}x8x{sum}, 5>
  tile.store_global %p, %D : memref<{rows}x8x{sum}, 5>, memref<{m}x{n}x{sum}>
  return
}}
"""  # noqa: E501


@pytest.mark.parametrize("target", ["sm_90a", "sm_90", "sm_80", "sm_120a"])
@pytest.mark.parametrize(
    ("type", "sum"),
    [
        ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("tf32", "f32"), ("i8", "i32"), ("f8E4M3FN", "f32"),
        ("f8E4M3FN", "f16"), ("f8E5M2", "f32"),
    ],
)  # fmt: skip
def test_names_of_every_type(type: str, sum: str, target: str) -> None:
    """Also of tiles that are too small, of sums that take too many registers, and of buffers without a swizzle."""
    for m, n, swizzle in ((64, 64, True), (64, 64, False), (32, 64, True), (128, 128, True)):
        k = {"i8": 64, "f8E4M3FN": 64, "f8E5M2": 64}.get(type, 32)
        text = TYPES.format(
            m=m,
            n=n,
            k=k,
            type=type,
            sum=sum,
            rows=m * n // 1024,
            swizzle='{swizzle = "xor"}' if swizzle else "",
        )
        check_names(text, target not in ("sm_80",), target)


def test_the_examples_fit_ptxas() -> None:
    """No example spills, and ptxas serializes no product."""
    for name in sorted(BY_TMA - {"flash_attention_listing"}):
        made = assembled(compiled(example(name), "sm_90a").ptx, "sm_90a")
        assert made.report is not None
        assert [m.text for m in made.report.messages if "C75" in m.text] == []
        for resources in made.report.entries.values():
            assert (resources.spill_stores, resources.spill_loads) == (0, 0)
