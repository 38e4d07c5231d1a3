"""How IR is printed: MLIR's `--mlir-print-…` options as one value, which every printer takes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PLAIN", "Style"]


@dataclass(frozen=True, slots=True)
class Style:
    """How to print IR. The default is text that parses again, without locations."""

    generic: bool = False
    """The generic form throughout."""
    debuginfo: bool = False
    """Locations, `loc(…)`."""
    local_scope: bool = False
    """Locations inline, without aliases."""


PLAIN = Style()
