"""Code with one change: which functions it changes, and how a process that has loaded them takes the change over.

A module's text compiles to a tree of code objects. Two texts that differ in one expression have trees of one form, so
each loaded function gets its changed code by its place in the tree:

    text ──compile──▶ codes ─┐
                             ├─ pairs that differ ──▶ function.__code__ of every function that has the first
    changed ─compile─▶ codes ┘

This module has no imports of the project: a test process loads it before the sources.
"""

from __future__ import annotations

import ast
import gc
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType

HIT = "_mutation_hit"
"""The name of the built-in function that a marked statement calls."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    number: int
    path: str
    """The file, relative to the checkout."""
    line: int
    operator: str
    code: str
    """The text of the whole file with the change."""


def codes_of(text: str | ast.Module, path: str) -> list[CodeType]:
    """The code objects of a file in a fixed order: that of the module, then each with those inside it."""
    return _codes(compile(text, path, "exec", dont_inherit=True))


def _codes(code: CodeType) -> list[CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += _codes(constant)
    return found


def changed_codes(before: str, after: str, path: str) -> dict[CodeType, CodeType]:
    """Code of a function → what it is after the change.

    Empty if no function has changed, or if the change is not within functions alone: one of a constant of a module, of
    a default, of the body of a class, or one that makes or removes a function.
    """
    old, new = codes_of(before, path), codes_of(after, path)
    if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
        return {}
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    for a, b in pairs:
        if not a.co_flags & inspect.CO_OPTIMIZED and _own(a) != _own(b):
            return {}
    functions = [(a, b) for a, b in pairs if a.co_flags & inspect.CO_OPTIMIZED]
    if any(len(a.co_freevars) != len(b.co_freevars) for a, b in functions):
        return {}
    return dict(functions)


def _own(code: CodeType) -> tuple[object, ...]:
    """What a code object does itself, without the code inside it."""
    return code.co_code, code.co_names, [c for c in code.co_consts if not isinstance(c, CodeType)]


def loaded_functions(paths: Iterable[str]) -> dict[str, list[FunctionType]]:
    """The loaded functions of each of these files (their absolute names)."""
    wanted = set(paths)
    gc.unfreeze()
    found: dict[str, list[FunctionType]] = {}
    for value in gc.get_objects():
        if type(value) is FunctionType and value.__code__.co_filename in wanted:
            found.setdefault(value.__code__.co_filename, []).append(value)
    return found


def take_over(functions: Iterable[FunctionType], changes: Mapping[CodeType, CodeType]) -> int:
    """Give each function its changed code; how many have got one."""
    count = 0
    for function in functions:
        changed = changes.get(function.__code__)
        if changed is not None:
            function.__code__ = changed
            count += 1
    return count


# -- marks: which test executes which line


def marked(text: str, lines: Mapping[int, Iterable[int]]) -> ast.Module:
    """The tree of a text, in which the innermost statement or lambda at each line first calls HIT with the line's
    numbers."""
    return ast.fix_missing_locations(_Marker(lines).visit(ast.parse(text)))


class _Marker(ast.NodeTransformer):
    """Puts calls of HIT before statements."""

    def __init__(self, lines: Mapping[int, Iterable[int]]) -> None:
        self.left = {line: tuple(numbers) for line, numbers in lines.items()}

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """The body of a lambda becomes `HIT(…) or body`."""
        self.generic_visit(node)
        numbers = self._take(node.body.lineno, node.body.end_lineno)
        if numbers:
            node.body = ast.BoolOp(ast.Or(), [_call(numbers, node.body), node.body])
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Mark the statements of each list of statements, the innermost first."""
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                setattr(node, name, [inner for statement in body for inner in self._marked(statement)])
        return node

    def _marked(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return [statement]
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            return [statement]
        numbers = self._take(statement.lineno, statement.end_lineno)
        return (
            [ast.copy_location(ast.Expr(_call(numbers, statement)), statement), statement]
            if numbers
            else [statement]
        )

    def _take(self, first: int, last: int | None) -> list[int]:
        return [n for line in range(first, (last or first) + 1) for n in self.left.pop(line, ())]


def _call(numbers: list[int], at: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(HIT, ast.Load()), [ast.Constant(n) for n in numbers], [])
    return ast.copy_location(call, at)
