"""One candidate of `tessera-tune`: compiled, run, compared with the untuned kernel, and timed by the clock or a GPU.

source, configuration ──compile──▶ Kernel ──launch──▶ buffers ──agree──▶ microseconds, or why it does not count
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools import runtime
from tessera_tools.api.compiling import Kernel
from tessera_tools.api.compiling import compile as compile_kernel
from tessera_tools.cli.run_arguments import Arguments
from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.tunables import Config, Value
from tessera_tools.emit.tuned import Trial
from tessera_tools.records import dataclass, field, replace
from tessera_tools.runtime.compare import compare, same_bits
from tessera_tools.runtime.signature import Shape
from tessera_tools.runtime.types import TYPES, Array, Type, lookup_type
from tessera_tools.target import Target

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["Candidates", "Job", "Reference", "check_schedule", "compiled", "measured", "untuned"]


TOLERANCE = {"f64": 1e-9, "f32": 2e-4, "tf32": 2e-3, "f16": 1e-2, "bf16": 4e-2, "f8e4m3": 0.15, "f8e5m2": 0.3}
"""The difference that sums in another order may make, as a share of the greatest magnitude in the buffer."""
_WARM, _RUNS = 3, 20
"""Launches on a GPU before, and of, a measurement."""
_SMALL_GRID = 16
"""CTAs of a grid that is compared completely, and that the adversarial schedule of the simulated GPU also runs."""
_COMPARED = 2
"""Of a larger grid, the extents of a launch whose results are compared."""


@dataclass(frozen=True)
class Job:
    """What all candidates of a search share. It is plain data, which another machine can have."""

    data: bytes
    name: str
    target: Target
    entry: str | None
    options: OptionValues
    """click's parameters: the launch and its arguments."""
    grid: Shape
    measure: str
    """`clock` or `gpu`."""
    tolerance: float | None = None
    """Of every float buffer, in place of those of its type."""


@dataclass
class Reference:
    """The untuned kernel: the buffers that it leaves."""

    arrays: dict[str, Array]
    types: dict[str, Type] = field(default_factory=dict[str, Type])
    """Element types of the buffers, where they are known."""
    silent: bool = False
    """Whether everything that it writes is zero, which proves little."""
    grid: Shape | None = None
    """The grid that left them; None if it was the measured launch.

    The clock runs a sample of the CTAs, without the products of tensor cores. Options may change which tile blocks a
    CTA computes, so that samples cannot be compared. A launch of a small grid computes the same with all of them.
    """


def compiled(job: Job, config: Config) -> Kernel:
    """The kernel of a configuration. Raises DiagnosticError if the compiler refuses it."""
    return compile_kernel(
        job.data, job.target.cpu, entry=job.entry, name=job.name, **config  # type: ignore[arg-type]
    )  # fmt: skip


@dataclass(frozen=True)
class Candidates:
    """Makes and measures the candidates of a job, as `tuning.pool.Task`."""

    job: Job
    reference: Reference

    def __call__(self, config: Config, known: Mapping[str, Trial], only_compile: bool = False) -> Trial:
        """What a candidate gives."""
        job, config = self.job, dict(config)
        try:
            kernel = compiled(job, config)
            code = kernel.cubin if job.measure == "gpu" else kernel.ptx.encode()
        except DiagnosticError as failure:
            return Trial(config, "refused", message=failure.diagnostics[0].message)
        digest = hashlib.sha256(code).hexdigest()
        if digest in known:
            return replace(known[digest], config=config)
        if only_compile:
            return Trial(config, "compiled", None, digest)
        return self.measured(Trial(config, "compiled", None, digest), kernel)

    def measured(self, trial: Trial, kernel: Kernel | None = None) -> Trial:
        """The measurement of a candidate that was compiled."""
        try:
            made = kernel or compiled(self.job, trial.config)
            return measured(self.job, made, trial.config, trial.digest, self.reference)
        except DiagnosticError as failure:
            return Trial(trial.config, "failed", None, trial.digest, failure.diagnostics[0].message)


def measured(job: Job, kernel: Kernel, config: dict[str, Value], digest: str, reference: Reference) -> Trial:
    """Run a compiled candidate. Raises DiagnosticError if the launch is not possible."""
    run = _Run(job, kernel)
    result = run.launch()
    findings = result.findings.of("error")
    if findings:
        return Trial(config, "finding", None, digest, findings[0].message)
    left = run
    if reference.grid is not None:
        left = _Run(job, kernel)
        findings = left.compute(reference.grid).findings.of("error")
        if findings:
            return Trial(config, "finding", None, digest, findings[0].message)
    why = _disagreement(left.arrays(), reference, job.tolerance)
    if why:
        return Trial(config, "disagrees", None, digest, why)
    return Trial(config, "measured", run.microseconds(result), digest)


def untuned(job: Job) -> tuple[Reference, Trial]:
    """The kernel with the compiler's own choices. Raises DiagnosticError: without it there is nothing to compare."""
    kernel = compiled(job, {})
    code = kernel.cubin if job.measure == "gpu" else kernel.ptx.encode()
    run = _Run(job, kernel)
    before = run.arrays()
    result = run.launch()
    findings = result.findings.of("error")
    if findings:
        many = "a finding" if len(findings) == 1 else f"{len(findings)} findings"
        raise error(
            None, f"the untuned kernel has {many}: {findings[0].message}",
            "tessera-run with the same arguments shows them",
        )  # fmt: skip
    after, grid = run.arrays(), None
    if job.measure == "clock":
        left = _Run(job, kernel)
        small = compared_grid(job.grid)
        # A kernel whose CTAs wait for others may need all of its grid.
        if not left.compute(small).findings.of("error"):
            after, grid = left.arrays(), small
    written = [name for name in after if not same_bits(before[name], after[name])[0]]
    if not written:
        raise error(
            None, "the untuned kernel changes no buffer, so that candidates cannot be compared with it",
            "check the grid and the arguments",
        )  # fmt: skip
    reference = Reference(after, run.types(), all(not after[name].any() for name in written), grid)
    digest = hashlib.sha256(code).hexdigest()
    return reference, Trial({}, "measured", run.microseconds(result), digest)


def compared_grid(grid: Shape) -> Shape:
    """The grid whose results are compared: all of a small one."""
    if grid[0] * grid[1] * grid[2] <= _SMALL_GRID:
        return grid
    x, y, z = (min(extent, _COMPARED) for extent in grid)
    return x, y, z


def check_schedule(job: Job, config: Config, reference: Reference) -> str:
    """Run the chosen candidate on the adversarial schedules of the simulated GPU, if its grid is small; says why it
    fails, or nothing."""
    if job.grid[0] * job.grid[1] * job.grid[2] > _SMALL_GRID:
        return ""
    run = _Run(job, compiled(job, config), device="sim")
    result = run.kernel.launch(job.grid, run.arguments.values, **run.shape, mode="late")
    findings = result.findings.of("error")
    if findings:
        return findings[0].message
    return _disagreement(run.arrays(), reference, job.tolerance) or ""


class _Run:
    """A kernel with its arguments on a device."""

    def __init__(self, job: Job, kernel: Kernel, device: str = "") -> None:
        self.job = job
        chosen = device or ("cuda" if job.measure == "gpu" else "sim")
        self.pointees = kernel.pointees
        gpu = runtime.device(chosen) if chosen == "cuda" else runtime.device("sim", gpu_name=job.target.name)
        code = kernel.cubin if chosen == "cuda" else kernel.ptx
        self.kernel = gpu.load(code, kernel.manifest, file=f"<ptx of {job.name}>").kernel(kernel.name)
        self.arguments = Arguments(dict(job.options))
        self.arguments.read()
        self.arguments.place(gpu, self.kernel, job.options["seed"] or 0)
        self.shape: dict[str, Any] = {"shared": self.arguments.shared, "cluster": self.arguments.cluster}

    def launch(self) -> runtime.Result:
        options: OptionValues = {} if self.job.measure == "gpu" else {"timing": True}
        return self.kernel.launch(self.job.grid, self.arguments.values, **self.shape, **options)

    def compute(self, grid: Shape) -> runtime.Result:
        """Launch a grid for its results, on the simulated GPU."""
        return self.kernel.launch(grid, self.arguments.values, **self.shape, mode="early")

    def microseconds(self, result: runtime.Result) -> float:
        """The clock's estimate, or the median of further launches on the GPU."""
        if result.estimate is not None:
            return result.estimate.seconds * 1e6
        taken = [self.launch().seconds * 1e6 for _ in range(_WARM + _RUNS)]
        return statistics.median(taken[_WARM:])

    def arrays(self) -> dict[str, Array]:
        return {name: buffer.array().copy() for name, buffer in self.arguments.buffers.items()}

    def types(self) -> dict[str, Type]:
        """The element types of the buffers: what the parameters point to, otherwise those of `--arg`."""
        found = {name: buffer.type for name, buffer in self.arguments.buffers.items()}
        signature = self.kernel.signature
        names = {id(buffer): name for name, buffer in self.arguments.buffers.items()}
        for parameter, value in zip(signature.wanted, self.arguments.values, strict=True):
            pointee = self.pointees.get(signature.parameters.index(parameter))
            if id(value) in names and pointee is not None:
                found[names[id(value)]] = lookup_type(pointee)
        return {name: type for name, type in found.items() if type is not None}


def _disagreement(found: Mapping[str, Array], reference: Reference, tolerance: float | None) -> str:
    """The first buffer that differs by more than its tolerance, in words; empty if there is none."""
    for name, expected in reference.arrays.items():
        type = reference.types.get(name, TYPES["u8"])
        raw = [np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (found[name], expected)]
        if len(raw[0]) % type.size:
            type = TYPES["u8"]
        ours, theirs = (one.view(type.storage) for one in raw)
        allowed = 0.0
        if type.kind == "f":
            values = np.abs(type.decode(theirs).astype(np.float64))
            greatest = float(values.max(initial=0.0, where=np.isfinite(values)))
            allowed = greatest * (tolerance if tolerance is not None else TOLERANCE.get(type.name, 0.0))
        difference = compare(ours, type, theirs, type, 0.0, allowed)
        if difference.wrong:
            return difference.text(name)
    return ""
