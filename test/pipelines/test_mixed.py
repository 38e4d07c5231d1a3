"""Products of which TMA brings one operand and the threads of the producer the other, or both, through one pipeline."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch, stopped_by_findings
from reference.interpreter import interpret
from trials import mutants

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.parser import parse_module

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from programs_of_products import Product
from random_products import Case, check, launched

COPIED = Case.of("f16", "f32", (64, 32, 32), (64, 64, 192), "persistent", "partly")
STORED = Case.of("f16", "f32", (64, 32, 32), (64, 64, 192), "persistent", "mixed")
CASES = {
    "cp.async": Case.of("f16", "f32", (64, 32, 32), (100, 40, 200), extra="partly"),
    "registers": Case.of("f16", "f32", (64, 32, 32), (100, 40, 200), extra="mixed"),
    "parts": Case.of("f16", "f32", (64, 256, 64), (64, 300, 150), extra="mixed"),
    "two warpgroups": Case.of("bf16", "f32", (128, 128, 32), (130, 150, 100), extra="mixed"),
    "tf32": Case.of("tf32", "f32", (64, 64, 32), (70, 96, 104), extra="partly", known=8),
    "gathered": Case.of("f16", "f32", (64, 32, 32), (64, 32, 150), extra="gathered"),
    "masked": Case.of("f16", "f32", (64, 32, 32), (100, 40, 200), extra="masked"),
    "sum of two": Case.of("f16", "f32", (64, 32, 32), (100, 40, 200), extra="added"),
    "transposed": Case.of(
        "f16", "f32", (64, 32, 32), (90, 40, 200), extra="mixed", transposed=("", "permute", "")
    ),
    "neither": Case.of("f16", "f32", (64, 32, 32), (90, 40, 200), assumed=False),
    "over tiles": Case.of("f16", "f32", (64, 32, 32), (90, 70, 200), "persistent", "mixed"),
    "backwards": Case.of("f16", "f32", (64, 32, 32), (90, 70, 200), "pointer", "partly"),
    "in a branch": Case.of("f16", "f32", (64, 32, 32), (130, 70, 200), extra="causal", assumed=False),
}


def made(case: Case) -> Any:
    return compiled(case.text(), "sm_90a")


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    """Those of NumPy, in both modes, without a finding."""
    problem, fast = check(CASES[name], fresh_seed())
    assert problem is None, problem
    assert fast


@pytest.mark.parametrize("name", CASES)
def test_ptxas_neither_serializes_nor_spills(name: str) -> None:
    require_tool("ptxas")
    found = assembled(made(CASES[name]).ptx, "sm_90a")
    assert [w for w in found.warnings if "C75" in w or "spill" in w] == []


def arrivals(ptx: str) -> list[int]:
    """The arrivals that each mbarrier counts."""
    constants = dict(re.findall(r"mov\.b32 \t(%r\d+), (\d+);", ptx))
    return [int(constants[r]) for r in re.findall(r"mbarrier\.init\.shared\.b64 \t\[\S+\], (%r\d+);", ptx)]


def test_each_kind_of_filler_has_arrivals_of_its_own() -> None:
    """One for the thread that starts TMA; of four warps, each thread for cp.async, each warp for stores."""
    assert set(arrivals(made(COPIED).ptx)) == {1 + 128, 4}
    assert set(arrivals(made(STORED).ptx)) == {1 + 4, 4}
    assert set(arrivals(made(CASES["neither"]).ptx)) == {4}


def test_the_instructions_of_each_kind() -> None:
    copied, stored = made(COPIED).ptx, made(STORED).ptx
    assert copied.count("cp.async.mbarrier.arrive.noinc") == stored.count("mbarrier.arrive.expect_tx") == 1
    assert "cp.async.ca" in copied and "cp.async.mbarrier" not in stored
    for ptx in (copied, stored):
        assert "cp.async.bulk.tensor.2d.shared::cta.global" in ptx
        assert "wgmma.mma_async" in ptx and "mma.sync" not in ptx
        # The threads of the producer do not wait for each other.
        assert re.search(r"bar\.sync \t1", ptx) is None


def test_mbarriers_of_threads_alone_need_no_fence() -> None:
    """The barrier behind their initialization orders it for all threads of the CTA, and TMA does not use them."""
    assert "fence.mbarrier_init" not in made(CASES["neither"]).ptx
    assert all(made(case).ptx.count("fence.mbarrier_init") == 1 for case in (COPIED, STORED))


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_converted_factor_of_which_nothing_is_known(name: str, mode: str) -> None:
    """The producer's threads load bytes, one at a time, convert them and store them; nothing spills."""
    product = Product(m=128, n=128, k=64, a_in="i8" * (name == "a"), b_in="i8" * (name == "b"))
    text = re.sub(r"div_by<\d+>", "div_by<1>", product.text())
    ptx = compiled(text, "sm_90a").ptx
    assert "wgmma.mma_async" in ptx and "mma.sync" not in ptx and "cp.async" not in ptx
    rng = np.random.default_rng(fresh_seed())
    m, n, k = (int(rng.integers(1, most)) for most in (128, 128, 300))
    a, b = rng.integers(-4, 5, (m, k)).astype(np.float16), rng.integers(-4, 5, (k, n)).astype(np.float16)
    given = [v.astype(np.int8) if name == which else v for which, v in (("a", a), ("b", b))]
    args = [
        x for v in (*given, np.zeros((m, n), np.float32)) for x in (v, *map(np.int32, (*v.shape, v.shape[1])))
    ]
    arrays = launch(text, *args, target="sm_90a", mode=mode)[0]
    np.testing.assert_array_equal(arrays[2], a.astype(np.float64) @ b.astype(np.float64))
    require_tool("ptxas")
    assert [w for w in assembled(ptx, "sm_90a").warnings if "C75" in w or "spill" in w] == []


@pytest.mark.parametrize(
    "case", [COPIED, STORED, CASES["neither"]], ids=["cp.async", "registers", "registers alone"]
)
def test_every_synchronization_is_needed(case: Case) -> None:
    found = made(case)
    rng = np.random.default_rng(fresh_seed())
    args = case.arguments(rng)
    expected = interpret(
        parse_module(case.text(), "program.mlir"),
        [v.copy() if isinstance(v, np.ndarray) and v.ndim else v for v in args],
        grid=case.grid,
    )

    @stopped_by_findings()
    def is_found(ptx: str) -> bool:
        for mode in ("late", "early"):
            try:
                arrays = launched((ptx, found.manifest), args, case.grid, mode, 7)
            except (AssertionError, DiagnosticError):
                return True
            if any(x.tobytes() != y.tobytes() for x, y in zip(arrays, expected, strict=True)):
                return True
        return False

    assert not is_found(found.ptx)
    changed = [*mutants(found.ptx), *mutants(found.ptx, ("cp.async.mbarrier.arrive",))]
    assert len(changed) > 10
    assert [what for what, ptx in changed if not is_found(ptx)] == []
