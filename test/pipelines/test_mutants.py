"""Every synchronization of a pipeline is needed: without it, the simulated GPU finds a race, or an endless wait."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from programs import Array, Compiled, compiled, compiled_module, fresh_seed
from trials import Trial, changed_numbers, missed, mutants, near

import tessera_tools as tt
from tessera_tools.dsl import (
    cdiv,
    f16,
    f32,
    i32,
    kernel,
    load,
    make_partition_view,
    make_tensor_view,
    program_id,
    ptr,
    rsqrt,
    store,
    tile,
    zeros,
)
from tessera_tools.emit.driver import Options
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product


def trial_of(product: Product, target: str = "sm_90a") -> Trial:
    """A launch of a product whose extents are those of its tile."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = product.m, product.n * (2 if product.outer else 1), product.steps * product.k
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    if product.a_in == "i8":
        a = rng.integers(-4, 5, (m, k)).astype(np.int8)
    arrays = (a, b, np.zeros((m, n), product.stored.replace("f", "float")))
    args = [v for array in arrays for v in (array, *map(np.int32, (*array.shape, array.shape[1])))]
    expected = (1 + product.read_back) * (1 + product.b_twice) * (a.astype(np.float64) @ b)
    right = near(2, expected, 0.1 * (1 + 9 * bool(product.out)))
    return Trial(args, target, (1,), right, options={"max_instructions": 20_000})


def not_found(made: Compiled, product: Product) -> list[str]:
    """The changes with which all is well.  In a product of many steps, the phases of its pipeline also keep the threads
    together that store a tile, so that it is tried with one step, too."""
    return missed(made, mutants(made.ptx), trial_of(product), trial_of(replace(product, steps=1)))


@pytest.mark.parametrize(
    "product",
    [
        pytest.param(Product(m=64, n=32, k=32, outer=True, steps=6), id="one group"),
        pytest.param(Product(m=128, n=128, k=32, outer=True, steps=6), id="two groups"),
    ],
)
def test_every_synchronization_is_needed(product: Product) -> None:
    made = compiled(product.text(), "sm_90a")
    assert not_found(made, product) == []


def test_every_number_of_a_synchronization_matters() -> None:
    """The arrivals of each mbarrier, the groups that a wait leaves, the phase of a wait."""
    product = Product(m=64, n=32, k=32, out="f16", d_assumed=True, outer=True, steps=9)
    options = Options(lookup("sm_90a"), until="ptx", num_stages=2)
    module = parse_module(product.text(), "program.mlir")
    made = compiled_module(module, options, (trial_of, product))
    changed = list(changed_numbers(made.ptx))
    # Two stages: an mbarrier of each that one arrival fills, and one that 4 warps empty; waits for the phases of both
    # sides, for products, and for the store, before the next tile and at the end.
    assert len(changed) == 2 + 4 + 2 + 1 + 2
    assert missed(made, changed, trial_of(product), trial_of(replace(product, steps=1))) == []


@pytest.mark.parametrize(
    ("read_back", "names"),
    [
        (False, ("bar.sync \t2", "fence.proxy", "cp.async.bulk.commit", "cp.async.bulk.wait")),
        (True, ("fence.proxy", "cp.async.bulk.commit", "cp.async.bulk.wait")),
    ],
    ids=["in a loop", "read again"],
)
def test_every_synchronization_of_a_store_is_needed(read_back: bool, names: tuple[str, ...]) -> None:
    """The barriers of the agents too: they order the tile in shared memory."""
    product = Product(
        m=64, n=32, k=16, out="f16", outer=not read_back, d_assumed=True, read_back=read_back, steps=1
    )
    made = compiled(product.text(), "sm_90a")
    changed = list(mutants(made.ptx, names))
    assert len(changed) == (3 if read_back else 6)
    assert missed(made, changed, trial_of(product)) == []


def test_every_synchronization_of_a_factor_that_is_read_is_needed() -> None:
    """The consumer converts A in registers, from stages of a pipeline of its own, an iteration ahead."""
    product = Product(m=64, n=32, k=32, a_in="i8", outer=True, steps=8)
    made = compiled(product.text(), "sm_90a")
    assert not_found(made, product) == []


def test_every_synchronization_of_a_computed_factor_is_needed() -> None:
    """The consumer writes B to shared memory for wgmma, once an iteration."""
    product = Product(m=128, n=128, k=16, b_twice=True, steps=3, d_assumed=True)
    made = compiled(product.text(), "sm_90a")
    assert "wgmma.mma_async" in made.ptx and "mma.sync" not in made.ptx
    # One barrier and one fence are the epilogue's.
    changed = list(mutants(made.ptx, ("bar.sync \t2", "fence.proxy")))
    assert len(changed) == 5
    assert missed(made, changed, trial_of(product)) == []


@kernel
def layer_norm(
    X: ptr[f16].aligned(16),
    Y: ptr[f16].aligned(16),
    rows: i32,
    columns: i32,
    pitch: i32.multiple_of(8),  # type: ignore[valid-type]
):
    """Rows of any length, 256 columns at a time, which TMA brings twice."""
    row = program_id(0)
    xs = make_tensor_view(X, shape=(rows, columns), strides=(pitch, 1))
    ys = make_tensor_view(Y, shape=(rows, columns), strides=(pitch, 1))
    x_tiles = make_partition_view(xs, tile=(16, 256), padding="zero")
    y_tiles = make_partition_view(ys, tile=(16, 256))
    total = zeros(tile[16, 256, f32])
    squares = zeros(tile[16, 256, f32])
    for j in range(cdiv(columns, 256)):
        x = load(x_tiles, (row, j)).to(f32)
        total += x
        squares += x * x
    n = columns.to(f32)
    mean = sum(total, axis=1, keep_dims=True) / n
    factor = rsqrt(sum(squares, axis=1, keep_dims=True) / n - mean * mean)
    for j in range(cdiv(columns, 256)):
        x = load(x_tiles, (row, j)).to(f32)
        store(y_tiles, (row, j), ((x - mean) * factor).to(f16))


def test_every_synchronization_of_a_layer_norm_is_needed() -> None:
    """The barrier between two stores is for rows that overlap: the later tile is the one that remains."""
    made = tt.compile(layer_norm, "sm_90a")
    assert made.ptx.count("cp.async.bulk.tensor") == 2
    rng = np.random.default_rng(fresh_seed())
    x = rng.standard_normal((29, 5 * 256 + 48)).astype(np.float16)
    wide = x[:, : 5 * 256 + 40].astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)

    def trial(rows: int, columns: int, pitch: int, grid: int, right: Callable[[list[Array]], bool]) -> Trial:
        given = [x.reshape(-1), np.zeros_like(x).reshape(-1), *map(np.int32, (rows, columns, pitch))]
        return Trial(given, "sm_90a", (grid,), right, options={"max_instructions": 100_000})

    def is_right(arrays: list[Array]) -> bool:
        found = arrays[1].reshape(x.shape)[:, : wide.shape[1]].astype(np.float64)
        return bool(np.abs(found - expected).max() < 0.05)

    plain = trial(29, wide.shape[1], x.shape[1], 2, is_right)
    overlapping = trial(16, 600, 264, 1, lambda arrays: True)
    one = Compiled(made.ptx, made.manifest)
    assert missed(one, mutants(made.ptx), plain, overlapping) == []


def test_every_synchronization_of_attention_is_needed() -> None:
    """Three pipelines: that of the queries, which are brought once, and those of keys and of values."""
    attention = Attention(rows=64, keys=32, width=64)
    made = compiled(attention.text(), "sm_90a")
    args, expected = attention.case(123, 285, np.random.default_rng(fresh_seed()))

    trial = Trial(
        args, "sm_90a", (2,), near(3, expected, 0.05), list(itertools.product(("late", "early"), range(2))),
        {"max_instructions": 400_000},
    )  # fmt: skip
    assert missed(made, mutants(made.ptx), trial) == []
