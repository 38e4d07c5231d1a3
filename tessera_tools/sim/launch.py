"""One launch: checks it, lays out shared memory and parameters, and runs its clusters.

    Launch(grid, block, args) ──▶ parameter block, shared layout ──▶ cluster after cluster (sim/machine.py) ──▶ Result

Clusters run one after the other. If a cluster makes no progress for a long time, the next one starts concurrently,
as on a GPU with several resident clusters.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, Position, error
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.findings import Finding, Findings
from tessera_tools.sim.frame import LASTING, Frame
from tessera_tools.sim.machine import Cluster, StopLaunch
from tessera_tools.sim.memory import BASE, EARLIER, REMOTE_SHIFT, SHARED_START, Allocations, Buffer
from tessera_tools.sim.program import Function, Variable
from tessera_tools.sim.races import MOST_CLOCK, History
from tessera_tools.target import Target, UnknownTargetError, lookup

if TYPE_CHECKING:
    from tessera_tools.sim.module import Module

__all__ = ["Launch", "Result"]

_CLUSTER_LIMIT = 200_000
"""The number of warp instructions after which the next cluster may start concurrently."""
_POLL_LIMIT = 2_000
"""The same for a launch that is timed and whose clusters poll each other's memory."""


@dataclass(slots=True)
class Result:
    """The result of a launch: findings, counters if requested, printed text, and cost."""

    findings: Findings
    stats: Counters | None = None
    output: str = ""
    instructions: int = 0
    """Warp instructions executed."""
    notes: list[str] = field(default_factory=list[str])


def _target(names: Sequence[str]) -> Target | None:
    """The limits of the module's architecture; None if the target table does not contain it."""
    for name in names:
        with suppress(UnknownTargetError):
            return lookup(name)
    return None


Argument: TypeAlias = Buffer | np.generic | int | float | bytes | bytearray
"""The value of a parameter: a buffer is its address."""


class Launch:
    """A kernel with its grid and arguments: the state that all its clusters share."""

    def __init__(
        self,
        module: Module,
        entry: Function,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Argument],
        shared_bytes: int,
        cluster: Sequence[int] | None,
        seed: int,
        mode: str,
        max_instructions: int,
        stats: bool | Counters,
        time_limit: float | None = None,
    ) -> None:
        self.module = module
        self.memory = module.memory
        self.entry = entry
        self.grid = self._shape(grid, "grid", (2**31 - 1, 65535, 65535))
        self.block = self._shape(block, "block", (1024, 1024, 64))
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.target = _target(module.program.targets)
        limits = self.target
        if limits is not None and self.threads > limits.max_threads_per_block:
            raise self.error(
                f"a block of {self.threads} threads; {limits.name} has at most {limits.max_threads_per_block}"
            )
        if entry.required_block is not None and self.block != entry.required_block:
            raise self.error(f"a block of {self.block}; the entry requires {entry.required_block} (.reqntid)")
        if entry.maximum_block is not None and self.threads > int(np.prod(entry.maximum_block)):
            raise self.error(f"a block of {self.threads} threads; .maxntid allows {entry.maximum_block}")
        required = entry.required_cluster
        self.cluster = self._shape(cluster or required or (1, 1, 1), "cluster", (16, 16, 16))
        if required is not None and self.cluster != required:
            raise self.error(
                f"a cluster of {self.cluster}; the entry requires {required} (.reqnctapercluster)"
            )
        if limits is not None and int(np.prod(self.cluster)) > limits.max_cluster_size:
            most = limits.max_cluster_size
            raise self.error(
                f"a cluster of {self.cluster}; {limits.name} "
                + (f"guarantees at most {most} CTAs" if most > 1 else "has no clusters")
            )
        if entry.blocks_are_clusters:
            ctas = [extent * part for extent, part in zip(self.grid, self.cluster, strict=True)]
            self.grid = self._shape(ctas, "grid in CTAs", (2**31 - 1, 65535, 65535))
        if any(extent % part for extent, part in zip(self.grid, self.cluster, strict=True)):
            raise self.error(f"a grid of {self.grid} is not a multiple of the cluster {self.cluster}")
        self.explicit_cluster = self.cluster != (1, 1, 1)
        x, y, z = (extent // part for extent, part in zip(self.grid, self.cluster, strict=True))
        self.clusters = (x, y, z)
        if mode not in ("late", "early"):
            raise self.error(f"the mode is '{mode}'; expected 'late' or 'early'")
        self.mode = mode
        self.dynamic_shared = shared_bytes
        self.max_instructions = max_instructions
        self.time_limit = time_limit
        """Seconds after which the launch ends with the finding `limit`; None for no limit."""
        self.random = np.random.default_rng(seed)
        self.findings = Findings()
        self.stats = stats if isinstance(stats, Counters) else Counters() if stats else None
        self.timed = self.stats is not None and self.stats.timed
        """Whether the trace is recorded (sim/clock): warps run one after the other, and none gives up a wait."""
        self.functions = module.reachable(entry)
        module.decode(self.functions)
        self.code = self.stats.recorded(module.code) if self.stats is not None else module.code
        self.together = [None] * len(module.code) if self.timed else module.together
        self.output: list[str] = []
        self.executed = 0
        self.progress = 0
        """Counts completed waits and operations. If the count does not increase, the launch is deadlocked."""
        self.deadline: float | None = None
        self.clock = 0
        self.histories: dict[int, list[tuple[int, History]]] = {}
        """By address of a global allocation: histories of clusters that have ended, with their last clock."""
        self.state: dict[str, Any] = {}
        """State of instruction families per launch, by family name."""
        self.uses_reserved = any(
            key[:2] == ("special", "%reserved_smem_offset_1")
            for function in self.functions
            for key in module.ports[function.name].keys
        )
        """Whether the kernel may access the reserved shared memory."""
        self.binders = {
            port: binder
            for function in self.functions
            for port, binder in enumerate(
                module.ports[function.name].binders, module.ports[function.name].base
            )
        }
        """What creates the row of each port for a warp."""
        self.varying = {port for port in self.binders if module.keys[port][0] not in LASTING}
        """Ports whose rows are created for each CTA."""
        self.bound_first = [port for port in self.binders if module.keys[port][0] in ("special", "symbol")]
        """Ports whose rows are created before a CTA runs: an error of one is that of the launch."""
        self.frames: defaultdict[int, list[Frame]] = defaultdict(list)
        """Frames that no CTA uses, by the rank of the CTAs that they were for."""
        self.waiting: Iterator[tuple[int, int, int]] = iter(())
        """The clusters that have not begun, which clusterlaunchcontrol.try_cancel can take."""
        self._lay_out_shared()
        self.parameters = Allocations("param")
        self.parameter_block = self.parameters.allocate(self._parameters(args), "the parameter block")

    def cancel(self, cluster: Cluster) -> tuple[int, int, int] | None:
        """The index of a cluster that has not begun, and now never does, for `cluster`; None if there is none."""
        return next(self.waiting, None)

    @cached_property
    def workspace(self) -> Buffer:
        """The global memory of the barrier of a cooperative grid."""
        return self.memory.allocate(np.zeros(64, np.uint8), "the grid's workspace")

    def error(self, message: str) -> DiagnosticError:
        place = Position(self.module.program.file, self.entry.line, 1)
        return error(place, f"cannot launch '{self.entry.name}': {message}")

    def _shape(self, given: Sequence[int], what: str, limits: tuple[int, int, int]) -> tuple[int, int, int]:
        sizes = (*map(int, given), 1, 1)[:3] if 1 <= len(given) <= 3 else ()
        if len(sizes) != 3 or any(not 1 <= size <= limit for size, limit in zip(sizes, limits, strict=True)):
            raise self.error(
                f"the {what} is {tuple(given)}; expected one to three numbers from 1 to {limits}"
            )
        return sizes[0], sizes[1], sizes[2]

    def _parameters(self, args: Sequence[Argument]) -> Array:
        """The bytes of the parameter block."""
        wanted = self.entry.parameters
        if len(args) != len(wanted):
            raise self.error(f"{len(args)} arguments for {len(wanted)} parameters")
        size = max((variable.offset + variable.size for variable in wanted), default=0)
        block = np.zeros(max(size, 1), np.uint8)
        for number, (variable, value) in enumerate(zip(wanted, args, strict=True)):
            raw = self._argument(number, variable, value)
            block[variable.offset : variable.offset + variable.size] = np.frombuffer(raw, np.uint8)
        return block

    def _argument(self, number: int, variable: Variable, value: Argument) -> bytes:
        type = variable.type
        where = f"argument {number} ('{variable.name}')"
        if isinstance(value, np.generic) and value.dtype.kind not in "iub":
            value = value.tobytes() if value.nbytes == variable.size else float(value)
        if isinstance(value, bytes | bytearray):
            if len(value) != variable.size:
                raise self.error(f"{where} has {len(value)} bytes; the parameter has {variable.size}")
            return bytes(value)
        if variable.is_array:
            raise self.error(f"{where} is an aggregate of {variable.size} bytes; specify its bytes")
        if isinstance(value, Buffer):
            value = value.address
            if type.bits != 64:
                raise self.error(f"{where} is a buffer; the parameter is {type}")
        if isinstance(value, float):
            if type.kind == "f":
                return np.array([value], type.dtype).tobytes()
            floats = {32: np.float32, 64: np.float64}
            if type.kind != "b" or type.bits not in floats:
                raise self.error(f"{where} is a float; the parameter is {type}")
            return np.array([value], floats[type.bits]).tobytes()
        if isinstance(value, int | np.integer):
            if type.is_float:
                return np.array([value], type.dtype).tobytes()
            value = int(value)
            if not -(1 << type.bits - 1) <= value < 1 << type.bits:
                raise self.error(f"{where} is {value}, which does not fit {type}")
            return (value % (1 << type.bits)).to_bytes(variable.size, "little")
        raise self.error(f"{where} is a {value.__class__.__name__}; expected a Buffer, a number or bytes")

    def _lay_out_shared(self) -> None:
        """Static shared variables that this entry's functions use, then the dynamic ones at one address."""
        self.shared_offsets: dict[int, int] = {}
        end = SHARED_START
        dynamic_align = 16
        dynamic: list[Variable] = []
        used = set[str]().union(*map(self.module.names, self.functions))
        self.shared_variables: list[tuple[int, int, str]] = []
        """Begin, end and name of each shared variable."""
        candidates = [v for v in self.module.program.scope.variables.values() if v.name in used]
        candidates += [v for function in self.functions for v in function.variables]
        for variable in candidates:
            if variable.space != "shared":
                continue
            if variable.extern:
                dynamic.append(variable)
                dynamic_align = max(dynamic_align, variable.align)
                continue
            end = -(-end // variable.align) * variable.align
            self.shared_offsets[id(variable)] = end
            self.shared_variables.append((end, end + variable.size, variable.name))
            end += variable.size
        start = -(-end // dynamic_align) * dynamic_align if dynamic or self.dynamic_shared else end
        for variable in dynamic:
            self.shared_offsets[id(variable)] = start
        if dynamic:
            self.shared_variables.append((start, start + self.dynamic_shared, dynamic[0].name))
        self.shared_size = start + self.dynamic_shared - SHARED_START
        most = self.target.max_shared_per_block if self.target is not None else 227 * 1024
        if self.shared_size > most:
            name = self.target.name if self.target is not None else "a GPU"
            raise self.error(
                f"{self.shared_size} bytes of shared memory; a block of {name} has at most {most}"
            )
        static = end - SHARED_START
        if self.target is not None and static > self.target.max_static_shared:
            raise self.error(
                f"{static} bytes of static shared memory; expected at most {self.target.max_static_shared}, "
                "and the rest as dynamic shared memory"
            )

    def address(self, variable: Variable | None, rank: int) -> int:
        """The address of a variable in its own space, for the CTA of a rank."""
        assert variable is not None
        if variable.space == "shared":
            return self.shared_offsets[id(variable)] + (rank << REMOTE_SHIFT)
        if variable.space == "local":
            return variable.offset
        if variable.space == "param":
            in_block = variable.function == self.entry.name and variable in self.entry.parameters
            return (
                self.parameter_block.base - BASE["param"] + variable.offset if in_block else variable.offset
            )
        buffer = self.module.variables.get(id(variable))
        if buffer is None:
            raise self.error(f"it uses the extern variable '{variable.name}', which no module defines")
        return buffer.base - BASE["const"] if variable.space == "const" else buffer.base

    def _indices(self) -> Iterator[tuple[int, int, int]]:
        """The clusters' indices, in order."""
        x, y, z = self.clusters
        return (self.cluster_at(number) for number in range(x * y * z))

    def cluster_at(self, number: int) -> tuple[int, int, int]:
        """The index of a cluster by its number."""
        x, y, _ = self.clusters
        return number % x, number // x % y, number // (x * y)

    def run(self) -> Result:
        """Run every cluster. Defects of the kernel are findings, never exceptions."""
        for region in self.memory.regions if self.stats is None or not self.stats.passing else ():
            if self.module.async_proxy or region.state is not None:
                # The stores of an earlier kernel need no fence: only EARLIER outlives a launch.
                state = region.flags()
                state &= np.uint8(EARLIER)
        self.deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        with np.errstate(all="ignore"), suppress(StopLaunch):
            self._run()
        if "workspace" in self.__dict__:
            self.memory.release(self.workspace)
        return Result(self.findings, self.stats, "".join(self.output), self.executed)

    def _run(self) -> None:
        waiting = self.waiting = self._indices()
        active: list[Cluster] = []
        more = True
        since = 0
        patience = _POLL_LIMIT if self.stats is not None and self.stats.polling else _CLUSTER_LIMIT
        while True:
            stuck = active and all(cluster.stuck for cluster in active)
            if more and (not active or stuck or (self.executed - since > patience and len(active) < 64)):
                index = next(waiting, None)
                if index is None:
                    more = False
                else:
                    active.append(Cluster(self, index))
                    since = self.executed
                    continue
            if not active:
                return
            if stuck and not more:
                for cluster in active:
                    cluster.deadlock()
                return
            cluster = active[int(self.random.integers(len(active)))] if len(active) > 1 else active[0]
            if not cluster.run_some():
                active.remove(cluster)
                self.clock = max(self.clock, cluster.clocks.now)
                cluster.end()
                if not active and self.clock > MOST_CLOCK // 2:
                    self.clock = 0
                    self.histories.clear()
                since = self.executed

    def history(self, region: Buffer, begin: int) -> History:
        """An empty history of an allocation for a cluster that began at the clock `begin`.

        The history of a cluster that ended before `begin` is reused: all its records are ordered before that clock.
        """
        left = self.histories.get(region.base, [])
        for number, (clock, found) in enumerate(left):
            if clock <= begin:
                del left[number]
                return found
        return History(len(region.data))

    def report(
        self,
        kind: str,
        message: str,
        pc: int,
        cta: tuple[int, int, int],
        thread: tuple[int, int, int],
        notes: Sequence[str] = (),
        *,
        count: int = 1,
        severity: str = "error",
        cause: Hashable = None,
    ) -> None:
        """A finding at the instruction `pc`, by a thread of a CTA."""
        inst = self.module.program.instructions[pc]
        found = Finding(
            kind, message, inst.line, inst.name, "", self.entry.name, cta, thread, list(notes), count
        )
        found.severity, found.cause = severity, cause
        if inst.location is not None:
            found.location, found.callers = str(inst.location), inst.location.callers
        self.findings.add(found)
