"""Dialects and passes of other packages, for `--load-pass-plugin`.

    PLUGIN = Plugin(
        dialects={"toy": "tessera_toy.dialect"},                                # module with a DIALECT
        passes={"toy-fold": ("tessera_toy.fold:ToyFold", "fold toy operations")},  # a subclass of Pass
    )

A package names its plugin as an entry point of the group `tessera_tools.plugins`; examples/plugin is one.  Nothing is
loaded unless the user asks for it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points

from tessera_tools.diagnostics import error
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.passes.table import PASSES, Row
from tessera_tools.records import dataclass, field

__all__ = ["GROUP", "Plugin", "load_plugin"]

GROUP = "tessera_tools.plugins"
"""The group of entry points."""
DEFAULT = "PLUGIN"
"""The name of the plugin in a module."""


@dataclass(frozen=True)
class Plugin:
    """What a package adds."""

    dialects: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name → module with the `DIALECT`, imported at its first use."""
    passes: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Flag → "module:Class" of the pass, imported at its first use, and its summary."""


def load_plugin(name: str) -> None:
    """Register the dialects and passes of a plugin; a second time is without effect.

    name: an entry point; otherwise a Python file, or MODULE[:VARIABLE].
    Raises DiagnosticError if there is no such plugin, or if it uses a name that is taken.
    """
    plugin = _find(name)
    for flag, (where, summary) in plugin.passes.items():
        row = Row(where, summary, package="")
        if PASSES.get(flag, row) != row:
            raise error(None, f"the plugin '{name}' has the pass '{flag}', which exists already")
        PASSES[flag] = row
    for dialect, module in plugin.dialects.items():
        if DIALECT_MODULES.get(dialect, module) != module:
            raise error(None, f"the plugin '{name}' has the dialect '{dialect}', which exists already")
        DIALECT_MODULES[dialect] = module


def _find(name: str) -> Plugin:
    known = {point.name: point for point in entry_points(group=GROUP)}
    try:
        if name in known:
            found = known[name].load()
        elif name.endswith(".py"):
            found = getattr(_from_file(name), DEFAULT, None)
        else:
            module, _, variable = name.partition(":")
            found = getattr(importlib.import_module(module), variable or DEFAULT, None)
    except (Exception, SystemExit) as failure:  # the code of a plugin may raise anything
        there = f"installed plugins: {', '.join(sorted(known))}" if known else "no plugin is installed"
        note = f"expected a plugin, a Python file, or MODULE:VARIABLE; {there}"
        expected = isinstance(failure, ImportError | ValueError | OSError | SyntaxError)
        text, kind = str(failure), type(failure).__name__
        why = text if expected and text else f"{kind}: {text}" if text else kind
        raise error(None, f"the plugin '{name}' cannot be loaded: {why}", note) from None
    if not isinstance(found, Plugin):
        raise error(None, f"'{name}' has no plugin", f"expected {DEFAULT} = Plugin(…), from {__name__}")
    return found


def _from_file(path: str) -> object:
    """The module, or the package of an `__init__.py`, in a file. Modules next to it can be imported."""
    if not os.path.isfile(path):
        raise ImportError(f"there is no file '{path}'")
    folder, file = os.path.split(os.path.abspath(path))
    name = os.path.splitext(file)[0]
    if name == "__init__":
        folder, name = os.path.split(folder)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)
