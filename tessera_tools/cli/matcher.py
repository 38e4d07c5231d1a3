"""Regular expressions, matched in time proportional to the length of the text times the size of the expression.

    "a+b?" ──Python's own parser──▶ states with edges ──all states at once, a character at a time──▶ match or not

Python's `re` backtracks: the time for `(a+)+b` doubles with each `a`. This module tracks the set of possible states
instead (Thompson, "Regular Expression Search Algorithm", 1968). Back references and lookaround assertions are not
supported.
"""

from __future__ import annotations

import re
from re import _constants as names  # pyright: ignore[reportAttributeAccessIssue]  # the parser's own opcodes
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

__all__ = ["Matcher"]

MAX_STATES = 20_000
"""The maximum number of states of an expression; counted repetitions multiply them."""

_NAMES = {
    names.GROUPREF: "a back reference",
    names.GROUPREF_EXISTS: "a conditional group",
    names.ASSERT: "a lookahead or lookbehind",
    names.ASSERT_NOT: "a lookahead or lookbehind",
}


class Matcher:
    """One expression. Raises re.error if it is invalid or not supported."""

    def __init__(self, pattern: str) -> None:
        self._free: list[list[int]] = []
        """For each state: the states that are reached without a character."""
        self._next: list[tuple[re.Pattern[str], int] | None] = []
        """For each state: the character that it accepts, and the next state."""
        self._places: list[re.Pattern[str] | None] = []
        """For each state: the condition on the position, as for `^`."""
        self._start = self._state()
        try:
            self._end = self._sequence(parser.parse(pattern), self._start)
        except (OverflowError, RecursionError):
            raise re.error("the expression is too large") from None

    def search(self, text: str) -> bool:
        """True if the expression matches somewhere in the text."""
        current: set[int] = set()
        for at in range(len(text) + 1):
            current |= self._closure({self._start}, text, at)
            if self._end in current:
                return True
            if at == len(text):
                return False
            following: set[int] = set()
            for state in current:
                edge = self._next[state]
                if edge is not None and edge[0].match(text[at]):
                    following.add(edge[1])
            current = self._closure(following, text, at + 1)
        return False

    def _closure(self, states: set[int], text: str, at: int) -> set[int]:
        found: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in found:
                continue
            place = self._places[state]
            if place is not None and not place.match(text, at):
                continue
            found.add(state)
            waiting += self._free[state]
        return found

    # -- building

    def _state(self) -> int:
        if len(self._free) >= MAX_STATES:
            raise re.error("the expression is too large")
        self._free.append([])
        self._next.append(None)
        self._places.append(None)
        return len(self._free) - 1

    def _sequence(self, items: Any, start: int) -> int:
        for kind, value in items:
            start = self._item(kind, value, start)
        return start

    def _item(self, kind: Any, value: Any, start: int) -> int:
        """Add the states of an item of the parsed expression after the state `start`; returns the final state."""
        if kind in (names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN):
            end = self._state()
            self._next[start] = (_one(kind, value), end)
            return self._after(end)
        if kind is names.SUBPATTERN:
            return self._sequence(value[3], start)
        if kind is names.BRANCH:
            end = self._state()
            for branch in value[1]:
                first = self._state()
                self._free[start].append(first)
                self._free[self._sequence(branch, first)].append(end)
            return self._after(end)
        if kind in (names.MAX_REPEAT, names.MIN_REPEAT):
            least, most, items = value
            return self._repeat(least, most, items, start)
        if kind is names.AT:
            end = self._state()
            self._places[end] = _AT.get(value)
            if self._places[end] is None:
                raise re.error(f"{str(value).lower()} is not supported")
            self._free[start].append(end)
            return self._after(end)
        raise re.error(f"{_NAMES.get(kind, str(kind).lower())} is not supported")

    def _after(self, state: int) -> int:
        """A new state after one that is part of a loop or branch."""
        following = self._state()
        self._free[state].append(following)
        return following

    def _repeat(self, least: int, most: Any, items: Any, start: int) -> int:
        for _ in range(least):
            start = self._sequence(items, start)
        end = self._state()
        if most == names.MAXREPEAT:
            first = self._after(start)
            self._free[first].append(end)
            self._free[self._sequence(items, self._after(first))].append(first)
            return self._after(end)
        for _ in range(most - least):
            self._free[start].append(end)
            start = self._sequence(items, self._after(start))
        self._free[start].append(end)
        return self._after(end)


def _one(kind: Any, value: Any) -> re.Pattern[str]:
    """An expression for one character, for Python's `re`: a class does not backtrack."""
    if kind is names.ANY:
        return re.compile(".")
    if kind is names.LITERAL:
        return re.compile(re.escape(chr(value)), re.DOTALL)
    if kind is names.NOT_LITERAL:
        return re.compile(f"[^{re.escape(chr(value))}]")
    negated = value[0][0] is names.NEGATE
    parts: list[str] = []
    for item, content in value[negated:]:
        if item is names.LITERAL:
            parts.append(re.escape(chr(content)))
        elif item is names.RANGE:
            parts.append(f"{re.escape(chr(content[0]))}-{re.escape(chr(content[1]))}")
        else:
            parts.append(_CATEGORIES[content])
    return re.compile(f"[{'^' if negated else ''}{''.join(parts)}]")


_CATEGORIES = {
    names.CATEGORY_DIGIT: r"\d",
    names.CATEGORY_NOT_DIGIT: r"\D",
    names.CATEGORY_SPACE: r"\s",
    names.CATEGORY_NOT_SPACE: r"\S",
    names.CATEGORY_WORD: r"\w",
    names.CATEGORY_NOT_WORD: r"\W",
}
_AT = {
    names.AT_BEGINNING: re.compile("^"),
    names.AT_BEGINNING_STRING: re.compile(r"\A"),
    names.AT_BOUNDARY: re.compile(r"\b"),
    names.AT_NON_BOUNDARY: re.compile(r"\B"),
    names.AT_END: re.compile("$"),
    names.AT_END_STRING: re.compile(r"\Z"),
}
