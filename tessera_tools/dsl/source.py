"""The syntax of a Python function, with its place in its file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import TypeAlias

from tessera_tools.diagnostics import Position, error
from tessera_tools.dsl.liveness import Liveness
from tessera_tools.ir.location import FileLineColLoc
from tessera_tools.records import dataclass

__all__ = ["Placed", "Source", "read_function"]


Placed: TypeAlias = ast.stmt | ast.expr | ast.arg
"""Syntax that has a place in its file."""


@dataclass(eq=False)
class Source:
    """A function of Python: its syntax, and what its free names refer to."""

    node: ast.FunctionDef | ast.Lambda
    file: str
    first_line: int
    """How many lines of the file are before the text that was parsed."""
    indent: int
    names: Mapping[str, object]
    """The variables around the function: of the functions that it is defined in, then of its module."""
    liveness: Liveness

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"

    def location(self, node: Placed) -> FileLineColLoc:
        """Where a part of the function is."""
        line, column = node.lineno, node.col_offset
        return FileLineColLoc(self.file, line + self.first_line, self._column(line, column) + self.indent + 1)

    def _column(self, line: int, column: int) -> int:
        """The column in characters; the syntax counts bytes."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return len(text.encode()[:column].decode(errors="replace"))

    lines: tuple[str, ...] = ()

    def inner(self, node: ast.FunctionDef | ast.Lambda, names: Mapping[str, object]) -> Source:
        """A function that is defined in this one."""
        body = node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]
        return Source(node, self.file, self.first_line, self.indent, names, Liveness(body), self.lines)


def read_function(function: Callable[..., object]) -> Source:
    """The syntax of a function. Raises DiagnosticError if it has no source, as one made by `exec`."""
    node, indent, first, lines, liveness = _syntax(_Code(function.__code__))
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    return Source(node, function.__code__.co_filename, first - 1, indent, names, liveness, lines)


class _Code:
    """A code object as a key: itself only. Python compares what code computes, not its file or its annotations."""

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Code) and self.code is other.code

    def __hash__(self) -> int:
        return id(self.code)


@lru_cache(maxsize=512)
def _syntax(key: _Code) -> tuple[ast.FunctionDef, int, int, tuple[str, ...], Liveness]:
    """The syntax of a function, its indentation, its first line in the file, and its lines without indentation."""
    code = key.code
    where = Position(code.co_filename, code.co_firstlineno, 1)
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        hint = "define the function in a file or in a notebook"
        raise error(where, f"the source of '{code.co_name}' cannot be read", hint) from None
    plain = textwrap.dedent("".join(lines))
    try:
        tree = ast.parse(plain)
    except SyntaxError as failure:
        raise error(where, f"the source of '{code.co_name}' cannot be parsed: {failure.msg}") from None
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if found is None:
        raise error(where, f"'{code.co_name}' is not defined by a 'def' statement")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return found, indent, max(first, 1), tuple(plain.split("\n")), Liveness(found.body)
