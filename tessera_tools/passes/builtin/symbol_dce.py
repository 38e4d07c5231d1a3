"""`symbol-dce`: eliminate unused private symbols.

A symbol is live if it is public in a visible table, or if a live op refers to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import StringAttr, SymbolRefAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import SymbolTables, is_symbol_table, symbol_name, symbol_references
from tessera_tools.passes.base import Pass, PassContext


class SymbolDCE(Pass):
    """Dead symbol elimination, through nested symbol tables."""

    name = "symbol-dce"
    title = "SymbolDCE"
    summary = "eliminate unused private symbols"
    requires = "the operation is a symbol table"
    ensures = "every private symbol is referenced by a live symbol"
    statistics: ClassVar[Mapping[str, str]] = {"num-dce'd": "Number of symbols DCE'd"}

    def run(self, op: Operation, context: PassContext) -> bool:
        if not is_symbol_table(op):
            raise op.error("was scheduled to run under SymbolDCE, but is not a symbol table")
        work = _Work(op)
        work.table(op, hidden=_is_hidden(op))
        work.run()
        dead = [symbol for symbol in work.symbols if symbol not in work.live]
        for symbol in dead:
            # Symbols nested in an erased one are erased with it.
            if symbol.parent is not None:
                symbol.erase()
        context.count("num-dce'd", len(dead))
        return bool(dead)


def _visibility(op: Operation) -> str:
    value = op.attributes.get("sym_visibility")
    return value.value if isinstance(value, StringAttr) else "public"


def _is_hidden(table: Operation) -> bool:
    """True if the table's symbols are not visible from outside: it, or an enclosing table, is private."""
    current: Operation | None = table
    while current is not None and symbol_name(current) is not None:
        if _visibility(current) == "private":
            return True
        current = current.parent_op
    return False


class _Work:
    def __init__(self, root: Operation) -> None:
        self.root = root
        self.tables = SymbolTables()
        self.symbols: list[Operation] = []
        self.live: set[Operation] = set()
        self.pending: list[Operation] = []
        self.references: dict[Attribute, list[SymbolRefAttr]] = {}

    def table(self, table: Operation, hidden: bool) -> None:
        """Collect the symbols of a table and its nested tables; mark the roots live."""
        work = [(table, hidden)]
        while work:
            op, inside_hidden = work.pop()
            for block in op.regions[0].blocks:
                for inner in block.operations:
                    if symbol_name(inner) is None:
                        # Ops that are not symbols are always live, and so are their references.
                        self.pending.append(inner)
                        continue
                    self.symbols.append(inner)
                    visibility = _visibility(inner)
                    if visibility == "public" and not inside_hidden:
                        self.mark(inner)
                    if is_symbol_table(inner):
                        work.append((inner, inside_hidden or visibility != "public"))

    def mark(self, symbol: Operation) -> None:
        if symbol not in self.live:
            self.live.add(symbol)
            self.pending.append(symbol)
            parent = symbol.parent_op
            if parent is not None and parent is not self.root and symbol_name(parent) is not None:
                self.mark(parent)

    def run(self) -> None:
        self.refer(self.root)
        while self.pending:
            op = self.pending.pop()
            self.refer(op)
            if is_symbol_table(op):
                continue  # its symbols are handled separately
            for inner in op.walk():
                self.refer(inner)

    def refer(self, op: Operation) -> None:
        """Mark the symbols in the attributes of `op`."""
        for attribute in op.attributes.values():
            known = self.references.get(attribute)
            if known is None:
                known = self.references[attribute] = list(symbol_references(attribute))
            for reference in known:
                self.mark_path(op, reference)

    def mark_path(self, user: Operation, reference: SymbolRefAttr) -> None:
        """Mark every symbol on the path of a reference, from the nearest table with its root."""
        for length in range(len(reference.nested) + 1):
            part = SymbolRefAttr(reference.root, reference.nested[:length])
            found = self.tables.lookup(user, part)
            if found is not None:
                self.mark(found)
