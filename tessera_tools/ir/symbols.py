"""Symbols: operations that are referred to by name, `@module::@function`, and the tables that hold them.

A symbol is an operation with a `sym_name` directly inside an operation with the `SymbolTable` trait.  A reference is
looked up in the nearest enclosing table of its user: the root there, each nested name in the table that the
previous name refers to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tessera_tools.ir import traits
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import StringAttr, SymbolRefAttr
from tessera_tools.ir.core import Operation


def symbol_name(op: Operation) -> str | None:
    """The symbol name of the operation, if any."""
    name = op.attributes.get("sym_name")
    return name.value if isinstance(name, StringAttr) else None


def enclosing_name(op: Operation) -> str:
    """The name of `op` or of its nearest ancestor with a name, usually a function; "" if there is none."""
    around: Operation | None = op
    while around is not None:
        if (name := symbol_name(around)) is not None:
            return name
        around = around.parent_op
    return ""


def is_symbol_table(op: Operation) -> bool:
    return op.has_trait(traits.SymbolTable)


def nearest_symbol_table(op: Operation | None) -> Operation | None:
    """The innermost symbol table that is `op` or encloses it."""
    while op is not None and not is_symbol_table(op):
        op = op.parent_op
    return op


class SymbolTable:
    """The symbols directly inside one operation; only its own methods keep it up to date."""

    def __init__(self, op: Operation) -> None:
        if len(op.regions) != 1:
            raise op.error("must have exactly one region to be a symbol table")
        self.op = op
        self._symbols: dict[str, Operation] = {}
        self._next: dict[str, int] = {}
        for block in op.regions[0].blocks:
            for inner in block.operations:
                name = symbol_name(inner)
                if name is not None:
                    self._symbols.setdefault(name, inner)

    def lookup(self, name: str) -> Operation | None:
        """The symbol of that name."""
        return self._symbols.get(name)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._symbols.values())

    def unique_name(self, wanted: str) -> str:
        """`wanted`, or `wanted_0`, `wanted_1`, …: the first that is free."""
        if wanted not in self._symbols:
            return wanted
        number = self._next.get(wanted, 0)
        while f"{wanted}_{number}" in self._symbols:
            number += 1
        self._next[wanted] = number + 1
        return f"{wanted}_{number}"

    def insert(self, op: Operation, before: Operation | None = None) -> str:
        """Add a symbol at the end (before a terminator) or before an operation, and return its name.

        A detached operation is inserted into the body.  The symbol is renamed if its name is taken.
        """
        name = symbol_name(op)
        if name is None:
            raise op.error("requires string attribute 'sym_name'")
        if self._symbols.get(name) is op:
            return name
        if op.parent is None:
            block = self.op.regions[0].entry
            last = block.last_op
            end = last if last is not None and last.has_trait(traits.Terminator) else None
            block.insert_before(before if before is not None else end, op)
        unique = self.unique_name(name)
        if unique != name:
            op.attributes["sym_name"] = StringAttr(unique)
        self._symbols[unique] = op
        return unique

    def remove(self, op: Operation) -> None:
        """Remove a symbol that is about to be erased or moved."""
        name = symbol_name(op)
        if name is not None and self._symbols.get(name) is op:
            del self._symbols[name]

    def rename(self, op: Operation, name: str) -> None:
        """Give a symbol of this table another name, here and in every reference to it.  ValueError if it is taken."""
        if self._symbols.get(name, op) is not op:
            raise ValueError(f"the symbol @{name} already exists")
        replace_all_symbol_uses(op, name)
        self.remove(op)
        op.attributes["sym_name"] = StringAttr(name)
        self._symbols[name] = op


class SymbolTables:
    """Symbol tables by operation, created on first use."""

    def __init__(self) -> None:
        self._tables: dict[Operation, SymbolTable] = {}

    def of(self, op: Operation) -> SymbolTable:
        """The table of an operation with the `SymbolTable` trait."""
        table = self._tables.get(op)
        if table is None:
            table = self._tables[op] = SymbolTable(op)
        return table

    def lookup_in(self, table: Operation, reference: SymbolRefAttr | str) -> Operation | None:
        """The symbol that a reference names in `table`."""
        if isinstance(reference, str):
            return self.of(table).lookup(reference)
        found = self.of(table).lookup(reference.root)
        for name in reference.nested:
            if found is None or not is_symbol_table(found):
                return None
            found = self.of(found).lookup(name)
        return found

    def lookup(self, user: Operation, reference: SymbolRefAttr | str) -> Operation | None:
        """The symbol that a reference names at `user`: it is looked up in the nearest enclosing table."""
        table = nearest_symbol_table(user)
        return self.lookup_in(table, reference) if table is not None else None

    def invalidate(self) -> None:
        """Discard all tables, after changes that did not use them."""
        self._tables.clear()


_shared: list[SymbolTables] = []


@contextmanager
def shared_symbol_tables() -> Iterator[None]:
    """Let `lookup_symbol` cache its tables until the `with` block ends; no symbol may change in between."""
    _shared.append(SymbolTables())
    try:
        yield
    finally:
        _shared.pop()


def lookup_symbol(user: Operation, reference: SymbolRefAttr | str) -> Operation | None:
    """The symbol that a reference names at `user`.

    Outside of `shared_symbol_tables`, each call builds the table; use a `SymbolTables` for many lookups.
    """
    return (_shared[-1] if _shared else SymbolTables()).lookup(user, reference)


def symbol_references(attr: Attribute) -> Iterator[SymbolRefAttr]:
    """Every symbol reference in an attribute, at any depth."""
    if isinstance(attr, SymbolRefAttr):
        yield attr
    else:
        yield from _references_in(attr.parameters())


def _references_in(parameters: tuple[Any, ...]) -> Iterator[SymbolRefAttr]:
    for item in parameters:
        if isinstance(item, Attribute):
            yield from symbol_references(item)
        elif isinstance(item, tuple):
            yield from _references_in(item)


def _scope(table: Operation) -> Iterator[Operation]:
    """The operations whose nearest table is `table`; includes nested tables, but not their contents."""
    work = [table]
    while work:
        op = work.pop()
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    yield inner
                    if inner.regions and not is_symbol_table(inner):
                        work.append(inner)


def _paths_to(symbol: Operation) -> Iterator[tuple[Operation, tuple[str, ...]]]:
    """(table, names) for every enclosing table of the symbol; `names` is a reference in the table's scope."""
    names: tuple[str, ...] = ()
    name, table = symbol_name(symbol), symbol.parent_op
    while name is not None and table is not None and is_symbol_table(table):
        names = (name, *names)
        yield table, names
        name, table = symbol_name(table), table.parent_op


def _starts_with(ref: SymbolRefAttr, path: tuple[str, ...]) -> bool:
    return (ref.root, *ref.nested)[: len(path)] == path


def replace_all_symbol_uses(symbol: Operation, name: str) -> None:
    """Rewrite every reference to the symbol to `name`; the symbol itself is not renamed."""
    for table, path in _paths_to(symbol):
        for op in _scope(table):
            for key, attr in op.attributes.items():
                renamed = _renamed(attr, path, name)
                if renamed is not attr:
                    op.attributes[key] = renamed


def _renamed(attr: Any, path: tuple[str, ...], name: str) -> Any:
    if isinstance(attr, SymbolRefAttr):
        if not _starts_with(attr, path):
            return attr
        names = [attr.root, *attr.nested]
        names[len(path) - 1] = name
        return SymbolRefAttr(names[0], tuple(names[1:]))
    if isinstance(attr, Attribute):
        old = attr.parameters()
        new = _renamed(old, path, name)
        return attr if new is old else type(attr)(*new)
    if isinstance(attr, tuple):
        items = tuple(_renamed(item, path, name) for item in attr)
        return attr if all(a is b for a, b in zip(attr, items, strict=True)) else items
    return attr
