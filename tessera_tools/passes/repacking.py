"""Tiles of 4-bit elements as the bytes that they are in memory, and back.

    tensor<16x64xf4E2M1FN>  ──repacked(Pack, …, axis=1)──▶  tensor<16x32xi8>      two elements a byte, the first in the
                            ◀──repacked(Unpack, …)────────                        low bits

What is unpacked, moved, and packed again is the tile that it was: no op is left for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Builder, Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout.distributed import inverse

PER_BYTE = 2


def repacked(
    kind: type[aa.Pack] | type[aa.Unpack], value: Value, target: RankedTensorType, axis: int, builder: Builder
) -> Value:
    """A tile packed or unpacked along an axis: the axis is moved last, and the tile is flattened in between."""
    source = value.type
    assert isinstance(source, RankedTensorType)
    rank = source.rank
    order = [i for i in range(rank) if i != axis] + [axis]
    back = inverse(order)
    line = _shaped(_permuted(value, order, builder), (source.num_elements,), builder)
    made = _converted(kind, line, RankedTensorType((target.num_elements,), target.element), builder)
    return _permuted(_shaped(made, [target.shape[i] for i in order], builder), back, builder)


def _converted(
    kind: type[aa.Pack] | type[aa.Unpack], line: Value, type: RankedTensorType, builder: Builder
) -> Value:
    made = line.defining_op
    undone = aa.Unpack if kind is aa.Pack else aa.Pack
    if isinstance(made, undone) and made.source.type is type:
        return made.source
    return builder.insert(kind(line, res=type)).res


def _shaped(value: Value, shape: Sequence[int], builder: Builder) -> Value:
    type = RankedTensorType(tuple(shape), _element(value))
    while value.type is not type and isinstance(made := value.defining_op, aa.Reshape):
        value = made.source
    return value if value.type is type else builder.insert(aa.Reshape(value, res=type)).res


def _permuted(value: Value, order: Sequence[int], builder: Builder) -> Value:
    if isinstance(made := value.defining_op, aa.Permute) and list(order) != sorted(order):
        before = made.permutation.values
        return _permuted(made.source, [before[axis] for axis in order], builder)
    if list(order) == sorted(order):
        return value
    assert isinstance(value.type, RankedTensorType)
    type = RankedTensorType(tuple(value.type.shape[i] for i in order), _element(value))
    return builder.insert(aa.Permute(value, DenseArrayAttr(I64, tuple(order)), res=type)).res


def _element(value: Value) -> Type:
    assert isinstance(value.type, RankedTensorType)
    return value.type.element
