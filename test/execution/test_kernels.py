"""The kernels that the pipeline makes compute the right numbers.

Every case compiles an example for a GPU, runs it in the executor on fresh random inputs, and compares with NumPy in
f64.  Matrices stand in rows longer than they are: what lies between is NaN in the inputs and a pattern in the output,
so that a wrong address or a missing bounds check shows in the numbers too.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from execution.executor import GlobalMemory, Program, prepare, run

from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for

ROOT = Path(__file__).parents[2]
TARGETS = ("sm_80", "sm_90", "sm_120")
PATTERN = {np.float16: 1234.0, np.float32: 123456.0}
"""What the output holds before; no result comes near it."""


def module_of(path: str, target: str) -> Operation:
    """A file's module, lowered to llvm for a target."""
    module = parse_module((ROOT / path).read_text(), path)
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target):
        pipeline.add(parse_pass(step.text))
    PassManager(pipeline).run(module)
    return module


@functools.cache
def compiled(path: str, target: str) -> Program:
    """The kernel of a file, lowered for a target."""
    return prepare(module_of(path, target))


@pytest.fixture
def random() -> np.random.Generator:
    """A generator with a fresh seed, which pytest shows if the test fails."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)


class Matrix:
    """Rows of a matrix in global memory, each `stride` elements after the one before."""

    def __init__(
        self, memory: GlobalMemory, content: np.ndarray, stride: int, filler: float, misalignment: int
    ) -> None:
        self.memory, self.rows, self.columns, self.stride = memory, *content.shape, stride
        # The last row ends with its last element: an access past it is outside the buffer.
        whole = np.full(
            max(0, (self.rows - 1) * stride + self.columns) if self.columns else 0, filler, content.dtype
        )
        for i in range(self.rows):
            whole[i * stride : i * stride + self.columns] = content[i]
        self.before = whole
        self.address = memory.add(whole, misalignment)

    def convention(self) -> list[int]:
        """Pointer, extents and strides as the corpus kernels take them."""
        return [self.address, self.rows, self.columns, self.stride, 1]

    def check_unchanged(self) -> None:
        assert self.memory.read_back(self.address, self.before).tobytes() == self.before.tobytes()

    def result(self) -> np.ndarray:
        """The matrix now, after a check that nothing between its rows was written."""
        after = self.memory.read_back(self.address, self.before)
        padded = np.full(self.rows * self.stride, PATTERN[after.dtype.type], after.dtype)
        padded[: len(after)] = after
        grid = padded.reshape(self.rows, self.stride)
        assert (grid[:, self.columns :] == PATTERN[after.dtype.type]).all(), (
            "wrote between the rows of the output"
        )
        return grid[:, : self.columns]


class Case:
    """The matrices of one launch."""

    def __init__(self, random: np.random.Generator, slack: int, misaligned: bool = False) -> None:
        self.random, self.slack, self.misaligned = random, slack, misaligned
        self.memory = GlobalMemory()
        self.inputs: list[Matrix] = []

    def _matrix(self, content: np.ndarray, filler: float) -> Matrix:
        misalignment = content.itemsize if self.misaligned else 16
        return Matrix(self.memory, content, content.shape[1] + self.slack, filler, misalignment)

    def input(self, rows: int, columns: int, type: type = np.float16) -> tuple[Matrix, np.ndarray]:
        """A matrix of random numbers, and the numbers in f64."""
        content = self.random.standard_normal((rows, columns)).astype(type)
        matrix = self._matrix(content, np.nan)
        self.inputs.append(matrix)
        return matrix, content.astype(np.float64)

    def output(self, rows: int, columns: int, type: type) -> Matrix:
        return self._matrix(np.full((rows, columns), PATTERN[type], type), PATTERN[type])

    def launch(self, program: Program, grid: tuple[int, int], arguments: list[int]) -> None:
        run(program, (*grid, 1), arguments, self.memory)
        for matrix in self.inputs:
            matrix.check_unchanged()


def close(got: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray | float = 0.0) -> None:
    """`got` is a · b + c, computed with f32 sums in any order and one rounding to the output's type.

    The bound is Higham's for a sum of n + 1 products, |error| ≤ (n + 1)·u·Σ|a||b|, with u = 2⁻²³ (sums may be cut off).
    """
    exact, magnitude = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    half_ulp, smallest = {np.float16: (2.0**-11, 2.0**-25), np.float32: (0.0, 0.0)}[got.dtype.type]
    allowed = (a.shape[1] + 1) * 2.0**-23 * magnitude
    allowed += half_ulp * (np.abs(exact) + allowed) + smallest
    error = np.abs(got.astype(np.float64) - exact)
    assert np.isfinite(got).all(), f"{np.count_nonzero(~np.isfinite(got))} elements are not finite"
    worst = np.unravel_index(np.argmax(error - allowed), error.shape) if error.size else None
    assert worst is None or (error <= allowed).all(), (
        f"{np.count_nonzero(error > allowed)} of {error.size} elements are wrong, first at "
        f"{np.argwhere(error > allowed)[0]}; worst at {worst}: {got[worst]} instead of {exact[worst]}"
    )


def ceil_div(n: int, by: int) -> int:
    return -(-n // by)


# -- vector addition


@pytest.mark.parametrize("length", [0, 8, 1000, 1024, 2056])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", ["examples/vector_add.mlir", "test/corpus/vector_add_f32.mlir"])
def test_vectors_are_added(path: str, target: str, length: int, random: np.random.Generator) -> None:
    case = Case(random, slack=0)
    (x, left), (y, right) = case.input(1, length, np.float32), case.input(1, length, np.float32)
    out = case.output(1, length, np.float32)
    arguments = [v for m in (x, y, out) for v in (m.address, length, 1)]
    # One tile block more than there is work for: it must do nothing.
    case.launch(compiled(path, target), (ceil_div(length, 1024) + 1, 1), arguments)
    assert (out.result() == (left + right).astype(np.float32)).all()


# -- matrix products

# M, N, K: ragged in every dimension; whole tiles; one tile and a bit; no K at all; fewer K steps than stages.
SHAPES_64 = [(129, 72, 104), (64, 64, 96), (65, 64, 8), (64, 72, 0), (10, 8, 32), (128, 128, 200)]
SHAPES_128 = [(129, 264, 72), (128, 256, 128), (200, 8, 0), (64, 136, 328)]


def product(
    program: Program, shape: tuple[int, int, int], tile: tuple[int, int], random: np.random.Generator
) -> None:
    """D = A · B with f16 in and out, A M×K and B K×N."""
    m, n, k = shape
    case = Case(random, slack=8)
    (a, left), (b, right) = case.input(m, k), case.input(k, n)
    d = case.output(m, n, np.float16)
    arguments = [*a.convention(), *b.convention(), *d.convention()]
    case.launch(program, (ceil_div(m, tile[0]), ceil_div(n, tile[1])), arguments)
    close(d.result(), left, right)


@pytest.mark.parametrize("shape", SHAPES_64, ids=str)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", ["examples/gemm.mlir", "test/corpus/gemm_f16_64x64x32.mlir"])
def test_gemm_of_small_tiles(
    path: str, target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    product(compiled(path, target), shape, (64, 64), random)


@pytest.mark.parametrize("shape", SHAPES_128, ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_of_large_tiles(target: str, shape: tuple[int, int, int], random: np.random.Generator) -> None:
    product(compiled("test/corpus/gemm_f16_128x256x64.mlir", target), shape, (128, 256), random)


def product_with_bias(
    case: Case,
    program: Program,
    shape: tuple[int, int, int],
    arguments: Callable[[Matrix, Matrix, Matrix, Matrix], list[int]],
) -> None:
    """D = A · Bᵀ + C, A M×K and B N×K of f16, C and D M×N of f32, tiles of 128×128."""
    m, n, k = shape
    (a, left), (b, right) = case.input(m, k), case.input(n, k)
    c, bias = case.input(m, n, np.float32)
    d = case.output(m, n, np.float32)
    case.launch(program, (ceil_div(m, 128), ceil_div(n, 128)), arguments(a, b, c, d))
    close(d.result(), left, right.T, bias)


@pytest.mark.parametrize("shape", [(129, 136, 72), (128, 128, 64), (100, 8, 0), (127, 124, 264)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_with_transposed_b_and_bias(
    target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    product_with_bias(
        Case(random, slack=8),
        compiled("test/corpus/gemm_nt_bias_f16_128x128x64.mlir", target),
        shape,
        lambda *matrices: [v for m in matrices for v in m.convention()],
    )


@pytest.mark.parametrize(
    "shape", [(129, 131, 67), (128, 128, 64), (101, 7, 0), (5, 127, 259), (1, 1, 1)], ids=str
)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_that_promises_no_alignment(
    target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    product_with_bias(
        Case(random, slack=0, misaligned=True),
        compiled("examples/gemm_stage1.mlir", target),
        shape,
        lambda a, b, c, d: [a.address, b.address, c.address, d.address, *shape],
    )
