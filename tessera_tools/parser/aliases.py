"""Alias definitions, `#name = attribute` and `!name = type`."""

from __future__ import annotations

import re
from typing import Any

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.parser.attributes import AttributeScanner
from tessera_tools.parser.source import Source

MAX_TEXT = 1 << 24
"""The maximum expanded length of an alias: thirty aliases that each use the previous one twice expand to gigabytes."""

_DEFINITION = re.compile(r"^[ \t]*([#!])([A-Za-z_$][\w$]*)[ \t]*=(?!=)", re.MULTILINE)


class Aliases:
    """The aliases of one file, by sigil and name.  A value is parsed on first use, so that uses may come
    before the definition (as in printed locations)."""

    __slots__ = ("_places", "_reading", "_sizes", "_values", "allow_unregistered", "shared", "source")

    def __init__(self, source: Source, allow_unregistered: bool = False) -> None:
        self.source = source
        self.allow_unregistered = allow_unregistered
        self.shared: dict[type, Any] = {}
        """State of a dialect's types and attributes for this file, by class."""
        self._places: dict[str, int] = {}
        """The position of each alias's value."""
        self._values: dict[str, Attribute] = {}
        self._reading: dict[str, int] = {}
        """The aliases being parsed, with their expanded length so far."""
        self._sizes: dict[str, int] = {}
        """The expanded length of each value."""
        for match in _DEFINITION.finditer(source.text):
            self._places.setdefault(match.group(1) + match.group(2), match.end())

    def __contains__(self, alias: str) -> bool:
        """True if the file defines `#name` or `!name`."""
        return alias in self._places

    def define(self, alias: str, start: int, body: int) -> int:
        """Record the definition at `start`, with its value at `body`; returns its end."""
        if self._places.setdefault(alias, body) != body:
            raise self.source.error(start, f"redefinition of alias '{alias}'")
        return self._read(alias, start, 0)

    def type(self, name: str, start: int, depth: int) -> Type:
        """The type `!name`, used at `start`, `depth` levels deep."""
        return self._find("!" + name, "type", start, depth)

    def attribute(self, name: str, start: int, depth: int) -> Attribute:
        """The attribute `#name`, used at `start`, `depth` levels deep."""
        return self._find("#" + name, "attribute", start, depth)

    def _find(self, alias: str, noun: str, start: int, depth: int) -> Any:
        if alias not in self._places:
            raise self.source.error(start, f"undefined {noun} alias '{alias}'; define it with '{alias} = …'")
        if alias not in self._values:
            self._read(alias, start, depth)
        for outer in list(self._reading)[-1:]:
            self._reading[outer] += self._sizes[alias]
            if self._reading[outer] > MAX_TEXT:
                raise self.source.error(start, f"alias '{outer}' expands to more than {MAX_TEXT} characters")
        return self._values[alias]

    def _read(self, alias: str, start: int, depth: int) -> int:
        if alias in self._reading:
            raise self.source.error(start, f"alias '{alias}' is defined recursively")
        self._reading[alias] = 0
        try:
            scanner = AttributeScanner(self.source, self._places[alias], self, self.allow_unregistered)
            scanner.depth = depth
            self._values[alias] = scanner.type() if alias[0] == "!" else scanner.attribute()
            self._sizes[alias] = self._reading[alias] + scanner.at - self._places[alias]
        finally:
            del self._reading[alias]
        return scanner.at
