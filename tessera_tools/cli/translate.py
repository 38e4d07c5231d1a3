"""`tessera-translate`: translates any stage to LLVM IR, NVPTX MIR, PTX, cubin or SASS, and bytecode to text and back.

    .tileirbc, .mlir of any stage, .ll, .ptx ──emit/driver.py──▶ output, and with --save-temps every stage on the way

LLVM's process starts before the input is read, and loads while the IR is parsed and lowered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from tessera_tools.cli.common import Result, as_process, in_process, normalize, with_deep_stack

__all__ = ["main", "run"]

OUTPUTS = {
    "mlir-to-llvmir": ("llvmir", "LLVM IR text"),
    "mlir-to-mir": ("mir", "NVPTX machine IR, after instruction selection"),
    "mlir-to-ptx": ("ptx", "PTX"),
    "mlir-to-cubin": ("cubin", "a cubin, and its launch manifest (JSON) next to it"),
    "mlir-to-sass": ("sass", "the cubin's SASS, disassembled"),
    "cudatilebc-to-mlir": ("mlir", "MLIR text, from cuda_tile bytecode"),
    "mlir-to-cudatilebc": (
        "cudatilebc",
        "cuda_tile bytecode, from cuda_tile text (or bytecode of another version)",
    ),
}
"""Output formats; exactly one must be given."""

FLAGS = {
    "allow-unregistered-dialect": "allow operations of dialects that are not registered",
    "implicit-index-constants": "read an undefined %cN as the index constant N",
    "cuda-tile-module": "with --cudatilebc-to-mlir: print the `cuda_tile.module` around the kernels",
    "debug-info": "emit DWARF debug information into PTX and cubin; implies -O0",
    "lineinfo": "emit source line information into PTX, cubin and SASS",
    "mlir-print-ir-after-all": "print the IR after each pass",
    "mlir-print-ir-before-all": "print the IR before each pass",
    "list-versions": "list the supported versions of cuda_tile bytecode and exit",
    "mlir-print-debuginfo": "print locations in MLIR text",
    "mlir-print-local-scope": "print locations inline, without aliases",
    "mlir-print-op-generic": "print MLIR in the generic form",
    "mlir-timing": "print the execution time of each part",
    "print-pipeline": "print the pass pipeline to stderr",
    "resource-usage": "print the resource usage of each kernel to stderr",
}

VALUES: dict[str, tuple[str, str, str | None]] = {
    "o": ("FILE", "output file; '-' (default) is stdout", None),
    "O": ("LEVEL", "optimization level of LLVM and ptxas, 0 to 3 (default: 3)", None),
    "bytecode-version": (
        "VERSION",
        "cuda_tile bytecode version to write, 13.1 to 13.5 (default: 13.1)",
        None,
    ),
    "cache": (
        "WHEN",
        "compile cache: on (default) or off; tessera-cache shows and clears it",
        None,
    ),
    "color": ("WHEN", "when to color diagnostics: auto (on a terminal), always, never", "always"),
    "debug-pass": (
        "NAME:WORD",
        "skip a pass (off), print the IR around it (dump) or time it (time); comma-separated, NAME may be all",
        None,
    ),
    "gpu-name": ("NAME", "the GPU architecture, e.g. sm_90 (default: sm_80)", None),
    "llvm-pipeline": (
        "NAME",
        "LLVM pipeline: tile (passes tuned for lowered tiles) or llvm (LLVM's default for the level)",
        None,
    ),
    "llvm-timeout": ("SECONDS", "time limit for LLVM (default: 120)", None),
    "mlir-timing-display": ("HOW", "tree or list", None),
    "abi": (
        "KIND",
        "tensormap (kernels may take tensor maps after their declared parameters, described by the manifest) or "
        "plain (only the declared parameters; no TMA)",
        None,
    ),
    "num-warps": ("N", "warps per kernel: 1, 2, 4, 8, 16 or 32 (default: chosen from the tiles)", None),
    "nvdisasm": (
        "PATH",
        "path of nvdisasm (default: TESSERA_NVDISASM, the wheel nvidia-cuda-nvdisasm, then PATH)",
        None,
    ),
    "ptxas": ("PATH", "path of ptxas (default: TESSERA_PTXAS, the wheel nvidia-cuda-nvcc, then PATH)", None),
    "ptxas-options": ("TEXT", "additional options for ptxas, e.g. '-maxrregcount=128 -v'", None),
    "ptxas-timeout": ("SECONDS", "time limit for ptxas (default: 300)", None),
    "remarks": (
        "FORMAT[:FILE]",
        "print remarks on the compiler's decisions as text, json or yaml to FILE (default: stderr)",
        None,
    ),
    "save-temps": ("DIR", "write every stage to DIR, from 1-cuda_tile.mlir to 7-sass.sass", "."),
    "split-input-file": (
        "MARKER",
        "with --mlir-to-cudatilebc: translate each part of the input separately",
        "// -----",
    ),
    "verify-diagnostics": (
        "WHICH",
        "check diagnostics against `expected-…` comments: all or only-expected",
        "all",
    ),
    "verify-each": ("BOOL", "verify the IR after each pass (default: true)", "true"),
}

CHOICES = {
    "abi": ("tensormap", "plain"),
    "cache": ("on", "off"),
    "color": ("auto", "always", "never"),
    "llvm-pipeline": ("tile", "llvm"),
    "mlir-timing-display": ("tree", "list"),
    "num-warps": ("1", "2", "4", "8", "16", "32"),
    "O": ("0", "1", "2", "3"),
}

EPILOG = """\
\b
Examples:
  tessera-translate --mlir-to-cubin --gpu-name=sm_90 gemm.mlir -o gemm.cubin --resource-usage
  tessera-translate --mlir-to-sass --gpu-name=sm_80 gemm.mlir --save-temps=stages
  tessera-opt gemm.mlir --canonicalize | tessera-translate --mlir-to-ptx
  tessera-translate --cudatilebc-to-mlir gemm.tileirbc
  tessera-translate --mlir-to-cudatilebc --bytecode-version=13.2 gemm.mlir -o gemm.tileirbc
"""


MAX_SECONDS = 1e6
"""The longest time limit, eleven days: the system's wait functions do not accept infinity."""


class _Seconds(click.FloatRange):
    """A time limit in seconds; must be finite."""

    name = "number of seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail(f"{value!r} is not a valid {self.name}", param, ctx)
        return seconds


def _command() -> click.Command:
    params: list[click.Parameter] = [
        click.Argument(["input"], required=False, default="-", metavar="[FILE]"),
        click.Option(["--run-pass"], multiple=True, hidden=True),
        click.Option(["--version"], is_flag=True, expose_value=False, help="Show the version and exit."),
    ]
    for name, (_, text) in OUTPUTS.items():
        params.append(
            click.Option([f"--{name}"], type=click.BOOL, default=False, help=f"emit {text}", metavar="")
        )
    for name, text in FLAGS.items():
        params.append(click.Option([f"--{name}"], type=click.BOOL, default=False, help=text, metavar=""))
    names = {"o": ["-o", "output"], "O": ["-O", "level"]}
    for name, (value, text, alone) in VALUES.items():
        # An optional value must follow a `=`.
        metavar = value if alone is None else f"[={value}]"
        kind: Any = click.Choice(CHOICES[name]) if name in CHOICES else None
        if name.endswith("timeout"):
            kind = _Seconds(min=0, min_open=True, max=MAX_SECONDS)
        params.append(click.Option(names.get(name, [f"--{name}"]), type=kind, metavar=metavar, help=text))
    return click.Command(
        "tessera-translate",
        params=params,
        help="Translate cuda_tile bytecode, MLIR of any stage, LLVM IR or PTX, read from FILE or stdin, "
        "to one output format. "
        "Input that is not yet lowered is lowered by the target's pipeline.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status. See `run`."""
    begin = time.perf_counter()
    bare: dict[str, str | None] = dict.fromkeys((*OUTPUTS, *FLAGS), "true")
    bare |= {name: value for name, (_, _, value) in VALUES.items()}
    bare |= {"help": "", "h": "", "version": ""}
    arguments = normalize(argv, bare, {})
    if "--help=" in arguments or "--h=" in arguments:
        arguments = ["--help"]
    if "--version=" in arguments:
        from tessera_tools import __version__

        sys.stdout.write(f"tessera-translate {__version__}\n")
        return 0
    if "--list-versions=true" in arguments:
        from tessera_tools.bytecode.version import VERSIONS

        sys.stdout.write("".join(f"{version}\n" for version in VERSIONS))
        return 0
    with _command().make_context("tessera-translate", arguments) as context:
        options: dict[str, Any] = context.params
    wanted = [output for name, (output, _) in OUTPUTS.items() if options[name.replace("-", "_")]]
    if len(wanted) != 1:
        found = "none" if not wanted else "several"
        raise click.UsageError(f"expected one of --{', --'.join(OUTPUTS)}; found {found}")
    from tessera_tools.cli.translate_session import Session

    session = Session(options, wanted[0], begin)
    try:
        return with_deep_stack(session.run)
    finally:
        session.close()


def run(argv: Sequence[str], stdin: bytes = b"", cwd: str | None = None) -> Result:
    """Run `tessera-translate` in this process: arguments without the command's name, the bytes of stdin, the folder."""
    return in_process(execute, argv, stdin, cwd)


def main() -> NoReturn:
    """The console script."""
    as_process(execute)


if __name__ == "__main__":
    main()
