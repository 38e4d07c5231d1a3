"""Reductions and scans of the DSL, by a function of two elements.

reduce(x, 1, lambda a, b: a * b, 1.0)   sum(x, axis=1)   softmax(x)
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.types import TileType, scalar
from tessera_tools.dsl import ops
from tessera_tools.dsl.emitter import current, number_fits
from tessera_tools.dsl.library import axis_of, maximum, minimum
from tessera_tools.dsl.values import Number, Operand, Tile, as_tile, describe
from tessera_tools.dsl.values import reshape as reshaped
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, ArrayAttr, FloatAttr, IntegerAttr, i32
from tessera_tools.ir.core import Block, Region
from tessera_tools.ir.types import FloatType, bit_width

__all__ = ["amax", "amin", "reduce", "scan", "softmax", "total"]


def reduce(x: Tile, axis: int, function: Callable[[Tile, Tile], Tile], identity: Number) -> Tile:
    """Combine the elements along an axis, which disappears, by a function of two elements.

    The function is associative and commutative; `identity` combined with an element gives that element.
    """
    return _aggregate(ct.Reduce, x, axis, function, identity)


def scan(
    x: Tile,
    axis: int,
    function: Callable[[Tile, Tile], Tile],
    identity: Number,
    reverse: bool = False,
) -> Tile:
    """Combine every prefix of the elements along an axis, from the back if `reverse`; the function is associative."""
    return _aggregate(ct.Scan, x, axis, function, identity, reverse)


def _aggregate(
    op: type[ct.Reduce | ct.Scan],
    x: Tile,
    axis: int,
    function: Callable[[Tile, Tile], Tile],
    identity: Number,
    reverse: bool | None = None,
) -> Tile:
    if not isinstance(x, Tile) or not x.shape:
        raise Refusal(f"found {describe(x)}, expected a tile of one dimension or more")
    emitter, dim = current(), axis_of(axis, len(x.shape))
    element = x.element
    body = Block([scalar(element)] * 2, [emitter.location] * 2)
    for name, argument in zip(("a", "b"), body.arguments, strict=True):
        argument.name_hint = name
    with emitter.into(body):
        value = as_tile(
            emitter.interpreter.call(function, [Tile(argument) for argument in body.arguments]), element
        )
        if value.type is not scalar(element):
            raise Refusal(
                f"the function of a reduction gives a {value}, expected a {scalar(element).short_text()}"
            )
        emitter.insert(ct.Yield([value.ir]))
    if not isinstance(element, FloatType) and not number_fits(identity, element):
        raise Refusal(f"the identity {describe(identity)} is not a number of the type {element}")
    number = (
        FloatAttr.of(float(identity), element)
        if isinstance(element, FloatType)
        else IntegerAttr.wrap(int(identity), element)
    )
    region, identities = Region([body]), ArrayAttr((number,))

    if op is ct.Reduce:
        kind = TileType((*x.shape[:dim], *x.shape[dim + 1 :]), element)
        made = ct.Reduce([x.ir], i32(dim), identities, outputs=[kind], body=region)
    else:
        flag = TRUE if reverse else FALSE
        made = ct.Scan([x.ir], i32(dim), identities, flag, outputs=[x.type], body=region)
    made.location = emitter.location
    made.verify_op()
    return Tile(emitter.insert(made).results[0])


def _along(x: Operand, axis: int | None, keep_dims: bool, one: Callable[[Tile, int], Tile]) -> Tile:
    tile = as_tile(x)
    if axis is None:
        tile = reshaped(tile, (math.prod(tile.shape),))
        return one(tile, 0)
    dim = axis_of(axis, len(tile.shape))
    made = one(tile, dim)
    return reshaped(made, (*tile.shape[:dim], 1, *tile.shape[dim + 1 :])) if keep_dims else made


def total(x: Operand, axis: int | None = None, keep_dims: bool = False) -> Tile:
    """The sum of the elements along an axis, or of all: `sum`. keep_dims: the axis stays, with extent 1."""
    return _along(x, axis, keep_dims, lambda t, dim: reduce(t, dim, lambda a, b: a + b, 0))


def amax(x: Operand, axis: int | None = None, keep_dims: bool = False) -> Tile:
    """The greatest element along an axis, or of all: `max`."""
    return _along(x, axis, keep_dims, lambda t, dim: reduce(t, dim, maximum, _lowest(t.element)))


def amin(x: Operand, axis: int | None = None, keep_dims: bool = False) -> Tile:
    """The least element along an axis, or of all: `min`."""
    return _along(x, axis, keep_dims, lambda t, dim: reduce(t, dim, minimum, _highest(t.element)))


def _lowest(element: Type) -> float | int:
    return -math.inf if isinstance(element, FloatType) else -(1 << (bit_width(element) - 1))


def _highest(element: Type) -> float | int:
    return math.inf if isinstance(element, FloatType) else (1 << (bit_width(element) - 1)) - 1


def softmax(x: Tile, axis: int = -1) -> Tile:
    """The exponentials of the elements along an axis, divided by their sum."""
    dim = axis_of(axis, len(x.shape))
    e = ops.call("exp", x - amax(x, dim, keep_dims=True))
    return e / total(e, dim, keep_dims=True)
