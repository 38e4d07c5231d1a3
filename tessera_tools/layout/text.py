"""The text of a layout between the braces of an MLIR attribute.

    #linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [1, 0]], warp = [], block = []}>

By default, output dimensions are `dim0`, `dim1`, … and as large as the bases require. If a layout does not cover its
whole tile or has other output names, its text has one more entry, `outs = {offset = 128}`.
"""

from __future__ import annotations

import re

from tessera_tools.layout.linear import Basis, LayoutError, LinearLayout

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<mark>[\[\]{},=]))")
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
    return _Reader(text).layout()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                start = position + len(text[position:]) - len(text[position:].lstrip())
                raise LayoutError(
                    f"column {start + 1}: found '{text[start]}', expected a name, a number or []{{}},="
                )
            kind = match.lastgroup or ""
            self._tokens.append((kind, match[kind], match.start(kind) + 1))
            position = match.end()
        self._at = 0

    def _next(self, want: str) -> str:
        kind, value, column = ("end", "the end", len(self._text) + 1)
        if self._at < len(self._tokens):
            kind, value, column = self._tokens[self._at]
        if want not in (kind, value):
            expected = f"a {want}" if want in ("number", "name") else f"'{want}'"
            found = value if kind == "end" else f"'{value}'"
            raise LayoutError(f"column {column}: found {found}, expected {expected} in a layout")
        self._at += 1
        return value

    def _peek(self, mark: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][1] == mark

    def _numbers(self) -> Basis:
        self._next("[")
        numbers: list[int] = []
        while not self._peek("]"):
            if numbers:
                self._next(",")
            numbers.append(int(self._next("number")))
        self._next("]")
        return tuple(numbers)

    def _vectors(self) -> list[Basis]:
        self._next("[")
        vectors: list[Basis] = []
        while not self._peek("]"):
            if vectors:
                self._next(",")
            vectors.append(self._numbers())
        self._next("]")
        return vectors

    def _sizes(self) -> dict[str, int]:
        self._next("{")
        sizes: dict[str, int] = {}
        while not self._peek("}"):
            if sizes:
                self._next(",")
            name = self._next("name")
            self._next("=")
            sizes[name] = int(self._next("number"))
        self._next("}")
        return sizes

    def layout(self) -> LinearLayout:
        bases: dict[str, list[Basis]] = {}
        outs: dict[str, int] | None = None
        while self._at < len(self._tokens):
            if bases or outs is not None:
                self._next(",")
            name = self._next("name")
            self._next("=")
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
