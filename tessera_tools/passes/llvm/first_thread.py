"""Code that one thread executes for its tile block: loops over the elements of tiles, calls of vprintf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I32, RankedTensorType, bit_width
from tessera_tools.passes.llvm.control import branch, branch_if
from tessera_tools.passes.llvm.emitter import Int
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering
from tessera_tools.passes.llvm.owners import store_rows
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.symbols import GENERIC
from tessera_tools.passes.llvm.tiles import Tile, from_memory, stored
from tessera_tools.planning.scratch import part_elements


def counted(low: Lowering, count: int, body: Callable[[Value], None]) -> None:
    """Run `body(i)` for i from 0 to `count` - 1; `count` is at least 1."""
    e = low.e
    header, after = e.new_block([I32]), e.new_block()
    e.open(branch(low, header, [e.constant(0)]))
    (index,) = header.arguments
    e.at_depth(index, e.current_depth)
    e.block = header
    body(index)
    following = e.constant(e.add(index, 1))
    branch_if(low, e.icmp("eq", following, count), after, header, [following])
    e.close()
    e.block = after


def each_element(
    low: Lowering,
    tile: Tile,
    type: RankedTensorType,
    offset: int,
    body: Callable[[Value, Value], None],
) -> None:
    """Run `body(index, element)` in the first thread for the elements of a tile, in row-major order.

    All threads of the CTA must reach this; they transfer the elements in parts, through `PART_BYTES` of shared memory
    at a byte offset. The first thread may still read there when the others continue.
    """
    e = low.e
    count = part_elements(type)
    parts = type.num_elements // count

    def part(number: Int) -> None:
        store_rows(low, tile, type, offset, (number, count) if parts > 1 else None)
        e.barrier()

        def element(index: Value) -> None:
            loaded = _element(low, offset, type.element, index)
            body(e.constant(e.add(e.mul(number, count), index)), loaded)

        with only_where(e, e.is_first_thread):
            counted(low, count, element)

    def next_part(number: Value) -> None:
        e.barrier()
        part(number)

    if parts > 1:
        counted(low, parts, next_part)
    else:
        part(0)


def _element(low: Lowering, offset: int, element: Type, index: Value) -> Value:
    e, size = low.e, element_bytes(element)
    place = e.gep(e.gep(e.address_of(GLOBAL_SMEM), offset), e.mul(index, size))
    loaded = e.emit(llvm.Load(place, i64(size), res=stored(element))).results[0]
    return from_memory(e, loaded, element)


def vprintf(low: Lowering, op: Operation, format: str, arguments: Sequence[Value]) -> None:
    """Print by a format; `op` is the requesting op.

    The arguments are in memory like C's varargs: 4 or 8 bytes each, aligned to their size (CUDA's "PTX Writer's Guide
    to Interoperability", "System Calls").
    """
    e = low.e
    sizes = [8 if isinstance(a.type, PointerType) else bit_width(a.type) // 8 for a in arguments]
    ends = list(accumulate(sizes, lambda end, size: -(-end // size) * size + size))
    if ends:
        buffer = e.stack(ends[-1])
    else:
        buffer = e.pure("null", (), lambda: llvm.Zero(res=GENERIC))
    for argument, size, end in zip(arguments, sizes, ends, strict=True):
        e.emit(llvm.Store(argument, e.gep(buffer, end - size, shared=False), i64(size)))
    low.symbols.call(e, op, "vprintf", [low.symbols.text(e, format), buffer])
