"""Values of the executor: what a value of an LLVM type is, for all threads of a CTA at once.

iN            unsigned NumPy integers [threads]; i1 is bool        ptr           uint64 [threads]
f16 f32 f64   NumPy floats [threads]                              bf16          float32 that are bf16 values
vector<NxT>   [threads, N]                                        struct        a tuple of the above
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.dialects.llvm.types import ArrayType, PointerType, StructType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import BF16, FloatType, IntegerType, VectorType

Value = Any
"""An array, or a tuple of them."""

_INTEGERS = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_FLOATS = {"f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}
POISON_BYTE = 0xFF
"""Every float made of it is a NaN."""


class ExecutionError(Exception):
    """The kernel did what no correct kernel does, or used what the executor does not model."""


def dtype(type: Type) -> Any:
    """The NumPy type of one element."""
    if isinstance(type, VectorType):
        return dtype(type.element)
    if isinstance(type, PointerType):
        return np.uint64
    if isinstance(type, IntegerType) and type.width in _INTEGERS:
        return _INTEGERS[type.width]
    if isinstance(type, FloatType) and type.keyword in _FLOATS:
        return _FLOATS[type.keyword]
    raise ExecutionError(f"values of type {type} are not modeled")


def size_of(type: Type) -> int:
    """Bytes in memory."""
    if isinstance(type, VectorType):
        return type.num_elements * size_of(type.element)
    if isinstance(type, ArrayType):
        return type.count * size_of(type.element)
    return 2 if type is BF16 else np.dtype(dtype(type)).itemsize


def poison(type: Type, threads: int) -> Value:
    """A value that shows when it is used: NaNs, or all bits set."""
    if isinstance(type, StructType):
        return tuple(poison(t, threads) for t in type.types or ())
    return from_bytes(np.full((threads, size_of(type)), POISON_BYTE, np.uint8), type)


def to_bytes(value: np.ndarray, type: Type) -> np.ndarray:
    """[threads, bytes], little endian."""
    element = type.element if isinstance(type, VectorType) else type
    if element is BF16:
        value = (np.ascontiguousarray(value, np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return np.ascontiguousarray(value).view(np.uint8).reshape(len(value), -1)


def from_bytes(data: np.ndarray, type: Type) -> np.ndarray:
    """The value that those bytes are."""
    element = type.element if isinstance(type, VectorType) else type
    if element is BF16:
        words = np.ascontiguousarray(data).view(np.uint16).astype(np.uint32) << np.uint32(16)
        value = words.view(np.float32)
    elif dtype(element) is np.bool_:
        value = data.astype(np.bool_)
    else:
        value = np.ascontiguousarray(data).view(dtype(element))
    return value if isinstance(type, VectorType) else value[:, 0]


def round_bf16(value: np.ndarray) -> np.ndarray:
    """The nearest bf16 of f32 values, ties to even, as f32."""
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(value), np.float32(np.nan), rounded.view(np.float32))


def to_float(value: np.ndarray, type: Type) -> np.ndarray:
    """A number rounded once to a float type."""
    element = type.element if isinstance(type, VectorType) else type
    if element is BF16:
        return round_bf16(value.astype(np.float32))
    return value.astype(dtype(element))


def signed(value: np.ndarray) -> np.ndarray:
    """The same bits as signed integers; true is -1."""
    if value.dtype == np.bool_:
        return -value.astype(np.int8)
    return value.view(np.dtype(f"i{value.dtype.itemsize}"))


def merge(mask: np.ndarray, new: Value, old: Value) -> Value:
    """`new` for the threads of the mask, `old` for the others."""
    if isinstance(new, tuple):
        return tuple(merge(mask, n, o) for n, o in zip(new, old, strict=True))
    return np.where(mask[:, None] if new.ndim == 2 else mask, new, old)
