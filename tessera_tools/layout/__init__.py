"""Linear layouts of tiles and buffers. The front of the package: import from here."""

from __future__ import annotations

from tessera_tools.layout.linear import LayoutError, LinearLayout

__all__ = ["LayoutError", "LinearLayout"]
