"""Every example of `examples/` exists in the DSL, and computes what the `.mlir` file computes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from programs import decode, encode, fresh_seed
from tile.flash_attention import attention

import tessera_tools as tt
from tessera_tools.parser import parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"
Arrays = list[Any]


def example(name: str) -> ModuleType:
    """A file of examples/python as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / "python" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


def f16(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float16)


def bf16(rng: np.random.Generator, *shape: int) -> Any:
    return encode("bf16", rng.standard_normal(shape))


def f32(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def vectors(rng: np.random.Generator) -> Arrays:
    n = 8 * int(rng.integers(1, 300))
    return [f32(rng, n), f32(rng, n), np.zeros(n, np.float32)]


def matrices(out: Any, m: int, n: int, k: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: [f16(rng, m, k), f16(rng, k, n), np.zeros((m, n), out)]


def rows(most: int) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        x = f32(rng, int(rng.integers(1, 20)), int(rng.integers(1, most)))
        return [x, np.zeros_like(x)]

    return make


def normalized(rng: np.random.Generator) -> Arrays:
    m, n = int(rng.integers(1, 9)), 8 * int(rng.integers(1, 128))
    return [bf16(rng, m, n), bf16(rng, n), bf16(rng, n), np.zeros((m, n), np.uint16), np.float32(1e-3)]


def scaled(rng: np.random.Generator) -> Arrays:
    m, n = int(rng.integers(1, 20)), 8 * int(rng.integers(1, 80))
    return [f16(rng, m, n), f16(rng, n), np.zeros((m, n), np.float16), np.float32(1e-3)]


def bytes_(rng: np.random.Generator) -> Arrays:
    return [rng.integers(-128, 128, int(rng.integers(1, 900))).astype(np.int8), np.zeros(32, np.int32)]


def vector(rng: np.random.Generator) -> Arrays:
    x = f32(rng, int(rng.integers(1, 2000)))
    return [x, np.zeros_like(x)]


def matrix(rng: np.random.Generator) -> Arrays:
    x = f32(rng, int(rng.integers(1, 70)), int(rng.integers(1, 70)))
    return [x, np.zeros_like(x.T)]


def heads(length: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: [
        *(bf16(rng, 1, 2, length, 64) for _ in range(3)),
        np.zeros((1, 2, length, 64), np.uint16),
    ]


def over(dim: int, *sizes: int) -> Callable[[Arrays], tuple[int, ...]]:
    """The grid that cuts the first dimensions of an argument into tiles of these sizes."""
    return lambda arrays: tuple(-(-n // s) for n, s in zip(arrays[dim].shape, sizes, strict=False))


CASES: dict[str, tuple[str, str, Callable[[np.random.Generator], Arrays], Callable[[Arrays], tuple[int, ...]], int]] = {
    "vector_add": ("vector_add", "vector_add", vectors, over(0, 1024), 2),
    "gemm": ("gemm", "gemm", matrices(np.float16, 72, 136, 96), over(2, 64, 64), 2),
    "gemm_tile": ("gemm", "gemm_tile", matrices(np.float32, 136, 128, 192), over(2, 128, 128), 2),
    "gemm_ring": ("gemm", "gemm_ring", matrices(np.float32, 72, 64, 96), over(2, 64, 64), 2),
    "softmax": ("rows", "softmax", rows(513), over(0, 8), 1),
    "layer_norm": ("rows", "layer_norm", normalized, over(0, 4), 3),
    "rms_norm": ("rows", "rms_norm", scaled, over(0, 8), 2),
    "copy_bounds": ("elements", "copy", vector, over(0, 512), 1),
    "transpose": ("elements", "transpose", matrix, over(0, 32, 32), 1),
    "histogram": ("elements", "histogram", bytes_, lambda arrays: (1,), 1),
    "attention": ("attention", "attention", heads(80), lambda arrays: (2, 2, 1), 3),
    "attention_causal": ("attention", "attention_causal", heads(144), lambda arrays: (3, 2, 1), 3),
    "flash_attention_listing": ("attention", "flash_attention_listing", heads(256), lambda arrays: (2, 2, 1), 3),
}  # fmt: skip
"""Example → the Python file and kernel, its arguments, its grid, and which argument is the result."""


def numbers(array: Any) -> Any:
    return decode("bf16", array) if array.dtype == np.uint16 else array.astype(np.float64)


def mlir_kernel(name: str) -> tt.Kernel:
    # The listing uses constants that it does not define.
    text = (EXAMPLES / f"{name}.mlir").read_bytes()
    return tt.compile(parse_module(text, f"{name}.mlir", implicit_index_constants=True), "sm_80")


@pytest.mark.parametrize("name", CASES)
def test_an_example_computes_what_the_mlir_file_computes(name: str, rng: np.random.Generator) -> None:
    file, function, make, grid, out = CASES[name]
    arrays = make(rng)
    ours, theirs = ([a.copy() if a.ndim else a for a in arrays] for _ in range(2))
    result = getattr(example(file), function)[grid(arrays)](*ours)
    assert not result.findings
    mlir_kernel(name)[grid(arrays)](*theirs)
    np.testing.assert_allclose(numbers(ours[out]), numbers(theirs[out]), rtol=2**-7, atol=2e-3)


def test_the_document_s_product_runs_as_it_is_printed(rng: np.random.Generator) -> None:
    m, n, k = 136, 128, 96
    a, b, c = f16(rng, m, k), f16(rng, n, k), f32(rng, m, n)
    found, theirs = np.zeros_like(c), np.zeros_like(c)
    kernel = example("gemm_stage1").gemm
    kernel[2, 1](a, b, c, found, m, n, k)
    tt.compile(EXAMPLES / "gemm_stage1.mlir", "sm_80")[2, 1](a, b, c, theirs, m, n, k)
    np.testing.assert_allclose(found, a.astype(float) @ b.T.astype(float) + c, rtol=1e-3, atol=1e-2)
    np.testing.assert_array_equal(found, theirs)


def test_many_blocks_count_with_atomics(rng: np.random.Generator) -> None:
    a, counts = bytes_(rng)
    example("elements").histogram_by_atomics[-(-len(a) // 128)](a, counts)
    assert counts.tolist() == np.bincount(a & 31, minlength=32).tolist()


def test_a_product_on_two_gpus(rng: np.random.Generator) -> None:
    a, b = bf16(rng, 128, 64), bf16(rng, 64, 128)
    found = example("distributed").distributed_matmul(a, b)
    np.testing.assert_allclose(found, decode("bf16", a) @ decode("bf16", b), rtol=1e-3, atol=1e-3)


def test_attention_on_two_gpus(rng: np.random.Generator) -> None:
    q, k, v = (f16(rng, 4, 128, 64) for _ in range(3))
    found = example("distributed").distributed_attention(q, k, v)
    for head in range(4):
        expected = attention(*(x[head].astype(float) for x in (q, k, v)), 0.125, causal=True)
        np.testing.assert_allclose(found[head].astype(float), expected, rtol=1e-2, atol=3e-3)


def test_every_example_exists_in_the_language() -> None:
    distributed = {f"distributed_{name}" for name in ("matmul", "attention")}
    assert {path.stem for path in EXAMPLES.glob("*.mlir")} == {*CASES, "gemm_stage1", *distributed}
