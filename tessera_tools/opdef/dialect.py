"""Dialects: what a name prefix brings, and the lazy registry that finds it.

`tessera_tools.dialects` holds one module (or folder) per dialect with a module-level `DIALECT = Dialect(…)`;
the module is imported when the first of its ops, types or attributes is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.opdef.op import Op


@dataclass(slots=True)
class Dialect:
    """One dialect.

    types, attributes: by the word after the dot (`!name.word`, `#name.word`); each class has a classmethod
    `parse(scanner)` that reads what follows that word, and `text()`.
    materialize: makes a constant op for (attribute, type), or None; used by folding.
    upgrade: translates, in a module just read, an older spelling of the dialect into today's ops.
    inline_ok: whether the inliner may move this dialect's ops into other functions.
    """

    name: str
    summary: str
    ops: dict[str, type[Op]]
    types: dict[str, type[Type]] = field(default_factory=dict)
    attributes: dict[str, type[Attribute]] = field(default_factory=dict)
    materialize: Callable[[Builder, Attribute, Type], Operation | None] | None = None
    inline_ok: bool = True
    upgrade: Callable[[Operation], object] | None = None


def ops_of(*modules: Any) -> dict[str, type[Op]]:
    """Every op class defined in the given namespaces (modules or dicts), by full name, in definition order."""
    found: dict[str, type[Op]] = {}
    for module in modules:
        namespace = module if isinstance(module, dict) else vars(module)
        for value in namespace.values():
            if isinstance(value, type) and issubclass(value, Op) and value.name:
                found[value.name] = value
    return found


def by_word(*classes: type[Attribute]) -> dict[str, Any]:
    """Type or attribute classes by the part of their name after the dialect's."""
    return {cls.name.split(".", 1)[1]: cls for cls in classes}


_loaded: dict[str, Dialect] = {}


def find_dialect(name: str) -> Dialect | None:
    """The dialect of that name, imported if need be; None if there is none."""
    dialect = _loaded.get(name)
    if dialect is None:
        import importlib

        from tessera_tools.opdef.registry import DIALECT_MODULES

        module = DIALECT_MODULES.get(name)
        if module is None:
            return None
        dialect = _loaded[name] = importlib.import_module(module).DIALECT
    return dialect


def find_op(name: str) -> type[Op] | None:
    """The class of a registered op, by full name."""
    dialect = find_dialect(name.partition(".")[0])
    return dialect.ops.get(name) if dialect is not None else None


def upgrade_spelling(module: Operation) -> None:
    """Let the dialects met so far translate their older spellings in a module just read."""
    for dialect in list(_loaded.values()):
        if dialect.upgrade is not None:
            dialect.upgrade(module)


def all_dialects() -> Iterable[Dialect]:
    """Every registered dialect, imported; in alphabetical order."""
    from tessera_tools.opdef.registry import DIALECT_MODULES

    for name in DIALECT_MODULES:
        find_dialect(name)
    return [_loaded[name] for name in sorted(_loaded)]


def materialize_constant(builder: Builder, value: Attribute, type: Type, dialect_name: str) -> Value | None:
    """A constant of that value through the dialect's hook (arith's where it has none)."""
    for name in (dialect_name, "arith"):
        dialect = find_dialect(name)
        if dialect is not None and dialect.materialize is not None:
            op = dialect.materialize(builder, value, type)
            if op is not None:
                return op.results[0]
    return None
