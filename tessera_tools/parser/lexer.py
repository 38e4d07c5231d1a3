"""The lexer: produces the next token according to the parser's state.

    source text ──Lexer.next(row)──▶ (terminal, value)

A type, an attribute, an attribute dictionary and a location are one token each, read by the scanner.  An op in the
common form of its format (`quick.py`) is also one token: `$OP`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from tessera_tools.diagnostics import DiagnosticError, closest
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.lalr import Node
from tessera_tools.opdef.directive import Token
from tessera_tools.parser.aliases import Aliases
from tessera_tools.parser.lexical import MAX_DIGITS, MAX_NESTING
from tessera_tools.parser.metadata import METADATA
from tessera_tools.parser.quick import QuickForms
from tessera_tools.parser.rules import Table
from tessera_tools.parser.scanner import Scanner
from tessera_tools.parser.source import Source
from tessera_tools.parser.types import WORD_TYPES

_TOKEN = re.compile(
    r"(?:[ \t\r\n\0]++|//[^\n]*+)*+(?:"  # white space and comments; possessive, or a failure takes exponential time
    r"(%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:\#[0-9]+)?)"  # 1 value
    r"|([A-Za-z_][\w$.]*)"  # 2 word
    r"|(-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?))"  # 3 number
    r'|("[^"\\\n]*+(?:\\.[^"\\\n]*+)*+")'  # 4 string
    r"|(\^[\w$.-]+)"  # 5 block name
    r"|(@)"  # 6 symbol
    r"|([!#])"  # 7 dialect type or attribute
    r"|(->|::|[^\s\w])"  # 8 punctuation
    r"|(\Z))"  # 9 end of file
)
_RESULTS = re.compile(
    r"%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:[ \t]*:[ \t]*[0-9]+)?"
    r"(?:\s*,\s*%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:[ \t]*:[ \t]*[0-9]+)?)*\s*=(?!=)"
)
_GENERIC_HEAD = re.compile(r"\s*\(")
_FIRST_KEY = re.compile(r'\{\s*([A-Za-z_][\w.$]*|"[^"\n]*")\s*(=(?!=)|,|\})')
_ALIAS = re.compile(r"[#!][A-Za-z_$][\w$]*[ \t]*=(?!=)")
_PLAIN_COMPOSITE = re.compile(r'[a-z_]\w*<[^<>"]*(?:<[^<>"]*>[^<>"]*)*>(?!>)')


Lexeme: TypeAlias = tuple[str, Node]
"""A terminal with its value."""


class Lexer:
    """Produces the tokens of one source; tracks open regions."""

    def __init__(self, source: Source, table: Table, *, allow_unregistered: bool = False) -> None:
        self.source = source
        self.text = source.text
        self.table = table
        self.aliases = Aliases(source, allow_unregistered)
        self.scanner = Scanner(source, aliases=self.aliases, allow_unregistered=allow_unregistered)
        self.allow_unregistered = allow_unregistered
        self.at = 0
        """The position of the next token."""
        self.token_start = 0
        self.defaults: list[tuple[str, int]] = []
        """For each open region: the dialect whose prefix may be omitted, and the height of the parser's stack when its
        brace is shifted."""
        self.default = ""
        """The default dialect of the innermost region."""
        self.pending = ""
        """The default dialect of the regions of the current op."""
        self.stack: list[int] = []
        """The parser's states."""
        self._types: dict[str, Type] = {}
        self._quick = QuickForms(self.text, self._types)

    def next(self, row: dict[str, int]) -> Lexeme:
        """The next token as (terminal, value), for a state with the actions `row`."""
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            at = self.token_start = self._skip()
            raise self.source.error(at, f"unexpected character {self.text[at]!r}")
        kind = match.lastindex
        assert kind is not None
        at = self.token_start = match.start(kind)
        if kind == 1:
            if "RESULTS" in row and (results := _RESULTS.match(self.text, at)) is not None:
                self.at = results.end()
                return "RESULTS", Token(results.group(), at)
            if "VALUE" in row:
                self.at = match.end()
                return "VALUE", Token(match.group(1), at)
        elif kind == 2:
            return self._word(row, match.group(2), at)
        elif kind == 8:
            return self._punctuation(row, match.group(8), at)
        elif kind == 4:
            return self._string(row, match.group(4), at)
        elif kind == 9:
            self.at = at
            return "$END", None
        elif kind == 3:
            for terminal in ("INTEGER", "FLOAT"):
                if (terminal == "FLOAT" or "." not in match.group(3)) and self._takes(row, terminal):
                    self.at = match.end()
                    if self.at - at > MAX_DIGITS:
                        raise self.source.error(at, f"number is too long (limit {MAX_DIGITS} digits)")
                    return terminal, Token(match.group(3), at)
        elif kind == 5:
            for terminal in ("CARET", "LABEL"):
                if terminal in row:
                    self.at = match.end()
                    return terminal, Token(match.group(5), at)
        elif kind == 6:
            if self._takes(row, "SYMBOL"):
                terminal, symbol = self._scan("SYMBOL", at, self.scanner.symbol)
                return terminal, ((symbol.root, *symbol.nested), at)
        elif match.group(7) == "!" and self._takes(row, "TYPE"):
            return self._scan("TYPE", at, self.scanner.type)
        if kind in _MAY_START_ATTRIBUTE and "ATTRIBUTE" in row:
            return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        if kind == 7 and "RESULTS" in row and _ALIAS.match(self.text, at):
            return self._alias(row, at)
        raise self.unexpected(row, at)

    def at_end(self, at: int) -> bool:
        """True if only white space and comments follow `at`."""
        self.scanner.at = at
        return self.scanner.skip() == len(self.text)

    def _skip(self) -> int:
        """The position of the next character outside white space and comments."""
        self.scanner.at = self.at
        return self.scanner.skip()

    def _scan(self, terminal: str, at: int, read: Callable[[], Node]) -> Lexeme:
        scanner = self.scanner
        scanner.at = at
        scanner.depth = 0
        value = read()
        self.at = scanner.at
        return terminal, value

    # -- strings and words

    def _string(self, row: dict[str, int], literal: str, at: int) -> Lexeme:
        end = at + len(literal)
        if "RESULTS" in row and _GENERIC_HEAD.match(self.text, end):
            self.at = at
            return "RESULTS", None
        if self._takes(row, "STRING"):
            self.at = end
            return "STRING", Token(self.scanner.unescape(literal[1:-1], at), at)
        if "ATTRIBUTE" in row:
            return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        if "GENERIC" in row:
            self.at = end
            name = self.scanner.unescape(literal[1:-1], at)
            self.pending = self.table.defaults.get(name, self.default)
            return "GENERIC", Token(name, at)
        if "RESULTS" in row:
            self.at = at
            return "RESULTS", None
        raise self.unexpected(row, at)

    def _word(self, row: dict[str, int], word: str, at: int) -> Lexeme:
        literal = self.table.literals.get(word)
        if literal is not None and literal in row and (row[literal] >= 0 or self._shifts(literal)):
            self.at = at + len(word)
            return literal, word
        if self._takes(row, "TYPE"):
            known = WORD_TYPES.get(word)
            end = at + len(word)
            if known is not None and self.text[end : end + 1] != "<":
                self.at = end
                return "TYPE", known
            scanned = self._optional_type(at)
            if scanned is not None:
                return scanned
        dot = word.partition(".")[0]
        head = self.table.literals.get(dot)
        if head is not None and head in row and dot != word:
            self.at = at + len(dot)
            return head, dot
        if "LOC" in row and word == "loc":
            return self._scan("LOC", at, self.scanner.location)
        if "KEYWORD" in row and ("RESULTS" not in row or self._shifts("KEYWORD")):
            self.at = at + len(word)
            return "KEYWORD", Token(word, at)
        if "ATTRIBUTE" in row and not ("RESULTS" in row and self.names_op(word)):
            return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        if "RESULTS" in row:
            self.at = at
            return "RESULTS", None
        if "GENERIC" in row:
            return self._op_head(word, at)
        raise self.unexpected(row, at)

    def _takes(self, row: dict[str, int], terminal: str) -> bool:
        """True if the state accepts the terminal; checked completely if an attribute with the same text is also
        possible."""
        return terminal in row and (row[terminal] >= 0 or "ATTRIBUTE" not in row or self._shifts(terminal))

    def _shifts(self, terminal: str) -> bool:
        """True if the terminal can follow: an LALR state merges contexts, so its row may allow more."""
        return self._height_at(terminal) is not None

    def _height_at(self, terminal: str) -> int | None:
        """The height of the stack when the terminal is shifted, after the reductions before it; None if it cannot
        follow."""
        table, stack = self.table, list(self.stack)
        while True:
            action = table.states[stack[-1]].get(terminal)
            if action is None or action >= 0:
                return None if action is None else len(stack)
            rule = table.rules[-1 - action]
            if rule.size:
                del stack[-rule.size :]
            stack.append(table.gotos[stack[-1]][rule.origin])

    def names_op(self, word: str) -> bool:
        """True if a word starts a statement.  After an optional dictionary, the table allows tokens of any format,
        including attributes, because LALR tables merge the states of all formats."""
        return "." in word or any(name in self.table.ops for name in self._full_names(word))

    def _full_names(self, word: str) -> tuple[str, ...]:
        """The possible full names of an op's word, the nearest default dialect first."""
        return (word, f"{self.default}.{word}", f"builtin.{word}", f"cuda_tile.{word}", f"func.{word}")

    def _op_head(self, word: str, at: int) -> Lexeme:
        """The head of a custom-form op: its full name, with the default dialect if the prefix is omitted."""
        ops = self.table.ops
        name = word if word in ops else next((n for n in self._full_names(word) if n in ops), None)
        if name is None:
            raise self.source.error(at, self._unknown_op(word))
        self.at = at + len(word)
        read = self._quick.read(name, self.at)
        if read is not None:
            self.at, children = read
            return "$OP", [Token(name, at), *children]
        self.pending = self.table.defaults.get(name, self.default)
        return ops[name], Token(name, at)

    def _unknown_op(self, word: str) -> str:
        from tessera_tools.opdef.dialect import find_dialect, find_op
        from tessera_tools.opdef.registry import DIALECT_MODULES

        if find_op(word) is not None:
            return f"op '{word}' has no custom form; write it in the generic form '\"{word}\"(…) : (…) -> …'"
        prefix = word.partition(".")[0]
        close = closest(word if "." in word else f"{self.default}.{word}", self.table.ops, 0.75)
        hint = f"; did you mean '{close}'?" if close else ""
        if "." in word and prefix not in DIALECT_MODULES and find_dialect(prefix) is None:
            near = closest(prefix, DIALECT_MODULES)
            hint = hint or (f"; did you mean '{near}'?" if near else "")
            return f"unknown dialect '{prefix}' of op '{word}'{hint}"
        return f"unknown op '{word}'{hint}"

    # -- punctuation

    def _punctuation(self, row: dict[str, int], mark: str, at: int) -> Lexeme:
        if mark == "{":
            if "ATTR_DICT" in row and self._is_dictionary(at) and self._shifts("ATTR_DICT"):
                return self._scan("ATTR_DICT", at, self.scanner.dictionary)
        elif mark == "<" and "PROPS" in row and self.text.startswith("<{", at):
            return self._scan("PROPS", at, self._props)
        literal = self.table.literals.get(mark)
        if literal is not None and literal in row:
            self.at = at + len(mark)
            if mark == "{":
                self._open(literal, at)
            elif mark == "}":
                self._close()
            return literal, mark
        if mark == "{":
            metadata = METADATA.match(self.text, at)
            if metadata is not None and "RESULTS" in row:
                self.at = metadata.end()
                return self.next(row)
            if "ATTR_DICT" in row:
                return self._scan("ATTR_DICT", at, self.scanner.dictionary)
        elif mark == "(":
            if self._takes(row, "FUNCTION_TYPE"):
                return self._scan("FUNCTION_TYPE", at, self.scanner.function_type)
            if self._takes(row, "TYPE"):
                return self._scan("TYPE", at, self.scanner.type)
        if "ATTRIBUTE" in row and mark in "[{(-":
            return self._scan("ATTRIBUTE", at, self.scanner.attribute)
        if mark == '"':
            raise self.source.error(at, "the string is not closed on its line; expected '\"'")
        if len(mark) == 2:
            # If only the first of the two characters is possible, they are two tokens.
            literal = self.table.literals.get(mark[0])
            if literal is not None and literal in row:
                self.at = at + 1
                return literal, mark[0]
        raise self.unexpected(row, at)

    def _is_dictionary(self, at: int) -> bool:
        """True if `{` starts an attribute dictionary, not a region: a key, then `=`, `,` or the end of it."""
        match = _FIRST_KEY.match(self.text, at)
        return match is not None and (match.group(2) != "}" or not self.names_op(match.group(1)))

    def _props(self) -> dict[str, Attribute]:
        self.scanner.at += 1
        entries = self.scanner.dictionary()
        self.scanner.expect(">")
        return entries

    def _open(self, brace: str, at: int) -> None:
        if len(self.defaults) >= MAX_NESTING:
            raise self.source.error(at, f"regions nest deeper than {MAX_NESTING} levels")
        self.defaults.append((self.pending, self._height_at(brace) or 0))
        self.default = self.pending

    def _close(self) -> None:
        self.pending = self.defaults.pop()[0] if self.defaults else ""
        self.default = self.defaults[-1][0] if self.defaults else ""

    # -- types and aliases

    def _optional_type(self, at: int) -> Lexeme | None:
        """A type that starts with a word; cached by its text if that is easy to delimit."""
        match = _PLAIN_COMPOSITE.match(self.text, at)
        if match is not None:
            known = self._types.get(match.group())
            if known is not None:
                self.at = match.end()
                self.scanner.implied = known
                return "TYPE", known
        terminal, value = self._scan("TYPE", at, self.scanner.optional_type)
        if value is None:
            return None
        self.scanner.implied = value
        if match is not None and match.end() == self.at:
            self._types[match.group()] = value
        return terminal, value

    def _alias(self, row: dict[str, int], at: int) -> Lexeme:
        """Check an alias definition and skip it; uses resolve it through `Aliases`."""
        match = _ALIAS.match(self.text, at)
        assert match is not None
        self.at = self.aliases.define(match.group()[:-1].rstrip(), at, match.end())
        return self.next(row)

    def unexpected(self, row: dict[str, int], at: int) -> DiagnosticError:
        """A syntax error at `at`; `row` has the expected terminals."""
        raise AssertionError("the parser lists the expected tokens")


_MAY_START_ATTRIBUTE = frozenset({3, 6, 7})
"""Kinds of tokens (group numbers of `_TOKEN`) that are an attribute if no other terminal is possible."""
