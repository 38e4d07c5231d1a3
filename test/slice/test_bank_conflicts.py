"""No access to shared memory in the slice conflicts: counted exactly, from the IR, by the layout algebra."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.layout import BankCount, SharedRoundTrip, coalesced, vector_access
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for
from tessera_tools.planning.accesses import layout_axis
from tessera_tools.planning.kernel import kernel_spec
from tessera_tools.planning.shared_memory import conversion_plan, shared_load_plan
from tessera_tools.target import Target, lookup

ROOT = Path(__file__).parents[2]
KERNELS = [
    "test/corpus/gemm_f16_64x64x32.mlir",
    "test/corpus/gemm_f16_128x256x64.mlir",
    "test/corpus/gemm_nt_bias_f16_128x128x64.mlir",
    "examples/gemm_stage1.mlir",
]


def kernel(path: str, target: str) -> nv_tileaa.Func:
    """The kernel of a file just before its lowering to llvm."""
    module = parse_module((ROOT / path).read_text(), path)
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target, agents=False):
        if step.text == "convert-nv-tile-func-to-llvm":
            break
        pipeline.add(parse_pass(step.text))
    PassManager(pipeline).run(module)
    return next(op for op in module.walk() if isinstance(op, nv_tileaa.Func))


def accesses(function: nv_tileaa.Func, target: Target) -> list[tuple[str, BankCount]]:
    """What each access of shared memory costs a warp."""
    found: list[tuple[str, BankCount]] = []
    for op in function.walk():
        if isinstance(op, nv_tileas.Load):
            found.append((op.name, shared_load_plan(op, target).banks))
        elif isinstance(op, nv_tileas.Store):
            memory, layout = op.buffer.type.layout.layout, nv_tileas.layout_of(op.value.type)
            found.append((op.name, vector_access(layout, memory, padded_bits(op.value.type.element)).banks))
        elif isinstance(op, nv_tileas.AsyncTiledCopy):
            type, bits = op.buffer.type, padded_bits(op.buffer.type.element)
            axis = layout_axis(op)
            layout = coalesced(type.tile, op.atom.bits // bits, kernel_spec(function).num_warps, axis)
            found.append((op.name, vector_access(layout, type.layout.layout, bits, op.atom.bits).banks))
        elif isinstance(op, nv_tileas.ConvertLayout):
            plan = conversion_plan(op, target)
            if isinstance(plan, SharedRoundTrip):
                found += [(f"{op.name} store", plan.store.banks), (f"{op.name} load", plan.load.banks)]
    return found


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: Path(path).stem)
def test_no_access_conflicts(path: str, target: str) -> None:
    counted = accesses(kernel(path, target), lookup(target))
    assert counted
    assert [(name, banks) for name, banks in counted if not banks.is_conflict_free] == []
