"""Canonicalization of `nv_tileaa` by more ops than a file of FileCheck should have; see control_canonicalize.mlir."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.nv_tileaa.canonicalize import MOST_NESTED_RETURNS, WhatFollowsAReturn
from tessera_tools.ir.core import Operation
from tessera_tools.ir.greedy import apply_greedily
from tessera_tools.parser import parse_module


def depth(op: Operation) -> int:
    """How many ops are around an op."""
    return 0 if op.parent_op is None else 1 + depth(op.parent_op)


@pytest.mark.parametrize(("count", "left"), [(3, 0), (10 * MOST_NESTED_RETURNS, 9 * MOST_NESTED_RETURNS)])
def test_many_early_returns_make_few_levels_of_branches(count: int, left: int) -> None:
    """Ops that are nested as deeply as a program has returns would take the square of their number in each pass."""
    lines = [
        f'%c{i} = "test.condition"() : () -> i1  nv_tileaa.if %c{i} {{ nv_tileaa.return }}'
        for i in range(count)
    ]
    text = "\n".join(["nv_tileaa.func @many() {", *lines, "nv_tileaa.return", "}"])
    module = parse_module(text, "many.mlir", allow_unregistered=True)
    apply_greedily(module, [WhatFollowsAReturn()])
    returns = [op for op in module.walk() if isinstance(op, nv_tileaa.Return)]
    assert left <= len(returns) - 1 <= left + 2
    assert max(map(depth, module.walk())) <= MOST_NESTED_RETURNS + 2
