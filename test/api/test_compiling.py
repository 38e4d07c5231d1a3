"""`compile`: what it takes, what the kernel holds, and what it refuses."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import tessera_tools as tt
from tessera_tools.api.compiling import _layouts
from tessera_tools.emit.worker import Worker, close_warm
from tessera_tools.parser import parse_module

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = ROOT / "examples" / "vector_add.mlir"

SCALE = """
entry @scale(%a: tile<ptr<f32>>) {
  %offsets = iota : tile<32xi32>
  %p = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q = broadcast %p : tile<1xptr<f32>> -> tile<32xptr<f32>>
  %r = offset %q, %offsets : tile<32xptr<f32>>, tile<32xi32> -> tile<32xptr<f32>>
  %x, %t = load_ptr_tko weak %r : tile<32xptr<f32>> -> tile<32xf32>, token
  %y = addf %x, %x rounding<nearest_even> : tile<32xf32>
  %u = store_ptr_tko weak %r, %y token = %t : tile<32xptr<f32>>, tile<32xf32> -> token
  return
}
"""


@pytest.fixture(scope="module")
def kernel() -> tt.Kernel:
    return tt.compile(SCALE, "sm_90a", keep_ir=True)


def test_every_stage_is_there_as_text(kernel: tt.Kernel) -> None:
    assert list(kernel.stages) == ["cuda_tile", "nv_tileaa", "nv_tileas", "llvm", "llvmir", "ptx"]
    assert "nv_tileaa" in str(kernel.stages["nv_tileaa"])


def test_the_texts_of_stages_are_the_same_when_they_are_made_later(kernel: tt.Kernel) -> None:
    later = tt.compile(SCALE, "sm_90a", cache=False)
    assert dict(later.stages) == dict(kernel.stages)


@pytest.mark.parametrize(("keeps", "verifies"), [(True, True), (False, None)])
def test_ir_that_is_kept_is_verified_after_each_pass(keeps: bool, verifies: bool | None) -> None:
    made = tt.compile(SCALE, "sm_90a", keep_ir=keeps)
    assert made._input is not None
    assert made._input[1].verify_each is verifies


def test_a_stage_that_does_not_exist_has_no_text() -> None:
    kernel = tt.compile(SCALE, "sm_90a")
    with pytest.raises(KeyError):
        kernel.stages["sass"]


def test_the_collector_is_on_again_after_a_compilation_that_fails() -> None:
    assert gc.isenabled()
    with pytest.raises(tt.DiagnosticError):
        tt.compile("entry @k() { %0 = addi %1, %1 : tile<i32> return }", "sm_90a")
    assert gc.isenabled()


def test_ptx_is_for_the_target(kernel: tt.Kernel) -> None:
    assert ".target sm_90a" in kernel.ptx
    assert ".target sm_80" in tt.compile(SCALE, "sm_80").ptx


def test_the_cubin_is_made_when_it_is_asked_for(kernel: tt.Kernel) -> None:
    assert kernel.cubin.startswith(b"\x7fELF")
    assert "FADD" in kernel.sass


def test_resources_are_those_of_ptxas(kernel: tt.Kernel) -> None:
    assert kernel.resources.registers > 0
    assert kernel.manifest.kernel("scale").registers == kernel.resources.registers


def test_each_tensor_has_a_layout_and_its_place(kernel: tt.Kernel) -> None:
    loads = [layout for layout in kernel.layouts if "load" in layout.op]
    assert loads
    assert all(layout.layout.startswith("#nv_tileas.linear<") for layout in loads)
    assert all(layout.location.startswith("<text>:") for layout in loads)


def test_only_tensors_with_a_layout_are_listed() -> None:
    layout = "#nv_tileas.linear<{register = [], lane = [[1], [2], [0], [0], [0]], warp = [], block = []}>"
    text = f"""func.func @f(%a: tensor<4xf32, {layout}>, %b: tensor<4xf32>, %c: f32) {{
      %0 = arith.addf %a, %a : tensor<4xf32, {layout}>
      %1 = arith.addf %b, %b : tensor<4xf32>
      %2 = arith.addf %c, %c : f32
      return
    }}"""
    (found,) = _layouts(parse_module(text, "k.mlir"))
    assert (found.op, found.layout, found.location) == ("arith.addf", layout, "k.mlir:2:12")


def test_remarks_say_why_with_the_place(kernel: tt.Kernel) -> None:
    assert any("<text>:" in str(tt.DiagnosticError(remark)) for remark in kernel.remarks)


def test_passes_have_times_and_ir(kernel: tt.Kernel) -> None:
    assert kernel.seconds["convert-tileas-to-llvm"] > 0
    assert "llvm.func" in kernel.after("convert-tileas-to-llvm")


def test_the_ir_after_a_pass_can_be_read_again(kernel: tt.Kernel) -> None:
    text = kernel.after("convert-tileas-to-llvm")
    assert any(op.name == "llvm.func" for op in tt.parse(text).walk())
    with pytest.raises(TypeError, match=r"to_text takes an op, not str; parse\(text\) reads MLIR text"):
        tt.to_text(text)  # type: ignore[arg-type]


def test_ir_that_was_not_kept_is_refused() -> None:
    made = tt.compile(SCALE, "sm_80")
    with pytest.raises(tt.DiagnosticError, match="keep_ir=True"):
        made.after("canonicalize")


def test_an_unknown_pass_is_refused_with_those_that_ran(kernel: tt.Kernel) -> None:
    with pytest.raises(
        tt.DiagnosticError,
        match=r"there is no IR of the pass 'canonicalise'\nnote: the passes that ran: .*convert-tileas-to-llvm",
    ):
        kernel.after("canonicalise")


def test_a_path_names_the_file_in_messages(tmp_path: Path) -> None:
    file = tmp_path / "bad.mlir"
    file.write_text("entry @f() { %x = constant <i32: 1> : tile<f32> }")
    with pytest.raises(tt.DiagnosticError, match=r"bad\.mlir:1:\d+: error: "):
        tt.compile(file)


def test_a_module_is_not_changed() -> None:
    module = tt.parse_file(VECTOR_ADD)
    before = tt.to_text(module)
    tt.compile(module, "sm_80")
    assert tt.to_text(module) == before


def test_bytecode_compiles_as_its_text_does() -> None:
    from tessera_tools.bytecode import write_bytecode

    module = tt.parse_file(VECTOR_ADD)
    from_text = tt.compile(module, "sm_80", lineinfo=False)
    from_bytecode = tt.compile(write_bytecode(module), "sm_80", lineinfo=False)
    assert from_bytecode.signature.block == from_text.signature.block
    assert len(from_bytecode.ptx.splitlines()) == len(from_text.ptx.splitlines())


def test_ptx_is_taken_too(kernel: tt.Kernel) -> None:
    again = tt.compile(kernel.ptx)
    assert (again.name, again.target.cpu) == ("scale", kernel.target.cpu)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(tt.DiagnosticError, match="sm_91"):
        tt.compile(SCALE, "sm_91")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": 90}, "target is 90; expected the name of a GPU, such as 'sm_90a'"),
        ({"num_stages": "x"}, "num_stages is 'x'; expected one of 0, 1, 2,"),
        ({"num_warps": True}, "num_warps is True; expected one of 0, 1, 2,"),
        ({"num_warps": 4.0}, "num_warps is 4.0; expected one of 0, 1, 2,"),
        ({"cluster": (2,)}, "cluster is '(2,)'; expected one of auto, 1x1, 2x1,"),
        ({"cluster": "3x1"}, "cluster is '3x1'; expected one of auto, 1x1, 2x1,"),
        ({"ping_pong": "often"}, "ping_pong is 'often'; expected one of auto, always, never, tiles"),
        ({"launches": "huge"}, "launches is 'huge'; expected one of any, large"),
    ],
)
def test_a_value_that_no_option_has_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(tt.DiagnosticError) as raised:
        tt.compile(SCALE, **given)
    assert message in str(raised.value)


def test_what_was_tuned_is_found_by_text() -> None:
    with pytest.raises(tt.DiagnosticError) as raised:
        tt.compile(tt.parse(SCALE), tuned="t.sqlite")
    assert str(raised.value) == "error: tuned= needs text, bytecode or a file; found a module"


def test_an_unknown_entry_is_refused() -> None:
    with pytest.raises(tt.DiagnosticError, match="'<text>' has no kernel 'f'; found 'scale'"):
        tt.compile(SCALE, entry="f")


def test_one_of_several_kernels_is_named() -> None:
    two = SCALE + SCALE.replace("@scale", "@twice")
    with pytest.raises(
        tt.DiagnosticError, match="has 2 kernels: 'scale', 'twice'\nnote: select one with entry="
    ):
        tt.compile(two)
    with pytest.raises(tt.DiagnosticError, match="'<module>' has 2 kernels"):
        tt.compile(tt.parse(two))
    with pytest.raises(tt.DiagnosticError, match="'mine' has 2 kernels"):
        tt.compile(tt.parse(two), name="mine")
    assert tt.compile(two, entry="twice").name == "twice"


def test_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="cannot compile a int"):
        tt.compile(3)


def test_a_missing_file_is_said_to_be_missing() -> None:
    with pytest.raises(FileNotFoundError):
        tt.compile("no_such_kernel.mlir")


def test_compilations_share_one_process_of_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    close_warm()
    started: list[object] = []
    start = Worker._spawn

    def counted(worker: Worker) -> None:
        started.append(worker)
        start(worker)

    monkeypatch.setattr(Worker, "_spawn", counted)
    first = tt.compile(SCALE, "sm_80", cache=False)
    with pytest.raises(tt.DiagnosticError):
        tt.compile("cuda_tile.module @m {", "sm_80", cache=False)
    assert tt.compile(SCALE, "sm_80", cache=False).ptx == first.ptx
    assert len(started) == 1
