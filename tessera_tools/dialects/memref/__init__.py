"""The `memref` dialect: buffers, views of them, and accesses.

Offsets, sizes and strides are mixed lists: a static integer, or the next of the dynamic operands if the static list
holds the marker for "dynamic" (the least 64-bit integer, as upstream).  `IndexLists` writes them.
"""

from __future__ import annotations

from tessera_tools.dialects.memref import atomics, buffers, globals, reshapes, scopes, views
from tessera_tools.dialects.memref.atomics import AtomicRMW, AtomicYield, GenericAtomicRMW
from tessera_tools.dialects.memref.buffers import (
    Alloc,
    Alloca,
    Cast,
    Copy,
    Dealloc,
    Dim,
    Load,
    MemorySpaceCast,
    Prefetch,
    Rank,
    Realloc,
    Store,
    ViewLike,
)
from tessera_tools.dialects.memref.globals import GetGlobal, Global
from tessera_tools.dialects.memref.lists import DYNAMIC_INDEX, IndexList, mixed
from tessera_tools.dialects.memref.reshapes import (
    AssumeAlignment,
    CollapseShape,
    ExpandShape,
    ExtractAlignedPointer,
    Reshape,
)
from tessera_tools.dialects.memref.scopes import AllocaScope, AllocaScopeReturn
from tessera_tools.dialects.memref.views import (
    ExtractStridedMetadata,
    ReinterpretCast,
    SubView,
    Transpose,
    View,
)
from tessera_tools.opdef import Dialect, ops_of

DIALECT = Dialect(
    "memref",
    "buffers",
    ops_of(buffers, views, globals, reshapes, atomics, scopes),
    canonicalizers="tessera_tools.dialects.memref.canonicalize",
)


__all__ = [
    "DIALECT",
    "DYNAMIC_INDEX",
    "Alloc",
    "Alloca",
    "AllocaScope",
    "AllocaScopeReturn",
    "AssumeAlignment",
    "AtomicRMW",
    "AtomicYield",
    "Cast",
    "CollapseShape",
    "Copy",
    "Dealloc",
    "Dim",
    "ExpandShape",
    "ExtractAlignedPointer",
    "ExtractStridedMetadata",
    "GenericAtomicRMW",
    "GetGlobal",
    "Global",
    "IndexList",
    "Load",
    "MemorySpaceCast",
    "Prefetch",
    "Rank",
    "Realloc",
    "ReinterpretCast",
    "Reshape",
    "Store",
    "SubView",
    "Transpose",
    "View",
    "ViewLike",
    "mixed",
]
