"""`synthesize-debug-info-scopes`: adds the scopes that line tables need to kernels that only have source positions.

    entry @k … loc("k.py":3:1)  ──▶  entry @k … loc(di_loc<"k.py":3:1 in di_subprogram<file = "k.py", line = 3, …>>)

An operation without a position gets the position of its kernel.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, ClassVar

from tessera_tools.dialects.cuda_tile.debug_info import (
    DICompileUnitAttr,
    DIFileAttr,
    DILocAttr,
    DISubprogramAttr,
)
from tessera_tools.dialects.cuda_tile.structure import Module
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import CallSiteLoc, FileLineColLoc, FileRangeLoc, FusedLoc, Location, NameLoc
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.passes.base import Pass, PassContext

__all__ = ["SynthesizeDebugInfoScopes"]

UNKNOWN_FILE = DIFileAttr("<unknown>", "")


class SynthesizeDebugInfoScopes(Pass):
    """Give each kernel a subprogram in a compile unit of the module, and each of its operations a position in it.

    Kernels whose location already has a scope are not changed.
    """

    name = "synthesize-debug-info-scopes"
    title = "SynthesizeDebugInfoScopesPass"
    summary = "create debug info scopes from source locations"
    ensures = "every operation of every kernel has a position in a scope"
    statistics: ClassVar[Mapping[str, str]] = {"num-scopes": "Number of subprograms created"}

    def run(self, op: Operation, context: PassContext) -> bool:
        modules = (
            [op] if isinstance(op, Module) else [inner for inner in op.walk() if isinstance(inner, Module)]
        )
        made = sum(_module(module) for module in modules)
        context.count("num-scopes", made)
        return made > 0


def _module(module: Any) -> int:
    position = file_position(module.location)
    unit = DICompileUnitAttr(_file(position) if position is not None else UNKNOWN_FILE)
    functions = [op for op in module.body.entry.operations if op.attributes.get("function_type") is not None]
    return sum(_function(function, unit) for function in functions)


def _function(function: Operation, unit: DICompileUnitAttr) -> int:
    """Give one function a subprogram; 0 if it already has a scope."""
    if _has_scope(function.location):
        return 0
    position = file_position(function.location)
    file, line = (unit.file, 1) if position is None else (_file(position), position.line)
    if position is None:
        position = FileLineColLoc(file.file_name, 1, 1)
    name = symbol_name(function) or ""
    scope = DISubprogramAttr(file, line, name, name, unit, line)
    for op in (function, *function.walk()):
        op.location = DILocAttr(file_position(op.location) or position, scope)
    return 1


def _file(position: FileLineColLoc) -> DIFileAttr:
    folder, name = posixpath.split(position.file)
    return DIFileAttr(name, folder)


def _has_scope(location: Location) -> bool:
    if isinstance(location, DILocAttr):
        return True
    if isinstance(location, NameLoc):
        return _has_scope(location.child)
    if isinstance(location, CallSiteLoc):
        return _has_scope(location.callee) or _has_scope(location.caller)
    return isinstance(location, FusedLoc) and any(map(_has_scope, location.locations))


def file_position(location: Location) -> FileLineColLoc | None:
    """The file position of a location: for a call, that of the caller; for several, the first."""
    if isinstance(location, FileLineColLoc):
        return location
    if isinstance(location, FileRangeLoc):
        return FileLineColLoc(location.file, location.line, location.column)
    if isinstance(location, DILocAttr):
        return location.source
    if isinstance(location, NameLoc):
        return file_position(location.child)
    if isinstance(location, CallSiteLoc):
        return file_position(location.caller)
    if isinstance(location, FusedLoc):
        return next((child for child in location.locations if isinstance(child, FileLineColLoc)), None)
    return None
