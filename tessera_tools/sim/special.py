"""Special registers: their values for a warp's 32 lanes (PTX ISA, "Special Registers").

A register with a function is constant for the lifetime of a warp. None marks a register that changes, which only `mov`
reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.memory import REMOTE_SHIFT, RESERVED_START

if TYPE_CHECKING:
    from tessera_tools.sim.warp import Warp

__all__ = ["SPECIAL", "VARYING"]

_LANES = np.arange(32, dtype=np.uint64)


def _table() -> dict[str, Callable[[Warp], Array | np.generic | int] | None]:
    table: dict[str, Callable[[Warp], Array | np.generic | int] | None] = {
        "%laneid": lambda warp: _LANES,
        "%warpid": lambda warp: warp.index,
        "%nwarpid": lambda warp: 64,
        "%smid": lambda warp: warp.cta.number % 132,
        "%nsmid": lambda warp: 132,
        "%gridid": lambda warp: 1,
        "%is_explicit_cluster": lambda warp: warp.cta.cluster.launch.explicit_cluster,
        "%cluster_ctarank": lambda warp: warp.cta.rank,
        "%cluster_nctarank": lambda warp: len(warp.cta.cluster.ctas),
        "%lanemask_eq": lambda warp: np.uint64(1) << _LANES,
        "%lanemask_le": lambda warp: (np.uint64(2) << _LANES) - np.uint64(1),
        "%lanemask_lt": lambda warp: (np.uint64(1) << _LANES) - np.uint64(1),
        "%lanemask_ge": lambda warp: np.uint64(0xFFFFFFFF) - ((np.uint64(1) << _LANES) - np.uint64(1)),
        "%lanemask_gt": lambda warp: np.uint64(0xFFFFFFFF) - ((np.uint64(2) << _LANES) - np.uint64(1)),
        "%dynamic_smem_size": lambda warp: warp.cta.cluster.launch.dynamic_shared,
        "%total_smem_size": lambda warp: warp.cta.cluster.launch.shared_size,
        "%aggr_smem_size": lambda warp: warp.cta.cluster.launch.shared_size,
        "%reserved_smem_offset_begin": lambda warp: 0,
        "%reserved_smem_offset_end": lambda warp: 1024,
        "%reserved_smem_offset_cap": lambda warp: 1024,
        "%current_graph_exec": lambda warp: 0,
    }
    # %envreg1 and 2 are the address of the workspace of a cooperative grid, as cooperative_groups.h reads it. The other
    # registers are private to the driver: zeros (PTX ISA, "%envreg<32>").
    table.update({f"%envreg{n}": lambda warp: 0 for n in range(32)})
    table["%envreg1"] = lambda warp: warp.cta.cluster.launch.workspace.base >> 32
    table["%envreg2"] = lambda warp: warp.cta.cluster.launch.workspace.base & 0xFFFFFFFF
    table["%reserved_smem_offset_0"] = lambda warp: 0
    table["%reserved_smem_offset_1"] = lambda warp: RESERVED_START + (warp.cta.rank << REMOTE_SHIFT)
    for axis, name in enumerate("xyz"):
        table[f"%tid.{name}"] = lambda warp, axis=axis: warp.cta.coordinates(warp)[axis]
        table[f"%ntid.{name}"] = lambda warp, axis=axis: warp.cta.cluster.launch.block[axis]
        table[f"%ctaid.{name}"] = lambda warp, axis=axis: warp.cta.index[axis]
        table[f"%nctaid.{name}"] = lambda warp, axis=axis: warp.cta.cluster.launch.grid[axis]
        table[f"%clusterid.{name}"] = lambda warp, axis=axis: warp.cta.cluster.index[axis]
        table[f"%nclusterid.{name}"] = lambda warp, axis=axis: warp.cta.cluster.launch.clusters[axis]
        table[f"%cluster_ctaid.{name}"] = lambda warp, axis=axis: warp.cta.place[axis]
        table[f"%cluster_nctaid.{name}"] = lambda warp, axis=axis: warp.cta.cluster.launch.cluster[axis]
    table.update(dict.fromkeys(VARYING))
    return table


VARYING: dict[str, Callable[[Warp], int]] = {
    "%clock": lambda warp: warp.instructions,
    "%clock_hi": lambda warp: warp.instructions >> 32,
    "%clock64": lambda warp: warp.instructions,
    "%globaltimer": lambda warp: warp.cta.cluster.launch.executed,
    "%globaltimer_lo": lambda warp: warp.cta.cluster.launch.executed,
    "%globaltimer_hi": lambda warp: warp.cta.cluster.launch.executed >> 32,
}
SPECIAL: dict[str, Callable[[Warp], Array | np.generic | int] | None] = _table()
