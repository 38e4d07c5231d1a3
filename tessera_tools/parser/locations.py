"""Locations: the text between the parentheses of `loc(…)`."""

from __future__ import annotations

from tessera_tools.ir.builtin_attributes import OpaqueAttr
from tessera_tools.ir.location import (
    UNKNOWN,
    CallSiteLoc,
    FileLineColLoc,
    FileRangeLoc,
    FusedLoc,
    Location,
    NameLoc,
    OpaqueLoc,
)
from tessera_tools.parser.types import TypeScanner


def read_location(s: TypeScanner) -> Location:
    """One location's body."""
    s.nest()
    found = _read(s)
    s.depth -= 1
    return found


def _read(s: TypeScanner) -> Location:
    if s.peek("#"):
        attribute = s.attribute()
        if isinstance(attribute, Location):
            return attribute
        if attribute.name.startswith("builtin.") and not isinstance(attribute, OpaqueAttr):
            raise s.error(f"expected location, but found '{attribute}'")
        return OpaqueLoc(attribute)
    name = s.optional_string()
    if name is not None:
        return _named_or_position(s, name)
    word = s.keyword("unknown", "callsite", "fused", "loc")
    if word == "unknown":
        return UNKNOWN
    if word == "loc":
        s.expect("(")
        found = read_location(s)
        s.expect(")")
        return found
    if word == "callsite":
        s.expect("(")
        callee = read_location(s)
        s.keyword("at")
        caller = read_location(s)
        s.expect(")")
        return CallSiteLoc(callee, caller)
    metadata = None
    if s.optional("<"):
        metadata = s.attribute()
        s.expect(">")
    children = s.list("[", lambda: read_location(s), "]")
    return FusedLoc(tuple(children), metadata)


def _named_or_position(s: TypeScanner, name: str) -> Location:
    if s.optional(":"):
        line = s.integer()
        if not s.optional(":"):
            return FileLineColLoc(name, line, 0)
        column = s.integer()
        if not s.peek("to"):
            return FileLineColLoc(name, line, column)
        s.keyword("to")
        end_line = line if s.peek(":") else s.integer()
        s.expect(":")
        end_column = s.integer()
        if (end_line, end_column) == (line, column):
            return FileLineColLoc(name, line, column)
        return FileRangeLoc(name, line, column, end_line, end_column)
    if s.optional("("):
        child = read_location(s)
        s.expect(")")
        return NameLoc(name, child)
    return NameLoc(name, UNKNOWN)
