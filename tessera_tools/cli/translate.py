"""`tessera-translate`: translates any stage to LLVM IR, NVPTX MIR, PTX, cubin or SASS, and bytecode to text and back.

    .tileirbc, .mlir of any stage, .ll, .ptx ──emit/driver.py──▶ output, and with --save-temps every stage on the way

LLVM's process starts before the input is read, and loads while the IR is parsed and lowered.
"""

from __future__ import annotations

import sys
import time

from tessera_tools.cli.command_line import (
    ALIASES,
    INSPECTION_FLAGS,
    INSPECTION_KINDS,
    INSPECTION_REPEATED,
    INSPECTION_VALUES,
    REMARK_OPTIONS,
    SHARED_FLAGS,
    SHARED_KINDS,
    SHARED_VALUES,
    TUNING,
    CommandLine,
    Number,
    entry_points,
    load_plugins,
)
from tessera_tools.cli.common import usage_error, with_deep_stack

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

FLAGS = SHARED_FLAGS | INSPECTION_FLAGS | {
    "cuda-tile-module": "with --cudatilebc-to-mlir: print the `cuda_tile.module` around the kernels",
    "debug-info": "emit DWARF debug information into PTX and cubin; implies -O0",
    "lineinfo": "emit source line information into PTX, cubin and SASS",
    "list-versions": "list the supported versions of cuda_tile bytecode and exit",
    "print-pipeline": "print the pass pipeline to stderr",
    "resource-usage": "print the resource usage of each kernel to stderr",
}  # fmt: skip

VALUES: dict[str, tuple[str, str, str | None]] = {
    **SHARED_VALUES,
    **INSPECTION_VALUES,
    "O": ("LEVEL", "optimization level of LLVM and ptxas, 0 to 3 (default: 3)", None),
    "bytecode-version": (
        "VERSION",
        "cuda_tile bytecode version to write, 13.1 to 13.5 (default: 13.1)",
        None,
    ),
    "gpu-name": ("NAME", "the GPU architecture, e.g. sm_90 (default: sm_80)", None),
    "llvm-pipeline": (
        "NAME",
        "LLVM pipeline: tile (passes tuned for lowered tiles) or llvm (LLVM's default for the level)",
        None,
    ),
    "llvm-timeout": ("SECONDS", "time limit for LLVM (default: 120)", None),
    **TUNING,
    "shapes": (
        "CLASS",
        "with --tuned: the class of shapes to compile for, as tessera-tune names it, if FILE has several",
        None,
    ),
    "nvdisasm": (
        "PATH",
        "path of nvdisasm (default: TESSERA_NVDISASM, the wheel nvidia-cuda-nvdisasm, then PATH)",
        None,
    ),
    "ptxas": ("PATH", "path of ptxas (default: TESSERA_PTXAS, the wheel nvidia-cuda-nvcc, then PATH)", None),
    "ptxas-options": ("TEXT", "additional options for ptxas, e.g. '-maxrregcount=128 -v'", None),
    "ptxas-timeout": ("SECONDS", "time limit for ptxas (default: 300)", None),
    **REMARK_OPTIONS,
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


COMMAND_LINE = CommandLine(
    "tessera-translate",
    help="Translate cuda_tile bytecode, MLIR of any stage, LLVM IR or PTX, read from FILE or stdin, "
    "to one output format. "
    "Input that is not yet lowered is lowered by the target's pipeline.",
    epilog=EPILOG,
    flags={name: f"emit {text}" for name, (_, text) in OUTPUTS.items()} | FLAGS,
    values=VALUES,
    aliases=ALIASES,
    first=(
        "mlir-to-ptx",
        "mlir-to-cubin",
        "mlir-to-sass",
        "gpu-name",
        "o",
        "O",
        "resource-usage",
        "save-temps",
        "remarks",
        "lineinfo",
    ),
    repeated=INSPECTION_REPEATED,
    kinds=SHARED_KINDS
    | INSPECTION_KINDS
    | {"llvm-pipeline": ("tile", "llvm"), "O": ("0", "1", "2", "3")}
    | {name: Number(0, MAX_SECONDS, min_open=True) for name in VALUES if name.endswith("timeout")},
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    begin = time.perf_counter()
    load_plugins(argv)
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    if options["list_versions"]:
        from tessera_tools.bytecode.version import VERSIONS

        sys.stdout.write("".join(f"{version}\n" for version in VERSIONS))
        return 0
    wanted = [output for name, (output, _) in OUTPUTS.items() if options[name.replace("-", "_")]]
    if len(wanted) != 1:
        found = "none" if not wanted else "several"
        raise usage_error(f"expected one of --{', --'.join(OUTPUTS)}; found {found}")
    from tessera_tools.cli.translate_session import Session

    session = Session(options, wanted[0], begin)
    try:
        return with_deep_stack(session.run)
    finally:
        session.close()


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
