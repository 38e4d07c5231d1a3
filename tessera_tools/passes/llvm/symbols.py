"""Symbols of a module that kernels need: texts, and the functions of the driver (CUDA's "PTX Writer's
Guide to Interoperability", "System Calls")."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import ArrayType, FunctionType, PointerType, VoidType
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr, SymbolRefAttr, TypeAttr, i32
from tessera_tools.ir.core import Operation, Region, Value
from tessera_tools.ir.symbols import SymbolTable
from tessera_tools.ir.types import I8, I32, I64
from tessera_tools.passes.llvm.emitter import Emitter

GENERIC = PointerType(0)
"""`!llvm.ptr`: a generic address."""
_GLOBAL = PointerType(1)
_SYSTEM_CALLS: dict[str, tuple[tuple[Type, ...], Type | None]] = {
    "vprintf": ((GENERIC, GENERIC), I32),
    "__assertfail": ((GENERIC, GENERIC, I32, GENERIC, I64), None),
    "malloc": ((I64,), GENERIC),
    "free": ((GENERIC,), None),
}
"""Name → the types of its parameters and of its result."""


class Symbols:
    """The texts and declarations used by the kernels of one module."""

    def __init__(self, module: Operation) -> None:
        self.module = module
        self.table = SymbolTable(module)
        self._texts: dict[str, str] = {}
        self._declared: dict[str, Operation] = {}

    def text(self, e: Emitter, text: str) -> Value:
        """The generic address of a text that ends with a NUL."""
        name = self._texts.get(text)
        if name is None:
            name = self._texts[text] = self._add_text(text)
        place = e.address_of(name, _GLOBAL)
        return e.pure("generic", (place,), lambda: llvm.AddrSpaceCast(place, res=GENERIC))

    def call(self, e: Emitter, op: Operation, name: str, operands: Sequence[Value]) -> list[Value]:
        """Call a function of the driver; `op` is the requesting op."""
        inputs, result = _SYSTEM_CALLS[name]
        if name not in self._declared:
            self._declare(op, name, inputs, result)
        call = llvm.Call(
            callee=SymbolRefAttr(name), callee_operands=operands, op_bundle_operands=(), result=result
        )
        return list(e.emit(call).results)

    def _add_text(self, text: str) -> str:
        held = text + "\0"
        size = len(held.encode("utf-8", "surrogateescape"))
        attributes: dict[str, Attribute] = {
            "global_type": TypeAttr(ArrayType(size, I8)),
            "constant": UNIT,
            "sym_name": StringAttr("text"),
            "linkage": llvm.LinkageAttr("internal"),
            "value": StringAttr(held),
            "addr_space": i32(1),
        }
        made = llvm.Global.create([], [], attributes, [Region()], location=self.module.location)
        return self._insert(made)

    def _declare(self, op: Operation, name: str, inputs: tuple[Type, ...], result: Type | None) -> None:
        taken = self.table.lookup(name)
        if taken is not None:
            raise _clash(op, name, taken)
        type = FunctionType(result or VoidType(), inputs)
        attributes: dict[str, Attribute] = {"sym_name": StringAttr(name), "function_type": TypeAttr(type)}
        made = llvm.LLVMFunc.create([], [], attributes, [Region()], location=self.module.location)
        self._insert(made)
        self._declared[name] = made

    def _insert(self, op: Operation) -> str:
        return self.table.insert(op, self.module.regions[0].entry.first_op)


def _clash(op: Operation, name: str, taken: Operation) -> DiagnosticError:
    failure = op.error(f"needs the driver's function @{name}, but the module defines that name")
    failure.diagnostics[0].note("other definition is here", taken.location)
    return failure
