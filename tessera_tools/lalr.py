"""LALR(1) parse tables as plain data: Lark builds them, they are stored as JSON, and our parsers interpret them.

    grammar/*.lark ──Lark, strict──▶ make_table() ──▶ JSON {format, start, end, states, gotos, rules, literals, …}
                                                        └─ in the wheel, else in the user's cache folder

A table is data: reading one from a file never runs code from it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from tessera_tools import cache as caches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path  # its import takes milliseconds

    from lark import Lark, Token
    from lark.grammar import Rule as LarkRule
    from lark.parsers.lalr_analysis import ParseTableBase

__all__ = [
    "FORMAT",
    "Node",
    "Rule",
    "TableData",
    "build",
    "build_lark",
    "digest",
    "grammar_folder",
    "grammar_path",
    "load",
    "make_table",
]

FORMAT = 5
"""Version of the JSON's shape."""

_PACKAGE = os.path.dirname(os.path.realpath(__file__))
_PACKAGED = os.path.join(_PACKAGE, "_grammar")
_CHECKOUT = os.path.join(os.path.dirname(_PACKAGE), "grammar")


def grammar_path(*parts: str) -> str:
    """A path in the folder of the grammars: in the package of a wheel, or at the root of a checkout."""
    return os.path.join(_PACKAGED if os.path.isdir(_PACKAGED) else _CHECKOUT, *parts)


def grammar_folder() -> Path:
    """The folder of the grammars."""
    from pathlib import Path

    return Path(grammar_path())


Node: TypeAlias = Any
"""The value of a symbol, as its rule or terminal decides: a token, what a lexer reads, a tuple, a list of nodes."""
TableData: TypeAlias = dict[str, Any]
"""A table as JSON has it."""


class Rule:
    """One grammar rule: the symbols that are kept in the tree, and how they form the children of a node."""

    __slots__ = ("alias", "expand", "keep", "origin", "placeholders", "plain", "size")

    def __init__(
        self, origin: str, size: int, keep: list[int], alias: str | None, placeholders: list[int], expand: int
    ) -> None:
        self.origin = origin
        self.size = size
        """The number of symbols of the rule."""
        self.keep = keep
        """Positions of the symbols that are kept in the tree; -1 - i for a repetition at i, whose items are inlined."""
        self.alias = alias
        self.placeholders = placeholders
        """For each optional child, in order: 1 if this alternative omits it; it is then None."""
        self.expand = bool(expand)
        """A node with one child is replaced by that child (`?rule`)."""
        self.plain = not placeholders and all(i >= 0 for i in keep)

    def children(self, values: list[Node]) -> list[Node]:
        """The children of the rule's node, from the values of its symbols."""
        if self.plain:
            return [values[i] for i in self.keep]
        children: list[Node] = []
        if not self.placeholders:
            for i in self.keep:
                self._add(children, values, i)
            return children
        # One placeholder bit for each optional child that this alternative omits, in order.
        kept = {(~i if i < 0 else i): i for i in self.keep}
        position = 0
        for bit in self.placeholders:
            if bit:
                children.append(None)
                continue
            if position in kept:
                self._add(children, values, kept[position])
            position += 1
        return children

    @staticmethod
    def _add(children: list[Node], values: list[Node], place: int) -> None:
        if place >= 0:
            children.append(values[place])
        else:
            children += values[-1 - place]

    def repetition(self, values: list[Node]) -> list[Node]:
        """The items of Lark's rule for a repetition, `x* : x | x* x`; the list grows in place."""
        if not self.keep or self.keep[0] >= 0:
            return self.children(values)
        items: list[Node] = values[-1 - self.keep[0]]
        for i in self.keep[1:]:
            self._add(items, values, i)
        return items


def build_lark(text: str) -> Lark:
    """Lark's parser for the grammar, without a lexer. Raises lark.exceptions.GrammarError if it is not LALR(1)."""
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """A placeholder for Lark's lexer; our lexer runs with the table."""

        __future_interface__ = 2

        def __init__(self, conf: object) -> None:
            pass

        def lex(self, lexer_state: object, parser_state: object) -> Iterator[Token]:
            return iter(())

    return Lark(
        text, parser="lalr", lexer=NoLexer, strict=True, maybe_placeholders=True, keep_all_tokens=False
    )


def make_table(lark: Lark) -> TableData:
    """The table of a grammar."""
    from lark.grammar import Terminal

    parse_table = lark.parser.parser._parse_table
    rules: list[list[object]] = []
    numbers: dict[LarkRule, int] = {}
    for rule in _reduced_rules(parse_table):
        numbers[rule] = len(rules)
        keep: list[int] = []
        for i, symbol in enumerate(rule.expansion):
            if isinstance(symbol, Terminal) and symbol.filter_out:
                continue
            keep.append(i if symbol.is_term or not symbol.name.startswith("__") else -1 - i)
        origin = str(rule.origin.name)
        placeholders = [int(b) for b in rule.options.empty_indices] if rule.options.empty_indices else []
        rules.append([origin, len(rule.expansion), keep, rule.alias, placeholders, int(rule.options.expand1)])
    states: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    for number in range(len(parse_table.states)):
        row: dict[str, int] = {}
        goto: dict[str, int] = {}
        for symbol, (action, argument) in parse_table.states[number].items():
            if action.name == "Shift":
                (row if symbol.isupper() or (symbol[0] in "_$" and symbol.upper() == symbol) else goto)[
                    symbol
                ] = argument
            else:
                row[symbol] = -1 - numbers[argument]
        states.append(row)
        gotos.append(goto)
    return {
        "format": FORMAT,
        "start": parse_table.start_states["start"],
        "end": parse_table.end_states["start"],
        "states": states,
        "gotos": gotos,
        "rules": rules,
        "literals": {t.pattern.value: t.name for t in lark.terminals if t.pattern.type == "str"},
    }


def _reduced_rules(parse_table: ParseTableBase[int]) -> list[LarkRule]:
    """Every rule that some state reduces, in a fixed order."""
    rules = {
        arg for row in parse_table.states.values() for action, arg in row.values() if action.name == "Reduce"
    }
    return sorted(rules, key=lambda r: (str(r.origin.name), r.order, str(r.expansion)))


def digest(paths: Iterable[str]) -> str:
    """The key of a table: a digest of its grammars.  The versions of Lark and Python do not affect the
    table, and querying Lark's version would take longer than loading the table."""
    parts = [f"{FORMAT}".encode()]
    for path in paths:
        with open(path, "rb") as file:
            parts.append(file.read())
    return caches.digest(b"".join(parts), 16).hex()


def build(path: Path | str, table: TableData) -> None:
    """Write a table to a file, whole or not at all. Raises OSError."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(json.dumps(table, separators=(",", ":")))
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def load(name: str, key: Callable[[], str], make: Callable[[], TableData]) -> TableData:
    """The table `name`: from the wheel, otherwise from the cache by `key`, otherwise built and cached."""
    shipped = os.path.join(_PACKAGED, f"{name}.json")
    if os.path.exists(shipped):
        with open(shipped, "rb") as file:
            return json.loads(file.read())
    cache = caches.cache_folder()
    cached = os.path.join(cache, f"{name}-{key()}.json") if cache is not None else None
    if cached is not None:
        try:
            with open(cached, "rb") as file:
                table = json.loads(file.read())
            if isinstance(table, dict) and table.get("format") == FORMAT:
                return table
        except (OSError, ValueError):
            pass
    if sys.stderr.isatty():
        print("building the parser table (once per grammar) …", file=sys.stderr)
    table = make()
    if cached is not None:
        with suppress(OSError):
            build(cached, table)
    return table
