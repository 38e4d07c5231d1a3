"""Ops on whole tiles: constants, what rearranges, matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I32, IntegerType, RankedTensorType
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    ANY_TYPE,
    CONSTANT_LIKE,
    ELEMENTS_ATTR,
    I64_ARRAY,
    I64_ATTR,
    PURE,
    STRING_ATTR,
    UNIT_ATTR,
    CustomDirective,
    Op,
    attribute,
    exactly,
    operand,
    result,
    same_as,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.dialects import nv_tileas
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


def verify_dot(op: Dot | nv_tileas.Dot) -> None:
    """The shapes of a matrix product, of either stage."""
    a, b, c = (v.type for v in (op.a, op.b, op.c))
    rank = c.rank
    if rank not in (2, 3) or (a.rank, b.rank) != (rank, rank) or (*a.shape[:-1], b.shape[-1]) != c.shape:
        agree = False
    else:
        agree = a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2]
    if not agree:
        raise op.error(
            f"expects MxK, KxN and MxN tiles, or batches of them of one size, got {a}, {b} and {c}"
        )
    if op.scales:
        _verify_scales(op, a, b)


def _verify_scales(op: Dot | nv_tileas.Dot, a: RankedTensorType, b: RankedTensorType) -> None:
    types = [v.type for v in op.scales]
    if len(types) == 2:
        scale_a, scale_b = types
        blocks = scale_a.shape[-1]
        if (
            scale_a.shape == (*a.shape[:-1], blocks)
            and scale_b.shape == (*b.shape[:-2], blocks, b.shape[-1])
            and a.shape[-1] % blocks == 0
        ):
            return
    raise op.error(
        f"expects two tiles of scales, MxS and SxN for S blocks along K, got {', '.join(map(str, types))}"
    )


class Dot(Op, name="nv_tileaa.dot", traits=(PURE,)):
    """a · b + c, of MxK, KxN and MxN tiles, or a batch of each; scales are factors of blocks of a and b along K."""

    a = operand(ANY_RANKED_TENSOR)
    b = operand(ANY_RANKED_TENSOR)
    c = operand(ANY_RANKED_TENSOR)
    scales = variadic_operand(ANY_RANKED_TENSOR, "none, or those of a (MxS) and of b (SxN)")
    unsigned_a = attribute(UNIT_ATTR, "integers of a count from 0", optional=True)
    unsigned_b = attribute(UNIT_ATTR, "integers of b count from 0", optional=True)
    input_precision = attribute(STRING_ATTR, optional=True)
    fast_acc = attribute(UNIT_ATTR, "sums may have fewer bits than their type", optional=True)
    res = result(same_as("c"))
    assembly = (
        "$a `,` $b `,` $c (`scales` $scales^)? attr-dict `:` type($a) `,` type($b) `,` type($c) "
        "(`scales` type($scales)^)? `->` type($res)"
    )

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

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        return [self.value]


class TypeOfValue(CustomDirective, name="TypeOfValue"):
    """Nothing: the type of the result is that of the literal just read."""

    grammar = "custom: -> absent"

    def read(self, state: OpState, node: Node) -> None:
        value = state.attributes["value"]
        assert isinstance(value, DenseElementsAttr)
        state.types(self.arguments[0], [value.type])

    def write(self, p: Printer, op: Operation) -> None:
        """The literal has written it."""


class Splat(Op, name="nv_tileaa.splat", traits=(PURE,)):
    """A tile whose elements are all one scalar."""

    source = operand(ANY_TYPE)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        if self.res.type.element is not self.source.type:
            raise self.error(f"cannot splat {self.source.type} into {self.res.type}")


class Unsplat(Op, name="nv_tileaa.unsplat", traits=(PURE,)):
    """The one element of a tile that has one."""

    source = operand(ANY_RANKED_TENSOR)
    res = result(ANY_TYPE)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source = self.source.type
        if source.num_elements != 1 or source.element is not self.res.type:
            raise self.error(
                f"cannot extract {self.res.type} from {source}; expected a tile with exactly one element "
                "of that type"
            )


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


class Iota(Op, name="nv_tileaa.iota", traits=(PURE,)):
    """The tile of rank 1 whose element i is i."""

    res = result(ANY_RANKED_TENSOR)
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        type = self.res.type
        if type.rank != 1 or not isinstance(type.element, IntegerType):
            raise self.error(f"has a result of type {type}; expected a rank-1 tile of integers")


class Reshape(Op, name="nv_tileaa.reshape", traits=(PURE,)):
    """The same elements in row-major order, in another shape."""

    source = operand(ANY_RANKED_TENSOR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if source.element is not res.element or source.num_elements != res.num_elements:
            raise self.error(f"cannot reshape {source} into {res}: element types and counts must match")

    @property
    def only_renames(self) -> bool:
        """Whether it adds or removes axes of extent 1 alone."""
        old, new = self.source.type.shape, self.res.type.shape
        return [n for n in old if n != 1] == [n for n in new if n != 1]


class Broadcast(Op, name="nv_tileaa.broadcast", traits=(PURE,)):
    """The tile repeated along every axis in which it has one element and the result more."""

    source = operand(ANY_RANKED_TENSOR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if (
            source.element is not res.element
            or source.rank != res.rank
            or any(old not in (1, new) for old, new in zip(source.shape, res.shape, strict=True))
        ):
            raise self.error(f"cannot broadcast {source} to {res}: only axes of extent 1 can be broadcast")


class Cat(Op, name="nv_tileaa.cat", traits=(PURE,)):
    """The concatenation of two tiles along an axis."""

    lhs = operand(ANY_RANKED_TENSOR)
    rhs = operand(ANY_RANKED_TENSOR)
    axis = attribute(I64_ATTR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$lhs `,` $rhs `axis` `=` $axis attr-dict `:` type($lhs) `,` type($rhs) `->` type($res)"

    def verify_op(self) -> None:
        lhs, rhs, res, axis = self.lhs.type, self.rhs.type, self.res.type, self.axis.value
        if not 0 <= axis < res.rank or lhs.rank != res.rank or rhs.rank != res.rank:
            raise self.error(f"cannot concatenate {lhs} and {rhs} along axis {axis} into {res}")
        joined = [*lhs.shape[:axis], lhs.shape[axis] + rhs.shape[axis], *lhs.shape[axis + 1 :]]
        others = [(a, b) for i, (a, b) in enumerate(zip(lhs.shape, rhs.shape, strict=True)) if i != axis]
        if (
            tuple(joined) != res.shape
            or any(a != b for a, b in others)
            or not (lhs.element is rhs.element is res.element)
        ):
            raise self.error(f"cannot concatenate {lhs} and {rhs} along axis {axis} into {res}")


class Extract(Op, name="nv_tileaa.extract", traits=(PURE,)):
    """The part of a tile at an index in units of parts: element x of the result is element index · shape + x."""

    source = operand(ANY_RANKED_TENSOR)
    indices = variadic_operand(exactly(I32))
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        verify_part(self, self.source.type, self.res.type)


class Insert(Op, name="nv_tileaa.insert", traits=(PURE,)):
    """The tile with one part replaced by another tile; the index is in units of parts."""

    source = operand(ANY_RANKED_TENSOR)
    dest = operand(ANY_RANKED_TENSOR)
    indices = variadic_operand(exactly(I32))
    res = result(same_as("dest"))
    assembly = "$source `,` $dest `[` $indices `]` attr-dict `:` type($source) `,` type($dest)"

    def verify_op(self) -> None:
        verify_part(self, self.dest.type, self.source.type)


def verify_part(op: Extract | Insert, whole: RankedTensorType, part: RankedTensorType) -> None:
    """The shapes of a tile and of a part of it, with one index an axis."""
    if (
        whole.element is not part.element
        or whole.rank != part.rank
        or any(n % m for n, m in zip(whole.shape, part.shape, strict=True))
    ):
        raise op.error(f"cannot divide {whole} into parts of {part}")
    if len(op.indices) != whole.rank:
        raise op.error(f"expected {whole.rank} indices for {whole}, got {len(op.indices)}")
