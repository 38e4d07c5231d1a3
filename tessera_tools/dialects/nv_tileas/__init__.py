"""The `nv_tileas` dialect (stage 3): tile programs with layouts, buffers and asynchronous copies made explicit.

Every tensor's type carries its layout, `tensor<128x64xf16, #nv_tileas.linear<{register = …, lane = …, warp = …}>>`:
which thread holds which elements.  Shared memory is `!nv_tileas.smem<stages x tile, layout>`.

    base.py        layouts and the type of shared memory
    ops.py         accesses, buffers, copies by thread, barriers, products
    clusters.py    the CTAs of a cluster
    launch_control.py  the place of a CTA that has not begun
    agents.py      agents
    pipelines.py   the pipelines between them
    channels.py    numbers that agents send to each other
    orders.py      turns of the warpgroups of an agent
    tma.py         boxes by TMA, products by wgmma
    box_groups.py  groups of boxes by TMA, for programs that wait for groups
    tensor_memory.py   buffers in tensor memory, products by tcgen05.mma
    s2t_copy.py        copies of tiles from shared to tensor memory
    older.py       the older spelling; upgrade.py translates it
"""

from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.dialects.nv_tileas.agents import AgentSwitch, Yield, agent_of
from tessera_tools.dialects.nv_tileas.base import LinearAttr, SharedAttr, SmemType, layout_of, with_layout
from tessera_tools.dialects.nv_tileas.box_groups import BoxCommit, BoxCopy, BoxWait
from tessera_tools.dialects.nv_tileas.channels import ReceiveValue, SendValue
from tessera_tools.dialects.nv_tileas.clusters import (
    IN_STEP,
    SHARED_BY,
    ClusterReduce,
    ClusterReduceScatter,
    CtaRank,
    combinations,
    peers_of,
    shared_axis,
)
from tessera_tools.dialects.nv_tileas.launch_control import CanceledProgramId, CancelLaunch
from tessera_tools.dialects.nv_tileas.older import AgentAttr, OlderFunc, OlderReturn
from tessera_tools.dialects.nv_tileas.ops import (
    DEFAULT_LOAD,
    DEFAULT_STORE,
    LOADS,
    STORES,
    AllocTensor,
    AsyncCommitGroup,
    AsyncTiledCopy,
    AsyncWaitGroup,
    Barrier,
    ConvertLayout,
    Dot,
    Load,
    LoadElement,
    LoadGlobal,
    MBarrierArrive,
    MBarrierInit,
    MBarrierWait,
    Prefetch,
    ProfileRecord,
    Reload,
    Slice,
    Spill,
    Store,
    StoreElement,
    StoreGlobal,
    TiledLoad,
    TiledPrefetch,
    TiledStore,
)
from tessera_tools.dialects.nv_tileas.orders import (
    CreateOrder,
    OrderArrive,
    OrderTokenType,
    OrderWait,
    in_turn,
)
from tessera_tools.dialects.nv_tileas.pipeline_types import (
    ConsumerTokenType,
    PipelineIterType,
    PipelineTokenType,
    ProducerTokenType,
)
from tessera_tools.dialects.nv_tileas.pipelines import (
    NO_PIPELINE,
    ConsumeOne,
    ConsumerRead,
    ConsumerRelease,
    ConsumerWait,
    CreateIterator,
    CreatePipeline,
    Fill,
    IncIter,
    ProduceOne,
    ProducerAcquire,
    ProducerCommit,
    ProducerTail,
    ProducerWrite,
    is_unwrapped,
    pipeline_at,
    pipeline_of,
)
from tessera_tools.dialects.nv_tileas.s2t_copy import S2tCopy
from tessera_tools.dialects.nv_tileas.tensor_memory import (
    AllocTmem,
    AnyInWarp,
    DeallocTmem,
    TensorAttr,
    TmemCopy,
    TmemLoad,
    TmemStore,
    TmemType,
    Umma,
    allocated_columns,
    operand_layout,
    scales_layout,
    umma_layout,
)
from tessera_tools.dialects.nv_tileas.tma import (
    MOST_EXTENT,
    AsyncDot,
    AsyncDotResult,
    AsyncDotWait,
    AsyncStoreWait,
    FenceProxy,
    MakeTiledTmaDesc,
    TiledTmaLoad,
    TiledTmaStore,
    TmaDescType,
    View,
    storage_of,
)
from tessera_tools.dialects.nv_tileas.upgrade import upgrade_older
from tessera_tools.opdef import Dialect, by_word, ops_of

DIALECT = Dialect(
    "nv_tileas",
    "tile programs with layouts, buffers and pipelines (stage 3)",
    ops_of(globals()),
    types=by_word(
        SmemType,
        TmemType,
        TmaDescType,
        PipelineTokenType,
        PipelineIterType,
        ProducerTokenType,
        ConsumerTokenType,
        OrderTokenType,
    ),
    attributes=by_word(LinearAttr, SharedAttr, TensorAttr, AgentAttr),
    upgrade=upgrade_older,
)

__all__ = [
    "AgentSwitch",
    "AllocTensor",
    "AllocTmem",
    "AnyInWarp",
    "AsyncCommitGroup",
    "AsyncDot",
    "AsyncDotResult",
    "AsyncDotWait",
    "AsyncStoreWait",
    "AsyncTiledCopy",
    "AsyncWaitGroup",
    "Barrier",
    "BoxCommit",
    "BoxCopy",
    "BoxWait",
    "CancelLaunch",
    "CanceledProgramId",
    "ClusterReduce",
    "ClusterReduceScatter",
    "ConsumeOne",
    "ConsumerRead",
    "ConsumerRelease",
    "ConsumerTokenType",
    "ConsumerWait",
    "ConvertLayout",
    "CreateIterator",
    "CreateOrder",
    "CreatePipeline",
    "CtaRank",
    "DEFAULT_LOAD",
    "DEFAULT_STORE",
    "DIALECT",
    "DeallocTmem",
    "Dot",
    "FenceProxy",
    "IN_STEP",
    "IncIter",
    "LOADS",
    "LinearAttr",
    "Load",
    "LoadElement",
    "LoadGlobal",
    "MBarrierArrive",
    "MBarrierInit",
    "MBarrierWait",
    "MEM_TOKEN",
    "MOST_EXTENT",
    "MakeTiledTmaDesc",
    "NO_PIPELINE",
    "OlderFunc",
    "OlderReturn",
    "OrderArrive",
    "OrderTokenType",
    "OrderWait",
    "PipelineIterType",
    "PipelineTokenType",
    "Prefetch",
    "ProduceOne",
    "ProducerAcquire",
    "ProducerCommit",
    "ProducerTail",
    "ProducerTokenType",
    "ProducerWrite",
    "ProfileRecord",
    "ReceiveValue",
    "Reload",
    "SHARED_BY",
    "S2tCopy",
    "STORES",
    "SendValue",
    "SharedAttr",
    "Slice",
    "SmemType",
    "Spill",
    "Store",
    "StoreElement",
    "StoreGlobal",
    "TensorAttr",
    "TiledLoad",
    "TiledPrefetch",
    "TiledStore",
    "TiledTmaLoad",
    "TiledTmaStore",
    "TmaDescType",
    "TmemLoad",
    "TmemCopy",
    "TmemStore",
    "TmemType",
    "Umma",
    "View",
    "Yield",
    "Fill",
    "agent_of",
    "allocated_columns",
    "combinations",
    "in_turn",
    "is_unwrapped",
    "layout_of",
    "peers_of",
    "pipeline_at",
    "pipeline_of",
    "shared_axis",
    "storage_of",
    "operand_layout",
    "scales_layout",
    "umma_layout",
    "with_layout",
]
