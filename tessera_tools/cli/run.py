"""`tessera-run`: runs a kernel on the simulated GPU, or on a real one.

    .mlir, .tileirbc, .ll ──emit/driver.py──▶ PTX ─┬─▶ runtime/ ──▶ buffers, findings, counters ──▶ status
    .ptx, .cubin with its manifest ────────────────┘

The exit status is 0 for success, 1 for an error, 2 for a wrong answer (`--expect`), 3 for a finding.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from tessera_tools.cli.common import Result, as_process, in_process, normalize, with_deep_stack

__all__ = ["FLAGS", "REPEATED", "VALUES", "main", "run"]

FLAGS = {
    "allow-outside": "allow a launch file to use files outside its directory",
    "stats": "print performance counters and the occupancy",
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
    "block": ("X,Y,Z", "block size, if neither the PTX nor a manifest specifies it", None),
    "cache": (
        "WHEN",
        "compile cache: on (default) or off; tessera-cache shows and clears it",
        None,
    ),
    "cluster": ("X,Y,Z", "cluster size, if the PTX does not specify it", None),
    "color": ("WHEN", "when to color diagnostics: auto (on a terminal), always, never", "always"),
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
    "abi": (
        "KIND",
        "tensormap (kernels may take tensor maps after their declared parameters, described by the manifest) or "
        "plain (only the declared parameters; no TMA)",
        None,
    ),
    "num-warps": (
        "N",
        "warps per kernel, if compiling: 1, 2, 4, 8, 16 or 32 (default: chosen from the tiles)",
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
    "report": ("FILE", "write findings and statistics as JSON to FILE (default: stdout)", "-"),
    "save-ptx": ("FILE", "write the PTX that is executed, to which line numbers in findings refer", None),
    "schedules": (
        "N",
        "run N schedules with different seeds, alternating late and early; all results must agree (default: 1)",
        None,
    ),
    "seed": ("N", "seed of random arguments and of the first schedule (default: 0)", None),
    "shared": ("BYTES", "size of dynamic shared memory, if no manifest specifies it", None),
    "time-limit": ("SECONDS", "time limit of a simulated launch (default: none)", None),
    "transport": (
        "NAME",
        "transport between ranks: mpi, torch (torch.distributed) or auto (default: auto)",
        None,
    ),
}

CHOICES = {
    "abi": ("tensormap", "plain"),
    "cache": ("on", "off"),
    "color": ("auto", "always", "never"),
    "device": ("sim", "cuda"),
    "findings": ("errors", "warnings", "strict"),
    "modes": ("late", "early", "both"),
    "num-warps": ("1", "2", "4", "8", "16", "32"),
    "transport": ("auto", "mpi", "torch"),
}

_NUMBERS = {
    "max-instructions": (1, 1 << 62),
    "processes": (1, 256),
    "ranks": (1, 64),
    "schedules": (1, 1_000_000),
    "seed": (0, (1 << 63) - 1),
    "shared": (0, 1 << 31),
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


def _command() -> click.Command:
    params: list[click.Parameter] = [
        click.Argument(["input"], required=False, default="-", metavar="[FILE]"),
        click.Option(["--run-pass"], multiple=True, hidden=True),
        click.Option(["--version"], is_flag=True, expose_value=False, help="Show the version and exit."),
    ]
    for name, (metavar, text) in REPEATED.items():
        params.append(click.Option([f"--{name}"], multiple=True, metavar=metavar, help=text))
    for name, text in FLAGS.items():
        params.append(click.Option([f"--{name}"], type=click.BOOL, default=False, help=text, metavar=""))
    for name, (metavar, text, alone) in VALUES.items():
        # An optional value must follow a `=`.
        metavar = metavar if alone is None else f"[={metavar}]"
        kind: Any = click.Choice(CHOICES[name]) if name in CHOICES else None
        if name == "time-limit":
            kind = click.FloatRange(0, min_open=True)
        if name in _NUMBERS:
            low, high = _NUMBERS[name]
            kind = click.IntRange(low, high)
        params.append(click.Option([f"--{name}"], type=kind, metavar=metavar, help=text))
    return click.Command(
        "tessera-run",
        params=params,
        help="Run a kernel on a simulated or real GPU. FILE is MLIR of any stage, cuda_tile bytecode, "
        "LLVM IR, PTX or a cubin. Reads stdin if FILE is '-' or not given.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
        add_help_option=True,
    )


def execute(argv: list[str]) -> int:
    """Run the command line `argv`; returns the exit status."""
    bare: dict[str, str | None] = dict.fromkeys(FLAGS, "true")
    bare |= dict.fromkeys(REPEATED)
    bare |= {name: value for name, (_, _, value) in VALUES.items()}
    bare |= {"help": "", "h": "", "version": ""}
    arguments = normalize(argv, bare, {})
    if "--help=" in arguments or "-h" in arguments or "--h=" in arguments:
        arguments = ["--help"]
    if "--version=" in arguments:
        from tessera_tools import __version__

        sys.stdout.write(f"tessera-run {__version__}\n")
        return 0
    with _command().make_context("tessera-run", arguments) as context:
        options: dict[str, Any] = context.params
    from tessera_tools.cli.run_session import Session

    session = Session(options)
    return with_deep_stack(session.run)


def run(argv: Sequence[str], stdin: bytes = b"", cwd: str | None = None) -> Result:
    """Run `tessera-run` in this process: arguments without the command's name, the bytes of stdin, the folder."""
    return in_process(execute, argv, stdin, cwd)


def main() -> NoReturn:
    """The console script."""
    as_process(execute)


if __name__ == "__main__":
    main()
