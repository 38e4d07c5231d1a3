"""Matrix descriptors of wgmma and tcgen05: which 16-byte units of shared memory hold a matrix.

    descriptor (64 bits) ──fields──▶ start, leading and stride byte offsets, swizzle ──▶ units [rows or k, chunks]

A matrix is made of core matrices: 8 rows of 16 bytes. With a swizzle of S bytes the rows of a core matrix stand S
bytes apart, and the 16-byte chunks of a row are permuted by the address bits from 7 up: chunk ^= row of 128 bytes.

    K-major    row r, chunk c along K        (r % 8) * S + (r / 8) * stride + c * 16
                          no swizzle         (r % 8) * 16 + (r / 8) * stride + c * leading
    MN-major   k, chunk j along M or N       (j % w) * 16 + (j / w) * leading + (k % 8) * S + (k / 8) * stride
                          no swizzle         j * stride + (k % 8) * 16 + (k / 8) * leading          w = S / 16

tcgen05 has a third bit of the swizzle mode, bit 61: rows of 128 bytes whose four 32-byte parts are permuted, in groups
of 4 rows (MN-major). Its bits 46 to 48 are 1.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout", "Matrix Descriptor Format", "Strides".
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["SWIZZLES", "encode", "encode_blackwell", "k_major", "mn_major"]


SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}
"""The row size of the swizzle pattern in bytes, by the descriptor's bits 62 and 63."""
_UNIT = 16


def encode(start: int, leading: int, stride: int, swizzle: int, base_offset: int = 0) -> int:
    """The descriptor of a matrix at shared address `start`; offsets in bytes, `swizzle` 0, 32, 64 or 128."""
    mode = {bytes: mode for mode, bytes in SWIZZLES.items()}[swizzle]
    fields = (start & 0x3FFFF) >> 4 | (leading & 0x3FFFF) >> 4 << 16 | (stride & 0x3FFFF) >> 4 << 32
    return fields | base_offset << 49 | mode << 62


def encode_blackwell(start: int, leading: int, stride: int, swizzle: int | str) -> int:
    """The descriptor of tcgen05; `swizzle` 0, 32, 64, 128, or "128b32" with 32-byte parts."""
    if swizzle == "128b32":
        return encode(start, leading, stride, 0) | 1 << 46 | 1 << 61
    return encode(start, leading, stride, int(swizzle)) | 1 << 46


def _fields(descriptor: int) -> tuple[int, int, int, int, int]:
    """Start, leading and stride byte offset, swizzle bytes, base offset."""
    start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    return start, leading, stride, SWIZZLES[descriptor >> 62], descriptor >> 49 & 7


def _units(linear: Array, descriptor: int) -> Array:
    """Linear offsets from the start → swizzled unit numbers; the base offset is the first row of the pattern."""
    start, _, _, swizzle, base = _fields(descriptor)
    address = linear + start
    if descriptor >> 61 & 1:
        # Bits 7 and 8 permute the four 32-byte parts of a row of 128 bytes.
        address = address ^ (address >> 7 & 3) << 5
    elif swizzle:
        row = (address >> 7) - base & (swizzle // _UNIT - 1)
        address = address ^ row << 4
    units = np.ascontiguousarray(address >> 4)
    units.flags.writeable = False
    return units


@lru_cache(maxsize=4096)
def k_major(descriptor: int, rows: int, chunks: int = 2) -> Array:
    """Units [rows, chunks] of a matrix whose rows (of M or N) run along K: by default 32 bytes of K."""
    _, leading, stride, swizzle, _ = _fields(descriptor)
    row, chunk = np.ogrid[:rows, :chunks]
    across = chunk * (_UNIT if swizzle else leading)
    return _units(row % 8 * (swizzle or _UNIT) + row // 8 * stride + across, descriptor)


@lru_cache(maxsize=4096)
def mn_major(descriptor: int, extent: int, bits: int = 16) -> Array:
    """Units [256 / bits, extent * bits / 128] of a transposed matrix: 256 / bits along K, `extent` along M or N."""
    _, leading, stride, swizzle, _ = _fields(descriptor)
    k, chunk = np.ogrid[: 256 // bits, : extent * bits // 128]
    if descriptor >> 61 & 1:
        return _units(chunk % 8 * _UNIT + chunk // 8 * leading + k % 4 * 128 + k // 4 * stride, descriptor)
    if not swizzle:
        return _units(chunk * stride + k % 8 * _UNIT + k // 8 * leading, descriptor)
    wide = swizzle // _UNIT
    return _units(
        chunk % wide * _UNIT + chunk // wide * leading + k % 8 * swizzle + k // 8 * stride, descriptor
    )
