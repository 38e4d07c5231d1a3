#!/usr/bin/env python3
"""The guided tour: `examples/gemm.mlir` through every stage to SASS, for two GPUs, then run on the simulated GPU.

Runs `tessera-translate` as a user would, leaves each stage's file under `build/demo/<target>/`, and prints
the files, the time of each stage, and the resources of the kernel. The PTX then runs on matrices of a
ragged shape, and the product is compared with NumPy's in float64.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the checkout's own package, installed or not
TARGETS = ["sm_80", "sm_90a"]
LIMIT_SECONDS = 300
SHAPE = (200, 136, 152)
"""M, N and K of the product that is run: no multiples of the kernel's tiles, which are 64 by 64 by 32."""
TILE = 64
TOLERANCE = 2**-10
"""Of the result's greatest element: f16 keeps 11 bits."""
TIMING = re.compile(r"^\s*(\d+\.\d+)\s+\(\s*\d+\.\d+%\)\s+(.+?)\s*$", re.MULTILINE)
"""A line of MLIR's timing report: seconds, share, what."""

RESOURCES = {
    "registers": r"(\d+) registers|registers?\W+(\d+)",
    "shared memory, bytes": r"(\d+) bytes smem|shared[ _]memory\W+(\d+)|shared\D{0,20}(\d+)",
    "spill stores, bytes": r"(\d+) bytes spill stores|spill[ _]stores?\W+(\d+)",
    "spill loads, bytes": r"(\d+) bytes spill loads|spill[ _]loads?\W+(\d+)",
}
"""Each resource as ptxas and `--resource-usage` word it."""


@dataclass(frozen=True)
class Stage:
    """A row of the table: its files under `--save-temps`, and its lines in the timing report."""

    pattern: str
    title: str
    timing: str


STAGES = [
    Stage("1-*.mlir", "cuda_tile", r"parse|parser"),
    Stage("2-*.mlir", "nv_tileaa", r".*to-?tileaa"),
    Stage("3-*.mlir", "nv_tileas", r".*to-?tileas|tileas-.*"),
    Stage("4-*.mlir", "llvm + nvvm", r".*tileas-?to-?llvm|.*func-?to-?llvm|reconcile.*"),
    Stage("4b-*.ll", "LLVM IR", r".*llvm ?ir.*"),
    Stage("5-*.mir", "NVPTX MIR", r".*\bmir"),
    Stage("6-*.ptx", "PTX", r"llvm|.*ptx"),
    Stage("7-*.cubin", "cubin", r"ptxas|.*cubin"),
    Stage("7-*.sass", "SASS", r"nvdisasm|.*sass"),
]


def short(text: str) -> str:
    """`text` without the folders of this checkout and this environment."""
    return text.replace(f"{Path(sys.executable).parent}/", "").replace(f"{ROOT}/", "")


def program() -> list[str]:
    """`tessera-translate` as installed with this Python, otherwise from the checkout."""
    installed = Path(sys.executable).parent / "tessera-translate"
    if installed.exists():
        return [str(installed)]
    return [sys.executable, "-c", "from tessera_tools.cli.translate import main; main()"]


def translate(source: Path, target: str, folder: Path, console: Console) -> str:
    """Compile `source` for `target`, each stage saved in `folder`; returns the reports on its stderr.

    Raises SystemExit with the command's own words when it refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stage in STAGES:
        for old in folder.glob(stage.pattern):
            old.unlink()
    command = [
        *program(),
        "--mlir-to-sass",
        f"--gpu-name={target}",
        f"--save-temps={folder}",
        "--mlir-timing",
        "--resource-usage",
        str(source),
    ]
    console.print(f"$ {short(' '.join(command))}", style="dim", soft_wrap=True, highlight=False)
    with console.status(f"compiling {source.name} for {target}"):
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    if done.returncode != 0:
        sys.exit(f"{done.stderr}tessera-translate ended with status {done.returncode}")
    return done.stderr


def size(path: Path) -> str:
    """The size of a file: ops for IR, lines for text, bytes for others."""
    if path.suffix == ".cubin":
        return f"{path.stat().st_size:,} bytes"
    lines = [line.strip() for line in path.read_text().splitlines()]
    if path.suffix == ".mlir":
        ops = [line for line in lines if line and not line.startswith(("}", ")", "//", "^", "#", "!", "]"))]
        return f"{len(ops):,} ops"
    return f"{len(lines):,} lines"


def milliseconds(stage: Stage, report: str) -> str:
    """The time of the stage's own lines in the timing report; empty when it has none."""
    taken = [
        float(s) for s, what in TIMING.findall(report) if re.fullmatch(stage.timing, what, re.IGNORECASE)
    ]
    return f"{sum(taken) * 1000:.1f}" if taken else ""


def show_stages(target: str, folder: Path, report: str, console: Console) -> None:
    """Print the table of stages. Raises SystemExit when one has left no file."""
    table = Table(title=f"gemm.mlir for {target}", title_justify="left")
    table.add_column("stage")
    table.add_column("file")
    table.add_column("size", justify="right")
    table.add_column("ms", justify="right")
    listed = 0.0
    for stage in STAGES:
        files = sorted(folder.glob(stage.pattern))
        if not files:
            sys.exit(
                f"error: {short(str(folder))} holds no {stage.pattern}: the stage '{stage.title}' is missing"
            )
        for path in files:
            taken = milliseconds(stage, report)
            listed += float(taken or 0)
            table.add_row(stage.title, short(str(path)), size(path), taken)
    total = next((seconds for seconds, what in TIMING.findall(report) if what == "Total"), None)
    if total:
        whole = f"{float(total) * 1000:.1f}"
        # Loading Python and the compiler's modules, verifying between passes, writing the files.
        table.add_row("start, rest", "", "", f"{float(whole) - listed:.1f}")
        table.add_section()
        table.add_row("total", "", "", whole)
    console.print(table)


def resources(report: str) -> list[str]:
    """The kernel's resources in the order of RESOURCES; "0" for one that ptxas does not report."""
    found = [re.search(pattern, report, re.IGNORECASE) for pattern in RESOURCES.values()]
    return [next(filter(None, match.groups()), "0") if match else "0" for match in found]


@dataclass(frozen=True)
class Outcome:
    """A product on the simulated GPU: its greatest error, what was found, and warp instructions a second."""

    error: float
    allowed: float
    findings: str
    instructions: int
    seconds: float


def simulate(ptx: Path, seed: int, console: Console) -> Outcome:
    """Multiply random f16 matrices of SHAPE with the GEMM in `ptx`, and compare with float64.

    The launch manifest next to it has the block's shape and the dynamic shared memory.
    """
    from tessera_tools.emit.manifest import Manifest
    from tessera_tools.runtime import device
    from tessera_tools.runtime.workers import wanted_processes

    rows, columns, depth = SHAPE
    rng = np.random.default_rng(seed)
    left = rng.uniform(-1, 1, (rows, depth)).astype(np.float16)
    right = rng.uniform(-1, 1, (depth, columns)).astype(np.float16)
    gpu = device("sim", seed=seed, processes=wanted_processes())
    buffers = [
        gpu.buffer(array, name)
        for name, array in (("A", left), ("B", right), ("D", np.zeros((rows, columns), np.float16)))
    ]
    # Each matrix is a pointer, rows, columns, and the strides of both: examples/gemm.mlir.
    args = [value for one in buffers for value in (one, one.shape[0], one.shape[1], one.shape[1], 1)]
    grid = (-(-rows // TILE), -(-columns // TILE))
    with console.status(f"running {short(str(ptx))} on the simulated GPU"):
        manifest = Manifest.from_json(ptx.with_name("7-cubin.json").read_text())
        module = gpu.load(ptx.read_text(), manifest, file=short(str(ptx)))
        result = module.kernel("gemm").launch(grid, args)
    exact = left.astype(np.float64) @ right.astype(np.float64)
    error = float(np.abs(buffers[2].values() - exact).max())
    allowed = TOLERANCE * float(np.abs(exact).max())
    return Outcome(error, allowed, result.findings.text(short(str(ptx))), result.instructions, result.seconds)


def show_runs(outcomes: dict[str, Outcome], seed: int, console: Console) -> bool:
    """Print what the runs gave; whether all are right and clean."""
    rows, columns, depth = SHAPE
    title = f"On the simulated GPU: D = A · B, {rows}x{depth} by {depth}x{columns}, f16, seed {seed}, against NumPy"
    table = Table(title=title, title_justify="left")
    for column in ("target", "greatest error", "allowed", "findings", "warp instructions", "a second"):
        table.add_column(column, justify="left" if column == "target" else "right")
    for target, one in outcomes.items():
        table.add_row(
            target,
            f"{one.error:.2e}",
            f"{one.allowed:.2e}",
            "none" if not one.findings else f"{one.findings.count(': error: ')}",
            f"{one.instructions:,}",
            f"{one.instructions / one.seconds:,.0f}",
        )
    console.print(table)
    for one in outcomes.values():
        console.print(one.findings, end="", markup=False, highlight=False)
    return all(one.error <= one.allowed and not one.findings for one in outcomes.values())


def main() -> int:
    """Run the tour."""
    parser = argparse.ArgumentParser(description="take a GEMM through every stage")
    parser.add_argument("--input", type=Path, default=ROOT / "examples" / "gemm.mlir")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "demo")
    parser.add_argument("--target", action="append", help=f"default: {' and '.join(TARGETS)}")
    parser.add_argument("--seed", type=int, help="of the matrices and the schedule; default: a fresh one")
    options = parser.parse_args()
    console = Console()
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3), "little")
    outcomes: dict[str, Outcome] = {}
    used = Table(title="Resources of the kernel", title_justify="left")
    used.add_column("target")
    for name in RESOURCES:
        used.add_column(name, justify="right")
    for target in options.target or TARGETS:
        folder = options.output / target
        report = translate(options.input, target, folder, console)
        show_stages(target, folder, report, console)
        used.add_row(target, *resources(report))
        if options.input.name == "gemm.mlir":
            outcomes[target] = simulate(folder / "6-ptx.ptx", seed, console)
    console.print(used)
    if outcomes and not show_runs(outcomes, seed, console):
        print("error: the product is wrong, or the simulator found something", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
