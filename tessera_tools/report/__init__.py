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
    from tessera_tools.report.layouts import ValueLayout, layout_page, layouts_of, names_of

_HOME = {
    "ValueLayout": "layouts",
    "layout_page": "layouts",
    "layouts_of": "layouts",
    "names_of": "layouts",
}

__all__ = ["ValueLayout", "layout_page", "layouts_of", "names_of"]


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
