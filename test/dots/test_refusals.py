"""Products that stage 3 can write and no instruction does: errors at their place."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.builtin import Module
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for


def lower(text: str) -> None:
    """From nv_tileas without layouts down to llvm."""
    module = parse_module(text, "kernel.mlir")
    assert isinstance(module, Module)
    steps = [step.text for step in pipeline_for("sm_80")]
    pipeline = Pipeline("builtin.module")
    for step in steps[steps.index("tileas-assign-layouts") :]:
        if step not in ("canonicalize", "cse"):
            # These would drop what nothing uses.
            pipeline.add(parse_pass(step))
    PassManager(pipeline).run(module)


def stage_3(atom: str, a: str, c: str) -> str:
    spec = "#nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>"
    types = f"tensor<16x16x{a}>, tensor<16x16x{a}>, tensor<16x16x{c}>"
    return f"""module attributes {{nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"}} {{
  nv_tileaa.func @k(%x: {a}, %y: {c}) attributes {{nv_tileaa.kernel_spec = {spec}}} {{
    %a = nv_tileaa.splat %x : {a} -> tensor<16x16x{a}>
    %c = nv_tileaa.splat %y : {c} -> tensor<16x16x{c}>
    %0 = nv_tileas.dot %a, %a, %c {{atom = #cute_nvgpu.mma_atom<{atom}>}} : {types}
    nv_tileaa.return
  }}
}}"""


@pytest.mark.parametrize(
    ("atom", "a", "c"),
    [
        ("sm80_m16n8k8, f16, f16, f32", "f16", "f32"),
        ("sm80_m16n8k16, si8, si8, i32", "i8", "i32"),
        ("sm80_m16n8k32, i8, i8, i32", "i8", "i32"),
        ("fma, f64, f64, f64", "f64", "f64"),
    ],
)
def test_atoms_without_a_lowering(atom: str, a: str, c: str) -> None:
    with pytest.raises(DiagnosticError, match="has no lowering for #cute_nvgpu.mma_atom<") as caught:
        lower(stage_3(atom, a, c))
    assert ":5:" in str(caught.value.diagnostics[0].location)


def test_a_shape_of_no_instruction() -> None:
    with pytest.raises(
        DiagnosticError, match="has no layout for its tiles: mma with 32 rows, expected 8 or 16"
    ):
        lower(stage_3("sm80_m32n8k16, f16, f16, f32", "f16", "f32"))
