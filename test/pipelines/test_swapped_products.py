"""Products of fewer than 64 rows, which wgmma and tcgen05.mma compute transposed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from programs import assembled, compiled, fresh_seed

from oracles import require_tool

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from random_products import Case, check

EPILOGUE = frozenset({"bias", "relu", "cast"})
CASES = {
    "f16": Case.of("f16", "f32", (16, 64, 64), (40, 150, 200)),
    "f16 sums": Case.of("f16", "f16", (8, 64, 64), (33, 100, 200)),
    "two warpgroups": Case.of("bf16", "f32", (32, 128, 32), (40, 300, 100), "persistent", epilogue=EPILOGUE),
    "no loop": Case.of("f16", "f32", (32, 64, 64), (33, 100, 64), "none"),
    "of a product": Case.of("bf16", "f32", (16, 64, 32), (20, 64, 100), extra="chain"),
    "both transposed": Case.of("f16", "f32", (32, 64, 32), (40, 100, 90), transposed=("permute", "view", "")),
    "integers": Case.of(
        "i8", "i32", (16, 64, 64), (33, 100, 200), transposed=("", "view", ""), signs=" unsigned signed"
    ),
    "8-bit floats": Case.of("f8E4M3FN", "f32", (16, 64, 64), (33, 100, 200), transposed=("", "permute", "")),
    "8-bit floats along N": Case.of("f8E5M2", "f32", (16, 64, 64), (33, 112, 200)),
    "integers along M": Case.of(
        "i8",
        "i32",
        (16, 64, 64),
        (48, 112, 200),
        transposed=("permute", "view", ""),
        signs=" signed unsigned",
    ),
    "by threads": Case.of("f16", "f32", (16, 128, 32), (33, 150, 100), extra="mixed"),
    "in a branch": Case.of("f16", "f32", (16, 64, 32), (33, 150, 100), extra="causal"),
}


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    """Those of NumPy, in both modes, without a finding."""
    problem, fast = check(CASES[name], fresh_seed())
    assert problem is None, problem
    assert fast


@pytest.mark.parametrize("name", CASES)
def test_the_columns_of_wgmma_are_the_rows_of_the_product(name: str) -> None:
    require_tool("ptxas")
    ptx = compiled(CASES[name].text(), "sm_90a").ptx
    assert {int(n) for n in re.findall(r"wgmma\.mma_async\S*\.m64n(\d+)k", ptx)} == {CASES[name].tile[0]}
    assert "mma.sync" not in ptx
    assert [w for w in assembled(ptx, "sm_90a").warnings if "C75" in w or "spill" in w] == []


def test_a_loop_carries_the_sums_transposed() -> None:
    """So that a product is in flight while the next one starts."""
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+1", compiled(CASES["f16"].text(), "sm_90a").ptx)


BY_TCGEN05 = {
    "f16": CASES["f16"],
    "128 rows": Case.of("bf16", "f32", (32, 128, 32), (40, 300, 100)),
    "two instructions": Case.of("bf16", "f32", (16, 256, 32), (20, 300, 100)),
    "no loop": CASES["no loop"],
    "integers": CASES["integers"],
    "8-bit floats along N": CASES["8-bit floats along N"],
    "tf32 along N": Case.of("tf32", "f32", (16, 64, 32), (40, 150, 100)),
    "by threads": CASES["by threads"],
    "in a branch": CASES["in a branch"],
}


@pytest.mark.parametrize("name", BY_TCGEN05)
def test_results_by_tcgen05(name: str) -> None:
    """Those of NumPy, in both modes, without a finding; the columns of the instruction are the rows of the product."""
    problem, fast = check(BY_TCGEN05[name], fresh_seed(), "sm_100a")
    assert problem is None, problem
    assert fast
    ptx = compiled(BY_TCGEN05[name].text(), "sm_100a").ptx
    assert "tcgen05.mma" in ptx and "mma.sync" not in ptx
    assert [w for w in assembled(ptx, "sm_100a").warnings if "C75" in w or "spill" in w] == []


@pytest.mark.parametrize(
    "case",
    [
        Case.of("f8E4M3FN", "f32", (8, 128, 64), (20, 200, 200)),
        Case.of("f8E4M3FN", "f32", (16, 128, 64), (33, 150, 100), extra="mixed"),
    ],
    ids=["128 rows with 8 columns", "8 bits by threads"],
)
def test_other_products_stay_with_mma_sync(case: Case) -> None:
    """With 128 rows, tcgen05.mma takes 16 columns."""
    ptx = compiled(case.text(), "sm_100a").ptx
    assert "tcgen05" not in ptx and "mma.sync" in ptx
