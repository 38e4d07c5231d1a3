"""Tensor maps of views: the data that a launcher needs to create a map, or the reason why a view has none.

make_memref %p, shape = [%m, %k], stride = [%s, 1]  ─describe()─▶  TensorMap(base=0, shape=(k, m), …)
"""

from __future__ import annotations

from tessera_tools.analysis.parameters import Expression, expression_of
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects.nv_tileaa import MakeMemRef
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.layout.shared import ATOMICITY
from tessera_tools.records import dataclass
from tessera_tools.target.grids import MOST_EXTENT

TENSOR_MAPS = "nv_tileaa.tensor_maps"
"""Attribute of a kernel's llvm.func: the tensor maps that the launcher creates for its last parameters."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """The data of a tensor map; dimensions are innermost first, strides are in bytes and omit the innermost."""

    base: int
    element: str
    shape: tuple[Expression, ...]
    strides: tuple[Expression, ...]
    box: tuple[int, ...]
    swizzle: int
    atomicity: int = ATOMICITY


def describe(
    view: Value, box: tuple[int, ...], swizzle: int, atomicity: int = ATOMICITY, loaded: Type | None = None
) -> TensorMap | str:
    """Returns the tensor map for boxes of a view, or the reason why there is none; `loaded`: the type of the elements
    in the boxes, if it may be another than that in the view (`rounds` of nv_tileas)."""
    memref = view.defining_op
    if not isinstance(memref, MakeMemRef):
        return "describes a view that is not created by an nv_tileaa.make_memref in the kernel"
    base = expression_of(memref.base)
    if base is None or base.parameter is None or (base.times, base.plus) != (1, 0):
        return "describes a view whose base is not a kernel parameter"
    element = memref.res.type.element
    size = element_bytes(element)
    shape = [expression_of(extent) for extent in memref.extents()]
    strides = [expression_of(stride) for stride in memref.strides()]
    distances = [e.scaled(size) if e is not None else None for e in strides[:-1]]
    if any(e is None for e in (*shape, *strides, *distances)):
        return "describes a view whose extents or strides are not derived from kernel parameters"
    if strides[-1] != Expression(None, 0, 1):
        return "describes a view whose last dimension has a stride other than 1"
    long = [extent for extent in memref.extents() if isinstance(extent, int) and extent > MOST_EXTENT]
    if long:
        return f"describes a view with an extent of {long[0]}; coordinates of TMA are below 2^31"
    word = element_word(element) if loaded in (None, element) else str(loaded)
    if word is None:
        return f"describes a view of {element}, which TMA does not support"
    return TensorMap(
        base.parameter,
        word,
        tuple(e for e in reversed(shape) if e is not None),
        tuple(e for e in reversed(distances) if e is not None),
        tuple(reversed(box)),
        swizzle,
        atomicity,
    )


_WORDS = {
    "f16": "f16", "bf16": "bf16", "f32": "f32", "tf32": "f32", "f64": "f64",
    "i1": "u8", "i8": "u8", "i16": "u16", "i32": "s32", "i64": "s64",
}  # fmt: skip


def element_word(element: Type) -> str | None:
    """The element type of a tensor map (CUDA driver API, `CUtensorMapDataType`); 8-bit floats and i1 are bytes."""
    text = str(element)
    return "u8" if text.startswith("f8") else _WORDS.get(text)
