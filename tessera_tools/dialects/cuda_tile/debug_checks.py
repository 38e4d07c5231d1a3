"""Consistency checks of a module's debug information: scopes must belong to their kernels.

    entry @k … loc(di_loc<… in #sub>)     #sub is a subprogram whose linkage name is "k"
      op loc(di_loc<… in #block>)         #block is nested in #sub
    global @g … loc("k.py":1:1)           no scope

The rules are those of the reference's DebugInfoVerifier (CudaTile.cpp of NVIDIA/cuda-tile).
"""

from __future__ import annotations

from tessera_tools.dialects.cuda_tile.debug_info import (
    DILexicalBlockAttr,
    DILocalScopeAttr,
    DILocAttr,
    DISubprogramAttr,
)
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import CallSiteLoc, FusedLoc, Location, NameLoc
from tessera_tools.ir.symbols import symbol_name


def di_loc(location: Location) -> DILocAttr | None:
    """The position with a scope of a location: for a call, that of the caller; for several, the first."""
    while True:
        if isinstance(location, DILocAttr):
            return location
        if isinstance(location, CallSiteLoc):
            location = location.caller
        elif isinstance(location, NameLoc):
            location = location.child
        elif isinstance(location, FusedLoc):
            return next((found for child in location.locations if (found := di_loc(child)) is not None), None)
        else:
            return None


def subprogram_of(scope: DILocalScopeAttr) -> DISubprogramAttr | None:
    """The subprogram of a scope."""
    while isinstance(scope, DILexicalBlockAttr):
        scope = scope.scope
    return scope if isinstance(scope, DISubprogramAttr) else None


def check_function(op: Operation) -> None:
    """A kernel's own scope, and those of what is in it. Raises DiagnosticError."""
    if isinstance(op.location, CallSiteLoc):
        raise op.error(
            f"invalid function debug info location: {op.location}. Function location must not be a CallSiteLoc."
        )
    place = di_loc(op.location)
    subprogram = None
    if place is not None:
        subprogram = place.scope
        if not isinstance(subprogram, DISubprogramAttr):
            raise op.error(
                f"invalid function debug info scope: {subprogram}. Function location must have "
                "cuda_tile.di_subprogram debug info scope."
            )
        if subprogram.linkage_name != symbol_name(op):
            raise op.error(
                f'invalid function debug info scope: {subprogram}. Function name "{symbol_name(op)}" does not match '
                f'subprogram scope linkage name "{subprogram.linkage_name}".'
            )
    for inner in op.walk():
        found = di_loc(inner.location)
        scope = subprogram_of(found.scope) if found is not None else None
        if scope is None or scope is subprogram:
            continue
        if subprogram is None:
            raise inner.error(
                f"invalid operation debug info scope: {scope}. Operation has debug info scope, but function debug "
                "info scope is undefined."
            )
        raise inner.error(
            f"invalid operation debug info scope: {scope}. Operation debug info scope does not match function debug "
            f"info scope: {subprogram}."
        )


def check_module(op: Operation) -> None:
    """Check that ops other than kernels have no scope. Raises DiagnosticError."""
    for inner in (inner for block in op.regions[0].blocks for inner in block.operations):
        if inner.attributes.get("function_type") is None and (found := di_loc(inner.location)) is not None:
            raise inner.error(
                f"invalid operation debug info scope: {found}. Global variables must not have scope."
            )
