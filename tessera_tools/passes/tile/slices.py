"""Slices of tensors in global memory, and their bounds.

    memref.subview %Q[%b, %h, %row, 0][1, 1, 128, %d][1, 1, 1, 1]     rows %row to %row + 128, columns 0 to %d

The program defines the extents of a slice.  A tile reads zeros outside its slice or tensor; its writes there are
ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.analysis.equality import Equalities
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.transfer import ZERO_DIVISOR
from tessera_tools.dialects import memref, tile
from tessera_tools.dialects.memref.lists import mixed_items
from tessera_tools.ir.core import BlockArgument, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import DYNAMIC, MemRefType
from tessera_tools.records import dataclass

Number = Value | int


@dataclass(frozen=True)
class Slice:
    """A matrix of the last two dimensions of a tensor, or a vector of the last one."""

    tensor: Value
    leading: tuple[Number, ...]
    """The leading indices; empty if the op uses the block's coordinates."""
    start: tuple[Number, ...]
    """Its first row and column; for a vector, its first element."""
    sizes: tuple[Number | None, ...]
    """Its rows and columns; None if it extends to the end of the tensor."""

    def ends_within(self, shape: Sequence[int]) -> tuple[bool, ...]:
        """For each axis, true if a tile of this shape may exceed the slice but not the tensor."""
        return tuple(
            size is not None and (isinstance(size, Value) or size < extent)
            for size, extent in zip(self.sizes, shape, strict=True)
        )

    def column_divisors(self, shape: Sequence[int], facts: Facts, alignment: int) -> list[int]:
        """Numbers of elements; a common divisor of them divides the start and end columns of the slice."""
        whole = max(1, alignment // max(1, storage_bits(self.tensor.type.element) // 8))  # type: ignore[attr-defined]
        last: int = self.tensor.type.shape[-1]  # type: ignore[attr-defined]
        found = [whole, last if last != DYNAMIC else whole, _divisor(self.start[-1], facts)]
        if self.ends_within(shape)[-1]:
            size = self.sizes[-1]
            assert size is not None
            found.append(max(_divisor(size, facts), whole if _is_last_extent(size) else 1))
        return found


def slice_of(value: Value) -> Slice | None:
    """The slice of a memref in global memory; None if unknown."""
    op = value.defining_op
    if isinstance(op, tile.ComputeTensorSlice):
        return Slice(op.source, (), (op.start, 0), (op.res.type.shape[0], None))
    if isinstance(op, memref.SubView):
        return _cut(op)
    if isinstance(value, BlockArgument) and 1 <= (rank := value.type.rank) <= 2:  # type: ignore[attr-defined]
        return Slice(value, (), (0,) * rank, (None,) * rank)
    return None


def _cut(op: memref.SubView) -> Slice | None:
    """The matrix or vector of a subview: one index in each leading dimension, unit strides."""
    rank, own = op.source.type.rank, op.result.type.rank
    offsets, sizes = mixed_items(op, "offsets"), mixed_items(op, "sizes")
    if not 1 <= own <= 2 or any(n != 1 for n in (*op.static_strides.values, *sizes[: rank - own])):
        return None
    equalities = Equalities()
    ends: list[Number | None] = []
    for axis in range(rank - own, rank):
        whole = offsets[axis] == 0 and equalities.is_extent(op, sizes[axis], op.source, axis)
        ends.append(None if whole else sizes[axis])
    return Slice(op.source, tuple(offsets[: rank - own]), tuple(offsets[rank - own :]), tuple(ends))


def _divisor(number: Number, facts: Facts) -> int:
    return facts.divisor(number) if isinstance(number, Value) else number or ZERO_DIVISOR


def _is_last_extent(number: Number) -> bool:
    """True if a number is the last extent of a parameter, which is a multiple of the kernel's alignment."""
    op = number.defining_op if isinstance(number, Value) else None
    if not isinstance(op, memref.Dim) or not isinstance(op.source, BlockArgument):
        return False
    type = op.source.type
    return isinstance(type, MemRefType) and constant_integer(op.index) == type.rank - 1
