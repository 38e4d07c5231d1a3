"""Pictures of layouts in the terminal, and the values of a program that `--show-layout` names.

%name ──layouts_of(module)──▶ layout, and the accesses of a buffer ──picture──▶ stdout
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import error

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.ir.core import Operation
    from tessera_tools.layout import Picture
    from tessera_tools.report import ValueLayout

__all__ = ["find_layouts", "print_layouts", "print_picture", "size_option", "write_graph"]


def size_option(options: OptionValues, name: str) -> int | None:
    """The value of an option that is a number from 1 to 10000. Raises DiagnosticError."""
    text = options[name]
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text[:6]) <= 10000:
        raise error(None, f"--{name} is '{text}'; expected a number from 1 to 10000")
    return int(text)


def find_layouts(module: Operation, wanted: str) -> list[ValueLayout]:
    """The layouts of the values that `wanted` names, `%a,%b` or `all`. Raises DiagnosticError if a value does not
    exist or has no layout."""
    from tessera_tools.diagnostics import closest
    from tessera_tools.report import layouts_of, names_of

    names = names_of(module)
    found = layouts_of(module, names)
    listed = [
        name if name.startswith("%") else f"%{name}" for name in wanted.replace(" ", "").split(",") if name
    ]
    if wanted.strip() != "all":
        known = {one.name for one in found}
        for name in listed:
            if name in known:
                continue
            if name in names.values():
                raise error(
                    None,
                    f"--show-layout: {name} has no layout",
                    "layouts exist after --to=tileas-insert-barriers"
                    if not known
                    else "; ".join(sorted(known)[:20]),
                )
            near = closest(name, tuple(known))
            raise error(
                None,
                f"--show-layout: the IR that would be printed has no value {name}",
                f"did you mean {near}?"
                if near
                else f"values with layouts: {', '.join(sorted(known)) or 'none'}",
            )
        found = [one for one in found if one.name in listed]
    if not found:
        raise error(
            None, "--show-layout: no value has a layout", "layouts exist after --to=tileas-insert-barriers"
        )
    return found


def print_layouts(found: list[ValueLayout], when: str) -> None:
    """Print the layouts of values to stdout, with empty lines between them."""
    from tessera_tools.layout import cute_notation

    for number, one in enumerate(found):
        if number:
            sys.stdout.write("\n")
        print_picture(one.picture(), when, None, 32)
        cute = cute_notation(one.layout)
        at = f" at {one.place}" if one.place else ""
        sys.stdout.write(f"by {one.op}{at}\n" + (f"CuTe: {cute}\n" if cute is not None else ""))


def write_graph(module: Operation, path: str) -> None:
    """Write the graph of a module: DOT, or SVG if the name ends in `.svg`; `-` is stderr. Raises DiagnosticError."""
    from tessera_tools.cli.common import write_stderr
    from tessera_tools.emit.files import write_output
    from tessera_tools.report import graph_svg, op_graph

    dot = op_graph(module)
    if path == "-":
        write_stderr(dot)
    else:
        write_output(path, graph_svg(dot) if path.endswith(".svg") else dot)


def print_picture(shown: Picture, when: str, width: int | None, rows: int) -> None:
    """Print a picture to stdout: in color on a terminal, or always."""
    from tessera_tools.cli.common import use_color

    colored = when == "always" or (when == "auto" and sys.stdout.isatty() and use_color(when))
    if width is None:
        width = shutil.get_terminal_size((120, 40)).columns if sys.stdout.isatty() else 120
    if not colored:
        sys.stdout.write(shown.text(width=width, rows=rows))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(
        file=sys.stdout, force_terminal=True, width=10_000, highlight=False, no_color=False,
        color_system="auto" if sys.stdout.isatty() and "TERM" in os.environ else "truecolor",
    )  # fmt: skip
    for line in shown.segments(width, rows):
        text = Text()
        for piece, color in line:
            text.append(
                piece, style=None if color is None else "#111111 on #{:02x}{:02x}{:02x}".format(*color)
            )
        console.print(text, soft_wrap=True)
