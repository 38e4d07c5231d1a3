"""The IR: operations, values, blocks and regions, types and attributes, and the code that checks and changes them.

    attributes, types, builtin_attributes, location   immutable values
    core                                              the program itself, and its builder
    verifier, dominance, symbols, effects             queries
    rewriter, greedy, folding                         rewriting

The package exports what most users need (`from tessera_tools.ir import Operation, Builder`). A name is imported on
first use, so importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tessera_tools.ir.attributes import Attribute, Type
    from tessera_tools.ir.core import (
        Block,
        BlockArgument,
        Builder,
        InsertionPoint,
        IRMapping,
        Operation,
        OpOperand,
        OpResult,
        Region,
        UnregisteredOp,
        Value,
    )
    from tessera_tools.ir.dominance import DominanceInfo
    from tessera_tools.ir.greedy import GreedyResult, apply_greedily
    from tessera_tools.ir.location import UNKNOWN, Location
    from tessera_tools.ir.rewriter import Listener, RewritePattern, Rewriter
    from tessera_tools.ir.symbols import SymbolTable, SymbolTables
    from tessera_tools.ir.verifier import verify, verify_or_raise

_HOMES = {
    "attributes": ("Attribute", "Type"),
    "core": (
        "Block", "BlockArgument", "Builder", "InsertionPoint", "IRMapping", "Operation", "OpOperand", "OpResult",
        "Region", "UnregisteredOp", "Value",
    ),
    "dominance": ("DominanceInfo",),
    "greedy": ("GreedyResult", "apply_greedily"),
    "location": ("UNKNOWN", "Location"),
    "rewriter": ("Listener", "RewritePattern", "Rewriter"),
    "symbols": ("SymbolTable", "SymbolTables"),
    "verifier": ("verify", "verify_or_raise"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "UNKNOWN",
    "Attribute",
    "Block",
    "BlockArgument",
    "Builder",
    "DominanceInfo",
    "GreedyResult",
    "IRMapping",
    "InsertionPoint",
    "Listener",
    "Location",
    "OpOperand",
    "OpResult",
    "Operation",
    "Region",
    "RewritePattern",
    "Rewriter",
    "SymbolTable",
    "SymbolTables",
    "Type",
    "UnregisteredOp",
    "Value",
    "apply_greedily",
    "verify",
    "verify_or_raise",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
