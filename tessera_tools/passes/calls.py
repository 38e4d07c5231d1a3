"""The functions of which every call is known: what a pass may change together with its callers."""

from __future__ import annotations

from tessera_tools.dialects.func import Call, Func
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import is_symbol_table, symbol_name, symbol_references

__all__ = ["known_calls"]


def known_calls(root: Operation) -> dict[Func, list[Call]]:
    """The private functions of a module that have bodies and are only called, each with all of its calls; none for
    any other op."""
    if root.name != "builtin.module":
        return {}
    functions: dict[str, Func] = {}
    for block in root.regions[0].blocks:
        for op in block:
            name = symbol_name(op)
            visibility = op.attributes.get("sym_visibility")
            private = visibility is not None and getattr(visibility, "value", "") == "private"
            if name is not None and isinstance(op, Func) and private and op.regions[0].blocks:
                functions[name] = op
    calls: dict[Func, list[Call]] = {op: [] for op in functions.values()}
    for op in root.walk():
        for reference in (found for value in op.attributes.values() for found in symbol_references(value)):
            function = functions.get(reference.root)
            if function is None:
                continue
            if isinstance(op, Call) and reference is op.callee and _symbol_table_of(op) is root:
                calls.get(function, []).append(op)
            else:
                calls.pop(function, None)
    return calls


def _symbol_table_of(op: Operation) -> Operation | None:
    """The op whose symbols a reference in `op` means first."""
    table = op.parent_op
    while table is not None and not is_symbol_table(table):
        table = table.parent_op
    return table
