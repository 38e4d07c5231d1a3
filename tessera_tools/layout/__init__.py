"""Linear layouts of tiles and buffers. This is the front of the package: import layouts from here.

    linear ◀── cute, xor, text, atoms ◀── distributed, access ◀── shared ◀── conversion ◀── parts
                                                         ▲── pictures, notation

The package works on Python integers and does not import the IR. Each name is loaded on first use, so that reading a
layout attribute does not load the conversion planner. `docs/layouts.md` explains the package with pictures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        coalesced,
        dims_of,
        expand_dims,
        fit,
        held_operand,
        mma_m16n8_accumulator,
        mma_operand_a,
        mma_operand_b,
        mma_scales,
        reduction_steps,
        reshape,
        shape_of,
        slice_dim,
        transpose,
        wgmma_accumulator,
        wgmma_operand_a,
    )
    from tessera_tools.layout.linear import LayoutError, LinearLayout
    from tessera_tools.layout.neighbors import coarsened, holds_whole, refined
    from tessera_tools.layout.notation import cute_notation, read_layout
    from tessera_tools.layout.parts import PartedRoundTrip, most_parts, parted_round_trip
    from tessera_tools.layout.pictures import Picture, UsedBy, picture
    from tessera_tools.layout.products import fma_layouts, mma_layouts, wgmma_layouts
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
    )
    from tessera_tools.layout.text import from_text, to_text
    from tessera_tools.layout.xor import Shift, XorExpression, XorTerm, as_xor_expression

_NAMES = {
    "linear": ["LayoutError", "LinearLayout"],
    "text": ["from_text", "to_text"],
    "xor": ["Shift", "XorExpression", "XorTerm", "as_xor_expression"],
    "cute": ["CuteLayout", "Swizzle"],
    "distributed": [
        "HARDWARE_DIMS", "blocked", "broadcast", "cat", "coalesced", "dims_of", "expand_dims", "fit", "held_operand",
        "mma_m16n8_accumulator", "mma_operand_a", "mma_operand_b", "mma_scales", "reduction_steps", "reshape",
        "shape_of", "slice_dim", "transpose",
        "wgmma_accumulator", "wgmma_operand_a",
    ],
    "access": [
        "BankCount", "MatrixAccess", "Refused", "VectorAccess", "bank_conflict_degree", "contiguous_elements",
        "matrix_access", "offsets", "vector_access", "wavefronts",
    ],
    "shared": [
        "Access", "SWIZZLE_128B", "SWIZZLE_32B", "SWIZZLE_64B", "SWIZZLE_ALIGNMENT", "SWIZZLE_MODES",
        "SWIZZLE_NONE", "SwizzleChoice", "choose_swizzle", "row_major", "swizzled",
    ],
    "products": ["fma_layouts", "mma_layouts", "wgmma_layouts"],
    "neighbors": ["coarsened", "holds_whole", "refined"],
    "conversion": [
        "Conversion", "LaneShuffle", "RegisterMove", "SharedRoundTrip", "classify", "plan_conversion",
        "shared_round_trip",
    ],
    "parts": ["PartedRoundTrip", "most_parts", "parted_round_trip"],
    "notation": ["cute_notation", "read_layout"],
    "pictures": ["Picture", "UsedBy", "picture"],
}  # fmt: skip
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "HARDWARE_DIMS",
    "SWIZZLE_32B",
    "SWIZZLE_64B",
    "SWIZZLE_128B",
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
    "PartedRoundTrip",
    "Picture",
    "Refused",
    "RegisterMove",
    "SharedRoundTrip",
    "Shift",
    "Swizzle",
    "SwizzleChoice",
    "UsedBy",
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
    "coalesced",
    "coarsened",
    "contiguous_elements",
    "cute_notation",
    "dims_of",
    "expand_dims",
    "fit",
    "fma_layouts",
    "from_text",
    "held_operand",
    "holds_whole",
    "matrix_access",
    "mma_layouts",
    "mma_m16n8_accumulator",
    "mma_operand_a",
    "mma_operand_b",
    "mma_scales",
    "most_parts",
    "offsets",
    "parted_round_trip",
    "picture",
    "plan_conversion",
    "read_layout",
    "reduction_steps",
    "refined",
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
    "wgmma_layouts",
    "wgmma_operand_a",
]


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
