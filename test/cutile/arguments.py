"""Arguments for kernels that cuTile exported: arrays as (address, extents, strides), made to fit what the kernel says.

An array's parameters follow its pointer: as many extents as dimensions, then as many strides.  Extents are so large
that a grid of `blocks` along each axis has tiles in them; ragged ones end within the last tile where the kernel's
assumptions allow it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from programs import random

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import DYNAMIC, FloatType, IntegerType

HALF_BYTES = ("f4E2M1FN", "i4")
"""Elements of which two share a byte."""
LEAST = 64
"""Extent along a dimension that is not cut into tiles of several elements; indices are smaller."""
_WORDS = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "f8E8M0FNU": "f8e8m0"}


@dataclass
class Parameter:
    """A group of parameters: an array (with `rank` extents and strides), or one scalar."""

    element: str
    first: int
    rank: int = -1
    tiles: list[int] = field(default_factory=list[int])
    divisors: list[int] = field(default_factory=list[int])
    strides: list[int] = field(default_factory=list[int])
    """What the strides are divisible by, or their constant value as a negative number."""


def _source(value: Value, facts: dict[Value, int]) -> Value:
    """The parameter (or other value) behind assumptions; the divisors on the way go into `facts`."""
    divisor = 1
    while isinstance(op := value.defining_op, ct.Assume):
        if isinstance(op.predicate, ct.DivByAttr):
            divisor = max(divisor, op.predicate.divisor)
        value = op.value
    facts[value] = max(facts.get(value, 1), divisor)
    return value


def parameters_of(entry: Any) -> list[Parameter]:
    """The groups of an entry's parameters."""
    values: list[Value] = list(entry.body.entry.arguments)
    place = {value: i for i, value in enumerate(values)}
    facts: dict[Value, int] = {}
    for op in entry.walk():
        if isinstance(op, ct.Assume):
            _source(op.result, facts)
    groups: list[Parameter] = []
    at = 0
    while at < len(values):
        type: Any = values[at].type
        element = type.element
        if not isinstance(element, ct.PointerType):
            groups.append(Parameter(_word(element), at))
            at += 1
            continue
        following = 0
        while at + 1 + following < len(values) and isinstance(
            values[at + 1 + following].type.element,
            IntegerType,  # type: ignore[attr-defined]
        ):
            following += 1
        rank = following // 2
        group = Parameter(_word(element.pointee), at, rank, [1] * rank, [1] * rank, [1] * rank)
        for i in range(rank):
            group.divisors[i] = facts.get(values[at + 1 + i], 1)
            group.strides[i] = facts.get(values[at + 1 + rank + i], 1)
        groups.append(group)
        at += 1 + 2 * rank
    by_pointer = {group.first: group for group in groups}
    for op in entry.walk():
        if not isinstance(op, ct.MakePartitionView | ct.MakeStridedView | ct.MakeGatherScatterView):
            continue
        view: Operation | None = op.operands[0].defining_op
        if not isinstance(view, ct.MakeTensorView):
            continue
        base = _source(view.base, facts)
        group = by_pointer.get(place.get(base, -1))
        if group is None:
            continue
        type = op.result.type
        order = getattr(type, "dim_map", ()) or range(len(type.tile))
        for size, dim in zip(type.tile, order, strict=True):
            if dim < group.rank:
                group.tiles[dim] = max(group.tiles[dim], size)
        assert all(n == DYNAMIC or n > 0 for n in view.result.type.shape)
    return groups


def _word(element: Any) -> str:
    return _WORDS.get(str(element), str(element))


def make(groups: list[Parameter], blocks: int, ragged: bool, rng: np.random.Generator) -> list[Any]:
    """Arguments for one launch."""
    args: list[Any] = []
    for group in groups:
        if group.rank < 0:
            args.append(_number(group.element, rng))
            continue
        extents = []
        for tile, divisor in zip(group.tiles, group.divisors, strict=True):
            whole = tile * blocks if tile > 1 else LEAST
            cut = int(rng.integers(0, max(1, tile // divisor))) * divisor if ragged else 0
            extents.append(max(divisor, (whole - cut) // divisor * divisor))
        if group.element in HALF_BYTES:
            size = int(np.prod(extents))
            args += [rng.integers(0, 256, -(-size // 2)).astype(np.uint8), *extents, *_row_major(extents)]
        else:
            args += array_arguments(_data(group.element, extents, rng), extents, group.strides)
    return args


def _row_major(extents: list[int]) -> list[int]:
    return [int(np.prod(extents[axis + 1 :], dtype=np.int64)) for axis in range(len(extents))]


def array_arguments(data: Any, extents: list[int], divisors: list[int]) -> list[Any]:
    """A row-major array's parameters; its rows are padded so that strides have their divisors."""
    strides = [1] * len(extents)
    for axis in range(len(extents) - 2, -1, -1):
        least = strides[axis + 1] * extents[axis + 1]
        strides[axis] = -(-least // divisors[axis]) * divisors[axis]
    size = strides[0] * extents[0] if extents else 1
    flat = np.zeros(max(1, size), data.dtype)
    np.lib.stride_tricks.as_strided(flat, tuple(extents), tuple(s * flat.itemsize for s in strides))[...] = (
        data
    )
    return [flat, *map(int, extents), *map(int, strides)]


def _data(element: str, extents: list[int], rng: np.random.Generator) -> Any:
    if element.startswith(("i", "u")) and element != "i1":
        # They may be indices: small, and each only once.
        storage = random(element, (1,), rng).dtype
        size = int(np.prod(extents))
        return (rng.permutation(size) % LEAST).astype(storage).reshape(extents)
    return random(element, extents, rng).reshape(extents)


def _number(element: str, rng: np.random.Generator) -> Any:
    if isinstance(element, FloatType) or element.startswith(("f", "bf")):
        return float(rng.uniform(0.5, 1.5))
    return int(rng.integers(1, 4))
