"""`tessera-translate --cudatilebc-to-mlir` and `--mlir-to-cudatilebc`: cuda_tile bytecode to text, text to bytecode.

    bytecode ──bytecode/reader──▶ module ──ir/printing──▶ text
    text ──parser──▶ module ──bytecode/writer──▶ bytecode

Bytecode input is also accepted: it is written again in the requested version.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from tessera_tools.api.inputs import is_binary, parse_input
from tessera_tools.bytecode import DEFAULT_VERSION, VERSIONS, Version, is_bytecode
from tessera_tools.cli.common import FAILED, report
from tessera_tools.cli.inspection import style_of
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Position, Sources, error, sink
from tessera_tools.emit.files import write_output
from tessera_tools.parser.source import split_input

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["Conversion"]


class Conversion:
    """One run of `tessera-translate` between text and bytecode; `until` is "mlir" or "cudatilebc"."""

    def __init__(self, options: OptionValues, until: str, sources: Sources, color: bool) -> None:
        self.options = options
        self.until = until
        self.sources = sources
        self.color = color
        given = options["bytecode_version"]
        self.version = DEFAULT_VERSION
        if given is not None:
            try:
                self.version = Version.parse(given)
            except ValueError:
                supported = f"the supported versions are [{VERSIONS[0]} - {VERSIONS[-1]}]"
                raise error(None, f"--bytecode-version: Invalid argument '{given}': {supported}") from None

    def run(self, data: bytes, name: str) -> int:
        """Convert; returns the exit status."""
        binary = is_bytecode(data)
        if self.until == "mlir" and not binary:
            raise error(
                Position(name, 1, 1),
                "this is not cuda_tile bytecode: invalid magic number; expected 7F 'TileIR' 00",
                "tessera-opt reads and prints MLIR text",
            )
        if self.until == "cudatilebc" and (self.options["output"] or "-") == "-" and sys.stdout.isatty():
            raise error(None, "refusing to write bytecode to a terminal", "specify an output file with -o")
        chunks: list[tuple[bytes, int]] = [(data, 1)]
        if not is_binary(data):
            text = data.decode("utf-8", "replace")
            self.sources.add(name, text)
            marker = self.options["split_input_file"]
            if marker:
                chunks = [(chunk.text.encode(), chunk.first_line) for chunk in split_input(text, marker)]
        outputs: list[bytes] = []
        failed = False
        for chunk, first in chunks:
            made = self._guarded(lambda c=chunk, n=first: self._convert(c, name, n), chunk, name, first)
            failed = failed or made is None
            outputs.append(made or b"")
        if failed:
            return FAILED
        if not self.options["verify_diagnostics"]:
            write_output(self.options["output"] or "-", b"".join(outputs))
        return 0

    def _guarded(self, work: Callable[[], bytes], chunk: bytes, name: str, first: int) -> bytes | None:
        """The result of `work`; None if it failed, or its diagnostics are not the expected ones."""
        which = self.options["verify_diagnostics"]
        reported: list[Diagnostic] = []
        made: bytes | None = None
        with sink(reported.append if which else lambda d: report([d], self.sources, self.color)):
            try:
                made = work()
            except DiagnosticError as failure:
                if not which:
                    report(failure.diagnostics, self.sources, self.color)
                    return None
                reported += failure.diagnostics
        if which:
            from tessera_tools.cli.expected import check

            text = "" if is_binary(chunk) else chunk.decode("utf-8", "replace")
            wrong = check(reported, name, text, first_line=first, only_expected=which == "only-expected")
            report(wrong, self.sources, self.color)
            return None if wrong else b""
        return made

    def _convert(self, data: bytes, name: str, first_line: int) -> bytes:
        from tessera_tools.bytecode import read_bytecode, write_bytecode
        from tessera_tools.ir.printing import print_op
        from tessera_tools.ir.verifier import verify_or_raise

        if is_bytecode(data):
            module = read_bytecode(data, name, keep_module=True if self.options["cuda_tile_module"] else None)
        else:
            module = parse_input(
                data, name, allow_unregistered=self.options["allow_unregistered_dialect"],
                implicit_index_constants=self.options["implicit_index_constants"], first_line=first_line,
            )  # fmt: skip
            verify_or_raise(module)
        if self.until == "cudatilebc":
            return write_bytecode(module, self.version)
        if self.options["cuda_tile_module"]:
            only = module.regions[0].block.first_op
            assert only is not None
            only.detach()
            module = only
        text = print_op(module, style=style_of(self.options))
        return text.encode("utf-8", "surrogateescape")
