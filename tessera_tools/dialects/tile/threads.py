"""Queries of threads, warps and blocks."""

from __future__ import annotations

from tessera_tools.ir.types import INDEX
from tessera_tools.opdef import I64_ATTR, PURE, Op, attribute, exactly, result


class _Number(Op):
    """The base of queries."""

    res = result(exactly(INDEX))
    assembly = "attr-dict `:` type($res)"


class _Coordinate(Op):
    """The base of queries along an axis of the grid (0, 1 or 2)."""

    axis = attribute(I64_ATTR, optional=True)
    res = result(exactly(INDEX))
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        if self.axis is not None and not 0 <= self.axis.value <= 2:
            raise self.error(f"axis must be 0, 1 or 2, got {self.axis.value}")


class ThreadId(_Number, name="tile.thread_id", traits=(PURE,)):
    """The index of this thread in its block."""


class WarpId(_Number, name="tile.warp_id", traits=(PURE,)):
    """The index of this thread's warp in its block."""


class LaneId(_Number, name="tile.lane_id", traits=(PURE,)):
    """The index of this thread in its warp, 0 to 31."""


class BlockId(_Coordinate, name="tile.block_id", traits=(PURE,)):
    """The index of this block along an axis of the grid (default: 0)."""


class NumThreads(_Number, name="tile.num_threads", traits=(PURE,)):
    """The number of threads in a block."""


class NumBlocks(_Coordinate, name="tile.num_blocks", traits=(PURE,)):
    """The number of blocks of the grid along an axis (default: 0)."""
