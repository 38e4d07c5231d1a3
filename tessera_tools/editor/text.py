"""Positions in a text: character offset ⇄ line and column of the protocol.

Lines count from 0 and end with LF, CRLF or CR. Columns count from 0, by default in UTF-16 code units.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

__all__ = ["Json", "Refused", "Text"]

Json = dict[str, Any]
"""An object of the protocol."""


class Refused(Exception):
    """A request that is refused, with the reason for the user."""


_LINE = re.compile(r"\r\n|\n|\r")


class Text:
    """A text with its lines.

    >>> text = Text("a\\n😀b")
    >>> text.position(3), text.offset({"line": 1, "character": 2})
    ({'line': 1, 'character': 2}, 3)
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE.finditer(text))]
        self._ascii = text.isascii() or encoding == "utf-32"
        self._unit = {"utf-8": _utf8, "utf-16": _utf16}.get(encoding, _one)

    def position(self, offset: int) -> Json:
        """The line and column of a character."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        column = offset - start if self._ascii else sum(map(self._unit, self.text[start:offset]))
        return {"line": line, "character": column}

    def offset(self, position: Json) -> int:
        """The character at a position; the nearest one if there is none."""
        line, column = position["line"], max(position["character"], 0)
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        at, end = self._starts[line], self.end_of_line(line)
        if self._ascii:
            return min(at + column, end)
        while at < end and column > 0:
            column -= self._unit(self.text[at])
            at += 1
        # A column inside of a character is that character.
        return at - 1 if column < 0 else at

    def end_of_line(self, line: int) -> int:
        """The offset of the line's end, before the characters that end it."""
        if line + 1 >= len(self._starts):
            return len(self.text)
        end = self._starts[line + 1]
        while end > self._starts[line] and self.text[end - 1] in "\r\n":
            end -= 1
        return end

    def line_of(self, offset: int) -> int:
        """The line of a character, from 0."""
        return bisect_right(self._starts, offset) - 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        return self.text[self._starts[number] : self.end_of_line(number)]

    def start_of_line(self, number: int) -> int:
        """The offset of a line."""
        return self._starts[number]

    @property
    def lines(self) -> int:
        """The number of lines, at least one."""
        return len(self._starts)

    def range(self, start: int, end: int) -> Json:
        """The range of the characters from `start` to `end`."""
        return {"start": self.position(start), "end": self.position(end)}

    def units(self, start: int, end: int) -> int:
        """The width of a range within a line, in columns."""
        return end - start if self._ascii else sum(map(self._unit, self.text[start:end]))


def _one(char: str) -> int:
    return 1


def _utf8(char: str) -> int:
    return len(char.encode("utf-8", "surrogatepass"))


def _utf16(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1
