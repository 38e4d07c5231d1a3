"""Ops on whole tiles: constants, what rearranges, matrix products."""

from __future__ import annotations

from typing import Any

from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    ANY_TYPE,
    CONSTANT_LIKE,
    ELEMENTS_ATTR,
    I64_ARRAY,
    PURE,
    STRING_ATTR,
    CustomDirective,
    Op,
    attribute,
    operand,
    result,
    same_as,
)


def verify_dot(op: Any) -> None:
    """The shapes of a matrix product, of either stage."""
    a, b, c = (v.type for v in (op.a, op.b, op.c))
    if (a.rank, b.rank, c.rank) != (2, 2, 2) or (a.shape[0], a.shape[1], b.shape[1]) != (
        c.shape[0],
        b.shape[0],
        c.shape[1],
    ):
        raise op.error(f"expects MxK, KxN and MxN tiles, got {a}, {b} and {c}")


class Dot(Op, name="nv_tileaa.dot", traits=(PURE,)):
    """a · b + c, of MxK, KxN and MxN tiles."""

    a = operand(ANY_RANKED_TENSOR)
    b = operand(ANY_RANKED_TENSOR)
    c = operand(ANY_RANKED_TENSOR)
    input_precision = attribute(STRING_ATTR, optional=True)
    fastmath = attribute(STRING_ATTR, optional=True)
    res = result(same_as("c"))
    assembly = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c) `->` type($res)"

    def verify_op(self) -> None:
        verify_dot(self)


class ConstantTensor(Op, name="nv_tileaa.constant_tensor", traits=(PURE, CONSTANT_LIKE)):
    """A constant tile."""

    value = attribute(ELEMENTS_ATTR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$value attr-dict custom<TypeOfValue>($res)"

    def verify_op(self) -> None:
        if self.value.type is not self.res.type:
            raise self.error(f"holds {self.value.type}, but its type is {self.res.type}")

    def fold(self, operands: Any) -> Any:
        return [self.value]


class TypeOfValue(CustomDirective, name="TypeOfValue"):
    """Nothing: the type of the result is that of the literal just read."""

    grammar = "custom: -> absent"

    def read(self, state: Any, node: Any) -> None:
        value = state.attributes["value"]
        state.types(self.arguments[0], [value.type])

    def write(self, p: Any, op: Any) -> None:
        """The literal has written it."""


class Splat(Op, name="nv_tileaa.splat", traits=(PURE,)):
    """A tile whose elements are all one scalar."""

    source = operand(ANY_TYPE)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        if self.res.type.element is not self.source.type:
            raise self.error(f"splats {self.source.type} into {self.res.type}")


class Permute(Op, name="nv_tileaa.permute", traits=(PURE,)):
    """The tile with its axes in another order: result axis i is source axis permutation[i]."""

    source = operand(ANY_RANKED_TENSOR)
    permutation = attribute(I64_ARRAY)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source $permutation attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        order = self.permutation.values
        if sorted(order) != list(range(source.rank)) or res.shape != tuple(source.shape[i] for i in order):
            raise self.error(f"cannot permute {source} by {list(order)} into {res}")
