"""NVIDIA's driver, played by the simulated GPU: the calls that runtime/cuda.py makes, with `cuda.bindings`' results.

The launching code under test is the real one; only the calls below it are not.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError


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
    the launches."""

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.memory = sim.Memory()
        self.freed: list[int] = []
        self.calls: list[str] = []
        self.attributes: dict[str, int] = {}
        self.encoded: list[Any] = []
        self.streams: list[int] = []
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

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[int]:
        self._bytes(to, size)[:] = np.frombuffer(ctypes.string_at(source, size), np.uint8)
        return (0,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> tuple[int]:
        ctypes.memmove(to, self._bytes(source, size).tobytes(), size)
        return (0,)

    def cuModuleLoadData(self, image: bytes) -> tuple[int, Any]:
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
        return self._run(function, (gx, gy, gz), (bx, by, bz), shared, parameters, None)

    def _run(
        self, function: Any, grid: Any, block: Any, shared: int, parameters: int, cluster: Any
    ) -> tuple[int]:
        wanted = function.module.entry(function.name).parameters
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
        block = ctypes.create_string_buffer(b"map".ljust(128, b"."), 128)
        return 0, SimpleNamespace(getPtr=lambda: ctypes.addressof(block), block=block)
