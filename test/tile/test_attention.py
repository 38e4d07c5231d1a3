"""Exact attention in the tile dialect, against float64: head dimensions 64 and 128, ragged lengths, every generation of
target, both modes of the simulator, eight schedules; what the tools say of the kernels, and no register spilled.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import TARGETS, assembled, decode, empty, fresh_seed, random, read_by_mlir_opt
from tile.flash_attention import attention
from tile.kernels import compiled, example, launch, strided

SCHEDULES = [(mode, seed) for mode in ("late", "early") for seed in range(8)]
SHORT, LONG = 128, 1000
"""The least and the greatest sequence length of the proofs."""


def text_of(head: int, causal: bool) -> str:
    """The example for a head dimension: with 128, buffers and accumulator have twice the columns, so each of the 128
    threads holds 4x16 elements of 64x128 where it held 4x8 of 64x64; the scores stay 64x64."""
    text = example("attention_causal" if causal else "attention")
    if head == 64:
        return text
    text = text.replace("memref<64x64xbf16, 3>", "memref<64x128xbf16, 3>").replace("0.125", repr(head**-0.5))
    lines: list[str] = []
    for line in text.splitlines():
        if re.search(r"%(acc|out|out_bf16)\b", line):
            line = line.replace("memref<4x8x", "memref<4x16x")
        elif "%update =" in line:
            line = line.replace("memref<4x8xf32", "memref<4x16xf32")
        lines.append(line)
    return "\n".join(lines)


def check(head: int, causal: bool, length: int, target: str, mode: str, seed: int, heads: int = 1) -> None:
    """Run a kernel on fresh numbers under one schedule; its result is attention's, and the simulator finds nothing."""
    rng = np.random.default_rng(fresh_seed())
    shape = (1, heads, length, head)
    q, k, v = (random("bf16", shape, rng) for _ in range(3))
    args = [a for array in (q, k, v, empty("bf16", shape)) for a in strided(array)]
    grid = (-(-length // 64), heads)
    arrays, result = launch(text_of(head, causal), *args, target=target, grid=grid, mode=mode, seed=seed)
    assert not result.findings, result.findings.text("attention")
    for number in range(heads):
        queries, keys, values = (decode("bf16", a[0, number]) for a in (q, k, v))
        expected = attention(queries, keys, values, head**-0.5, causal)
        found = decode("bf16", arrays[3])[0, number]
        np.testing.assert_allclose(found, expected, rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("head", [64, 128])
def test_attention(head: int, causal: bool) -> None:
    rng = np.random.default_rng(fresh_seed("sample"))
    mode, seed = SCHEDULES[rng.integers(len(SCHEDULES))]
    length = int(rng.integers(SHORT, 260))
    print(f"{length} keys, {mode}, seed {seed}")
    check(head, causal, length, str(rng.choice(TARGETS)), mode, seed)


def test_heads_are_apart() -> None:
    check(64, False, 130, "sm_80", "late", 0, heads=2)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("head", [64, 128])
def test_attention_under_every_schedule(head: int, causal: bool) -> None:
    """Each target takes its turn, two times in each mode; from another one on in every run."""
    rng = np.random.default_rng(fresh_seed("lengths"))
    first = int(rng.integers(len(TARGETS)))
    for number, (mode, seed) in enumerate(SCHEDULES, first):
        check(head, causal, int(rng.integers(SHORT, 200)), TARGETS[number % len(TARGETS)], mode, seed)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("head", [64, 128])
def test_attention_of_long_sequences(head: int, causal: bool) -> None:
    rng = np.random.default_rng(fresh_seed("lengths"))
    check(head, causal, LONG, str(rng.choice(TARGETS)), "late", int(rng.integers(8)))


# -- what the tools say


KERNELS = {
    "listing": example("flash_attention_listing"),
    "attention": text_of(64, False),
    "causal": text_of(64, True),
    "attention of 128": text_of(128, False),
    "causal of 128": text_of(128, True),
    "gemm": example("gemm_tile"),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_no_register_is_spilled(name: str, target: str) -> None:
    report = assembled(compiled(KERNELS[name], target).ptx, target).report
    assert report is not None
    for resources in report.entries.values():
        assert resources.spill_stores == 0, resources


@pytest.mark.parametrize("name", KERNELS)
def test_mlir_opt_takes_the_llvm_stage(name: str) -> None:
    read_by_mlir_opt(compiled(KERNELS[name]).llvm)


# -- products


def test_gemm() -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = (8 * int(rng.integers(1, 25)) for _ in range(3))
    a, b, d = random("f16", (m, k), rng), random("f16", (k, n), rng), empty("f32", (m, n))
    args = [x for array in (a, b, d) for x in strided(array)]
    grid = (-(-m // 128), -(-n // 128))
    arrays, result = launch(example("gemm_tile"), *args, target=str(rng.choice(TARGETS)), grid=grid)
    assert not result.findings, result.findings.text("gemm")
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)
