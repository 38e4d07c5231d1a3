"""Linear layouts of tiles and buffers. The front of the package: import from here.

    linear ◀── cute, xor, text, atoms ◀── distributed, access ◀── shared ◀── conversion

Pure Python integers; nothing of the IR is imported. `docs/layouts.md` explains all of it with pictures.
"""

from __future__ import annotations

from tessera_tools.layout.access import (
    BankCount,
    MatrixAccess,
    Refused,
    VectorAccess,
    bank_conflict_degree,
    contiguous_elements,
    matrix_access,
    offsets,
    vector_access,
    wavefronts,
)
from tessera_tools.layout.conversion import (
    Conversion,
    LaneShuffle,
    RegisterMove,
    SharedRoundTrip,
    classify,
    plan_conversion,
    shared_round_trip,
)
from tessera_tools.layout.cute import CuteLayout, Swizzle
from tessera_tools.layout.distributed import (
    HARDWARE_DIMS,
    blocked,
    broadcast,
    cat,
    dims_of,
    expand_dims,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
    reduction_steps,
    reshape,
    shape_of,
    slice_dim,
    transpose,
    wgmma_accumulator,
    wgmma_operand_a,
)
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.layout.shared import (
    SWIZZLE_32B,
    SWIZZLE_64B,
    SWIZZLE_128B,
    SWIZZLE_ALIGNMENT,
    SWIZZLE_MODES,
    SWIZZLE_NONE,
    Access,
    SwizzleChoice,
    choose_swizzle,
    row_major,
    swizzled,
    with_stages,
)
from tessera_tools.layout.text import from_text, to_text
from tessera_tools.layout.xor import Shift, XorExpression, XorTerm, as_xor_expression

__all__ = [
    "HARDWARE_DIMS",
    "SWIZZLE_128B",
    "SWIZZLE_32B",
    "SWIZZLE_64B",
    "SWIZZLE_ALIGNMENT",
    "SWIZZLE_MODES",
    "SWIZZLE_NONE",
    "Access",
    "BankCount",
    "Conversion",
    "CuteLayout",
    "LaneShuffle",
    "LayoutError",
    "LinearLayout",
    "MatrixAccess",
    "Refused",
    "RegisterMove",
    "SharedRoundTrip",
    "Shift",
    "Swizzle",
    "SwizzleChoice",
    "VectorAccess",
    "XorExpression",
    "XorTerm",
    "as_xor_expression",
    "bank_conflict_degree",
    "blocked",
    "broadcast",
    "cat",
    "choose_swizzle",
    "classify",
    "contiguous_elements",
    "dims_of",
    "expand_dims",
    "from_text",
    "matrix_access",
    "mma_m16n8_accumulator",
    "mma_operand_a",
    "mma_operand_b",
    "offsets",
    "plan_conversion",
    "reduction_steps",
    "reshape",
    "row_major",
    "shape_of",
    "shared_round_trip",
    "slice_dim",
    "swizzled",
    "to_text",
    "transpose",
    "vector_access",
    "wavefronts",
    "wgmma_accumulator",
    "wgmma_operand_a",
    "with_stages",
]
