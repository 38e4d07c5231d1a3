"""Constant elements in bytecode: conversion between MLIR's raw buffer and `DenseElementsAttr`.

MLIR stores one element for a splat, otherwise all. i1 is packed, eight per byte (a splat is 00 or FF); other elements
have whole bytes. `DenseElementsAttr` also stores an i1 as a byte.
"""

from __future__ import annotations

from tessera_tools.bytecode.cursor import Cursor
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, element_bytes
from tessera_tools.ir.types import I1, FloatType, IntegerType, ShapedType


def read_elements(type: ShapedType, entry: Cursor) -> DenseElementsAttr:
    """The elements of a tile from an entry of the constant section: size │ bytes."""
    if not isinstance(type.element, IntegerType | FloatType):
        entry.fail(f"a constant must have numeric elements, not '{type.element}'", at=0)
    size = entry.varint()
    data = entry.take(size, "the constant")
    count = type.num_elements
    if type.element is I1:
        packed = (count + 7) // 8
        if size not in (1, packed):
            entry.fail(f"a constant of '{type}' takes 1 or {packed} bytes, found {size}", at=0)
        if size < packed:
            return DenseElementsAttr(type, b"\1" if data[0] & 1 else b"\0")
        bits = int.from_bytes(data, "little") & ((1 << count) - 1)
        if bits in (0, (1 << count) - 1):
            return DenseElementsAttr(type, b"\1" if bits else b"\0")
        return DenseElementsAttr(type, bytes((data[i >> 3] >> (i & 7)) & 1 for i in range(count)))
    width = element_bytes(type.element)
    if size not in (width, width * count):
        entry.fail(f"a constant of '{type}' takes {width} or {width * count} bytes, found {size}", at=0)
    if size > width and data == data[:width] * count:
        data = data[:width]
    mask = (1 << type.element.width) - 1
    if type.element.width < 8 * width:
        # Bits beyond a narrow type's width are ignored.
        data = b"".join(
            (int.from_bytes(data[i : i + width], "little") & mask).to_bytes(width, "little")
            for i in range(0, len(data), width)
        )
    return DenseElementsAttr(type, data)


def raw_elements(value: DenseElementsAttr) -> bytes:
    """MLIR's buffer for the elements."""
    if value.shaped.element is not I1:
        return value.data
    if value.is_splat:
        return b"\xff" if value.data[0] else b"\0"
    bits = 0
    for i, bit in enumerate(value.data):
        bits |= (bit & 1) << i
    return bits.to_bytes((len(value.data) + 7) // 8, "little")
