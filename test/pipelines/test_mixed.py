"""Products of which TMA brings one operand and the threads of the producer the other, or both, through one pipeline: by
wgmma, and by tcgen05.mma."""

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
TARGETS = {"sm_90a": "wgmma.mma_async", "sm_100a": "tcgen05.mma"}
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
    "before the loop": Case.of("f16", "f32", (64, 32, 32), (90, 70, 200), "before", "mixed"),
    "in two loops": Case.of("f16", "f32", (64, 32, 32), (90, 70, 200), "twice", "mixed"),
    "few rows": Case.of("f16", "f32", (16, 64, 32), (40, 70, 200), extra="mixed"),
    "f16 sums": Case.of("f16", "f16", (128, 64, 32), (40, 70, 100), extra="mixed"),
}
UMMA = {
    "two rows of instructions": Case.of("bf16", "f32", (256, 128, 32), (260, 200, 104), extra="partly"),
    "256 columns": Case.of("bf16", "f32", (128, 256, 32), (130, 260, 100), extra="mixed"),
    "gathered, two warpgroups": Case.of("bf16", "f32", (128, 128, 64), (128, 128, 300), extra="gathered"),
    "f8 along N": Case.of("f8E4M3FN", "f32", (128, 64, 64), (70, 96, 204), extra="mixed"),
    "f8 along K": Case.of(
        "f8E5M2", "f32", (128, 64, 64), (70, 96, 204), extra="mixed", transposed=("", "permute", "")
    ),
    "tf32 along N": Case.of("tf32", "f32", (64, 64, 32), (70, 96, 104), extra="mixed"),
    "integers": Case.of("i8", "i32", (128, 64, 64), (130, 64, 204), extra="partly", signs=" signed unsigned"),
    "a computed by the consumer": Case.of("f16", "f32", (64, 32, 32), (90, 70, 200), extra="scaled"),
    "a computed by the producer": Case.of(
        "f16", "f32", (64, 32, 32), (90, 70, 200), extra="scaled", assumed=False
    ),
}
"""Others, by tcgen05.mma."""
EVERY = [(name, case, target) for target in TARGETS for name, case in CASES.items()]
EVERY += [(name, case, "sm_100a") for name, case in UMMA.items()]
every = pytest.mark.parametrize(
    ("case", "target"), [e[1:] for e in EVERY], ids=[f"{e[2]}-{e[0]}" for e in EVERY]
)


def made(case: Case, target: str = "sm_90a") -> Any:
    return compiled(case.text(), target)


@every
def test_results(case: Case, target: str) -> None:
    """Those of NumPy, in both modes, without a finding."""
    problem, fast = check(case, fresh_seed(), target)
    assert problem is None, problem
    assert fast


@every
def test_ptxas_neither_serializes_nor_spills(case: Case, target: str) -> None:
    require_tool("ptxas")
    found = assembled(made(case, target).ptx, target)
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


def test_each_kind_has_arrivals_of_its_own_beside_the_products() -> None:
    """By tcgen05.mma: a commit empties stages and fills sums, of which each warp of the consumer arrives."""
    assert set(arrivals(made(COPIED, "sm_100a").ptx)) == {1 + 128, 1, 4}
    assert set(arrivals(made(STORED, "sm_100a").ptx)) == {1 + 4, 1, 4}


def test_the_fence_of_cp_async_is_behind_the_wait_of_the_warp_that_multiplies() -> None:
    """A thread that stores executes it before it arrives; one that started a copy cannot."""
    for case, copies in ((COPIED, True), (STORED, False)):
        ptx = made(case, "sm_100a").ptx
        product = ptx.index("tcgen05.mma")
        wait = ptx.rindex("mbarrier.try_wait", 0, product)
        assert ("fence.proxy.async" in ptx[wait:product]) == copies
        assert ("fence.proxy.async" in ptx[:wait]) != copies


@pytest.mark.parametrize("target", TARGETS)
def test_the_instructions_of_each_kind(target: str) -> None:
    copied, stored = made(COPIED, target).ptx, made(STORED, target).ptx
    assert copied.count("cp.async.mbarrier.arrive.noinc") == stored.count("mbarrier.arrive.expect_tx") == 1
    assert "cp.async.ca" in copied and "cp.async.mbarrier" not in stored
    for ptx in (copied, stored):
        assert "cp.async.bulk.tensor.2d.shared::cta.global" in ptx
        assert TARGETS[target] in ptx and "mma.sync" not in ptx
        # The threads of the producer do not wait for each other.
        assert re.search(r"bar\.sync \t1", ptx) is None


def test_mbarriers_of_threads_alone_need_no_fence() -> None:
    """The barrier behind their initialization orders it for all threads of the CTA, and TMA does not use them."""
    assert "fence.mbarrier_init" not in made(CASES["neither"]).ptx
    assert all(made(case).ptx.count("fence.mbarrier_init") == 1 for case in (COPIED, STORED))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_converted_factor_of_which_nothing_is_known(name: str, mode: str, target: str) -> None:
    """The producer's threads load bytes, one at a time, convert them and store them; nothing spills."""
    product = Product(m=128, n=128, k=64, a_in="i8" * (name == "a"), b_in="i8" * (name == "b"))
    text = re.sub(r"div_by<\d+>", "div_by<1>", product.text())
    ptx = compiled(text, target).ptx
    assert TARGETS[target] in ptx and "mma.sync" not in ptx and "cp.async" not in ptx
    rng = np.random.default_rng(fresh_seed())
    m, n, k = (int(rng.integers(1, most)) for most in (128, 128, 300))
    a, b = rng.integers(-4, 5, (m, k)).astype(np.float16), rng.integers(-4, 5, (k, n)).astype(np.float16)
    given = [v.astype(np.int8) if name == which else v for which, v in (("a", a), ("b", b))]
    args = [
        x for v in (*given, np.zeros((m, n), np.float32)) for x in (v, *map(np.int32, (*v.shape, v.shape[1])))
    ]
    arrays = launch(text, *args, target=target, mode=mode)[0]
    np.testing.assert_array_equal(arrays[2], a.astype(np.float64) @ b.astype(np.float64))
    require_tool("ptxas")
    assert [w for w in assembled(ptx, target).warnings if "C75" in w or "spill" in w] == []


SYNCHRONIZED = [
    *((case, "sm_90a", []) for case in (COPIED, STORED, CASES["neither"])),
    # Five tiles use both stages of the sums twice.
    (Case.of("f16", "f32", (64, 32, 32), (64, 160, 192), "persistent", "partly"), "sm_100a", []),
    (Case.of("f16", "f32", (64, 32, 32), (64, 160, 192), "persistent", "mixed"), "sm_100a", []),
    # The simulated GPU needs this fence for TMA, and not for commits of products.
    (
        Case.of("f16", "f32", (64, 32, 32), (60, 150, 200), "persistent", assumed=False),
        "sm_100a",
        ["fence.mbarrier_init.release.cluster; removed"],
    ),
]


@pytest.mark.parametrize(
    ("case", "target", "redundant"),
    SYNCHRONIZED,
    ids=[f"{target}-{name}" for target in TARGETS for name in ("cp.async", "registers", "registers alone")],
)
def test_every_synchronization_is_needed(case: Case, target: str, redundant: list[str]) -> None:
    found = made(case, target)
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
                arrays = launched((ptx, found.manifest), args, case.grid, mode, 7, target)
            except (AssertionError, DiagnosticError):
                return True
            if any(x.tobytes() != y.tobytes() for x, y in zip(arrays, expected, strict=True)):
                return True
        return False

    assert not is_found(found.ptx)
    changed = [*mutants(found.ptx), *mutants(found.ptx, ("cp.async.mbarrier.arrive",))]
    assert len(changed) > 10
    assert [what for what, ptx in changed if not is_found(ptx)] == redundant
