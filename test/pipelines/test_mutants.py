"""Every synchronization of a pipeline is needed: without it, the simulated GPU finds a race, or an endless wait."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Compiled, compiled, fresh_seed, launch_ptx, stopped_by_findings

import tessera_tools as tt
from tessera_tools.diagnostics import DiagnosticError
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
from tessera_tools.runtime import device

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product

Array = np.ndarray[Any, Any]
_WAIT = re.compile(r"\t\{\n(?:(?!\t\}).*\n)*?.*mbarrier\.try_wait(?:(?!\t\}).*\n)*\t\}\n")
_ONE = (
    "mbarrier.init.shared", "fence.mbarrier_init", "bar.sync", "mbarrier.arrive.shared",
    "mbarrier.arrive.expect_tx", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "fence.proxy",
    "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.fence",
    "tcgen05.commit", "tcgen05.wait",
)  # fmt: skip
_COUNTED = re.compile(r"(mov\.b32 \t(%r\d+), )(\d+)(;\n\tmbarrier\.arrive\.expect_tx\S+ \S+ \S+ )")


def mutants(ptx: str, only: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(what was changed, the text): each wait, arrival, fence and count, one at a time; `only` those of such names.

    A program without tcgen05.relinquish_alloc_permit is as correct: the instruction makes later allocations of the CTA
    illegal, and nothing waits for it (PTX ISA, "Tensor Memory Allocation and Management").
    """
    for number, found in enumerate(() if only else _WAIT.finditer(ptx)):
        yield f"wait {number} removed", ptx[: found.start()] + ptx[found.end() :]
    lines = ptx.split("\n")
    fences = [number for number, line in enumerate(lines) if "wgmma.fence" in line]
    for number, line in enumerate(lines):
        words = line.split()
        if number in fences[1:]:
            # Products that add to the same sums need no fence between them (PTX ISA); ptxas 13.0 asks for one (C7519).
            continue
        if (
            any(line.strip().startswith(name) for name in only)
            if only
            else any(word.startswith(_ONE) for word in words[:2])
        ):
            yield f"{line.strip()} removed", "\n".join([*lines[:number], *lines[number + 1 :]])
    for found in () if only else _COUNTED.finditer(ptx):
        for count in (int(found[3]) - 16, int(found[3]) + 16):
            changed = f"{found[1]}{count}{found[4]}"
            yield f"expect_tx of {count} bytes", ptx[: found.start()] + changed + ptx[found.end() :]


@stopped_by_findings()
def is_found(ptx: str, manifest: Any, product: Product, gpu_name: str = "sm_90a") -> bool:
    """True if the simulated GPU says that something is wrong, in one of its modes."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = product.m, product.n * (2 if product.outer else 1), product.steps * product.k
    for mode in ("late", "early"):
        gpu = device("sim", gpu_name=gpu_name, processes=1)
        arrays = [rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n))]
        if product.a_in == "i8":
            arrays[0] = rng.integers(-4, 5, (m, k)).astype(np.int8)
        arrays.append(np.zeros((m, n), product.stored.replace("f", "float")))
        buffers = [gpu.buffer(array, f"argument {i}") for i, array in enumerate(arrays)]
        args: list[Any] = []
        for array, buffer in zip(arrays, buffers, strict=True):
            args += [buffer, *map(np.int32, array.shape), np.int32(array.shape[1])]
        try:
            result = (
                gpu.load(ptx, manifest, file="k.ptx")
                .kernel()
                .launch((1,), args, mode=mode, max_instructions=20_000)
            )
        except DiagnosticError:
            return True
        expected = (
            (1 + product.read_back)
            * (1 + product.b_twice)
            * (arrays[0].astype(np.float64) @ arrays[1].astype(np.float64))
        )
        if result.findings or np.abs(buffers[2].array() - expected).max() > 0.1 * (1 + 9 * bool(product.out)):
            return True
    return False


def not_found(made: Compiled, product: Product) -> list[str]:
    """The changes with which all is well.  In a product of many steps, the phases of its pipeline also keep the threads
    together that store a tile, so that it is tried with one step, too."""
    short = replace(product, steps=1)
    return [
        what
        for what, ptx in mutants(made.ptx)
        if not is_found(ptx, made.manifest, product) and not is_found(ptx, made.manifest, short)
    ]


@pytest.mark.parametrize(
    "product",
    [
        pytest.param(Product(m=64, n=32, k=32, outer=True, steps=6), id="one group"),
        pytest.param(
            Product(m=128, n=128, k=32, outer=True, steps=6), id="two groups", marks=pytest.mark.slow
        ),
    ],
)
def test_every_synchronization_is_needed(product: Product) -> None:
    made = compiled(product.text(), "sm_90a")
    assert not is_found(made.ptx, made.manifest, product)
    assert not_found(made, product) == []


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
    assert not is_found(made.ptx, made.manifest, product)
    changed = list(mutants(made.ptx, names))
    assert len(changed) == (3 if read_back else 6)
    assert [what for what, ptx in changed if not is_found(ptx, made.manifest, product)] == []


@pytest.mark.slow
def test_every_synchronization_of_a_factor_that_is_read_is_needed() -> None:
    """The consumer converts A in registers, from stages of a pipeline of its own, an iteration ahead."""
    product = Product(m=64, n=32, k=32, a_in="i8", outer=True, steps=8)
    made = compiled(product.text(), "sm_90a")
    assert not is_found(made.ptx, made.manifest, product)
    assert not_found(made, product) == []


@pytest.mark.slow
def test_every_synchronization_of_a_computed_factor_is_needed() -> None:
    """The consumer writes B to shared memory for wgmma, once an iteration."""
    product = Product(m=128, n=128, k=16, b_twice=True, steps=3, d_assumed=True)
    made = compiled(product.text(), "sm_90a")
    assert "wgmma.mma_async" in made.ptx and "mma.sync" not in made.ptx
    assert not is_found(made.ptx, made.manifest, product)
    # One barrier and one fence are the epilogue's.
    changed = list(mutants(made.ptx, ("bar.sync \t2", "fence.proxy")))
    assert len(changed) == 5
    assert [what for what, ptx in changed if not is_found(ptx, made.manifest, product)] == []


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


@pytest.mark.slow
def test_every_synchronization_of_a_layer_norm_is_needed() -> None:
    """The barrier between two stores is for rows that overlap: the later tile is the one that remains."""
    made = tt.compile(layer_norm, "sm_90a")
    assert made.ptx.count("cp.async.bulk.tensor") == 2
    rng = np.random.default_rng(fresh_seed())
    x = rng.standard_normal((29, 5 * 256 + 48)).astype(np.float16)
    wide = x[:, : 5 * 256 + 40].astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)

    @stopped_by_findings()
    def is_found(ptx: str) -> bool:
        one = Compiled(ptx, made.manifest)
        for mode, pitch in itertools.product(("late", "early"), (x.shape[1], 264)):
            overlap = pitch < x.shape[1]
            given = [x.reshape(-1), np.zeros_like(x).reshape(-1)]
            sizes = (16, 600, pitch) if overlap else (29, wide.shape[1], pitch)
            options: dict[str, Any] = {"mode": mode, "seed": 0, "max_instructions": 100_000}
            try:
                arrays, result = launch_ptx(
                    one,
                    [*given, *map(np.int32, sizes)],
                    "sm_90a",
                    (1 if overlap else 2,),
                    file="k.ptx",
                    **options,
                )
            except DiagnosticError:
                return True
            got = arrays[1].reshape(x.shape)[:, : wide.shape[1]].astype(np.float64)
            if result.findings or not (overlap or np.abs(got - expected).max() < 0.05):
                return True
        return False

    assert not is_found(made.ptx)
    assert [what for what, ptx in mutants(made.ptx) if not is_found(ptx)] == []


@pytest.mark.slow
def test_every_synchronization_of_attention_is_needed() -> None:
    """Three pipelines: that of the queries, which are brought once, and those of keys and of values."""
    attention = Attention(rows=64, keys=32, width=64)
    made = compiled(attention.text(), "sm_90a")
    args, expected = attention.case(123, 285, np.random.default_rng(fresh_seed()))

    @stopped_by_findings()
    def is_found(ptx: str) -> bool:
        one = Compiled(ptx, made.manifest)
        for mode, seed in itertools.product(("late", "early"), range(2)):
            options: dict[str, Any] = {"mode": mode, "seed": seed, "max_instructions": 400_000}
            try:
                arrays, result = launch_ptx(one, args, "sm_90a", (2,), file="k.ptx", **options)
            except DiagnosticError:
                return True
            got = arrays[3].astype(np.float64).reshape(expected.shape)
            if result.findings or not np.abs(got - expected).max() < 0.05:
                return True
        return False

    assert not is_found(made.ptx)
    assert [what for what, ptx in mutants(made.ptx) if not is_found(ptx)] == []
