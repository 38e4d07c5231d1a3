"""Element types of cuda_tile as the interpreter holds them, and what is in memory.

floats  float64 arrays whose every number is one of the element type
iN      int64 arrays, sign-extended; i1 is 0 or 1
ptr     int64 arrays of addresses
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import FloatType, IntegerType
from tessera_tools.runtime import lookup_type
from tessera_tools.sim.rounding import FORMATS, decode, encode

Array = np.ndarray[Any, Any]
_WORDS = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "f8E8M0FNU": "f8e8m0"}
_NUMPY = {"f16": np.float16, "f32": np.float32}


class UnsupportedError(Exception):
    """What this interpreter does not do."""


def word_of(element: Type) -> str:
    """The name of an element type in the runtime's table."""
    return _WORDS.get(str(element), str(element))


class _Float4:
    """f4E2M1FN, one pattern a byte of an array."""

    storage = np.dtype(np.uint8)

    @staticmethod
    def encode(values: Any) -> Array:
        return encode(np.asarray(values, np.float64), FORMATS["e2m1"]).astype(np.uint8)

    @staticmethod
    def decode(array: Array) -> Array:
        return decode(array, FORMATS["e2m1"])


class _Integer4:
    """i4, one sign-extended number a byte of an array."""

    storage = np.dtype(np.int8)

    @staticmethod
    def encode(values: Any) -> Array:
        return np.asarray(values).astype(np.int8)

    @staticmethod
    def decode(array: Array) -> Array:
        low = np.asarray(array).astype(np.int64) & 15
        return (low ^ 8) - 8


class _TF32:
    """tf32, an f32 whose last 13 bits are not of the number."""

    storage = np.dtype(np.float32)

    @staticmethod
    def encode(values: Any) -> Array:
        kind = lookup_type("tf32")
        assert kind is not None
        return kind.encode(values)

    @staticmethod
    def decode(array: Array) -> Array:
        bits = np.asarray(array).view(np.uint32) & np.uint32(0xFFFFFFFF & -(1 << 13))
        with np.errstate(invalid="ignore"):  # signaling NaNs
            return bits.view(np.float32).astype(np.float64)


def kind_of(element: Type) -> Any:
    """The runtime's element type; UnsupportedError where it has none."""
    if is_half_byte(element):
        return _Float4 if isinstance(element, FloatType) else _Integer4
    if str(element) == "tf32":
        return _TF32
    found = lookup_type(word_of(element))
    if found is None:
        raise UnsupportedError(f"elements of type {element}")
    return found


def rounded(values: Array, element: Type) -> Array:
    """float64 numbers to the nearest of an element type, ties to even."""
    name = str(element)
    with np.errstate(over="ignore", invalid="ignore"):
        if name == "f64":
            return np.asarray(values, np.float64)
        if name in _NUMPY:
            return np.asarray(values).astype(_NUMPY[name]).astype(np.float64)
        kind = kind_of(element)
        return kind.decode(kind.encode(np.asarray(values, np.float64)))


def rounded_towards(exact: list[Fraction], element: Type, mode: str) -> list[float]:
    """Finite rational numbers to the next number of an element type in a direction: `zero`, `negative_inf`,
    `positive_inf`; exact ones as they are."""
    found = []
    for number in exact:
        near = float(rounded(np.asarray(float(number)), element))
        up = mode == "positive_inf" or (mode == "zero" and number < 0)
        if np.isfinite(near) and Fraction(near) != number and (Fraction(near) < number) == up:
            near = _neighbor(near, element, up)
        elif np.isinf(near):
            largest = _neighbor(near, element, near < 0)
            if (near > 0) != up:
                near = largest
        found.append(near)
    return found


def _neighbor(value: float, element: Type, up: bool) -> float:
    """The next number of an element type above or below."""
    kind = kind_of(element)
    # A tf32 is an f32 whose last 13 bits are zero.
    unit = 1 << 13 if str(element) == "tf32" else 1
    if value == 0:
        raw = np.array(unit, f"<u{kind.storage.itemsize}").view(kind.storage)
        return float(kind.decode(raw)) * (1 if up else -1)
    stored = np.asarray(kind.encode(np.asarray(value)))
    bits = stored.view(f"<u{kind.storage.itemsize}")
    away = up == (value > 0)
    return float(
        kind.decode(
            (bits + bits.dtype.type(unit) if away else bits - bits.dtype.type(unit)).view(kind.storage)
        )
    )


def wrapped(values: Any, element: Type) -> Array:
    """Integers modulo the element type's size, in its signed range (i1: 0 or 1)."""
    assert isinstance(element, IntegerType)
    values = np.asarray(values).astype(np.int64)
    if element.width == 64:
        return values
    low = values & np.int64((1 << element.width) - 1)
    if element.width == 1:
        return low
    half = np.int64(1 << (element.width - 1))
    return (low ^ half) - half


def unsigned(values: Array, element: Type) -> Array:
    """The same bits read as unsigned, as uint64."""
    assert isinstance(element, IntegerType)
    bits = np.asarray(values).astype(np.int64).view(np.uint64)
    return bits if element.width == 64 else bits & np.uint64((1 << element.width) - 1)


def is_half_byte(element: Type) -> bool:
    """True if two elements share a byte in memory, the first in its low half."""
    return isinstance(element, IntegerType | FloatType) and element.width == 4


def element_size(element: Type) -> int:
    """Bytes of an element in memory; UnsupportedError below one byte."""
    if isinstance(element, ct.PointerType):
        return 8
    if is_half_byte(element):
        raise UnsupportedError(f"addresses of elements of type {element}")
    return int(kind_of(element).storage.itemsize)


def to_bytes(values: Array, element: Type) -> Array:
    """Elements as they lie in memory: a last axis of bytes."""
    if isinstance(element, ct.PointerType):
        stored = np.asarray(values, np.int64)
    else:
        kind = kind_of(element)
        stored = (
            kind.encode(values) if isinstance(element, FloatType) else np.asarray(values).astype(kind.storage)
        )
    stored = np.ascontiguousarray(stored)
    return stored.reshape(*stored.shape, 1).view(np.uint8).reshape(*np.shape(values), stored.itemsize)


def from_bytes(data: Array, element: Type) -> Array:
    """The inverse of `to_bytes`."""
    shape = data.shape[:-1]
    flat = np.ascontiguousarray(data).reshape(-1, data.shape[-1])
    if isinstance(element, ct.PointerType):
        return flat.view(np.int64).reshape(shape)
    kind = kind_of(element)
    stored = flat.view(kind.storage).reshape(shape)
    if isinstance(element, FloatType):
        return kind.decode(stored)
    return (stored != 0).astype(np.int64) if element.width == 1 else stored.astype(np.int64)  # type: ignore[attr-defined]


class Memory:
    """Buffers of bytes at addresses of a flat space, with a gap behind each."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.buffers: list[Array] = []
        self._next = 1 << 20

    def add(self, data: Array) -> int:
        """A buffer with a copy of the bytes of an array; its address."""
        base = self._next
        self.bases.append(base)
        self.buffers.append(np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8).copy())
        self._next += (self.buffers[-1].size + 4095) // 4096 * 4096 + 4096
        return base

    def _places(self, addresses: Array, size: int) -> list[tuple[int, Array, Array]]:
        """For each buffer that is touched: its number, which accesses, and their byte offsets."""
        flat = addresses.reshape(-1)
        which = np.searchsorted(self.bases, flat, side="right") - 1
        found = []
        for number in np.unique(which):
            chosen = np.flatnonzero(which == number)
            if number < 0:
                raise IndexError(f"access to address {int(flat[chosen[0]])}, which is in no buffer")
            offsets = flat[chosen] - self.bases[number]
            if offsets.max(initial=0) + size > self.buffers[number].size:
                raise IndexError(
                    f"access of {size} bytes at offset {int(offsets.max())} of a buffer of "
                    f"{self.buffers[number].size} bytes"
                )
            found.append((int(number), chosen, offsets))
        return found

    def load(self, addresses: Array, element: Type) -> Array:
        """The elements at addresses."""
        size = element_size(element)
        data = np.zeros((addresses.size, size), np.uint8)
        for number, chosen, offsets in self._places(addresses, size):
            data[chosen] = self.buffers[number][offsets[:, None] + np.arange(size)]
        return from_bytes(data, element).reshape(addresses.shape)

    def store(self, addresses: Array, values: Array, element: Type) -> None:
        """Store elements at addresses."""
        size = element_size(element)
        data = to_bytes(np.broadcast_to(values, addresses.shape).reshape(-1), element)
        for number, chosen, offsets in self._places(addresses, size):
            self.buffers[number][offsets[:, None] + np.arange(size)] = data[chosen]
