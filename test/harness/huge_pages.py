"""Moves the memory of this process to huge pages, so that a fork copies few page tables.

A worker that has collected all tests has half a gigabyte of objects. To fork it, as each start of ptxas does, takes
14 ms with pages of 4 KiB and 2 ms with pages of 2 MiB (Linux on x86-64).
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

__all__ = ["use_huge_pages"]

_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25
_HUGE = 2 << 20


def use_huge_pages() -> None:
    """Ask for huge pages for all private anonymous memory. No effect where the system has none."""
    if not sys.platform.startswith("linux"):
        return
    madvise = getattr(ctypes.CDLL(None), "madvise", None)
    if madvise is None:
        return
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for line in Path("/proc/self/maps").read_text().splitlines():
        # START-END PERMISSIONS OFFSET DEVICE INODE [PATH]
        bounds, permissions, _, _, _, *path = line.split()
        if permissions != "rw-p" or path not in ([], ["[heap]"]):
            continue
        start, end = (int(bound, 16) for bound in bounds.split("-"))
        start, end = -(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE
        if start < end:
            madvise(start, end - start, _MADV_HUGEPAGE)
            madvise(start, end - start, _MADV_COLLAPSE)  # at once, from Linux 6.1 on
