"""The bytes of shared memory through which threads and CTAs exchange what they have."""

from __future__ import annotations

from tessera_tools.dialects import nv_tileas
from tessera_tools.parser import parse_module
from tessera_tools.planning.scratch import ExchangePlace, exchange_places


def test_what_ctas_exchange_lies_side_by_side() -> None:
    """A register of each of 64 threads, then two of each, then a number that is there once."""
    one = "#nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []}>"
    two = (
        "#nv_tileas.linear<{register = [[64]], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []}>"
    )
    types = f"tensor<64xf32, {one}>, tensor<128xf16, {two}>, i32"
    module = parse_module(f"""
    func.func @f(%a: tensor<64xf32, {one}>, %b: tensor<128xf16, {two}>, %c: i32) {{
      %0:3 = nv_tileas.cluster_reduce %a, %b, %c bits = 1 : {types} -> {types} {{
      ^bb0(%u: f32, %v: f32, %w: f16, %x: f16, %y: i32, %z: i32):
        nv_tileaa.yield %u, %w, %y : f32, f16, i32
      }}
      return
    }}""")
    op = next(op for op in module.walk() if isinstance(op, nv_tileas.ClusterReduce))
    assert exchange_places(op) == [
        ExchangePlace(0, 1, 64 * 4),
        ExchangePlace(256, 2, 64 * 2),
        ExchangePlace(512, 1, 16),
    ]
