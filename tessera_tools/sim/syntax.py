"""The syntax of PTX: text to a light tree, by the LALR(1) table of grammar/ptx.lark.

    text ──blank comments──▶ one regular expression per state ──Token──▶ shift, or reduce a rule ──▶ Tree

The lexer matches only tokens that the parser's state accepts, because PTX keywords depend on the context.
The table is shipped in the wheel (`tessera_tools/_grammar/ptx.json`); a checkout keeps it in the user's cache folder.

    python -m tessera_tools.sim.syntax --output FILE        makes it
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tessera_tools import lalr
from tessera_tools.diagnostics import DiagnosticError, Position, error

__all__ = ["Token", "Tree", "parse"]

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_SHOWN = 40
"""Characters of the text that an error quotes."""


class Token(str):
    """A terminal's text; `type` is the terminal, `line` and `column` count from 1."""

    __slots__ = ("column", "line", "type")

    type: str
    line: int
    column: int


class Tree:
    """A node of the light tree; `data` is its rule or alias, and the grammar fixes what its children are."""

    __slots__ = ("children", "data")

    def __init__(self, data: str, children: list[Any]) -> None:
        self.data = data
        self.children = children


class _Table:
    """The table in the form that the parser loop uses."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.start: int = data["start"]
        self.end: int = data["end"]
        self.states: list[dict[str, int]] = data["states"]
        self.gotos: list[dict[str, int]] = data["gotos"]
        self.rules = [lalr.Rule(*rule) for rule in data["rules"]]
        self.terminals: list[tuple[str, str]] = [(name, pattern) for name, pattern in data["terminals"]]
        """Terminal and regular expression, in matching order."""
        self.ignored = re.compile(data["ignored"])
        self._lexers: dict[int, re.Pattern[str]] = {}

    def lexer(self, state: int) -> re.Pattern[str]:
        """Matches one token that the state accepts; the matching group has the name of its terminal."""
        found = self._lexers.get(state)
        if found is None:
            row = self.states[state]
            parts = [f"(?P<{name}>{pattern})" for name, pattern in self.terminals if name in row]
            found = self._lexers[state] = re.compile("|".join(parts) or r"(?!)")
        return found


def make() -> dict[str, Any]:
    """Build the table with Lark."""
    lark = lalr.build_lark(_grammar())
    # Lark's own matching order: by priority, then by maximum length.
    ordered = sorted(
        (terminal for terminal in lark.terminals if terminal.name not in lark.ignore_tokens),
        key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name),
    )
    ignored = [t.pattern.to_regexp() for t in lark.terminals if t.name in lark.ignore_tokens]
    return lalr.make_table(lark) | {
        "terminals": [[terminal.name, terminal.pattern.to_regexp()] for terminal in ordered],
        "ignored": f"(?:{'|'.join(ignored)})*",
    }


def _grammar() -> str:
    return (lalr.grammar_folder() / "ptx.lark").read_text("utf-8")


@cache
def _table() -> _Table:
    return _Table(lalr.load("ptx", lambda: lalr.digest([lalr.grammar_path("ptx.lark")]), make))


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] == '"' else _NOT_NEWLINE.sub(" ", text)


def parse(text: str, file: str) -> Tree:
    """The light tree of a PTX module. Raises DiagnosticError at the first unexpected token."""
    text = _COMMENT.sub(_blank, text)
    table = _table()
    states, gotos, rules, skip, lexer = table.states, table.gotos, table.rules, table.ignored, table.lexer
    stack, values = [table.start], list[Any]()
    state = table.start
    at, line, line_start, end = 0, 1, 0, len(text)
    while True:
        matched = skip.match(text, at)
        start = matched.end() if matched is not None else at
        if newlines := text.count("\n", at, start):
            line += newlines
            line_start = text.rfind("\n", at, start) + 1
        value: Token | None = None
        if start == end:
            terminal = "$END"
        else:
            found = lexer(state).match(text, start)
            terminal = found.lastgroup if found is not None else None
            if found is None or terminal is None:
                raise _unexpected(file, text, start)
            value = Token(found.group())
            value.type, value.line, value.column = terminal, line, start - line_start + 1
            at = found.end()
            if newlines := text.count("\n", start, at):
                line += newlines
                line_start = text.rfind("\n", start, at) + 1
        while True:
            action = states[state].get(terminal)
            if action is None:
                raise _unexpected(file, text, start)
            if action >= 0:
                state = action
                stack.append(state)
                values.append(value)
                break
            rule = rules[-1 - action]
            node: Any
            if rule.size:
                node = _node(rule, values[-rule.size :])
                del values[-rule.size :]
                del stack[-rule.size :]
            else:
                node = _node(rule, [])
            values.append(node)
            state = gotos[stack[-1]][rule.origin]
            stack.append(state)
            if state == table.end and terminal == "$END":
                return values[-1]


def _unexpected(file: str, text: str, at: int) -> DiagnosticError:
    """The error at an unexpected token at `at`, or at the end of the text."""
    line = text.count("\n", 0, at) + 1
    if at == len(text):
        return error(Position(file, line, 1), "unexpected end of PTX: a '}' or ';' is missing")
    shown = text[at : at + _SHOWN].split("\n", maxsplit=1)[0].strip()
    place = Position(file, line, at - text.rfind("\n", 0, at))
    return error(place, f"unexpected token in PTX: found '{shown}'")


def _node(rule: lalr.Rule, values: list[Any]) -> Any:
    if rule.origin.startswith("__"):
        return rule.repetition(values)
    children = rule.children(values)
    if rule.alias is None and rule.expand and len(children) == 1:
        return children[0]
    return Tree(rule.alias or rule.origin, children)


if __name__ == "__main__":
    import argparse

    arguments = argparse.ArgumentParser(description="Build the table of PTX from its grammar.")
    arguments.add_argument("--output", required=True, help="the JSON file to write")
    lalr.build(arguments.parse_args().output, make())
