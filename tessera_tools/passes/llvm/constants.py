"""Constants: scalars, and tiles."""

from __future__ import annotations

from typing import Any

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.tiles import Tile, converted, scalar_attribute


@lowers("arith.constant")
def constant(low: Lowering, op: Any) -> None:
    """A scalar, or a tile of equal elements."""
    e, result = low.e, op.results[0]
    value: Attribute = op.value
    if not isinstance(result.type, RankedTensorType):
        low.define(result, e.constant_of(scalar_attribute(value), converted(result.type)))
        return
    assert isinstance(value, DenseElementsAttr)
    if not value.is_splat:
        raise op.error(
            "is not a splat: only constant tiles of equal elements have a lowering in this version"
        )
    element = e.constant_of(scalar_attribute(value.attributes()[0]), converted(result.type.element))
    low.define(result, Tile.splat(result.type, element))
