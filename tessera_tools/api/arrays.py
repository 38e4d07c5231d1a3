"""Arrays of any library as kernel arguments: an address, extents, strides and an element type.

NumPy, torch, JAX, CuPy ──describe──▶ ArrayView ──HostMemory──▶ buffers on a device, and back into the arrays
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np

from tessera_tools.diagnostics import error
from tessera_tools.records import dataclass
from tessera_tools.runtime import Buffer, Device, Type, lookup_type
from tessera_tools.runtime.interface import HasDLPack, has_dlpack
from tessera_tools.runtime.types import Array

__all__ = ["ArrayTable", "ArrayView", "HostMemory", "describe"]


class TorchDevice(Protocol):
    """Where a tensor of torch is."""

    type: str


class TorchTensor(Protocol):
    """A tensor of torch."""

    shape: Sequence[int]
    dtype: object
    device: TorchDevice

    def data_ptr(self) -> int: ...

    def stride(self) -> Sequence[int]: ...

    def element_size(self) -> int: ...


def _is_torch(value: object) -> TypeGuard[TorchTensor]:
    return hasattr(value, "data_ptr") and callable(getattr(value, "stride", None))


@dataclass(frozen=True, slots=True)
class ArrayView:
    """An array that a kernel may read and write in place. Strides are in elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    dtype: str
    """The name that NumPy or ml_dtypes gives the type: `float32`, `bfloat16`."""
    writable: bool
    on_gpu: bool
    owner: object
    """Keeps the memory alive."""
    stream: int | None = None
    """The stream of the work that the array's contents may still wait for."""

    @property
    def type(self) -> Type | None:
        """The element type; None if kernels have no such type."""
        return lookup_type(_TYPE_NAMES.get(self.dtype, self.dtype))

    @property
    def bounds(self) -> tuple[int, int]:
        """The addresses of the first byte and of the byte after the last."""
        if 0 in self.shape:
            return self.address, self.address
        span = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.address, self.address + (span + 1) * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """True if the elements are in row-major order without gaps."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True


@dataclass(frozen=True, slots=True)
class ArrayTable:
    """A list of arrays, which a kernel reads from memory. `items`: the arrays with their names."""

    items: tuple[tuple[str, ArrayView], ...]

    def words(self, addresses: Sequence[int]) -> Array:
        """The table for arrays at these addresses: a row each, of the address, the extents and the strides."""
        rows = [
            (address, *view.shape, *view.strides)
            for address, (_, view) in zip(addresses, self.items, strict=True)
        ]
        return np.array(rows, np.uint64)


_TYPE_NAMES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0",
}  # fmt: skip


def describe(value: object) -> ArrayView | None:
    """The view of an array; None if `value` is not an array. Raises DiagnosticError for an unsupported one.

    Supports NumPy arrays, torch tensors, objects with `__cuda_array_interface__`, and objects in the host's memory with
    `__dlpack__`. The memory is shared, not copied.
    """
    if isinstance(value, np.generic):
        return None
    if isinstance(value, np.ndarray):
        return _of_numpy(value, value)
    if _is_torch(value):
        return _of_torch(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(value, interface)
    if has_dlpack(value):
        return _of_dlpack(value)
    return None


def _of_interface(value: object, interface: Mapping[str, Any]) -> ArrayView:
    """An array on a GPU, by version 3 of the CUDA Array Interface."""
    what = f"the __cuda_array_interface__ of a {type(value).__name__}"
    try:
        dtype = np.dtype(interface["typestr"])
        shape = tuple(int(extent) for extent in interface["shape"])
        strides = interface.get("strides")
        bytes_apart = None if strides is None else tuple(int(step) for step in strides)
        address, readonly = interface["data"]
        stream = interface.get("stream")
    except (KeyError, TypeError, ValueError) as failure:
        raise error(None, f"{what} cannot be read: {failure}") from None
    if interface.get("mask") is not None:
        raise error(
            None, f"{what} has a mask; kernels have no masked arrays", "pass the array without its mask"
        )
    steps = _row_major(shape) if bytes_apart is None else _elements_apart(bytes_apart, dtype)
    writable = not readonly
    return _checked(
        ArrayView(address, shape, steps, dtype.itemsize, _native(dtype), writable, True, value, stream)
    )


_DLPACK_HOST = 1


def _of_dlpack(value: HasDLPack) -> ArrayView:
    name = type(value).__name__
    where = getattr(value, "__dlpack_device__", None)
    if where is not None and where()[0] != _DLPACK_HOST:
        raise error(
            None, f"a {name} is not in the host's memory",
            "copy it to the host; arrays on a GPU are used where they are if they have __cuda_array_interface__",
        )  # fmt: skip
    try:
        found = np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError):
        found = np.asarray(value)
        if found.dtype.hasobject:
            raise error(None, f"a {name} cannot be read as an array") from None
    return _of_numpy(found, value)


def _of_numpy(array: Array, owner: object) -> ArrayView:
    size = array.dtype.itemsize
    if array.dtype.hasobject:
        raise error(None, f"an array of {array.dtype} cannot be an argument of a kernel")
    steps = _elements_apart(array.strides, array.dtype)
    name = _native(array.dtype)
    writable = bool(array.flags.writeable)
    return _checked(ArrayView(array.ctypes.data, array.shape, steps, size, name, writable, False, owner))


def _elements_apart(strides: Sequence[int], dtype: np.dtype[np.generic]) -> tuple[int, ...]:
    """Strides in elements, from strides in bytes."""
    if any(step % dtype.itemsize for step in strides):
        raise error(None, f"the strides {tuple(strides)} of an array of {dtype} are not whole elements")
    return tuple(step // dtype.itemsize for step in strides)


def _native(dtype: np.dtype[np.generic]) -> str:
    """The name of an element type, which is without a byte order. Raises DiagnosticError for swapped bytes."""
    if not dtype.isnative:
        raise error(
            None, f"an array of '{dtype.str}' has its bytes in another order than the GPU's",
            "convert it, as with a.astype(a.dtype.newbyteorder('='))",
        )  # fmt: skip
    return dtype.name


def _of_torch(tensor: TorchTensor) -> ArrayView:
    _check_torch(tensor)
    return _checked(
        ArrayView(
            tensor.data_ptr(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            tensor.element_size(),
            str(tensor.dtype).removeprefix("torch."),
            True,
            tensor.device.type == "cuda",
            tensor,
        )
    )


def _check_torch(tensor: TorchTensor) -> None:
    """Refuse tensors without memory that a kernel could read: `meta`, sparse, and those whose sign is a flag."""
    if tensor.device.type not in ("cpu", "cuda"):
        raise error(None, f"a tensor on the device '{tensor.device}'; expected 'cpu' or 'cuda'")
    layout = str(getattr(tensor, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise error(None, f"a tensor with the layout {layout}; expected torch.strided", "pass t.to_dense()")
    if getattr(tensor, "is_neg", bool)():
        raise error(
            None, "a tensor whose elements are to be negated when they are read", "pass t.resolve_neg()"
        )


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    steps: list[int] = []
    step = 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return tuple(reversed(steps))


def _checked(view: ArrayView) -> ArrayView:
    if any(step < 0 for step in view.strides):
        raise error(
            None,
            f"an array has the strides {view.strides}; negative strides are not supported",
            "copy it first, as with numpy.ascontiguousarray",
        )
    if view.type is None:
        raise error(None, f"an array of {view.dtype} cannot be an argument of a kernel")
    return view


class HostMemory:
    """Arrays of the host on a device: arrays that share memory share a buffer, as they would on a GPU.

    views: the arrays by the name of their parameter.
    """

    def __init__(self, device: Device, views: Sequence[tuple[str, ArrayView]]) -> None:
        self._parts: list[tuple[int, int, Buffer, list[tuple[str, ArrayView]]]] = []
        ordered = sorted(views, key=lambda item: item[1].bounds)
        group: list[tuple[str, ArrayView]] = []
        low, high = 0, 0
        for name, view in ordered:
            begin, end = view.bounds
            if group and begin < high:
                group.append((name, view))
                high = max(high, end)
                continue
            if group:
                self._add(device, low, high, group)
            group, low, high = [(name, view)], begin, end
        if group:
            self._add(device, low, high, group)

    def _add(self, device: Device, low: int, high: int, group: list[tuple[str, ArrayView]]) -> None:
        raw = np.frombuffer(ctypes.string_at(low, high - low), np.uint8)
        # "a, a_2": the parameters, in their order, that point into the buffer.
        buffer = device.buffer(raw, ", ".join(sorted(name for name, _ in group)))
        self._parts.append((low, high, buffer, group))

    def address(self, view: ArrayView) -> int:
        """Where the array is on the device."""
        found = self.pointer(view)
        return found if isinstance(found, int) else found.address

    def pointer(self, view: ArrayView) -> Buffer | int:
        """The buffer of the array, or an address in it."""
        for low, _, buffer, group in self._parts:
            if any(view is one for _, one in group):
                offset = view.address - low
                return buffer if offset == 0 else buffer.address + offset
        raise KeyError("the array was not placed")

    def copy_back(self) -> None:
        """Copy modified buffers to the arrays. Raises DiagnosticError if one is read-only."""
        for low, high, buffer, group in self._parts:
            raw = buffer.read().tobytes()
            if raw == ctypes.string_at(low, high - low):
                continue
            for name, view in group:
                if not view.writable:
                    raise error(
                        None,
                        f"the kernel wrote to '{name}', and its array is read-only",
                        "pass a writable array, as numpy.array(a)",
                    )
            ctypes.memmove(low, raw, high - low)
