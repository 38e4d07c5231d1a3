"""Calls: what they pass, and which functions a launch can reach by them."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import REGISTERS, kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

SUM = """.func (.param .b32 out) sum(.param .b32 a, .param .b32 b)
{ .reg .b32 %x<3>; ld.param.b32 %x0, [a]; ld.param.b32 %x1, [b]; add.u32 %x2, %x0, %x1; st.param.b32 [out], %x2; ret; }
"""
INVALID = ".func other() { .reg .b32 %y; add.u99 %y, %y, 1; ret; }\n"
SECOND = f".visible .entry second(.param .u64 p0) {{{REGISTERS} ret; }}\n"
"""Of several entries, only the launched one is decoded, with what it can reach."""


def calling(arguments: str, results: str = "(got)") -> str:
    body = f"call {results}, sum, {arguments};" if results else f"call sum, {arguments};"
    return f"""{{ .param .b32 got; .param .b32 a; .param .b32 b; .param .b64 wide; .param .b32 more;
  st.param.b32 [a], 40; st.param.b32 [b], 2; {body} ld.param.b32 %r1, [got]; }} st.global.u32 [%rd0], %r1;"""


def test_a_function_gets_its_arguments_and_gives_its_result() -> None:
    result, (out,) = run(kernel(calling("(a, b)"), module=SUM), np.zeros(1, np.uint32))
    assert not result.findings
    assert out[0] == 42


@pytest.mark.parametrize(
    ("arguments", "results", "message"),
    [
        ("(a)", "(got)", "passes 1 values where 2 are declared"),
        ("(a, b, more)", "(got)", "passes 3 values where 2 are declared"),
        ("(a, wide)", "(got)", "passes 8 bytes for 'b', which has 4"),
        ("(a, b)", "", "passes 1 values where 0 are declared"),
    ],
)
def test_what_a_function_does_not_take_is_refused(arguments: str, results: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as found:
        sim.load(kernel(calling(arguments, results), module=SUM), file="k.ptx")
    assert message in str(found.value) and "k.ptx:" in str(found.value)


def test_a_function_that_no_call_names_is_not_reached() -> None:
    ptx = kernel(calling("(a, b)"), module=SUM + INVALID) + SECOND
    result, (out,) = run(ptx, np.zeros(1, np.uint32))
    assert not result.findings
    assert out[0] == 42


def test_an_indirect_call_reaches_every_function() -> None:
    body = "mov.u64 %rd1, sum; { .param .b32 got; .param .b32 a; .param .b32 b; "
    body += "st.param.b32 [a], 1; st.param.b32 [b], 2; call (got), %rd1, (a, b), SHAPE; }"
    shape = "SHAPE: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);"
    module = sim.load(kernel(f"{shape} {body}", module=SUM + INVALID) + SECOND)
    out = module.memory.allocate(np.zeros(1, np.uint32), "out")
    with pytest.raises(DiagnosticError, match=r"'add.u99'"):
        module.launch(module.program.entries()[0].name, (1,), (32,), [out])
