"""Matrix descriptors of wgmma: which 16-byte units of shared memory hold a matrix.

    descriptor (64 bits) ──fields──▶ start, leading and stride byte offsets, swizzle ──▶ units [rows or k, chunks]

A matrix is made of core matrices: 8 rows of 16 bytes. With a swizzle of S bytes the rows of a core matrix stand S
bytes apart, and the 16-byte chunks of a row are permuted by the address bits from 7 up: chunk ^= row of 128 bytes.

    K-major    row r, chunk c along K        (r % 8) * S + (r / 8) * stride + c * 16
                          no swizzle         (r % 8) * 16 + (r / 8) * stride + c * leading
    MN-major   k, chunk j along M or N       (j % w) * 16 + (j / w) * leading + (k % 8) * S + (k / 8) * stride
                          no swizzle         j * stride + (k % 8) * 16 + (k / 8) * leading          w = S / 16

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout", "Matrix Descriptor Format", "Strides".
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["SWIZZLES", "encode", "k_major", "mn_major"]


SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}
"""The row size of the swizzle pattern in bytes, by the descriptor's bits 62 and 63."""
_UNIT = 16


def encode(start: int, leading: int, stride: int, swizzle: int, base_offset: int = 0) -> int:
    """The descriptor of a matrix at shared address `start`; offsets in bytes, `swizzle` 0, 32, 64 or 128."""
    mode = {bytes: mode for mode, bytes in SWIZZLES.items()}[swizzle]
    fields = (start & 0x3FFFF) >> 4 | (leading & 0x3FFFF) >> 4 << 16 | (stride & 0x3FFFF) >> 4 << 32
    return fields | base_offset << 49 | mode << 62


def _fields(descriptor: int) -> tuple[int, int, int, int, int]:
    """Start, leading and stride byte offset, swizzle bytes, base offset."""
    start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    return start, leading, stride, SWIZZLES[descriptor >> 62], descriptor >> 49 & 7


def _units(linear: Array, descriptor: int) -> Array:
    """Linear offsets from the start → swizzled unit numbers; the base offset is the first row of the pattern."""
    start, _, _, swizzle, base = _fields(descriptor)
    address = linear + start
    if swizzle:
        row = (address >> 7) - base & (swizzle // _UNIT - 1)
        address = address ^ row << 4
    units = np.ascontiguousarray(address >> 4)
    units.flags.writeable = False
    return units


@lru_cache(maxsize=4096)
def k_major(descriptor: int, rows: int) -> Array:
    """Units [rows, 2] of a matrix whose rows (of M or N) run along K: 32 bytes of K."""
    _, leading, stride, swizzle, _ = _fields(descriptor)
    row, chunk = np.ogrid[:rows, :2]
    across = chunk * (_UNIT if swizzle else leading)
    return _units(row % 8 * (swizzle or _UNIT) + row // 8 * stride + across, descriptor)


@lru_cache(maxsize=4096)
def mn_major(descriptor: int, extent: int) -> Array:
    """Units [16, extent / 8] of a transposed matrix of 16-bit elements: 16 along K, `extent` along M or N."""
    _, leading, stride, swizzle, _ = _fields(descriptor)
    k, chunk = np.ogrid[:16, : extent // 8]
    if not swizzle:
        return _units(chunk * stride + k % 8 * _UNIT + k // 8 * leading, descriptor)
    wide = swizzle // _UNIT
    return _units(
        chunk % wide * _UNIT + chunk // wide * leading + k % 8 * swizzle + k // 8 * stride, descriptor
    )
