"""`tessera-translate`: from any stage to LLVM IR, NVPTX MIR, PTX, cubin or SASS; and bytecode to text and back.

    .tileirbc, .mlir of any stage, .ll, .ptx ──emit/driver.py──▶ output, and with --save-temps every stage on the way

LLVM's process is started before the input is read, so that it loads while the IR is parsed and lowered.
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
    "mlir-to-cubin": ("cubin", "a cubin, with its launch manifest (JSON) beside it"),
    "mlir-to-sass": ("sass", "the cubin's SASS, disassembled"),
    "cudatilebc-to-mlir": ("mlir", "MLIR text, of cuda_tile bytecode"),
    "mlir-to-cudatilebc": (
        "cudatilebc",
        "cuda_tile bytecode, of cuda_tile text (or bytecode of another version)",
    ),
}
"""What can be made; exactly one of these is given."""

FLAGS = {
    "allow-unregistered-dialect": "allow operations of dialects that are not registered",
    "implicit-index-constants": "read an undefined %cN as the index constant N",
    "cuda-tile-module": "with --cudatilebc-to-mlir: print the `cuda_tile.module` around the kernels",
    "debug-info": "put DWARF for debuggers into PTX and cubin; with -O0, which it implies",
    "lineinfo": "keep source locations down to the SASS",
    "mlir-print-ir-after-all": "print the IR after each pass",
    "mlir-print-ir-before-all": "print the IR before each pass",
    "list-versions": "print the versions of cuda_tile bytecode, and stop",
    "mlir-print-debuginfo": "print locations in MLIR text",
    "mlir-print-local-scope": "print locations where they stand, without aliases",
    "mlir-print-op-generic": "print MLIR text in the generic form",
    "mlir-timing": "print how long each part took",
    "print-pipeline": "print the passes that are run, on stderr",
    "resource-usage": "print what each kernel takes of the GPU, on stderr",
}

VALUES: dict[str, tuple[str, str, str | None]] = {
    "o": ("FILE", "where to write; '-', the default, is stdout", None),
    "O": ("LEVEL", "effort of LLVM and ptxas, 0 to 3 (3)", None),
    "bytecode-version": ("VERSION", "the version of cuda_tile bytecode to write, 13.1 to 13.5 (13.1)", None),
    "color": ("WHEN", "color errors: auto (on a terminal), always, never", "always"),
    "debug-pass": (
        "NAME:WORD",
        "leave a pass out, dump the IR around it, or time it: off, dump, time; comma-separated, NAME may be all",
        None,
    ),
    "gpu-name": ("NAME", "the GPU's architecture, as in sm_90 (sm_80)", None),
    "llvm-pipeline": (
        "NAME",
        "tile (the passes that lowered tiles need) or llvm (LLVM's own for the level)",
        None,
    ),
    "llvm-timeout": ("SECONDS", "time limit for LLVM (120)", None),
    "mlir-timing-display": ("HOW", "tree or list", None),
    "abi": (
        "KIND",
        "tensormap (kernels may have tensor maps behind their declared parameters; the manifest describes them) or "
        "plain (the declared parameters alone: no TMA)",
        None,
    ),
    "num-warps": ("N", "warps of every kernel: 1, 2, 4, 8, 16 or 32 (chosen from its tiles)", None),
    "nvdisasm": (
        "PATH",
        "the nvdisasm to call; otherwise TESSERA_NVDISASM, the wheel nvidia-cuda-nvdisasm, PATH",
        None,
    ),
    "ptxas": ("PATH", "the ptxas to call; otherwise TESSERA_PTXAS, the wheel nvidia-cuda-nvcc, PATH", None),
    "ptxas-options": ("TEXT", "options for ptxas, as in '-maxrregcount=128 -v'", None),
    "ptxas-timeout": ("SECONDS", "time limit for ptxas (300)", None),
    "save-temps": ("DIR", "write every stage there: 1-cuda_tile.mlir to 7-sass.sass", "."),
    "split-input-file": ("MARKER", "with --mlir-to-cudatilebc: each part of the text by itself", "// -----"),
    "verify-diagnostics": (
        "WHICH",
        "check errors against `expected-…` comments: all or only-expected",
        "all",
    ),
    "verify-each": ("BOOL", "verify the IR after each pass (true)", "true"),
}

CHOICES = {
    "abi": ("tensormap", "plain"),
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
"""The longest time limit, eleven days: waiting functions of the system take no infinity."""


class _Seconds(click.FloatRange):
    """A time limit; infinity and what is no number are none."""

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
            click.Option([f"--{name}"], type=click.BOOL, default=False, help=f"make {text}", metavar="")
        )
    for name, text in FLAGS.items():
        params.append(click.Option([f"--{name}"], type=click.BOOL, default=False, help=text, metavar=""))
    names = {"o": ["-o", "output"], "O": ["-O", "level"]}
    for name, (value, text, alone) in VALUES.items():
        # A value that may be left out must follow a `=`.
        metavar = value if alone is None else f"[={value}]"
        kind: Any = click.Choice(CHOICES[name]) if name in CHOICES else None
        if name.endswith("timeout"):
            kind = _Seconds(min=0, min_open=True, max=MAX_SECONDS)
        params.append(click.Option(names.get(name, [f"--{name}"]), type=kind, metavar=metavar, help=text))
    return click.Command(
        "tessera-translate",
        params=params,
        help="Translate FILE (or stdin), cuda_tile bytecode, MLIR of any stage, LLVM IR or PTX, to what is asked for. "
        "What is still to lower is lowered by the target's pipeline.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )


def execute(argv: list[str]) -> int:
    """Run the command; its exit status. See `run`."""
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
