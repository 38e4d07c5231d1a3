"""The listing of flash attention as it stands: what its ops say, no more and no less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, decode, empty, fresh_seed, random
from tile.flash_attention import listing
from tile.kernels import example, launch, strided

BARRIERS = ("tile-barrier-optimization",)
EVERY_PASS = (
    "tile-memory-management", "tile-register-coalescing", "tile-barrier-optimization", "tile-performance-annotation",
    "tile-intrinsic-lowering{arch=sm_80}",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["late", "early"])
def test_the_listing_does_what_its_ops_say(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = (1, 2, 256, 64)
    q, k, v = (random("bf16", shape, rng) for _ in range(3))
    o = empty("bf16", shape)
    target = str(rng.choice(TARGETS))
    args = [a for array in (q, k, v, o) for a in strided(array)]
    arrays, result = launch(example("flash_attention_listing"), *args, target=target, grid=(2, 2), mode=mode)
    assert not result.findings, result.findings.text("listing")
    found = decode("bf16", arrays[3])
    for head in range(2):
        expected = listing(*(decode("bf16", a[0, head]) for a in (q, k, v)))
        np.testing.assert_allclose(found[0, head], expected, rtol=3e-2, atol=1e-2)


DOCUMENT = Path(__file__).parents[1] / "dialects" / "tile" / "listing_passes.mlir"
"""The listing of the passes' description: one number for batch and head, queries' extents for all slices."""


def _document(
    passes: tuple[str, ...], head: int, keys: int, values: int, mode: str = "late"
) -> tuple[Any, ...]:
    rng = np.random.default_rng(fresh_seed())
    length = int(rng.integers(1, 17)) * 16
    q, k, v = (random("bf16", (1, 1, length, d), rng) for d in (head, keys, values))
    o = empty("bf16", (1, 1, length, head))
    args = [a for array in (q, k, v, o) for a in strided(array)]
    target = str(rng.choice(TARGETS))
    grid = (-(-length // 128),)
    arrays, result = launch(DOCUMENT.read_text(), *args, target=target, grid=grid, passes=passes, mode=mode)
    return *(decode("bf16", a[0, 0]) for a in (q, k, v, arrays[3])), result


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("passes", [(), BARRIERS, EVERY_PASS], ids=["as written", "barriers", "all"])
def test_the_document_s_listing_computes_what_its_ops_say(passes: tuple[str, ...], mode: str) -> None:
    q, k, v, found, result = _document(passes, 64, 64, 64, mode)
    assert not result.findings, result.findings.text("listing")
    np.testing.assert_allclose(found, listing(q, k, v), rtol=3e-2, atol=1e-2)


def test_keys_and_values_may_be_wider_than_the_slices_that_queries_cut_from_them() -> None:
    q, k, v, found, result = _document(BARRIERS, 32, 64, 48)
    assert not result.findings, result.findings.text("listing")
    np.testing.assert_allclose(found, listing(q, k[:, :32], v[:, :32]), rtol=3e-2, atol=1e-2)


def test_a_slice_beyond_its_tensor_is_found_when_the_kernel_runs() -> None:
    *_, result = _document(BARRIERS, 64, 32, 64)
    assert "the slice is out of bounds in dimension 3 of its tensor" in result.findings.text("listing")
