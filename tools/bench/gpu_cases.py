"""What is measured on a GPU: launches of the programs of gpu_kernels.py, with inputs, references and amounts of work.

CASES ──▶ gpu_pack.py (which programs; the clock's estimates) and gpu_run.py (inputs, checks, rates)

This module needs NumPy alone, because it is also part of the pack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Index = tuple[Any, ...]
Reference = Callable[["Case", Callable[[str], Array], np.random.Generator], tuple[Index, Array]]
"""(case, float64 values of an input by name, which rows) → (index of the output, expected values there)."""

LOG2_E = math.log2(math.e)
SAMPLE = 32
"""A row of each so many is compared with float64; the other rows with torch."""
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f8e4m3": 1}


@dataclass(frozen=True)
class Tensor:
    """One array of a launch: random normal numbers, or the output, which starts as NaNs."""

    name: str
    type: str
    shape: tuple[int, ...]
    output: bool = False

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * SIZES[self.type]


@dataclass(frozen=True)
class Case:
    """One launch of a program."""

    name: str
    family: str
    program: str
    grid: tuple[int, int, int]
    tensors: tuple[Tensor, ...]
    """In the order of the parameters."""
    scalars: tuple[float, ...] = ()
    """After the tensors."""
    flops: int = 0
    tolerance: float = 0.0
    """Of the greatest expected magnitude."""
    small: bool = False
    """Small enough for the simulated GPU in a test."""

    @property
    def output(self) -> Tensor:
        return next(one for one in self.tensors if one.output)

    @property
    def nbytes(self) -> int:
        """Bytes that any kernel must move."""
        return sum(one.nbytes for one in self.tensors)

    def arguments(self, address: Callable[[str], int]) -> list[int | float]:
        """One for each declared parameter: pointers, extents, strides, as cuTile passes arrays."""
        found: list[int | float] = []
        for one in (*self.tensors, *self.scalars):
            if isinstance(one, Tensor):
                strides = [math.prod(one.shape[axis + 1 :]) for axis in range(len(one.shape))]
                found += [address(one.name), *one.shape, *strides]
            else:
                found.append(one)
        return found


def up(n: int, d: int) -> int:
    """The quotient, rounded up."""
    return -(-n // d)


def gemm(m: int, n: int, k: int, program: str, tile: tuple[int, int], types: tuple[str, str]) -> Case:
    """A matrix product; B is transposed for 8-bit floats."""
    a, d = types
    b = (n, k) if a.startswith("f8") else (k, n)
    label = f"{program.removeprefix('gemm_')} {m}x{n}x{k}"
    return Case(
        f"gemm {label}",
        "gemm_nt" if a.startswith("f8") else "gemm",
        program,
        (up(m, tile[0]), up(n, tile[1]), 1),
        (Tensor("a", a, (m, k)), Tensor("b", a, b), Tensor("d", d, (m, n), output=True)),
        flops=2 * m * n * k,
        tolerance=5e-3 if a.startswith("f8") else {"f16": 2e-3, "bf16": 1e-2}[d],
        small=m * n * k <= 1 << 22,
    )


def attention(rows: int, depth: int, causal: bool) -> Case:
    """Forward attention of 16,384 rows in all, 2,048 columns of heads, as in the papers of FlashAttention."""
    heads = max(1, 16384 // rows) * (2048 // depth)
    shape = (heads, rows, depth)
    work = 4 * heads * rows * rows * depth // (2 if causal else 1)
    label = " causal" if causal else ""
    return Case(
        f"attention f16 d{depth}{label} {heads}x{rows}",
        "attention",
        f"attention_f16_d{depth}{'_causal' if causal else ''}",
        (rows // 128, heads, 1),
        tuple(Tensor(name, "f16", shape, name == "o") for name in "qkvo"),
        (LOG2_E / math.sqrt(depth),),
        flops=work,
        tolerance=4e-3,
    )


def by_rows(family: str, program: str, rows: int, columns: int, type: str) -> Case:
    """A kernel with a tile block for each row."""
    x, y = Tensor("x", type, (rows, columns)), Tensor("y", type, (rows, columns), output=True)
    tensors: tuple[Tensor, ...] = (x, y)
    scalars: tuple[float, ...] = ()
    if family == "layer_norm":
        tensors, scalars = (x, Tensor("w", type, (columns,)), Tensor("b", type, (columns,)), y), (1e-5,)
    if family == "row_sum":
        tensors = (x, Tensor("y", type, (rows,), output=True))
    return Case(
        f"{family.replace('_', ' ')} {type} {rows}x{columns}", family, program, (rows, 1, 1), tensors, scalars,
        tolerance={"f32": 2e-5, "bf16": 1e-2}[type], small=rows * columns <= 1 << 17,
    )  # fmt: skip


def vector_add(n: int) -> Case:
    """The sum of two vectors."""
    return Case(
        f"vector add f32 {n}", "vector_add", "vector_add_f32", (up(n, 2048), 1, 1),
        tuple(Tensor(name, "f32", (n,), name == "c") for name in "abc"), tolerance=1e-7, small=n <= 1 << 14,
    )  # fmt: skip


def transpose(m: int, n: int, type: str) -> Case:
    """A transposed copy."""
    return Case(
        f"transpose {type} {m}x{n}", "transpose", f"transpose_{type}", (up(m, 64), up(n, 64), 1),
        (Tensor("x", type, (m, n)), Tensor("y", type, (n, m), output=True)), small=m * n <= 1 << 16,
    )  # fmt: skip


def _cases() -> list[Case]:
    squares = [(n, n, n) for n in (1024, 2048, 4096, 8192)]
    ragged = [(4000, 4104, 2056), (1000, 5000, 4072)]
    found = [
        vector_add(4096),
        transpose(192, 128, "f32"),
        by_rows("softmax", "softmax_f32_1024", 16, 1024, "f32"),
    ]
    found += [gemm(128, 256, 128, "gemm_f16", (128, 256), ("f16", "f16"))]
    for m, n, k in [*squares, *ragged]:
        found.append(gemm(m, n, k, "gemm_f16", (128, 256), ("f16", "f16")))
        found.append(gemm(m, n, k, "gemm_f16_128", (128, 128), ("f16", "f16")))
        found.append(gemm(m, n, k, "gemm_bf16", (128, 256), ("bf16", "bf16")))
        # Rows of 8-bit floats start at multiples of 16 elements.
        depth = up(k, 16) * 16
        found.append(gemm(m, n, depth, "gemm_f8", (128, 128), ("f8e4m3", "f16")))
    for depth in (64, 128):
        for causal in (False, True):
            found += [attention(rows, depth, causal) for rows in (512, 1024, 2048, 4096, 8192, 16384)]
    found.append(by_rows("softmax", "softmax_f32_1024", 16384, 1024, "f32"))
    found.append(by_rows("softmax", "softmax_f32_4096", 8192, 4096, "f32"))
    found.append(by_rows("layer_norm", "layer_norm_bf16_1024", 32768, 1024, "bf16"))
    found.append(by_rows("layer_norm", "layer_norm_bf16_4096", 8192, 4096, "bf16"))
    found.append(by_rows("row_sum", "row_sum_f32_4096", 8192, 4096, "f32"))
    found.append(by_rows("row_scan", "row_scan_f32_1024", 16384, 1024, "f32"))
    found += [vector_add(1 << 24), vector_add(1 << 26)]
    found += [transpose(8192, 4096, "f32"), transpose(8192, 8192, "f16"), transpose(4000, 5000, "f32")]
    return found


CASES: list[Case] = _cases()


# -- references in float64


def _some(count: int, rng: np.random.Generator, most: int = 256) -> Array:
    """A random row of each group of rows, the first and the last: every tile has some."""
    groups = range(0, count, max(SAMPLE, up(count, most)))
    step = groups.step
    chosen = {0, count - 1, *(min(count - 1, start + int(rng.integers(step))) for start in groups)}
    return np.array(sorted(chosen))


def _gemm(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    rows = _some(case.output.shape[0], rng)
    b = value("b")
    return (rows,), value("a")[rows] @ (b.T if case.family == "gemm_nt" else b)


def _attention(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    heads, count, depth = case.output.shape
    chosen = sorted({0, heads - 1, *map(int, rng.integers(0, heads, 6))})
    rows = _some(count, rng, 64)
    q, k, v = value("q"), value("k"), value("v")
    expected = np.empty((len(chosen), len(rows), depth))
    for place, head in enumerate(chosen):
        scores = q[head][rows] @ k[head].T / math.sqrt(depth)
        if case.program.endswith("_causal"):
            scores = np.where(rows[:, None] >= np.arange(count)[None, :], scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected[place] = weights / weights.sum(axis=1, keepdims=True) @ v[head]
    return (np.array(chosen)[:, None], rows[None, :]), expected


def _softmax(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    rows = _some(case.output.shape[0], rng)
    x = value("x")[rows]
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (rows,), e / e.sum(axis=1, keepdims=True)


def _layer_norm(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    rows = _some(case.output.shape[0], rng)
    x = value("x")[rows]
    d = x - x.mean(axis=1, keepdims=True)
    return (rows,), d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * value("w") + value("b")


def _row_sum(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    return (slice(None),), value("x").sum(axis=1)


def _row_scan(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    return (slice(None),), np.cumsum(value("x"), axis=1)


def _vector_add(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    return (slice(None),), value("a") + value("b")


def _transpose(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    return (slice(None),), value("x").T


REFERENCES: Mapping[str, Reference] = {
    "gemm": _gemm,
    "gemm_nt": _gemm,
    "attention": _attention,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "row_sum": _row_sum,
    "row_scan": _row_scan,
    "vector_add": _vector_add,
    "transpose": _transpose,
}
"""Family → its reference."""


def expected_of(case: Case, value: Callable[[str], Array], seed: int) -> tuple[Index, Array]:
    """A part of the output, with rows of every tile, and its values in float64."""
    return REFERENCES[case.family](case, value, np.random.default_rng(seed))


def difference(case: Case, found: Array, expected: tuple[Index, Array]) -> tuple[float, float]:
    """(greatest error, what is allowed) of an output in float64; the error of a NaN is infinite."""
    index, values = expected
    error = np.abs(found[index] - values)
    worst = float(error.max(initial=0.0)) if not np.isnan(error).any() else math.inf
    return worst, case.tolerance * float(np.abs(values).max(initial=0.0))
