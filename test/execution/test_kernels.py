"""The kernels that the pipeline makes compute the right numbers.

Every case compiles an example for a GPU, runs it in the executor on fresh random inputs, and compares with NumPy in
f64.  Every matrix is a buffer of its own, and its rows stand apart: an access outside the matrix is an error.
"""

from __future__ import annotations

import functools
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from execution.executor import GlobalMemory, Program, prepare, run
from execution.values import round_bf16

from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for

ROOT = Path(__file__).parents[2]
TARGETS = ("sm_80", "sm_90", "sm_120")


@dataclass(frozen=True)
class Format:
    """A number format: the NumPy type of what is stored, and the bits of its significand."""

    storage: type
    precision: int

    def encode(self, numbers: np.ndarray) -> np.ndarray:
        """f64 to what is stored, rounded to nearest."""
        if self.storage is np.uint16:
            return (round_bf16(numbers.astype(np.float32)).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        stored = numbers.astype(self.storage)
        if self is TF32:
            low = np.uint32((1 << 13) - 1)
            bits = stored.view(np.uint32)
            stored = ((bits + (low >> np.uint32(1)) + (bits >> np.uint32(13) & np.uint32(1))) & ~low).view(
                np.float32
            )
        return stored

    def decode(self, stored: np.ndarray) -> np.ndarray:
        """What is stored, as f64."""
        if self.storage is np.uint16:
            return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return stored.astype(np.float64)


F16, BF16, TF32, F32 = (
    Format(np.float16, 11),
    Format(np.uint16, 8),
    Format(np.float32, 11),
    Format(np.float32, 24),
)


def module_of(path: str, target: str, *changes: tuple[str, str]) -> Operation:
    """A file's module, changed by regular expressions and their replacements, lowered to llvm for a target."""
    text = (ROOT / path).read_text()
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{path} has no {pattern}"
    module = parse_module(text, path)
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target, agents=False):
        pipeline.add(parse_pass(step.text))
    PassManager(pipeline).run(module)
    return module


@functools.cache
def compiled(path: str, target: str, *changes: tuple[str, str]) -> Program:
    """The kernel of a file, changed and lowered for a target."""
    return prepare(module_of(path, target, *changes))


@pytest.fixture
def random() -> np.random.Generator:
    """A generator with a fresh seed, which pytest shows if the test fails."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)


class Matrix:
    """A matrix in global memory whose rows stand `stride` elements apart; nothing may touch what lies between."""

    def __init__(
        self, memory: GlobalMemory, numbers: np.ndarray, format: Format, stride: int, misalignment: int
    ) -> None:
        self.memory, self.format, self.stride = memory, format, stride
        self.rows, self.columns = numbers.shape
        self.before = format.encode(numbers)
        self.address = memory.add(self.before, misalignment, stride * self.before.itemsize)

    def convention(self) -> list[int]:
        """Pointer, extents and strides as the corpus kernels take them."""
        return [self.address, self.rows, self.columns, self.stride, 1]

    def result(self) -> np.ndarray:
        """The numbers now."""
        return self.format.decode(self.memory.read_back(self.address, self.before))


class Case:
    """The matrices of one launch, whose rows stand `slack` elements further apart than they need."""

    def __init__(self, random: np.random.Generator, slack: int, misaligned: bool = False) -> None:
        self.random, self.slack, self.misaligned = random, slack, misaligned
        self.memory = GlobalMemory()
        self.inputs: list[tuple[Matrix, np.ndarray]] = []

    def _matrix(self, numbers: np.ndarray, format: Format) -> Matrix:
        misalignment = np.dtype(format.storage).itemsize if self.misaligned else 16
        return Matrix(self.memory, numbers, format, numbers.shape[1] + self.slack, misalignment)

    def input(self, rows: int, columns: int, format: Format) -> tuple[Matrix, np.ndarray]:
        """A matrix of random numbers, and the numbers in f64."""
        numbers = format.decode(format.encode(self.random.standard_normal((rows, columns))))
        matrix = self._matrix(numbers, format)
        self.inputs.append((matrix, numbers))
        return matrix, numbers

    def output(self, rows: int, columns: int, format: Format) -> Matrix:
        """A matrix of NaNs: what is not written shows."""
        return self._matrix(np.full((rows, columns), np.nan), format)

    def launch(self, program: Program, grid: tuple[int, int], arguments: list[int]) -> None:
        """Run; the inputs must be what they were."""
        run(program, (*grid, 1), arguments, self.memory)
        for matrix, numbers in self.inputs:
            assert (matrix.result() == numbers).all()


def close(output: Matrix, a: np.ndarray, b: np.ndarray, c: np.ndarray | float = 0.0) -> None:
    """The output is a · b + c, computed with f32 sums in any order and one rounding to the output's format.

    The bound is Higham's for a sum of n + 1 products, |error| ≤ (n + 1)·u·Σ|a||b|, with u = 2⁻²³ (sums may be cut off).
    """
    got = output.result()
    exact, magnitude = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    allowed = (a.shape[1] + 1) * 2.0**-23 * magnitude
    if output.format is not F32:
        # Half a unit in the last place; f16 has subnormals from 2⁻¹⁴ on.
        allowed += 2.0**-output.format.precision * (np.abs(exact) + allowed) + 2.0**-25
    error = np.abs(got - exact)
    assert np.isfinite(got).all(), f"{np.count_nonzero(~np.isfinite(got))} elements are not finite"
    wrong = np.argwhere(error > allowed)
    assert not len(wrong), (
        f"{len(wrong)} of {error.size} elements are wrong, the first at {wrong[0]}: "
        f"{got[tuple(wrong[0])]} instead of {exact[tuple(wrong[0])]}"
    )


def ceil_div(n: int, by: int) -> int:
    return -(-n // by)


# -- vector addition


@pytest.mark.parametrize("length", [0, 8, 1000, 1024, 2056])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", ["examples/vector_add.mlir", "test/corpus/vector_add_f32.mlir"])
def test_vectors_are_added(path: str, target: str, length: int, random: np.random.Generator) -> None:
    case = Case(random, slack=0)
    (x, left), (y, right) = case.input(1, length, F32), case.input(1, length, F32)
    out = case.output(1, length, F32)
    arguments = [v for m in (x, y, out) for v in (m.address, length, 1)]
    # One tile block more than there is work for: it must do nothing.
    case.launch(compiled(path, target), (ceil_div(length, 1024) + 1, 1), arguments)
    assert (out.result() == (left + right).astype(np.float32)).all()


# -- matrix products

# M, N, K: ragged in every dimension; whole tiles; one tile and a bit; no K at all; fewer K steps than stages.
SHAPES_64 = [(129, 72, 104), (64, 64, 96), (65, 64, 8), (64, 72, 0), (10, 8, 32), (128, 128, 200)]
SHAPES_128 = [(129, 264, 72), (128, 256, 128), (200, 8, 0), (64, 136, 328)]


def product(
    program: Program,
    shape: tuple[int, int, int],
    tile: tuple[int, int],
    random: np.random.Generator,
    format: Format = F16,
) -> None:
    """D = A · B with one format in and out, A M×K and B K×N."""
    product_in(Case(random, slack=8), program, shape, tile, format)


def product_in(
    case: Case,
    program: Program,
    shape: tuple[int, int, int],
    tile: tuple[int, int],
    format: Format = F16,
) -> None:
    """As `product`, with rows as far apart as the case says."""
    m, n, k = shape
    (a, left), (b, right) = case.input(m, k, format), case.input(k, n, format)
    d = case.output(m, n, format)
    arguments = [*a.convention(), *b.convention(), *d.convention()]
    case.launch(program, (ceil_div(m, tile[0]), ceil_div(n, tile[1])), arguments)
    close(d, left, right)


@pytest.mark.parametrize("shape", SHAPES_64, ids=str)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", ["examples/gemm.mlir", "test/corpus/gemm_f16_64x64x32.mlir"])
def test_gemm_of_small_tiles(
    path: str, target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    product(compiled(path, target), shape, (64, 64), random)


@pytest.mark.parametrize("target", TARGETS)
def test_matrices_may_be_larger_than_four_gigabytes(target: str, random: np.random.Generator) -> None:
    case = Case(random, slack=(1 << 30) - 72)
    product_in(case, compiled("examples/gemm.mlir", target), (70, 72, 40), (64, 64))


@pytest.mark.parametrize("shape", SHAPES_128, ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_of_large_tiles(target: str, shape: tuple[int, int, int], random: np.random.Generator) -> None:
    product(compiled("test/corpus/gemm_f16_128x256x64.mlir", target), shape, (128, 256), random)


def product_with_bias(
    case: Case,
    program: Program,
    shape: tuple[int, int, int],
    arguments: Callable[[Matrix, Matrix, Matrix, Matrix], list[int]],
    format: Format = F16,
    rounded: Format = F32,
) -> None:
    """D = A · Bᵀ + C, A M×K and B N×K of a format, rounded before use, C and D M×N of f32, tiles of 128×128."""
    m, n, k = shape
    (a, left), (b, right) = case.input(m, k, format), case.input(n, k, format)
    c, bias = case.input(m, n, F32)
    d = case.output(m, n, F32)
    case.launch(program, (ceil_div(m, 128), ceil_div(n, 128)), arguments(a, b, c, d))
    left, right = (rounded.decode(rounded.encode(numbers)) for numbers in (left, right))
    close(d, left, right.T, bias)


def by_convention(*matrices: Matrix) -> list[int]:
    return [v for m in matrices for v in m.convention()]


@pytest.mark.parametrize("shape", [(129, 136, 72), (128, 128, 64), (100, 8, 0), (127, 124, 264)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_with_transposed_b_and_bias(
    target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    product_with_bias(
        Case(random, slack=8),
        compiled("test/corpus/gemm_nt_bias_f16_128x128x64.mlir", target),
        shape,
        by_convention,
    )


# -- other formats of the operands: the kernels above with their types replaced


@pytest.mark.parametrize("shape", [(129, 72, 104), (64, 64, 32)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_of_bf16(target: str, shape: tuple[int, int, int], random: np.random.Generator) -> None:
    program = compiled("test/corpus/gemm_f16_64x64x32.mlir", target, ("f16", "bf16"))
    product(program, shape, (64, 64), random, BF16)


@pytest.mark.parametrize("shape", [(129, 132, 72), (128, 128, 128)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_of_tf32_in_memory(
    target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    program = compiled("test/corpus/gemm_nt_bias_f16_128x128x64.mlir", target, ("f16", "tf32"))
    product_with_bias(Case(random, slack=8), program, shape, by_convention, TF32)


@pytest.mark.parametrize("shape", [(129, 132, 72), (128, 128, 128)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_of_f32_rounded_to_tf32(
    target: str, shape: tuple[int, int, int], random: np.random.Generator
) -> None:
    changes = (
        ("f16", "f32"),
        (
            "mmaf %tile_42, %4, (.*) : tile<128x64xf32>, tile<64x128xf32>",
            r"mmaf %a, %b, \1 : tile<128x64xtf32>, tile<64x128xtf32>",
        ),
        (
            "(?=    %5 = mmaf)",
            """    %a = ftof %tile_42 : tile<128x64xf32> -> tile<128x64xtf32>
    %b = ftof %4 : tile<64x128xf32> -> tile<64x128xtf32>
""",
        ),
    )
    program = compiled("test/corpus/gemm_nt_bias_f16_128x128x64.mlir", target, *changes)
    product_with_bias(Case(random, slack=8), program, shape, by_convention, F32, TF32)


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
