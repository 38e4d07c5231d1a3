"""Dialects, and the lazy registry that finds them by prefix.

`tessera_tools.dialects` holds one module (or folder) per dialect with a module-level `DIALECT = Dialect(…)`;
the module is imported on the first use of one of its ops, types or attributes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Operation
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.rewriter import RewritePattern
from tessera_tools.opdef.attribute_rules import OpRule, ParameterRule
from tessera_tools.opdef.op import Op
from tessera_tools.records import dataclass, field

AttributeT = TypeVar("AttributeT", bound=Attribute)


@dataclass(slots=True)
class Dialect:
    """One dialect.

    types, attributes: by the word after the dot (`!name.word`, `#name.word`); each class has a classmethod
    `parse(scanner)` that parses the text after that word, and `text()`.
    make_constant: creates a detached constant op for (attribute, type), or None; used by folding.
    upgrade: converts older spellings of the dialect in a parsed module to current ops.
    op_attributes, parameter_attributes: the rules of the dialect's attributes on the ops of others, and on the
    parameters and results of functions, by full name.
    rules: identities of the ops, in the language of `dialects/arith/rule_text.py`; `canonicalize` applies them.
    canonicalizers: the module whose `canonicalizers` are the patterns of the ops; `patterns` imports it.
    is_complete: every op of the dialect is declared, so an unknown one is an error even if unregistered ops are
    allowed.
    inline_ok: the inliner may move this dialect's ops to other functions; or whether it may move an op.
    """

    name: str
    summary: str
    ops: dict[str, type[Op]]
    types: dict[str, type[Type]] = field(default_factory=dict)
    attributes: dict[str, type[Attribute]] = field(default_factory=dict)
    make_constant: Callable[[Attribute, Type], Operation | None] | None = None
    rules: str = ""
    canonicalizers: str = ""
    is_complete: bool = False
    inline_ok: bool | Callable[[Operation], bool] = True
    upgrade: Callable[[Operation], object] | None = None
    op_attributes: Mapping[str, OpRule] = field(default_factory=dict)
    parameter_attributes: Mapping[str, ParameterRule] = field(default_factory=dict)

    def patterns(self) -> Sequence[RewritePattern]:
        """The patterns by which `canonicalize` simplifies the dialect's ops."""
        found = importlib.import_module(self.canonicalizers).canonicalizers if self.canonicalizers else ()
        return [pattern() if isinstance(pattern, type) else pattern for pattern in found]


def ops_of(*modules: ModuleType | dict[str, Any]) -> dict[str, type[Op]]:
    """Every op class defined in the given namespaces (modules or dicts), by full name, in definition order.

    Raises ValueError if two classes have one name.
    """
    found: Registry[type[Op]] = Registry("class")
    for module in modules:
        namespace = module if isinstance(module, dict) else vars(module)
        for value in namespace.values():
            if not isinstance(value, type) or not issubclass(value, Op) or not value.name:
                continue
            # A class that another module imports is the same entry.
            if found.get(value.name) is not value:
                found[value.name] = value
    return found


def by_word(*classes: type[AttributeT]) -> dict[str, type[AttributeT]]:
    """Type or attribute classes by the part of their name after the dialect's. ValueError if two have one name."""
    found: Registry[type[AttributeT]] = Registry("class")
    for cls in classes:
        found[cls.name.split(".", 1)[1]] = cls
    return found


_loaded: dict[str, Dialect] = {}


@contextmanager
def loaded_dialects(dialects: Iterable[Dialect]) -> Iterator[None]:
    """Let `find_dialect` find these dialects, which have no module, until the `with` block ends."""
    added = {dialect.name: dialect for dialect in dialects}
    _loaded.update(added)
    try:
        yield
    finally:
        for name in added:
            del _loaded[name]


def find_dialect(name: str) -> Dialect | None:
    """The dialect with that name, imported on first use; None if there is none."""
    dialect = _loaded.get(name)
    if dialect is None:
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
    """Convert older spellings of the loaded dialects in a parsed module."""
    for dialect in list(_loaded.values()):
        if dialect.upgrade is not None:
            dialect.upgrade(module)


def all_dialects() -> Iterable[Dialect]:
    """Every registered dialect, imported; in alphabetical order."""
    from tessera_tools.opdef.registry import DIALECT_MODULES

    for name in DIALECT_MODULES:
        find_dialect(name)
    return [_loaded[name] for name in sorted(_loaded)]


def constant_for(op: Operation, value: Attribute, type: Type) -> Operation | None:
    """A detached constant of that value for the use of `op`, of its dialect, otherwise of `arith`."""
    for name in (op.name.partition(".")[0], "arith"):
        dialect = find_dialect(name)
        made = dialect.make_constant(value, type) if dialect is not None and dialect.make_constant else None
        if made is not None:
            return made
    return None
