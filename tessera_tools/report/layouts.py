"""The layouts of a program's values, and the accesses of its buffers.

module ──layouts_of──▶ (%name, type, place, layout) ──picture()──▶ Picture with the bank conflicts by access
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects.nv_tileas.base import LinearAttr, SharedAttr, SmemType
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.printing import Names
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LinearLayout, Picture, UsedBy, picture
from tessera_tools.layout.shared import Access
from tessera_tools.records import dataclass
from tessera_tools.report.assets import page

if TYPE_CHECKING:
    from tessera_tools.ir.attributes import Type

__all__ = ["ValueLayout", "layout_page", "layouts_of", "names_of"]


@dataclass(frozen=True, slots=True)
class ValueLayout:
    """A value with a layout. `name` is how the printed module calls it, `place` the `file:line:column` of its op."""

    name: str
    op: str
    type: str
    place: str
    attribute: str
    layout: LinearLayout
    element_bits: int
    used_by: tuple[UsedBy, ...]

    def picture(self, *, most: int = 4096) -> Picture:
        """The picture of the layout, of at most `most` cells."""
        return picture(
            self.layout, element_bits=self.element_bits, used_by=self.used_by, name=self.name, most=most
        )


def names_of(module: Operation) -> dict[Value, str]:
    """The name of each value, as `print_op` prints it."""
    names = Names()
    names.number_op(module)
    return names.values


def layouts_of(module: Operation, names: dict[Value, str] | None = None) -> list[ValueLayout]:
    """Returns the values of a module whose types have a layout, in the order of the program."""
    names = names_of(module) if names is None else names
    accesses: dict[Value, list[UsedBy]] = {}
    for op in module.walk():
        for buffer, use in _accesses(op, names):
            accesses.setdefault(buffer, []).append(use)
    return [
        found
        for op in module.walk()
        for value in _values(op)
        if (found := _layout(op, value, names, tuple(accesses.get(value, ())))) is not None
    ]


def _values(op: Operation) -> Iterator[Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


def _layout(
    op: Operation, value: Value, names: dict[Value, str], used_by: tuple[UsedBy, ...]
) -> ValueLayout | None:
    found = _attribute(value.type)
    if found is None:
        return None
    attribute, element = found
    place = op.location.start()
    return ValueLayout(
        names.get(value, "%?"),
        op.name,
        str(value.type),
        ":".join(map(str, place)) if place is not None else "",
        str(attribute),
        attribute.layout,
        storage_bits(element),
        used_by,
    )


def _attribute(type: Type) -> tuple[LinearAttr | SharedAttr, Type] | None:
    if isinstance(type, SmemType) and type.layout is not None:
        return type.layout, type.element
    if isinstance(type, RankedTensorType) and isinstance(type.encoding, LinearAttr):
        return type.encoding, type.element
    return None


def _accesses(op: Operation, names: dict[Value, str]) -> Iterator[tuple[Value, UsedBy]]:
    """The buffer that an op loads from or stores to, with the registers on the other side."""
    from tessera_tools.dialects.nv_tileas.ops import Load, Store

    if isinstance(op, Load):
        buffer, tile, how = op.buffer, op.res, f"{names.get(op.res, '')} = load"
    elif isinstance(op, Store):
        buffer, tile, how = op.buffer, op.value, f"store {names.get(op.value, '')}"
    else:
        return
    memory = buffer.type.layout
    held = tile.type.encoding if isinstance(tile.type, RankedTensorType) else None
    if memory is None or not isinstance(held, LinearAttr):
        return
    registers = held.layout
    for dim, size in memory.layout.outs:
        registers = registers.resize_out(dim, size)
    form = "matrix" if "matrix" in str(op.atom) else "vector"
    yield buffer, UsedBy(how.strip(), Access(registers, form))


def layout_page(pictures: Sequence[tuple[Picture, str, str | None]]) -> str:
    """Returns a self-contained page with pictures of layouts, each with its attribute and its CuTe notation."""
    parts: list[str] = []
    for shown, attribute, cute in pictures:
        parts.append(
            f'<section class="card"><h2>{html.escape(shown.title)}</h2><div class="scroll">{shown.svg()}</div>'
            f"<p><code>{html.escape(attribute)}</code></p>"
            + (f"<p>CuTe: <code>{html.escape(cute)}</code></p>" if cute is not None else "")
            + "</section>"
        )
    return page("Layouts", f'<main class="plain"><h1>Layouts</h1>{"".join(parts)}</main>')
