"""The price of a step of loops with products, with which clusters of tile blocks are compared."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import nv_tileaa
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.cluster_price import step_cycles
from tessera_tools.target import lookup


def step(m: int, n: int, k: int, target: str, batch: str = "") -> float:
    """The cycles of a step that multiplies tiles which it does not load."""
    sizes = ((m, k, "f16"), (k, n, "f16"), (m, n, "f32"))
    a, b, c = (f"tensor<{batch}{rows}x{columns}x{element}>" for rows, columns, element in sizes)
    module = parse_module(f"""
    nv_tileaa.func @f(%a: {a}, %b: {b}, %c: {c}, %n: i32) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %sums = scf.for %i = %zero to %n step %one iter_args(%sum = %c) -> ({c}) : i32 {{
        %next = nv_tileas.dot %a, %b, %sum {{atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}} : {a}, {b}, {c}
        scf.yield %next : {c}
      }}
      nv_tileaa.return
    }}""")
    function = next(op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    return step_cycles(function, lookup(target))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_a_batch_takes_as_long_as_its_products(target: str) -> None:
    assert step(64, 64, 64, target, batch="4x") == 4 * step(64, 64, 64, target)
