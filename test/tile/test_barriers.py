"""`--tile-barrier-optimization` on the simulated GPU: enough, and no more than there was.

Every barrier and wait of a kernel is removed; the pass puts back what makes it right, in both modes of the simulator
and whatever the schedule.  The level below finds nothing missing (`tileas-insert-barriers` inserts nothing), and would
miss each barrier that the pass left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, decode, empty, fresh_seed, random
from tile.flash_attention import attention, listing
from tile.kernels import example, launch, strided

from tessera_tools.dialects import nv_tileas, tile
from tessera_tools.dialects.tile.asynchronous import WaitLike
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for
from tessera_tools.planning.shared_memory import OFFSET

PASS = "tile-barrier-optimization"
KERNELS = ("attention", "attention_causal", "flash_attention_listing", "gemm_tile")


def stripped(text: str) -> str:
    """Without barriers and waits."""
    return re.sub(
        r"^ *tile\.(barrier|cp_wait_group|wait_group|async_wait)\b.*\n", "", text, flags=re.MULTILINE
    )


def run(module: Operation, *passes: str) -> Operation:
    pipeline = Pipeline("builtin.module")
    for name in passes:
        pipeline.add(parse_pass(name))
    PassManager(pipeline).run(module)
    return module


def optimized(text: str) -> Operation:
    return run(parse_module(text, "kernel.mlir", implicit_index_constants=True), PASS)


def count(module: Operation, kinds: Any) -> int:
    return sum(isinstance(op, kinds) for op in module.walk())


def missing(module: Operation) -> int:
    """How many barriers the level below inserts into what comes of a module, which is lowered on the way; those before
    conversions of layouts are not counted: their scratch is unknown above."""
    steps = [step.text for step in pipeline_for("sm_80", "tile")]
    place = steps.index("tileas-insert-barriers")
    run(module, *steps[:place])
    kept = {op for op in module.walk() if isinstance(op, nv_tileas.Barrier)}
    run(module, steps[place])
    found = [op for op in module.walk() if isinstance(op, nv_tileas.Barrier) and op not in kept]
    return sum(op.next_op is None or OFFSET not in op.next_op.attributes for op in found)


def run_attention(text: str, causal: bool, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = (1, 1, 72, 64)
    q, k, v = (random("bf16", shape, rng) for _ in range(3))
    args = [a for array in (q, k, v, empty("bf16", shape)) for a in strided(array)]
    arrays, result = launch(text, *args, grid=(2,), **options)
    assert not result.findings, result.findings.text("attention")
    q, k, v = (decode("bf16", a[0, 0]) for a in (q, k, v))
    expected = attention(q, k, v, 0.125, causal)
    np.testing.assert_allclose(decode("bf16", arrays[3])[0, 0], expected, rtol=2e-2, atol=1e-2)


def run_listing(text: str, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = (1, 1, 256, 64)
    q, k, v = (random("bf16", shape, rng) for _ in range(3))
    args = [a for array in (q, k, v, empty("bf16", shape)) for a in strided(array)]
    arrays, result = launch(text, *args, grid=(1, 1), **options)
    assert not result.findings, result.findings.text("listing")
    expected = listing(*(decode("bf16", a[0, 0]) for a in (q, k, v)))
    np.testing.assert_allclose(decode("bf16", arrays[3])[0, 0, :128], expected[:128], rtol=3e-2, atol=1e-2)


def run_gemm(text: str, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = 40, 120, 200
    a, b, d = random("f16", (m, k), rng), random("f16", (k, n), rng), empty("f32", (m, n))
    args = [x for array in (a, b, d) for x in strided(array)]
    arrays, result = launch(text, *args, grid=(1, 1), **options)
    assert not result.findings, result.findings.text("gemm")
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)


RUNS: dict[str, Callable[..., None]] = {
    "attention": lambda text, **options: run_attention(text, False, **options),
    "attention_causal": lambda text, **options: run_attention(text, True, **options),
    "flash_attention_listing": run_listing,
    "gemm_tile": run_gemm,
}


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_put_back_is_enough(name: str, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed("target"))
    text = stripped(example(name))
    assert "tile.barrier" not in text
    assert missing(optimized(text)) == 0
    target = str(rng.choice(TARGETS))
    for _ in range(2):
        RUNS[name](text, target=target, passes=(PASS,), mode=mode)


@pytest.mark.parametrize("name", KERNELS)
def test_no_more_than_there_was(name: str) -> None:
    original = parse_module(example(name), "kernel.mlir", implicit_index_constants=True)
    ours, again = optimized(stripped(example(name))), optimized(example(name))
    # The listing lacks one: the keys of an iteration are copied where those before are still being read.
    lacks = 1 if name == "flash_attention_listing" else 0
    assert missing(original.clone()) == lacks
    for kind in (tile.Barrier, WaitLike):
        had = count(original, kind) + (lacks if kind is tile.Barrier else 0)
        assert count(ours, kind) <= had
        assert count(again, kind) <= had


@pytest.mark.parametrize("name", KERNELS)
def test_none_can_be_left_out(name: str) -> None:
    module = optimized(stripped(example(name)))
    places = [n for n, op in enumerate(module.walk()) if isinstance(op, tile.Barrier)]
    assert places
    for place in places:
        copy = module.clone()
        next(op for n, op in enumerate(copy.walk()) if n == place).erase()
        assert missing(copy) == 1


@pytest.mark.parametrize("name", KERNELS)
def test_twice_is_once(name: str) -> None:
    for text in (example(name), stripped(example(name))):
        module = optimized(text)
        once = str(module)
        assert str(run(module, PASS)) == once
