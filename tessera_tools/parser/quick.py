r"""The common form of an op's format as one regular expression, for frequent ops.

    "$lhs `,` $rhs (`fastmath` $fastmath^)? attr-dict `:` type($result)"
        ─▶  \s*(%…)\s*,\s*(%…)\s*:\s*(word), no optional part, nothing in the dictionary, a type that is one word
        ─▶  the same children that the grammar's rule would give

This is only an optimization: the table-driven parser handles all other text.  It never decides where a statement ends:
the start of another one, or the end of the region, must follow.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from tessera_tools.ir.attributes import Type
from tessera_tools.lalr import Node
from tessera_tools.opdef.dialect import find_op
from tessera_tools.opdef.directive import Token
from tessera_tools.opdef.elements import (
    AttrDict,
    AttributeRef,
    Directive,
    Group,
    Literal,
    OperandRef,
    Space,
    TypeOf,
)
from tessera_tools.parser.types import WORD_TYPES

_OFTEN = 6
"""The number of occurrences from which a regular expression is compiled, which takes as long as parsing a few ops."""

_VALUE = r"\s*(%[\w$.-]+(?:\#[0-9]+)?)"
_TYPE = r"\s*([a-z]\w*(?:<[^<>\"\n]*>)?)"
_KEYWORD = r"\s*([A-Za-z_][\w$]*)"
_FOLLOWING = r"(?=[ \t]*+\n\s*+(?:%[\w$.-]+ =|\}|[a-z_]\w*\.[a-z]))"

Read: TypeAlias = tuple[int, list[Node]]


class QuickForms:
    """The quick forms of one source's ops."""

    __slots__ = ("_counts", "_forms", "text", "types")

    def __init__(self, text: str, types: dict[str, Type]) -> None:
        self.text = text
        self.types = types
        """Composite types so far, by text."""
        self._counts: dict[str, int] = {}
        self._forms: dict[str, _Form | None] = {}

    def read(self, name: str, at: int) -> Read | None:
        """The op `name`, whose operands begin at `at`: returns its end, and its format's children."""
        form = self._forms.get(name)
        if form is None:
            if name in self._forms:
                return None
            count = self._counts[name] = self._counts.get(name, 0) + 1
            if count < _OFTEN:
                return None
            form = self._forms[name] = make_form(name)
            if form is None:
                return None
        return form.read(self.text, at, self.types)


class _Form:
    """`plan` has, for each child, a group number or the child itself."""

    __slots__ = ("pattern", "plan")

    def __init__(self, pattern: str, plan: list[tuple[str, Any]]) -> None:
        self.pattern = re.compile(pattern)
        self.plan = plan

    def read(self, text: str, at: int, types: dict[str, Type]) -> Read | None:
        match = self.pattern.match(text, at)
        if match is None:
            return None
        children: list[Node] = []
        for kind, value in self.plan:
            if kind == "value":
                children.append(Token(match.group(value), match.start(value)))
            elif kind == "type":
                spelled = match.group(value)
                known = WORD_TYPES.get(spelled) or types.get(spelled)
                if known is None:
                    return None
                children.append(known)
            else:
                children.append(value())
        return match.end(), children


def make_form(name: str) -> _Form | None:
    """The quick form of an op's format; None if it has other elements than values, types, literals and optional
    parts."""
    op_class = find_op(name)
    if op_class is None or (format := op_class.definition.format) is None:
        return None
    pattern, plan, groups = "", [], 0
    for directive in format.directives:
        part = _part(directive)
        if part is None:
            return None
        text, kind, value = part
        pattern += text
        if kind in ("value", "type"):
            # A value and a keyword are both tokens.
            groups += 1
            value = groups
        if kind:
            plan.append((kind, value))
    return _Form(pattern + _FOLLOWING, plan) if groups else None


def _part(directive: Directive) -> tuple[str, str, Any] | None:
    """A directive's part: pattern, kind of child ("" for none), and the function for a fixed child."""
    if isinstance(directive, Literal):
        edge = r"\b" if directive.text[-1].isalnum() else ""
        return r"\s*" + re.escape(directive.text) + edge, "", None
    if isinstance(directive, Space):
        return "", "", None
    if isinstance(directive, OperandRef) and directive.field.arity == "single":
        return _VALUE, "value", None
    if isinstance(directive, TypeOf) and directive.field.arity == "single":
        return _TYPE, "type", None
    if isinstance(directive, AttributeRef) and directive.field.kind.symbol == "keyword":
        return _KEYWORD, "value", None
    if isinstance(directive, AttrDict):
        return "", "fixed", dict
    if isinstance(directive, Group) and not directive.otherwise:
        return "", "fixed", _absent
    return None


def _absent() -> tuple[str, list[Node]]:
    return ("absent", [])
