"""Parsing for editors: where each name is defined, and which operation each statement became, also in text with errors.

    text ──Parser, IndexingBuilder──▶ Indexed(block, errors, definitions, operations)

The parser drops the statement with an error. If it cannot continue, because braces are open at the end of the text, the
text is read again with the missing braces, so that what precedes the cursor is known while it is written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.lalr import Node
from tessera_tools.opdef.directive import Token
from tessera_tools.parser.build import Builder
from tessera_tools.parser.driver import Parser
from tessera_tools.parser.lexer import Lexeme
from tessera_tools.parser.metadata import read_metadata
from tessera_tools.parser.rules import Statement, default_table
from tessera_tools.parser.scopes import Skip
from tessera_tools.parser.source import Source
from tessera_tools.records import dataclass, field

__all__ = ["Braces", "Definition", "Expected", "Indexed", "expected_at_end", "read_indexed"]

_MARKS = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|//[^\n]*|[{}]')
_SYMBOL = re.compile(r'@(?:[A-Za-z_$.-][\w$.-]*|"(?:[^"\\\n]|\\.)*")')


class Braces:
    """The pairs of braces of a text, outside of strings and comments; an open one ends with the text."""

    def __init__(self, text: str) -> None:
        self.opens: list[int] = []
        self.closes: list[int] = []
        """The position of each closing brace, in the order of `opens`."""
        self.parents: list[int] = []
        """The index of the pair around each; -1 if there is none."""
        self.unclosed = 0
        around: list[int] = []
        for match in _MARKS.finditer(text):
            mark = match.group()
            if mark == "{":
                self.parents.append(around[-1] if around else -1)
                around.append(len(self.opens))
                self.opens.append(match.start())
                self.closes.append(len(text))
            elif mark == "}" and around:
                self.closes[around.pop()] = match.start()
        self.unclosed = len(around)
        self._end = len(text)

    def around(self, offset: int) -> tuple[int, int]:
        """The innermost pair around a position; the whole text if there is none."""
        at = bisect_right(self.opens, offset) - 1
        while at >= 0 and self.closes[at] < offset:
            at = self.parents[at]
        return (self.opens[at], self.closes[at]) if at >= 0 else (0, self._end)


@dataclass(slots=True)
class Definition:
    """The place where a name is defined; positions are character offsets."""

    kind: str
    """value, argument, block or symbol."""
    name: str
    """With its sigil."""
    start: int
    extent: tuple[int, int]
    """Where the name is visible."""
    values: Sequence[Value] = ()
    op: Operation | None = None


@dataclass(slots=True)
class Indexed:
    """What is known about a text."""

    source: Source
    braces: Braces
    block: Block
    """The top-level operations that could be read."""
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    definitions: list[Definition] = field(default_factory=list[Definition])
    operations: list[tuple[int, str, Operation | None]] = field(
        default_factory=list[tuple[int, str, Operation | None]]
    )
    """(position of the name, full name, the operation, None if it has an error), by position."""
    stopped: bool = False
    """True if the parser could not continue after an error."""


def read_indexed(
    text: str,
    file: str,
    first_line: int = 1,
    *,
    allow_unregistered: bool = False,
    implicit_index_constants: bool = False,
) -> Indexed:
    """Read a text; never raises DiagnosticError. The operations are not verified, and older spellings are kept."""
    source = Source(text, file, first_line)
    braces = Braces(text)
    errors: list[Diagnostic] = []
    statements: list[Statement] = []
    stopped = False
    try:
        read_metadata(source)
        parser = Parser(source, default_table(), allow_unregistered=allow_unregistered)
        statements = parser.parse()
        errors += parser.errors
        stopped = bool(parser.errors) and not statements
        if stopped and braces.unclosed:
            closed = Source(f"{text}\n{'}' * braces.unclosed}", file, first_line)
            statements = Parser(closed, default_table(), allow_unregistered=allow_unregistered).parse()
    except DiagnosticError as failure:
        errors += failure.diagnostics
    builder = IndexingBuilder(
        source,
        braces,
        allow_unregistered=allow_unregistered,
        implicit_index_constants=implicit_index_constants,
    )
    block = Block()
    builder.read(statements, block)
    if not stopped:
        # Otherwise they may be consequences of what is missing.
        errors += builder.errors
    errors.sort(key=lambda d: (d.location.start() if d.location else None) or ("", 0, 0))
    builder.operations.sort(key=lambda entry: entry[0])
    return Indexed(
        source,
        braces,
        block,
        errors,
        builder.definitions,
        builder.operations,
        stopped,
    )


class IndexingBuilder(Builder):
    """Builds operations, and records names."""

    def __init__(self, source: Source, braces: Braces, **options: bool) -> None:
        super().__init__(source, **options)
        self.definitions: list[Definition] = []
        self.operations: list[tuple[int, str, Operation | None]] = []
        self._braces = braces
        self._extents: list[tuple[int, int]] = [(0, len(source.text))]
        self._naming_argument = False

    def read(self, statements: list[Statement], block: Block) -> None:
        """Fill the block; the errors are in `errors`."""
        self._statements(statements, block, None)
        self.close_scope(self.scope)

    def define(self, name: str, values: list[Value], start: int, names: list[str]) -> None:
        text = self.source.text
        at = start
        if not text.startswith(name, start) or text[start + len(name) : start + len(name) + 1].isalnum():
            # Several results are defined at the position of the first.
            found = re.compile(re.escape(name) + r"(?![\w$.-])").search(text, start)
            at = found.start() if found is not None else start
        kind = "argument" if self._naming_argument else "value"
        self.definitions.append(Definition(kind, name, at, self._extents[-1], values))
        super().define(name, values, start, names)

    def _name(self, argument: Value, token: Token, names: list[str]) -> None:
        self._naming_argument = True
        try:
            super()._name(argument, token, names)
        finally:
            self._naming_argument = False

    def _statement(self, statement: Statement) -> Operation:
        try:
            op = super()._statement(statement)
        except (DiagnosticError, Skip):
            self.operations.append((statement.start, statement.name, None))
            raise
        self.operations.append((statement.start, statement.name, op))
        name = symbol_name(op)
        if name is not None:
            written = _SYMBOL.search(self.source.text, statement.start)
            if written is not None and written.group()[1:].strip('"') == name:
                self.definitions.append(
                    Definition("symbol", written.group(), written.start(), self._extents[-1], (), op)
                )
        return op

    def _region(
        self,
        node: list[Node],
        bound: Sequence[tuple[Token, Type | None]],
        isolated: bool,
        locations: Mapping[int, Location] = MappingProxyType({}),
    ) -> Region:
        starts = [
            child.start if isinstance(child, Statement) else child[0].start
            for child in node
            if isinstance(child, Statement) or child[0] is not None
        ]
        extent = self._braces.around(starts[0]) if starts else (0, 0)
        for child in node:
            if not isinstance(child, Statement) and child[0] is not None:
                label = child[0]
                self.definitions.append(Definition("block", label.text, label.start, extent))
        self._extents.append(extent)
        try:
            return super()._region(node, bound, isolated, locations)
        finally:
            self._extents.pop()


# -- what may come next


class _End(Exception):
    """The end of the text was reached."""


class _Expecting(Parser):
    """Stops at the end of the text, in the state in which it is."""

    row: dict[str, int] = MappingProxyType({})  # type: ignore[assignment]

    def next(self, row: dict[str, int]) -> Lexeme:
        if self.at_end(self.at):
            self.row = row
            raise _End
        return super().next(row)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the grammar allows at a position."""

    words: tuple[str, ...]
    """Keywords and punctuation."""
    terminals: frozenset[str]
    """Kinds of tokens: VALUE, TYPE, ATTRIBUTE, SYMBOL, CARET, RESULTS (a statement) …"""
    default: str
    """The dialect whose prefix may be omitted here; empty if there is none."""


def expected_at_end(text: str, file: str) -> Expected:
    """What the grammar allows after the text, which may have errors before."""
    table = default_table()
    parser = _Expecting(Source(text, file), table, allow_unregistered=True)
    try:
        parser.parse()
    except _End:
        pass
    except DiagnosticError:
        return Expected((), frozenset(), "")
    possible = [terminal for terminal in parser.row if parser.row[terminal] >= 0 or parser._shifts(terminal)]
    words = tuple(text for text, terminal in table.literals.items() if terminal in possible)
    return Expected(words, frozenset(possible), parser.default)
