"""The instruction families: each module registers its decoders when it is imported."""

FAMILIES = (
    "moves",
    "integer",
    "integer_more",
    "logic",
    "floating",
    "functions",
    "comparison",
    "conversion",
    "control",
    "calls",
    "barriers",
    "memory",
    "atomics",
    "warps",
    "async_copy",
    "matrix_copy",
    "mma",
    "wmma",
)
"""Modules of this folder, in the order of the PTX ISA where that helps; their order has no effect."""
