"""The reductions of bulk copies, on bytes (PTX ISA, "cp.reduce.async.bulk": .redOp and .type)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["OPERATIONS", "combiner"]


_DTYPES: dict[str, type[np.generic]] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64,
    "b32": np.uint32, "b64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "f32.ftz": np.float32, "tf32": np.float32, "tf32.ftz": np.float32, "bf16": np.uint16,
}  # fmt: skip
_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def _allowed(operation: str, type: str) -> bool:
    """The table of operations and types in "cp.reduce.async.bulk" and "cp.reduce.async.bulk.tensor"."""
    if operation in ("inc", "dec"):
        return type == "u32"
    if operation in _BITWISE:
        return type in ("b32", "b64", "u32", "s32", "u64", "s64")
    if operation == "add":
        return type in ("u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "f32.ftz")
    return type in ("u32", "s32", "u64", "s64", "f16", "bf16")


def combiner(operation: str, type: str) -> Callable[[Array, Array], Array] | None:
    """`combine(old bytes, new bytes) → bytes`; None if PTX does not define the reduction."""
    if not _allowed(operation, type):
        return None
    dtype = _DTYPES[type]

    def combine(old: Array, new: Array) -> Array:
        a, b = np.ascontiguousarray(old).view(dtype), np.ascontiguousarray(new).view(dtype)
        with np.errstate(all="ignore"):
            result = _bf16(operation, a, b) if type == "bf16" else _apply(operation, type, a, b)
        return np.ascontiguousarray(result.astype(dtype, copy=False)).view(np.uint8)

    return combine


def _apply(operation: str, type: str, a: Array, b: Array) -> Array:
    if operation in _BITWISE:
        return _BITWISE[operation](a, b)
    if operation == "inc":
        return np.where(a >= b, a.dtype.type(0), a + a.dtype.type(1))
    if operation == "dec":
        return np.where((a == 0) | (a > b), b, a - a.dtype.type(1))
    if operation == "add":
        # The add of .f32 in global memory flushes subnormal numbers (PTX ISA, "red").
        return _flushed(_flushed(a) + _flushed(b)) if type.startswith("f32") else a + b
    if a.dtype.kind == "f":
        return (np.fmin if operation == "min" else np.fmax)(a, b)
    return (np.minimum if operation == "min" else np.maximum)(a, b)


def _flushed(values: Array) -> Array:
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


def _bf16(operation: str, a: Array, b: Array) -> Array:
    wide = [(row.astype(np.uint32) << np.uint32(16)).view(np.float32) for row in (a, b)]
    if operation != "add":
        picked = (np.fmin if operation == "min" else np.fmax)(*wide)
        return (picked.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    total = wide[0] + wide[1]
    bits = total.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(total), np.uint32(0x7FFF), rounded).astype(np.uint16)
