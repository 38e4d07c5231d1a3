"""Where buffers and scratch lie: bytes are shared by what is not needed at once; fewer stages are tried if need be."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from slice.programs import lowered
from slice.test_dots import product_program

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for
from tessera_tools.passes.tileas.insert_barriers import InsertBarriers
from tessera_tools.passes.tileas.materialize_pipeline import MaterializePipeline
from tessera_tools.planning.shared_memory import BUFFER_ALIGNMENT, OFFSET, allocate, fit_access
from tessera_tools.target import lookup

CORPUS = Path(__file__).parents[1] / "corpus"
SM_80 = lookup("sm_80")


def before(text: str, stop: str) -> tuple[Operation, nv_tileaa.Func]:
    """(the module, its kernel) before a pass of the pipeline for sm_80."""
    module = parse_module(text, "kernel.mlir")
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for("sm_80"):
        if step.text == stop:
            break
        pipeline.add(parse_pass(step.text))
    PassManager(pipeline).run(module)
    return module, kernel(module)


def kernel(module: Operation) -> nv_tileaa.Func:
    """The kernel of a module."""
    return next(op for op in module.walk() if isinstance(op, nv_tileaa.Func))


def test_scratch_after_a_loop_lies_where_the_loop_had_its_buffers() -> None:
    _, function = before((CORPUS / "gemm_f16_64x64x32.mlir").read_text(), "convert-nv-tile-func-to-llvm")
    allocation = allocate(function, SM_80)
    assert any(isinstance(op, nv_tileas.ConvertLayout) for op in allocation.offsets)
    buffers = [op for op in allocation.offsets if isinstance(op, nv_tileas.AllocTensor)]
    assert len(buffers) == 2
    assert allocation.total == 4 * (64 * 32 + 32 * 64) * 2


def test_buffers_of_one_loop_are_apart_and_aligned() -> None:
    _, function = before(product_program(16, 8, 16, "row", "row"), "convert-nv-tile-func-to-llvm")
    allocation = allocate(function, SM_80)
    offsets = sorted(
        allocation.offsets[op] for op in allocation.offsets if isinstance(op, nv_tileas.AllocTensor)
    )
    assert offsets == [0, 4 * 16 * 16 * 2]
    assert all(offset % BUFFER_ALIGNMENT == 0 for offset in offsets)


@pytest.mark.parametrize(("room", "stages"), [(4096, 4), (2400, 3), (1600, 2), (1400, 1)])
def test_as_many_stages_as_fit_with_everything_else(room: int, stages: int) -> None:
    # A stage is 512 bytes of A and 256 of B.
    module, function = before(product_program(16, 8, 16, "row", "row"), "tileas-materialize-pipeline")
    target = dataclasses.replace(SM_80, max_shared_per_block=room)
    MaterializePipeline().run_on_kernel(function, target, PassContext())
    buffers = [op.res.type for op in kernel(module).walk() if isinstance(op, nv_tileas.AllocTensor)]
    assert [type.stages for type in buffers] == [stages, stages]


def test_buffers_that_do_not_fit_are_listed() -> None:
    _, function = before(product_program(16, 8, 16, "row", "row"), "tileas-materialize-pipeline")
    target = dataclasses.replace(SM_80, max_shared_per_block=700)
    with pytest.raises(
        DiagnosticError, match="needs 768 bytes of shared memory for one stage.*512 bytes for tile 16x16xf16"
    ):
        MaterializePipeline(num_stages=1).run_on_kernel(function, target, PassContext())


def test_too_many_stages_are_refused() -> None:
    text = product_program(128, 128, 64, "row", "row")
    with pytest.raises(DiagnosticError, match="has shared memory for 5 stages on sm_80, but num-stages=9"):
        lowered(text, tileas_materialize_pipeline="num-stages=9")


def test_a_loop_in_a_loop_waits_before_it_fills_its_buffers_again() -> None:
    text = product_program(64, 64, 32, "row", "row", loop="nested")
    _, function = before(text, "convert-nv-tile-func-to-llvm")
    copy = next(op for op in function.walk() if isinstance(op, nv_tileas.AsyncTiledCopy))
    earlier = []
    op = copy.prev_op
    while op is not None:
        earlier.append(type(op))
        op = op.prev_op
    assert nv_tileas.Barrier in earlier


def test_a_buffer_lies_where_its_reader_wants_it() -> None:
    module = parse_module(
        """
nv_tileaa.func @k() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
  %s = arith.constant 0 : i32
  %a = nv_tileas.alloc_tensor : !nv_tileas.smem<1x1100xi8>
  %b = nv_tileas.alloc_tensor {nv_tileas.alignment = 1024 : i64} : !nv_tileas.smem<1x512xi8>
  "test.use"(%a, %b) : (!nv_tileas.smem<1x1100xi8>, !nv_tileas.smem<1x512xi8>) -> ()
  nv_tileaa.return
}""",
        "buffers.mlir",
        allow_unregistered=True,
    )
    assert sorted(allocate(kernel(module), SM_80).offsets.values()) == [0, 2048]


LANES = "lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]], block = []"
TURNED = "lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]], block = []"
SPEC = "#nv_tileaa.kernel_spec<num_warps = 2, cluster = [1, 1, 1]>"
CONVERSIONS = f"""
#a = #nv_tileas.linear<{{register = [[0, 1], [0, 2]], {LANES}}}>
#b = #nv_tileas.linear<{{register = [[1, 0], [2, 0]], {TURNED}}}>
nv_tileaa.func @k(%x: tensor<16x16xELEMENT, #a>) attributes {{nv_tileaa.kernel_spec = {SPEC}}} {{
  %0 = nv_tileas.convert_layout %x : tensor<16x16xELEMENT, #a> -> tensor<16x16xELEMENT, #b>
  %1 = nv_tileas.convert_layout %0 : tensor<16x16xELEMENT, #b> -> tensor<16x16xELEMENT, #a>
  %2 = nv_tileas.convert_layout %1 : tensor<16x16xELEMENT, #a> -> tensor<16x16xELEMENT, #b>
  nv_tileaa.return
}}"""


@pytest.mark.parametrize(("element", "offsets"), [("f16", [0, 512, 1024]), ("f64", [0, 2048, 0])])
def test_what_is_small_lies_apart_and_needs_no_barrier(element: str, offsets: list[int]) -> None:
    # The third of the large ones comes behind the barrier in the second.
    module = parse_module(CONVERSIONS.replace("ELEMENT", element), "conversions.mlir")
    InsertBarriers().run_on_kernel(kernel(module), SM_80, PassContext())
    conversions = [op for op in module.walk() if isinstance(op, nv_tileas.ConvertLayout)]
    assert [op.attributes[OFFSET] for op in conversions] == [i64(offset) for offset in offsets]
    assert not any(isinstance(op, nv_tileas.Barrier) for op in module.walk())


LOAD = """
nv_tileaa.func @k(%i: i32) attributes {
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
  %a = nv_tileas.alloc_tensor : !nv_tileas.smem<1x16x16xf16, #s>
  %0 = nv_tileas.load %a[%i] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_16_f16>}
      : !nv_tileas.smem<1x16x16xf16, #s> -> tensor<16x16xf16, #r>
  nv_tileaa.return
}"""
MATRICES = """
#s = #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>
#r = #nv_tileas.linear<{
    register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
"""
"""An operand of mma.sync, in rows of 16 bytes without bank conflicts."""
ROWS = MATRICES.replace("lane = [[0, 2], [0, 4], [1, 0]", "lane = [[1, 0], [0, 2], [0, 4]")
"""The same with other lanes, which no ldmatrix gives."""


@pytest.mark.parametrize(
    ("layouts", "target", "atom"),
    [
        (MATRICES, "sm_80", "sm75_ldmatrix_x4_f16"),
        (MATRICES, "sm_90a", "sm75_ldmatrix_x4_f16"),
        (MATRICES, None, "sm80_lds_32_f16"),
        (ROWS, "sm_80", "sm80_lds_32_f16"),
    ],
)
def test_a_load_takes_ldmatrix_where_the_target_has_it_and_the_layouts_allow_it(
    layouts: str, target: str | None, atom: str
) -> None:
    module = parse_module(layouts + LOAD, "load.mlir")
    (load,) = (op for op in module.walk() if isinstance(op, nv_tileas.Load))
    fit_access(load, lookup(target) if target is not None else None)
    assert str(load.atom) == f"#cute.copy_atom<{atom}>"
