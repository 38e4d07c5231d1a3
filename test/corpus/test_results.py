"""The programs of the corpus on the simulated GPU, against float64: aligned and ragged, every generation of target,
both modes of the simulator, eight schedules; and no register spilled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from programs import (
    TARGETS,
    Array,
    assembled,
    check_tools,
    compiled,
    decode,
    empty,
    fresh_seed,
    launch,
    random,
)

from oracles import require_tool
from tessera_tools.emit.driver import Options, compile_module, compile_text
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

CORPUS = Path(__file__).parent
NAMES = sorted(path.stem for path in CORPUS.glob("*.mlir"))


def strided(array: Array) -> list[Any]:
    """A cuTile array's parameters: its address, extents, strides in elements."""
    return [array, *map(np.int32, array.shape), *(np.int32(s // array.itemsize) for s in array.strides)]


def padded(array: Array, multiple: int) -> Array:
    """The same numbers in rows that begin at multiples of so many elements."""
    width = -(-array.shape[-1] // multiple) * multiple
    room = np.zeros((*array.shape[:-1], width), array.dtype)
    room[..., : array.shape[-1]] = array
    return room[..., : array.shape[-1]]


Case = tuple[list[Any], Sequence[int], Callable[[list[Array]], tuple[Array, Array]], float]
"""(arguments, grid, arrays afterwards → (found, expected), tolerance)."""


class CaseOf(Protocol):
    """A case of a program: whole tiles or ragged ones, and how many tiles a loop has at most."""

    def __call__(self, rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case: ...


def gemm(shape: tuple[int, int, int]) -> CaseOf:
    def case(rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case:
        tm, tn, tk = shape
        m, n, k = tm, tn, steps * tk
        if ragged:
            m, n, k = (
                int(rng.integers(1, tm)),
                8 * int(rng.integers(1, tn // 8)),
                8 * int(rng.integers(1, steps * tk // 8)),
            )
        a, b, d = random("f16", (m, k), rng), random("f16", (k, n), rng), empty("f16", (m, n))
        args = [x for array in (a, b, d) for x in strided(array)]
        expected = a.astype(np.float64) @ b.astype(np.float64)
        return args, (1, 1), lambda found: (found[2].astype(np.float64), expected), 1e-2

    return case


def gemm_nt_bias(rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case:
    m, n, k = 128, 128, 64 * steps
    if ragged:
        m, n, k = int(rng.integers(1, 128)), 8 * int(rng.integers(1, 16)), 8 * int(rng.integers(1, 8 * steps))
    a, b, c = random("f16", (m, k), rng), random("f16", (n, k), rng), random("f32", (m, n), rng)
    args = [x for array in (a, b, c, empty("f32", (m, n))) for x in strided(array)]
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    return args, (1, 1), lambda found: (found[3].astype(np.float64), expected), 1e-3


def vector_add(rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case:
    n = 8 * int(rng.integers(1, 300)) if ragged else 2048
    a, b = random("f32", (n,), rng), random("f32", (n,), rng)
    args = [x for array in (a, b, empty("f32", (n,))) for x in strided(array)]
    return args, (-(-n // 1024),), lambda found: (found[2], a + b), 0.0


def softmax(rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case:
    n = int(rng.integers(1, 1024)) if ragged else 1024
    x = random("f32", (3, n), rng)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    args = [v for array in (x, empty("f32", (3, n))) for v in strided(array)]
    return args, (3,), lambda found: (found[1], e / e.sum(1, keepdims=True)), 1e-5


def layer_norm(rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case:
    # The program divides by 1024, so that rows are whole; the number of rows may be any.
    rows = int(rng.integers(1, 5)) if ragged else 4
    x, w, b = random("bf16", (rows, 1024), rng), random("bf16", (1024,), rng), random("bf16", (1024,), rng)
    args = [v for array in (x, w, b, empty("bf16", (rows, 1024))) for v in strided(array)]
    x, w, b = (decode("bf16", v) for v in (x, w, b))
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    expected = normal * w + b
    return [*args, np.float32(1e-5)], (rows,), lambda found: (decode("bf16", found[3]), expected), 2e-2


def attention(element: str, block: int, width: int) -> CaseOf:
    def case(rng: np.random.Generator, ragged: bool, steps: int = 2) -> Case:
        length = int(rng.integers(1, steps * block)) if ragged else steps * block
        q, k, v = (random(element, (1, length, width), rng) for _ in range(3))
        args = [a for array in (q, k, v, empty(element, (1, length, width))) for a in strided(array)]
        scale = np.float32(np.log2(np.e) / np.sqrt(width))
        q, k, v = (decode(element, a)[0] for a in (q, k, v))
        scores = np.where(np.tri(length, dtype=bool), q @ k.T * float(scale), -np.inf)
        weights = np.exp2(scores - scores.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True) @ v
        grid = (-(-length // block), 1)
        return [*args, scale], grid, lambda found: (decode(element, found[3])[0], expected), 2e-2

    return case


CASES: dict[str, CaseOf] = {
    "gemm_f16_64x64x32": gemm((64, 64, 32)),
    "gemm_f16_128x256x64": gemm((128, 256, 64)),
    "gemm_nt_bias_f16_128x128x64": gemm_nt_bias,
    "vector_add_f32": vector_add,
    "softmax_f32_1024": softmax,
    "layer_norm_bf16_1024": layer_norm,
    "attention_causal_f16_d64": attention("f16", 64, 64),
    "attention_causal_bf16_d128": attention("bf16", 128, 128),
}


def check(name: str, ragged: bool, target: str, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    args, grid, compare, tolerance = CASES[name](rng, ragged)
    arrays, _ = launch((CORPUS / f"{name}.mlir").read_text(), *args, target=target, grid=grid, **options)
    found, expected = compare(arrays)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_every_program_has_a_case() -> None:
    assert sorted(CASES) == NAMES


@pytest.mark.parametrize("ragged", [False, True], ids=["aligned", "ragged"])
@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", CASES)
def test_results(name: str, mode: str, ragged: bool) -> None:
    check(name, ragged, str(np.random.default_rng().choice(TARGETS)), mode=mode)


@pytest.mark.parametrize("name", ["gemm_f16_64x64x32", "softmax_f32_1024", "attention_causal_f16_d64"])
def test_eight_schedules_agree(name: str) -> None:
    for seed in range(8):
        check(name, True, "sm_90a", seed=seed, mode="late" if seed % 2 else "early")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_spilled_or_serialized(name: str, target: str) -> None:
    """Products on tensor cores overlap as far as ptxas sees: it warns of what it serializes (C7507, C7510 to C7514)."""
    made = assembled(compiled((CORPUS / f"{name}.mlir").read_text(), target).ptx, target)
    assert made.report is not None
    assert [text for text in (*made.warnings, *(m.text for m in made.report.messages)) if "C75" in text] == []
    for resources in made.report.entries.values():
        assert (resources.spill_stores, resources.spill_loads) == (0, 0), resources


def test_ptxas_warns_of_a_product_that_is_not_waited_for() -> None:
    """What the test above looks for: without a wait, ptxas inserts one (C7517)."""
    ptx = compiled((CORPUS / "gemm_f16_64x64x32.mlir").read_text(), "sm_90a").ptx
    changed = re.sub(r"\twgmma\.wait_group.*\n", "", ptx)
    assert changed != ptx
    made = assembled(changed, "sm_90a")
    assert made.report is not None
    assert any("C75" in text for text in (*made.warnings, *(m.text for m in made.report.messages)))


INSTRUCTIONS = {
    "attention_causal_bf16_d128": (32, 6, 2),
    "attention_causal_f16_d64": (16, 3, 1),
    "gemm_f16_128x256x64": (8, 5, 4),
    "gemm_f16_64x64x32": (4, 2, 1),
    "gemm_nt_bias_f16_128x128x64": (8, 2, 16),
}
"""HGMMA, UTMALDG and UTMASTG in the SASS of a program for sm_90a; the other programs have none of them."""


@pytest.mark.parametrize("name", CASES)
def test_products_are_hgmma_on_tiles_that_tma_brings(name: str) -> None:
    ptx = compiled((CORPUS / f"{name}.mlir").read_text(), "sm_90a").ptx
    options = Options(
        lookup("sm_90a"), until="sass", ptxas=require_tool("ptxas"), nvdisasm=require_tool("nvdisasm")
    )
    sass = compile_text(ptx, "ptx", options).text("sass")
    found = tuple(len(re.findall(rf"\b{word}\b", sass)) for word in ("HGMMA", "UTMALDG", "UTMASTG"))
    assert found == INSTRUCTIONS.get(name, (0, 0, 0))
    assert "HMMA." not in sass.replace("HGMMA", "")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_every_pass_leaves_what_verifies(name: str, target: str) -> None:
    """Compilations verify the IR and the guarantees where stages end; here, each pass is followed by both checks."""
    module = parse_module((CORPUS / f"{name}.mlir").read_text(), f"{name}.mlir")
    compile_module(module, Options(lookup(target), until="llvm", verify_each=True))


def test_upstream_tools_take_every_program() -> None:
    check_tools([(CORPUS / f"{name}.mlir").read_text() for name in CASES], *TARGETS)
