"""`symbol-privatize`: make the symbols of a symbol table private."""

from __future__ import annotations

from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation, UnregisteredOp
from tessera_tools.ir.symbols import is_symbol_table, symbol_name
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.records import dataclass


@dataclass(frozen=True)
class SymbolPrivatize(Pass):
    """Private symbols may be changed and removed by passes, such as `symbol-dce`."""

    name = "symbol-privatize"
    title = "SymbolPrivatize"
    summary = "mark symbols private"
    requires = "the operation is a symbol table"
    ensures = "every symbol of the table is private, except the excluded ones"

    exclude: tuple[str, ...] = option((), "symbols that keep their visibility (comma-separated)")

    def run(self, op: Operation, context: PassContext) -> bool:
        if not is_symbol_table(op):
            raise op.error("was scheduled to run under SymbolPrivatize, but is not a symbol table")
        private = StringAttr("private")
        changed = False
        for block in op.regions[0].blocks:
            for symbol in block:
                name = symbol_name(symbol) if not isinstance(symbol, UnregisteredOp) else None
                if name is None or name in self.exclude or symbol.attributes.get("sym_visibility") is private:
                    continue
                symbol.attributes["sym_visibility"] = private
                changed = True
        return changed
