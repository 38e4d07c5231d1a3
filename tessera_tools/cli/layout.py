"""`tessera-layout`: a layout as a picture, in the terminal, as SVG or as a page, and in the other notation.

'#nv_tileas.linear<…>' or '(4,8):(8,1)' ──read_layout──▶ LinearLayout ──picture──▶ text, --svg, --html
"""

from __future__ import annotations

import sys

from tessera_tools.cli.command_line import (
    SHARED_KINDS,
    SHARED_VALUES,
    CommandLine,
    OptionValues,
    entry_points,
    shared,
)
from tessera_tools.diagnostics import error

__all__ = ["COMMAND_LINE", "FLAGS", "REPEATED", "VALUES", "main", "run"]

MOST_TEXT = 1 << 16
"""Characters of a layout. Real ones have less than a thousand."""
MOST_ELEMENTS = 1 << 24

FLAGS: dict[str, str] = {}

REPEATED = {
    "access": (
        "LAYOUT",
        "of a buffer: the layout of registers that are stored to it or loaded from it, whose bank conflicts are "
        "printed; `matrix:LAYOUT` for ldmatrix and stmatrix",
    ),
}

VALUES: dict[str, tuple[str, str, str | None]] = {
    **shared(SHARED_VALUES, "color"),
    "element": ("TYPE", "the element type of a buffer, such as f16 (default), f32, i8, f64", None),
    "html": ("FILE", "write the picture as a page", None),
    "rows": ("N", "rows of the picture in the terminal (default: 32)", None),
    "svg": ("FILE", "write the picture as SVG", None),
    "tile": ("ROWSxCOLUMNS", "the tile of a CuTe layout (threads, values) -> index in the tile", None),
    "width": ("N", "characters of a line (default: the width of the terminal, or 120)", None),
}

EPILOG = """\
\b
The layout is one of:
  #nv_tileas.linear<{register = ..., lane = ..., warp = ...}>   a tile over threads and registers
  #nv_tileas.shared<{offset = ...}>                             a buffer in shared memory
  (8,64):(64,1), Sw<3,3,3> o (8,64):(64,1)                      a buffer, in CuTe notation
  ((4,8),(2,2)):((32,1),(16,8)) with --tile=16x8                a tile, in CuTe notation

\b
Examples:
  tessera-layout '(8,64):(64,1)'
  tessera-layout 'Sw<3,3,3> o (64,64):(64,1)' --svg=swizzle.svg
  tessera-layout '((4,8),(2,2)):((32,1),(16,8))' --tile=16x8
"""

COMMAND_LINE = CommandLine(
    "tessera-layout",
    help="Show a layout as a picture, and in CuTe notation. FILE is the layout itself; '-' reads it from stdin.",
    epilog=EPILOG,
    flags=FLAGS,
    values=VALUES,
    repeated=REPEATED,
    kinds={**{name: SHARED_KINDS[name] for name in ("color",)}},
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    from tessera_tools.layout import LayoutError

    try:
        return _run(options)
    except LayoutError as failure:
        raise error(None, str(failure)) from None


def _run(options: OptionValues) -> int:
    from tessera_tools.cli.pictures import print_picture, size_option
    from tessera_tools.emit.files import OutputSet
    from tessera_tools.layout import Picture, cute_notation, picture, read_layout, to_text
    from tessera_tools.layout.pictures import UsedBy
    from tessera_tools.layout.shared import Access

    text = options["input"]
    if text == "-":
        text = sys.stdin.read(MOST_TEXT + 1)
    if len(text) > MOST_TEXT:
        raise error(None, f"the layout has more than {MOST_TEXT} characters")
    tile = _tile(options["tile"])
    layout = read_layout(text, tile)
    for dim, size in (*layout.ins, *layout.outs):
        if size > MOST_ELEMENTS:
            raise error(None, f"'{dim}' has size {size}; expected at most {MOST_ELEMENTS}")
    used_by: list[UsedBy] = []
    for number, given in enumerate(options["access"]):
        if layout.in_dims != ("offset",):
            raise error(None, "--access is for the layout of a buffer, whose only input is offset")
        form, colon, rest = given.partition(":")
        matrix = bool(colon) and form.strip() == "matrix"
        registers = read_layout(rest if matrix else given, [size for _, size in layout.outs])
        used_by.append(UsedBy(f"access {number + 1}", Access(registers, "matrix" if matrix else "vector")))
    shown: Picture = picture(layout, element_bits=_bits(options["element"] or "f16"), used_by=used_by)
    cute = cute_notation(layout)
    kind = "shared" if layout.in_dims == ("offset",) else "linear"
    attribute = f"#nv_tileas.{kind}<{{{to_text(layout)}}}>"
    with OutputSet() as outputs:  # before the text, whose reader may close the pipe
        if options["svg"]:
            outputs.add(options["svg"], shown.svg())
        if options["html"]:
            from tessera_tools.report import layout_page

            outputs.add(options["html"], layout_page([(shown, attribute, cute)]))
    print_picture(
        shown, options["color"] or "auto", size_option(options, "width"), size_option(options, "rows") or 32
    )
    sys.stdout.write(f"MLIR: {attribute}\n")
    sys.stdout.write(f"CuTe: {cute}\n" if cute is not None else "CuTe: none; the layout has no strides\n")
    return 0


def _tile(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = text.split("x")
    if not all(part.isdecimal() and len(part) < 9 and int(part) for part in parts):
        raise error(None, f"--tile is '{text}'; expected extents such as 16x8")
    return [int(part) for part in parts]


def _bits(name: str) -> int:
    """The size of an element type in bits. Raises DiagnosticError."""
    digits = "".join(char for char in name.partition("e")[0] if char.isdigit()) if name[:1] in "bfitu" else ""
    bits = {"tf32": 32}.get(name, int(digits) if digits and len(digits) < 4 else 0)
    if bits not in (4, 8, 16, 32, 64):
        raise error(None, f"--element is '{name}'; expected a type such as f16, bf16, f32, f8e4m3, i8 or f64")
    return bits


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
