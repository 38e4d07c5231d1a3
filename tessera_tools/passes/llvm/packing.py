"""nv_tileaa.pack and unpack: each thread splits its elements, or joins parts that it holds.

f16 → i8    result register r is byte (coordinate mod 2) of the element that holds it
i4  → i8    result register r is two neighbors, the first in the low bits
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa.packing import packed_bits
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import IntegerType, bit_width
from tessera_tools.layout import LinearLayout, as_xor_expression
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shapes import gathered
from tessera_tools.passes.llvm.tiles import Tile, converted
from tessera_tools.planning.layout_rules import copies


@lowers("nv_tileaa.pack", "nv_tileaa.unpack")
def packing(low: Lowering, op: nv_tileaa.Pack | nv_tileaa.Unpack) -> None:
    """By shifts within each thread."""
    (copy,) = copies(op)
    assert copy.seen is not None
    layout = nv_tileas.layout_of(op.res.type)
    source, target = op.source.type.element, op.res.type.element
    held = gathered(low, op, op.source, copy.seen(layout))
    values = [low.e.bitcast(value, IntegerType(bit_width(value.type))) for value in held]
    old, new = packed_bits(source), packed_bits(target)
    made = _joined(low.e, values, old, new) if old < new else _cut(low.e, values, layout, old, new)
    low.define(op.res, Tile(op.res.type, [_as_element(low.e, value, target) for value in made]))


def _as_element(e: Emitter, value: Value, element: Type) -> Value:
    """A register of a type from an integer whose bits above `packed_bits` are 0."""
    register = converted(element)
    return e.bitcast(e.resized(value, IntegerType(bit_width(register))), register)


def _joined(e: Emitter, values: list[Value], old: int, new: int) -> list[Value]:
    """Join adjacent values of `old` bits to integers, the first in the low bits."""
    type, count = IntegerType(new), new // old
    made = []
    for first in range(0, len(values), count):
        whole: Int = e.resized(values[first], type)
        for i in range(1, count):
            whole = e.or_(whole, e.shl(e.resized(values[first + i], type), i * old, type), type)
        made.append(e.constant(whole, type))
    return made


def _cut(e: Emitter, values: list[Value], layout: LinearLayout, old: int, new: int) -> list[Value]:
    """The part of `new` bits of each value that the register's coordinate selects."""
    parts = old // new
    part = as_xor_expression(layout.resize_out("dim0", parts))
    thread = e.thread_part(part, new)
    made = []
    for value, constant in zip(values, part.constants, strict=True):
        type = value.type
        assert isinstance(type, IntegerType)
        shift = e.xor(thread, constant * new)
        moved = e.lshr(value, shift if isinstance(shift, int) else e.resized(shift, type), type)
        made.append(e.constant(e.and_(moved, (1 << new) - 1, type), type))
    return made
