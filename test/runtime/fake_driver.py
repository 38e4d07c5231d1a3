"""NVIDIA's driver, played by the simulated GPU: the calls that runtime/cuda.py makes, with `cuda.bindings`' results.

The launching code under test is the real one; only the calls below it are not.
"""

from __future__ import annotations

import ctypes
import re
from types import SimpleNamespace
from typing import Any

import numpy as np

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime.signature import of_entry
from tessera_tools.sim.tensor_map import tensor_map

_ELEMENTS = {
    "UINT8": "u8", "UINT16": "u16", "UINT32": "u32", "INT32": "s32", "FLOAT16": "f16", "FLOAT32": "f32",
    "BFLOAT16": "bf16", "FLOAT64": "f64", "TFLOAT32": "tf32",
}  # fmt: skip
_MODES = {"NONE": "none", "128B_ATOM_32B": "128B_atom_32B"}
_PREFIXES = r"CU_TENSOR_MAP_(DATA_TYPE|INTERLEAVE|SWIZZLE|L2_PROMOTION(_L2)?)_"


class _Pointer:
    """What cuda.bindings returns for a device address: a thing with an int."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __int__(self) -> int:
        return self.value


class _Attributes:
    """An enumeration, whose members are their names."""

    def __getattr__(self, name: str) -> str:
        return name


class FakeDriver:
    """One GPU. `calls` are the names of all calls; `attributes` what cuFuncSetAttribute was given; `streams` those of
    the launches, `grids` their grids; `waited` the streams that were waited for; `cubins` the PTX that stands for a
    cubin, with its dynamic shared memory if it is launched as a tile kernel; `broken` is true after a crash, when every
    call fails."""

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.memory = sim.Memory()
        self.freed: list[int] = []
        self.calls: list[str] = []
        self.attributes: dict[str, int] = {}
        self.encoded: list[Any] = []
        self.streams: list[int] = []
        self.waited: list[int] = []
        self.grids: list[tuple[int, int, int]] = []
        self.cubins: dict[bytes, tuple[str, int]] = {}
        self.tile_shared: dict[int, int] = {}
        self.capability = 90
        self.broken = False
        self.CUdevice_attribute = _Attributes()
        self.CUfunction_attribute = _Attributes()
        self.CUtensorMapDataType = _Attributes()
        self.CUtensorMapInterleave = _Attributes()
        self.CUtensorMapSwizzle = _Attributes()
        self.CUtensorMapL2promotion = _Attributes()
        self.CUtensorMapFloatOOBfill = _Attributes()
        self.CUlaunchAttributeID = _Attributes()
        self.cuuint64_t = self.cuuint32_t = int

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu") and name[2].isupper():
            object.__getattribute__(self, "calls").append(name)
        return object.__getattribute__(self, name)

    def cuInit(self, flags: int) -> tuple[int]:
        return (0 if self.devices else 100,)

    def cuGetErrorName(self, status: int) -> tuple[int, bytes]:
        return 0, {100: b"CUDA_ERROR_NO_DEVICE", 218: b"CUDA_ERROR_INVALID_PTX"}.get(status, b"CUDA_ERROR")

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return (0 if ordinal < self.devices else 101), ordinal

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[int, int]:
        values = {
            "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": self.capability // 10,
            "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": self.capability % 10,
            "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE": 1 << 16,
            "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": 3,
        }
        return 0, values[attribute]

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"Fake GPU".ljust(length, b"\0")

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, 13000

    def cuCtxSynchronize(self) -> tuple[int]:
        return (700 if self.broken else 0,)

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, str]:
        return 0, "context"

    def cuCtxSetCurrent(self, context: str) -> tuple[int]:
        return (0,)

    def cuMemAlloc(self, size: int) -> tuple[int, _Pointer]:
        return 0, _Pointer(self.memory.allocate(np.zeros(size, np.uint8)).address)

    def cuMemFree(self, pointer: int) -> tuple[int]:
        self.freed.append(pointer)
        return (0,)

    def _bytes(self, pointer: int, size: int) -> Any:
        region = self.memory.find(pointer)
        assert region is not None
        at = pointer - region.base
        return region.data[at : at + size]

    def cuCtxGetDevice(self) -> tuple[int, int]:
        return 0, 0

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, function: Any, threads: int, shared: int
    ) -> tuple[int, int]:
        return 0, 2

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[int]:
        self._bytes(to, size)[:] = np.frombuffer(ctypes.string_at(source, size), np.uint8)
        return (0,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> tuple[int]:
        ctypes.memmove(to, self._bytes(source, size).tobytes(), size)
        return (0,)

    def cuMemsetD32Async(self, to: int, value: int, count: int, stream: int) -> tuple[int]:
        self._bytes(to, 4 * count)[:] = np.full(count, value, np.uint32).view(np.uint8)
        return (0,)

    def cuMemsetD8Async(self, to: int, value: int, size: int, stream: int) -> tuple[int]:
        self._bytes(to, size)[:] = value
        return (0,)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, stream: int) -> tuple[int]:
        self._bytes(to, size)[:] = self._bytes(source, size)
        return (0,)

    def cuModuleLoadData(self, image: bytes) -> tuple[int, Any]:
        if image in self.cubins:
            ptx, shared = self.cubins[image]
            module = sim.load(ptx, memory=self.memory)
            self.tile_shared[id(module)] = shared
            return 0, module
        try:
            assert image.endswith(b"\0")
            return 0, sim.load(image[:-1].decode(), memory=self.memory)
        except DiagnosticError:
            return 218, None

    def cuModuleGetFunction(self, module: sim.Module, name: bytes) -> tuple[int, Any]:
        return 0, SimpleNamespace(module=module, name=name.decode())

    def cuFuncSetAttribute(self, function: Any, attribute: str, value: int) -> tuple[int]:
        self.attributes[attribute] = value
        return (0,)

    def cuEventCreate(self, flags: int) -> tuple[int, str]:
        return 0, "event"

    def cuEventRecord(self, event: str, stream: int) -> tuple[int]:
        return (0,)

    def cuEventSynchronize(self, event: str) -> tuple[int]:
        return (0,)

    def cuEventElapsedTime(self, begin: str, end: str) -> tuple[int, float]:
        return 0, 1.5

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        self.waited.append(stream)
        return (0,)

    def cuEventDestroy(self, event: str) -> tuple[int]:
        return (0,)

    def CUlaunchAttribute(self) -> Any:
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def CUlaunchConfig(self) -> Any:
        return SimpleNamespace()

    def cuLaunchKernelEx(self, config: Any, function: Any, parameters: int, extra: int) -> tuple[int]:
        self.streams.append(config.hStream)
        c = config.attrs[0].value.clusterDim
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        return self._run(function, grid, block, config.sharedMemBytes, parameters, (c.x, c.y, c.z))

    def cuLaunchKernel(
        self, function: Any, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int,
        parameters: int, extra: int,
    ) -> tuple[int]:  # fmt: skip
        self.streams.append(stream)
        self.grids.append((gx, gy, gz))
        return self._run(function, (gx, gy, gz), (bx, by, bz), shared, parameters, None)

    def _run(
        self, function: Any, grid: Any, block: Any, shared: int, parameters: int, cluster: Any
    ) -> tuple[int]:
        if self.broken:
            return (700,)
        entry = function.module.entry(function.name)
        wanted = entry.parameters
        if block == (1, 1, 1):
            # The driver knows the threads and the shared memory of a tile kernel from its cubin.
            block = of_entry(entry).block or block
            shared = shared or self.tile_shared.get(id(function.module), 0)
        pointers = (ctypes.c_void_p * max(len(wanted), 1)).from_address(parameters)
        args = [
            ctypes.string_at(pointer, one.size)
            for pointer, one in zip(pointers, wanted, strict=False)
            if pointer
        ]
        result = function.module.launch(function.name, grid, block, args, shared, cluster)
        return (700 if result.findings else 0,)

    def cuTensorMapEncodeTiled(self, *args: Any) -> tuple[int, Any]:
        self.encoded.append(args)
        kind, _, address, dims, strides, box, steps, interleave, swizzle, promotion, fill = args
        words = [re.sub(_PREFIXES, "", str(one)) for one in (kind, interleave, swizzle, promotion)]
        element, *modes = words
        promoted, padding = modes.pop(), "nan" if "NAN" in str(fill) else "zeros"
        found = tensor_map(
            _ELEMENTS[element], address, dims, box, strides=strides, element_strides=steps, fill=padding,
            interleave=_MODES.get(modes[0], modes[0]), swizzle=_MODES.get(modes[1], modes[1]),
            l2_promotion=_MODES.get(promoted, promoted),
        )  # fmt: skip
        block = ctypes.create_string_buffer(found, 128)
        return 0, SimpleNamespace(getPtr=lambda: ctypes.addressof(block), block=block)
