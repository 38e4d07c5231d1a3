"""The price of what a TMA store makes unnecessary."""

from __future__ import annotations

import itertools

import pytest

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.layout import LinearLayout, blocked, classify, mma_m16n8_accumulator
from tessera_tools.layout.text import to_text
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileas.materialize_tma_stores import _Kernel, _least_conversion_price
from tessera_tools.target import lookup

LAYOUTS = {
    "rows": blocked((64, 64), (1, 8), (4, 8), (4, 1), (1, 0)),
    "elements": blocked((64, 64), (1, 1), (1, 32), (4, 1), (1, 0)),
    "columns": blocked((64, 64), (8, 1), (8, 4), (1, 4), (0, 1)),
    "squares": blocked((64, 64), (2, 2), (4, 8), (2, 2), (1, 0)),
    "sums": mma_m16n8_accumulator((64, 64), (2, 2)),
}
SPEC = "#nv_tileaa.kernel_spec<num_warps = 4>"


def prices(source: LinearLayout, to: LinearLayout) -> tuple[str, int, int]:
    """How a conversion moves elements, its least price, and its price."""
    types = [f"tensor<64x64xf16, #nv_tileas.linear<{{{to_text(one)}}}>>" for one in (source, to)]
    module = parse_module(
        f"""
nv_tileaa.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: {types[0]}, %i: i32, %t: !nv_tileaa.mem_token)
    attributes {{nv_tileaa.kernel_spec = {SPEC}}} {{
  %y = nv_tileas.convert_layout %x : {types[0]} -> {types[1]}
  %w = nv_tileas.tiled_store %v[%i, %i], %y, %t {{
    atom = #cute.copy_atom<sm80_stg_16_f16>
  }} : {types[1]}, !nv_tileaa.memref<?x?xf16>, !nv_tileaa.mem_token
  nv_tileaa.return
}}
""",
        "store.mlir",
    )
    (function,) = (op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    (store,) = (op for op in module.walk() if isinstance(op, nv_tileas.TiledStore))
    conversion = store.value.defining_op
    assert isinstance(conversion, nv_tileas.ConvertLayout)
    kernel = _Kernel(function, lookup("sm_90a"), PassContext())
    least = _least_conversion_price(store, conversion.source)
    return classify(source, to), least, kernel.conversion_price(store, conversion.source)


@pytest.mark.parametrize(("source", "to"), list(itertools.product(LAYOUTS, repeat=2)))
def test_a_conversion_takes_at_least_its_least_price(source: str, to: str) -> None:
    """Which is known without a search for a memory layout; other conversions than those through memory are cheap."""
    how, least, price = prices(LAYOUTS[source], LAYOUTS[to])
    assert least <= price
    assert (least > 0) == (how == "shared")
