"""Pictures and reports of compiled programs. This is the front of the package.

    module ──layouts_of──▶ ValueLayout, …       the layouts of a program's values, as pictures
    stages, times, remarks ──report_page──▶ one self-contained HTML page
    module ──op_graph──▶ DOT                     operations and the values between them

`docs/pictures.md` shows them. Each name is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessera_tools.report.graph import graph_svg, op_graph
    from tessera_tools.report.layouts import ValueLayout, layout_page, layouts_of, names_of
    from tessera_tools.report.page import Clock, FindingAt, Parts, report_page, report_parts
    from tessera_tools.report.recording import (
        Recorder,
        Recording,
        add_python,
        complete,
        record_module,
        record_text,
        recorded,
        remark_of,
    )

_HOME = {
    "Clock": "page",
    "FindingAt": "page",
    "Parts": "page",
    "Recorder": "recording",
    "Recording": "recording",
    "ValueLayout": "layouts",
    "layout_page": "layouts",
    "layouts_of": "layouts",
    "names_of": "layouts",
    "add_python": "recording",
    "complete": "recording",
    "graph_svg": "graph",
    "op_graph": "graph",
    "record_module": "recording",
    "record_text": "recording",
    "recorded": "recording",
    "remark_of": "recording",
    "report_page": "page",
    "report_parts": "page",
}

__all__ = [
    "Clock",
    "FindingAt",
    "Parts",
    "Recorder",
    "Recording",
    "ValueLayout",
    "add_python",
    "complete",
    "graph_svg",
    "layout_page",
    "layouts_of",
    "names_of",
    "op_graph",
    "record_module",
    "record_text",
    "recorded",
    "remark_of",
    "report_page",
    "report_parts",
]


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
