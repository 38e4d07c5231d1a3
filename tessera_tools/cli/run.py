"""`tessera-run`: runs a kernel on the simulated GPU, or on a real one.

    .mlir, .tileirbc, .ll ──emit/driver.py──▶ PTX ─┬─▶ runtime/ ──▶ buffers, findings, counters ──▶ status
    .ptx, .cubin with its manifest ────────────────┘

The exit status is 0 for success, 1 for an error, 2 for a wrong answer (`--expect`), 3 for a finding.
"""

from __future__ import annotations

import click

from tessera_tools.cli.command_line import (
    SHARED_KINDS,
    SHARED_VALUES,
    TUNING,
    CommandLine,
    Number,
    entry_points,
    shared,
)
from tessera_tools.cli.common import with_deep_stack
from tessera_tools.target.grids import MOST_RESIDENT

__all__ = ["FLAGS", "REPEATED", "VALUES", "main", "run"]

FLAGS = {
    "allow-outside": "allow a launch file to use files outside its directory",
    "stats": "print performance counters and the occupancy",
    "timing-warps": "estimate as --timing does, and print where the time of each warp went",
}

REPEATED = {
    "arg": ("ARG", "a kernel argument; give one per parameter, in order (see below)"),
    "out": (
        "NAME=FILE",
        "write a buffer to a file after the run, as .npy or, with any other suffix, as raw bytes",
    ),
    "expect": (
        "NAME=@FILE",
        "compare a buffer with a reference after the run; tolerances as `:rtol=1e-3:atol=1e-3`",
    ),
    "param": (
        "NAME:TYPE",
        "name and type of a kernel parameter, for PTX without a manifest; give one per parameter, in order",
    ),
}

VALUES: dict[str, tuple[str, str, str | None]] = {
    **shared(SHARED_VALUES, "abi", "cache", "color"),
    "block": ("X,Y,Z", "block size, if neither the PTX nor a manifest specifies it", None),
    "device": ("NAME", "sim (simulated GPU, default) or cuda (real GPU)", None),
    "entry": ("NAME", "the kernel to run, if the input has several", None),
    "findings": (
        "WHICH",
        "report errors only, errors and warnings (default), or strict: treat warnings as errors",
        None,
    ),
    "gpu-name": ("NAME", "the GPU architecture, e.g. sm_90 (default: the PTX's own, else sm_80)", None),
    "grid": ("X,Y,Z", "grid size (default: 1,1,1)", None),
    "launch": ("FILE", "read entry, grid, buffers and arguments from a JSON file instead of --arg", None),
    "manifest": (
        "FILE",
        "the launch manifest of a .ptx or .cubin (default for a .cubin: the .json next to it)",
        None,
    ),
    "max-instructions": ("N", "stop after N warp instructions (default: 100000000)", None),
    "modes": ("WHICH", "complete asynchronous operations late (default), early, or run both", None),
    **TUNING,
    "cluster": (
        "SHAPE",
        "X,Y,Z: cluster size of a launch, if the PTX does not specify it; ROWSxCOLUMNS: compile for clusters that "
        "split the tiles so (default: auto, as the program hints)",
        None,
    ),
    "processes": (
        "N",
        "maximum number of processes that simulate a grid (default: the number of CPUs)",
        None,
    ),
    "ranks": (
        "N",
        "run a host function on a mesh of N GPUs, one process each; see docs/distributed.md",
        None,
    ),
    "report": (
        "FILE",
        "write findings and statistics as JSON to FILE (default: stdout); with a name that ends in .html, a page with "
        "all stages, the findings and the clock's estimate",
        "-",
    ),
    "resident": (
        "N",
        "CTAs, or clusters, that a persistent kernel is launched with (default: as many as the GPU runs at once)",
        None,
    ),
    "save-ptx": ("FILE", "write the PTX that is executed, to which line numbers in findings refer", None),
    "schedules": (
        "N",
        "run N schedules with different seeds, alternating late and early; all results must agree (default: 1)",
        None,
    ),
    "seed": ("N", "seed of random arguments and of the first schedule (default: 0)", None),
    "shared": ("BYTES", "size of dynamic shared memory, if no manifest specifies it", None),
    "timing": (
        "FILE",
        "estimate how long the launch takes on the GPU, and why; with FILE, write the estimate as JSON (`-`: stdout)",
        "",
    ),
    "timing-clock": ("MHZ", "clock of the SMs for --timing (default: the boost clock of the product)", None),
    "timing-svg": ("FILE", "estimate as --timing does, and write the timeline of one SM as a picture", None),
    "timing-trace": (
        "FILE",
        "estimate as --timing does, and write the timeline as a trace for ui.perfetto.dev",
        None,
    ),
    "time-limit": ("SECONDS", "time limit of a simulated launch (default: none)", None),
    "transport": (
        "NAME",
        "transport between ranks: mpi, torch (torch.distributed) or auto (default: auto)",
        None,
    ),
}

KINDS = {option: kind for option, kind in SHARED_KINDS.items() if option != "cluster"} | {
    "device": ("sim", "cuda"),
    "findings": ("errors", "warnings", "strict"),
    "max-instructions": click.IntRange(1, 1 << 62),
    "modes": ("late", "early", "both"),
    "processes": click.IntRange(1, 256),
    "ranks": click.IntRange(1, 64),
    "resident": click.IntRange(1, MOST_RESIDENT),
    "schedules": click.IntRange(1, 1_000_000),
    "seed": click.IntRange(0, (1 << 63) - 1),
    "shared": click.IntRange(0, 1 << 31),
    "time-limit": Number(0, min_open=True),
    "timing-clock": Number(100, 10_000),
    "transport": ("auto", "mpi", "torch"),
}

EPILOG = """\
\b
Arguments, in the order of the parameters; NAME is what --out and --expect call a buffer:
  NAME=rand:f16:128x64      random numbers from -1 to 1
  NAME=zeros:f32:1000       also arange:TYPE:SHAPE, full:TYPE:SHAPE:VALUE
  NAME=@file.npy            also @file.bin:f16:128x64, a raw little-endian image
  i32:128  f32:0.125        a number of any type; ptr:0, bytes:00ff
  tensormap:NAME:64x32      a tensor map of an earlier buffer, and its box; :swizzle=128B, :fill=nan
Types: i1, i8 to i64, u8 to u64, f16, bf16, tf32, f32, f64, f8e4m3, f8e5m2, f8e8m0.

\b
Exit status: 0 success, 1 error, 2 wrong answer (--expect), 3 finding.

\b
Example:
  tessera-run examples/vector_add.mlir --grid=4 \\
    --arg a=arange:f32:4096 --arg i32:4096 --arg i32:1 --arg b=full:f32:4096:1 --arg i32:4096 --arg i32:1 \\
    --arg c=zeros:f32:4096 --arg i32:4096 --arg i32:1 --out c=c.npy --stats
"""


COMMAND_LINE = CommandLine(
    "tessera-run",
    help="Run a kernel on a simulated or real GPU. FILE is MLIR of any stage, cuda_tile bytecode, "
    "LLVM IR, PTX or a cubin. Reads stdin if FILE is '-' or not given.",
    epilog=EPILOG,
    flags=FLAGS,
    values=VALUES,
    repeated=REPEATED,
    kinds=KINDS,
    width=120,
    first=("arg", "out", "expect", "grid", "gpu-name", "entry", "seed", "schedules", "stats", "timing"),
)


def execute(argv: list[str]) -> int:
    """Run the command line `argv`; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    from tessera_tools.cli.run_session import Session

    session = Session(options)
    return with_deep_stack(session.run)


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
