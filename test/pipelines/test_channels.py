"""Places of tiles that only the consumer can compute: it sends them to the producer."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch
from trials import Trial, missed, mutants, near

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product

from oracles import require_tool

DEPTH = 9 * 32
"""More tiles than a pipeline has stages."""


def counted(product: Product) -> str:
    """C = A · B, where a counter in memory says which tile of B along K comes next."""
    text = product.text().replace("entry @product(", "entry @product(%counter: tile<ptr<i32>>, ")
    loads = """  %page, %pt = atomic_rmw_tko relaxed device %counter, add, %c1 token = %token : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %b, %bt = load_view_tko weak %bV[%page, %y]"""  # noqa: E501
    changed = text.replace("  %b, %bt = load_view_tko weak %bV[%k, %y]", loads)
    assert changed != text
    return changed


def leaving(text: str) -> str:
    """The program with a return where K is 0, so that the loop is in a branch."""
    branch = "%stop = cmpi less_than %ac, %c1, signed : tile<i32> -> tile<i1>\n  if %stop { return } else { }"
    changed = text.replace("%zero = constant", f"{branch}\n  %zero = constant")
    assert changed != text
    return changed


@pytest.mark.parametrize("warps", [0, 8])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(mode: str, warps: int) -> None:
    check(Product(m=128 if warps else 64, k=32, warps=warps), mode, leaves=False)


@pytest.mark.parametrize("mode", ["late", "early"])
def test_results_of_a_loop_in_a_branch(mode: str) -> None:
    check(Product(k=32), mode, leaves=True)
    check(Product(k=32), mode, leaves=True, tiles=0)


def check(product: Product, mode: str, leaves: bool, tiles: int | None = None) -> None:
    rng = np.random.default_rng(fresh_seed())
    product = replace(product, n=int(rng.choice([32, 64])))
    tiles, start = int(rng.integers(1, 8)) if tiles is None else tiles, int(rng.integers(0, 3))
    m, n, k = product.m - 9, product.n, tiles * product.k
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal(((start + tiles) * product.k, n)).astype(np.float16)
    counter = np.array([start], np.int32)
    c = np.zeros((m, n), np.float32)

    def arguments(x: np.ndarray) -> list[object]:
        return [x, *(np.int32(v) for v in (*x.shape, x.shape[1]))]

    text = counted(product)
    assert "wgmma" in compiled(leaving(text) if leaves else text, "sm_90a").ptx
    arrays, result = launch(
        leaving(text) if leaves else text,
        counter,
        *arguments(a),
        *arguments(b),
        *arguments(c),
        target="sm_90a",
        mode=mode,
    )
    assert not result.findings, result.findings.text("product")
    assert arrays[0][0] == start + tiles
    expected = a.astype(np.float64) @ b[start * product.k :].astype(np.float64)
    assert np.abs(arrays[3] - expected).max() < 1e-2


def test_both_factors_come_by_tma() -> None:
    require_tool("ptxas")
    ptx = compiled(counted(Product()), "sm_90a").ptx
    assert ptx.count("cp.async.bulk.tensor.2d") == 2 and "wgmma.mma_async" in ptx
    # Once for each tile: the consumer counts, and the producer is told.
    assert ptx.count("atom.") == 1
    assert [w for w in assembled(ptx, "sm_90a").warnings if "C75" in w] == []


def test_each_arrival_and_each_wait_for_a_full_stage_is_needed() -> None:
    """Of the channel and of the tiles.  Without one, the simulated GPU finds a race or an endless wait.

    That a stage is empty follows here from the other pipeline: the consumer sends a number when it has read the tile
    of the one before.
    """
    made = compiled(counted(Product(n=32, k=32)), "sm_90a")
    changed = [(what, ptx) for what, ptx in mutants(made.ptx) if "wait " in what or "mbarrier.arrive" in what]
    assert [what.split()[0] for what, _ in changed].count("wait") == 4
    assert len(changed) == 8
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((64, DEPTH), (DEPTH, 32)))
    arrays = (a, b, np.zeros((64, 32), np.float32))
    given = [v for array in arrays for v in (array, *map(np.int32, (*array.shape, array.shape[1])))]
    right = near(3, a.astype(np.float64) @ b, 0.1)
    trial = Trial(
        [np.zeros(1, np.int32), *given], "sm_90a", (1,), right, options={"max_instructions": 20_000}
    )
    left = missed(made, changed, trial)
    assert len(left) <= 2 and all(what.startswith("wait ") for what in left), left


def bounded(product: Product) -> str:
    """C = A · B over as many tiles along K as a counter in memory says, anew for each tile of C."""
    text = product.text().replace("entry @product(", "entry @product(%counter: tile<ptr<i32>>, ")
    count = """%taken, %taken_t = atomic_rmw_tko relaxed device %counter, add, %c1 token = %token : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %sum = for %k in (%c0 to %taken,"""  # noqa: E501
    changed = text.replace("%sum = for %k in (%c0 to %steps,", count)
    changed = changed.replace("%columns = constant <i32: 2>", "%columns = constant <i32: 6>")
    assert changed != text
    return changed


def trial_of_bounds(rng: np.random.Generator, product: Product) -> tuple[list[object], np.ndarray]:
    """The arguments of a launch of one program, and its result."""
    m, n, k = product.m, 6 * product.n, 6 * product.k
    a, b = (rng.integers(-2, 3, s).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    given = [v for array in (a, b, c) for v in (array, *map(np.int32, (*array.shape, array.shape[1])))]
    expected = np.zeros((m, n), np.float64)
    for tile in range(6):
        columns, depth = slice(tile * product.n, (tile + 1) * product.n), tile * product.k
        expected[:, columns] = a[:, :depth].astype(np.float64) @ b[:depth, columns]
    return [np.zeros(1, np.int32), *given], expected


@pytest.mark.parametrize(("target", "instruction"), [("sm_90a", "wgmma"), ("sm_100a", "tcgen05.mma")])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_bound_that_only_the_consumer_knows(target: str, instruction: str, mode: str) -> None:
    """It sends the bound to the producer, and to the agent that multiplies; the first tile has no term."""
    product = Product(m=64, n=32, k=32, outer=True)
    text = bounded(product)
    ptx = compiled(text, target).ptx
    assert instruction in ptx and "mma.sync" not in ptx and ptx.count("atom.") == 1
    args, expected = trial_of_bounds(np.random.default_rng(fresh_seed()), product)
    arrays = launch(text, *args, target=target, mode=mode)[0]
    assert arrays[0][0] == 6
    np.testing.assert_array_equal(arrays[3], expected)


def test_each_arrival_and_each_wait_for_a_full_stage_of_two_receivers_is_needed() -> None:
    """That a stage of a number or of sums is empty follows here: the consumer counts when it has taken the sums of the
    tile before."""
    product = Product(m=64, n=32, k=32, outer=True)
    made = compiled(bounded(product), "sm_100a")
    changed = [(what, ptx) for what, ptx in mutants(made.ptx) if not what.startswith("bar.sync")]
    args, expected = trial_of_bounds(np.random.default_rng(fresh_seed()), product)
    trial = Trial(args, "sm_100a", (1,), near(3, expected, 0.1), options={"max_instructions": 60_000})
    left = missed(made, changed, trial)
    assert len(left) <= 3 and all(what.startswith("wait ") for what in left), left
