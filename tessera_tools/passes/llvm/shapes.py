"""Ops that rearrange a whole tile: selections of each thread's registers, because layouts keep elements in their
threads."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import I32, IntegerType
from tessera_tools.layout import LinearLayout, as_xor_expression
from tessera_tools.layout.conversion import register_move
from tessera_tools.layout.distributed import fit
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.tiles import Tile, converted
from tessera_tools.planning.layout_rules import Copy, copies


def picked(e: Emitter, values: Sequence[Value], chosen: Int, bits: int, constant: int = 0) -> Value:
    """values[chosen ^ constant], where `chosen` may set only `bits` of the index: a tree of selects."""
    if isinstance(chosen, int):
        return values[chosen ^ constant]
    candidates = {0: values[constant]}
    flags = [bit for bit in range(bits.bit_length()) if bits >> bit & 1]
    for bit in flags:
        candidates.update({key | 1 << bit: values[(key | 1 << bit) ^ constant] for key in list(candidates)})
    for bit in flags:
        flag = e.icmp("ne", e.and_(chosen, 1 << bit), 0)
        candidates = {
            key: e.either(flag, candidates[key | 1 << bit], value)
            for key, value in candidates.items()
            if not key >> bit & 1
        }
    return candidates[0]


def gathered(low: Lowering, op: Operation, source: Value, wanted: LinearLayout) -> list[Value]:
    """The registers of a tile in the order of another layout of its coordinates, one value per register of that
    layout."""
    e = low.e
    tile = low.tile(source)
    move = register_move(tile.layout, wanted)
    if move is None:
        raise op.error(
            "has incompatible layouts: each thread must hold the source elements of its part of the result"
        )
    values = tile.elements(e)
    if move.is_static:
        return [values[register] for register in move.source.constants]
    chosen = e.thread_part(move.source)
    bits = move.source.base_bits
    return [picked(e, values, chosen, bits, constant) for constant in move.source.constants]


def _seen(low: Lowering, op: Operation, copy: Copy) -> list[Value]:
    assert copy.seen is not None
    return gathered(low, op, copy.source, copy.seen(nv_tileas.layout_of(copy.result.type)))


@lowers("nv_tileaa.permute", "nv_tileaa.reshape", "nv_tileaa.broadcast")
def rearrange(low: Lowering, op: nv_tileaa.Permute | nv_tileaa.Reshape | nv_tileaa.Broadcast) -> None:
    """A renaming of registers, or no op if they are the same."""
    (copy,) = copies(op)
    assert copy.seen is not None
    tile = low.tile(op.source)
    if copy.seen(nv_tileas.layout_of(op.res.type)) == tile.layout:
        low.define(op.res, tile.renamed(op.res.type))
    else:
        low.define(op.res, Tile(op.res.type, _seen(low, op, copy)))


@lowers("nv_tileaa.splat")
def splat(low: Lowering, op: nv_tileaa.Splat) -> None:
    """The scalar in every register."""
    low.define(op.res, Tile.splat(op.res.type, low.scalar(op.source)))


@lowers("nv_tileaa.unsplat")
def unsplat(low: Lowering, op: nv_tileaa.Unsplat) -> None:
    """Any register: every thread holds the single element."""
    low.define(op.res, low.tile(op.source).elements(low.e)[0])


@lowers("nv_tileaa.iota")
def iota(low: Lowering, op: nv_tileaa.Iota) -> None:
    """The coordinate of each register."""
    e = low.e
    expression = as_xor_expression(nv_tileas.layout_of(op.res.type), out="dim0")
    element = converted(op.res.type.element)
    assert isinstance(element, IntegerType)
    values = []
    for constant in expression.constants:
        place = e.constant(e.add(*e.parts(expression, constant)), I32)
        values.append(e.resized(place, element))
    low.define(op.res, Tile(op.res.type, values))


@lowers("nv_tileaa.cat")
def cat(low: Lowering, op: nv_tileaa.Cat) -> None:
    """The registers of the one tile, and those of the other."""
    lhs, rhs = (_seen(low, op, copy) for copy in copies(op))
    axis, size = op.axis.value, op.lhs.type.shape[op.axis.value]
    places = as_xor_expression(nv_tileas.layout_of(op.res.type), out=f"dim{axis}").constants
    values = [b if place >= size else a for a, b, place in zip(lhs, rhs, places, strict=True)]
    low.define(op.res, Tile(op.res.type, values))


@lowers("nv_tileaa.extract")
def extract(low: Lowering, op: nv_tileaa.Extract) -> None:
    """A selection of a part in registers."""
    e = low.e
    whole, part = op.source.type.shape, op.res.type.shape
    layout = nv_tileas.layout_of(op.res.type)
    registers = layout.in_size("register")
    values = gathered(low, op, op.source, fit(layout, whole, range(len(whole) - 1, -1, -1)))
    chosen: Int = 0
    shift = 0
    for axis in range(len(whole) - 1, -1, -1):
        count = whole[axis] // part[axis]
        index = e.and_(_index(low, op.indices[axis]), count - 1)
        chosen = e.add(chosen, e.shl(index, shift))
        shift += count.bit_length() - 1
    parts = len(values) // registers
    low.define(
        op.res,
        Tile(op.res.type, [picked(e, values[r::registers], chosen, parts - 1) for r in range(registers)]),
    )


@lowers("nv_tileaa.insert")
def insert(low: Lowering, op: nv_tileaa.Insert) -> None:
    """The new part at its index, the old elements elsewhere."""
    e = low.e
    (copy,) = copies(op)
    part = op.source.type.shape
    new, old = _seen(low, op, copy), low.tile(op.dest).elements(e)
    layout = nv_tileas.layout_of(op.res.type)
    indices = [_index(low, value) for value in op.indices]
    places = [as_xor_expression(layout, out=f"dim{axis}").constants for axis in range(len(part))]
    values = []
    for register, (inside, outside) in enumerate(zip(new, old, strict=True)):
        conditions: list[Value | None] = []
        hit = True
        for index, place, size in zip(indices, places, part, strict=True):
            number = place[register] // size
            if isinstance(index, int):
                hit = hit and index == number
            else:
                conditions.append(e.icmp("eq", index, number))
        condition = e.both(conditions)
        values.append(
            outside if not hit else inside if condition is None else e.either(condition, inside, outside)
        )
    low.define(op.res, Tile(op.res.type, values))


def _index(low: Lowering, value: Value) -> Int:
    """An index, as a Python int if it is constant."""
    number = constant_integer(value)
    return number if number is not None else low.scalar(value)
