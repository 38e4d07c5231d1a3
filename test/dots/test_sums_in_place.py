# ruff: noqa: E501
"""The multiply-adds of products without tensor cores stay together, and are not moved to where each sum is stored."""

from __future__ import annotations

import numpy as np
import pytest
from programs import assembled, compiled, decode, fresh_seed, launch, random

from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

M, N, K = 64, 64, 128
A, B, D = f"tile<{M}x{K}xf32>", f"tile<{K}x{N}xf32>", f"tile<{M}x{N}xf32>"
SUMS = f"%d = mmaf %e, %b, %zero : {A}, {B}, {D}"
LOOP = f"""%d = for %i in (%c0 to %rows, step %c1) : tile<i32> iter_values(%acc = %zero) -> ({D}) {{
    %next = mmaf %e, %b, %acc : {A}, {B}, {D}
    continue %next : {D}
  }}"""


def program(sums: str) -> str:
    """D = 2^A · B, of which only so many rows are stored."""
    views = {
        "a": (f"{M}x{K}", f"tensor_view<{M}x{K}xf32, strides=[{K},1]>", f"[{M}, {K}]", K, ""),
        "b": (f"{K}x{N}", f"tensor_view<{K}x{N}xf32, strides=[{N},1]>", f"[{K}, {N}]", N, ""),
        "d": (f"{M}x{N}", f"tensor_view<?x{N}xf16, strides=[{N},1]>", f"[%rows, {N}]", N, "tile<i32> -> "),
    }
    lines: list[str] = []
    for name, (shape, tensor, extents, stride, types) in views.items():
        pointer = f"tile<ptr<{'f16' if name == 'd' else 'f32'}>>"
        lines += [
            f"%{name}Q = assume div_by<16>, %{name}P : {pointer}",
            f"%{name}T = make_tensor_view %{name}Q, shape = {extents}, strides = [{stride}, 1] : {types}{tensor}",
            f"%{name}V = make_partition_view %{name}T : partition_view<tile=({shape}), {tensor}>",
        ]
    lines += [
        f"%a, %at = load_view_tko weak %aV[%c0, %c0] token = %token : partition_view<tile=({M}x{K}), {views['a'][1]}>, tile<i32> -> {A}, token",
        f"%e = exp2 %a : {A}",
        f"%b, %bt = load_view_tko weak %bV[%c0, %c0] token = %token : partition_view<tile=({K}x{N}), {views['b'][1]}>, tile<i32> -> {B}, token",
        f"%zero = constant <f32: 0.0> : {D}",
        sums,
        f"%h = ftof %d : {D} -> tile<{M}x{N}xf16>",
        f"%done = store_view_tko weak %h, %dV[%c0, %c0] token = %token : tile<{M}x{N}xf16>, partition_view<tile=({M}x{N}), {views['d'][1]}>, tile<i32> -> token",
        "return",
    ]
    inside = "\n  ".join(lines)
    return f"""cuda_tile.module @m {{
entry @sums(%aP: tile<ptr<f32>>, %bP: tile<ptr<f32>>, %dP: tile<ptr<f16>>, %rows: tile<i32>) {{
  %token = make_token : token
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  {inside}
}}
}}
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_no_factor_waits_in_a_register_for_a_store(target: str) -> None:
    used = assembled(compiled(program(SUMS), target).ptx, target)
    assert used.report is not None
    assert [(r.spill_stores, r.spill_loads) for r in used.report.entries.values()] == [(0, 0)]


def test_sums_that_a_loop_carries_are_free() -> None:
    """What the loop yields is used in it, and LLVM may arrange its body."""
    assert 'asm sideeffect ""' in llvm_ir(SUMS)
    assert 'asm sideeffect ""' not in llvm_ir(LOOP)


def llvm_ir(sums: str) -> str:
    text = compile_module(parse_module(program(sums)), Options(lookup("sm_80"), until="llvmir")).text(
        "llvmir"
    )
    assert "@llvm.fma.f32" in text
    return text


@pytest.mark.parametrize("rows", [M, 37])
def test_results(rows: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f32", (M, K), rng), random("f32", (K, N), rng)
    d = np.full((rows, N), -1, np.float16)
    found = launch(program(SUMS), a, b, d, np.int32(rows))[0][2]
    expected = (np.exp2(decode("f32", a)) @ decode("f32", b))[:rows]
    assert np.abs(decode("f16", found) - expected).max() <= 2e-3 * np.abs(expected).max()
