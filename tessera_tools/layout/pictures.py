"""Layouts as pictures: who holds which element of a tile, and in which bank each element of a buffer is.

layout ──picture()──▶ Picture ──┬─▶ text()    for a terminal; segments() with colors
                                └─▶ svg()     for a page; labels have the color of the text around the picture

    T0 r0-1   T1 r0-1  …      a distributed layout: thread and registers of each element of the tile
    0,0  0,8  0,16     …      a buffer: each row is 128 bytes of shared memory, that is, each bank once

A picture shows a part of a large tile and says what it leaves out: a linear layout repeats its pattern.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from math import prod
from xml.sax.saxutils import escape

from tessera_tools.layout.access import MatrixAccess, bank_conflict_degree
from tessera_tools.layout.f2 import log2
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.layout.shared import Access
from tessera_tools.records import dataclass

__all__ = ["Cell", "Picture", "UsedBy", "conflicts", "picture"]

LINE_BYTES = 128
"""Bytes of shared memory in which each of the 32 banks occurs once."""
CHUNK_BYTES = 16
"""The widest access of a thread, and a row of ldmatrix."""
_MOST_SVG_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Cell:
    """One or more adjacent elements. `color`: red, green, blue from 0 to 255; `title`: what a pointer over it shows."""

    label: str
    title: str
    color: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class UsedBy:
    """An access to a buffer: how it is called in the picture, and the registers on its other side."""

    name: str
    access: Access


@dataclass(frozen=True, slots=True)
class Picture:
    """A grid of cells with what is true of the whole layout as `notes`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    notes: tuple[str, ...]
    corner: str = ""
    """What the rows and columns are."""

    def segments(self, width: int, rows: int) -> list[list[tuple[str, tuple[int, int, int] | None]]]:
        """The lines of `text`, each as pieces with the color behind them, or None."""
        head = max([len(self.corner), *(len(name) for name, _ in self.rows)], default=0)
        wide = max((len(cell.label) for _, cells in self.rows for cell in cells), default=1)
        wide = max([wide, *map(len, self.columns)])
        fits = max(1, (width - head - 1) // (wide + 1))
        lines: list[list[tuple[str, tuple[int, int, int] | None]]] = [[(self.title, None)]]
        names = " ".join(f"{name:^{wide}}" for name in self.columns[:fits])
        lines.append([(f"{self.corner:>{head}} {names}".rstrip(), None)])
        for name, cells in self.rows[:rows]:
            line: list[tuple[str, tuple[int, int, int] | None]] = [(f"{name:>{head}}", None)]
            for cell in cells[:fits]:
                line += [(" ", None), (f"{cell.label:^{wide}}", cell.color)]
            lines.append(line)
        omitted: list[str] = []
        if len(self.rows) > rows:
            omitted.append(f"{len(self.rows) - rows} of {len(self.rows)} rows")
        if len(self.columns) > fits:
            omitted.append(f"{len(self.columns) - fits} of {len(self.columns)} columns")
        if omitted:
            lines.append([(f"not shown: {' and '.join(omitted)}", None)])
        return lines + [[(note, None)] for note in self.notes]

    def text(self, *, width: int = 120, rows: int = 32) -> str:
        """The picture in characters: at most `rows` rows, and as many columns as `width` characters have room for."""
        lines = ("".join(piece for piece, _ in line).rstrip() for line in self.segments(width, rows))
        return "\n".join(lines) + "\n"

    def svg(self, *, cells: int = _MOST_SVG_CELLS) -> str:
        """The picture as an SVG document of at most `cells` cells."""
        longest = max((len(cell.label) for _, row in self.rows for cell in row), default=1)
        across = max(24, 7 * max([longest, *map(len, self.columns)]) + 8)
        columns = min(len(self.columns), max(1, min(cells, 64 * 64)))
        rows = min(len(self.rows), max(1, cells // max(columns, 1)))
        left = 7 * max([len(self.corner), *(len(name) for name, _ in self.rows)], default=0) + 14
        notes = list(self.notes)
        if rows < len(self.rows) or columns < len(self.columns):
            notes.insert(
                0, f"not shown: {len(self.rows) - rows} of {len(self.rows)} rows, "
                f"{len(self.columns) - columns} of {len(self.columns)} columns",
            )  # fmt: skip
        top, high = 46, 20
        lines = max([len(self.title), *map(len, notes)], default=0)
        width = max(left + across * columns + 10, 7 * lines + 20)
        height = top + high * rows + 18 * len(notes) + 16
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(self.title, {chr(34): "&quot;"})}" '
            'font-family="ui-monospace, monospace" font-size="11" fill="currentColor">',
            f'<text x="8" y="18" font-size="13">{escape(self.title)}</text>',
            f'<text x="{left - 6}" y="{top - 6}" text-anchor="end" font-size="10">{escape(self.corner)}</text>',
        ]
        for number, name in enumerate(self.columns[:columns]):
            x = left + across * number + across // 2
            parts.append(
                f'<text x="{x}" y="{top - 6}" text-anchor="middle" font-size="10">{escape(name)}</text>'
            )
        for number, (name, row) in enumerate(self.rows[:rows]):
            y = top + high * number
            parts.append(
                f'<text x="{left - 6}" y="{y + 14}" text-anchor="end" font-size="10">{escape(name)}</text>'
            )
            for at, cell in enumerate(row[:columns]):
                x = left + across * at
                fill = "#{:02x}{:02x}{:02x}".format(*cell.color)
                parts.append(
                    f'<g><title>{escape(cell.title)}</title><rect x="{x}" y="{y}" width="{across - 1}" '
                    f'height="{high - 1}" rx="2" fill="{fill}"/><text x="{x + across // 2}" y="{y + 14}" '
                    f'text-anchor="middle" fill="#111">{escape(cell.label)}</text></g>'
                )
        for number, note in enumerate(notes):
            parts.append(f'<text x="8" y="{top + high * rows + 18 * (number + 1)}">{escape(note)}</text>')
        return "\n".join([*parts, "</svg>"]) + "\n"


def picture(
    layout: LinearLayout,
    *,
    element_bits: int = 16,
    used_by: Sequence[UsedBy] = (),
    name: str = "",
    most: int = 4096,
) -> Picture:
    """Returns the picture of a layout: of a buffer if its only input is `offset`, otherwise of a distributed tile.

    element_bits: the size of an element of a buffer. used_by: the accesses whose bank conflicts the notes tell.
    name: how the title calls it. most: cells at most; the picture then shows the first rows and columns.
    Raises LayoutError for a layout of a buffer that is not one to one.
    """
    if layout.in_dims == ("offset",):
        return _buffer(layout, element_bits, used_by, name, most)
    return _distributed(layout, name, most)


# -- distributed tiles


def _distributed(layout: LinearLayout, name: str, most: int) -> Picture:
    shape = tuple(size for _, size in layout.outs)
    axes = _order(layout)
    ordered = layout.transpose_outs([layout.out_dims[axis] for axis in axes]) if axes else layout
    elimination = ordered.elimination
    # The flat coordinate begins with the last axis, so that its low bits are a row.
    across = shape[-1] if shape else 1
    down = shape[-2] if len(shape) > 1 else 1
    if len(shape) == 1:
        across, down = min(across, 64), max(1, across // 64)
    registers = layout.in_bits("register") if "register" in layout.in_dims else 0
    run = 1
    while run < across and run < 8:
        held = elimination.solve(run)
        if held is None or held >> registers:
            break
        run *= 2
    columns = max(1, min(across // run, max(1, most // max(1, min(down, 64)))))
    rows = max(1, min(down, most // columns))
    warps = layout.in_size("warp") if "warp" in layout.in_dims else 1
    table: list[tuple[str, tuple[Cell, ...]]] = []
    for row in range(rows):
        cells = [
            _holder(ordered, [row * across + column * run + i for i in range(run)], warps)
            for column in range(columns)
        ]
        table.append((f"{row * across if len(shape) == 1 else row}", tuple(cells)))
    kinds = {dim: size for dim, size in layout.ins if size > 1}
    what = f"{name + ': ' if name else ''}{'x'.join(map(str, shape)) or 'scalar'} over " + (
        ", ".join(f"{size} {_plural(dim, size)}" for dim, size in kinds.items()) or "one thread"
    )
    notes: list[str] = []
    if rows < down or columns * run < across:
        notes.append(f"the picture shows {rows}x{columns * run} of {down}x{across} elements")
    if len(shape) > 2:
        notes.append(f"the picture shows index 0 of the first {len(shape) - 2} dimension(s)")
    copies = prod(1 << mask.bit_count() for mask in layout.free_variable_masks().values())
    if copies > 1:
        where = [
            f"{dim} bit {bit}"
            for dim, mask in layout.free_variable_masks().items()
            for bit in range(mask.bit_length())
            if mask >> bit & 1
        ]
        notes.append(f"{copies} places hold each element ({', '.join(where)}); the first is shown")
    if not layout.is_surjective():
        notes.append("no thread holds the elements marked ·")
    corner = "" if len(shape) < 2 else f"dim{len(shape) - 2} \\ dim{len(shape) - 1}"
    return Picture(
        what, tuple(str(column * run) for column in range(columns)), tuple(table), tuple(notes), corner
    )


def _order(layout: LinearLayout) -> list[int]:
    """The axes with the fastest one of a row-major tile first."""
    return list(range(len(layout.out_dims)))[::-1]


def _plural(dim: str, size: int) -> str:
    return {"block": "CTA"}.get(dim, dim) + ("s" if size != 1 else "")


def _holder(layout: LinearLayout, flats: Sequence[int], warps: int) -> Cell:
    """The cell of the elements at flat coordinates, which one thread holds."""
    numbers: list[int] = []
    place: dict[str, int] = {}
    for flat in flats:
        found = layout.elimination.solve(flat)
        if found is None:
            return Cell("·", "no thread holds this element", (225, 225, 225))
        place = _split(layout, found)
        numbers.append(place.get("register", 0))
    lane, warp, block = (place.get(dim, 0) for dim in ("lane", "warp", "block"))
    first = f"r{_spans(numbers)}"
    thread = warp * 32 + lane
    label = f"T{thread} {first}" if not block else f"C{block} T{thread} {first}"
    title = f"lane {lane}, warp {warp}, register{'s' if len(numbers) > 1 else ''} {_spans(numbers)}"
    return Cell(label, f"CTA {block}, {title}" if block else title, _color(warp, warps, lane))


def _split(layout: LinearLayout, vector: int) -> dict[str, int]:
    place: dict[str, int] = {}
    for dim, size in layout.ins:
        place[dim] = vector & (size - 1)
        vector >>= log2(size)
    return place


def _spans(numbers: Sequence[int]) -> str:
    """`0-3`, or `0,1,8,9`."""
    if len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(map(str, numbers))


# -- buffers


def _buffer(
    layout: LinearLayout, element_bits: int, used_by: Sequence[UsedBy], name: str, most: int
) -> Picture:
    if not layout.is_invertible():
        raise LayoutError(f"a buffer has one offset for each element, but this layout does not: {layout}")
    shape = tuple(size for _, size in layout.outs)
    size = layout.in_size("offset")
    per_line = min(size, LINE_BYTES * 8 // element_bits)
    run = 1
    last = len(shape) - 1
    columns = layout.dim_columns("offset")
    while run * element_bits < CHUNK_BYTES * 8 and run < size:
        moved = layout.split_out(columns[log2(run)])
        if shape and any(part != (run if axis == last else 0) for axis, part in enumerate(moved)):
            break
        run *= 2
    across = per_line // run
    rows = max(1, min(size // per_line, most // across))
    groups = max(1, (shape[-1] if shape else 1) // run)
    table: list[tuple[str, tuple[Cell, ...]]] = []
    for row in range(rows):
        cells: list[Cell] = []
        for column in range(across):
            offset = row * per_line + column * run
            place = layout.split_out(layout.apply_flat(offset))
            chunk = place[-1] // run if place else 0
            coordinates = ",".join(map(str, place))
            banks = _banks(offset, run, element_bits)
            title = f"byte {offset * element_bits // 8}: element ({coordinates}), {run} along the last axis, {banks}"
            cells.append(
                Cell(
                    coordinates, title, _color(chunk % 8, min(groups, 8), 4 * (place[0] % 8 if place else 0))
                )
            )
        table.append((str(row * per_line * element_bits // 8), tuple(cells)))
    what = f"{name + ': ' if name else ''}{'x'.join(map(str, shape))} elements of {element_bits} bits in shared memory"
    notes: list[str] = []
    if rows < size // per_line:
        notes.append(f"the picture shows {rows} of {size // per_line} lines of {LINE_BYTES} bytes")
    notes += conflicts(layout, element_bits, used_by)
    names = tuple(
        _banks(column * run, run, element_bits).removeprefix("bank").lstrip("s ") for column in range(across)
    )
    return Picture(what, names, tuple(table), tuple(notes), "byte \\ banks")


def _banks(offset: int, run: int, element_bits: int) -> str:
    first = offset * element_bits // 32 % 32
    last = (offset * element_bits + run * element_bits - 1) // 32 % 32
    return f"bank {first}" if first == last else f"banks {first}-{last}"


def conflicts(layout: LinearLayout, element_bits: int, used_by: Sequence[UsedBy] = ()) -> list[str]:
    """Returns a line for each access of a buffer: its instructions, and the wavefronts that each takes.

    Without `used_by`, the lines tell of the two common accesses: rows of 16 bytes along the last axis, and eight of
    them in a column, which is what ldmatrix reads.
    """
    lines: list[str] = []
    for use in used_by:
        try:
            plan = use.access.plan(layout, element_bits)
        except LayoutError as failure:
            lines.append(f"{use.name}: {failure}")
            continue
        if isinstance(plan, MatrixAccess):
            how = f"matrices x{plan.num}{'.trans' if plan.trans else ''}"
        else:
            how = f"{plan.bits} bits a thread"
        lines.append(f"{use.name}: {how}, {_wavefronts(plan.banks.per_instruction, plan.banks.ideal)}")
    if used_by or len(layout.out_dims) < 2:
        return lines
    address = layout.invert()
    row, column = layout.out_dims[-1], layout.out_dims[-2]
    chunk = min(log2(max(1, CHUNK_BYTES * 8 // element_bits)), address.in_bits(row))
    inside = address.dim_columns(row)[:chunk]
    along = [*inside, *address.dim_columns(row)[chunk : chunk + 3]]
    down = [*inside, *address.dim_columns(column)[:3]]
    lines.append(
        f"8 chunks of 16 bytes along {row}: {_wavefronts(bank_conflict_degree(along, element_bits), 1)}"
    )
    lines.append(
        f"8 chunks of 16 bytes along {column}, as ldmatrix reads: "
        f"{_wavefronts(bank_conflict_degree(down, element_bits), 1)}"
    )
    return lines


def _wavefronts(took: int, ideal: int) -> str:
    if took == ideal:
        return f"{took} wavefront{'s' if took != 1 else ''}, no bank conflict"
    return f"{took} wavefronts instead of {ideal}: {took // ideal}-way bank conflict"


# -- colors


def _color(group: int, groups: int, step: int) -> tuple[int, int, int]:
    """A light color on which black text is legible: the hue tells the group, the lightness the step from 0 to 31."""
    if groups <= 1:
        hue, light = (step // 4 % 8) / 8, 0.86 - 0.03 * (step % 4)
    else:
        hue, light = group / groups, 0.9 - 0.2 * (step % 32) / 31
    red, green, blue = colorsys.hls_to_rgb((hue + 0.56) % 1, light, 0.55)
    return round(red * 255), round(green * 255), round(blue * 255)
