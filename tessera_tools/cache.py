"""The user's cache folder: parse tables and versions of tools, which can always be made again."""

from __future__ import annotations

import os

__all__ = ["cache_folder"]


def cache_folder() -> str:
    """`TESSERA_CACHE`, else `XDG_CACHE_HOME`, else `~/.cache`, and in it `tessera-tools`; it may not exist yet."""
    base = (
        os.environ.get("TESSERA_CACHE") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    )
    return os.path.join(base, "tessera-tools")
