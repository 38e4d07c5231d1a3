"""tile-performance-annotation: marks hot loops, and adds hints for unrolling and memory accesses.

    innermost loop                     tessera.hot_path, tessera.unroll_hint = n       n bodies per test
    product, load of global memory     tessera.performance_critical
    load of global memory              tessera.cache_hint = "L1" | "L2" | "streaming"  ld.global, ld.global.cg, .cs
    load or copy in a loop             tessera.prefetch                                prefetch.global.L2, a step ahead
    store to global memory             tessera.write_policy = "write_back" | "streaming"   st.global, st.global.cs
    option markers                     tile.profile_marker                             records of %globaltimer

convert-tile-to-tileas lowers the hints; an explicit `cache_policy` takes precedence.  Hints do not change
results.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, ClassVar

from tessera_tools.analysis.fragments import DEFAULT_THREADS, THREADS
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, memref, scf, tile
from tessera_tools.dialects.tile.asynchronous import CopyLike
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import TRUE, UNIT, IntegerAttr, StringAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, FloatType, IntegerType, MemRefType
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tile.advance import Advance, advance
from tessera_tools.passes.tile.convert_tile_to_tileas import is_kernel
from tessera_tools.passes.tile.hints import CACHE, PREFETCH, WRITE
from tessera_tools.planning.unrolling import UNROLL_HINT
from tessera_tools.records import dataclass

HOT, CRITICAL = "tessera.hot_path", "tessera.performance_critical"

_ELEMENT_LOADS = (tile.LoadGlobal, tile.LoadGlobalVector)
_LOADS = (*_ELEMENT_LOADS, tile.LoadGlobalTile)
_STORES = (tile.StoreGlobal, tile.StoreGlobalElement, tile.StoreGlobalVector)

INSTRUCTIONS = 512
"""Limit of instructions in an unrolled body.  An instruction has 16 bytes, and each of an SM's four partitions has an
instruction cache for 768 of them (12 KiB, measured on Volta and Turing); the rest is for the code around the loop.
"""
_LINE = 128
_MMA_WORK = 64
"""Multiply-adds of one thread in an m16n8k16, of its warp's 32."""


@dataclass(frozen=True)
class TilePerformanceAnnotation(Pass):
    """Annotate hot loops, expensive ops, and accesses to global memory of `tile` programs."""

    name: ClassVar = "tile-performance-annotation"
    summary: ClassVar = "add loop, cache and prefetch hints to the tile dialect, and optional profile markers"
    ensures: ClassVar = "only hints are added; with markers, every kernel has some"
    statistics: ClassVar = {
        "loops": "innermost loops",
        "prefetches": "accesses to prefetch",
        "markers": "profile markers added",
    }

    markers: bool = option(False, "add profile markers at kernel entry and exit, and around products")

    def run(self, op: Operation, context: PassContext) -> None:
        for function in [f for f in op.walk() if isinstance(f, func.Func)]:
            _annotate(function, context)
            if self.markers:
                context.count("markers", _mark(function))


def _annotate(function: Operation, context: PassContext) -> None:
    accesses = Counter(_tensor(op) for op in function.walk() if _accesses_global(op))
    threads = function.attributes.get(THREADS)
    count = threads.value if isinstance(threads, IntegerAttr) else DEFAULT_THREADS
    for op in function.walk():
        if isinstance(op, scf.For) and not any(isinstance(o, scf.For) for o in op.walk()):
            op.attributes[HOT] = UNIT
            op.attributes[UNROLL_HINT] = i64(unroll_factor(op, count))
            context.count("loops")
        if isinstance(op, (Product, CopyLike, *_LOADS)):
            op.attributes[CRITICAL] = UNIT
        if isinstance(op, _LOADS):
            op.attributes[CACHE] = StringAttr(_reuse(op, accesses[_tensor(op)]))
        if isinstance(op, _STORES):
            again = accesses[_tensor(op)] > 1
            op.attributes[WRITE] = StringAttr("write_back" if again else "streaming")
        if isinstance(op, (CopyLike, *_LOADS)) and _is_predictable(op):
            op.attributes[PREFETCH] = TRUE
            context.count("prefetches")


# -- unrolling


def unroll_factor(loop: scf.For, threads: int = DEFAULT_THREADS) -> int:
    """The unroll factor, for a body of at most `INSTRUCTIONS`.

    A loop with a known trip count is unrolled fully if it fits, otherwise by a power of two that divides the trip
    count, so that there is no remainder.  A loop with an unknown trip count needs a second body for the remainder,
    which is also counted.
    """
    size = max(1, sum(instructions(op, threads) for op in loop.walk()))
    trips = loop.trip_count
    if trips is not None and trips * size <= INSTRUCTIONS:
        return max(1, trips)
    factor = 1
    while (
        (2 * factor + (trips is None)) * size <= INSTRUCTIONS
        and (trips is None or trips % (2 * factor) == 0)
    ):  # fmt: skip
        factor *= 2
    return factor


def instructions(op: Operation, threads: int = DEFAULT_THREADS) -> int:
    """The estimated number of instructions of a thread for an op: one for each element of a fragment, each mma.sync of
    a product, and each 16 bytes of a copy."""
    if isinstance(op, Product):
        shared = op.rhs if tile.space_of(op.rhs.type) != tile.REGISTERS else op.lhs
        turned = op.transposes_b if shared is op.rhs else not op.transposes_a
        depth = shared.type.shape[1 if turned else 0]
        work = prod(op.res.type.shape) * max(1, depth)
        return work if op.lhs.type.element is F32 else -(-work // _MMA_WORK)
    if isinstance(op, CopyLike) and op.dest.type.is_static:
        bits = op.dest.type.num_elements * _width(op.dest.type.element)
        return -(-bits // (128 * threads))
    if isinstance(op, tile.Copy):
        return 0  # a copy of a fragment only renames it
    types = [t for t in (*op.operand_types, *op.result_types) if isinstance(t, MemRefType)]
    held = [t.num_elements for t in types if t.is_static and tile.space_of(t) == tile.REGISTERS]
    return max(held, default=1)


def _width(element: Type) -> int:
    return storage_bits(element) if isinstance(element, IntegerType | FloatType) else 64


# -- memory


def _accesses_global(op: Operation) -> bool:
    return isinstance(op, (*_LOADS, *_STORES, CopyLike))


def _buffer(op: Any) -> Value:
    """The matrix or tensor in global memory of an access."""
    if isinstance(op, CopyLike | tile.LoadGlobalTile):
        return op.source
    return op.dest if isinstance(op, tile.StoreGlobal) else op.buffer


def _tensor(op: Operation) -> Value:
    """The tensor of which the matrix is a slice."""
    value = _buffer(op)
    while isinstance(value.defining_op, tile.ComputeTensorSlice | memref.SubView):
        value = value.defining_op.source
    return value


def _loop(op: Operation) -> scf.For | None:
    """The loop whose body directly contains an op; None if there is none."""
    loop = op.parent_op
    return loop if isinstance(loop, scf.For) else None


def _reuse(op: Operation, accesses: int) -> str:
    """The cache level for a load.

    "L1" (the default of ld.global) if the loop reuses the line: the address is constant, or advances by less than a
    line. "L2" if there is another access to the tensor.  "streaming" if there is no reuse.
    """
    loop = _loop(op)
    if loop is not None and isinstance(op, _ELEMENT_LOADS) and op.indices:
        moved = [advance(v, loop) for v in op.indices]
        bytes = _width(op.buffer.type.element) // 8
        if all(m == 0 for m in moved[:-1]) and isinstance(moved[-1], int) and abs(moved[-1]) * bytes < _LINE:
            return "L1"
    if loop is not None and isinstance(op, tile.LoadGlobalTile) and _place(op, loop) == [0]:
        return "L1"
    return "L2" if accesses > 1 else "streaming"


def _place(op: Operation, loop: scf.For) -> list[Advance]:
    """The advances of the values that determine the address of an access; [0] if it is constant."""
    slice = _buffer(op).defining_op
    indices: list[Value] = list(getattr(op, "indices", ()))
    if isinstance(slice, tile.ComputeTensorSlice):
        indices.append(slice.start)
    elif isinstance(slice, memref.SubView):
        indices += slice.offsets
    return list({advance(v, loop): None for v in indices}) or [0]


def _is_predictable(op: Operation) -> bool:
    """True if the next iteration's address can be computed in this one, and is in another line: indices with constant
    steps."""
    loop = _loop(op)
    if loop is None or (isinstance(op, _LOADS) and _reuse(op, 0) == "L1"):
        return False
    moves = _place(op, loop)
    return None not in moves and any(m != 0 for m in moves) and loop.trip_count != 1


# -- markers


def _mark(function: func.Func) -> int:
    """Add markers at entry and exit, and around products; returns their number.  A function with markers is not
    changed."""
    if not function.body.blocks or not is_kernel(function):
        return 0
    if any(isinstance(op, tile.ProfileMarker) for op in function.walk()):
        return 0
    name = StringAttr(function.sym_name.value)
    added: list[tuple[Operation | None, Operation]] = [
        (function.body.entry.first_op, tile.ProfileMarker(StringAttr("function_entry"), name))
    ]
    for op in function.walk():
        if isinstance(op, func.Return):
            added.append((op, tile.ProfileMarker(StringAttr("function_exit"), name)))
        elif isinstance(op, Product):
            what = StringAttr(op.name)
            added.append((op, tile.ProfileMarker(StringAttr("compute_start"), what)))
            added.append((op.next_op, tile.ProfileMarker(StringAttr("compute_end"), what)))
    for place, marker in added:
        assert place is not None and place.parent is not None  # Each block has a terminator.
        marker.location = place.location
        place.parent.insert_before(place, marker)
    return len(added)
