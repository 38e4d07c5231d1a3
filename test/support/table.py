"""The rows of the table of what is supported: how a program of an op is made for an element type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from support.writer import Writer

Build = Callable[[Writer, str, str], None]
Ways = Sequence[str] | Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Row:
    """An op, and programs of it.

    build: (writer, element type, way) → writes the program. ways: what varies besides shapes and numbers (a rounding
    mode, the type of the result, …), for all of which a cell stands; those that the op's verifier refuses are none.
    exact: whether results are equal to the last bit, or near. elements: False where no element type makes a difference.
    """

    op: str
    build: Build
    ways: Ways = ("",)
    exact: bool = True
    elements: bool = True

    def ways_of(self, element: str) -> Sequence[str]:
        """The ways of an element type."""
        return self.ways(element) if callable(self.ways) else self.ways


ROWS: dict[str, Row] = {}


def row(op: str, build: Build, ways: Ways = ("",), *, exact: bool = True, elements: bool = True) -> None:
    """Add a row."""
    assert op not in ROWS
    ROWS[op] = Row(op, build, ways, exact, elements)


def on(op: str, ways: Ways = ("",), *, exact: bool = True, elements: bool = True) -> Callable[[Build], Build]:
    """Add a row whose programs the decorated function makes."""

    def register(build: Build) -> Build:
        row(op, build, ways, exact=exact, elements=elements)
        return build

    return register
