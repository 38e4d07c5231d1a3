"""Combining the elements of tiles along an axis by a region: reductions and scans.

    %sum = nv_tileaa.reduce %x axis = 1 identities = [0.000000e+00 : f32] : tensor<8x64xf32> -> tensor<8xf32> {
    ^bb0(%before: f32, %element: f32):
      %0 = arith.addf %before, %element : f32
      nv_tileaa.yield %0 : f32
    }

The region takes two scalars for each operand: the combination of the elements before, and the next element.  It is
associative, its identities are neutral, and it has no side effects.  A scan passes them in this order;
a reduction guarantees no order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.nv_tileaa.control import Yield
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import FloatAttr, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    ANY_TYPE,
    ARRAY_ATTR,
    I32_ATTR,
    RECURSIVE_MEMORY_EFFECTS,
    SINGLE_BLOCK,
    UNIT_ATTR,
    Op,
    attribute,
    region,
    variadic_operand,
    variadic_result,
)


def types_text(types: Sequence[Type]) -> str:
    """`f32, i32`, for messages."""
    return ", ".join(map(str, types)) or "nothing"


class _Combining(Op):
    """The base of both: operands of one shape, an identity each, and a region of two scalars each."""

    sources = variadic_operand(ANY_RANKED_TENSOR)
    axis = attribute(I32_ATTR)
    identities = attribute(ARRAY_ATTR, "a number of each operand's element type")
    body = region()

    @property
    def yielded(self) -> list[Value]:
        """The yielded values of the region, one for each operand."""
        last = self.body.entry.last_op
        return last.operands if last is not None else []

    def check(self, results: list[Type]) -> None:
        """The rules that both share; `results` are the types that the results must have, layouts aside."""
        types = [v.type for v in self.sources]
        if not types:
            raise self.error("has no operands; expected at least one")
        shape = types[0].shape
        if any(type.shape != shape for type in types):
            raise self.error(f"expects operands of one shape, got {types_text(types)}")
        if not 0 <= self.axis.value < len(shape):
            raise self.error(f"has axis {self.axis.value}, but its tiles have rank {len(shape)}")
        if [plain(t) for t in self.result_types] != results:
            raise self.error(
                f"has results of type {types_text(self.result_types)}; expected {types_text(results)}"
            )
        elements = [type.element for type in types]
        numbers = [
            a.type if isinstance(a, FloatAttr | IntegerAttr) else None for a in self.identities.elements
        ]
        if numbers != elements:
            raise self.error(f"expects identities of {types_text(elements)}, got {self.identities}")
        self._check_body(elements)

    def _check_body(self, elements: list[Type]) -> None:
        if len(self.body.blocks) != 1:
            raise self.error("expects a region of one block")
        block = self.body.entry
        found = [argument.type for argument in block.arguments]
        expected = [element for element in elements for _ in range(2)]
        if found != expected:
            raise self.error(
                f"expects a region with arguments {types_text(expected)}, got {types_text(found)}"
            )
        last = block.last_op
        if not isinstance(last, Yield):
            raise self.error("expects a region that ends with 'nv_tileaa.yield'")
        if last.operand_types != elements:
            raise last.error(f"yields {types_text(last.operand_types)}; expected {types_text(elements)}")
        for inner in block:
            if inner.regions or has_tiles(inner):
                raise inner.error(
                    f"is not allowed in the region of '{self.name}', which computes with scalars"
                )
            effects = inner.effects()
            if effects is not None and effects.own:
                raise inner.error(
                    f"is not allowed in the region of '{self.name}', which must be free of side effects"
                )


def has_tiles(op: Operation) -> bool:
    """True if an op has a tile as operand or result."""
    return any(isinstance(type, RankedTensorType) for type in (*op.operand_types, *op.result_types))


def plain(type: Type) -> Type:
    """A type without its layout."""
    return RankedTensorType(type.shape, type.element) if isinstance(type, RankedTensorType) else type


def reduced(type: RankedTensorType, axis: int) -> Type:
    """A tile's type without one axis; a scalar if that is the only one."""
    shape = (*type.shape[:axis], *type.shape[axis + 1 :])
    return RankedTensorType(shape, type.element) if shape else type.element


class Reduce(_Combining, name="nv_tileaa.reduce", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK)):
    """Combines the elements along an axis, which disappears.  The order of combination is not specified: the region
    receives any two partial results, in any order.

    A tile of rank 1 becomes a scalar.
    """

    outputs = variadic_result(ANY_TYPE)
    assembly = (
        "$sources `axis` `=` $axis `identities` `=` $identities `:` type($sources) `->` type($outputs) $body "
        "attr-dict-with-keyword"
    )

    def verify_op(self) -> None:
        self.check([reduced(v.type, self.axis.value) for v in self.sources])


class Scan(_Combining, name="nv_tileaa.scan", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK)):
    """Replaces every element along an axis by the combination of all elements up to and including it, in order;
    starting at the last element if `reverse` is set.

    The first of each pair of region arguments is the running prefix, the second the current element.
    """

    reverse = attribute(UNIT_ATTR, "from the last element to the first", optional=True)
    outputs = variadic_result(ANY_RANKED_TENSOR)
    assembly = (
        "$sources `axis` `=` $axis (`reverse` $reverse^)? `identities` `=` $identities "
        "`:` type($sources) `->` type($outputs) $body attr-dict-with-keyword"
    )

    def verify_op(self) -> None:
        self.check([plain(v.type) for v in self.sources])
