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
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f8e4m3": 1, "i8": 1, "i32": 4}


@dataclass(frozen=True)
class Tensor:
    """One array of a launch: random normal numbers, random integers, or the output, which starts as NaNs."""

    name: str
    type: str
    shape: tuple[int, ...]
    output: bool = False
    below: int = 0
    """Integers are in [0, below)."""
    permuted: bool = False
    """All of them, each once."""
    content: tuple[int, ...] = ()
    """What it holds instead."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * SIZES[self.type]

    def values(self, rng: np.random.Generator) -> Array:
        """What it starts with, before it is rounded to its type."""
        if self.content:
            return np.array(self.content, np.int32)
        if self.permuted:
            return rng.permutation(self.below).astype(np.int32).reshape(self.shape)
        if self.type == "i8":
            return rng.integers(-128, 128, self.shape, np.int8)
        if self.type == "i32":
            return rng.integers(0, self.below, self.shape, np.int32)
        return rng.standard_normal(self.shape, np.float32)


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
    moved: int = 0
    """Bytes that any kernel must move, where that is not each array once."""
    window: int = 0
    """Of attention: how many keys before its own a row sees, or 0 for all."""

    @property
    def output(self) -> Tensor:
        return next(one for one in self.tensors if one.output)

    @property
    def nbytes(self) -> int:
        """Bytes that any kernel must move."""
        return self.moved or sum(one.nbytes for one in self.tensors)

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
    """A matrix product. The name of the program says which factor is transposed: both lie along K by `nt`, none by
    `tn`; tensor cores need the first for elements that have not 16 bits.
    """
    a, d = types
    form = "nt" if SIZES[a] != 2 or "_nt_" in program else "tn" if "_tn_" in program else "nn"
    family = {"nt": "gemm_nt", "tn": "gemm_tn", "nn": "gemm"}[form]
    tensors = [
        Tensor("a", a, (k, m) if form == "tn" else (m, k)),
        Tensor("b", a, (n, k) if form == "nt" else (k, n)),
    ]
    scalars: tuple[float, ...] = ()
    if "_epilogue_" in program:
        family = "gemm_epilogue"
        tensors += [Tensor("bias", a, (n,)), Tensor("r", d, (m, n))]
    if a == "i8":
        family, scalars = "gemm_i8", (2.0**-10,)
    label = f"{program.removeprefix('gemm_')} {m}x{n}x{k}"
    return Case(
        f"gemm {label}", family, program, (up(m, tile[0]), up(n, tile[1]), 1),
        (*tensors, Tensor("d", d, (m, n), output=True)), scalars,
        flops=2 * m * n * k,
        tolerance=5e-3 if a.startswith("f8") else {"f16": 2e-3, "bf16": 1e-2, "f32": 2e-3}[d],
        small=m * n * k <= 1 << 23,
    )  # fmt: skip


def attention(rows: int, depth: int, causal: bool, heads: int = 0) -> Case:
    """Forward attention of 16,384 rows in all, 2,048 columns of heads, as in the papers of FlashAttention."""
    heads = heads or max(1, 16384 // rows) * (2048 // depth)
    shape = (heads, rows, depth)
    work = 4 * heads * rows * rows * depth // (2 if causal else 1)
    label = " causal" if causal else ""
    return Case(
        f"attention f16 d{depth}{label} {heads}x{rows}",
        "attention",
        f"attention_f16_d{depth}{'_causal' if causal else ''}",
        (up(rows, 128), heads, 1),
        tuple(Tensor(name, "f16", shape, name == "o") for name in "qkvo"),
        (LOG2_E / math.sqrt(depth),),
        flops=work,
        tolerance=4e-3,
        small=heads * rows <= 1024,
    )


def attention_variant(
    kind: str, rows: int, heads: int, *, window: int = 0, group: int = 1, ends: tuple[int, ...] = ()
) -> Case:
    """Attention of depth 128 in another form.

    kind: `window`, `grouped`, `paged` and `lengths` are causal, `f8` is not.  rows: of a sequence; `paged` has two of
    them, `lengths` those that end at `ends`, of which no one has more rows.
    """
    depth, type = 128, "f8e4m3" if kind == "f8" else "f16"
    sequences = {"paged": 2, "lengths": len(ends)}.get(kind, 1)
    count = ends[-1] if ends else sequences * rows
    shape = (heads, count, depth)
    q = Tensor("q", type, shape)
    k, v = (Tensor(name, type, (heads // group, count, depth)) for name in "kv")
    o = Tensor("o", "f16", shape, output=True)
    tensors: tuple[Tensor, ...] = (q, k, v, o)
    if kind == "paged":
        pages = up(rows, 128)
        pool = sequences * pages
        tensors = (q, k, v, Tensor("table", "i32", (sequences, pages), below=pool, permuted=True), o)
    if kind == "lengths":
        tensors = (q, k, v, Tensor("ends", "i32", (sequences + 1,), content=(0, *ends)), o)
    lengths = [end - begin for begin, end in zip((0, *ends), ends, strict=False)] or [rows] * sequences
    pairs = sum(length * length // (1 if kind == "f8" else 2) for length in lengths)
    if window:
        pairs = rows * window - window * window // 2
    label = f" window {window}" if window else f" group {group}" if group > 1 else f" {kind}"
    return Case(
        f"attention {type.removesuffix('e4m3')} d{depth}{'' if kind == 'f8' else label} {heads}x{count}",
        "attention",
        "attention_f8_d128" if kind == "f8" else f"attention_f16_d128_{kind}{window or ''}",
        (up(max(lengths), 128), heads, sequences if len(lengths) > 1 else 1),
        tensors,
        (LOG2_E / math.sqrt(depth),),
        flops=4 * heads * pairs * depth,
        tolerance=0.1 if kind == "f8" else 4e-3,
        small=heads * count <= 1024,
        window=window,
    )


def by_rows(family: str, program: str, rows: int, columns: int, type: str) -> Case:
    """A kernel with a tile block for each row."""
    x, y = Tensor("x", type, (rows, columns)), Tensor("y", type, (rows, columns), output=True)
    tensors: tuple[Tensor, ...] = (x, y)
    scalars: tuple[float, ...] = ()
    tolerance = {"f32": 2e-5, "bf16": 1e-2}[type]
    if family == "layer_norm":
        tensors, scalars = (x, Tensor("w", type, (columns,)), Tensor("b", type, (columns,)), y), (1e-5,)
    if family == "rms_norm":
        tensors, scalars = (x, Tensor("w", type, (columns,)), y), (1e-5,)
    if family == "row_sum":
        tensors = (x, Tensor("y", type, (rows,), output=True))
    if family == "cross_entropy":
        labels = Tensor("labels", "i32", (rows,), below=columns)
        tensors, tolerance = (x, labels, Tensor("y", "f32", (rows,), output=True)), 1e-4
    return Case(
        f"{family.replace('_', ' ')} {type} {rows}x{columns}", family, program, (rows, 1, 1), tensors, scalars,
        tolerance=tolerance, small=rows * columns <= 1 << 17,
    )  # fmt: skip


def column_sum(rows: int, columns: int) -> Case:
    """The sum of each column."""
    return Case(
        f"column sum f32 {rows}x{columns}", "column_sum", "column_sum_f32", (up(columns, 32), 1, 1),
        (Tensor("x", "f32", (rows, columns)), Tensor("y", "f32", (columns,), output=True)),
        tolerance=2e-5, small=rows * columns <= 1 << 17,
    )  # fmt: skip


def gather_rows(rows: int, columns: int, of: int) -> Case:
    """Rows of an embedding of `of` rows."""
    y = Tensor("y", "bf16", (rows, columns), output=True)
    index = Tensor("index", "i32", (rows,), below=of)
    return Case(
        f"gather rows bf16 {rows}x{columns}", "gather_rows", "gather_rows_bf16", (up(rows, 4), up(columns, 1024), 1),
        (Tensor("x", "bf16", (of, columns)), index, y),
        small=rows * columns <= 1 << 17, moved=2 * y.nbytes + index.nbytes,
    )  # fmt: skip


def copy(n: int) -> Case:
    """The copy whose bandwidth the others are measured by."""
    return Case(
        f"copy f32 {n}", "copy", "copy_f32", (up(n, 2048), 1, 1),
        (Tensor("x", "f32", (n,)), Tensor("y", "f32", (n,), output=True)), small=n <= 1 << 14,
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


GEMMS = (
    ("gemm_nt_f16", (128, 256), ("f16", "f16")),
    ("gemm_tn_f16", (128, 256), ("f16", "f16")),
    ("gemm_epilogue_f16", (128, 256), ("f16", "f16")),
    ("gemm_tf32", (128, 256), ("f32", "f32")),
    ("gemm_i8", (128, 256), ("i8", "f16")),
)
"""Products of other forms: program, tile, types."""


def _cases() -> list[Case]:
    squares = [(n, n, n) for n in (1024, 2048, 4096, 8192)]
    ragged = [(4000, 4104, 2056), (1000, 5000, 4072)]
    found = [
        vector_add(4096),
        transpose(192, 128, "f32"),
        by_rows("softmax", "softmax_f32_1024", 16, 1024, "f32"),
    ]
    found += [gemm(128, 256, 128, "gemm_f16", (128, 256), ("f16", "f16"))]
    found += [gemm(200, 264, 144, *form) for form in GEMMS]
    found += [attention(256, depth, causal, 2) for depth in (64, 128, 256) for causal in (False, True)]
    found += [
        attention_variant("window", 512, 1, window=160),
        attention_variant("grouped", 256, 4, group=4),
        attention_variant("paged", 256, 1),
        attention_variant("lengths", 256, 1, ends=(200, 456, 500)),
        attention_variant("f8", 256, 2),
        by_rows("layer_norm", "layer_norm_bf16_1024", 16, 1024, "bf16"),
        by_rows("rms_norm", "rms_norm_bf16_4096", 8, 4096, "bf16"),
        by_rows("cross_entropy", "cross_entropy_bf16", 8, 10008, "bf16"),
        by_rows("row_sum", "row_sum_f32_4096", 16, 4096, "f32"),
        by_rows("row_scan", "row_scan_f32_1024", 16, 1024, "f32"),
        column_sum(100, 200),
        gather_rows(22, 2048, 100),
        copy(4096),
    ]
    for m, n, k in [*squares, *ragged]:
        found.append(gemm(m, n, k, "gemm_f16", (128, 256), ("f16", "f16")))
        found.append(gemm(m, n, k, "gemm_f16_128", (128, 128), ("f16", "f16")))
        found.append(gemm(m, n, k, "gemm_bf16", (128, 256), ("bf16", "bf16")))
        # Rows of 8-bit floats start at multiples of 16 elements.
        depth = up(k, 16) * 16
        found.append(gemm(m, n, depth, "gemm_f8", (128, 256), ("f8e4m3", "f16")))
    found += [gemm(4096, 4096, 4096, *form) for form in GEMMS]
    for depth in (64, 128, 256):
        for causal in (False, True):
            found += [attention(rows, depth, causal) for rows in (512, 1024, 2048, 4096, 8192, 16384)]
    found.append(attention_variant("window", 2048, 128, window=1024))
    found.append(attention_variant("grouped", 2048, 128, group=8))
    found.append(attention_variant("paged", 2048, 32))
    found.append(attention_variant("lengths", 4096, 32, ends=(4096, 6144, 9216, 9728, 13824, 16384)))
    found.append(attention_variant("f8", 2048, 128))
    found.append(by_rows("softmax", "softmax_f32_1024", 16384, 1024, "f32"))
    found.append(by_rows("softmax", "softmax_f32_4096", 8192, 4096, "f32"))
    found.append(by_rows("layer_norm", "layer_norm_bf16_1024", 32768, 1024, "bf16"))
    found.append(by_rows("layer_norm", "layer_norm_bf16_4096", 8192, 4096, "bf16"))
    found.append(by_rows("rms_norm", "rms_norm_bf16_4096", 8192, 4096, "bf16"))
    found.append(by_rows("cross_entropy", "cross_entropy_bf16", 4096, 32000, "bf16"))
    found.append(gather_rows(32768, 2048, 100000))
    found.append(column_sum(8192, 8192))
    found.append(by_rows("row_sum", "row_sum_f32_4096", 8192, 4096, "f32"))
    found.append(by_rows("row_scan", "row_scan_f32_1024", 16384, 1024, "f32"))
    found += [copy(1 << 25), vector_add(1 << 24), vector_add(1 << 26)]
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
    a, b = value("a"), value("b")
    left = a[:, rows].T if case.family == "gemm_tn" else a[rows]
    found = left @ (b.T if case.family in ("gemm_nt", "gemm_i8") else b)
    if case.family == "gemm_i8":
        found = found * case.scalars[0]
    if case.family == "gemm_epilogue":
        x = found + value("bias")
        found = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) + value("r")[rows]
    return (rows,), found


def _attention(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    heads, count, depth = case.output.shape
    chosen = sorted({0, heads - 1, *map(int, rng.integers(0, heads, 6))})
    rows = _some(count, rng, 64)
    q, k, v = value("q"), value("k"), value("v")
    group = heads // k.shape[0]
    place = np.arange(count)  # of the key of each row
    ends = np.array([0, count])
    names = {one.name for one in case.tensors}
    if "table" in names:
        table = value("table").astype(np.int64)
        page = count // table.size
        place = (table.reshape(-1, 1) * page + np.arange(page)).reshape(-1)
        ends = np.arange(table.shape[0] + 1) * table.shape[1] * page
    if "ends" in names:
        ends = value("ends").astype(np.int64)
    first = ends[np.searchsorted(ends, rows, side="right") - 1]
    columns = np.arange(count)
    seen = columns >= first[:, None]
    if is_causal(case):
        seen &= rows[:, None] >= columns
    if case.window:
        seen &= rows[:, None] - columns <= case.window
    expected = np.empty((len(chosen), len(rows), depth))
    for number, head in enumerate(chosen):
        keys, found = k[head // group][place], v[head // group][place]
        scores = np.where(seen, q[head][rows] @ keys.T / math.sqrt(depth), -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected[number] = weights / weights.sum(axis=1, keepdims=True) @ found
    return (np.array(chosen)[:, None], rows[None, :]), expected


def is_causal(case: Case) -> bool:
    """Whether a row sees only the keys before it."""
    return not case.program.endswith(("_d64", "_d128", "_d256"))


def plain_attention(case: Case) -> bool:
    """Whether all heads of attention have keys of their own, as many as queries, one behind the other."""
    return case.program.startswith("attention_f16") and case.program.endswith(
        ("_d64", "_d128", "_d256", "_causal")
    )


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


def _rms_norm(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    rows = _some(case.output.shape[0], rng)
    x = value("x")[rows]
    return (rows,), x / np.sqrt((x * x).mean(axis=1, keepdims=True) + case.scalars[0]) * value("w")


def _cross_entropy(
    case: Case, value: Callable[[str], Array], rng: np.random.Generator
) -> tuple[Index, Array]:
    rows = _some(case.output.shape[0], rng)
    x = value("x")[rows]
    most = x.max(axis=1)
    total = np.log(np.exp(x - most[:, None]).sum(axis=1)) + most
    return (rows,), total - x[np.arange(len(rows)), value("labels")[rows].astype(np.int64)]


def _gather_rows(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    rows = _some(case.output.shape[0], rng)
    return (rows,), value("x")[value("index")[rows].astype(np.int64)]


def _column_sum(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    return (slice(None),), value("x").sum(axis=0)


def _copy(case: Case, value: Callable[[str], Array], rng: np.random.Generator) -> tuple[Index, Array]:
    return (slice(None),), value("x")


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
    "gemm_tn": _gemm,
    "gemm_epilogue": _gemm,
    "gemm_i8": _gemm,
    "attention": _attention,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "cross_entropy": _cross_entropy,
    "gather_rows": _gather_rows,
    "column_sum": _column_sum,
    "copy": _copy,
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
