"""Reductions and scans of the DSL, by a function of two elements.

reduce(x, 1, lambda a, b: a * b, 1.0)   sum(x, axis=1)   softmax(x)
reduce((x, i), 0, first_of_greatest, (-inf, 0))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, overload

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

Tiles: TypeAlias = Sequence[Tile]
OfSeveral: TypeAlias = Callable[[tuple[Tile, ...], tuple[Tile, ...]], Sequence[Operand]]
"""A function of two elements of several tiles."""


@overload
def reduce(x: Tile, axis: int, function: Callable[[Tile, Tile], Operand], identity: Number) -> Tile: ...
@overload
def reduce(x: Tiles, axis: int, function: OfSeveral, identity: Sequence[Number]) -> tuple[Tile, ...]: ...
def reduce(
    x: Tile | Tiles, axis: int, function: Callable[..., object], identity: Number | Sequence[Number]
) -> Tile | tuple[Tile, ...]:
    """Combine the elements along an axis, which disappears, by a function of two elements.

    The function is associative and commutative; `identity` combined with an element gives that element. Of several
    tiles of one shape, an element, the identity and what the function returns are a tuple.
    """
    return _aggregate(ct.Reduce, x, axis, function, identity)


@overload
def scan(
    x: Tile,
    axis: int,
    function: Callable[[Tile, Tile], Operand],
    identity: Number,
    reverse: bool = False,
) -> Tile: ...
@overload
def scan(
    x: Tiles,
    axis: int,
    function: OfSeveral,
    identity: Sequence[Number],
    reverse: bool = False,
) -> tuple[Tile, ...]: ...
def scan(
    x: Tile | Tiles,
    axis: int,
    function: Callable[..., object],
    identity: Number | Sequence[Number],
    reverse: bool = False,
) -> Tile | tuple[Tile, ...]:
    """Combine every prefix of the elements along an axis, from the back if `reverse`; the function is associative.

    Its first element is the prefix. Several tiles are as for `reduce`.
    """
    return _aggregate(ct.Scan, x, axis, function, identity, reverse)


def _aggregate(
    op: type[ct.Reduce | ct.Scan],
    x: Tile | Tiles,
    axis: int,
    function: Callable[..., object],
    identity: Number | Sequence[Number],
    reverse: bool | None = None,
) -> Tile | tuple[Tile, ...]:
    several = isinstance(x, tuple | list)
    tiles: list[Tile] = [x] if isinstance(x, Tile) else list(x) if several else []
    if not tiles or not all(isinstance(one, Tile) and one.shape == tiles[0].shape != () for one in tiles):
        expected = "tiles of one shape, of" if several else "a tile of"
        raise Refusal(f"found {describe(x)}, expected {expected} one dimension or more")
    emitter, shape = current(), tiles[0].shape
    dim = axis_of(axis, len(shape))
    kinds = [scalar(tile.element) for tile in tiles]
    # A pair of arguments for each tile.
    body = Block([kind for kind in kinds for _ in "ab"], [emitter.location] * 2 * len(tiles))
    for number, argument in enumerate(body.arguments):
        argument.name_hint = "ab"[number % 2]
    with emitter.into(body):
        pairs = [tuple(map(Tile, body.arguments[first::2])) for first in (0, 1)]
        found = emitter.interpreter.call(function, pairs if several else [pair[0] for pair in pairs])
        values = _elements(found, len(tiles)) if several else [found]
        results = [as_tile(value, tile.element) for value, tile in zip(values, tiles, strict=True)]
        for value, kind in zip(results, kinds, strict=True):
            if value.type is not kind:
                raise Refusal(f"the function of a reduction gives a {value}, expected a {kind.short_text()}")
        emitter.insert(ct.Yield([value.ir for value in results]))
    given = _elements(identity, len(tiles)) if several else [identity]
    identities = ArrayAttr(tuple(_identity(n, tile.element) for n, tile in zip(given, tiles, strict=True)))
    region, sources = Region([body]), [tile.ir for tile in tiles]
    if op is ct.Reduce:
        rest = (*shape[:dim], *shape[dim + 1 :])
        outputs = [TileType(rest, tile.element) for tile in tiles]
        made = ct.Reduce(sources, i32(dim), identities, outputs=outputs, body=region)
    else:
        flag = TRUE if reverse else FALSE
        made = ct.Scan(sources, i32(dim), identities, flag, outputs=[t.type for t in tiles], body=region)
    made.location = emitter.location
    made.verify_op()
    combined = tuple(map(Tile, emitter.insert(made).results))
    return combined if several else combined[0]


def _elements(value: object, count: int) -> Sequence[object]:
    """What belongs to each of several tiles."""
    if not isinstance(value, tuple | list) or len(value) != count:
        raise Refusal(f"found {describe(value)} for {count} tiles, expected a tuple of {count}")
    return value


def _identity(number: object, element: Type) -> FloatAttr | IntegerAttr:
    if not isinstance(number, bool | int | float):
        raise Refusal(f"the identity {describe(number)} is not known when the kernel is compiled")
    if isinstance(element, FloatType):
        return FloatAttr.of(float(number), element)
    if not number_fits(number, element):
        raise Refusal(f"the identity {describe(number)} is not a number of the type {element}")
    return IntegerAttr.wrap(int(number), element)


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
