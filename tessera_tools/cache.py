"""The user's cache folder, for data that can be recomputed: parse tables, versions of tools, compiled kernels."""

from __future__ import annotations

import os
import stat

__all__ = ["cache_folder", "digest"]


def digest(data: bytes, size: int = 32) -> bytes:
    """The BLAKE2 digest of the data, in `size` bytes. `hashlib` has it too, but its import loads OpenSSL."""
    from _blake2 import blake2b

    return blake2b(data, digest_size=size).digest()


def cache_folder() -> str | None:
    """The cache folder, created if it is missing: `tessera-tools` in `TESSERA_CACHE`, `XDG_CACHE_HOME`, or `~/.cache`.

    Returns None if there is no folder that only this user can access: data that others can write is not read. A
    relative path is ignored, because it would refer to another folder in each working directory.
    """
    for base in (
        os.environ.get("TESSERA_CACHE"),
        os.environ.get("XDG_CACHE_HOME"),
        os.path.join(os.path.expanduser("~"), ".cache"),
    ):
        if base and os.path.isabs(base):
            folder = os.path.join(base, "tessera-tools")
            return folder if _is_private(folder) else None
    return None


def _is_private(folder: str) -> bool:
    """True if `folder` belongs to this user, and only this user can access it.

    If others can only read the folder, their permission is removed, and it is used.
    """
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            return False
        if found.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except OSError:
        return False
    return True
