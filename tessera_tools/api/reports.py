"""The report of a program: it is compiled once more with line information, and what happens is recorded.

bytes or module ──record_input()──▶ Recording ──report_page()──▶ HTML
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from tessera_tools.api.inputs import find_target, is_binary, kind_of, parse_input
from tessera_tools.diagnostics import error
from tessera_tools.emit.compiled import Options
from tessera_tools.ir.core import Operation
from tessera_tools.records import replace
from tessera_tools.report import Clock, FindingAt, Recording, record_module, record_text
from tessera_tools.sim.findings import Finding
from tessera_tools.target import Target

if TYPE_CHECKING:
    from tessera_tools.parser import ParseOptions
    from tessera_tools.runtime.timing import Estimate

__all__ = ["clock_of", "findings_of", "record_input"]


def record_input(
    read: bytes | Operation,
    name: str,
    options: Options,
    target: Target | None,
    *,
    into: Recording | None = None,
    **parsing: Unpack[ParseOptions],
) -> Recording:
    """Record the compilation of MLIR, bytecode, LLVM IR, PTX or a module, which is not changed.

    options: as for the compilation. target: the GPU that was asked for; if None, that of the program, or that of the
    options. into: a new recording; after an error, it has what happened before. parsing: as for `parse_input`. Raises
    DiagnosticError as a compilation does.
    """
    from tessera_tools.emit.driver import declared_target, target_of_text
    from tessera_tools.ir.verifier import verify_or_raise

    def chosen(declared: str | None) -> Options:
        return (
            options
            if target is not None or declared is None
            else replace(options, target=find_target(declared))
        )

    recording = Recording(name) if into is None else into
    if isinstance(read, Operation):
        record_module(read.clone(), recording, chosen(declared_target(read)))
        return recording
    kind = kind_of(name, read)
    if kind == "cubin":
        raise error(
            None, f"'{name}' is a cubin, of which there is no report", "use the program it was compiled from"
        )
    if kind != "mlir":
        text = read.decode("utf-8", "replace")
        record_text(text, kind, recording, chosen(target_of_text(text, kind)))
        return recording
    module = parse_input(read, name, **parsing)
    source = None
    if not is_binary(read):
        verify_or_raise(module)
        source = read.decode("utf-8", "replace")
    record_module(module, recording, chosen(declared_target(module)), source)
    return recording


def findings_of(findings: Iterable[Finding], ptx: str) -> list[FindingAt]:
    """The findings of a launch; `ptx` is the name of the PTX that ran."""
    return [
        FindingAt(
            one.severity,
            one.kind,
            one.message,
            one.location.rpartition(":")[0] if one.location else f"{ptx}:{one.line}",
            one.text(ptx),
        )
        for one in findings
    ]


def clock_of(estimate: Estimate | None) -> Clock | None:
    """The clock's estimate of a launch."""
    if estimate is None:
        return None
    from tessera_tools.runtime.timing_picture import timeline_svg
    from tessera_tools.runtime.timing_report import summary

    return Clock(tuple(summary(estimate)), timeline_svg(estimate))
