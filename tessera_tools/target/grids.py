"""Limits of the launches of persistent kernels, which compiler and launcher agree on."""

from __future__ import annotations

__all__ = ["MOST_PROGRAMS", "MOST_RESIDENT"]

MOST_PROGRAMS = 1 << 30
"""Tile blocks of a launch, so that the number of one plus the CTAs of the grid fits 31 bits."""
MOST_RESIDENT = 1 << 20
"""CTAs, or clusters, that run them."""
