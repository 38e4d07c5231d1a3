"""The index of a part of a tile of a view.

tiled_load %v[%i] : tensor<128xf16>        %a = minui %i, 2^32 - 128            if %i can be negative, else %i
                                           tiled_load %v[%a] : tensor<64xf16>
                                           tiled_load %v[%a + 64] : tensor<64xf16>
"""

from __future__ import annotations

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileas
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.location import Location


def part_index(
    index: Value,
    offset: Value | int,
    extent: int,
    facts: Facts,
    builder: Builder,
    location: Location,
    known: Value | None = None,
) -> Value:
    """The index of the part at `offset` in a tile of `extent` elements that begins at `index`.

    Indices are unsigned.  An index shortly before 2^32, which is a negative number, is outside of the tensor, and so is
    each part of its tile: the sum must not wrap.  `extent` is a power of two, so that the divisors of the index up to
    it remain.  `known`: a value that is equal to the index, for which facts can be found.
    """
    if offset == 0:
        return index
    if facts.fact(index if known is None else known).lower < 0:
        # As a signed number, -extent.
        last = builder.insert(arith.Constant(i32(-extent), location=location)).results[0]
        index = builder.insert(arith.MinUI(index, last, location=location)).results[0]
    if isinstance(offset, int):
        offset = builder.insert(arith.Constant(i32(offset), location=location)).results[0]
    return builder.insert(arith.AddI(index, offset, location=location)).results[0]


def move_to_part(
    op: nv_tileas.TiledLoad | nv_tileas.TiledStore, axis: int, extent: int, parts: int, part: Value
) -> None:
    """Let an access begin at its part, of equal parts of a tile of `extent` elements along an axis."""
    builder = Builder.before(op)

    def inserted(made: Operation) -> Value:
        return builder.insert(made).results[0]

    each = inserted(arith.Constant(i32(extent // parts), location=op.location))
    more = inserted(arith.MulI(part, each, location=op.location))
    # The view is the first operand.
    op.set_operand(1 + axis, part_index(op.indices[axis], more, extent, Facts(), builder, op.location))
