"""The Tessera `tile` dialect: thread blocks, warps, shared memory and registers by hand.

Buffers are memrefs, by memory space: global memory, 3 shared memory, 5 registers.  A fragment, `memref<8x8xf32, 5>`, is
one thread's part of a tile; the tile's extents follow from the product that defines it.
"""

from __future__ import annotations

from tessera_tools.dialects.tile import asynchronous, attention, collectives, compute, memory, mesh, threads
from tessera_tools.dialects.tile.asynchronous import *  # noqa: F403
from tessera_tools.dialects.tile.attention import *  # noqa: F403
from tessera_tools.dialects.tile.base import FRAGMENT, GLOBAL_BUFFER, REGISTERS, SHARED, rows_of, space_of
from tessera_tools.dialects.tile.collectives import *  # noqa: F403
from tessera_tools.dialects.tile.compute import *  # noqa: F403
from tessera_tools.dialects.tile.listing import complete_subviews
from tessera_tools.dialects.tile.memory import *  # noqa: F403
from tessera_tools.dialects.tile.mesh import MeshAttr, ShardingAttr, mesh_of
from tessera_tools.dialects.tile.threads import *  # noqa: F403
from tessera_tools.opdef import Dialect, by_word, ops_of

FAMILIES = (threads, memory, compute, asynchronous, attention, collectives)

DIALECT = Dialect(
    "tile",
    "the Tessera tile dialect: shared memory, registers and warps by hand",
    ops_of(*FAMILIES),
    upgrade=complete_subviews,
    attributes=by_word(compute.ReductionKindAttr, mesh.MeshAttr, mesh.ShardingAttr),
)

__all__ = [
    "DIALECT",
    "FRAGMENT",
    "GLOBAL_BUFFER",
    "REGISTERS",
    "SHARED",
    "MeshAttr",
    "ShardingAttr",
    "mesh_of",
    "rows_of",
    "space_of",
]
