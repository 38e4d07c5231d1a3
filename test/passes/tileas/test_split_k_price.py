"""The price of split-K: no estimate is shorter than what the hardware takes for the work of a loop."""

from __future__ import annotations

import re

from tessera_tools.analysis.launches import Launch
from tessera_tools.dialects import scf
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.split_k_price import cheapest
from tessera_tools.target import lookup
from tessera_tools.target.timing import timing

ITERATIONS = 512


def cycles(m: int, n: int, k: int, tile_blocks: int) -> tuple[int, int]:
    """The cycles of a product's loop, split and whole, on sm_90a."""
    sizes = ((m, k, "f16"), (k, n, "f16"), (m, n, "f32"))
    a, b, c = (f"tensor<{rows}x{columns}x{element}>" for rows, columns, element in sizes)
    module = parse_module(f"""
    nv_tileaa.func @f(%v: !nv_tileaa.memref<?x?xf16>, %t: !nv_tileaa.mem_token) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %many = arith.constant {ITERATIONS} : i32
      %none = arith.constant dense<0.0> : {c}
      %sums = scf.for %i = %zero to %many step %one iter_args(%sum = %none) -> ({c}) : i32 {{
        %a, %at = nv_tileas.tiled_load %v[%zero, %i], %t {{atom = #cute.copy_atom<sm80_ldg_128_f16>}} : !nv_tileaa.memref<?x?xf16> -> {a}, !nv_tileaa.mem_token
        %b, %bt = nv_tileas.tiled_load %v[%i, %zero], %t {{atom = #cute.copy_atom<sm80_ldg_128_f16>}} : !nv_tileaa.memref<?x?xf16> -> {b}, !nv_tileaa.mem_token
        %next = nv_tileas.dot %a, %b, %sum {{atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}} : {a}, {b}, {c}
        scf.yield %next : {c}
      }}
      nv_tileaa.return
    }}""")  # noqa: E501
    loop = next(op for op in module.walk() if isinstance(op, scf.For))
    found = cheapest(loop, lookup("sm_90a"), tile_blocks, Launch([]))
    assert found is not None
    split, whole = re.findall(r"[\d,]{4,}", found.why)[:2]
    return int(split.replace(",", "")), int(whole.replace(",", ""))


def rate(name: str) -> float:
    table = timing(lookup("sm_90a"))
    assert table is not None
    return table.value(name)


def test_a_loop_takes_as_long_as_the_tensor_cores_need_for_its_products() -> None:
    _, whole = cycles(256, 256, 64, tile_blocks=1)
    assert whole >= ITERATIONS * 256 * 256 * 64 / rate("tensor_f16")


def test_a_loop_takes_as_long_as_shared_memory_is_written_and_read() -> None:
    """wgmma reads B once for each 64 rows."""
    _, whole = cycles(256, 64, 64, tile_blocks=1)
    a, b = 256 * 64 * 2, 64 * 64 * 2
    assert whole >= ITERATIONS * (a + b + a + 4 * b) / rate("shared_bytes")


def test_the_ctas_that_share_a_loop_share_the_bandwidth_of_l2() -> None:
    blocks = int(rate("sms")) // 2
    split, _ = cycles(64, 64, 64, blocks)
    assert split >= ITERATIONS / 2 * (2 * 64 * 64 * 2) / (rate("l2_chip_rate") / (2 * blocks))
