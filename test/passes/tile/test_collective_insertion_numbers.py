"""Random shardings of (A B) C on a mesh of two axes: what the ranks do gives what the whole program says.

Kernels are played by NumPy here; test/runtime/test_ranks.py runs real ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from programs import fresh_seed

from tessera_tools.emit.host import take_plans
from tessera_tools.emit.plan import Exchange, Plan
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass

MESH = {"x": 2, "y": 4}
KERNEL = """
func.func @KIND(%A: memref<?x?xf64> {tile.dimensions = ["m", "k"]}, %B: memref<?x?xf64> {tile.dimensions = ["k", "n"]},
                %D: memref<?x?xf64> {tile.dimensions = ["m", "n"]}) attributes {tessera.kernel} { return }
"""


def _sharding(rng: np.random.Generator) -> str:
    """Of a matrix: each dimension whole or along an axis, or nothing said."""
    axes = list(rng.permutation(["x", "y", "", ""]))[:2]
    if rng.random() < 0.25:
        return ""
    return f"{{sharding = #tile.sharding<[{{{axes[0]}}}, {{{axes[1]}}}]>}}"


def _program(rng: np.random.Generator) -> str:
    """Half of the programs make their second product in a function that is called."""
    m, n, k, p = (8 * int(rng.integers(1, 5)) for _ in range(4))
    shardings = [_sharding(rng) for _ in range(4)]
    if not any(shardings):
        shardings[0] = "{sharding = #tile.sharding<[{x}, {}]>}"
    launch = f"""tile.launch @product grid [1] (%T, %C)
        : (memref<{m}x{n}xf64>, memref<{n}x{p}xf64>) -> memref<{m}x{p}xf64>"""
    call = f"func.call @second(%T, %C) : (memref<{m}x{n}xf64>, memref<{n}x{p}xf64>) -> memref<{m}x{p}xf64>"
    called = rng.random() < 0.5
    second = f"""
  func.func private @second(%T: memref<{m}x{n}xf64>, %C: memref<{n}x{p}xf64>) -> memref<{m}x{p}xf64> {{
    %D = {launch}
    return %D : memref<{m}x{p}xf64>
  }}"""
    return f"""module attributes {{tile.mesh = #tile.mesh<x = 2, y = 4>}} {{
  {KERNEL.replace("KIND", "product")}
  {second if called else ""}
  func.func @main(%A: memref<{m}x{k}xf64> {shardings[0]}, %B: memref<{k}x{n}xf64> {shardings[1]},
                  %C: memref<{n}x{p}xf64> {shardings[2]}) -> (memref<{m}x{p}xf64> {shardings[3]}) {{
    %T = tile.launch @product grid [1] (%A, %B)
        : (memref<{m}x{k}xf64>, memref<{k}x{n}xf64>) -> memref<{m}x{n}xf64>
    %D = {call if called else launch}
    return %D : memref<{m}x{p}xf64>
  }}
}}"""


def _run(plan: Plan, arguments: list[np.ndarray]) -> np.ndarray:
    """All ranks, step by step."""
    ranks: list[dict[int, np.ndarray]] = [{} for _ in range(plan.ranks)]
    for rank, there in enumerate(ranks):
        for number, whole in zip(plan.arguments, arguments, strict=True):
            there[number] = whole[plan.place(plan.tensors[number], rank)]
    for step in plan.steps:
        for rank, there in enumerate(ranks):
            if not isinstance(step, Exchange):
                a, b = (there[number] for number in step.operands)
                there[step.results[0]] = a @ b
                continue
            group = plan.group(rank, step.axis)
            given = [ranks[other][step.source] for other in group]
            if step.kind == "all_slice":
                given = [there[step.source]]
            elif step.combine is not None:
                given = [np.sum(given, axis=0)]
            if step.split is not None:
                given = [np.split(one, len(group), step.split)[group.index(rank)] for one in given]
            there[step.result] = np.concatenate(given, step.gather) if step.gather is not None else given[0]
            assert there[step.result].shape == plan.tensors[step.result].shape
    (number,) = plan.results
    tensor = plan.tensors[number]
    whole = np.full(plan.whole(tensor), np.nan)
    for rank, there in enumerate(ranks):
        place = plan.place(tensor, rank)
        before = whole[place]
        assert np.isnan(before).all() or np.array_equal(before, there[number])
        whole[place] = there[number]
    return whole


@pytest.mark.parametrize("number", range(40))
def test_random_shardings(number: int) -> None:
    rng = np.random.default_rng([fresh_seed(), number])
    text = _program(rng)
    module = parse_module(text)
    verify_or_raise(module)
    PassManager(Pipeline("builtin.module", [parse_pass("tile-collective-insertion")])).run(module)
    (plan,) = take_plans(module)
    arguments = [
        rng.integers(-9, 9, plan.whole(plan.tensors[number])).astype(np.float64) for number in plan.arguments
    ]
    a, b, c = arguments
    np.testing.assert_array_equal(_run(plan, arguments), a @ b @ c, err_msg=text)
