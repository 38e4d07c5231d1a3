"""trap, brkpt, nanosleep, pmevent, exit, and assertions that fail."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

from tessera_tools.diagnostics import DiagnosticError


@pytest.mark.parametrize("name,words", [("trap", "executed a trap"), ("brkpt", "executed a breakpoint")])
def test_a_trap_ends_the_launch_with_a_finding(name: str, words: str) -> None:
    result, (out,) = run(
        kernel(f"  {name}; mov.u32 %r0, 1; st.global.u32 [%rd0], %r0;"), np.zeros(1, np.uint32)
    )
    (finding,) = result.findings
    assert finding.kind == "trap"
    assert words in finding.message
    assert out[0] == 0


def test_sleeping_and_monitoring_change_nothing() -> None:
    result, _ = run(kernel("  mov.u32 %r0, 20; nanosleep.u32 %r0; pmevent 7; exit;"), np.zeros(1, np.uint32))
    assert not result.findings


def test_a_failed_assertion_says_where_and_ends_its_lanes() -> None:
    module = """
.global .align 1 .b8 what[6] = {120, 32, 62, 32, 49, 0}; .global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
"""
    body = """
  mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 3; @%p0 bra FINE;
  mov.u64 %rd1, what; mov.u64 %rd2, file; mov.u32 %r1, 12; mov.u64 %rd3, 1;
  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd1; st.param.b64 [b], %rd2; st.param.b32 [c], %r1;
    st.param.b64 [d], %rd2; st.param.b64 [e], %rd3;
    call.uni __assertfail, (a, b, c, d, e); }
FINE: red.global.add.u32 [%rd0], 1;
"""
    result, (out,) = run(kernel(body, module=module), np.zeros(1, np.uint32))
    (finding,) = result.findings
    assert (finding.kind, finding.thread) == ("assert", (3, 0, 0))
    assert "a.cu:12" in finding.message
    assert "x > 1" in finding.message
    assert out[0] == 31


def test_a_trap_takes_no_operand() -> None:
    with pytest.raises(DiagnosticError, match="trap"):
        run(kernel("  trap 1;"), np.zeros(1, np.uint32))
