"""The parse table in the form of the parser's loop, and the construction of the light tree's nodes.

The light tree consists of plain lists: a rule's node is the list of its children without literals, an alternative with
an alias is `(alias, children)`, a statement is a `Statement`.  An absent `[x]` is None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tessera_tools import lalr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.location import Location
from tessera_tools.lalr import Node, TableData
from tessera_tools.opdef.directive import Token
from tessera_tools.opdef.registry import added_dialects


class Assigned(NamedTuple):
    """`%dest = %source : type`: a copy between buffers of the `tile` dialect."""

    dest: Token
    source: Token
    type: Type


class Statement(NamedTuple):
    """One operation of the light tree."""

    results: Token | None
    """The result list with its `=`, as text; None for no results."""
    name: str
    """The full name of the op; empty for a statement with a syntax error."""
    start: int
    """Character offset of the op's name."""
    children: list[Node] | None
    """The children of the format; None for the generic form."""
    generic: list[Node] | None
    """The parts of the generic form: operands, successors, properties, regions, attributes, function type."""
    location: Location | None


Reducer: TypeAlias = Callable[[list[Node]], Node]
"""Creates a rule's node from the values of its symbols."""


class Rule(lalr.Rule):
    """One grammar rule, with the construction of its node."""

    __slots__ = ("reduce",)

    def __init__(
        self, origin: str, size: int, keep: list[int], alias: str | None, placeholders: list[int], expand: int
    ) -> None:
        super().__init__(origin, size, keep, alias, placeholders, expand)
        self.reduce = self._reducer()

    def _reducer(self) -> Reducer:
        if self.origin == "statement":
            return _statement if self.alias is None else _assigned
        if self.origin == "generic":
            return self._generic
        if self.origin.startswith("__"):
            return self.repetition
        if self.alias is not None and self.origin in _OPTIONAL:
            return self._optional
        if self.alias is not None:
            alias = self.alias
            return lambda values: (alias, self.children(values))
        if (self.expand and self.size == 1) or (self.keep == [0] and self.origin in _SINGLE and self.plain):
            return _first
        if self.plain and len(self.keep) == self.size:
            return _all
        return self.children

    def _optional(self, values: list[Node]) -> Node:
        dictionary = self.origin.startswith("attr_dict")
        if self.alias == "absent":
            return {} if dictionary else []
        children = self.children(values)
        return children[0] if dictionary or self.origin in ("value_list", "type_list") else children

    def _generic(self, values: list[Node]) -> list[Node]:
        children = self.children(values)
        return [Token("", children[0].start), (children[0], children[1:])]


def _statement(values: list[Node]) -> Statement:
    op = values[1]
    head = op[0]
    location = values[2] if len(values) > 2 else None
    if head.text:
        return Statement(values[0], head.text, head.start, op[1:], None, location)
    token, generic = op[1]
    return Statement(values[0], token.text, token.start, None, generic, location)


def _assigned(values: list[Node]) -> Statement:
    """`%dest = %source : type`; without a name in front there is no destination."""
    results, source, type = values[0], values[1], values[3]
    location = values[4] if len(values) > 4 else None
    dest = Token(results.text[:-1].rstrip(), results.start) if results is not None else source
    return Statement(None, "tile.copy", dest.start, [Assigned(dest, source, type)], None, location)


def _first(values: list[Node]) -> Node:
    return values[0]


def _all(values: list[Node]) -> list[Node]:
    return values


_OPTIONAL = frozenset(
    {"value_list", "optional_value", "type_list", "optional_type", "caret_list", "region_list",
     "attr_dict", "attr_dict_with_keyword"}
)  # fmt: skip
"""Rules of structure.lark whose node is a list (or dictionary), empty for the alternative `absent`."""

_SINGLE = frozenset({"type", "keyword", "boolean"})
"""Rules of structure.lark whose node is their only child."""


class Table:
    """The parse table.  For each state: terminal → next state (≥ 0) or -1 - rule to reduce, and rule → next state."""

    __slots__ = ("defaults", "end", "gotos", "literals", "ops", "rules", "start", "states")

    def __init__(self, data: TableData) -> None:
        self.start: int = data["start"]
        self.end: int = data["end"]
        self.states: list[dict[str, int]] = data["states"]
        self.gotos: list[dict[str, int]] = data["gotos"]
        self.rules = [Rule(*rule) for rule in data["rules"]]
        self.literals: dict[str, str] = data["literals"]
        """Keyword or punctuation → its terminal."""
        self.ops: dict[str, str] = data["ops"]
        """Op name → the head terminal of its format."""
        self.defaults: dict[str, str] = data["defaults"]
        """Op name → the default dialect of its regions."""

    @property
    def after_results(self) -> int:
        """The state after a statement's result list."""
        return next(row["RESULTS"] for row in self.states if row.get("RESULTS", -1) >= 0)


_tables: dict[tuple[str, ...], Table] = {}
"""By the dialects of plugins."""


def default_table() -> Table:
    """The table of all registered ops; loaded once."""
    added = added_dialects()
    if added not in _tables:
        from tessera_tools.parser.table import load

        _tables[added] = Table(load())
    return _tables[added]
