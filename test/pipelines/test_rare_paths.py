# ruff: noqa: E501
"""Work of the consumers that is seldom needed: masks, scaled exponentials, factors that may be 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import compiled, fresh_seed, launch

Array = np.ndarray[Any, Any]
M, BLOCK, DEPTH = 64, 64, 64

# Sums over blocks of B of what `{step}` makes of the scores %s = A · Bᵀ of a block, and of the sums so far.
PROGRAM = """entry @k(%aP: tile<ptr<f16>>, %bP: tile<ptr<f16>>, %dP: tile<ptr<f32>>, %rows: tile<i32>, %n: tile<i32>, %first: tile<i32>, %last: tile<i32>) {
  %token = make_token : token
  %aQ = assume div_by<16>, %aP : tile<ptr<f16>>
  %bQ = assume div_by<16>, %bP : tile<ptr<f16>>
  %aT = make_tensor_view %aQ, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %bT = make_tensor_view %bQ, shape = [%rows, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
  %dT = make_tensor_view %dP, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %aV = make_partition_view %aT : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
  %bV = make_partition_view %bT : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
  %dV = make_partition_view %dT : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c64 = constant <i32: 64> : tile<i32>
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %a, %at = load_view_tko weak %aV[%c0, %c0] token = %token : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
  %iota = iota : tile<64xi32>
  %i0 = reshape %iota : tile<64xi32> -> tile<64x1xi32>
  %f0 = reshape %first : tile<i32> -> tile<1x1xi32>
  %f1 = broadcast %f0 : tile<1x1xi32> -> tile<64x1xi32>
  %i1 = addi %i0, %f1 : tile<64x1xi32>
  %row = broadcast %i1 : tile<64x1xi32> -> tile<64x64xi32>
  %l0 = reshape %last : tile<i32> -> tile<1x1xi32>
  %limit = broadcast %l0 : tile<1x1xi32> -> tile<64x64xi32>
  %sum = for %k in (%c0 to %n, step %c1) : tile<i32> iter_values(%old = %zero) -> (tile<64x64xf32>) {
    %b0, %bt = load_view_tko weak %bV[%k, %c0] token = %token : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %b = permute %b0 [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %s = mmaf %a, %b, %zero : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %k0 = muli %k, %c64 : tile<i32>
    %k1 = reshape %k0 : tile<i32> -> tile<1x1xi32>
    %k2 = broadcast %k1 : tile<1x1xi32> -> tile<1x64xi32>
    %j0 = reshape %iota : tile<64xi32> -> tile<1x64xi32>
    %j1 = addi %k2, %j0 : tile<1x64xi32>
    %column = broadcast %j1 : tile<1x64xi32> -> tile<64x64xi32>
    {step}
    continue %new : tile<64x64xf32>
  }
  %done = store_view_tko weak %sum, %dV[%c0, %c0] token = %token : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}
"""
MASKED = """{mask}
    %x = select %m, %s, %zero : tile<64x64xi1>, tile<64x64xf32>
    %new = addf %old, %x : tile<64x64xf32>"""
CAUSAL = "%m = cmpi greater_than_or_equal %row, %column, signed : tile<64x64xi32> -> tile<64x64xi1>"
BOUND = "%m = cmpi less_than %column, %limit, signed : tile<64x64xi32> -> tile<64x64xi1>"
BOTH = """%m0 = cmpi less_than_or_equal %column, %row, signed : tile<64x64xi32> -> tile<64x64xi1>
    %m1 = cmpi greater_than %limit, %column, signed : tile<64x64xi32> -> tile<64x64xi1>
    %m = andi %m0, %m1 : tile<64x64xi1>"""
POWERS = """%p = exp2 %s : tile<64x64xf32>
    %new = addf %old, %p : tile<64x64xf32>"""

FACTORS = """%l1 = broadcast %l0 : tile<1x1xi32> -> tile<64x1xi32>
    %w = cmpi less_than %i0, %l1, signed : tile<64x1xi32> -> tile<64x1xi1>
    %u1 = constant <f32: 1.0> : tile<64x1xf32>
    %u0 = constant <f32: 0.0> : tile<64x1xf32>
    %e = select %w, %u1, %u0 : tile<64x1xi1>, tile<64x1xf32>
    %q = exp2 %e : tile<64x1xf32>
    %f = broadcast %q : tile<64x1xf32> -> tile<64x64xf32>
    %y = mulf %old, %f : tile<64x64xf32>
    %new = addf %y, %s : tile<64x64xf32>"""


def sums(step: str, a: Array, b: Array, first: int, last: int, mode: str) -> Array:
    """What the program computes on the simulated GPU."""
    blocks = len(b) // BLOCK
    d = np.zeros((M, BLOCK), np.float32)
    numbers = [np.int32(n) for n in (len(b), blocks, first, last)]
    return launch(PROGRAM.replace("{step}", step), a, b, d, *numbers, target="sm_90a", mode=mode)[0][2]


def blocks_of_scores(a: Array, b: Array) -> Array:
    """(block, row, column), in float64."""
    scores = a.astype(np.float64) @ b.astype(np.float64).T
    return scores.reshape(M, -1, BLOCK).transpose(1, 0, 2)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("mask", [CAUSAL, BOUND, BOTH], ids=["causal", "bound", "both"])
def test_a_mask_applies_where_it_does_not_hold(mask: str, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal((n, DEPTH)).astype(np.float16) for n in (M, 5 * BLOCK))
    first, last = (int(n) for n in rng.integers(-70, 6 * BLOCK, 2))
    found = sums(MASKED.replace("{mask}", mask), a, b, first, last, mode)
    rows, columns = first + np.arange(M)[:, None], np.arange(5 * BLOCK)[None, :]
    holds = {CAUSAL: rows >= columns, BOUND: (columns < last) | (rows < rows)}.get(mask)
    if holds is None:
        holds = (columns <= rows) & (columns < last)
    kept = blocks_of_scores(a, b) * holds.reshape(M, -1, BLOCK).transpose(1, 0, 2)
    np.testing.assert_allclose(found, kept.sum(0), atol=1e-2)


def test_row_numbers_that_wrap_are_masked() -> None:
    """The rows from 2^31 - 32 on are negative after 32 of them: the first row says nothing of the others."""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal((n, DEPTH)).astype(np.float16) for n in (M, 2 * BLOCK))
    found = sums(MASKED.replace("{mask}", CAUSAL), a, b, 2**31 - 32, 0, "late")
    kept = blocks_of_scores(a, b).sum(0) * (np.arange(M) < 32)[:, None]
    np.testing.assert_allclose(found, kept, atol=1e-2)


def test_a_mask_is_behind_a_branch() -> None:
    """The scalar comparison stands before the 32 of a thread's registers; without it they are there in every block."""
    ptx = compiled(PROGRAM.replace("{step}", MASKED.replace("{mask}", CAUSAL)), "sm_90a").ptx
    selects = [i for i, line in enumerate(ptx.splitlines()) if "selp" in line]
    branches = [i for i, line in enumerate(ptx.splitlines()) if "bra" in line]
    assert len(selects) >= 32
    assert any(first < selects[0] for first in branches)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("powers", [(-149, -126), (-126, -60), (-64, -62), (-20, 60), (-149, 60)])
def test_exponentials_are_not_flushed(powers: tuple[int, int], mode: str) -> None:
    """Scores are the integers of one column of A times one, so that the powers are exact, subnormal ones too."""
    rng = np.random.default_rng(fresh_seed())
    a, b = np.zeros((M, DEPTH), np.float16), np.zeros((2 * BLOCK, DEPTH), np.float16)
    a[:, 0], b[:, 0] = rng.integers(*powers, M), 1
    found = sums(POWERS, a, b, 0, 0, mode)
    expected = np.exp2(blocks_of_scores(a, b)).sum(0)
    assert expected.min() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_exponentials_are_scaled_on_the_rare_path_alone() -> None:
    ptx = compiled(PROGRAM.replace("{step}", POWERS), "sm_90a").ptx
    assert "vote.sync.any" in ptx
    assert ptx.count("ex2.approx.ftz.f32") == 32
    # Of the loop, and of the last block behind it, which has no second path.
    assert ptx.count("ex2.approx.f32") == 64


@pytest.mark.parametrize("rows", [0, 5, 40, 64])
def test_sums_are_multiplied_where_a_factor_is_not_one(rows: int) -> None:
    """The first rows are doubled in each block; a warp has 16."""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal((n, DEPTH)).astype(np.float16) for n in (M, 4 * BLOCK))
    found = sums(FACTORS, a, b, 0, rows, "late")
    expected = np.zeros((M, BLOCK))
    for scores in blocks_of_scores(a, b):
        expected = expected * np.where(np.arange(M) < rows, 2, 1)[:, None] + scores
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_products_with_ones_are_on_the_rare_path() -> None:
    ptx = compiled(PROGRAM.replace("{step}", FACTORS), "sm_90a").ptx
    lines = ptx.splitlines()
    vote = next(i for i, line in enumerate(lines) if "vote.sync.any" in line)
    products = [i for i, line in enumerate(lines) if "mul" in line and ".f32" in line and i > vote]
    assert any("bra" in line for line in lines[vote : products[0]])
