"""The common interface of the simulated GPU and a real GPU: devices, modules, kernels, buffers, results.

device("sim") ──load(ptx, manifest)──▶ Module ──kernel(name)──▶ Kernel ──launch(grid, args)──▶ Result
      └──buffer(array)──▶ Buffer, an argument of launch; array() afterwards
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict, TypeGuard, Unpack

import numpy as np

from tessera_tools.diagnostics import error
from tessera_tools.emit.manifest import Manifest, TensorMap
from tessera_tools.runtime.signature import Parameter, Scalar, Shape, Signature
from tessera_tools.runtime.types import Array, Type, lookup_type, type_of_array
from tessera_tools.sim import Findings
from tessera_tools.sim.counters import Counters
from tessera_tools.target.grids import MOST_EXTENT, MOST_PROGRAMS, MOST_RESIDENT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tessera_tools.runtime.timing import Estimate
    from tessera_tools.runtime.workers import PartialLaunch

__all__ = [
    "Argument",
    "Buffer",
    "Device",
    "HasDLPack",
    "Kernel",
    "LaunchOptions",
    "Module",
    "Result",
    "TensorMapValues",
    "as_array",
    "has_dlpack",
    "shape_of",
    "stream_handle",
]


class HasDLPack(Protocol):
    """An array of any library, in the host's memory, that NumPy reads without a copy."""

    def __dlpack__(self, *, stream: None = None) -> Any:
        """A capsule of DLPack."""
        ...


class HasCudaStream(Protocol):
    """A stream of a library, by CUDA's protocol for Python."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol, and the driver's handle."""
        ...


class LaunchOptions(TypedDict, total=False):
    """The options of a launch. A real GPU has only `stream`; on the simulated GPU, they may also be the device's."""

    stream: object
    """A number, or a stream of torch, CuPy or with `__cuda_stream__`; it has no effect on the simulated GPU."""
    seed: int
    mode: str
    """When asynchronous operations complete: `late` or `early`."""
    max_instructions: int
    time_limit: float | None
    stats: bool
    """Enable counters."""
    processes: int
    timing: bool
    """Estimate how long the launch takes on the GPU."""
    clock_mhz: float | None
    watch: Callable[[PartialLaunch], object] | None
    """Called with the launch before it begins."""


class TensorMapValues(TypedDict):
    """A tensor map with the values of a launch, innermost dimension first; strides are in bytes."""

    element: str
    address: int
    dims: Sequence[int]
    strides: Sequence[int]
    box: Sequence[int]
    element_strides: Sequence[int]
    swizzle: str
    fill: str
    interleave: str
    l2_promotion: str


@dataclass(slots=True)
class Result:
    """The result of a launch. A real GPU has no findings, counters or instruction count; `seconds` differs."""

    findings: Findings = field(default_factory=Findings)
    stats: Counters | None = None
    output: str = ""
    """What the kernel printed, on the simulated GPU."""
    instructions: int = 0
    """Warp instructions executed."""
    seconds: float = 0.0
    """On a real GPU, the kernel's time by events; on the simulated GPU, the duration of the simulation."""
    seed: int = 0
    mode: str = ""
    processes: int = 1
    shared: int = 0
    """Shared memory of a block, static and dynamic, in bytes (simulated GPU)."""
    estimate: Estimate | None = None
    """How long the launch would take on the GPU, if `timing` was asked for (simulated GPU)."""


class Buffer(ABC):
    """Global memory of a device. `type` is the element type if known; `name` is for messages."""

    def __init__(self, name: str, array: Array, type: Type | None) -> None:
        self.name = name
        self.dtype = array.dtype
        self.shape = array.shape
        self.nbytes = array.nbytes
        self.type = type

    @property
    @abstractmethod
    def address(self) -> int:
        """The device address, a multiple of 256."""

    @abstractmethod
    def read(self) -> Array:
        """The bytes, copied to the host."""

    @abstractmethod
    def write(self, raw: Array, at: int = 0) -> None:
        """Copy bytes from the host to byte `at`."""

    def array(self) -> Array:
        """The content in the shape and dtype of its creation; types that NumPy lacks are patterns."""
        return self.read().view(self.dtype).reshape(self.shape)

    def values(self) -> Array:
        """The content as numbers: float64 for every float type."""
        return self.type.decode(self.array()) if self.type is not None else self.array()


Argument: TypeAlias = Buffer | Scalar | np.generic | bool | int | float | bytes
"""The argument of a parameter of a kernel."""

_EMPTY_BYTES = 16
"""Bytes of the tensor map of an empty tensor: the minimum stride."""


class Kernel(ABC):
    """An entry that can be launched."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self._zeros: Buffer | None = None
        """The memory that the tensor maps of empty tensors address."""
        self._counter: Buffer | None = None
        """The counter of the latest launch of a persistent kernel."""

    @property
    def name(self) -> str:
        return self.signature.name

    def launch(
        self,
        grid: Sequence[int],
        args: Sequence[Argument] = (),
        *,
        block: Sequence[int] | None = None,
        shared: int | None = None,
        cluster: Sequence[int] | None = None,
        resident: int | None = None,
        **options: Unpack[LaunchOptions],
    ) -> Result:
        """Run the kernel, and wait for its completion.

        `args`: one per parameter, except the tensor maps that the manifest describes: a Buffer, a NumPy or
        Python number, a `Scalar`, or bytes. `block` and `shared` (dynamic shared memory, bytes) default to the
        manifest's values. `resident`: how many CTAs, or clusters, of a persistent kernel to start; by default as many
        as the device runs at once. `options` are device-specific. Raises DiagnosticError for an invalid launch.
        """
        return self._launch(*self._checked(grid, args, block, shared, cluster, resident), options)

    def _checked(
        self,
        grid: Sequence[int],
        args: Sequence[Argument],
        block: Sequence[int] | None = None,
        shared: int | None = None,
        cluster: Sequence[int] | None = None,
        resident: int | None = None,
    ) -> tuple[Shape, Shape, Shape | None, int, list[bytes]]:
        """(grid, block, cluster, dynamic shared memory, bytes of each parameter). Raises DiagnosticError."""
        signature = self.signature
        signature.check_count(len(args))
        size = signature.block if block is None else shape_of(block, "block")
        if size is None:
            raise error(
                None,
                f"the block size of '{self.name}' is not specified: the PTX has no .reqntid",
                "specify it with --block=X,Y,Z or a manifest",
            )
        if signature.block is not None and size != signature.block:
            raise error(None, f"a block of {size}; '{self.name}' was compiled for {signature.block}")
        clusters = signature.cluster if cluster is None else shape_of(cluster, "cluster")
        amount = signature.dynamic_shared if shared is None else shared
        blocks = shape_of(grid, "grid")
        packed = self._pack(list(args), blocks)
        if signature.persistent is not None:
            needed = signature.persistent.clusters(blocks)
            ctas = self._resident(prod(blocks), prod(needed), size, amount, clusters, resident)
            # A grid whose launches are canceled has all programs, or clusters of them.
            if signature.persistent.scheduler in ("never", "cancel"):
                blocks = needed
            elif signature.persistent.grid is not None:
                blocks = (ctas, 1, 1)
        return blocks, size, clusters, amount, packed

    def _resident(
        self,
        programs: int,
        clusters: int,
        block: Shape,
        shared: int,
        cluster: Shape | None,
        given: int | None,
    ) -> int:
        """How many CTAs, or clusters, of a persistent kernel a launch starts."""
        if programs > MOST_PROGRAMS:
            raise error(
                None, f"a grid of {programs} tile blocks; a persistent kernel runs at most {MOST_PROGRAMS}"
            )
        if given is not None and not 1 <= given <= MOST_RESIDENT:
            raise error(None, f"{given} resident tile blocks; expected 1 to {MOST_RESIDENT}")
        most = given or self.concurrent(prod(block), shared) // prod(cluster or (1, 1, 1))
        return min(clusters, max(1, most))

    def _pack(self, args: list[Argument], grid: Shape = (1, 1, 1)) -> list[bytes]:
        """The bytes of every parameter, including tensor maps and the grid of the manifest."""
        signature = self.signature
        found: dict[int, bytes] = {}
        if signature.persistent is not None:
            for number, extent in zip(signature.persistent.grid or (), grid, strict=False):
                found[number] = extent.to_bytes(4, "little")
            if signature.persistent.counter is not None:
                # Earlier launches may still count, so that each has its own.
                self._counter = self.allocate(np.zeros(4, np.uint8), "the counter of a persistent kernel")
                found[signature.persistent.counter] = self._counter.address.to_bytes(8, "little")
        wanted = signature.wanted
        for parameter, value in zip(wanted, args, strict=True):
            found[signature.parameters.index(parameter)] = self._argument(parameter, value)
        for tensor_map in signature.tensor_maps:
            resolved = self._resolved(tensor_map, found)
            found[tensor_map.parameter] = self.encode(
                resolved if all(resolved["dims"]) else self._empty(resolved)
            )
        return [found[number] for number in range(len(signature.parameters))]

    def _argument(self, parameter: Parameter, value: Argument) -> bytes:
        signature = self.signature
        if isinstance(value, Buffer):
            if not signature.may_point(parameter):
                raise error(None, f"{parameter}: found the buffer '{value.name}', expected {parameter.type}")
            return value.address.to_bytes(8, "little")
        if isinstance(value, Scalar):
            return signature.pack(parameter, value)
        if isinstance(value, np.generic):
            kind = type_of_array(np.asarray(value))
            return signature.pack(parameter, Scalar(value.item(), kind))
        if isinstance(value, bool | int | float | bytes):
            return signature.pack(parameter, Scalar(int(value) if isinstance(value, bool) else value))
        what = value.__class__.__name__
        raise error(None, f"{parameter}: found a {what}, expected a Buffer, a number or bytes")

    def _resolved(self, tensor_map: TensorMap, args: Mapping[int, bytes]) -> TensorMapValues:
        """A manifest's tensor map with the values of this launch: arguments of `sim.tensor_map`."""

        def value(extent: int | Mapping[str, int]) -> int:
            if isinstance(extent, int):
                return extent
            given = int.from_bytes(args[extent["parameter"]], "little")
            return (given * extent.get("times", 1) + extent.get("plus", 0)) // extent.get("over", 1)

        extents = tuple(map(value, tensor_map.shape))
        if max(extents) > MOST_EXTENT:
            raise error(
                None,
                f"'{self.name}': a tensor map has dimensions ({', '.join(map(str, extents))}); "
                "coordinates of TMA are below 2^31",
                "compile with --abi=plain, or with allow_tma = false for the loads and stores of this tensor",
            )
        return {
            "element": tensor_map.element_type,
            "address": int.from_bytes(args[tensor_map.base], "little"),
            "dims": extents,
            "strides": tuple(map(value, tensor_map.strides)),
            "box": tensor_map.box,
            "element_strides": tensor_map.element_strides,
            "swizzle": tensor_map.swizzle,
            "fill": {"zero": "zeros"}.get(tensor_map.fill, tensor_map.fill),
            "interleave": tensor_map.interleave,
            "l2_promotion": tensor_map.l2_promotion,
        }

    def _empty(self, tensor_map: TensorMapValues) -> TensorMapValues:
        """The tensor map of a tensor without elements, which the driver does not encode: one zero element,
        so that every box is zeros, inside and outside the tensor."""
        if tensor_map["fill"] != "zeros":
            extents = ", ".join(map(str, tensor_map["dims"]))
            raise error(
                None,
                f"'{self.name}': a tensor map has dimensions ({extents}) and fills with {tensor_map['fill']}; "
                "expected at least 1 in each",
            )
        if self._zeros is None:
            self._zeros = self.allocate(np.zeros(_EMPTY_BYTES, np.uint8), "zeros of an empty tensor")
        return {
            **tensor_map,
            "address": self._zeros.address,
            "dims": (1,) * len(tensor_map["dims"]),
            "strides": (_EMPTY_BYTES,) * len(tensor_map["strides"]),
        }

    @abstractmethod
    def concurrent(self, threads: int, shared: int) -> int:
        """How many CTAs of so many threads, with so many bytes of dynamic shared memory, the device runs at once."""

    @abstractmethod
    def allocate(self, array: Array, name: str) -> Buffer:
        """A buffer on this kernel's device with the bytes of an array."""

    @abstractmethod
    def encode(self, tensor_map: TensorMapValues) -> bytes:
        """The 128 bytes of a tensor map in the device's encoding. Raises DiagnosticError."""

    @abstractmethod
    def _launch(
        self,
        grid: Shape,
        block: Shape,
        cluster: Shape | None,
        shared: int,
        args: list[bytes],
        options: LaunchOptions,
    ) -> Result: ...


class Module:
    """Loaded code with its kernels."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = list(kernels)

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel `name`; without a name, the only kernel. Raises DiagnosticError."""
        names = ", ".join(f"'{kernel.name}'" for kernel in self.kernels) or "none"
        if name is None and len(self.kernels) == 1:
            return self.kernels[0]
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        if name is None:
            raise error(None, f"there are {len(self.kernels)} entries: {names}", "name one with --entry")
        raise error(None, f"there is no entry '{name}'; found {names}")


class Device(ABC):
    """A GPU. `name` is `sim` or `cuda`."""

    name: str

    def wait_for(self, stream: int) -> None:  # noqa: B027 -- work on the simulated GPU is complete when it returns
        """Wait until the work on a stream of the driver is complete."""

    @abstractmethod
    def load(self, code: str | bytes, manifest: Manifest | None = None, *, file: str = "<ptx>") -> Module:
        """Load PTX text, or on a real GPU a cubin, which needs its manifest. Raises DiagnosticError."""

    def buffer(self, array: ArrayLike | HasDLPack, name: str = "", type: Type | str | None = None) -> Buffer:
        """A buffer that holds a copy of `array` (NumPy, or anything with `__dlpack__` in the host's memory).

        `type` names the element type where NumPy has none: `bf16` for an array of uint16. Raises DiagnosticError.
        """
        found = as_array(array)
        kind = lookup_type(type) if isinstance(type, str) else type
        if isinstance(type, str) and kind is None:
            raise error(None, f"unknown element type '{type}'")
        if kind is not None and kind.size != found.dtype.itemsize:
            raise error(None, f"an array of {found.dtype} cannot contain {kind.name}")
        return self._buffer(found, name, kind or type_of_array(found))

    @abstractmethod
    def _buffer(self, array: Array, name: str, type: Type | None) -> Buffer: ...


def has_dlpack(given: object) -> TypeGuard[HasDLPack]:
    """Whether a value is an array of a library that exports its memory."""
    return hasattr(given, "__dlpack__")


def _has_cuda_stream(given: object) -> TypeGuard[HasCudaStream]:
    return hasattr(given, "__cuda_stream__")


def as_array(given: ArrayLike | HasDLPack) -> Array:
    """The argument as a NumPy array, without a copy if possible. Raises DiagnosticError."""
    if isinstance(given, np.ndarray):
        return np.ascontiguousarray(given)
    if has_dlpack(given):
        try:
            return np.ascontiguousarray(np.from_dlpack(given))
        except (BufferError, RuntimeError, TypeError, ValueError) as failure:
            raise error(
                None, f"the array cannot be read through DLPack: {str(failure).rstrip('.')}",
                "copy it to the host first; pass bf16 and fp8 as bit patterns, with type=",
            ) from None  # fmt: skip
    return np.ascontiguousarray(given)


def stream_handle(given: object) -> int:
    """The driver's handle of a stream: a number, or an object of torch, CuPy or with `__cuda_stream__`; None is 0."""
    if given is None:
        return 0
    if _has_cuda_stream(given):
        return int(given.__cuda_stream__()[1])
    handle: Any = getattr(given, "cuda_stream", getattr(given, "ptr", given))
    try:
        return index(handle)
    except TypeError:
        what = type(given).__name__
        raise TypeError(f"stream: found a {what}, expected a number or a CUDA stream") from None


def shape_of(given: Sequence[int], what: str) -> Shape:
    """Three extents of one to three. Raises DiagnosticError."""
    sizes = tuple(int(size) for size in given)
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise error(
            None,
            f"the {what} is {','.join(map(str, sizes)) or 'empty'}; expected one to three numbers from 1",
        )
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
