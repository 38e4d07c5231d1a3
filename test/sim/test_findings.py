"""Findings: causes, severities, both sides of a race, the inlining chain."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import HEADER, REGISTERS, kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim.findings import Finding, Findings

TILE = ".shared .align 4 .b8 first[64]; .shared .align 4 .b8 tile[4096];"


def found(kind: str = "race", line: int = 1, **more: object) -> Finding:
    return Finding(kind, "message", line, "add", **more)  # type: ignore[arg-type]


def test_equal_places_are_counted_once_and_other_lines_are_kept() -> None:
    findings = Findings()
    for line in (3, 5, 5):
        findings.add(found(line=line, location="a.cu:1:1"))
    (one,) = findings
    assert (one.line, one.lines, one.count) == (3, [5], 3)
    assert "also at PTX lines 5" in one.text()


def test_the_place_in_the_caller_tells_inlined_code_apart() -> None:
    findings = Findings()
    findings.add(found(location="a.cu:1:1", callers=["b.cu:2:1"]))
    findings.add(found(location="a.cu:1:1", callers=["b.cu:3:1"]))
    assert len(findings) == 2


def test_without_a_place_in_the_source_each_ptx_line_is_its_own() -> None:
    findings = Findings()
    findings.add(found(line=3))
    findings.add(found(line=4))
    assert len(findings) == 2


@pytest.mark.parametrize(
    ("policy", "severities"),
    [("errors", ["error"]), ("warnings", ["error", "warning"]), ("strict", ["error", "error"])],
)
def test_a_policy_chooses_what_is_reported(policy: str, severities: list[str]) -> None:
    findings = Findings()
    findings.add(found(line=1))
    findings.add(found(line=2, severity="warning"))
    assert [one.severity for one in findings.under(policy)] == severities


def test_an_unknown_severity_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown severity 'grave'"):
        Findings().add(found(severity="grave"))


def test_a_race_names_both_sides_and_the_variable() -> None:
    body = """
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, tile; add.u32 %r3, %r2, %r1;
  st.shared.u32 [%r3], %r0;
  xor.b32 %r1, %r1, 128; add.u32 %r3, %r2, %r1;
  ld.shared.u32 %r4, [%r3]; add.u32 %r5, %r4, 1; mov.u32 %r6, first;
"""
    text = kernel(body, 0, TILE)
    line = 1 + text[: text.index("st.shared")].count("\n")
    for seed in range(4):
        result, _ = run(text, block=(64,), seed=seed)
        races = [one for one in result.findings if one.kind == "race"]
        assert races
        assert "of 'tile' (byte " in races[0].message
        (note,) = races[0].notes
        other = "st.shared.u32" if races[0].line != line else "ld.shared.u32"
        assert f"the other access: {other} at PTX line" in note
        assert "by CTA (0, 0, 0) thread (" in note


@pytest.mark.parametrize(("value", "severity"), [("7", "warning"), ("%r0", "error")])
def test_warps_that_store_one_value_to_one_address_are_a_warning(value: str, severity: str) -> None:
    body = f"""
  mov.u32 %r0, %tid.x; shr.u32 %r0, %r0, 5; mov.u32 %r1, {value}; mov.u32 %r2, tile; st.shared.u32 [%r2], %r1;
"""
    result, _ = run(kernel(body, 0, TILE), block=(64,))
    (race,) = result.findings
    assert (race.kind, race.severity) == ("race", severity)


def test_the_whole_inlining_chain_is_named() -> None:
    text = f"""{HEADER}
.file 1 "main.cu"
.file 2 "inner.cuh"
.visible .entry k(.param .u64 p0) {{{REGISTERS}
  .loc 1 30 5
  ld.param.u64 %rd0, [p0];
  .loc 1 20 3, function_name $L1, inlined_at 1 30 5
  .loc 2 7 9, function_name $L0, inlined_at 1 20 3
  ld.global.u32 %r0, [%rd0+4096];
  ret;
}}
"""
    result, _ = run(text, np.zeros(4, np.uint32))
    (finding,) = result.findings
    assert finding.location == "inner.cuh:7:9"
    assert finding.callers == ["main.cu:20:3", "main.cu:30:5"]
    assert "    inlined at main.cu:20:3\n    inlined at main.cu:30:5\n" in finding.text()


def test_a_time_limit_ends_a_launch() -> None:
    module = sim.load(kernel("AGAIN: bra AGAIN;", 0))
    (finding,) = module.launch("k", (1,), (32,), time_limit=0.01).findings
    assert finding.kind == "limit"
    assert "reached the time limit of 0.01 seconds" in finding.message


def test_a_finding_names_the_line_of_its_instruction() -> None:
    text = kernel("  mov.u32 %r0, 1;\n  mov.u32 %r1, 2;\n  st.global.u32 [%rd0+64], %r0;\n  mov.u32 %r2, 3;")
    module = sim.load(text, file="k.ptx")
    buffer = module.memory.allocate(np.zeros(4, np.uint32), "argument")
    findings = list(module.launch("k", (1,), (1,), [buffer]).findings)
    (line,) = [number for number, written in enumerate(text.splitlines(), 1) if "st.global" in written]
    assert [finding.line for finding in findings] == [line]


def test_an_initializer_that_names_nothing_is_refused_at_its_line() -> None:
    text = f"{HEADER}.global .align 8 .u64 table[2] = {{nowhere, 0}};\n.visible .entry k() {{\n  ret;\n}}\n"
    with pytest.raises(DiagnosticError, match="initializer of 'table' names 'nowhere'") as caught:
        sim.load(text, file="k.ptx").launch("k", (1,), (1,), [])
    place = caught.value.diagnostics[0].location
    assert place is not None and place.start() == ("k.ptx", 4, 1)
