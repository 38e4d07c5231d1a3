"""A real GPU as a device, through NVIDIA's `cuda-bindings` (the extra `[cuda]`), imported on demand.

    Kernel.launch ──▶ cuModuleLoadData, cuTensorMapEncodeTiled, cuLaunchKernel(Ex) between two events ──▶ Result.seconds

Source: CUDA Driver API (13.x). Every call goes through `_Driver.call`, which turns a CUresult into an error.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.manifest import Manifest
from tessera_tools.runtime import interface
from tessera_tools.runtime.signature import Shape, Signature, merge, of_entry, of_kernel
from tessera_tools.runtime.types import Array, Type

__all__ = ["CudaDevice"]


_STATIC_LIMIT = 48 << 10
"""Bytes of shared memory that a launch may have without opting in."""
_PORTABLE_CLUSTER = 8

_ELEMENTS = {
    "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "s32": "INT32", "u64": "UINT64", "s64": "INT64",
    "f16": "FLOAT16", "f32": "FLOAT32", "f32.ftz": "FLOAT32_FTZ", "f64": "FLOAT64", "bf16": "BFLOAT16",
    "tf32": "TFLOAT32", "tf32.ftz": "TFLOAT32_FTZ", "b4x16": "16U4_ALIGN8B", "b4x16_p64": "16U4_ALIGN16B",
    "b6x16_p32": "16U6_ALIGN16B",
}  # fmt: skip
"""Element types of tensor maps, as PTX names them → the driver's."""


class _Driver:
    """NVIDIA's driver, checked: a failed call is a DiagnosticError that names it."""

    def __init__(self) -> None:
        try:
            driver = importlib.import_module("cuda.bindings.driver")
        except ImportError:
            raise error(
                None, "--device=cuda needs the package cuda-bindings, which is not installed",
                "pip install 'tessera-tools[cuda]', or use --device=sim",
            ) from None  # fmt: skip
        self.api: Any = driver
        try:
            self.call("cuInit", 0)
        except DiagnosticError as failure:
            raise _no_gpu(failure.diagnostics[0].message) from None
        except Exception as failure:
            # The package loads libcuda at the first call, and raises its own errors.
            raise _no_gpu(" ".join(str(failure).split()).rstrip(".")) from None

    def case(self, enumeration: str, name: str) -> Any:
        """A case of an enumeration of the driver."""
        return getattr(getattr(self.api, enumeration), name)

    def call(self, name: str, *args: Any) -> Any:
        """The results of a call: None, one value, or a tuple."""
        status, *values = getattr(self.api, name)(*args)
        if int(status) != 0:
            known = "CUDA error"
            with suppress(Exception):
                known = self.api.cuGetErrorName(status)[1].decode()
            raise error(None, f"{name} failed: {known}")
        return None if not values else values[0] if len(values) == 1 else tuple(values)


def _no_gpu(why: str) -> DiagnosticError:
    return error(None, f"no usable GPU: {why}", "use --device=sim")


class CudaBuffer(interface.Buffer):
    """Device memory; freed with the object."""

    pointer: int | None = None

    def __init__(self, driver: _Driver, name: str, array: Array, type: Type | None) -> None:
        super().__init__(name, array, type)
        self.driver = driver
        self.pointer = int(driver.call("cuMemAlloc", max(array.nbytes, 1)))
        self.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    @property
    def address(self) -> int:
        assert self.pointer is not None
        return self.pointer

    def read(self) -> Array:
        raw = np.zeros(self.nbytes, np.uint8)
        if self.nbytes:
            self.driver.call("cuMemcpyDtoH", raw.ctypes.data, self.address, self.nbytes)
        return raw

    def write(self, raw: Array, at: int = 0) -> None:
        data = np.ascontiguousarray(raw)
        if data.nbytes:
            self.driver.call("cuMemcpyHtoD", self.address + at, data.ctypes.data, data.nbytes)

    def __del__(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            with suppress(Exception):  # At interpreter exit, the driver may already be unloaded.
                self.driver.call("cuMemFree", pointer)


class CudaKernel(interface.Kernel):
    """An entry of a module in the driver."""

    def __init__(self, driver: _Driver, signature: Signature, function: Any) -> None:
        super().__init__(signature)
        self.driver = driver
        self.function = function

    def allocate(self, array: Array, name: str) -> interface.Buffer:
        return CudaBuffer(self.driver, name, array, None)

    def concurrent(self, threads: int, shared: int) -> int:
        driver, api = self.driver, self.driver.api
        if shared > _STATIC_LIMIT:
            attribute = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", self.function, attribute, shared)
        each = driver.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", self.function, threads, shared)
        attribute = api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        return int(each) * int(driver.call("cuDeviceGetAttribute", attribute, driver.call("cuCtxGetDevice")))

    def encode(self, tensor_map: interface.TensorMapValues) -> bytes:
        api, given = self.driver.api, tensor_map
        name = _ELEMENTS.get(given["element"])
        if name is None:
            raise error(None, f"'{self.name}': unknown element type '{given['element']}' of a tensor map")
        swizzle = str(given["swizzle"]).upper()
        interleave = str(given["interleave"]).upper()
        promotion = {"none": "NONE"}.get(given["l2_promotion"], f"L2_{given['l2_promotion']}")
        fill = "NONE" if given["fill"] == "zeros" else "NAN_REQUEST_ZERO_FMA"
        found = self.driver.call(
            "cuTensorMapEncodeTiled",
            self.driver.case("CUtensorMapDataType", f"CU_TENSOR_MAP_DATA_TYPE_{name}"),
            len(given["dims"]),
            given["address"],
            [api.cuuint64_t(n) for n in given["dims"]],
            [api.cuuint64_t(n) for n in given["strides"]],
            [api.cuuint32_t(n) for n in given["box"]],
            [api.cuuint32_t(n) for n in given["element_strides"]],
            self.driver.case("CUtensorMapInterleave", f"CU_TENSOR_MAP_INTERLEAVE_{interleave}"),
            self.driver.case("CUtensorMapSwizzle", f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
            self.driver.case("CUtensorMapL2promotion", f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"),
            self.driver.case("CUtensorMapFloatOOBfill", f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
        )
        return ctypes.string_at(int(found.getPtr()), 128)

    def _launch(
        self, grid: Shape, block: Shape, cluster: Shape | None, shared: int, args: list[bytes],
        options: interface.LaunchOptions,
    ) -> interface.Result:  # fmt: skip
        stream = interface.stream_handle(options.pop("stream", None))
        if options:
            raise TypeError(f"a real GPU does not support the option '{next(iter(options))}'")
        driver = self.driver
        enqueue = self._prepared(grid, block, cluster, shared, args, stream)
        begin, end = driver.call("cuEventCreate", 0), driver.call("cuEventCreate", 0)
        try:
            driver.call("cuEventRecord", begin, stream)
            enqueue()
            driver.call("cuEventRecord", end, stream)
            driver.call("cuEventSynchronize", end)
            milliseconds = float(driver.call("cuEventElapsedTime", begin, end))
        finally:
            for event in (begin, end):
                with suppress(DiagnosticError):  # After a fault in the kernel, every call fails.
                    driver.call("cuEventDestroy", event)
        return interface.Result(seconds=milliseconds / 1000)

    def prepare(
        self, grid: Sequence[int], args: Sequence[interface.Argument] = (), *, stream: object = None
    ) -> Callable[[], None]:
        """A function that enqueues the launch and returns at once, for measurements that launch often.

        The arguments are as those of `launch`. Raises DiagnosticError for an invalid launch.
        """
        return self._prepared(*self._checked(grid, args), interface.stream_handle(stream))

    def _prepared(
        self, grid: Shape, block: Shape, cluster: Shape | None, shared: int, args: list[bytes], stream: int
    ) -> Callable[[], None]:  # fmt: skip
        driver, api = self.driver, self.driver.api
        if shared > _STATIC_LIMIT:
            attribute = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", self.function, attribute, shared)
        # Tensor maps are aligned to 64 bytes; the driver copies each parameter from the address of its pointer.
        storage = [_aligned(raw) for raw in args]
        pointers = (ctypes.c_void_p * max(len(args), 1))(*(at for _, at in storage))

        counter = self._counter

        def enqueue(keep: Sequence[tuple[ctypes.Array[ctypes.c_char], int]] = storage) -> None:
            parameters = ctypes.addressof(pointers)
            if counter is not None:
                # The launch before may have counted.
                driver.call("cuMemsetD32Async", counter.address, 0, 1, stream)
            if cluster is None or self.signature.blocks_are_clusters:
                # The driver makes a cluster of each CTA of such a grid; the cubin says how large.
                driver.call(
                    "cuLaunchKernel", self.function, *grid, *block, shared, stream, parameters, 0
                )  # fmt: skip
            else:
                self._launch_clusters(grid, block, cluster, shared, stream, parameters)

        return enqueue

    def _launch_clusters(
        self, grid: Shape, block: Shape, cluster: Shape, shared: int, stream: int, parameters: int
    ) -> None:
        driver, api = self.driver, self.driver.api
        x, y, z = cluster
        if x * y * z > _PORTABLE_CLUSTER:
            attribute = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            driver.call("cuFuncSetAttribute", self.function, attribute, 1)
        attribute = api.CUlaunchAttribute()
        attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = cluster
        config = api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared
        config.hStream = stream
        config.attrs = [attribute]
        config.numAttrs = 1
        driver.call("cuLaunchKernelEx", config, self.function, parameters, 0)


def _aligned(raw: bytes) -> tuple[ctypes.Array[ctypes.c_char], int]:
    """The bytes, aligned to 64: the memory that contains them, and their address."""
    memory = ctypes.create_string_buffer(len(raw) + 64)
    at = -(-ctypes.addressof(memory) // 64) * 64
    ctypes.memmove(at, raw, len(raw))
    return memory, at


class CudaModule(interface.Module):
    """A module in the driver."""

    def __init__(self, driver: _Driver, handle: Any, signatures: list[Signature]) -> None:
        self.handle = handle
        super().__init__(
            [
                CudaKernel(driver, one, driver.call("cuModuleGetFunction", handle, one.name.encode()))
                for one in signatures
            ]
        )


class CudaDevice(interface.Device):
    """A real GPU, number `ordinal` in the driver's list; its primary context becomes current on this thread."""

    name = "cuda"

    def __init__(self, *, ordinal: int = 0) -> None:
        self.driver = _Driver()
        try:
            self.device = self.driver.call("cuDeviceGet", ordinal)
        except DiagnosticError as failure:
            raise _no_gpu(failure.diagnostics[0].message) from None
        self.context = self.driver.call("cuDevicePrimaryCtxRetain", self.device)
        self.driver.call("cuCtxSetCurrent", self.context)

    def wait_for(self, stream: int) -> None:
        self.driver.call("cuStreamSynchronize", stream)

    def load(self, code: str | bytes, manifest: Manifest | None = None, *, file: str = "<ptx>") -> CudaModule:
        declared = {kernel.name: of_kernel(kernel) for kernel in manifest.kernels} if manifest else {}
        if isinstance(code, bytes):
            if manifest is None:
                raise error(
                    None, f"the cubin '{file}' has no launch manifest", "specify it with --manifest=FILE"
                )
            signatures = list(declared.values())
            image = code
        else:
            from tessera_tools.sim.reader import read

            entries = {entry.name: of_entry(entry) for entry in read(code, file).entries()}
            signatures = [
                merge(one, declared[name]) if name in declared else one for name, one in entries.items()
            ]
            image = code.encode() + b"\0"
        try:
            handle = self.driver.call("cuModuleLoadData", image)
        except DiagnosticError as failure:
            what = "cubin" if isinstance(code, bytes) else "PTX"
            raise error(
                None, f"the driver rejects the {what} '{file}': {failure.diagnostics[0].message}",
                "compile it for this GPU; tessera-translate --mlir-to-cubin shows the messages of ptxas",
            ) from None  # fmt: skip
        return CudaModule(self.driver, handle, signatures)

    def _buffer(self, array: Array, name: str, type: Type | None) -> CudaBuffer:
        return CudaBuffer(self.driver, name or "a buffer", array, type)
