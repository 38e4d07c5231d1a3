"""The `vector` dialect: values of several elements, their shapes, and their transfers from and to memory.

Positions, offsets and masks are static lists; for a position that is an operand, the static list holds memref's marker.
"""

from __future__ import annotations

from tessera_tools.dialects.vector import arithmetic, elements, masking, memory, scalable, shapes
from tessera_tools.dialects.vector.arithmetic import (
    Contract,
    Fma,
    MultiReduction,
    OuterProduct,
    Reduction,
    Scan,
)
from tessera_tools.dialects.vector.attributes import CombiningKindAttr, IteratorTypeAttr, PunctuationAttr
from tessera_tools.dialects.vector.elements import (
    Deinterleave,
    Extract,
    ExtractStridedSlice,
    FromElements,
    Insert,
    InsertStridedSlice,
    Interleave,
    Shuffle,
    Step,
    ToElements,
)
from tessera_tools.dialects.vector.masking import Mask, Yield
from tessera_tools.dialects.vector.memory import (
    CompressStore,
    ConstantMask,
    CreateMask,
    ExpandLoad,
    Gather,
    Load,
    MaskedLoad,
    MaskedStore,
    Print,
    Scatter,
    Store,
    TransferRead,
    TransferWrite,
)
from tessera_tools.dialects.vector.scalable import ScalableExtract, ScalableInsert, VectorScale
from tessera_tools.dialects.vector.shapes import Bitcast, Broadcast, ShapeCast, Transpose
from tessera_tools.opdef import Dialect, by_word, ops_of

DIALECT = Dialect(
    "vector",
    "values of several elements",
    ops_of(shapes, elements, arithmetic, memory, masking, scalable),
    attributes=by_word(CombiningKindAttr, IteratorTypeAttr, PunctuationAttr),
)

__all__ = [
    "DIALECT",
    "Bitcast",
    "Broadcast",
    "CombiningKindAttr",
    "CompressStore",
    "ConstantMask",
    "Contract",
    "CreateMask",
    "Deinterleave",
    "ExpandLoad",
    "Extract",
    "ExtractStridedSlice",
    "Fma",
    "FromElements",
    "Gather",
    "Insert",
    "InsertStridedSlice",
    "Interleave",
    "IteratorTypeAttr",
    "Load",
    "Mask",
    "MaskedLoad",
    "MaskedStore",
    "MultiReduction",
    "OuterProduct",
    "Print",
    "PunctuationAttr",
    "Reduction",
    "ScalableExtract",
    "ScalableInsert",
    "Scan",
    "Scatter",
    "ShapeCast",
    "Shuffle",
    "Step",
    "Store",
    "ToElements",
    "TransferRead",
    "TransferWrite",
    "Transpose",
    "VectorScale",
    "Yield",
]
