"""Atomic updates of one element of a buffer."""

from __future__ import annotations

from tessera_tools.dialects.memref.buffers import element_of
from tessera_tools.ir.core import Operation
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import FloatType, IntegerType
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_MEMREF,
    PURE,
    SINGLE_BLOCK,
    TERMINATOR,
    HasParent,
    MemoryEffects,
    Op,
    Reach,
    TypeConstraint,
    attribute,
    derived,
    integer_enum,
    operand,
    read,
    region,
    result,
    same_as,
    variadic_operand,
    write,
)

ATOMIC_KINDS = (
    "addf", "addi", "andi", "assign", "maximumf", "maxnumf", "maxs", "maxu", "minimumf", "minnumf", "mins", "minu",
    "mulf", "muli", "ori", "xori",
)  # fmt: skip
"""The ways to combine the old and the new value, in the order of their numbers."""
_OF_FLOATS = ("addf", "maximumf", "maxnumf", "minimumf", "minnumf", "mulf")

_NUMBER = TypeConstraint(
    "signless integer or floating-point",
    lambda t: isinstance(t, FloatType) or (isinstance(t, IntegerType) and t.signedness == "signless"),
)
_EFFECTS = MemoryEffects(read("memref", reach=Reach.BY_THREAD), write("memref", reach=Reach.BY_THREAD))


class AtomicRMW(Op, name="memref.atomic_rmw", traits=(_EFFECTS,)):
    """Combines an element with a value in one step; the result is the old element."""

    kind = attribute(integer_enum("atomic operation", {word: i for i, word in enumerate(ATOMIC_KINDS)}))
    value = operand(_NUMBER)
    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    result = result(same_as("value"))
    assembly = (
        "$kind $value `,` $memref `[` $indices `]` attr-dict `:` `(` type($value) `,` type($memref) `)` `->` "
        "type($result)"
    )

    def verify_op(self) -> None:
        if len(self.indices) != len(self.memref.type.shape):
            raise self.error("expects the number of subscripts to be equal to memref rank")
        if self.memref.type.element is not self.value.type:
            raise self.error("failed to verify that value type matches element type of memref")
        kind = ATOMIC_KINDS[self.kind.value]
        if kind in _OF_FLOATS and not isinstance(self.value.type, FloatType):
            raise self.error(f"with kind '{kind}' expects a floating-point type")
        if kind not in (*_OF_FLOATS, "assign") and not isinstance(self.value.type, IntegerType):
            raise self.error(f"with kind '{kind}' expects an integer type")


class GenericAtomicRMW(Op, name="memref.generic_atomic_rmw", traits=(_EFFECTS, SINGLE_BLOCK)):
    """Replaces an element by what its region computes from it, in one step; the result is the old element."""

    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    result = result(derived("the element type of 'memref'", element_of, "memref"))
    body = region()
    assembly = "$memref `[` $indices `]` `:` type($memref) $body attr-dict"

    def verify_op(self) -> None:
        if len(self.indices) != len(self.memref.type.shape):
            raise self.error("expects the number of subscripts to be equal to memref rank")
        arguments = self.body.entry.arguments
        if len(arguments) != 1:
            raise self.error("expected single number of entry block arguments")
        if arguments[0].type is not self.result.type:
            raise self.error("expected block argument of the same type result type")
        for op in self.body.entry:
            if not is_pure(op):
                raise op.error(
                    "has effects; the body of 'memref.generic_atomic_rmw' should contain only operations with no side "
                    "effects"
                )


class AtomicYield(
    Op, name="memref.atomic_yield", traits=(TERMINATOR, PURE, HasParent("memref.generic_atomic_rmw"))
):
    """The new element."""

    result = operand()
    assembly = "$result attr-dict `:` type($result)"

    def verify_op(self) -> None:
        parent: Operation | None = self.parent_op
        if isinstance(parent, GenericAtomicRMW) and parent.result.type is not self.result.type:
            raise self.error(
                f"types mismatch between yield op: '{self.result.type}' and its parent: '{parent.result.type}'"
            )
