"""Products that become TMA and wgmma by themselves: right on the simulated GPU, for every type and order."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, decode, empty, fresh_seed, launch, random

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import WIDTHS, Product

Array = np.ndarray[Any, Any]
NAMES = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "tf32": "tf32"}
TOLERANCE = {"f16": 2e-2, "f32": 2e-3, "i32": 0.0}

PRODUCTS = {
    "f16": Product(),
    "f16 sums": Product(accumulator="f16"),
    "bf16": Product("bf16", n=32),
    "tf32": Product("tf32", k=32, b_t="permute"),
    "f8": Product("f8E4M3FN", k=128, b_t="permute"),
    "f8 of two kinds of view": Product("f8E5M2", k=64, b_t="view"),
    "f8, fewer bits": Product("f8E4M3FN", k=128, b_t="permute", fast_acc=True),
    "f8, slice by slice": Product("f8E4M3FN", m=128, n=256, k=32, b_t="view"),
    "f8, slice by slice, many rows": Product("f8E5M2", m=256, n=128, k=32, b_t="permute"),
    "f8, deep": Product("f8E4M3FN", n=32, k=512, b_t="permute"),
    "f8 along N": Product("f8E4M3FN", m=128, n=64, k=64),
    "f8 along N and M": Product("f8E5M2", n=32, a_t="permute"),
    "i8 along N": Product("i8", "i32", n=128, k=128),
    "f8, f16 sums": Product("f8E5M2", "f16", k=64, b_t="permute"),
    "i8": Product("i8", "i32", k=128, b_t="view"),
    "u8": Product("i8", "i32", k=64, b_t="view", signs="unsigned unsigned"),
    "u8 by i8": Product("i8", "i32", k=64, b_t="permute", signs="unsigned signed"),
    "two warpgroups": Product(m=128, n=128, k=32),
    "two along N": Product(m=64, n=256, k=16),
    "a transposed": Product(a_t="permute", m=64, n=32),
    "a through a view": Product(a_t="view", m=128),
    "b transposed": Product(b_t="permute", n=128),
    "b through a view": Product(b_t="view", k=128),
    "both": Product(a_t="view", b_t="permute", n=16, k=32),
    "wide rows": Product(k=256, n=16),
    "two stages of 96 KB": Product("tf32", m=128, n=256, k=64, b_t="view"),
    "in parts of the rows": Product(m=256, n=256, k=16),
    "in parts of the columns": Product(m=128, n=512, k=16),
    "in parts of both": Product("tf32", m=256, n=128, k=128, b_t="view", steps=2),
    "several tiles": Product(outer=True, n=32),
    "a converted": Product(a_in="i8", n=32),
    "b converted": Product(b_in="i8", k=32, n=32),
    "b converted, transposed": Product("bf16", b_in="i8", k=32, n=32, b_t="permute"),
    "both converted": Product(a_in="i8", b_in="i8", n=32),
    "four warpgroups": Product(m=256, n=32, k=32, warps=16),
    "four along both": Product(m=128, n=64, k=16, warps=16),
}


def operands(product: Product, m: int, n: int, k: int, rng: np.random.Generator) -> list[Array]:
    def made(which: str, rows: int, columns: int, transposed: str) -> Array:
        name = stored_name(product, which)
        each = 16 // WIDTHS[product.element_of(which)]
        shape = (columns, rows) if transposed else (rows, columns)
        if name == "i8":
            whole = rng.integers(-128, 128, (shape[0], -(-shape[1] // each) * each)).astype(np.int8)
        else:
            whole = random(name, (shape[0], -(-shape[1] // each) * each), rng)
        return whole[:, : shape[1]]

    return [made("a", m, k, product.a_t), made("b", k, n, product.b_t)]


def stored_name(product: Product, which: str) -> str:
    """NumPy's word for the elements of A or B in memory."""
    element = product.element_of(which)
    return NAMES.get(element, element)


def decoded(product: Product, which: str, array: Array) -> Array:
    """The elements of A or B as float64."""
    name = stored_name(product, which)
    if name == "i8" and product.signs.split()[which == "b"] == "unsigned":
        array = array.view(np.uint8)
    return np.asarray(array if name == "i8" else decode(name, array)).astype(np.float64)


def check(
    product: Product,
    ragged: bool,
    mode: str,
    rng: np.random.Generator,
    target: str = "sm_90a",
    **options: Any,
) -> None:
    """Run a product over two tiles along each axis, or over edges within tiles, and compare.

    `options` are those of `launch`.
    """
    m, n, k = 2 * product.m, 2 * product.n, 3 * product.k
    if ragged:
        m, n, k = (
            m - int(rng.integers(1, 60)),
            n - 8 + int(rng.integers(0, 8)),
            k - int(rng.integers(1, product.k)),
        )
    a, b = operands(product, m, n, k, rng)
    c = empty(NAMES.get(product.accumulator, product.accumulator), (m, n))

    def arguments(array: Array, rows: int, columns: int) -> list[Any]:
        return [array, np.int32(rows), np.int32(columns), np.int32(array.strides[0] // array.itemsize)]

    given = [*arguments(a, m, k), *arguments(b, k, n), *arguments(c, m, n)]
    # A buffer has whole rows; the launch takes arrays as they lie.
    given[0], given[4] = (x.base if x.base is not None else x for x in (a, b))
    grid = (-(-m // product.m), 1 if product.outer else -(-n // product.n))
    found = launch(product.text(), *given, target=target, grid=grid, mode=mode, **options)[0][2]
    x, y = decoded(product, "a", a), decoded(product, "b", b)
    expected = (1 + product.b_twice) * ((x.T if product.a_t else x) @ (y.T if product.b_t else y))
    got = np.asarray(found if product.accumulator == "i32" else decode(product.accumulator, found))
    tolerance = TOLERANCE[product.accumulator] * np.abs(expected).max()
    assert np.abs(got - expected).max() <= tolerance


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_asynchronous(name: str) -> None:
    ptx = compiled(PRODUCTS[name].text(), "sm_90a").ptx
    assert "wgmma.mma_async" in ptx and "cp.async.bulk.tensor" in ptx
    assert "mma.sync" not in ptx and "cp.async.cg" not in ptx


@pytest.mark.parametrize("ragged", [False, True], ids=["whole", "ragged"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_results(name: str, ragged: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    check(PRODUCTS[name], ragged, str(rng.choice(["late", "early"])), rng)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("occupancy", [1, 2, 4])
def test_results_with_an_occupancy(occupancy: int, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = (int(rng.choice(choices)) for choices in ((64, 128), (32, 64, 128), (32, 64)))
    options: list[dict[str, Any]] = [{}, {"launches": "large"}, {"cluster": "2x1"}, {"persistent": "static"}]
    chosen = options[rng.integers(len(options))]
    print(m, n, k, chosen)
    product = Product(m=m, n=n, k=k, occupancy=occupancy)
    check(product, True, str(rng.choice(["late", "early"])), rng, target, **chosen)


def added(product: Product) -> int:
    """Additions of f32 in a program."""
    return compiled(product.text(), "sm_90a").ptx.count("add.rn.f32")


def test_sums_of_8_bit_floats_are_added_in_f32() -> None:
    """The tensor cores add them with fewer bits; a thread holds 32 sums of a tile of 64x64."""
    product = Product("f8E4M3FN", k=128, b_t="permute")
    assert added(product) == 32
    assert added(replace(product, fast_acc=True)) == added(replace(product, accumulator="f16")) == 0


def test_sums_are_added_slice_by_slice_where_no_registers_hold_them_twice() -> None:
    """Two warpgroups hold 128 sums a thread: each slice of 64 starts from zero, and is waited for and added alone."""
    product = Product("f8E4M3FN", m=128, n=256, k=128, b_t="view")
    ptx = compiled(product.text(), "sm_90a").ptx
    assert added(product) == 128
    assert "m64n128k32" in ptx and "m64n256k32" not in ptx
    assert ptx.count("wgmma.commit_group") == ptx.count("wgmma.wait_group") == 2
    used = assembled(ptx, "sm_90a")
    assert used.report is not None
    assert [w for w in used.warnings if "C75" in w] == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


def test_long_sums_of_8_bit_floats_are_added_in_parts() -> None:
    """The tensor cores add 256 terms, and f32 the two halves of a tile of 512."""
    product = Product("f8E4M3FN", k=512, b_t="permute")
    assert added(product) == 2 * 32
    assert added(replace(product, fast_acc=True)) == 0
