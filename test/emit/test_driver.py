"""Errors of ptxas in a module's PTX are reported in the module, with and without `lineinfo`, or in the saved PTX."""

from __future__ import annotations

import pytest
from programs import worker

from oracles import require_tool
from tessera_tools.diagnostics import Position
from tessera_tools.emit.driver import Options, compile_module, compile_text
from tessera_tools.emit.errors import ToolError
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

MODULE = """llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "no_such_instruction;", "" : () -> ()
  llvm.return
}
"""


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
    assert "stages/6-ptx.ptx" not in str(found)


def test_ptx_is_reported_at_its_own_line() -> None:
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n  foo;\n}\n"
    options = Options(lookup("sm_80"), ptxas=require_tool("ptxas"))
    with pytest.raises(ToolError) as caught:
        compile_text(ptx, "ptx", options, name="kernel.ptx")
    assert caught.value.location == Position("kernel.ptx", 6, 1)
