"""Alias definitions, `#name = attribute` and `!name = type`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.parser.source import Source


class Aliases:
    """The alias definitions of one file, `#name = attribute` and `!name = type`; read when first used, so that a use
    may come before the definition (as MLIR prints locations)."""

    __slots__ = ("_reading", "allow_unregistered", "attributes", "source", "types")

    _DEFINITION = re.compile(r"^[ \t]*([#!])([A-Za-z_$][\w$]*)[ \t]*=(?!=)", re.MULTILINE)

    def __init__(self, source: Source, allow_unregistered: bool = False) -> None:
        self.source = source
        self.allow_unregistered = allow_unregistered
        self.types: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self._reading: set[str] = set()
        for match in self._DEFINITION.finditer(source.text):
            table = self.attributes if match.group(1) == "#" else self.types
            table.setdefault(match.group(2), match.end())

    def type(self, name: str, start: int) -> Type:
        return self._find(self.types, "!", name, start, lambda s: s.type())

    def attribute(self, name: str, start: int) -> Attribute:
        return self._find(self.attributes, "#", name, start, lambda s: s.attribute())

    def _find(
        self, table: dict[str, Any], sigil: str, name: str, start: int, read: Callable[[Any], Any]
    ) -> Any:
        value = table.get(name)
        if value is None:
            noun = "type" if sigil == "!" else "attribute"
            raise self.source.error(
                start, f"undefined {noun} alias '{sigil}{name}'; define it with '{sigil}{name} = …'"
            )
        if isinstance(value, int):
            if sigil + name in self._reading:
                raise self.source.error(start, f"alias '{sigil}{name}' is defined by itself")
            self._reading.add(sigil + name)
            from tessera_tools.parser.scanner import Scanner

            scanner = Scanner(self.source, value, aliases=self, allow_unregistered=self.allow_unregistered)
            value = table[name] = read(scanner)
            self._reading.discard(sigil + name)
        return value
