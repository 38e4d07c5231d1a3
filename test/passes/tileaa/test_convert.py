"""The conversion as a whole: nothing of cuda_tile is left, places are kept, and a failure changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile import CudaTileType
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import UNKNOWN
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileaa.convert_cuda_tile_to_tileaa import ConvertCudaTileToTileAA

EXAMPLES = Path(__file__).parents[3] / "examples"


def convert(text: str, target: str = "sm_90") -> Operation:
    module = parse_module(text, "test.mlir")
    ConvertCudaTileToTileAA(target).run(module, PassContext())
    verify_or_raise(module)
    return module


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", ["vector_add", "gemm", "gemm_stage1"])
def test_nothing_of_cuda_tile_is_left_of_the_examples(name: str, target: str) -> None:
    module = convert((EXAMPLES / f"{name}.mlir").read_text(), target)
    for op in module.walk():
        assert not op.name.startswith("cuda_tile.")
        assert not any(isinstance(v.type, CudaTileType) for v in (*op.operands, *op.results))


@pytest.mark.parametrize("name", ["vector_add", "gemm", "gemm_stage1"])
def test_every_operation_has_a_place(name: str) -> None:
    module = convert((EXAMPLES / f"{name}.mlir").read_text())
    assert all(op.location is not UNKNOWN for op in module.walk())


@pytest.mark.parametrize("name", ["vector_add", "gemm", "gemm_stage1"])
def test_the_result_prints_as_it_is_read(name: str) -> None:
    text = str(convert((EXAMPLES / f"{name}.mlir").read_text()))
    assert str(parse_module(text, "again.mlir")) == text


def test_accesses_of_the_gemm_move_sixteen_bytes() -> None:
    module = convert((EXAMPLES / "gemm.mlir").read_text())
    atoms = {str(op.attributes["copy_atom"]) for op in module.walk() if "copy_atom" in op.attributes}
    assert atoms == {"#cute.copy_atom<sm80_ldg_128_f16>", "#cute.copy_atom<sm80_stg_128_f16>"}


def test_a_failure_changes_nothing() -> None:
    text = """
entry @good() {
  return
}
entry @bad() {
  %0 = iota : tile<8xi32>
  %1 = reduce %0 dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%a: tile<i32>, %b: tile<i32>) {
    %t = iota : tile<4xi32>
    yield %a : tile<i32>
  }
  return
}
"""
    module = parse_module(text, "test.mlir")
    before = str(module)
    with pytest.raises(DiagnosticError, match="'cuda_tile.iota' op is not supported"):
        ConvertCudaTileToTileAA().run(module, PassContext())
    assert str(module) == before


def test_an_op_of_cuda_tile_in_another_function_is_refused() -> None:
    module = parse_module(
        "func.func @f() {\n  %0 = cuda_tile.make_token : !cuda_tile.token\n  return\n}\n", "test.mlir"
    )
    with pytest.raises(DiagnosticError, match="'cuda_tile.make_token' op is not supported"):
        ConvertCudaTileToTileAA().run(module, PassContext())


def test_what_else_stands_in_the_module_stays() -> None:
    module = convert("func.func private @other()\nentry @k() {\n  return\n}\n")
    assert [op.name for op in module.regions[0].block] == ["func.func", "nv_tileaa.func"]


def test_a_name_that_another_symbol_has_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="already defines @k"):
        convert("func.func private @k()\ncuda_tile.module @m {\n  entry @k() {\n    return\n  }\n}\n")
