"""The GPU of a measurement: kernels of a pack, arrays, and times with the L2 cache flushed.

cubin, manifest ──kernel()──▶ prepare(grid, arguments) ──▶ work ──times()──▶ microseconds of each launch

Part of the pack of gpu_pack.py. Launches go through tessera_tools.runtime.cuda, the code of --device=cuda.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gpu_cases import Case, Tensor

Array = np.ndarray[Any, Any]
Work = Callable[[], Any]

_WARM = 3
_MOST_ROUNDS = 50
_FEWEST_ROUNDS = 7
_FLUSH_LEAST = 64 << 20
"""Bytes that are written between two launches, at least."""


def optional(name: str) -> Any:
    """A package, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Gpu:
    """The first GPU. Raises DiagnosticError if there is none."""

    def __init__(self) -> None:
        from tessera_tools.runtime.cuda import CudaDevice

        self.device = CudaDevice()
        self.call: Any = self.device.driver.call
        self.api: Any = self.device.driver.api
        self.torch = optional("torch")
        if self.torch is not None and not self.torch.cuda.is_available():
            self.torch = None
        attributes = self.api.CUdevice_attribute

        def attribute(name: str) -> int:
            return int(
                self.call("cuDeviceGetAttribute", getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}"), 0)
            )

        self.capability = 10 * attribute("COMPUTE_CAPABILITY_MAJOR") + attribute("COMPUTE_CAPABILITY_MINOR")
        raw = self.call("cuDeviceGetName", 128, 0)
        self.name = raw.decode().rstrip("\0") if isinstance(raw, bytes) else str(raw)
        self.driver_version = int(self.call("cuDriverGetVersion"))
        self.flush_bytes = max(_FLUSH_LEAST, 2 * attribute("L2_CACHE_SIZE"))
        self.scratch = int(self.call("cuMemAlloc", self.flush_bytes))

    def synchronize(self) -> None:
        """Wait for the GPU. Raises DiagnosticError after a fault of a kernel, from then on always."""
        self.call("cuCtxSynchronize")

    def works(self) -> bool:
        """False after a fault that the process cannot recover from."""
        try:
            self.synchronize()
        except Exception:
            return False
        return True

    def kernel(self, folder: Path, name: str) -> Any:
        """The kernel of a cubin and its manifest."""
        from tessera_tools.emit.manifest import Manifest

        raw = (folder / f"{name}.json").read_bytes()
        manifest = Manifest.from_json(raw, name=f"'{name}.json'")
        return self.device.load((folder / f"{name}.cubin").read_bytes(), manifest, file=name).kernel()

    def copy_work(self, nbytes: int) -> Work:
        """Copies half as many bytes within the GPU's memory, so that as many are moved."""
        size = max(nbytes // 2, 1)
        memory = Memory(self)
        memory.add(Tensor("from", "f8e4m3", (size,), output=True), 0)
        memory.add(Tensor("to", "f8e4m3", (size,), output=True), 0)
        source, to = memory.address("from"), memory.address("to")

        def work(keep: Any = memory) -> None:
            self.call("cuMemcpyDtoDAsync", to, source, size, 0)

        return work

    def times(self, works: Mapping[str, Work], seconds: float) -> dict[str, list[float]]:
        """Microseconds of each launch: in turn, each with a cold L2, until about `seconds` have passed."""
        begin, end = self.call("cuEventCreate", 0), self.call("cuEventCreate", 0)
        found: dict[str, list[float]] = {name: [] for name in works}
        try:
            spent, names = 0.0, list(works)
            for number in range(_WARM + _MOST_ROUNDS):
                if number >= _WARM + _FEWEST_ROUNDS and spent > seconds:
                    break
                shift = number % len(names)
                for name in names[shift:] + names[:shift]:
                    # The flush keeps the GPU busy while the launch is enqueued.
                    self.call("cuMemsetD8Async", self.scratch, number & 1, self.flush_bytes, 0)
                    self.call("cuEventRecord", begin, 0)
                    works[name]()
                    self.call("cuEventRecord", end, 0)
                    self.call("cuEventSynchronize", end)
                    taken = float(self.call("cuEventElapsedTime", begin, end)) * 1000
                    if number >= _WARM:
                        found[name].append(round(taken, 3))
                        spent += taken / 1e6
        finally:
            for event in (begin, end):
                with contextlib.suppress(Exception):  # after a fault, every call fails
                    self.call("cuEventDestroy", event)
        return found

    def clocks(self) -> dict[str, float]:
        """Clocks in MHz, power in W and temperature in °C, as far as the machine tells."""
        library = optional("pynvml")
        if library is not None:
            try:
                library.nvmlInit()
                handle = library.nvmlDeviceGetHandleByIndex(0)
                return {
                    "sm_mhz": library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM),
                    "memory_mhz": library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_MEM),
                    "power_w": library.nvmlDeviceGetPowerUsage(handle) / 1000,
                    "temperature_c": library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU),
                }
            except library.NVMLError:
                return {}
        query = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
        try:
            done = subprocess.run(
                ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "--id=0"],
                capture_output=True,
                text=True,
                timeout=20,
                check=True,
            )
            values = [float(word) for word in done.stdout.split(",")]
            return dict(zip(("sm_mhz", "memory_mhz", "power_w", "temperature_c"), values, strict=True))
        except (OSError, subprocess.SubprocessError, ValueError):
            return {}


_TORCH = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f8e4m3": "float8_e4m3fn", "i8": "int8", "i32": "int32",
}  # fmt: skip


class Memory:
    """The arrays of a case on the GPU: torch's tensors where torch is installed, otherwise the driver's memory."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.tensors: dict[str, Any] = {}
        """By name; empty without torch."""
        self.buffers: dict[str, Any] = {}
        """By name; empty with torch."""
        self.described: dict[str, Tensor] = {}

    @classmethod
    def of(cls, gpu: Gpu, case: Case, seed: int) -> Memory:
        """The arrays of a case, with their inputs."""
        memory = cls(gpu)
        for number, one in enumerate(case.tensors):
            memory.add(one, seed + number)
        return memory

    def add(self, one: Tensor, seed: int) -> None:
        """Allocate an array; an output has every bit set, which is a NaN."""
        self.described[one.name] = one
        torch = self.gpu.torch
        if one.output:
            raw = np.full(one.nbytes, 0xFF, np.uint8)
            if torch is not None:
                bytes_ = torch.full((one.nbytes,), 0xFF, dtype=torch.uint8, device="cuda")
                self.tensors[one.name] = bytes_.view(getattr(torch, _TORCH[one.type])).reshape(one.shape)
            else:
                self.buffers[one.name] = self.gpu.device.buffer(raw, one.name)
            return
        values = one.values(np.random.default_rng(seed))
        if torch is not None:
            self.tensors[one.name] = torch.from_numpy(values).cuda().to(getattr(torch, _TORCH[one.type]))
        else:
            from tessera_tools.runtime.types import TYPES

            self.buffers[one.name] = self.gpu.device.buffer(
                TYPES[one.type].encode(values), one.name, one.type
            )

    def address(self, name: str) -> int:
        """The address of an array."""
        return self.tensors[name].data_ptr() if name in self.tensors else self.buffers[name].address

    def spoil(self, name: str) -> None:
        """Set every bit of an array."""
        self.gpu.call("cuMemsetD8Async", self.address(name), 0xFF, self.described[name].nbytes, 0)

    def float64(self, name: str) -> Array:
        """The values of an array."""
        one = self.described[name]
        if name in self.tensors:
            return self.tensors[name].double().cpu().numpy()
        from tessera_tools.runtime.types import TYPES

        kind = TYPES[one.type]
        return kind.decode(self.buffers[name].read().view(kind.storage).reshape(one.shape))


def check_test(gpu: Gpu, folder: Path, who: str, name: str) -> tuple[dict[str, Any], Work | None]:
    """Run a kernel of the tests once for its results: `outcome` and `error`, and what is to be timed if it is right."""
    from tessera_tools.runtime.types import TYPES

    with np.load(folder / "tests" / f"{name}.npz", allow_pickle=False) as file:
        content = {key: file[key] for key in file.files}
    about = json.loads(str(content["about"]))
    inputs = [content[f"input{number}"] for number in range(len(about["elements"]))]
    buffers = [gpu.device.buffer(array, f"array {number}") for number, array in enumerate(inputs)]
    rest = iter(buffers)
    args: list[Any] = [next(rest).address if value is None else value for value in about["args"]]
    work = gpu.kernel(folder / who, f"test_{name}").prepare(about["grid"], args)
    work()
    gpu.synchronize()
    worst, wrong = 0.0, False
    for number, (buffer, element) in enumerate(zip(buffers, about["elements"], strict=True)):
        expected, found = content[f"expected{number}"], buffer.array()
        kind, tolerance = TYPES.get(element), about["tolerances"][number]
        if kind is None or not tolerance:
            wrong |= not np.array_equal(found, expected.reshape(found.shape))
            continue
        x = kind.decode(expected.reshape(found.shape)).astype(np.float64)
        y = kind.decode(found).astype(np.float64)
        finite = np.isfinite(x)
        scale = float(np.abs(x).max(initial=1e-3, where=finite))
        share = float((np.abs(x - y) / (scale + np.abs(x))).max(initial=0.0, where=finite))
        worst = max(worst, share)
        same = np.array_equal(np.where(finite, 0, x), np.where(finite, 0, y), equal_nan=True)
        wrong |= not same or not share <= tolerance
    found = {"outcome": "wrong" if wrong else "measured", "error": worst}
    return found, None if wrong else lambda keep=buffers: work()


def median(times: Sequence[float]) -> float:
    """The median."""
    return float(np.median(times))
