"""The text of a layout between the braces of an MLIR attribute.

    #linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [1, 0]], warp = [], block = []}>

By default, output dimensions are `dim0`, `dim1`, … and as large as the bases require. If a layout does not cover its
whole tile or has other output names, its text has one more entry, `outs = {offset = 128}`.
"""

from __future__ import annotations

import re

from tessera_tools.layout.linear import Basis, LayoutError, LinearLayout

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<mark>[\[\]{}<>,=]))")
_OUTS = "outs"


def _inferred_outs(bases: dict[str, list[Basis]], rank: int) -> dict[str, int]:
    outs: dict[str, int] = {}
    for axis in range(rank):
        largest = max((basis[axis] for vectors in bases.values() for basis in vectors), default=0)
        outs[f"dim{axis}"] = 1 << largest.bit_length()
    return outs


def to_text(layout: LinearLayout) -> str:
    """Returns the text of a layout, such as `register = [[0, 1]], lane = [[1, 0]]`. `from_text(to_text(a)) == a`."""
    bases = {name: list(vectors) for name, vectors in layout.bases.items()}
    entries = [f"{name} = [{', '.join(str(list(b)) for b in vectors)}]" for name, vectors in bases.items()]
    rank = max((len(basis) for vectors in bases.values() for basis in vectors), default=0)
    if tuple(_inferred_outs(bases, rank).items()) != layout.outs:
        entries.append(f"{_OUTS} = {{{', '.join(f'{name} = {size}' for name, size in layout.outs)}}}")
    return ", ".join(entries)


def from_text(text: str) -> LinearLayout:
    """Parses a layout. Raises `LayoutError` with the column of the error, counted from 1."""
    return _Reader(text).layout("end")


def from_braces(text: str, start: int, marks: str) -> LinearLayout:
    """Parses a layout in `marks`, such as `<{…}>` or `{…}`, which is the rest of `text` from `start` on.

    Raises `LayoutError` with the column of the error in `text`, counted from 1.
    """
    reader = _Reader(text, start)
    opening, closing = marks.split("…")
    for mark in opening:
        reader.expect(mark)
    found = reader.layout(closing[0])
    for mark in closing:
        reader.expect(mark)
    reader.expect("end")
    return found


class _Reader:
    def __init__(self, text: str, start: int = 0) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        position = start
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                start = len(text) - len(text[position:].lstrip())
                raise LayoutError(
                    f"column {start + 1}: found '{text[start]}', expected a name, a number or []{{}}<>,="
                )
            kind = match.lastgroup or ""
            self._tokens.append((kind, match[kind], match.start(kind) + 1))
            position = match.end()
        self._at = 0

    def expect(self, want: str) -> str:
        """Reads one token: a mark, a `name`, a `number` or the `end`. Raises LayoutError for another one."""
        kind, value, column = ("end", "the end", len(self._text.rstrip()) + 1)
        if self._at < len(self._tokens):
            kind, value, column = self._tokens[self._at]
        if want not in (kind, value):
            named = {"number": "a number", "name": "a name", "end": "the end"}
            expected = named.get(want, f"'{want}'")
            found = value if kind == "end" else f"'{value}'"
            raise LayoutError(f"column {column}: found {found}, expected {expected} in a layout")
        self._at += 1
        return value

    def _peek(self, mark: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][1] == mark

    def _numbers(self) -> Basis:
        self.expect("[")
        numbers: list[int] = []
        while not self._peek("]"):
            if numbers:
                self.expect(",")
            numbers.append(int(self.expect("number")))
        self.expect("]")
        return tuple(numbers)

    def _vectors(self) -> list[Basis]:
        self.expect("[")
        vectors: list[Basis] = []
        while not self._peek("]"):
            if vectors:
                self.expect(",")
            vectors.append(self._numbers())
        self.expect("]")
        return vectors

    def _sizes(self) -> dict[str, int]:
        self.expect("{")
        sizes: dict[str, int] = {}
        while not self._peek("}"):
            if sizes:
                self.expect(",")
            name = self.expect("name")
            self.expect("=")
            sizes[name] = int(self.expect("number"))
        self.expect("}")
        return sizes

    def layout(self, end: str) -> LinearLayout:
        """Reads the entries before the mark `end`, or before the end of the text."""
        bases: dict[str, list[Basis]] = {}
        outs: dict[str, int] | None = None
        while not (self._at == len(self._tokens) if end == "end" else self._peek(end)):
            if bases or outs is not None:
                self.expect(",")
            name = self.expect("name")
            self.expect("=")
            if name == _OUTS:
                outs = self._sizes()
                continue
            if name in bases:
                raise LayoutError(f"input dimension '{name}' is given twice in a layout")
            bases[name] = self._vectors()
        ranks = {len(basis) for vectors in bases.values() for basis in vectors}
        if outs is None:
            if len(ranks) > 1:
                raise LayoutError(
                    f"bases of {' and '.join(map(str, sorted(ranks)))} components in one layout"
                )
            outs = _inferred_outs(bases, max(ranks, default=0))
        return LinearLayout(bases, outs)
