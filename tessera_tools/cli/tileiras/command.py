"""The command `tessera-tileiras`: its options, its exit codes, and one compilation.

    bytecode ──emit/driver.py──▶ cubin, with exactly the declared parameters (`--abi=plain`)

Exit codes as tileiras 13.5 has them: 1 for the command line and an unreadable input, 2 for options that do not fit
together and an unwritable output, 3 for an input that is not bytecode and unwritable remarks, 5 for a program that
does not compile.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tessera_tools.bytecode.version import VERSIONS, is_bytecode
from tessera_tools.cli import common
from tessera_tools.cli.command_line import entry_points
from tessera_tools.cli.common import with_deep_stack, write_stderr
from tessera_tools.cli.tileiras import remarks as formats
from tessera_tools.cli.tileiras.arguments import Option, Parsed, Syntax
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Remark, sink, visible
from tessera_tools.target import lookup

if TYPE_CHECKING:
    from tessera_tools.emit.compiled import Compiled, Options

__all__ = ["SYNTAX", "main", "run"]

BAD_COMMAND, BAD_OPTIONS, NOT_BYTECODE, NOT_COMPILED = 1, 2, 3, 5
BAD_REMARKS = 3

_TARGETS = {
    "sm_80": "sm_80",
    "sm_86": "sm_86",
    "sm_87": "sm_87",
    "sm_88": "sm_88",
    "sm_89": "sm_89",
    "sm_90": "sm_90a",
    "sm_100": "sm_100a",
    "sm_103": "sm_103a",
    "sm_107": "sm_107a",
    "sm_110": "sm_110a",
    "sm_120": "sm_120a",
    "sm_121": "sm_121a",
}
"""What tileiras calls a GPU → the target whose code it emits: it uses wgmma and tcgen05, which need the suffix."""

_GENERAL = "Generic Options"
_ASSEMBLER = "TileIR Assembler Options"
_REMARKS = "TileIR Assembler Remark Options"
_CATEGORIES = {
    "none": "No remarks",
    "all": "Remarks of all categories",
    "memory": "Remarks about memory",
    "tensorcore": "Remarks about tensor cores",
}


def _remark_option(kind: str) -> Option:
    name, what = (f"remarks-{kind}", f"{kind} ") if kind else ("remarks", "")
    text = f"Emit {what}remarks of a category"
    return Option(name, text, "value", _CATEGORIES, group=_REMARKS)


SYNTAX = Syntax(
    "tessera-tileiras",
    "tessera-tileiras: Tessera tools, with the command line of tileiras",
    (
        Option("help", "Show the options", aliases=("h", "help-hidden"), group=_GENERAL, ends=True, bare=True),
        Option(
            "help-list", "Show the options", aliases=("help-list-hidden",), group=_GENERAL, ends=True, bare=True
        ),
        Option("print-options", "No effect", aliases=("print-all-options",), group=_GENERAL),
        Option("version", "Show the version", group=_GENERAL, ends=True, bare=True),
        Option("apply-controls", "Not supported", "path", group=_ASSEMBLER),
        Option(
            "device-debug", "Emit debug information; requires -O0", aliases=("g",), group=_ASSEMBLER
        ),
        Option(
            "gpu-name",
            "The GPU to compile for",
            "value",
            {name: f"emits code for {target}" for name, target in _TARGETS.items()},
            ("arch",),
            group=_ASSEMBLER,
        ),
        Option(
            "host-arch", "No effect: the cubin contains no host code", "value",
            {"x86_64": "x86_64", "aarch64": "aarch64"}, group=_ASSEMBLER,
        ),
        Option(
            "host-os", "No effect: the cubin contains no host code", "value",
            {"linux": "linux", "windows": "windows"}, group=_ASSEMBLER,
        ),
        Option("l", "Not supported", "path", group=_ASSEMBLER, repeated=True),
        Option("lineinfo", "Emit line information", group=_ASSEMBLER),
        Option("list-versions", "List the supported bytecode versions and exit", group=_ASSEMBLER, ends=True),
        Option("output-file", "The cubin to write (default: elf.o)", "file", aliases=("o",), group=_ASSEMBLER),
        Option(
            "opt-level", "Optimization level, 0 to 3 (default: 3)", "N", aliases=("O",), prefix=True, integer=True,
            group=_ASSEMBLER,
        ),
        Option(
            "preview", "Not supported", "feature[,feature...]", features=("simt",), group=_ASSEMBLER, repeated=True
        ),
        Option("sanitize", "Not supported", "value", {"memcheck": "memcheck"}, group=_ASSEMBLER),
        Option(
            "remark-format", "How to write remarks", "value",
            {"command-line": "to stdout, for people", "yaml": "to a file, as YAML"}, group=_REMARKS,
        ),
        _remark_option(""),
        *map(_remark_option, formats.KINDS),
        Option(
            "remarks-output-file", "The YAML file (default: tileir_remarks.yaml)", "file", group=_REMARKS
        ),
    ),
)  # fmt: skip

_UNSUPPORTED = {
    "apply-controls": "--apply-controls is not supported: libNVVM is not used",
    "preview": "--preview is not supported: the preview feature 'simt' is missing",
    "sanitize": "--sanitize is not supported: tessera-run checks memory accesses on the simulated GPU",
}


class Failure(Exception):
    """Ends the command with a status and errors."""

    def __init__(self, status: int, *messages: str) -> None:
        self.status = status
        self._messages = messages

    def text(self) -> str:
        return "".join(f"error: {visible(message)}\n" for message in self._messages)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    parsed = SYNTAX.parse(argv)
    show_mistakes("tileiras", parsed)
    if parsed.asked:
        sys.stdout.write(_answer(parsed.asked))
        return 0
    if parsed.mistakes:
        return BAD_COMMAND
    if parsed.path is None:
        sys.stdout.write(SYNTAX.help())
        write_stderr("error: no input file provided\n")
        return BAD_COMMAND
    given, path = parsed.values, parsed.path
    last = {name: values[-1] for name, values in given.items()}
    try:
        return with_deep_stack(lambda: _compile(path, last))
    except Failure as failure:
        write_stderr(failure.text())
        return failure.status


def _answer(asked: str) -> str:
    if asked == "version":
        return version_text()
    if asked == "list-versions":
        return "".join(f"{version}\n" for version in VERSIONS)
    return SYNTAX.help()


def show_mistakes(program: str, parsed: Parsed) -> None:
    """Prints what is wrong with a command line, as LLVM does."""
    write_stderr("".join(f"{program}: {visible(mistake)}\n" for mistake in parsed.mistakes))


def version_text() -> str:
    """What `--version` prints. It changes whenever the output may: cuTile keys its cache by it."""
    from tessera_tools import __version__
    from tessera_tools.emit.compile_cache import own_identity

    build = hashlib.sha256("".join(own_identity()).encode()).hexdigest()[:16]
    return (
        "tessera-tileiras: Tessera tools\n"
        f"Cuda compilation tools, release {VERSIONS[-1]}, command line of tileiras {VERSIONS[-1]}\n"
        f"Tessera tools {__version__}, build {build}\n"
    )


def _compile(path: str, given: Mapping[str, str]) -> int:
    from tessera_tools.emit.compile_cache import Entry, key_of, once
    from tessera_tools.emit.compiled import Options
    from tessera_tools.emit.files import write_output

    data = read_bytes(path)
    if not is_bytecode(data):
        raise Failure(NOT_BYTECODE, "input does not correspond to Tile IR bytecode")
    if "l" in given and "preview" not in given:
        raise Failure(NOT_COMPILED, "libraries require the 'simt' preview feature")
    for name, message in _UNSUPPORTED.items():
        if name in given:
            raise Failure(BAD_OPTIONS, message)
    level = int(given.get("opt-level", "3"))
    if not 0 <= level <= 3:
        raise Failure(BAD_OPTIONS, f"invalid optimization level: {level}")
    debug = bool(given.get("device-debug"))
    if debug and level:
        raise Failure(
            BAD_OPTIONS,
            "optimized debugging is currently not supported, change the optimization level to 0 or disable "
            "full debug info",
        )
    if "gpu-name" not in given:
        raise Failure(BAD_OPTIONS, f"no GPU architecture; expected --gpu-name, one of {', '.join(_TARGETS)}")
    for name in ("host-arch", "host-os"):
        if name in given:
            write_stderr(f"warning: --{name} has no effect: the cubin contains no host code\n")
    wanted = _wanted(given)
    options = Options(
        lookup(_TARGETS[given["gpu-name"]]),
        "cubin",
        level=level,
        lineinfo=bool(given.get("lineinfo")),
        debug_info=debug,
        verify_each=None,
        plain_abi=True,
        explains=any(category != "none" for category in wanted.values()),
    )
    found: list[Remark] = []

    def show(diagnostic: Diagnostic) -> None:
        if isinstance(diagnostic, Remark):
            found.append(diagnostic)
        else:
            write_stderr(located(diagnostic))

    with sink(show):
        try:
            key = key_of(data, path, options, options.target)
            compiled = once(key, path, lambda: Entry(_compiled(path, data, options))).compiled
        except DiagnosticError as failure:
            write_stderr("".join(map(located, failure.diagnostics)))
            raise Failure(NOT_COMPILED, "failed to compile Tile IR program") from None
    for warning in compiled.warnings:
        write_stderr(f"warning: {visible(warning)}\n")
    if options.explains:
        _write_remarks(formats.select(found, wanted), given)
    output = given.get("output-file", "elf.o")
    if not output:
        raise Failure(BAD_OPTIONS, "the name of the output file is empty")
    try:
        write_output(output, compiled.stages["cubin"])
    except DiagnosticError as failure:
        raise Failure(BAD_OPTIONS, failure.diagnostics[0].message) from None
    return 0


def _compiled(path: str, data: bytes, options: Options) -> Compiled:
    from tessera_tools.api.inputs import parse_input
    from tessera_tools.emit.driver import compile_module
    from tessera_tools.emit.worker import Worker

    worker = Worker.start(time_limit=options.llvm_timeout)
    try:
        try:
            module = parse_input(data, path)
        except DiagnosticError as failure:
            write_stderr("".join(map(located, failure.diagnostics)))
            raise Failure(NOT_BYTECODE, "input does not correspond to Tile IR bytecode") from None
        return compile_module(module, options, worker=worker)
    finally:
        worker.close()


def read_bytes(path: str) -> bytes:
    """The input. Raises Failure if it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(common.LARGEST_INPUT + 1)
    except OSError as failure:
        raise Failure(BAD_COMMAND, f"unable to read input file '{path}': {failure.strerror}") from None
    if len(data) > common.LARGEST_INPUT:
        most = f"at most {common.LARGEST_INPUT >> 20:,} MiB are supported"
        raise Failure(BAD_COMMAND, f"unable to read input file '{path}': it is too large; {most}")
    return data


def _wanted(given: Mapping[str, str]) -> dict[str, str]:
    """Kind of remark → the category that is wanted."""
    general = given.get("remarks", "none")
    return {kind: given.get(f"remarks-{kind}", general) for kind in formats.KINDS}


def _write_remarks(remarks: list[Remark], given: Mapping[str, str]) -> None:
    from tessera_tools.emit.files import write_output

    if given.get("remark-format") == "yaml":
        path = given.get("remarks-output-file") or "tileir_remarks.yaml"
        try:
            write_output(path, formats.as_yaml(remarks))
        except DiagnosticError as failure:
            raise Failure(
                BAD_REMARKS, failure.diagnostics[0].message, "failed to enable optimization remarks"
            ) from None
    else:
        sys.stdout.write(formats.as_blocks(remarks))
        sys.stdout.flush()


def located(diagnostic: Diagnostic) -> str:
    """A diagnostic as MLIR prints one without its source: `loc("gemm.py":12:4): error: …`, which cuTile parses."""
    lines: list[str] = []
    for one in (diagnostic, *diagnostic.notes):
        place = one.location.start() if one.location is not None else None
        text = f"{one.severity}: {visible(one.message)}\n"
        if place is not None:
            text = f"loc({json.dumps(place[0], ensure_ascii=False)}:{place[1]}:{place[2]}): {text}"
        lines.append(text)
    return "".join(lines)


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
