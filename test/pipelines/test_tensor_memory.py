# ruff: noqa: E501
"""Products that become TMA and tcgen05.mma by themselves: right on the simulated GPU, for every type and order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch
from trials import missed, mutants

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product
from test_mutants import trial_of
from test_products import check

TARGET = "sm_100a"

PRODUCTS = {
    "f16": Product(m=128, n=128),
    "f16, 64 rows": Product(m=64, n=64),
    "f16 sums": Product(m=128, n=32, accumulator="f16"),
    "f16 sums, 64 rows": Product(m=64, n=32, accumulator="f16"),
    "bf16": Product("bf16", m=128, n=32),
    "tf32": Product("tf32", m=128, k=32, b_t="permute"),
    "f8": Product("f8E4M3FN", m=128, k=128, b_t="permute"),
    "f8 through a view": Product("f8E5M2", m=64, k=64, b_t="view"),
    "f8 along N": Product("f8E4M3FN", m=128, n=64, k=64),
    "f8 along N and M": Product("f8E5M2", m=128, n=32, a_t="permute"),
    "f8, f16 sums": Product("f8E5M2", "f16", m=128, k=64, b_t="permute"),
    "i8": Product("i8", "i32", m=128, k=128, b_t="view"),
    "i8 along N": Product("i8", "i32", m=128, n=128, k=64),
    "u8": Product("i8", "i32", k=64, b_t="view", signs="unsigned unsigned"),
    "u8 by i8": Product("i8", "i32", m=128, k=64, b_t="permute", signs="unsigned signed"),
    "two tiles of rows": Product(m=256, n=128, k=32),
    "256 columns": Product(m=128, n=256, k=32),
    "a transposed": Product(a_t="permute", m=128, n=32),
    "a through a view": Product(a_t="view", m=128),
    "b transposed": Product(b_t="permute", m=128, n=128),
    "both": Product(a_t="view", b_t="permute", m=128, n=16, k=32),
    "b computed": Product(m=128, b_twice=True),
    "a converted": Product(a_in="i8", m=128, n=64),
    "both converted, several tiles": Product(
        "bf16", a_in="i8", b_in="i8", b_t="permute", m=128, n=128, outer=True
    ),
    "tf32 along N and M": Product("tf32", m=64, n=64, k=32, a_t="permute"),
    "in parts of the rows": Product(m=256, n=256, k=16),
    "in parts of the columns": Product(m=128, n=512, k=16),
    "in parts of the rows, deep": Product("tf32", m=256, n=128, k=128, b_t="view"),
    "four warpgroups, which share the registers of the launch": Product(m=128, n=128, k=32, warps=16),
    "several tiles": Product(outer=True, m=128, n=32),
    "several tiles of 64 rows": Product(outer=True, m=64, n=64),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_in_tensor_memory(name: str) -> None:
    ptx = compiled(PRODUCTS[name].text(), TARGET).ptx
    assert "tcgen05.mma" in ptx and "cp.async.bulk.tensor" in ptx
    assert "mma.sync" not in ptx and "cp.async.cg" not in ptx


@pytest.mark.parametrize("name", PRODUCTS)
def test_results(name: str) -> None:
    """Over two whole tiles along each axis, or over edges within tiles."""
    rng = np.random.default_rng(fresh_seed())
    check(PRODUCTS[name], bool(rng.integers(2)), str(rng.choice(["late", "early"])), rng, TARGET)


@pytest.mark.parametrize("name", ["f16", "f8"])
def test_results_on_an_architecture_that_only_ptxas_knows(name: str) -> None:
    """sm_107: LLVM generates the code of sm_103."""
    made = compiled(PRODUCTS[name].text(), "sm_107")
    assert "tcgen05.mma" in made.ptx and ".target sm_107a" in made.ptx
    assert made.manifest.target == "sm_107a"
    assert assembled(made.ptx, "sm_107").warnings == []
    rng = np.random.default_rng(fresh_seed())
    check(PRODUCTS[name], bool(rng.integers(2)), str(rng.choice(["late", "early"])), rng, "sm_107")


@pytest.mark.parametrize("name", ["f16", "f16, 64 rows", "several tiles"])
def test_ptxas_assembles_them_without_a_warning(name: str) -> None:
    used = assembled(compiled(PRODUCTS[name].text(), TARGET).ptx, TARGET)
    assert used.report is not None
    assert used.warnings == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


def test_what_tensor_cores_do_not_support_stays_with_mma_sync() -> None:
    """32 rows and columns; sums that take more columns than there are, of a kernel that cannot be cut."""
    for product in (Product(m=32, n=32), Product(m=512, n=256, k=16, d_assumed=True, read_back=True)):
        ptx = compiled(product.text(), TARGET).ptx
        assert "tcgen05" not in ptx and "mma.sync" in ptx


ROW_MAXIMA = """
entry @kernel(%ap: tile<ptr<f16>>, %bp: tile<ptr<f16>>, %cp: tile<ptr<f32>>) {
  %token = make_token : token
  %i, %j, %unused = get_tile_block_id : tile<i32>
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %ax = assume div_by<16>, %ap : tile<ptr<f16>>
  %bx = assume div_by<16>, %bp : tile<ptr<f16>>
  %av = make_tensor_view %ax, shape = [128, 32], strides = [32, 1] : tensor_view<128x32xf16, strides=[32,1]>
  %bv = make_tensor_view %bx, shape = [32, 64], strides = [64, 1] : tensor_view<32x64xf16, strides=[64,1]>
  %cv = make_tensor_view %cp, shape = [128], strides = [1] : tensor_view<128xf32, strides=[1]>
  %at = make_partition_view %av : partition_view<tile=(64x32), tensor_view<128x32xf16, strides=[32,1]>>
  %bt = make_partition_view %bv : partition_view<tile=(32x64), tensor_view<32x64xf16, strides=[64,1]>>
  %ct = make_partition_view %cv : partition_view<tile=(64), tensor_view<128xf32, strides=[1]>>
  %a, %a_done = load_view_tko weak %at[%i, %j] token = %token : partition_view<tile=(64x32), tensor_view<128x32xf16, strides=[32,1]>>, tile<i32> -> tile<64x32xf16>, token
  %b, %b_done = load_view_tko weak %bt[%j, %j] token = %token : partition_view<tile=(32x64), tensor_view<32x64xf16, strides=[64,1]>>, tile<i32> -> tile<32x64xf16>, token
  %sums = mmaf %a, %b, %zero : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
  %maxima = reduce %sums dim=1 identities=[0xff800000 : f32] : tile<64x64xf32> -> tile<64xf32>
  (%x: tile<f32>, %y: tile<f32>) {
    %larger = maxf %x, %y : tile<f32>
    yield %larger : tile<f32>
  }
  %done = store_view_tko weak %maxima, %ct[%i] token = %token : tile<64xf32>, partition_view<tile=(64), tensor_view<128xf32, strides=[1]>>, tile<i32> -> token
  return
}
"""


@pytest.mark.parametrize("cluster", ["1x1", "1x2"])
def test_ctas_that_exchange_values_have_no_agents(cluster: str) -> None:
    """All threads of a CTA wait at the barrier of the exchange."""
    assert ("tcgen05" in compiled(ROW_MAXIMA, TARGET, cluster=cluster).ptx) == (cluster == "1x1")
    rng = np.random.default_rng(fresh_seed())
    a, b = rng.standard_normal((128, 32)).astype(np.float16), rng.standard_normal((32, 64)).astype(np.float16)
    arrays, _ = launch(ROW_MAXIMA, a, b, np.zeros(128, np.float32), target=TARGET, grid=(2,), cluster=cluster)
    np.testing.assert_allclose(arrays[2], (a.astype(np.float64) @ b).max(1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", ["late", "early"])
def test_two_sums_of_one_loop(mode: str) -> None:
    """Each has a buffer of its own, and both are left behind the loop, also by one without iterations."""
    product = Product(m=64, n=32, k=32)
    text = product.text()
    carried = re.search(r"%sum = for (.*) iter_values\(%old = %zero\) -> \(tile<64x32xf32>\)", text)
    new = re.search(r"  %new = mmaf %a, %b, %old( : .*)", text)
    assert carried is not None and new is not None
    text = text.replace(
        carried[0],
        f"%first, %other = for {carried[1]} iter_values(%old = %zero, %before = %ones) -> (tile<64x32xf32>, tile<64x32xf32>)",
    )
    text = text.replace(
        "%zero = constant", "%ones = constant <f32: 1.0> : tile<64x32xf32>\n  %zero = constant"
    )
    text = text.replace(
        new[0], f"%twice = addf %a, %a : tile<64x32xf16>\n{new[0]}\n%next = mmaf %twice, %b, %before{new[1]}"
    )
    text = text.replace(
        "continue %new : tile<64x32xf32>\n  }",
        "continue %new, %next : tile<64x32xf32>, tile<64x32xf32>\n  }\n  %sum = mulf %first, %other : tile<64x32xf32>",
    )
    assert compiled(text, TARGET).ptx.count("tcgen05.mma") > compiled(product.text(), TARGET).ptx.count(
        "tcgen05.mma"
    )
    rng = np.random.default_rng(fresh_seed())
    for k in (0, 8 * int(rng.integers(1, 20))):
        a, b = (
            rng.integers(-2, 3, (64, k)).astype(np.float16),
            rng.integers(-2, 3, (k, 32)).astype(np.float16),
        )
        args = [
            v
            for x in (a, b, np.zeros((64, 32), np.float32))
            for v in (x, *map(np.int32, (*x.shape, x.shape[1])))
        ]
        sums = a.astype(np.float64) @ b
        np.testing.assert_array_equal(
            launch(text, *args, target=TARGET, mode=mode)[0][2], sums * (2 * sums + 1)
        )


MASK = """
  %rows = iota : tile<64xi32>
  %limit = constant <i32: 37> : tile<64xi32>
  %few = cmpi less_than %rows, %limit, signed : tile<64xi32> -> tile<64xi1>
  %few_column = reshape %few : tile<64xi1> -> tile<64x1xi1>
  %few_rows = broadcast %few_column : tile<64x1xi1> -> tile<64x32xi1>
  %twice = addf %a, %a : tile<64x32xf16>
  %none = constant <f16: 0.0> : tile<64x32xf16>
  %masked = select %few_rows, %twice, %none : tile<64x32xi1>, tile<64x32xf16>
"""


def test_a_factor_of_several_chains_of_ops() -> None:
    """What computes a factor moves to where the last of its operands is computed, which may move itself."""
    masked = ROW_MAXIMA.replace("  %b, %b_done", MASK + "  %b, %b_done").replace("mmaf %a", "mmaf %masked")
    assert "tcgen05.mma" in compiled(masked, TARGET).ptx
    rng = np.random.default_rng(fresh_seed())
    a, b = rng.standard_normal((128, 32)).astype(np.float16), rng.standard_normal((32, 64)).astype(np.float16)
    arrays, _ = launch(masked, a, b, np.zeros(128, np.float32), target=TARGET, grid=(2,))
    expected = (a.astype(np.float64) * 2 * (np.arange(128) % 64 < 37)[:, None] @ b).max(1)
    np.testing.assert_allclose(arrays[2], expected, rtol=1e-3, atol=1e-3)


def test_every_synchronization_is_needed() -> None:
    """Four tiles one after the other use both stages of the sums twice."""
    product = Product(m=64, n=32, k=32, outer=True, steps=6)
    made = compiled(
        product.text().replace("%columns = constant <i32: 2>", "%columns = constant <i32: 4>"), TARGET
    )
    assert missed(made, mutants(made.ptx), trial_of(product, TARGET)) == []


def test_every_synchronization_of_a_store_is_needed() -> None:
    product = Product(m=64, n=32, k=16, out="f16", outer=True, d_assumed=True, steps=1)
    made = compiled(product.text(), TARGET)
    changed = list(
        mutants(made.ptx, ("bar.sync \t3", "fence.proxy", "cp.async.bulk.commit", "cp.async.bulk.wait"))
    )
    assert len(changed) == 6
    assert missed(made, changed, trial_of(product, TARGET)) == []
