"""Passes of the tile dialect in any order that the table allows, and any number of times: the result is one."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import pytest
from tile.kernels import example

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.order import ORDER
from tessera_tools.passes.pipeline import Pipeline, parse_pass

PASSES = (
    "tile-memory-management", "tile-intrinsic-lowering", "tile-register-coalescing", "tile-barrier-optimization",
    "tile-performance-annotation",
)  # fmt: skip
INPUTS = Path(__file__).parent / "inputs"
PROGRAMS = {
    "copies_of_fragments": (INPUTS / "copies_of_fragments.mlir").read_text(),
    "many_fragments": (INPUTS / "many_fragments.mlir").read_text(),
    "gemm": example("gemm_tile"),
    "attention": example("attention_causal"),
}


@cache
def step(text: str, name: str) -> str:
    """A program after one pass."""
    module = parse_module(text, "kernel.mlir")
    pipeline = Pipeline("builtin.module")
    pipeline.add(parse_pass(name))
    PassManager(pipeline, verify_each=True).run(module)
    return print_op(module)


def orders() -> list[tuple[str, ...]]:
    """The orders that the pairs of the table leave."""
    pairs = [(before, after) for before, after, _ in ORDER if before in PASSES and after in PASSES]
    found = [
        order
        for order in itertools.permutations(PASSES)
        if all(order.index(before) < order.index(after) for before, after in pairs)
    ]
    assert len(found) >= 10
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_gives_one_program(name: str) -> None:
    results: dict[str, tuple[str, ...]] = {}
    for order in orders():
        text = PROGRAMS[name]
        for pass_name in order:
            text = step(text, pass_name)
        results.setdefault(text, order)
    assert len(results) == 1, list(results.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_pass_that_runs_again_changes_nothing(name: str) -> None:
    for order in orders():
        text = PROGRAMS[name]
        for pass_name in order:
            text = step(text, pass_name)
            assert step(text, pass_name) == text, (pass_name, order)
    assert step(text, PASSES[0]) == text
