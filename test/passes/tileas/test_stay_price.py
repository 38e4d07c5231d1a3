"""Whether the CTAs of a kernel stay for further programs in large launches, and how they get these: by price."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from programs import compiled

from tessera_tools.diagnostics import collect
from tessera_tools.dialects import nv_tileaa
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.cluster_programs import uneven
from tessera_tools.target import lookup

sys.path.insert(0, str(Path(__file__).parents[2] / "pipelines"))

from programs_of_attention import Attention

FULL, CAUSAL = Attention(keys=128, width=128), Attention(keys=128, width=128, causal=True)
"""All programs have as many blocks of keys; later ones have more.  One CTA fills a multiprocessor."""


def scheduler(text: str, target: str, **options: Any) -> str | None:
    """How CTAs get their next programs; None if they end with one."""
    found = compiled(text, target, launches="large", **options).manifest.kernels[0].persistent
    return found.scheduler if found is not None else None


def remarks(text: str, target: str, **options: Any) -> list[str]:
    with collect() as told:
        made = Options(lookup(target), until="llvm", explains=True, launches="large", **options)
        compile_module(parse_module(text, "program.mlir"), made)
    return [one.message for one in told if "CTAs" in one.message]


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (FULL.text(), "sm_90a", "static"),
        (CAUSAL.text(), "sm_90a", "counter"),
        (CAUSAL.text(), "sm_100a", "cancel"),
    ],
    ids=["equal programs", "unequal programs", "unequal programs, launch control"],
)
def test_how_ctas_get_their_programs(text: str, target: str, expected: str) -> None:
    assert scheduler(text, target) == expected


def test_the_remark_has_the_price_of_each_way() -> None:
    found = remarks(CAUSAL.text(), "sm_100a")
    prices = r"lost: [\d,]+ if CTAs end with it, [\d,]+ by static, [\d,]+ by counter, [\d,]+ by cancel"
    assert any(
        one.startswith("the CTAs stay for the next programs, by cancel") and re.search(prices, one)
        for one in found
    )
    assert any("a stride would not balance CTAs" in one for one in found)


def test_a_stride_loses_nothing_with_equal_programs() -> None:
    found = remarks(FULL.text(), "sm_90a")
    assert any(re.search(r"if CTAs end with it, 0 by static", one) for one in found)
    assert not any("balance" in one for one in found)


def test_ctas_end_with_their_programs_where_no_agent_loads_ahead() -> None:
    """sm_80 has no TMA."""
    assert scheduler(CAUSAL.text(), "sm_80") is None


def test_ctas_end_with_their_programs_where_others_on_the_multiprocessor_compute_meanwhile() -> None:
    """One warpgroup computes tiles of 64 rows, and shared memory has room for several CTAs."""
    text = Attention(rows=64, causal=True).text()
    assert scheduler(text, "sm_90a") is None
    found = remarks(text, "sm_90a")
    assert any(
        re.search(r"end with their programs: .* 0 if CTAs end with it.* are on a multiprocessor", one)
        for one in found
    )


@pytest.mark.parametrize("persistent", ["never", "static", "counter"])
def test_options_decide_over_the_price(persistent: str) -> None:
    expected = None if persistent == "never" else persistent
    assert scheduler(CAUSAL.text(), "sm_90a", persistent=persistent) == expected
    assert not any("stay" in one for one in remarks(CAUSAL.text(), "sm_90a", persistent=persistent))


# -- which programs are unequal

KERNEL = """
nv_tileaa.func @k(%n: i32) attributes {
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %a = arith.constant dense<0.0> : tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %i = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %j = nv_tileaa.get_program_id {axis = 1 : i32} : i32
  %k = nv_tileaa.get_program_id {axis = 2 : i32} : i32
  %row = arith.muli %i, %c64 : i32
  %rounded = arith.andi %j, %c64 : i32
  %r = scf.for %s = LOWER to UPPER step %c1 iter_args(%sum = %z) -> (tensor<64x64xf32>) : i32 {
    %d = nv_tileas.dot %a, %a, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}
      : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  nv_tileaa.return
}
"""


@pytest.mark.parametrize(
    ("lower", "upper", "differs"),
    [
        ("%c0", "%n", False), ("%c0", "%row", True), ("%row", "%n", True), ("%c0", "%rounded", True),
        ("%c0", "%k", True),
    ],
)  # fmt: skip
def test_programs_are_unequal_if_a_loop_depends_on_their_place(lower: str, upper: str, differs: bool) -> None:
    module = parse_module(KERNEL.replace("LOWER", lower).replace("UPPER", upper))
    (function,) = (op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    assert [op.name for op in uneven(function)] == ["nv_tileas.dot"] * differs
