"""Programs as lines with the source line of each: what links the stages of a report.

module ──printed()──▶ Lines          PTX, SASS, LLVM IR ──lines_of_text()──▶ Lines
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from tessera_tools.diagnostics import HasStart
from tessera_tools.ir.attribute_aliases import with_aliases
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import Printer
from tessera_tools.records import dataclass, field

__all__ = ["Lines", "key_of", "lines_of_text", "printed", "source_lines"]


@dataclass(slots=True)
class Lines:
    """The lines of a text. `keys[n]` is the `file:line` in the source that line n comes from, or empty; `numbers[n]` is
    its number in the whole text, from 1."""

    texts: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    numbers: list[int] = field(default_factory=list[int])

    def add(self, text: str, key: str, number: int) -> None:
        """Append a line."""
        self.texts.append(text)
        self.keys.append(key)
        self.numbers.append(number)


def key_of(location: HasStart | None) -> str:
    """The `file:line` of a location; empty if it has none, as that of a module, which begins before the first line."""
    start = location.start() if location is not None else None
    return f"{start[0]}:{start[1]}" if start is not None and start[1] else ""


class _Tracing(Printer):
    """Records where each op begins in the output."""

    def __init__(self) -> None:
        super().__init__()
        self.begins: list[tuple[int, str]] = []

    def operation(self, op: Operation, *, name_results: bool = True) -> None:
        self.begins.append((len(self._out), key_of(op.location)))
        super().operation(op, name_results=name_results)


def printed(op: Operation, aliases: dict[str, str]) -> Lines:
    """The text of an op, with the source line of the op that begins on each line. `aliases` are shared by texts."""
    printer = _Tracing()
    printer.top(op)
    keys: dict[int, str] = {}
    line = at = 0
    for begin, key in printer.begins:
        line += sum(piece.count("\n") for piece in printer._out[at:begin])
        at = begin
        keys.setdefault(line, key)
    definitions, body = with_aliases("".join(printer._out), aliases)
    found = Lines()
    for text in definitions.splitlines():
        found.add(text, "", len(found.texts) + 1)
    for number, text in enumerate(body.rstrip("\n").split("\n")):
        found.add(text, keys.get(number, ""), len(found.texts) + 1)
    return found


def source_lines(text: str, name: str) -> Lines:
    """The text of the source itself."""
    found = Lines()
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        found.add(line, f"{name}:{number}", number)
    return found


_PTX_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_PTX_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+\d+")
_SASS_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_SASS_CODE = re.compile(r"^\s*(/\*[0-9a-f]+\*/)\s+(.*?)\s*$")
_DEBUG_USE = re.compile(r"!dbg !(\d+)")
_DEBUG_LINE = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+),.*?scope: !(\d+)")
_DEBUG_SCOPE = re.compile(r"^!(\d+) = (?:distinct )?!DI\w+\((?=.*\bfile: !(\d+))")
_DEBUG_FILE = re.compile(r'^!(\d+) = !DIFile\(filename: "([^"]*)"(?:, directory: "([^"]*)")?')


def lines_of_text(kind: str, text: str, names: dict[str, str] | None = None) -> Lines:
    """The lines of `ptx`, `sass` or `llvmir` with line information; directives that only give lines are left out.

    names: the name of a file as the other stages spell it, by the name in the text.
    """
    known = names or {}

    def key(file: str, line: str) -> str:
        return f"{known.get(file) or known.get(os.path.basename(file)) or file}:{line}" if int(line) else ""

    lines = text.rstrip("\n").split("\n")
    if kind == "llvmir":
        return _llvm_lines(lines, key)
    found = Lines()
    files: dict[str, str] = {}
    for line in lines:
        match = _PTX_FILE.match(line)
        if match is not None:
            files[match[1]] = match[2]
    current = ""
    chain = False
    """The line before is the place of the same SASS."""
    for number, line in enumerate(lines, 1):
        if kind == "ptx":
            match = _PTX_LOC.match(line)
            if match is not None:
                current = key(files.get(match[1], ""), match[2])
                continue
            stripped = line.strip()
            begins = line.startswith((".visible", ".entry", ".func", "}"))
            if begins:
                current = ""
            is_code = line[:1] in "\t " and stripped[:1] not in ("", ".", "/", "{", "}", "$")
            found.add(line, current if is_code else "", number)
        else:
            match = _SASS_LINE.match(line)
            if match is not None:
                # The innermost call of a chain comes first, as in PTX and in the locations of ops.
                if not chain:
                    current = key(match[1], match[2])
                chain = True
                continue
            chain = False
            if line.lstrip().startswith((".section", ".text")):
                current = ""
            code = _SASS_CODE.match(line)
            text = line.expandtabs(2) if code is None else f"  {code[1]} {code[2]}"
            found.add(text, current if code is not None else "", number)
    return found


def _llvm_lines(lines: list[str], key: Callable[[str, str], str]) -> Lines:
    files: dict[str, str] = {}
    scopes: dict[str, str] = {}
    places: dict[str, tuple[str, str]] = {}
    for line in lines:
        if not line.startswith("!"):
            continue
        if (match := _DEBUG_FILE.match(line)) is not None:
            files[match[1]] = os.path.join(match[3] or "", match[2])
        elif (match := _DEBUG_LINE.match(line)) is not None:
            places[match[1]] = (match[2], match[3])
        elif (match := _DEBUG_SCOPE.match(line)) is not None:
            scopes[match[1]] = match[2]
    found = Lines()
    for number, line in enumerate(lines, 1):
        if line.startswith("!"):
            continue
        use = _DEBUG_USE.search(line)
        place = places.get(use[1]) if use is not None and not line.startswith("define") else None
        found.add(
            line if use is None else line[: use.start()].rstrip(" ,") + line[use.end() :],
            key(files.get(scopes.get(place[1], ""), ""), place[0]) if place is not None else "",
            number,
        )
    return found
