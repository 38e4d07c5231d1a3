"""The instruction families: each module registers its decoders when it is imported."""

FAMILIES = (
    "moves",
    "integer",
    "logic",
    "floating",
    "comparison",
    "conversion",
    "control",
    "calls",
    "barriers",
    "memory",
)
"""Modules of this folder, in the order of the PTX ISA where that helps; their order has no effect."""
