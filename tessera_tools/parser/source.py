"""The text of one file, with positions: character offset ⇄ line and column, and errors at an offset."""

from __future__ import annotations

import codecs
from bisect import bisect_right

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Position
from tessera_tools.ir.location import FileLineColLoc
from tessera_tools.ir.resources import External
from tessera_tools.records import dataclass

SPLIT_MARKER = "// -----"
"""The line between the programs of one file, if the file is split."""


class Source:
    """A file's name and text (or a part of it, from line `first_line` on, counted from 1), and its metadata:
    the blobs (hex text, by key), and the resources of other tools."""

    __slots__ = ("_starts", "external", "file", "first_line", "resources", "text")

    def __init__(self, text: str, file: str, first_line: int = 1) -> None:
        self.text = text
        self.file = file
        self.first_line = first_line
        self.resources: dict[str, str] = {}
        self.external: External = {}
        self._starts: list[int] | None = None

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both from 1."""
        if self._starts is None:
            starts = [0]
            find, at = self.text.find, -1
            while (at := find("\n", at + 1)) >= 0:
                starts.append(at + 1)
            self._starts = starts
        line = bisect_right(self._starts, offset)
        return line + self.first_line - 1, offset - self._starts[line - 1] + 1

    def location(self, offset: int) -> FileLineColLoc:
        line, column = self.line_column(offset)
        return FileLineColLoc(self.file, line, column)

    def position(self, offset: int) -> Position:
        return Position(self.file, *self.line_column(min(offset, len(self.text))))

    def diagnostic(self, offset: int, message: str) -> Diagnostic:
        return Diagnostic("error", self.position(offset), message)

    def error(self, offset: int, message: str) -> DiagnosticError:
        """An error at a character offset: `raise source.error(offset, "…")`."""
        return DiagnosticError(self.diagnostic(offset, message))


def decode(data: bytes, file: str) -> str:
    """UTF-8 to text, without a byte order mark; an error with the position of the first bad byte."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line = before.count(b"\n") + 1
        column = problem.start - (before.rfind(b"\n") + 1) + 1
        raise DiagnosticError(
            Diagnostic(
                "error",
                Position(file, line, column),
                f"invalid UTF-8: byte 0x{data[problem.start]:02X} at offset {problem.start}; expected MLIR text",
            )
        ) from None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A separately processed part of the input; `first_line` is its first line in the file, from 1."""

    text: str
    first_line: int


def split_input(text: str, marker: str = SPLIT_MARKER) -> list[Chunk]:
    """The chunks between lines that begin with `marker`."""
    lines = text.split("\n")
    chunks: list[Chunk] = []
    start = 0
    for number, line in enumerate([*lines, marker]):
        if line.startswith(marker):
            chunks.append(Chunk("\n".join(lines[start:number]), start + 1))
            start = number + 1
    return chunks
