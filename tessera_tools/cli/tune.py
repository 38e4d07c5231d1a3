"""`tessera-tune`: finds how to compile a kernel so that it is fast, by the clock of the simulated GPU or on a real one.

FILE, launch ──untuned──▶ reference ──candidates──▶ compile, run, compare, time ──▶ the fastest, in an SQLite file
"""

from __future__ import annotations

import click

from tessera_tools.cli.command_line import (
    SHARED_KINDS,
    SHARED_VALUES,
    CommandLine,
    Number,
    entry_points,
    shared,
)
from tessera_tools.cli.common import with_deep_stack
from tessera_tools.emit.tunables import TUNABLES

__all__ = ["FLAGS", "REPEATED", "VALUES", "main", "run"]

FLAGS = {
    "allow-outside": "allow a launch file to use files outside its directory",
    "restart": "measure every candidate again, instead of resuming an earlier search of the same launch",
}

REPEATED = {"arg": ("ARG", "a kernel argument, as in tessera-run; give one per parameter, in order")}

VALUES: dict[str, tuple[str, str, str | None]] = {
    **shared(SHARED_VALUES, "color"),
    "candidate-timeout": ("SECONDS", "time limit for one candidate (default: 300)", None),
    "entry": ("NAME", "the kernel to tune, if the input has several", None),
    "gpu-name": ("NAME", "the GPU architecture, e.g. sm_90a (default: the input's own, else sm_80)", None),
    "grid": ("X,Y,Z", "grid size (default: 1,1,1)", None),
    "launch": ("FILE", "read entry, grid, buffers and arguments from a JSON file instead of --arg", None),
    "measure": (
        "HOW",
        "clock (default): the estimate of the simulated GPU; gpu: the median time on a real GPU",
        None,
    ),
    "most": ("N", "try at most N configurations (default: 64)", None),
    "o": ("FILE", "the file of results, created if it is missing (default: tuned.sqlite)", None),
    "patience": ("N", "stop after N configurations without an improvement (default: 24)", None),
    "processes": (
        "N",
        "candidates that are compiled side by side on this machine (default: the number of CPUs)",
        None,
    ),
    "ray": ("ADDRESS", "run the candidates on a Ray cluster; without ADDRESS on a local one", ""),
    "search": (
        "NAMES",
        "search only these options, comma-separated (default: all): "
        f"{', '.join(one.option for one in TUNABLES)}",
        None,
    ),
    "seed": ("N", "seed of the random arguments and of the order of the search (default: 0)", None),
    "tolerance": (
        "X",
        "how far floats of a candidate may be from those of the untuned kernel, as a share of the greatest magnitude "
        "in the buffer (default: by type, such as 1e-2 for f16 and 2e-4 for f32)",
        None,
    ),
}

KINDS = SHARED_KINDS | {
    "candidate-timeout": Number(0, 1e6, min_open=True),
    "measure": ("clock", "gpu"),
    "most": click.IntRange(1, 100_000),
    "patience": click.IntRange(1, 100_000),
    "processes": click.IntRange(1, 256),
    "seed": click.IntRange(0, (1 << 63) - 1),
    "tolerance": Number(0, 1),
}

EPILOG = """\
\b
A candidate counts only if it leaves the same numbers in every buffer as the untuned kernel. Interrupt the command and
run it again to resume. The search is the same for the same seed and times.

\b
Example:
  tessera-tune examples/gemm.mlir --gpu-name=sm_90a --grid=4,4 -o tuned.sqlite \\
    --arg A=rand:f16:256x128 --arg i32:256 --arg i32:128 --arg i32:128 --arg i32:1 \\
    --arg B=rand:f16:128x256 --arg i32:128 --arg i32:256 --arg i32:256 --arg i32:1 \\
    --arg D=zeros:f16:256x256 --arg i32:256 --arg i32:256 --arg i32:256 --arg i32:1
  tessera-translate examples/gemm.mlir --mlir-to-cubin --gpu-name=sm_90a --tuned=tuned.sqlite -o gemm.cubin
"""

COMMAND_LINE = CommandLine(
    "tessera-tune",
    help="Find the compiler options with which a kernel is fastest for one launch. FILE is MLIR or cuda_tile bytecode. "
    "--tuned=FILE of tessera-translate and tessera-run, and tuned= of the Python interface, use the results.",
    epilog=EPILOG,
    flags=FLAGS,
    values=VALUES,
    repeated=REPEATED,
    kinds=KINDS,
    width=120,
    first=("arg", "launch", "grid", "gpu-name", "o", "search", "measure", "most", "seed", "processes"),
)


def execute(argv: list[str]) -> int:
    """Run the command line `argv`; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    from tessera_tools.cli.tune_session import Session

    session = Session(options)
    return with_deep_stack(session.run)


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
