"""Vectorization of accesses to adjacent single elements of global memory.

    %A[%i + 4], … %A[%i + 7]     i a multiple of 4, rows and addresses of 16 bytes: vector_width = 4

Adjacency is proven by indices (equal except for the last, which differ by constants), alignment by divisors of the
index and by tessera.alignment.  A vector has exactly the elements that the program accesses, so it is in bounds.  Loads
move to the first, stores to the last of the accesses; in between there is no conflicting access of global memory, and
no synchronization.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.transfer import ZERO_DIVISOR
from tessera_tools.dialects import arith, func, memref, tile, vector
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i64
from tessera_tools.ir.core import Block, BlockArgument, Operation, Value
from tessera_tools.ir.effects import Resource, accesses
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import DYNAMIC, I64, FloatType, IntegerType, Type, VectorType, bit_width
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.interference import dominates
from tessera_tools.records import dataclass, field

WIDEST = 128
"""The widest access, in bits (PTX ISA, "ld", "st")."""


@dataclass
class _Run:
    """Accesses of one kind to one row in a block: constant offset from the common index → the op."""

    base: Value | None
    members: dict[int, Any] = field(default_factory=dict)


def vectorize(function: func.Func) -> int:
    """Vectorize accesses in a function; returns the number of vectors."""
    alignment = alignment_of(function)
    blocks = [function.body.entry, *(b for op in function.walk() for r in op.regions for b in r.blocks)]
    return sum(_in_block(block, alignment) for block in dict.fromkeys(blocks))


def _in_block(block: Block, alignment: int) -> int:
    runs: dict[Any, _Run] = {}
    found: list[_Run] = []

    def close(kinds: tuple[type, ...]) -> None:
        for key in [k for k in runs if k[0] in kinds]:
            found.append(runs.pop(key))

    for op in block:
        if isinstance(op, tile.LoadGlobal):
            close((tile.StoreGlobalElement,))
            _add(runs, found, op)
        elif isinstance(op, tile.StoreGlobalElement):
            close((tile.LoadGlobal,))
            # Other stores may have the same address; only those of one run are known to be distinct.
            mine = _key(op)
            for key in [k for k in runs if k != mine]:
                found.append(runs.pop(key))
            _add(runs, found, op)
        elif not _is_independent(op):
            close((tile.LoadGlobal, tile.StoreGlobalElement))
    close((tile.LoadGlobal, tile.StoreGlobalElement))
    facts = Facts()
    return sum(_vectors(run, facts, alignment) for run in found)


def _is_independent(op: Operation) -> bool:
    """True if an op neither accesses global memory nor waits."""
    if op.regions or op.effects() is None:
        return False
    return all(effect.resource in (Resource.SHARED, Resource.REGISTERS) for effect, _ in accesses(op))


def _split(value: Value) -> tuple[Value | None, int]:
    """An index as a value plus a constant."""
    constant = 0
    while True:
        number = constant_integer(value)
        if number is not None:
            return None, constant + number
        op = value.defining_op
        if isinstance(op, arith.AddI) and (number := constant_integer(op.rhs)) is not None:
            value, constant = op.lhs, constant + number
        elif isinstance(op, arith.AddI) and (number := constant_integer(op.lhs)) is not None:
            value, constant = op.rhs, constant + number
        elif isinstance(op, arith.SubI) and (number := constant_integer(op.rhs)) is not None:
            value, constant = op.lhs, constant - number
        else:
            return value, constant


def _key(op: Any) -> Any:
    """The common properties of the accesses of a run."""
    *leading, last = op.indices
    base, _ = _split(last)
    # Equal numbers may be several constants.
    rows = tuple(_split(v) for v in leading)
    return (type(op), op.buffer, rows, base, frozenset(op.attributes.items()))


def _add(runs: dict[Any, _Run], found: list[_Run], op: Any) -> None:
    if not op.indices or not _has_memory_form(op.buffer.type.element):
        return
    key = _key(op)
    base, constant = _split(op.indices[-1])
    run = runs.setdefault(key, _Run(base))
    if constant in run.members:
        # The same address again: the order of stores must be preserved.
        found.append(run)
        run = runs[key] = _Run(base)
    run.members[constant] = op


def _has_memory_form(element: Type) -> bool:
    """True if an element has the same representation in registers and in memory."""
    if isinstance(element, FloatType):
        return element.width in (16, 32, 64)
    return isinstance(element, IntegerType) and element.width in (8, 16, 32, 64)


def _vectors(run: _Run, facts: Facts, alignment: int) -> int:
    """The vectors of a run, the widest first."""
    if not run.members:
        return 0
    op = next(iter(run.members.values()))
    most = _widest(op, run.base, facts, alignment)
    made, width = 0, most
    while width > 1:
        for start in sorted(run.members):
            places = range(start, start + width)
            if start % width == 0 and all(p in run.members for p in places):
                members = [run.members[p] for p in places]
                if _replace(members):
                    made += 1
                    for p in places:
                        del run.members[p]
        width //= 2
    return made


def _widest(op: Any, base: Value | None, facts: Facts, alignment: int) -> int:
    """The maximum number of elements of a vector with proven alignment: a power of two."""
    type = op.buffer.type
    divisors = [facts.divisor(base) if base is not None else ZERO_DIVISOR]
    tensor, column = op.buffer, None
    if isinstance(tensor.defining_op, memref.SubView):
        cut = tensor.defining_op
        if any(stride != 1 for stride in cut.static_strides.values):
            return 1
        column = cut.static_offsets.values[-1]
        divisors.append(
            facts.divisor(cut.offsets[-1]) if column == memref.DYNAMIC_INDEX else abs(column) or ZERO_DIVISOR
        )
        tensor = cut.source
    elif isinstance(tensor.defining_op, tile.ComputeTensorSlice):
        tensor = tensor.defining_op.source
    if not isinstance(tensor, BlockArgument):
        return 1
    rows = [t.shape[-1] for t in (type, tensor.type) if t.shape[-1] != DYNAMIC]
    width = 1
    size = bit_width(type.element)
    while (
        2 * width * size <= WIDEST
        and alignment % (2 * width * size // 8) == 0
        and all(d % (2 * width) == 0 for d in (*divisors, *rows))
    ):
        width *= 2
    return width


def _replace(members: Sequence[Any]) -> bool:
    """Replace adjacent accesses, in address order, by one; not if an index is defined too late."""
    first = members[0]
    width = len(members)
    attributes = {k: v for k, v in first.attributes.items() if k in _KEPT or k.startswith("tessera.")}
    type = VectorType((width,), first.buffer.type.element)
    ordered = sorted(members, key=_Place)
    if isinstance(first, tile.LoadGlobal):
        place = ordered[0]
        if not all(dominates(v, place) for v in (*first.indices, first.buffer)):
            return False
        load: Any = tile.LoadGlobalVector(
            first.buffer,
            list(first.indices),
            i64(width),
            res=type,
            attributes=attributes,
            location=place.location,
        )
        place.parent.insert_before(place, load)
        for number, op in enumerate(members):
            position = DenseArrayAttr(I64, (number,))
            element = vector.Extract(load.res, [], position, result=type.element, location=op.location)
            load.parent.insert_after(load, element)
            element.results[0].name_hint = op.res.name_hint
            op.res.replace_all_uses_with(element.results[0])
            op.erase()
        return True
    place = ordered[-1]
    values = vector.FromElements([op.value for op in members], dest=type, location=place.location)
    place.parent.insert_before(place, values)
    store: Any = tile.StoreGlobalVector(
        values.results[0],
        first.buffer,
        list(first.indices),
        i64(width),
        attributes=attributes,
        location=place.location,
    )
    place.parent.insert_before(place, store)
    for op in members:
        op.erase()
    return True


_KEPT = ("coalesce", "cache_policy")


class _Place:
    """A position in a block, for comparisons."""

    def __init__(self, op: Operation) -> None:
        self.op = op

    def __lt__(self, other: _Place) -> bool:
        return self.op.is_before_in_block(other.op)
