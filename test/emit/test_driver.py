"""Errors of ptxas in a module's PTX are reported in the module, with and without `lineinfo`, or in the saved PTX."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from programs import worker

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError, Position
from tessera_tools.emit.driver import Options, Stage, compile_module, compile_text, target_of_text
from tessera_tools.emit.errors import ToolError
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import PASSES, pipeline_for
from tessera_tools.target import lookup

GEMM = (Path(__file__).parents[1] / "corpus/gemm_f16_128x256x64.mlir").read_text()
VECTOR_ADD = (Path(__file__).parents[2] / "examples/vector_add.mlir").read_text()
MODULE = """llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "no_such_instruction;", "" : () -> ()
  llvm.return
}
"""


LIMITED = """llvm.func @first(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
  llvm.store %x, %p : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.minctasm = 0 : i32} {
  llvm.return
}
"""
"""ptxas refuses a directive of the second kernel, which is not the text of an op."""


def failure(lineinfo: bool = False, path: str | None = None) -> ToolError:
    """What compiling MODULE to a cubin raises; `path` is where its PTX is said to have been saved."""
    options = Options(lookup("sm_80"), ptxas=require_tool("ptxas"), lineinfo=lineinfo)
    with pytest.raises(
        ToolError, match="Not a name of any known instruction: 'no_such_instruction'"
    ) as caught:
        compile_module(
            parse_module(MODULE, "kernel.mlir"),
            options,
            worker=worker(),
            on_stage=lambda stage, _: path if stage == "ptx" else None,
        )
    return caught.value


@pytest.mark.parametrize("lineinfo", [False, True])
def test_an_instruction_that_ptxas_refuses_is_reported_at_its_op(lineinfo: bool) -> None:
    found = failure(lineinfo)
    assert found.location is not None
    assert found.location.start() == ("kernel.mlir", 2, 3)


def test_the_op_comes_before_the_line_of_the_saved_ptx() -> None:
    found = failure(path="stages/6-ptx.ptx")
    assert found.location is not None
    assert found.location.start() == ("kernel.mlir", 2, 3)
    # The lines of the text with locations, which was not saved, are not those of the file.
    shown = [found.diagnostics[0], *found.diagnostics[0].notes]
    places = [one.location.start() for one in shown if one.location is not None]
    assert places == [("kernel.mlir", 2, 3)] * len(places)
    assert not any("6-ptx.ptx" in one.message for one in shown)


def test_what_no_op_has_caused_is_reported_at_the_line_of_the_saved_ptx() -> None:
    """The text with locations, in which the op is looked for, has other lines."""
    saved: list[str] = []

    def keep(stage: str, text: str | bytes) -> str | None:
        if stage != "ptx":
            return None
        saved.append(str(text))
        return "stages/6-ptx.ptx"

    options = Options(lookup("sm_90a"), ptxas=require_tool("ptxas"))
    with pytest.raises(ToolError, match="Positive non-zero value expected") as caught:
        compile_module(parse_module(LIMITED, "kernel.mlir"), options, worker=worker(), on_stage=keep)
    (text,) = saved
    assert caught.value.location is not None
    file, line, _ = caught.value.location.start()
    assert (file, text.splitlines()[line - 1]) == ("stages/6-ptx.ptx", ".minnctapersm 0")


def test_a_stage_that_names_no_target_is_lowered_for_the_one_that_is_asked_for() -> None:
    module = parse_module(GEMM, "gemm.mlir")
    first = [step.text for step in pipeline_for("sm_90") if step.stage == "cuda_tile"]
    PassManager(Pipeline("builtin.module", [parse_pass(text) for text in first])).run(module)
    named = print_op(module)
    unnamed = re.sub(r', nv_tileaa\.target_spec = "\w+"', "", named)
    assert "nv_tileaa.target_spec" in named and "nv_tileaa.target_spec" not in unnamed
    options = Options(lookup("sm_90a"), until="ptx")
    texts = [
        compile_module(parse_module(text, "stage.mlir"), options, worker=worker()).text("ptx")
        for text in (named, unnamed)
    ]
    assert texts[0] == texts[1]
    assert "wgmma.mma_async" in texts[0]


def test_a_stage_of_another_target_is_refused() -> None:
    text = 'module attributes {nv_tileaa.target_spec = "sm_90a"} {}'
    with pytest.raises(DiagnosticError, match="was lowered for 'sm_90a' and cannot be compiled for 'sm_80'"):
        compile_module(
            parse_module(text, "stage.mlir"), Options(lookup("sm_80"), until="ptx"), worker=worker()
        )


def test_ptx_is_reported_at_its_own_line() -> None:
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n  foo;\n}\n"
    options = Options(lookup("sm_80"), ptxas=require_tool("ptxas"))
    with pytest.raises(ToolError) as caught:
        compile_text(ptx, "ptx", options, name="kernel.ptx")
    assert caught.value.location == Position("kernel.ptx", 6, 1)


def lowered(verify_each: bool | None) -> str:
    """The LLVM IR of a kernel."""
    module = parse_module(VECTOR_ADD, "vector_add.mlir")
    options = Options(lookup("sm_90a"), "llvmir", verify_each=verify_each)
    return compile_module(module, options).text("llvmir")


def messages(failure: DiagnosticError) -> list[str]:
    """The messages of an error, and their notes."""
    return [text for one in failure.diagnostics for text in (one.message, *(n.message for n in one.notes))]


def test_verification_where_stages_end_changes_no_code() -> None:
    assert lowered(None) == lowered(True)


@pytest.mark.parametrize(
    "name", ["tileas-insert-barriers", "tileas-assign-layouts", "reconcile-unrealized-casts"]
)
def test_without_verification_of_each_pass_the_error_names_the_pass_at_fault(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, cls = PASSES[name].where.partition(":")
    target = getattr(import_module(f"tessera_tools.passes.{module}"), cls)
    run = target.run

    def spoil(pass_: Pass, op: Operation, context: PassContext) -> bool:
        run(pass_, op, context)
        kernel = next(inner for inner in op.walk() if inner.name in ("nv_tileaa.func", "llvm.func"))
        block = kernel.regions[0].entry
        assert block.last_op is not None
        block.last_op.erase()
        return True

    monkeypatch.setattr(target, "run", spoil)
    said: list[list[str]] = []
    for verify_each in (True, None):
        with pytest.raises(DiagnosticError) as raised:
            lowered(verify_each)
        said.append(messages(raised.value))
    assert said[0] == said[1]
    assert any(f"does not verify after pass '{name}'" in text for text in said[1]), said[1]


@pytest.mark.parametrize(
    ("text", "kind", "cpu"),
    [
        (".version 8.0\n.target sm_90a, debug\n", "ptx", "sm_90a"),
        (".version 8.0\n.target sm_35\n", "ptx", None),
        (".version 8.0\n", "ptx", None),
        ("; target: sm_80\n", "llvmir", "sm_80"),
        ('attributes #0 = { "target-cpu"="sm_120a" }\n', "llvmir", "sm_120a"),
        ('attributes #0 = { "target-cpu"="sm_35" }\n', "llvmir", None),
    ],
)
def test_text_names_its_target_if_it_is_supported(text: str, kind: Stage, cpu: str | None) -> None:
    assert target_of_text(text, kind) == cpu
