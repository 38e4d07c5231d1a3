"""The `gpu` dialect: kernels, their modules, the place of a thread in the grid, and launches.

Indices are `index` values; `upper_bound` promises that the value is below it.
"""

from __future__ import annotations

from tessera_tools.dialects.gpu import launch, memory, structure, threads
from tessera_tools.dialects.gpu.attributes import (
    AddressSpaceAttr,
    AllReduceOperationAttr,
    AsyncTokenType,
    DimensionAttr,
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
    ops_of(structure, threads, launch, memory),
    types=by_word(AsyncTokenType),
    attributes=by_word(DimensionAttr, AllReduceOperationAttr, ShuffleModeAttr, AddressSpaceAttr),
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
