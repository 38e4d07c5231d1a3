"""The IR: operations, values, blocks and regions, types and attributes, and the means to check and change them.

    attributes, types, builtin_attributes, location   immutable values
    core                                              the program itself, and its builder
    verifier, dominance, symbols, effects             asking
    rewriter, greedy, conversion, folding             changing

What most users need can be taken from here (`from tessera_tools.ir import Operation, Builder`); each name is imported
when it is first asked for, so that the front costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tessera_tools.ir.attributes import Attribute, Type
    from tessera_tools.ir.conversion import (
        ConversionPattern,
        ConversionRewriter,
        ConversionTarget,
        apply_full_conversion,
        apply_partial_conversion,
    )
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
    from tessera_tools.ir.type_converter import SignatureConversion, TypeConverter
    from tessera_tools.ir.verifier import verify, verify_or_raise

_HOMES = {
    "attributes": ("Attribute", "Type"),
    "conversion": (
        "ConversionPattern", "ConversionRewriter", "ConversionTarget", "apply_full_conversion",
        "apply_partial_conversion",
    ),
    "core": (
        "Block", "BlockArgument", "Builder", "InsertionPoint", "IRMapping", "Operation", "OpOperand", "OpResult",
        "Region", "UnregisteredOp", "Value",
    ),
    "dominance": ("DominanceInfo",),
    "greedy": ("GreedyResult", "apply_greedily"),
    "location": ("UNKNOWN", "Location"),
    "rewriter": ("Listener", "RewritePattern", "Rewriter"),
    "symbols": ("SymbolTable", "SymbolTables"),
    "type_converter": ("SignatureConversion", "TypeConverter"),
    "verifier": ("verify", "verify_or_raise"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "UNKNOWN",
    "Attribute",
    "Block",
    "BlockArgument",
    "Builder",
    "ConversionPattern",
    "ConversionRewriter",
    "ConversionTarget",
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
    "SignatureConversion",
    "SymbolTable",
    "SymbolTables",
    "Type",
    "TypeConverter",
    "UnregisteredOp",
    "Value",
    "apply_full_conversion",
    "apply_greedily",
    "apply_partial_conversion",
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
