"""Lowering of ops on scalars to llvm ops, and their placement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from tessera_tools.dialects import llvm
from tessera_tools.dialects.arith.attributes import FastMathFlagsAttr
from tessera_tools.dialects.llvm.attributes import FastmathFlagsAttr
from tessera_tools.dialects.nvvm.attributes import VoteSyncKindAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I1, IntegerType
from tessera_tools.passes.llvm.emitter import Emitter

Scalar = Callable[[Emitter, Operation, Sequence[Value], Type], Value]
"""(emitter, source op, operands, result type) → result."""

_PURE_INTEGER = (
    llvm.Add, llvm.Sub, llvm.Mul, llvm.And, llvm.Or, llvm.XOr, llvm.Shl, llvm.AShr, llvm.LShr, llvm.SExt, llvm.ZExt,
    llvm.Trunc, llvm.Select,
)  # fmt: skip
"""llvm ops on integers that are safe to hoist and share."""


def fastmath_of(op: Operation) -> frozenset[str]:
    """The flags of an op's `fastmath`; empty if it has none."""
    found = op.attributes.get("fastmath")
    return found.flags if isinstance(found, FastMathFlagsAttr) else frozenset()


def place(
    e: Emitter, cls: type[Operation], operands: Sequence[Value], type: Type, flags: Iterable[str] = ()
) -> Value:
    """Emit an op of a class: shared and hoisted if it is safe integer arithmetic, otherwise at the current position.

    flags: fast-math flags.
    """
    attributes: dict[str, Attribute] = {"fastmathFlags": FastmathFlagsAttr.of(*flags)} if flags else {}

    def make() -> Operation:
        return cls.create(operands, [type], attributes, location=e.location)

    if cls in _PURE_INTEGER and isinstance(type, IntegerType):
        # The key that the emitter's own arithmetic has.
        return e.pure(cls if operands[0].type is type else (cls, type), operands, make)
    return e.emit(make()).results[0]


def intrinsic(
    e: Emitter, name: str, operands: Sequence[Value], type: Type, flags: Iterable[str] = ()
) -> Value:
    """An LLVM intrinsic at the current position; the type suffixes of an overloaded name may be omitted."""
    call = llvm.CallIntrinsic(StringAttr(name), list(operands), output=type)
    if flags:
        call.attributes["fastmathFlags"] = FastmathFlagsAttr.of(*flags)
    return e.emit(call).results[0]


@contextmanager
def only_where(e: Emitter, condition: Value | None) -> Iterator[None]:
    """What is emitted inside runs only where the condition holds: a branch skips it.  None is always."""
    if condition is None:
        yield
        return
    then, after = e.new_block(), e.new_block()
    e.open(e.emit(llvm.CondBr(condition, [], [], true_dest=then, false_dest=after)))
    e.block = then
    yield
    e.emit(llvm.Br([], dest=after))
    e.close()
    e.block = after


def in_any_lane(e: Emitter, condition: Value) -> Value:
    """Whether the condition holds in a lane of the warp."""
    return e.nvvm("vote.sync", [e.constant(-1), condition], (I1,), kind=VoteSyncKindAttr("any")).results[0]


def guarded(
    e: Emitter, condition: Value | None, otherwise: Sequence[Value], body: Callable[[], Sequence[Value]]
) -> list[Value]:
    """The values of `body()` if the condition is true, `otherwise` elsewhere; a branch skips the body.

    None is always.
    """
    if condition is None:
        return list(body())
    then, after = e.new_block(), e.new_block([v.type for v in otherwise])
    e.open(e.emit(llvm.CondBr(condition, [], list(otherwise), true_dest=then, false_dest=after)))
    e.block = then
    e.emit(llvm.Br(list(body()), dest=after))
    e.close()
    e.block = after
    return list(after.arguments)
