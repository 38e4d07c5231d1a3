"""Launching kernels, on the simulated GPU or on a real one, through one interface.

gpu = device("sim")                       # or device("cuda")
kernel = gpu.load(ptx, manifest).kernel("gemm")
a = gpu.buffer(np.ones((128, 64), np.float16), "A")
result = kernel.launch((2, 2), [a, …])
a.array(), result.findings
"""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

from tessera_tools.diagnostics import error
from tessera_tools.runtime.interface import Buffer, Device, Kernel, LaunchOptions, Module, Result
from tessera_tools.runtime.signature import Parameter, Scalar, Signature
from tessera_tools.runtime.types import TYPES, Type, lookup_type

__all__ = [
    "TYPES",
    "Buffer",
    "Device",
    "Kernel",
    "Module",
    "Parameter",
    "Result",
    "Scalar",
    "Signature",
    "Type",
    "device",
    "lookup_type",
]


@overload
def device(
    name: Literal["sim"] = "sim", *, gpu_name: str | None = None, **options: Unpack[LaunchOptions]
) -> Device: ...
@overload
def device(name: Literal["cuda"], *, ordinal: int = 0) -> Device: ...
@overload
def device(name: str, **options: Any) -> Device: ...
def device(name: str = "sim", **options: Any) -> Device:
    """The device `sim` or `cuda`; `options` are those of SimulatedDevice or CudaDevice.

    Raises DiagnosticError for another name, and for a missing GPU or package.
    """
    if name == "sim":
        from tessera_tools.runtime.simulated import SimulatedDevice

        return SimulatedDevice(**options)
    if name == "cuda":
        from tessera_tools.runtime.cuda import CudaDevice

        return CudaDevice(**options)
    raise error(None, f"unknown device '{name}'; expected sim or cuda")
