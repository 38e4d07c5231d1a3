"""Constants: scalars, and tiles.

A non-uniform tile is an array in global memory, which each thread reads at its coordinates; a tile of a few elements is
a select instead.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.llvm.types import ArrayType
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    i32,
    i64,
)
from tessera_tools.ir.core import Operation, Region, Value
from tessera_tools.ir.symbols import SymbolTable
from tessera_tools.ir.types import IntegerType, RankedTensorType, bit_width
from tessera_tools.layout import as_xor_expression, reshape
from tessera_tools.passes.llvm.emitter import GLOBAL_POINTER
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shapes import picked
from tessera_tools.passes.llvm.tiles import (
    Tile,
    converted,
    from_memory,
    scalar_attribute,
    stored,
)

ARRAY_ALIGNMENT = 16
"""The widest load, in bytes."""
FEW = 8
"""The maximum number of elements for a select; more are read from memory."""


@lowers("arith.constant")
def constant(low: Lowering, op: Any) -> None:
    """A scalar, or a tile."""
    e, result = low.e, op.results[0]
    value: Attribute = op.value
    if not isinstance(result.type, RankedTensorType):
        low.define(result, e.constant_of(scalar_attribute(value), converted(result.type)))
        return
    assert isinstance(value, DenseElementsAttr)
    if value.is_splat:
        element = e.constant_of(scalar_attribute(value.attributes()[0]), converted(result.type.element))
        low.define(result, Tile.splat(result.type, element))
    else:
        low.define(result, Tile(result.type, _elements(low, op, value, result.type)))


def _elements(low: Lowering, op: Operation, value: DenseElementsAttr, type: RankedTensorType) -> list[Value]:
    """The element of each register: its row-major index is linear in the register and the thread."""
    e, element, size = low.e, type.element, type.num_elements
    places = as_xor_expression(reshape(nv_tileas.layout_of(type), (size,)))
    thread = e.thread_part(places)
    if isinstance(thread, int) or size <= FEW:
        values = [e.constant_of(scalar_attribute(a), converted(element)) for a in value.attributes()]
        return [picked(e, values, thread, places.base_bits, place) for place in places.constants]
    base = e.pure(
        ("array", value), (), lambda: llvm.AddressOf(SymbolRefAttr(_array(op, value)), res=GLOBAL_POINTER)
    )
    scale = element_bytes(element)
    loaded: dict[int, Value] = {}
    for place in places.constants:
        if place not in loaded:
            moving, fixed = e.parts(places, place, scale)
            pointer = e.gep(e.gep(base, moving), fixed)
            # The array is constant, so its loads are pure: shared, and hoisted out of loops.
            read = e.pure(
                "array element",
                (pointer,),
                lambda pointer=pointer: llvm.Load(pointer, i64(scale), res=stored(element)),
            )
            loaded[place] = from_memory(e, read, element)
    return [loaded[place] for place in places.constants]


def _array(op: Operation, value: DenseElementsAttr) -> str:
    """The name of a new array that holds a tile in row-major order, as the bits in memory."""
    module = op
    while module.parent_op is not None:
        module = module.parent_op
    type = IntegerType(bit_width(stored(value.shaped.element)))
    held = [scalar_attribute(a) for a in value.attributes()]
    bits = [
        a.bits if isinstance(a, FloatAttr) else a.value
        for a in held
        if isinstance(a, FloatAttr | IntegerAttr)
    ]
    attributes: dict[str, Attribute] = {
        "global_type": TypeAttr(ArrayType(len(bits), type)),
        "constant": UNIT,
        "sym_name": StringAttr("constant"),
        "linkage": llvm.LinkageAttr("internal"),
        "value": DenseElementsAttr.of(RankedTensorType((len(bits),), type), bits),
        "alignment": i64(ARRAY_ALIGNMENT),
        "addr_space": i32(1),
    }
    made = llvm.Global.create([], [], attributes, [Region()], location=op.location)
    return SymbolTable(module).insert(made, module.regions[0].entry.first_op)
