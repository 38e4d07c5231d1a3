"""A program that was loaded for an earlier launch, or differs from it in an instruction, behaves as one that was loaded
just now."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Compiled, edits_between, launch_ptx

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.manifest import Manifest

PTX = """.version 8.0
.target sm_80
.address_size 64
.global .b32 counter = 5;
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u64 %rd2, counter;
  atom.global.add.u32 %r1, [%rd2], 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""
MADE = Compiled(PTX, Manifest("sm_80", "8.0", ()))


def counted(size: int = 1) -> tuple[int, list[str]]:
    """What one launch stores, and the kinds of its findings."""
    arrays, result = launch_ptx(
        MADE, [np.zeros(size, np.uint32)], "sm_80", (1,), file="k.ptx", block=(1,), seed=1
    )
    return int(arrays[0][0]) if size else 0, [finding.kind for finding in result.findings]


def test_global_variables_begin_anew() -> None:
    assert [counted() for _ in range(3)] == [(5, [])] * 3


def test_buffers_of_an_earlier_launch_are_gone() -> None:
    assert counted() == (5, [])
    assert counted(size=0) == (0, ["out-of-bounds"])


def test_a_launch_that_is_refused_leaves_nothing_behind() -> None:
    with pytest.raises(DiagnosticError):
        launch_ptx(MADE, [], "sm_80", (1,), file="k.ptx", block=(1,))
    assert counted() == (5, [])


SCOPE = "\t{\n\t.reg .pred p;\nL:\n\twait p;\n\t@p bra L;\n\t}\n"
TEXT = f"\tadd %a;\n\tsub %b;\n{SCOPE}\tmul %c, {{%d, %e}};\n"


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("\tsub %b;\n", "", {2: ""}),
        ("\tsub %b;\n", "\n", {2: ""}),
        ("\tsub %b;\n", "\t@%p mul %b;\n", {2: "\t@%p mul %b;"}),
        ("\tadd %a;\n\tsub %b;\n", "\tmul %b;\n", {1: "\tmul %b;", 2: ""}),
        ("\tmul %c, {%d, %e};\n", "", {9: ""}),
        (SCOPE, "", {6: "", 7: ""}),
        ("\t@p bra L;\n", "", {7: ""}),
    ],
)
def test_instructions_that_change_are_edits(old: str, new: str, edits: dict[int, str]) -> None:
    assert edits_between(TEXT, TEXT.replace(old, new)) == edits


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("\tsub %b;\n", "\tsub %b;\n\tmul %b;\n"),
        ("\tsub %b;\n", "\tmul %b;\n\tmul %b;\n"),
        ("\tsub %b;\n", "M:\n"),
        ("\tsub %b;\n", "\t{ .reg .b32 %x; mov.b32 %x, 1; }\n"),
        ("L:\n\twait p;\n", ""),
        ("\t.reg .pred p;\n", ""),
        ("\t@p bra L;\n\t}\n", ""),
    ],
)
def test_other_changes_are_none(old: str, new: str) -> None:
    assert edits_between(TEXT, TEXT.replace(old, new, 1)) is None
