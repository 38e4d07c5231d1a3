"""Constraints on the types of operands and results.

A `TypeConstraint` defines the accepted types, with a description for error messages.  Two kinds also *infer*:
`same_as("lhs")` is the type of another field, `derived("…", function, "lhs", …)` a function of other fields' types.
The assembly format only needs the types that cannot be inferred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tessera_tools.ir.attributes import Type, TypeT_co
from tessera_tools.ir.types import (
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    RankedTensorType,
    UnrankedTensorType,
    VectorType,
    element_type,
)

OtherT = TypeVar("OtherT", bound=Type)


class TypeConstraint(Generic[TypeT_co]):
    """Accepts a type or not; `summary` is the noun phrase of the error message ("floating-point-like")."""

    __slots__ = ("_accepted", "predicate", "summary")

    def __init__(self, summary: str, predicate: Callable[[Type], bool]) -> None:
        self.summary = summary
        self.predicate = predicate
        self._accepted: dict[Type, bool] = {}

    def accepts(self, type: Type) -> bool:
        """True if the type is accepted; cached per type."""
        known = self._accepted.get(type)
        if known is None:
            known = self._accepted[type] = self.predicate(type)
        return known

    def __or__(self, other: TypeConstraint[OtherT]) -> TypeConstraint[TypeT_co | OtherT]:
        return TypeConstraint(
            f"{self.summary} or {other.summary}", lambda t: self.accepts(t) or other.accepts(t)
        )

    def __and__(self, other: TypeConstraint) -> TypeConstraint[TypeT_co]:
        return TypeConstraint(
            f"{self.summary} and {other.summary}", lambda t: self.accepts(t) and other.accepts(t)
        )


class SameAs(TypeConstraint[Any]):
    """The type of another field of the op (of its first value, if that is variadic)."""

    __slots__ = ("field",)

    def __init__(self, field: str) -> None:
        super().__init__(f"the type of '{field}'", lambda _: True)
        self.field = field


class Derived(TypeConstraint[Any]):
    """The type that `function` computes from the types of `fields` (a list of types for a variadic field).

    `function` returns None when the fields' types do not determine it; the verifier then reports `summary`.
    """

    __slots__ = ("base", "fields", "function", "rule")

    def __init__(
        self,
        summary: str,
        function: Callable[..., Type | None],
        *fields: str,
        base: TypeConstraint | None = None,
        rule: str = "",
    ) -> None:
        super().__init__(summary, lambda _: True)
        self.function = function
        self.fields = fields
        self.base = base
        self.rule = rule


def same_as(field: str) -> SameAs:
    """The type of another field."""
    return SameAs(field)


def derived(
    summary: str,
    function: Callable[..., Type | None],
    *fields: str,
    base: TypeConstraint | None = None,
    rule: str = "",
) -> Derived:
    """A type computed from other fields' types.

    A type that `base` does not accept is rejected with its message; `rule`, if given, is the verifier's message
    for other types ("failed to verify that …").
    """
    return Derived(summary, function, *fields, base=base, rule=rule)


def exactly(type: OtherT) -> TypeConstraint[OtherT]:
    """A single type; also inferred if the format omits it."""
    return Exactly(type)


class Exactly(TypeConstraint[OtherT]):
    """A single type."""

    __slots__ = ("type",)

    def __init__(self, type: OtherT) -> None:
        super().__init__(str(type), lambda t: t is type)
        self.type = type


def of(*classes: type[OtherT], summary: str | None = None) -> TypeConstraint[OtherT]:
    """Any type of the given classes."""
    text = summary or " or ".join(c.__name__ for c in classes)
    return TypeConstraint(text, lambda t: isinstance(t, classes))


def like(element: TypeConstraint, summary: str | None = None) -> TypeConstraint:
    """A scalar that `element` accepts, or a vector or tensor of such."""

    def accepts(type: Type) -> bool:
        if isinstance(type, VectorType | RankedTensorType | UnrankedTensorType):
            return element.accepts(type.element)
        return element.accepts(type)

    return TypeConstraint(summary or f"{element.summary}-like", accepts)


def container_of(
    container: type[OtherT], element: TypeConstraint, summary: str | None = None
) -> TypeConstraint[OtherT]:
    """A shaped type of one class whose elements `element` accepts."""

    def accepts(type: Type) -> bool:
        return isinstance(type, container) and element.accepts(element_type(type))

    return TypeConstraint(summary or f"{container.__name__} of {element.summary} values", accepts)


ANY_TYPE = TypeConstraint("any type", lambda _: True)
SIGNLESS_INTEGER = TypeConstraint(
    "signless integer", lambda t: isinstance(t, IntegerType) and t.signedness == "signless"
)
ANY_INTEGER = of(IntegerType, summary="integer")
ANY_FLOAT = of(FloatType, summary="floating-point")
ANY_INDEX = of(IndexType, summary="index")
INTEGER_OR_INDEX = SIGNLESS_INTEGER | ANY_INDEX
ANY_VECTOR = of(VectorType, summary="vector of any type values")
ANY_TENSOR = of(RankedTensorType, UnrankedTensorType, summary="tensor of any type values")
ANY_RANKED_TENSOR = of(RankedTensorType, summary="ranked tensor of any type values")
ANY_MEMREF = of(MemRefType, summary="memref of any type values")
FLOAT_LIKE = like(ANY_FLOAT, "floating-point-like")
SIGNLESS_INTEGER_LIKE = like(INTEGER_OR_INDEX, "signless-integer-like")
BOOL_LIKE = like(
    TypeConstraint("1-bit signless integer", lambda t: isinstance(t, IntegerType) and t.width == 1),
    "bool-like",
)
