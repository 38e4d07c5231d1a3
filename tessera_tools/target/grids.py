"""Limits of launches, which compiler and launcher agree on."""

from __future__ import annotations

__all__ = ["MOST_EXTENT", "MOST_PROGRAMS", "MOST_RESIDENT"]

MOST_PROGRAMS = 1 << 30
"""Tile blocks of a persistent kernel's launch, so that the number of one plus the CTAs of the grid fits 31 bits."""
MOST_RESIDENT = 1 << 20
"""CTAs, or clusters, that run them."""
MOST_EXTENT = (1 << 31) - 1
"""The extent of a tensor that TMA copies: coordinates are signed numbers of 32 bits (PTX ISA, cp.async.bulk.tensor)."""
