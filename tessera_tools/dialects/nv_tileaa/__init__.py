"""The `nv_tileaa` dialect (stage 2): alias-aware tile programs over plain tensors.

Tiles are `tensor<…>`, memory is reached through `memref` views, and every memory op is in a chain of
`!nv_tileaa.mem_token`s.  A tiled access has a copy atom, which defines its hardware primitive.
"""

from __future__ import annotations

from tessera_tools.dialects.nv_tileaa import (
    arithmetic,
    atomics,
    casts,
    control,
    effects,
    multimem,
    packing,
    pointers,
    reductions,
    structure,
    tensors,
    views,
)
from tessera_tools.dialects.nv_tileaa.arithmetic import RoundingAttr
from tessera_tools.dialects.nv_tileaa.atomics import AtomicCas, AtomicModeAttr, AtomicRmw
from tessera_tools.dialects.nv_tileaa.base import (
    COPY_ATOM,
    MEM_TOKEN,
    TOKEN,
    VIEW,
    GlobalSpaceAttr,
    KernelSpecAttr,
    MemRefType,
    MemTokenType,
    OrderingAttr,
    PaddingAttr,
    ScopeAttr,
)
from tessera_tools.dialects.nv_tileaa.casts import IntToPtr, PtrToInt, TruncFSatfinite
from tessera_tools.dialects.nv_tileaa.control import Break, Continue, If, Loop, Yield
from tessera_tools.dialects.nv_tileaa.effects import (
    Assert,
    FenceAlias,
    GdcLaunchDependents,
    GdcWait,
    HeapAlloc,
    HeapFree,
    Print,
)
from tessera_tools.dialects.nv_tileaa.multimem import (
    MultimemLoadReduce,
    MultimemModeAttr,
    MultimemReduce,
    MultimemStore,
)
from tessera_tools.dialects.nv_tileaa.older import upgrade_older
from tessera_tools.dialects.nv_tileaa.packing import Pack, Unpack
from tessera_tools.dialects.nv_tileaa.pointers import AtomicLoad, AtomicStore, Load, Offset, Store
from tessera_tools.dialects.nv_tileaa.reductions import Reduce, Scan
from tessera_tools.dialects.nv_tileaa.structure import (
    Assume,
    CancelNextProgramId,
    FirstProgramId,
    Func,
    GetNumPrograms,
    GetProgramId,
    IsValidProgramId,
    Return,
)
from tessera_tools.dialects.nv_tileaa.tensors import (
    Broadcast,
    Cat,
    ConstantTensor,
    Dot,
    Extract,
    Insert,
    Iota,
    Permute,
    Reshape,
    Splat,
    Unsplat,
    verify_dot,
)
from tessera_tools.dialects.nv_tileaa.views import (
    DYNAMIC_INDEX,
    AddPtr,
    CreateMemToken,
    JoinMemTokens,
    MakeMemRef,
    TiledLoad,
    TiledStore,
    verify_access,
)
from tessera_tools.opdef import Dialect, by_word, ops_of

FAMILIES = (
    arithmetic,
    structure,
    views,
    tensors,
    control,
    casts,
    packing,
    reductions,
    pointers,
    effects,
    atomics,
    multimem,
)

DIALECT = Dialect(
    "nv_tileaa",
    "alias-aware tile programs (stage 2)",
    ops_of(*FAMILIES),
    canonicalizers="tessera_tools.dialects.nv_tileaa.canonicalize",
    types=by_word(MemTokenType, MemRefType),
    attributes=by_word(
        AtomicModeAttr,
        GlobalSpaceAttr,
        KernelSpecAttr,
        MultimemModeAttr,
        OrderingAttr,
        PaddingAttr,
        RoundingAttr,
        ScopeAttr,
    ),
    upgrade=upgrade_older,
)

__all__ = [
    "COPY_ATOM",
    "DIALECT",
    "DYNAMIC_INDEX",
    "MEM_TOKEN",
    "TOKEN",
    "VIEW",
    "AddPtr",
    "Assert",
    "Assume",
    "AtomicCas",
    "AtomicLoad",
    "AtomicModeAttr",
    "AtomicRmw",
    "AtomicStore",
    "Break",
    "Broadcast",
    "CancelNextProgramId",
    "Cat",
    "ConstantTensor",
    "Continue",
    "CreateMemToken",
    "Dot",
    "Extract",
    "FenceAlias",
    "FirstProgramId",
    "Func",
    "GdcLaunchDependents",
    "GdcWait",
    "GetNumPrograms",
    "GetProgramId",
    "GlobalSpaceAttr",
    "HeapAlloc",
    "HeapFree",
    "If",
    "Insert",
    "IntToPtr",
    "Iota",
    "IsValidProgramId",
    "JoinMemTokens",
    "KernelSpecAttr",
    "Load",
    "Loop",
    "MakeMemRef",
    "MemRefType",
    "MemTokenType",
    "MultimemLoadReduce",
    "MultimemModeAttr",
    "MultimemReduce",
    "MultimemStore",
    "Offset",
    "OrderingAttr",
    "Pack",
    "PaddingAttr",
    "Permute",
    "Print",
    "PtrToInt",
    "Reduce",
    "Reshape",
    "Return",
    "RoundingAttr",
    "Scan",
    "ScopeAttr",
    "Splat",
    "Store",
    "TiledLoad",
    "TiledStore",
    "TruncFSatfinite",
    "Unpack",
    "Unsplat",
    "Yield",
    "verify_access",
    "verify_dot",
]
