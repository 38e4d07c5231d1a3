"""The `gpu` dialect: kernels, their modules, the place of a thread in the grid, and launches.

Indices are `index` values; `upper_bound` promises that the value is below it.
"""

from __future__ import annotations

from tessera_tools.dialects.gpu import launch, matrices, memory, structure, threads, warps
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
    ops_of(structure, threads, warps, launch, memory, matrices),
    types=by_word(AsyncTokenType, matrices.MMAMatrixType),
    attributes=by_word(
        DimensionAttr,
        AllReduceOperationAttr,
        ShuffleModeAttr,
        AddressSpaceAttr,
        BroadcastTypeAttr,
        ElementwiseAttr,
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
