"""`cuda-tile-rename-symbol`: renames a kernel or global, in its uses and in its debug information.

entry @k … loc(di_loc<… in #k>)   ──▶   entry @_Z1k … loc(di_loc<… in #z>)
#k = di_subprogram<… name = "k", linkageName = "k" …>   ──▶   #z = …linkageName = "_Z1k"…
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tessera_tools.dialects.cuda_tile.debug_info import DILexicalBlockAttr, DILocAttr, DISubprogramAttr
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import CallSiteLoc, FusedLoc, Location, NameLoc
from tessera_tools.ir.symbols import (
    SymbolTable,
    is_symbol_table,
    nearest_symbol_table,
    replace_all_symbol_uses,
)
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.records import dataclass

__all__ = ["CudaTileRenameSymbol"]


@dataclass(frozen=True)
class CudaTileRenameSymbol(Pass):
    """Rename one symbol; the subprogram of its location gets the new linkage name, everywhere."""

    name = "cuda-tile-rename-symbol"
    summary = "rename a kernel or global, and its linkage name"
    statistics: ClassVar[Mapping[str, str]] = {"num-renamed": "Number of symbols renamed"}

    symbol_to_rename: str = option("", "the symbol, outermost first: outer::inner")
    scope: str = option("", "the op whose locations are updated, given the same way (default: all)")
    new_name: str = option("", "the new name of the innermost symbol")
    update_uses: bool = option(False, "update references to the symbol")

    def run(self, op: Operation, context: PassContext) -> bool:
        if not self.symbol_to_rename or not self.new_name:
            raise PassFailure("expected the options symbol-to-rename and new-name", op.location)
        symbol = _find(op, self.symbol_to_rename)
        scope = _find(op, self.scope) if self.scope else op
        if scope is not symbol and not scope.is_ancestor_of(symbol):
            failure = PassFailure(
                "attempted to update symbol names in a scope that did not enclose the symbol itself",
                symbol.location,
            )
            failure.diagnostics[0].note("scope defined here", scope.location)
            raise failure
        table = nearest_symbol_table(symbol.parent_op)
        if table is not None and SymbolTable(table).lookup(self.new_name) not in (None, symbol):
            raise PassFailure(
                f"a symbol named '{self.new_name}' already exists in the same symbol table", symbol.location
            )
        if self.update_uses:
            replace_all_symbol_uses(symbol, self.new_name)
        symbol.attributes["sym_name"] = StringAttr(self.new_name)
        old = symbol.location.scope if isinstance(symbol.location, DILocAttr) else None
        if isinstance(old, DISubprogramAttr):
            new = DISubprogramAttr(
                old.file, old.line, old.label, self.new_name, old.compile_unit, old.scope_line
            )
            known: dict[Any, Any] = {old: new}
            for inner in (scope, *scope.walk()):
                inner.location = _replaced(inner.location, known)
                for argument in (
                    a for region in inner.regions for block in region.blocks for a in block.arguments
                ):
                    argument.location = _replaced(argument.location, known)
        context.count("num-renamed")
        return True


def _find(op: Operation, path: str) -> Operation:
    """The symbol with the path `outer::inner` below `op`."""
    found = op
    for name in path.split("::"):
        inner = SymbolTable(found).lookup(name) if is_symbol_table(found) else None
        if inner is None:
            raise PassFailure(f"could not find symbol op with name '{path}'", op.location)
        found = inner
    return found


def _replaced(part: Any, known: dict[Any, Any]) -> Any:
    """A location or scope with parts replaced as given by `known`."""
    if part not in known:
        made = part
        if isinstance(part, DILocAttr):
            made = DILocAttr(part.source, _replaced(part.scope, known))
        elif isinstance(part, DILexicalBlockAttr):
            made = DILexicalBlockAttr(_replaced(part.scope, known), part.file, part.line, part.column)
        elif isinstance(part, NameLoc):
            made = NameLoc(part.label, _replaced(part.child, known))
        elif isinstance(part, CallSiteLoc):
            made = CallSiteLoc(_replaced(part.callee, known), _replaced(part.caller, known))
        elif isinstance(part, FusedLoc):
            inside: tuple[Location, ...] = tuple(_replaced(child, known) for child in part.locations)
            made = FusedLoc(inside, _replaced(part.metadata, known) if part.metadata is not None else None)
        known[part] = made
    return known[part]
