"""Addresses of the elements of a tensor copy: in global memory by the tensor map, in shared memory by its swizzle.

    coordinates ──Box (tile: a box; im2col: a column of pixels)──▶ rows of the innermost dimension, in bounds or not
    row r, byte b ──▶ shared byte r * pitch + b ──swizzle──▶ address bits 4 and up are xored with bits 7 and up

Sources: PTX ISA, "Tensors": "Tiled Mode", "im2col mode", "Swizzling modes", "Out-of-boundary access".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.tensor_map import SPANS, TensorMap

__all__ = ["Box", "column", "fill_of", "gather4", "loaded", "swizzled", "tile"]


@dataclass(slots=True)
class Box:
    """Rows of the innermost dimension. `starts`: byte offset of each row's first element from the map's address.

    `row_ok` and `column_ok` mark the rows and columns (groups of elements) inside the tensor.
    """

    starts: Array
    row_ok: Array
    column_ok: Array
    size: int
    """Bytes of a column in global memory."""
    shared: int
    """Bytes of a column in shared memory."""

    @property
    def rows(self) -> int:
        return len(self.starts)

    @property
    def columns(self) -> int:
        return len(self.column_ok)

    @property
    def bytes(self) -> int:
        """The transaction bytes of the copy, including elements outside the tensor."""
        return self.rows * self.columns * self.shared

    def valid(self) -> Array:
        """[rows, columns]: inside the tensor."""
        return self.row_ok[:, None] & self.column_ok

    def offsets(self) -> Array:
        """[rows, columns * size]: byte offset of every byte from the map's address."""
        return self.starts[:, None] + np.arange(self.columns * self.size, dtype=np.int64)


def _columns(tensor: TensorMap, first: int, count: int) -> tuple[Array, int]:
    """Which groups of elements from `first` on are inside dimension 0, and the byte offset of the first one."""
    element = tensor.type
    begin = first // element.group
    places = begin + np.arange(count // element.group, dtype=np.int64)
    ok = (places >= 0) & (places < -(-tensor.dims[0] // element.group))
    return ok, begin * element.size


def tile(tensor: TensorMap, coordinates: Sequence[int]) -> Box:
    """Tiled mode: the box whose first element has the coordinates, innermost first.

    Along dimension i there are ceil(box[i] / element_strides[i]) elements; dimension 0 is always dense.
    """
    starts = np.zeros(1, np.int64)
    ok = np.ones(1, np.bool_)
    for axis in range(tensor.rank - 1, 0, -1):
        step = tensor.element_strides[axis]
        places = coordinates[axis] + step * np.arange(-(-tensor.box[axis] // step), dtype=np.int64)
        inside = (places >= 0) & (places < tensor.dims[axis])
        starts = (starts[:, None] + places * tensor.strides[axis - 1]).reshape(-1)
        ok = (ok[:, None] & inside).reshape(-1)
    column_ok, begin = _columns(tensor, coordinates[0], tensor.box[0])
    return Box(starts + begin, ok, column_ok, tensor.type.size, tensor.type.shared)


def gather4(tensor: TensorMap, coordinates: Sequence[int]) -> Box:
    """tile::gather4 and scatter4: coordinates (x, y0, y1, y2, y3), four rows of a matrix from column x on."""
    rows = np.array(coordinates[1:5], np.int64)
    column_ok, begin = _columns(tensor, coordinates[0], tensor.box[0])
    ok = (rows >= 0) & (rows < tensor.dims[1])
    return Box(rows * tensor.strides[0] + begin, ok, column_ok, tensor.type.size, tensor.type.shared)


def column(tensor: TensorMap, coordinates: Sequence[int], offsets: Sequence[int]) -> Box:
    """im2col mode: `pixels` pixels from the base pixel (w, h, d, n) on, each `channels` channels from c on.

    Base pixels traverse the pixel box, W fastest, then H, D, and images, in steps of the element strides. The copy
    reads the base pixel plus `offsets` (w, h, d), the position in the filter.
    """
    spatial = tensor.rank - 2
    place = list(coordinates[1:])
    last = [tensor.dims[1 + axis] - 1 + tensor.upper[axis] for axis in range(spatial)]
    found = np.empty((tensor.pixels, spatial + 1), np.int64)
    for pixel in range(tensor.pixels):
        found[pixel] = place
        for axis in range(spatial):
            place[axis] += tensor.element_strides[1 + axis]
            if place[axis] <= last[axis]:
                break
            place[axis] = tensor.lower[axis]
        else:
            place[spatial] += 1
    found[:, :spatial] += np.array(offsets, np.int64)
    limits = np.array(tensor.dims[1:], np.int64)
    ok: Array = np.logical_and.reduce((found >= 0) & (found < limits), axis=1)
    column_ok, begin = _columns(tensor, coordinates[0], tensor.channels)
    starts = found @ np.array(tensor.strides, np.int64) + begin
    return Box(starts, ok, column_ok, tensor.type.size, tensor.type.shared)


@lru_cache(maxsize=256)
def swizzled(base: int, rows: int, width: int, swizzle: int, atomicity: int = 0) -> Array:
    """Shared byte addresses [rows, width] of a box at `base`: rows one after the other, then the swizzle.

    The 32B, 64B and 128B swizzles xor 1, 2 and 3 bits of the address, from bit 4 on, with those from bit 7 on; with
    atomicity 1, one bit less from bit 5 on. A row that is narrower than the swizzle's span occupies the whole span.
    """
    pitch = max(width, SPANS[swizzle]) if swizzle else width
    linear = base + np.arange(rows, dtype=np.int64)[:, None] * pitch + np.arange(width, dtype=np.int64)
    if swizzle:
        linear ^= (linear >> 7 & (1 << swizzle - atomicity) - 1) << 4 + atomicity
    linear.flags.writeable = False
    return linear


_NANS = {2: 0x7FFF, 4: 0x7FFFFFFF, 8: 0x7FFFFFFFFFFFFFFF}


def fill_of(tensor: TensorMap) -> Array:
    """The bytes of one column outside the tensor: zeros, or the NaN whose bits below the sign are all ones."""
    element = tensor.type
    value = _NANS[element.size] if tensor.fill and element.is_float else 0
    return np.frombuffer(value.to_bytes(element.shared, "little"), np.uint8)


def loaded(tensor: TensorMap, raw: Array) -> Array:
    """The bytes of elements as a load brings them: the .ftz types without subnormal numbers, which become zeros of the
    same sign; the tf32 types rounded to nearest even, but for infinities and NaNs."""
    name, _, flushes = tensor.type.name.partition(".")
    if not flushes and name != "tf32":
        return raw
    bits = np.ascontiguousarray(raw).view(np.uint32)
    exponent = bits & np.uint32(0x7F800000)
    if flushes:
        bits = np.where(exponent == 0, bits & np.uint32(0x80000000), bits)
    if name == "tf32":
        finite = exponent != 0x7F800000
        bits = np.where(finite, bits + np.uint32(0xFFF) + (bits >> 13 & 1) & np.uint32(0xFFFFE000), bits)
    return bits.view(np.uint8)
