"""One op on scalars: how it is made of llvm ops, and where these are placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import IntegerType
from tessera_tools.passes.llvm.emitter import Emitter

Scalar = Callable[[Emitter, Operation, Sequence[Value], Type], Value]
"""(emitter, source op, operands, result type) → result."""

_PURE_INTEGER = (
    llvm.Add, llvm.Sub, llvm.Mul, llvm.And, llvm.Or, llvm.XOr, llvm.Shl, llvm.AShr, llvm.LShr, llvm.SExt, llvm.ZExt,
    llvm.Trunc, llvm.Select,
)  # fmt: skip
"""llvm ops on integers that are safe to hoist and share."""


def place(e: Emitter, cls: Any, operands: Sequence[Value], type: Type) -> Value:
    """Emit an op of a class: shared and hoisted if it is safe integer arithmetic, else here."""

    def make() -> Any:
        return cls.create(operands, [type], {}, location=e.location)

    if cls in _PURE_INTEGER and isinstance(type, IntegerType):
        return e.pure((cls, type), operands, make)
    return e.emit(make()).results[0]


def intrinsic(e: Emitter, name: str, operands: Sequence[Value], type: Type) -> Value:
    """An LLVM intrinsic by its name, here; an overloaded name may be left without its types."""
    return e.emit(llvm.CallIntrinsic(StringAttr(name), list(operands), output=type)).results[0]


def guarded(
    e: Emitter, condition: Value, otherwise: Sequence[Value], body: Callable[[], Sequence[Value]]
) -> list[Value]:
    """The values that `body()` computes where the condition holds, `otherwise` elsewhere; a branch skips the body."""
    then, after = e.new_block(), e.new_block([v.type for v in otherwise])
    e.open(e.emit(llvm.CondBr(condition, [], list(otherwise), true_dest=then, false_dest=after)))
    e.block = then
    e.emit(llvm.Br(list(body()), dest=after))
    e.close()
    e.block = after
    return list(after.arguments)
