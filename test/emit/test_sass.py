"""Disassembly, with the real nvdisasm and with ones that misbehave."""

from __future__ import annotations

from pathlib import Path

import pytest
from emit import fakes

from oracles import require_tool
from tessera_tools.emit import sass
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.ptxas import Ptxas
from tessera_tools.emit.sass import Nvdisasm, opcodes

SASS = """\
.text.k:
.L_x_1:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/             @!UP0 UMOV UR4, 0x400 ;
        /*0030*/                   HMMA.16816.F32 R8, R4, R6, R8 ;
        /*0040*/                   HMMA.16816.F32 R12, R4, R6, R12 ;  /* 0x0000000604 */
                                                                      /* 0x000fe200 */
        /*0050*/               @PT EXIT ;
        /*0060*/                   NOP;
"""


def test_opcodes_are_counted_without_padding():
    assert opcodes(SASS) == {"LDC": 1, "LDG": 1, "UMOV": 1, "HMMA": 2, "EXIT": 1}


def test_opcodes_are_counted_with_their_modifiers():
    assert opcodes(SASS, modifiers=True)["HMMA.16816.F32"] == 2


def test_no_instruction_is_no_count():
    assert not opcodes("")


def test_a_cubin_is_disassembled():
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nbar.sync 0;\nret;\n}\n"
    cubin = Ptxas(require_tool("ptxas")).assemble(ptx, arch="sm_80").cubin
    sass = Nvdisasm(require_tool("nvdisasm")).disassemble(cubin)
    assert ".text.k" in sass
    assert opcodes(sass)["BAR"] == 1


def test_what_is_no_cubin_is_refused():
    with pytest.raises(ToolError, match=r"nvdisasm failed with status \d+: .*the cubin") as caught:
        Nvdisasm(require_tool("nvdisasm")).disassemble(b"junk")
    assert "/" not in caught.value.message


def test_a_crash_names_the_signal(tmp_path: Path):
    with pytest.raises(ToolError, match="nvdisasm was killed by SIGSEGV"):
        Nvdisasm(fakes.program(tmp_path, fakes.CRASHES)).disassemble(b"x")


def test_a_hang_ends_at_the_time_limit(tmp_path: Path):
    with pytest.raises(ToolError, match=r"nvdisasm timed out after 0.3 s"):
        Nvdisasm(fakes.program(tmp_path, fakes.HANGS)).disassemble(b"x", time_limit=0.3)


def test_a_program_that_writes_nothing_is_refused(tmp_path: Path):
    program = fakes.program(tmp_path, fakes.WRITES_NOTHING)
    with pytest.raises(ToolError) as caught:
        Nvdisasm(program).disassemble(b"x")
    assert caught.value.message == f"'{program}' succeeded, but wrote no output"
    assert caught.value.hint == "expected NVIDIA's nvdisasm"


def test_a_program_that_writes_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sass, "_SASS_LIMIT", 1 << 20)
    program = fakes.program(tmp_path, "exec yes")
    with pytest.raises(ToolError, match="nvdisasm wrote more than 1 MiB and was stopped") as caught:
        Nvdisasm(program).disassemble(b"x")
    assert caught.value.hint == f"expected NVIDIA's nvdisasm at '{program}'"


def test_a_program_that_has_vanished_cannot_be_started(tmp_path: Path):
    with pytest.raises(ToolError, match="nvdisasm cannot be started"):
        Nvdisasm(str(tmp_path / "none")).disassemble(b"x")
