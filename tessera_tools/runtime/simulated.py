"""The simulated GPU as a device: sim/ with the interface of interface.py.

    Kernel.launch ──▶ sim.launch, which checks it ──▶ one process, or workers.py ──▶ Result

Every cluster has a separate random generator, seeded by the seed and the cluster's number. So the schedule of a seed
does not depend on the number of processes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Unpack

import numpy as np

from tessera_tools import sim
from tessera_tools.diagnostics import Position, error
from tessera_tools.emit.manifest import Manifest
from tessera_tools.runtime import interface
from tessera_tools.runtime.signature import Shape, Signature, merge, of_entry, of_kernel
from tessera_tools.runtime.types import Array, Type
from tessera_tools.runtime.workers import PartialLaunch, run_launch
from tessera_tools.sim.reader import read
from tessera_tools.target import Target, UnknownTargetError, lookup, occupancy
from tessera_tools.target.timing import timing

__all__ = ["SimulatedDevice", "SimulatedKernel"]

MAX_INSTRUCTIONS = 1 << 32
_MULTIPROCESSORS = 132
"""Of a GPU that the clock has no table of: an H100's."""
_REGISTERS = 128
"""Of a thread, where ptxas has not counted them."""


class SimulatedBuffer(interface.Buffer):
    """A guarded allocation of the simulated global memory."""

    def __init__(self, inner: sim.Buffer, array: Array, type: Type | None) -> None:
        super().__init__(inner.name, array, type)
        self.inner = inner

    @property
    def address(self) -> int:
        return self.inner.address

    def read(self) -> Array:
        return self.inner.bytes.copy()

    def write(self, raw: Array, at: int = 0) -> None:
        self.inner.data[at : at + len(raw)] = raw


class SimulatedKernel(interface.Kernel):
    """An entry of a PTX module."""

    def __init__(self, signature: Signature, owner: SimulatedModule) -> None:
        super().__init__(signature)
        self.owner = owner

    def allocate(self, array: Array, name: str) -> interface.Buffer:
        return self.owner.device.buffer(array, name)

    def concurrent(self, threads: int, shared: int) -> int:
        """As many as the GPU of the clock's table would run, or one of 132 multiprocessors where there is no table."""
        target = self.owner.target
        if target is None:
            return _MULTIPROCESSORS
        table = timing(target)
        registers = self.signature.registers or _REGISTERS
        each = occupancy(target, threads=threads, registers=registers, shared=shared).blocks
        return max(1, each) * (int(table.value("sms")) if table is not None else _MULTIPROCESSORS)

    def encode(self, tensor_map: interface.TensorMapValues) -> bytes:
        from tessera_tools.sim.tensor_map import TensorMapError
        from tessera_tools.sim.tensor_map import tensor_map as make

        try:
            return make(**tensor_map)
        except TensorMapError as failure:
            raise error(None, f"'{self.name}': {failure}") from None

    def _launch(
        self, grid: Shape, block: Shape, cluster: Shape | None, shared: int, args: list[bytes],
        options: interface.LaunchOptions,
    ) -> interface.Result:  # fmt: skip
        settings: interface.LaunchOptions = {**self.owner.device.options, **options}
        interface.stream_handle(settings.pop("stream", None))  # Launches complete one after the other.
        watch = settings.pop("watch", None)
        processes = int(settings.pop("processes", 1))
        seed = int(settings.pop("seed", 0))
        if settings.pop("timing", False):
            return self._time(grid, block, cluster, shared, args, settings)
        settings.pop("clock_mhz", None)
        begin = time.perf_counter()
        launch = PartialLaunch(
            self.owner.inner,
            self.owner.inner.entry(self.name),
            grid,
            block,
            args,
            shared,
            cluster,
            seed=seed,
            mode=settings.pop("mode", "late"),
            max_instructions=int(settings.pop("max_instructions", MAX_INSTRUCTIONS)),
            stats=bool(settings.pop("stats", False)),
            time_limit=settings.pop("time_limit", None),
        )
        _refuse(settings)
        if watch is not None:
            watch(launch)
        result, used = run_launch(launch, processes)
        return interface.Result(
            result.findings,
            result.stats,
            result.output,
            result.instructions,
            time.perf_counter() - begin,
            seed,
            launch.mode,
            used,
            launch.shared_size,
        )

    def _time(
        self, grid: Shape, block: Shape, cluster: Shape | None, shared: int, args: list[bytes],
        settings: interface.LaunchOptions,
    ) -> interface.Result:  # fmt: skip
        """Launch with the clock: in one process, with operations that complete at once, and perhaps only a sample."""
        from tessera_tools.runtime.timing import MOST_STEPS, TimedLaunch, check_timed, estimate
        from tessera_tools.sim.clock.record import Recorder
        from tessera_tools.sim.clock.steady import Skips

        target, table = check_timed(self.owner.target, settings.pop("clock_mhz", None))
        seed = int(settings.pop("seed", 0))
        begin = time.perf_counter()
        limit = min(int(settings.pop("max_instructions", MAX_INSTRUCTIONS)), MOST_STEPS)
        time_limit, watch = settings.pop("time_limit", None), settings.pop("watch", None)
        for name in ("mode", "stats"):  # The clock has its own.
            settings.pop(name, None)
        _refuse(settings)
        skips, counters = Skips(), dict[int, tuple[int, int]]()
        while True:
            recorder = Recorder()
            launch = TimedLaunch(
                self.owner.inner,
                self.owner.inner.entry(self.name),
                grid,
                block,
                args,
                shared,
                cluster,
                seed=seed,
                mode="early",
                max_instructions=limit,
                stats=recorder,
                time_limit=time_limit,
            )
            launch.counters = counters
            launch.begin_with(self.owner.text, target, table)
            if watch is not None:
                watch(launch)
            launch.watch(recorder, skips)
            result = launch.run()
            again = launch.skips_again(recorder, result)
            too_long = launch.max_instructions == MOST_STEPS and (
                result.instructions > MOST_STEPS or launch.too_long(recorder, again)
            )
            if again is None or too_long:
                break
            skips = again
        if too_long:
            raise error(
                None,
                f"the clock records at most {MOST_STEPS:,} warp instructions, and '{self.name}' executes more",
                "no loop of it has a steady state that could be skipped; time a smaller problem",
            )
        # A kernel that did not do its work has no time.
        whole = all(found.kind in _HARMLESS for found in result.findings.of("error"))
        found = estimate(launch, recorder, self.owner.text, target, table) if whole else None
        seconds = time.perf_counter() - begin
        return interface.Result(
            result.findings, result.stats, result.output, result.instructions, seconds, seed, launch.mode, 1,
            launch.shared_size, found,
        )  # fmt: skip


def _refuse(settings: Mapping[str, object]) -> None:
    """TypeError if a launch has an option that nothing reads."""
    if settings:
        raise TypeError(f"the simulated GPU does not support the option '{min(settings)}'")


_HARMLESS = {"race", "proxy", "uninitialized"}
"""Kinds of findings that leave a launch running to its end, with the same instructions."""


class SimulatedModule(interface.Module):
    """A PTX module in the simulated GPU."""

    def __init__(
        self,
        owner: SimulatedDevice,
        inner: sim.Module,
        target: Target | None,
        manifest: Manifest | None,
        text: str,
    ) -> None:
        self.text = text
        self.device = owner
        self.inner = inner
        self.target = target
        declared = {kernel.name: of_kernel(kernel) for kernel in manifest.kernels} if manifest else {}
        kernels: list[SimulatedKernel] = []
        for entry in inner.program.entries():
            signature = of_entry(entry)
            if entry.name in declared:
                signature = merge(signature, declared[entry.name])
            kernels.append(SimulatedKernel(signature, self))
        super().__init__(kernels)


class SimulatedDevice(interface.Device):
    """The simulated GPU. Options; each launch may override all except `gpu_name`:

    gpu_name: the architecture, whose limits are checked (default: the PTX's own target).
    seed, mode: the schedule, and when asynchronous operations complete (`late` or `early`).
    max_instructions, time_limit: warp instructions and seconds after which a launch ends with the finding `limit`.
    stats: enable counters (sim/counters.py).
    timing: estimate how long the launch takes on the GPU (sim/clock); it runs in the mode `early` then.
    clock_mhz: the clock of its SMs, if it is not that of the clock's table.
    processes: maximum number of processes for a launch with independent clusters (workers.py).
    """

    name = "sim"

    def __init__(self, *, gpu_name: str | None = None, **options: Unpack[interface.LaunchOptions]) -> None:
        self.memory = sim.Memory()
        self.target = None if gpu_name is None else _target(gpu_name)
        unknown = options.keys() - {
            "seed",
            "mode",
            "max_instructions",
            "time_limit",
            "stats",
            "processes",
            "timing",
            "clock_mhz",
            "watch",
        }
        if unknown:
            raise TypeError(f"the simulated GPU does not support the option '{min(unknown)}'")
        self.options = options

    def load(
        self, code: str | bytes, manifest: Manifest | None = None, *, file: str = "<ptx>"
    ) -> SimulatedModule:
        if isinstance(code, bytes):
            if code.startswith(b"\x7fELF"):
                raise error(
                    None,
                    f"'{file}' is a cubin: the simulated GPU runs PTX",
                    "use the .ptx or .mlir that it was compiled from, or use --device=cuda",
                )
            code = code.decode("utf-8", "replace")
        program = read(code, file)
        own = program.targets[0]
        compiled = _target(own, quiet=True)
        target = self.target or compiled
        if self.target is not None:
            if compiled is not None:
                _check_target(own, compiled, self.target, Position(file, 1, 1))
            program.targets = (self.target.cpu, *program.targets[1:])
        inner = sim.Module(program, self.memory)
        return SimulatedModule(self, inner, target, manifest, code)

    def _buffer(self, array: Array, name: str, type: Type | None) -> SimulatedBuffer:
        raw = array if array.dtype.hasobject is False else array.astype(np.uint8)
        return SimulatedBuffer(self.memory.allocate(raw, name), array, type)


def _target(name: str, quiet: bool = False) -> Target | None:
    try:
        return lookup(name)
    except UnknownTargetError as failure:
        if quiet:
            return None
        raise error(None, failure.message, failure.hint) from None


def _check_target(own: str, compiled: Target, target: Target, place: Position) -> None:
    """PTX runs on its own architecture and later ones; with the suffix `a`, only on its own."""
    if own.endswith("a") and compiled is not target:
        raise error(
            place, f"the PTX is only for {own}; it does not run on {target.name}", f"use --gpu-name={own}"
        )
    if compiled.compute_capability > target.compute_capability:
        raise error(place, f"the PTX is for {own} and later; it does not run on {target.name}")
