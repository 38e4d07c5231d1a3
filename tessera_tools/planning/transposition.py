"""The layout in registers of a tile of 8 or 32 bits between two buffers, where it is not a tile's usual one.

    shared memory, rows along N ──ld.shared.b32──▶ 4 x 4 elements of a thread ──st.shared.b32──▶ rows along K

wgmma reads factors of 8 bits and of tf32 along K only, and what TMA brings may lie along N.  A thread that holds a box
of whole words of both axes loads words, exchanges bytes in registers, and stores words.  Of the boxes and of the grids
of threads, the one with the fewest wavefronts of shared memory is chosen.  If both buffers are contiguous along the
first axis, as those of the scales of B, a thread has words along it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, Value
from tessera_tools.layout import LinearLayout, blocked, coalesced, reshape, transpose
from tessera_tools.layout.access import vector_cost

_WORD = 32
_WORDS = (1, 2, 4)
"""Words of a thread along an axis, to the widest access."""


def transposing_layout(store: nv_tileas.Store, warps: int) -> LinearLayout | None:
    """The layout of a tile that `store` writes as it is read from shared memory, or along the other axis; None if this
    is not what the op does, or if the usual layout does."""
    type = store.value.type
    source = _read_layout(store.value)
    target = store.buffer.type.layout
    bits = storage_bits(type.element)
    if source is None or target is None or bits not in (8, _WORD) or type.rank != 2:
        return None
    if source.outs != target.layout.outs:
        return None
    if _start(source) == _start(target.layout):
        is_first = bits < _WORD and _axis(source) == 0
        return coalesced(type.shape, _WORD // bits, warps, 0) if is_first else None
    return _best(type.shape, source, target.layout, warps, bits)


def same_axis(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> int | None:
    """The axis of a reshaped tile that is an axis of the tile; None if there is none."""
    behind = prod(shape[axis + 1 :])
    for number, size in enumerate(other):
        if size == shape[axis] and prod(other[number + 1 :]) == behind:
            return number
    return None


def _read_layout(value: Value) -> LinearLayout | None:
    """The layout in shared memory of a tile of which a part is read from there, permuted and reshaped."""
    moves: list[nv_tileaa.Permute | nv_tileaa.Reshape] = []
    while isinstance(op := value.defining_op, nv_tileaa.Permute | nv_tileaa.Reshape) and value.has_one_use:
        moves.append(op)
        value = op.source
    op: Operation | None = value.defining_op
    if not isinstance(op, nv_tileas.Load) or not value.has_one_use or op.buffer.type.layout is None:
        return None
    whole, part = op.buffer.type.tile, op.res.type.shape
    cut = [axis for axis, (size, other) in enumerate(zip(whole, part, strict=True)) if size != other]
    if len(cut) > 1:
        return None
    axis = cut[0] if cut else None
    layout = op.buffer.type.layout.layout
    for move in reversed(moves):
        if isinstance(move, nv_tileaa.Permute):
            layout = transpose(layout, move.permutation.values)
            axis = None if axis is None else move.permutation.values.index(axis)
            continue
        shape = list(move.res.type.shape)
        if axis is not None:
            size = dict(layout.outs)[f"dim{axis}"]
            axis = same_axis(move.source.type.shape, move.res.type.shape, axis)
            if axis is None:
                return None
            shape[axis] = size
        layout = reshape(layout, shape)
    return layout if len(layout.outs) == 2 else None


def _start(memory: LinearLayout) -> list[dict[str, int]]:
    """The elements behind the first one of a tile."""
    return [dict(memory.apply({"offset": offset})) for offset in (1, 2)]


def _axis(memory: LinearLayout) -> int:
    """The axis along which a tile of two axes is contiguous."""
    return 0 if memory.apply({"offset": 1})["dim0"] else 1


@lru_cache(maxsize=64)
def _best(
    shape: tuple[int, int], source: LinearLayout, target: LinearLayout, warps: int, bits: int
) -> LinearLayout | None:
    def cost(layout: LinearLayout) -> int:
        for name, size in target.outs:
            layout = layout.resize_out(name, size)
        return sum(vector_cost(layout, memory, bits).total for memory in (source, target))

    return min(_boxes(shape, warps, bits), key=cost, default=None)


def _boxes(shape: tuple[int, int], warps: int, bits: int) -> Iterator[LinearLayout]:
    """The layouts in which each thread has a box of its own."""
    sizes = [words * _WORD // bits for words in _WORDS]
    for rows, columns in product(sizes, sizes):
        if rows * columns * 32 * warps > prod(shape):
            continue
        for lanes in (1, 2, 4, 8, 16, 32):
            if rows * lanes > shape[0] or columns * (32 // lanes) > shape[1]:
                continue
            left = shape[0] // (rows * lanes)
            along = min(warps, left)
            yield blocked(shape, (rows, columns), (lanes, 32 // lanes), (along, warps // along), (1, 0))
