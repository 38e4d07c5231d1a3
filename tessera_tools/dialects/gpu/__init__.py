"""The `gpu` dialect: kernels, their modules, the place of a thread in the grid, and launches.

Indices are `index` values; `upper_bound` promises that the value is below it.
"""

from __future__ import annotations

from tessera_tools.dialects.gpu import (
    attributes,
    launch,
    matrices,
    memory,
    objects,
    sparse,
    structure,
    threads,
    warps,
)
from tessera_tools.dialects.gpu.attributes import (
    MAPPINGS,
    AddressSpaceAttr,
    AllReduceOperationAttr,
    AsyncTokenType,
    BroadcastTypeAttr,
    DimensionAttr,
    ElementwiseAttr,
    ShuffleModeAttr,
)
from tessera_tools.dialects.gpu.launch import Launch, LaunchFunc, Wait
from tessera_tools.dialects.gpu.memory import (
    Alloc,
    Dealloc,
    HostRegister,
    HostUnregister,
    Memcpy,
    Memset,
    SetDefaultDevice,
)
from tessera_tools.dialects.gpu.structure import Func, Module, Return
from tessera_tools.dialects.gpu.threads import (
    AllReduce,
    Barrier,
    BlockDim,
    BlockId,
    ClusterBlockId,
    ClusterDim,
    ClusterDimBlocks,
    ClusterId,
    DynamicSharedMemory,
    GlobalId,
    GridDim,
    LaneId,
    NumSubgroups,
    Printf,
    Shuffle,
    SubgroupId,
    SubgroupReduce,
    SubgroupSize,
    Terminator,
    ThreadId,
    Yield,
)
from tessera_tools.opdef import Dialect, by_word, ops_of

DIALECT = Dialect(
    "gpu",
    "kernels and launches",
    ops_of(structure, threads, warps, launch, memory, matrices, objects, sparse),
    types=by_word(
        AsyncTokenType,
        matrices.MMAMatrixType,
        sparse.DnTensorHandleType,
        sparse.SpMatHandleType,
        sparse.SpGEMMHandleType,
    ),
    attributes=by_word(
        DimensionAttr,
        AllReduceOperationAttr,
        ShuffleModeAttr,
        AddressSpaceAttr,
        BroadcastTypeAttr,
        ElementwiseAttr,
        attributes.PruneFlagAttr,
        attributes.SpGEMMStepAttr,
        attributes.TransposeModeAttr,
        objects.ObjectAttr,
        objects.SelectObjectAttr,
        *MAPPINGS,
    ),
    op_attributes=structure.OP_ATTRIBUTES,
)

__all__ = [
    "DIALECT",
    "AddressSpaceAttr",
    "Alloc",
    "AllReduce",
    "AllReduceOperationAttr",
    "AsyncTokenType",
    "Barrier",
    "BlockDim",
    "BlockId",
    "ClusterBlockId",
    "ClusterDim",
    "ClusterDimBlocks",
    "ClusterId",
    "Dealloc",
    "DimensionAttr",
    "DynamicSharedMemory",
    "Func",
    "GlobalId",
    "GridDim",
    "HostRegister",
    "HostUnregister",
    "LaneId",
    "Launch",
    "LaunchFunc",
    "Memcpy",
    "Memset",
    "Module",
    "NumSubgroups",
    "Printf",
    "Return",
    "SetDefaultDevice",
    "Shuffle",
    "ShuffleModeAttr",
    "SubgroupId",
    "SubgroupReduce",
    "SubgroupSize",
    "Terminator",
    "ThreadId",
    "Wait",
    "Yield",
]
