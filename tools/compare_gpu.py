#!/usr/bin/env python3
"""Compares the simulated GPU with a real one: the same kernels, the same arguments, and the differences of the results.

Runs the compiled examples and, with `--cuda`, the CUDA C++ kernels of `test/sim/cuda` on both, and compares every
buffer bit for bit. If PTX does not define all bits (approximate functions, the order in which a tensor core adds), the
greatest error is printed with the tolerance of the kernel's own test. Without a GPU, it prints a message and ends
with status 0; status 1 means that a kernel exceeds its tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from tessera_tools.diagnostics import DiagnosticError, Sources  # noqa: E402
from tessera_tools.runtime import Buffer, Device, Result, device  # noqa: E402

TENSOR_CORE = 2**-10
"""Of the greatest element, for f16 results: PTX leaves open in which order mma adds, and how it rounds in between."""


@dataclass(frozen=True)
class Row:
    """One kernel: elements compared, how many differ in bits, the greatest difference, what is allowed."""

    name: str
    elements: int
    apart: int
    error: float
    allowed: float
    seconds: float
    """The kernel's time on the real GPU."""
    note: str = ""
    """Why it was not compared."""

    @property
    def good(self) -> bool:
        return bool(self.note) or self.apart == 0 or self.error <= self.allowed


def gpu_or_reason() -> Device | str:
    """The real GPU, or why there is none."""
    try:
        return device("cuda")
    except DiagnosticError as failure:
        return failure.diagnostics[0].message


def compare(name: str, ours: Sequence[Any], theirs: Sequence[Any], relative: float, seconds: float) -> Row:
    """Compare arrays of the same shapes; `relative` is of the greatest magnitude, 0 for bit for bit."""
    elements = apart = 0
    error = allowed = 0.0
    for a, b in zip(ours, theirs, strict=True):
        raw = [np.ascontiguousarray(x).reshape(-1) for x in (a, b)]
        size = raw[0].dtype.itemsize
        apart += int((raw[0].view(np.uint8) != raw[1].view(np.uint8)).reshape(-1, size).any(axis=1).sum())
        elements += len(raw[0])
        x, y = (one.astype(np.float64) for one in raw)
        with np.errstate(invalid="ignore"):
            difference = np.where(np.isnan(x) & np.isnan(y), 0, np.abs(x - y))
        error = max(error, float(difference.max(initial=0)))
        allowed = max(allowed, relative * float(np.abs(y[np.isfinite(y)]).max(initial=0)))
    return Row(name, elements, apart, error, allowed, seconds)


Arguments = Callable[[Callable[[Any, str], Buffer]], tuple[tuple[int, ...], list[Any]]]


def vector_add(buffer: Callable[[Any, str], Buffer]) -> tuple[tuple[int, ...], list[Any]]:
    """Grid and arguments of examples/vector_add.mlir."""
    rng = np.random.default_rng(1)
    n = 5000
    arrays = [rng.standard_normal(n, np.float32), rng.standard_normal(n, np.float32), np.zeros(n, np.float32)]
    args = [value for number, one in enumerate(arrays) for value in (buffer(one, "abc"[number]), n, 1)]
    return (-(-n // 1024),), args


def gemm(buffer: Callable[[Any, str], Buffer]) -> tuple[tuple[int, ...], list[Any]]:
    """Grid and arguments of examples/gemm.mlir, with ragged edges."""
    rng = np.random.default_rng(2)
    rows, columns, depth = 200, 136, 152
    arrays = {
        "A": rng.uniform(-1, 1, (rows, depth)).astype(np.float16),
        "B": rng.uniform(-1, 1, (depth, columns)).astype(np.float16),
        "D": np.zeros((rows, columns), np.float16),
    }
    args = [
        value for name, one in arrays.items() for value in (buffer(one, name), *one.shape, one.shape[1], 1)
    ]
    return (-(-rows // 64), -(-columns // 64)), args


EXAMPLES: dict[str, tuple[Arguments, float]] = {"vector_add": (vector_add, 0.0), "gemm": (gemm, TENSOR_CORE)}


def run_example(gpu: Device, name: str, target: str, arguments: Arguments) -> tuple[list[Any], Result]:
    """The example's buffers after a launch on `gpu`."""
    from tessera_tools.cli.run_input import load_input

    source = ROOT / "examples" / f"{name}.mlir"
    options = {"input": str(source), "gpu_name": target, "device": "sim", "manifest": None}
    loaded = load_input(options, Sources())
    made: list[Buffer] = []

    def buffer(array: Any, label: str) -> Buffer:
        made.append(gpu.buffer(array, label))
        return made[-1]

    grid, args = arguments(buffer)
    result = gpu.load(loaded.code, loaded.manifest, file=loaded.name).kernel(name).launch(grid, args)
    return [one.array() for one in made], result


class Launcher:
    """The argument of a kernel's `run(launch)` in test/sim/cuda, for any device."""

    def __init__(self, gpu: Device, name: str, ptx: str) -> None:
        self.gpu = gpu
        self.kernel = gpu.load(ptx, file=f"{name}.ptx").kernel(name)
        self.results: list[Any] = []
        """Copies of the buffers that its test checks: others may depend on the order of threads."""
        self.seconds = 0.0
        self.relative = 0.0
        self.findings: list[Any] = []
        self.wrong: list[str] = []
        self.output = ""
        self.seed, self.mode = 0, "late"

    def buffer(self, content: Any, name: str = "") -> Buffer:
        return self.gpu.buffer(np.asarray(content), name)

    def __call__(
        self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], **options: Any
    ) -> Result:
        result = self.kernel.launch(
            grid, args, block=block, shared=options.get("shared_bytes"), cluster=options.get("cluster")
        )
        self.seconds += result.seconds
        self.output += result.output
        return result

    def expect(self, buffer: Buffer, wanted: Any, rtol: float = 0, atol: float = 0) -> None:
        """Keep what is compared, and how exact the kernel's own test is."""
        self.results.append(buffer.array())
        scale = float(np.abs(np.asarray(wanted, np.float64)).max(initial=0)) or 1.0
        self.relative = max(self.relative, rtol + atol / scale)


def run_cuda_kernel(name: str, gpu: Device) -> Row:
    """A kernel of test/sim/cuda on both devices."""
    import importlib.util

    from sim.cuda_kernels import FOLDER, ptx

    spec = importlib.util.spec_from_file_location(f"compare_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    pair = [Launcher(one, name, ptx(name)) for one in (device("sim"), gpu)]
    for launch in pair:
        program.run(launch)
    return compare(name, pair[0].results, pair[1].results, pair[0].relative, pair[1].seconds)


def main() -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", default="sm_90a", help="what the examples are compiled for (sm_90a)")
    parser.add_argument("--cuda", action="store_true", help="the kernels of test/sim/cuda, too (needs nvcc)")
    options = parser.parse_args()
    found = gpu_or_reason()
    if isinstance(found, str):
        print(f"nothing is compared: {found}")
        return 0
    rows: list[Row] = []
    failed = False
    for name, (arguments, relative) in EXAMPLES.items():
        ours, _ = run_example(device("sim"), name, options.gpu_name, arguments)
        theirs, timed = run_example(found, name, options.gpu_name, arguments)
        rows.append(compare(f"{name} for {options.gpu_name}", ours, theirs, relative, timed.seconds))
    if options.cuda:
        from sim.cuda_kernels import NAMES

        for name in NAMES:
            try:
                rows.append(run_cuda_kernel(name, found))
            except AttributeError:
                # Its test looks into the simulator: what an earlier kernel left unfinished.
                rows.append(Row(name, 0, 0, 0.0, 0.0, 0.0, "for the simulated GPU alone"))
            except DiagnosticError as failure:
                print(f"error: {name}: {failure.diagnostics[0].message}", file=sys.stderr)
                failed = True
    show(rows)
    return 1 if failed or not all(row.good for row in rows) else 0


def show(rows: Sequence[Row]) -> None:
    """Print what was compared."""
    table = Table(title="The simulated GPU compared with the real one", title_justify="left")
    for column in ("kernel", "elements", "bits differ", "greatest error", "allowed", "µs on the GPU", ""):
        table.add_column(column, justify="right" if column not in ("kernel", "") else "left")
    for row in rows:
        verdict = row.note or ("same bits" if not row.apart else "within" if row.good else "OUTSIDE")
        table.add_row(
            row.name, f"{row.elements:,}", f"{row.apart:,}", f"{row.error:.3g}", f"{row.allowed:.3g}",
            f"{1e6 * row.seconds:.1f}", verdict,
        )  # fmt: skip
    Console().print(table)
    compared = [row for row in rows if not row.note]
    print(f"{sum(row.apart == 0 for row in compared)} of {len(compared)} kernels bit for bit")


if __name__ == "__main__":
    sys.exit(main())
