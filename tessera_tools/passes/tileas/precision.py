"""Sums of 8-bit floats: which products lose precision, and the registers that their sums take."""

from __future__ import annotations

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import F32, FloatType

PROMOTED = "nv_tileas.promoted"
"""Attribute of a product that starts from zero, and whose sums are then added in f32."""
SLICED = "nv_tileas.promoted_slices"
"""Attribute of a product of which a few columns at a time start from zero and are then added in f32, because there are
no registers for all of them twice."""
MOST_TERMS = 256
"""Terms of a sum of 8-bit floats that tensor cores may add with fewer bits than f32."""


def loses_precision(dot: nv_tileas.Dot) -> bool:
    """Whether wgmma adds the sums of a product with fewer bits than the program asks for."""
    adds = splat_of(constant_value(dot.c)) != 0
    return (adds or is_deep(dot)) and is_exact(dot)


def is_exact(dot: nv_tileas.Dot) -> bool:
    """Whether a product of 8-bit floats wants sums with as many bits as f32."""
    return dot.fast_acc is None and _is_short(dot.a.type.element) and dot.c.type.element is F32


def is_deep(dot: nv_tileas.Dot) -> bool:
    """Whether a product adds more terms than the tensor cores may."""
    return dot.a.type.shape[1] > MOST_TERMS and is_exact(dot)


def _is_short(element: Type) -> bool:
    return isinstance(element, FloatType) and element.width == 8


def sums_of(dot: nv_tileas.Dot, groups: int, sliced: bool) -> int:
    """Registers of a thread of so many warpgroups for the sums of a product."""
    m, n = dot.c.type.shape
    words = m * n * element_bytes(dot.c.type.element) // 4
    if PROMOTED in dot.attributes or (loses_precision(dot) and not sliced and SLICED not in dot.attributes):
        # The sums of a tile along K beside those of the tiles before.
        words *= 2
    return -(-words // (128 * groups))
