"""`tessera-opt`: parse, verify, transform and print IR.

input ─split─▶ chunk ─parse─▶ module ─verify─▶ pass manager ─▶ print ─▶ output
                                   └ errors: file:line:col, source line, caret; exit status 1
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
    CommandLine,
    entry_points,
    load_plugins,
    shared,
)
from tessera_tools.cli.common import with_deep_stack
from tessera_tools.parser.source import SPLIT_MARKER
from tessera_tools.passes.table import PASSES

__all__ = ["main", "run"]


FLAGS = SHARED_FLAGS | INSPECTION_FLAGS | {
    "Werr-hints": "with -Wunsupported-hints, treat these warnings as errors",
    "Wunsupported-hints": "warn about cuda_tile optimization hints that are not supported",
    "elide-resource-data-from-bytecode": "write bytecode without the data of resources",
    "emit-bytecode": "write MLIR bytecode instead of text",
    "f": "write bytecode to a terminal, too",
    "list-passes": "list all passes with their options and exit",
    "no-implicit-module": "use the file's only operation as the top level instead of adding a module",
    "run-reproducer": "run the pipeline stored in the input reproducer",
    "show-dialects": "list the registered dialects and exit",
    "verify-roundtrip": "check that the text and the bytecode of the input are read as the same IR",
}  # fmt: skip

REPEATED: dict[str, tuple[str, str]] = {
    **INSPECTION_REPEATED,
    "irdl-file": ("FILE", "load the dialects that FILE defines in irdl, which the input may use"),
}
VALUES: dict[str, tuple[str, str, str | None]] = {
    **shared(SHARED_VALUES, "o", "color", "report"),
    **INSPECTION_VALUES,
    "emit-bytecode-version": ("N", "the version of MLIR bytecode to write, 0 to 6 (default: 6)", None),
    "output-split-marker": ("MARKER", "the line between the outputs of chunks (default: that of the input)", None),
    "pass-pipeline": ("TEXT", "the pass pipeline to run, e.g. 'builtin.module(func.func(canonicalize,cse))'", None),
    **REMARK_OPTIONS,
    "show-layout": (
        "VALUES",
        "print the layouts of these values (%a,%b or all) as pictures, instead of the IR, which -o still writes",
        None,
    ),
    "split-input-file": ("MARKER", f"process chunks between lines '{SPLIT_MARKER}' (MARKER) separately", SPLIT_MARKER),
    "tessera-pipeline": (
        "GPU OPTIONS",
        "run the passes that compile the input for this GPU, from its stage to the stage of --to; e.g. 'sm_90a "
        "num-stages=2' (default: the GPU of the input, or sm_80)",
        "",
    ),
    "to": ("STAGE", "the last stage of --tessera-pipeline, which it implies: nv_tileaa, nv_tileas, llvm (default), or "
           "a pass of the pipeline", None),
    "view-op-graph": (
        "FILE",
        "write the operations and the values between them as a graph to FILE: DOT, or SVG by Graphviz's dot if the "
        "name ends in .svg (default: DOT to stderr)",
        "-",
    ),
    "verify-diagnostics": ("WHICH", "check diagnostics against expected-… comments: all or only-expected", "all"),
}  # fmt: skip

EPILOG = """\
\b
Examples:
  tessera-opt kernel.mlir --canonicalize --cse
  tessera-opt kernel.mlir --pass-pipeline='builtin.module(func.func(canonicalize,cse))' -o out.mlir
  tessera-opt kernel.mlir --cse --mlir-print-ir-after-all --mlir-timing
  tessera-opt kernel.mlir --tessera-pipeline=sm_90a --to=nv_tileas
"""


COMMAND_LINE = CommandLine(
    "tessera-opt",
    help="Parse, verify, transform and print MLIR. "
    "Reads MLIR text, MLIR bytecode or cuda_tile bytecode from FILE, or from stdin if FILE is '-' or not given.",
    epilog=EPILOG,
    flags=FLAGS,
    values=VALUES,
    kinds=SHARED_KINDS
    | INSPECTION_KINDS
    | {"verify-diagnostics": ("all", "only-expected"), "emit-bytecode-version": int},
    passes=PASSES,
    aliases=ALIASES,
    repeated=REPEATED,
    first=(
        "o",
        "pass-pipeline",
        "tessera-pipeline",
        "to",
        "list-passes",
        "mlir-print-ir-after-all",
        "mlir-timing",
        "remarks",
        "split-input-file",
        "verify-diagnostics",
    ),
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    begin = time.perf_counter()
    load_plugins(argv)
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    if options["show_dialects"]:
        from tessera_tools.opdef.documentation import overview
        from tessera_tools.opdef.registry import DIALECT_MODULES

        sys.stdout.write(f"Available Dialects: {','.join(sorted(DIALECT_MODULES))}\n{overview()}")
        return 0
    if options["list_passes"]:
        sys.stdout.write(list_passes())
        return 0
    from tessera_tools.cli.opt_session import Session

    session = Session(options, begin)
    return with_deep_stack(session.run)


def list_passes() -> str:
    """Every pass with its summary and options, in the layout of `mlir-opt --list-passes`."""
    from tessera_tools.passes.table import find_pass

    lines: list[tuple[str, str]] = []
    for name, row in PASSES.items():
        lines.append((f"  --{name}", f"  {row.summary}"))
        cls = find_pass(name)
        if cls is None:
            continue
        for entry in cls.options():
            shown = entry.write(entry.default)
            choices = f" ({', '.join(entry.choices)})" if entry.choices else ""
            lines.append((f"    --{entry.name}", f"{entry.summary}{choices}; default {shown}"))
    width = max(len(left) for left, _ in lines)
    return "Passes:\n" + "".join(f"{left:<{width}} - {right}\n" for left, right in lines)


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
