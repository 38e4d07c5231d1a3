# ruff: noqa: E501
"""Products of rows that a table names, and of slices of a tensor, as in grouped products and mixtures of experts: the
threads of the producer bring them, and wgmma or tcgen05.mma multiplies them."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch
from trials import Trial, missed, mutants, near

from oracles import require_tool

sys.path.insert(0, str(Path(__file__).parent))

from test_mixed import arrivals

TARGETS = {"sm_90a": "wgmma.mma_async", "sm_100a": "tcgen05.mma"}

GATHERED = """
entry @gathered(%ap: tile<ptr<f16>>, %table: tile<ptr<i32>>, %bp: tile<ptr<f16>>, %cp: tile<ptr<f32>>, %rows: tile<i32>, %K: tile<i32>, %N: tile<i32>) {
  %token = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %ck = constant <i32: 64> : tile<i32>
  %aq = assume div_by<16>, %ap : tile<ptr<f16>>
  %bq = assume div_by<16>, %bp : tile<ptr<f16>>
  %k8 = assume div_by<8>, %K : tile<i32>
  %n8 = assume div_by<8>, %N : tile<i32>
  %tv = make_tensor_view %table, shape = [%rows], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %tp = make_partition_view %tv : partition_view<tile=(MM), padding_value = zero, tensor_view<?xi32, strides=[1]>>
  %bv = make_tensor_view %bq, shape = [%k8, %n8], strides = [%n8, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %bt = make_partition_view %bv : partition_view<tile=(64xNN), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %cv = make_tensor_view %cp, shape = [%rows, %N], strides = [%N, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %ct = make_partition_view %cv : partition_view<tile=(MMxNN), tensor_view<?x?xf32, strides=[?,1]>>
  %place, %pt = load_view_tko weak %tp[%x] token = %token : partition_view<tile=(MM), padding_value = zero, tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<MMxi32>, token
  %pitch0 = reshape %k8 : tile<i32> -> tile<1xi32>
  %pitch = broadcast %pitch0 : tile<1xi32> -> tile<MMxi32>
  %starts = muli %place, %pitch : tile<MMxi32>
  %s0 = reshape %starts : tile<MMxi32> -> tile<MMx1xi32>
  %s1 = broadcast %s0 : tile<MMx1xi32> -> tile<MMx64xi32>
  %a0 = reshape %aq : tile<ptr<f16>> -> tile<1x1xptr<f16>>
  %a1 = broadcast %a0 : tile<1x1xptr<f16>> -> tile<MMx64xptr<f16>>
  %k0 = reshape %k8 : tile<i32> -> tile<1xi32>
  %k1 = broadcast %k0 : tile<1xi32> -> tile<64xi32>
  %none = constant <f16: 0.0> : tile<MMx64xf16>
  %zero = constant <f32: 0.0> : tile<MMxNNxf32>
  %n0 = iota : tile<64xi32>
  %steps = divi %K, %ck unsigned rounding<positive_inf> : tile<i32>
  %sum = for %j in (%c0 to %steps, step %c1) : tile<i32> iter_values(%old = %zero) -> (tile<MMxNNxf32>) {
    %first = muli %j, %ck : tile<i32>
    %f0 = reshape %first : tile<i32> -> tile<1xi32>
    %f1 = broadcast %f0 : tile<1xi32> -> tile<64xi32>
    %f2 = addi %f1, %n0 : tile<64xi32>
    %in = cmpi less_than %f2, %k1, signed : tile<64xi32> -> tile<64xi1>
    %in0 = reshape %in : tile<64xi1> -> tile<1x64xi1>
    %in1 = broadcast %in0 : tile<1x64xi1> -> tile<MMx64xi1>
    %f3 = reshape %f2 : tile<64xi32> -> tile<1x64xi32>
    %f4 = broadcast %f3 : tile<1x64xi32> -> tile<MMx64xi32>
    %at = addi %s1, %f4 : tile<MMx64xi32>
    %places = offset %a1, %at : tile<MMx64xptr<f16>>, tile<MMx64xi32> -> tile<MMx64xptr<f16>>
    %a, %adone = load_ptr_tko weak %places, %in1, %none token = %token : tile<MMx64xptr<f16>>, tile<MMx64xi1>, tile<MMx64xf16> -> tile<MMx64xf16>, token
    %b, %bdone = load_view_tko weak %bt[%j, %y] token = %token : partition_view<tile=(64xNN), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64xNNxf16>, token
    %new = mmaf %a, %b, %old : tile<MMx64xf16>, tile<64xNNxf16>, tile<MMxNNxf32>
    continue %new : tile<MMxNNxf32>
  }
  %done = store_view_tko weak %sum, %ct[%x, %y] token = %token : tile<MMxNNxf32>, partition_view<tile=(MMxNN), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
"""
"""C = A[table] · B."""

GROUPED = """
entry @grouped(%ap: tile<ptr<f16>>, %sp: tile<ptr<i32>>, %bp: tile<ptr<f16>>, %cp: tile<ptr<f32>>, %groups: tile<i32>, %most: tile<i32>, %K: tile<i32>, %N: tile<i32>, %depth: tile<i32>) {
  %token = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %cm = constant <i32: MM> : tile<i32>
  %ck = constant <i32: 32> : tile<i32>
  %aq = assume div_by<16>, %ap : tile<ptr<f16>>
  %bq = assume div_by<16>, %bp : tile<ptr<f16>>
  %k32 = assume div_by<32>, %K : tile<i32>
  %n8 = assume div_by<8>, %N : tile<i32>
  %steps = divi %k32, %ck unsigned rounding<positive_inf> : tile<i32>
  %sv = make_tensor_view %sp, shape = [%groups], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %st = make_partition_view %sv : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>
  %bv = make_tensor_view %bq, shape = [%depth, %n8], strides = [%n8, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %bt = make_partition_view %bv : partition_view<tile=(32xNN), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %zero = constant <f32: 0.0> : tile<MMxNNxf32>
  for %slot in (%x to %most, step %gx) : tile<i32> {
    %group, %start, %rows, %tile, %sum_rows, %sum_tiles = for %e in (%c0 to %groups, step %c1) : tile<i32> iter_values(%g0 = %c0, %s0 = %c0, %r0 = %c0, %t0 = %c0, %row0 = %c0, %b0 = %c0) -> (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) {
      %size1, %size_done = load_view_tko weak %st[%e] token = %token : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
      %size = reshape %size1 : tile<1xi32> -> tile<i32>
      %tiles = divi %size, %cm signed rounding<positive_inf> : tile<i32>
      %end = addi %b0, %tiles : tile<i32>
      %under = cmpi less_than %slot, %end, signed : tile<i32> -> tile<i1>
      %from = cmpi greater_than_or_equal %slot, %b0, signed : tile<i32> -> tile<i1>
      %here = andi %under, %from : tile<i1>
      %g1, %s1, %r1, %t1 = if %here -> (tile<i32>, tile<i32>, tile<i32>, tile<i32>) {
        %t = subi %slot, %b0 : tile<i32>
        yield %e, %row0, %size, %t : tile<i32>, tile<i32>, tile<i32>, tile<i32>
      } else {
        yield %g0, %s0, %r0, %t0 : tile<i32>, tile<i32>, tile<i32>, tile<i32>
      }
      %row1 = addi %row0, %size : tile<i32>
      continue %g1, %s1, %r1, %t1, %row1, %end : tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>
    }
    %some = cmpi greater_than %rows, %c0, signed : tile<i32> -> tile<i1>
    if %some {
      %first = muli %start, %k32 : tile<i32>
      %base = offset %aq, %first : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
      %av = make_tensor_view %base, shape = [%rows, %k32], strides = [%k32, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
      %at = make_partition_view %av : partition_view<tile=(MMx32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
      %out = muli %start, %N : tile<i32>
      %cbase = offset %cp, %out : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %cv = make_tensor_view %cbase, shape = [%rows, %N], strides = [%N, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
      %ct = make_partition_view %cv : partition_view<tile=(MMxNN), tensor_view<?x?xf32, strides=[?,1]>>
      %deep = muli %group, %steps : tile<i32>
      %sum = for %j in (%c0 to %steps, step %c1) : tile<i32> iter_values(%old = %zero) -> (tile<MMxNNxf32>) {
        %a, %adone = load_view_tko weak %at[%tile, %j] token = %token : partition_view<tile=(MMx32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<MMx32xf16>, token
        %row = addi %deep, %j : tile<i32>
        %b, %bdone = load_view_tko weak %bt[%row, %y] token = %token : partition_view<tile=(32xNN), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32xNNxf16>, token
        %new = mmaf %a, %b, %old : tile<MMx32xf16>, tile<32xNNxf16>, tile<MMxNNxf32>
        continue %new : tile<MMxNNxf32>
      }
      %done = store_view_tko weak %sum, %ct[%tile, %y] token = %token : tile<MMxNNxf32>, partition_view<tile=(MMxNN), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    }
    continue
  }
  return
}
"""
"""For each group of rows: C[rows] = A[rows] · B[group].  A program searches the groups of its tiles."""


def of(text: str, m: int, n: int) -> str:
    return text.replace("MM", str(m)).replace("NN", str(n))


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-2, 3, shape).astype(np.float16)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("m", "n"), [(64, 32), (128, 64), (128, 128)])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_rows_of_a_table(target: str, m: int, n: int, mode: str) -> None:
    text = of(GATHERED, m, n)
    ptx = compiled(text, target).ptx
    assert TARGETS[target] in ptx and "mma.sync" not in ptx
    rng = np.random.default_rng(fresh_seed())
    height, rows, k, columns = 50, 2 * m - int(rng.integers(m)), 8 * int(rng.integers(1, 60)), n + 8
    a, b, c = integers(rng, height, k), integers(rng, k, columns), np.zeros((rows, columns), np.float32)
    table = rng.integers(0, height, rows).astype(np.int32)
    args = [a, table, b, c, *map(np.int32, (rows, k, columns))]
    arrays, result = launch(text, *args, target=target, grid=(2, 2), mode=mode, seed=int(rng.integers(1000)))
    assert not result.findings, result.findings.text("gathered")
    np.testing.assert_array_equal(arrays[3], a[table].astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("mode", ["late", "early"])
def test_sums_that_the_consumer_changes_in_the_loop(mode: str) -> None:
    """It carries them in registers, and gets more of these, as the threads that load."""
    changed = "%less = negf %new : tile<MMxNNxf32>\n    continue %less"
    text = of(GATHERED.replace("continue %new", changed), 128, 64)
    ptx = compiled(text, "sm_100a").ptx
    assert "tcgen05.mma" in ptx
    assert re.findall(r"setmaxnreg\.(\w+)\.\S+ \t(\d+)", ptx) == [
        ("inc", "208"),
        ("dec", "32"),
        ("inc", "240"),
    ]
    rng = np.random.default_rng(fresh_seed())
    steps = int(rng.integers(1, 9))
    a, b, c = integers(rng, 50, 64 * steps), integers(rng, 64 * steps, 64), np.zeros((128, 64), np.float32)
    table = rng.integers(0, 50, 128).astype(np.int32)
    args = [a, table, b, c, *map(np.int32, (128, 64 * steps, 64))]
    arrays = launch(text, *args, target="sm_100a", mode=mode)[0]
    expected = np.zeros((128, 64))
    for step in range(0, 64 * steps, 64):
        expected = -(expected + a[table, step : step + 64].astype(np.float64) @ b[step : step + 64])
    np.testing.assert_array_equal(arrays[3], expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["late", "early"])
def test_ctas_of_a_cluster_copy_the_other_factor_together(target: str, mode: str) -> None:
    """Each brings rows of its own, so that they do not multiply together."""
    text = of(GATHERED, 128, 64)
    ptx = compiled(text, target, cluster="blocks:2x1").ptx
    assert TARGETS[target] in ptx and "multicast::cluster" in ptx and "cta_group::2" not in ptx
    rng = np.random.default_rng(fresh_seed())
    rows, k = 256, 64 * int(rng.integers(1, 12))
    a, b, c = integers(rng, 50, k), integers(rng, k, 64), np.zeros((rows, 64), np.float32)
    table = rng.integers(0, 50, rows).astype(np.int32)
    args = [a, table, b, c, *map(np.int32, (rows, k, 64))]
    arrays = launch(text, *args, target=target, grid=(2,), mode=mode, cluster="blocks:2x1")[0]
    np.testing.assert_array_equal(arrays[3], a[table].astype(np.float32) @ b.astype(np.float32))


def grouped(rng: np.random.Generator, m: int, n: int, groups: int, k: int) -> tuple[list[object], np.ndarray]:
    """The arguments of a launch, of which some groups have no rows, and its result."""
    sizes = rng.integers(0, 2 * m, groups).astype(np.int32)
    sizes[rng.integers(groups)] = 0
    rows = max(1, int(sizes.sum()))
    a, b = integers(rng, rows, k), integers(rng, groups * k, n)
    tiles = int((-(-sizes // m)).sum())
    expected, first = np.zeros((rows, n), np.float32), 0
    for group, size in enumerate(sizes):
        part = slice(first, first + size)
        expected[part] = a[part].astype(np.float32) @ b[group * k :][:k].astype(np.float32)
        first += size
    args = [
        a,
        sizes,
        b,
        np.zeros((rows, n), np.float32),
        *map(np.int32, (groups, tiles + 2, k, n, groups * k)),
    ]
    return args, expected


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("m", "n"), [(64, 32), (128, 128)])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_slices_of_groups(target: str, m: int, n: int, mode: str) -> None:
    text = of(GROUPED, m, n)
    rng = np.random.default_rng(fresh_seed())
    args, expected = grouped(rng, m, n, 4, 32 * int(rng.integers(1, 8)))
    arrays, result = launch(text, *args, target=target, grid=(2,), mode=mode, seed=int(rng.integers(1000)))
    assert not result.findings, result.findings.text("grouped")
    np.testing.assert_array_equal(arrays[3], expected)


@pytest.mark.parametrize("target", TARGETS)
def test_a_slice_comes_by_cp_async(target: str) -> None:
    ptx = compiled(of(GROUPED, 64, 32), target).ptx
    assert TARGETS[target] in ptx and "cp.async.cg" in ptx and "cp.async.bulk.tensor" in ptx


@pytest.mark.parametrize("target", TARGETS)
def test_each_agent_searches_the_groups_itself(target: str) -> None:
    """Nobody sends a number: there are mbarriers for the stages of factors, and for two of sums."""
    counts = Counter(arrivals(compiled(of(GROUPED, 64, 32), target).ptx))
    stages = counts[1 + 128]
    others = {4: stages} if target == "sm_90a" else {1: stages + 2, 4: 2}
    assert counts == {1 + 128: stages, **others}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", [GATHERED, GROUPED], ids=["gathered", "grouped"])
@pytest.mark.parametrize("n", [64, 128])
def test_ptxas_neither_serializes_nor_spills(target: str, text: str, n: int) -> None:
    require_tool("ptxas")
    found = assembled(compiled(of(text, 128, n), target).ptx, target)
    assert [w for w in found.warnings if "C75" in w or "spill" in w] == []


def test_every_synchronization_is_needed() -> None:
    """Of groups by tcgen05.mma: five tiles use both stages of the sums twice."""
    made = compiled(of(GROUPED, 64, 32), "sm_100a")
    rng = np.random.default_rng(fresh_seed())
    sizes = np.array([70, 0, 130, 40], np.int32)
    rows, k, n = int(sizes.sum()), 192, 32
    a, b = integers(rng, rows, k), integers(rng, len(sizes) * k, n)
    expected = np.concatenate(
        [
            part.astype(np.float64) @ b[group * k :][:k].astype(np.float64)
            for group, part in enumerate(np.split(a, np.cumsum(sizes)[:-1]))
        ]
    )
    args = [a, sizes, b, np.zeros((rows, n), np.float32), *map(np.int32, (len(sizes), 7, k, n, len(b)))]
    changed = [*mutants(made.ptx), *mutants(made.ptx, ("cp.async.mbarrier.arrive",))]
    assert len(changed) > 10
    trial = Trial(args, "sm_100a", (1,), near(3, expected, 0.1), options={"max_instructions": 60_000})
    assert missed(made, changed, trial) == []
