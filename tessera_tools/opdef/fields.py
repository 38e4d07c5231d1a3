"""The fields of an op class: operands, results, attributes, regions, successors, in declaration order.

Each is a descriptor: the declaration on the class, the value on an operation.

    lhs = operand(FLOAT_LIKE, "left side")           op.lhs -> Value
    indices = variadic_operand(ANY_INDEX)            op.indices -> list[Value]
    mask = optional_operand(BOOL_LIKE)               op.mask -> Value | None
    value = attribute(TYPED_ATTR)                    op.value -> Attribute; `op.value = attr` sets it
    result = result(same_as("lhs"))                  op.result -> OpResult
    body = region()                                  op.body -> Region
    dest = successor()                               op.dest -> Block
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.opdef.attribute_kinds import AttrKind
from tessera_tools.opdef.constraints import ANY_TYPE, TypeConstraint

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.core import Block, Operation, OpResult, Region, Value

FoundT_co = TypeVar("FoundT_co", covariant=True)
"""What an operation has for a field."""
TypeT = TypeVar("TypeT", bound=Type)
AttributeT = TypeVar("AttributeT", bound=Attribute)

Arity = Literal["single", "optional", "variadic"]


class Field(Generic[FoundT_co]):
    """A declared part of an op.  The class sets `name`; `position` is the index among fields of the same kind."""

    __slots__ = ("arity", "doc", "name", "position")

    def __init__(self, arity: Arity, doc: str) -> None:
        self.arity: Arity = arity
        self.doc = doc
        self.name = ""
        self.position = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "read" in vars(cls):
            # Fields are read so often that one more call is seen.
            cls.__get__ = cls.read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.rstrip("_")

    @overload
    def __get__(self, op: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, op: Operation, owner: type | None = None) -> FoundT_co: ...

    def __get__(self, op: Operation | None, owner: type | None = None) -> Any:
        return self.read(op, owner)

    def read(self, op: Any, owner: type | None = None) -> Any:
        """What `op` has for the field; the field itself for None."""
        raise AssertionError


class _ValueField(Field[FoundT_co]):
    """Operands or results; `fixed` is the index if there is no variable field before it, otherwise None."""

    __slots__ = ("before", "constraint", "fixed", "singles", "variable_before")
    segments = ""

    def __init__(self, arity: Arity, constraint: TypeConstraint, doc: str) -> None:
        super().__init__(arity, doc)
        self.constraint = constraint
        self.fixed: int | None = None
        self.before = self.variable_before = self.singles = 0

    def place(self, group: Sequence[Field]) -> None:
        """Keep the field's place among the operands or results of its op, in declaration order."""
        before = [field.arity == "single" for field in group[: self.position]]
        self.before, self.variable_before = before.count(True), before.count(False)
        self.singles = sum(field.arity == "single" for field in group)
        self.fixed = self.position if all(before) and self.arity == "single" else None

    def _pool(self, op: Operation) -> list[Any]:
        raise AssertionError

    def _siblings(self, op: Operation) -> list[Any]:
        raise AssertionError

    def span(self, op: Operation) -> tuple[int, int]:
        """First index and count of this field among the op's operands or results."""
        sizes = op.attributes.get(self.segments)
        if sizes is not None:
            values = getattr(sizes, "values", None)
            if values is not None and len(values) == len(self._siblings(op)):
                return sum(values[: self.position]), values[self.position]
        spare = max(len(self._pool(op)) - self.singles, 0)
        return self.before + self.variable_before * spare, 1 if self.arity == "single" else spare

    def read(self, op: Any, owner: type | None = None) -> Any:
        if op is None:
            return self
        pool = self._pool(op)
        if self.fixed is not None:
            return self._value(pool[self.fixed])
        start, count = self.span(op)
        if self.arity == "variadic":
            return [self._value(item) for item in pool[start : start + count]]
        return self._value(pool[start]) if count else None

    if not TYPE_CHECKING:
        __get__ = read  # a call less for each access

    def _value(self, item: Any) -> Any:
        return item


class OperandField(_ValueField[FoundT_co]):
    """A declared operand."""

    __slots__ = ()
    segments = "operandSegmentSizes"

    def _pool(self, op: Operation) -> list[Any]:
        return op._operands

    def _siblings(self, op: Any) -> list[Any]:
        return op.definition.operands

    def _value(self, item: Any) -> Any:
        return item.value


class ResultField(_ValueField[FoundT_co]):
    """A declared result."""

    __slots__ = ()
    segments = "resultSegmentSizes"

    def _pool(self, op: Operation) -> list[Any]:
        return op.results

    def _siblings(self, op: Any) -> list[Any]:
        return op.definition.results


class AttributeField(Field[FoundT_co]):
    """A declared attribute.  A missing one with a default returns the default (which is not stored)."""

    __slots__ = ("default", "key", "kind")

    def __init__(
        self, kind: AttrKind, optional: bool, default: Attribute | None, key: str | None, doc: str
    ) -> None:
        super().__init__("optional" if optional or default is not None else "single", doc)
        self.kind = kind
        self.default = default
        self.key = key or ""

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.key = self.key or self.name

    def read(self, op: Any, owner: type | None = None) -> Any:
        if op is None:
            return self
        return op.attributes.get(self.key, self.default)

    if not TYPE_CHECKING:
        __get__ = read  # a call less for each access

    def __set__(self, op: Operation, value: Attribute | None) -> None:
        if value is None or value is self.default:
            op.attributes.pop(self.key, None)
        else:
            op.attributes[self.key] = value


class RegionField(Field[FoundT_co]):
    """A declared region."""

    __slots__ = ()

    def read(self, op: Any, owner: type | None = None) -> Any:
        if op is None:
            return self
        if self.arity == "variadic":
            return op.regions[self.position :]
        return op.regions[self.position]

    if not TYPE_CHECKING:
        __get__ = read  # a call less for each access


class SuccessorField(Field[FoundT_co]):
    """A declared successor block."""

    __slots__ = ()

    def read(self, op: Any, owner: type | None = None) -> Any:
        if op is None:
            return self
        if self.arity == "variadic":
            return op.successors[self.position :]
        return op.successors[self.position]

    if not TYPE_CHECKING:
        __get__ = read  # a call less for each access


def operand(constraint: TypeConstraint[TypeT] = ANY_TYPE, doc: str = "") -> OperandField[Value[TypeT]]:
    """One operand."""
    return OperandField("single", constraint, doc)


def optional_operand(
    constraint: TypeConstraint[TypeT] = ANY_TYPE, doc: str = ""
) -> OperandField[Value[TypeT] | None]:
    """No operand or one."""
    return OperandField("optional", constraint, doc)


def variadic_operand(
    constraint: TypeConstraint[TypeT] = ANY_TYPE, doc: str = ""
) -> OperandField[list[Value[TypeT]]]:
    """Any number of operands, each satisfying the constraint."""
    return OperandField("variadic", constraint, doc)


def result(constraint: TypeConstraint[TypeT] = ANY_TYPE, doc: str = "") -> ResultField[OpResult[TypeT]]:
    """One result."""
    return ResultField("single", constraint, doc)


def optional_result(
    constraint: TypeConstraint[TypeT] = ANY_TYPE, doc: str = ""
) -> ResultField[OpResult[TypeT] | None]:
    """No result or one."""
    return ResultField("optional", constraint, doc)


def variadic_result(
    constraint: TypeConstraint[TypeT] = ANY_TYPE, doc: str = ""
) -> ResultField[list[OpResult[TypeT]]]:
    """Any number of results."""
    return ResultField("variadic", constraint, doc)


@overload
def attribute(
    kind: AttrKind[AttributeT], doc: str = "", *, optional: Literal[True], key: str | None = None
) -> AttributeField[AttributeT | None]: ...


@overload
def attribute(
    kind: AttrKind[AttributeT], doc: str = "", *, default: Attribute | None = None, key: str | None = None
) -> AttributeField[AttributeT]: ...


def attribute(
    kind: AttrKind[Any],
    doc: str = "",
    *,
    optional: bool = False,
    default: Attribute | None = None,
    key: str | None = None,
) -> AttributeField[Any]:
    """An attribute; `key` is its name in the IR if that differs from the Python name."""
    return AttributeField(kind, optional, default, key, doc)


def region(doc: str = "") -> RegionField[Region]:
    """One region."""
    return RegionField("single", doc)


def variadic_region(doc: str = "") -> RegionField[list[Region]]:
    """Any number of regions; must be the last region field."""
    return RegionField("variadic", doc)


def successor(doc: str = "") -> SuccessorField[Block]:
    """One successor block."""
    return SuccessorField("single", doc)


def variadic_successor(doc: str = "") -> SuccessorField[list[Block]]:
    """Any number of successors; must be the last successor field."""
    return SuccessorField("variadic", doc)
