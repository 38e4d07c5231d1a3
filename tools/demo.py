#!/usr/bin/env python3
"""The guided tour: `examples/gemm.mlir` through every stage to SASS, for two GPUs.

Runs `tessera-translate` as a user would, leaves each stage's file under `build/demo/<target>/`, and prints
what stands where, how long each stage took, and what the kernel takes of the GPU.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ["sm_80", "sm_90a"]
LIMIT_SECONDS = 300
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
    """A row of the table: its files under `--save-temps`, and the timing lines that made it."""

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
    """`text` with this checkout's and this environment's folders left out."""
    return text.replace(f"{Path(sys.executable).parent}/", "").replace(f"{ROOT}/", "")


def program() -> list[str]:
    """`tessera-translate` as installed beside this Python, or from the checkout where it is not."""
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
    """What a reader wants to know of the file's size: ops for IR, lines for text, bytes for the rest."""
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
    for stage in STAGES:
        files = sorted(folder.glob(stage.pattern))
        if not files:
            sys.exit(
                f"error: {short(str(folder))} holds no {stage.pattern}: the stage '{stage.title}' is missing"
            )
        for path in files:
            table.add_row(stage.title, short(str(path)), size(path), milliseconds(stage, report))
    total = next((seconds for seconds, what in TIMING.findall(report) if what == "Total"), None)
    if total:
        table.add_section()
        table.add_row("total", "", "", f"{float(total) * 1000:.1f}")
    console.print(table)


def resources(report: str) -> list[str]:
    """The kernel's resources in the order of RESOURCES; "0" for one that ptxas has nothing to say about."""
    found = [re.search(pattern, report, re.IGNORECASE) for pattern in RESOURCES.values()]
    return [next(filter(None, match.groups()), "0") if match else "0" for match in found]


def main() -> int:
    """Run the tour."""
    parser = argparse.ArgumentParser(description="take a GEMM through every stage")
    parser.add_argument("--input", type=Path, default=ROOT / "examples" / "gemm.mlir")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "demo")
    parser.add_argument("--target", action="append", help=f"default: {' and '.join(TARGETS)}")
    options = parser.parse_args()
    console = Console()
    used = Table(title="What the kernel takes", title_justify="left")
    used.add_column("target")
    for name in RESOURCES:
        used.add_column(name, justify="right")
    for target in options.target or TARGETS:
        folder = options.output / target
        report = translate(options.input, target, folder, console)
        show_stages(target, folder, report, console)
        used.add_row(target, *resources(report))
    console.print(used)
    return 0


if __name__ == "__main__":
    sys.exit(main())
