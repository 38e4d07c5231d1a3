"""Loads and stores by state space: sends each lane's access to the memory that holds it.

    load(warp, mask, "generic", addresses, 4) ──by window──▶ global │ shared (own, remote) │ local │ param │ const

Values are compact: one row per active lane; widths are 1, 2, 4, 8, 16, 32 bytes (16 and 32: rows of uint64).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.interfaces import StateSpace, Warps
from tessera_tools.sim.lanes import Mask, mask_of
from tessera_tools.sim.memory import BASE, REMOTE_SHIFT, WINDOWS, compact

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cta
    from tessera_tools.sim.memory import Allocations
    from tessera_tools.sim.warp import Warp
    from tessera_tools.sim.watched import Shared

__all__ = ["SPACES", "check_remote", "load", "memory_of", "memory_of_warps", "parts", "store"]


SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "param", "const")
_WINDOW = np.uint64((1 << 40) - 1)
_BY_WINDOW = np.uint64(40)


def memory_of(warp: Warp, space: str) -> StateSpace:
    """The object that implements `load` and `store` for a space other than generic and shared::cluster."""
    if space == "global":
        return warp.cta.cluster.launch.memory
    if space in ("shared", "shared::cta"):
        return warp.cta.shared
    if space == "local":
        return warp.local
    launch = warp.cta.cluster.launch
    return launch.parameters if space == "param" else launch.module.constants


def memory_of_warps(warps: Warps, space: str) -> Allocations | Shared:
    """What implements `load_together` for warps of a CTA, and a space other than generic, shared::cluster and local."""
    if space == "global":
        return warps.cta.cluster.launch.memory
    if space == "shared":
        return warps.cta.shared
    launch = warps.cta.cluster.launch
    return launch.parameters if space == "param" else launch.module.constants


def parts(warp: Warp, mask: Mask, space: str, addresses: Array) -> list[tuple[StateSpace, Mask, Array]]:
    """(memory, lanes, addresses in that memory's own space) for each memory that the lanes address."""
    if space == "generic":
        return _generic(warp, mask, addresses)
    if space == "shared::cluster":
        return _cluster(warp, mask, addresses)
    if space in ("param", "const"):
        addresses = addresses | np.uint64(BASE[space])
    return [(memory_of(warp, space), mask, addresses)]


def _generic(warp: Warp, mask: Mask, addresses: Array) -> list[tuple[StateSpace, Mask, Array]]:
    windows = addresses >> _BY_WINDOW
    first = int(windows[mask.first])
    if first == BASE["global"] >> 40 and (windows == windows[mask.first])[mask.lanes].all():
        return [(warp.cta.cluster.launch.memory, mask, addresses)]
    result: list[tuple[StateSpace, Mask, Array]] = []
    for window in np.unique(windows[mask.array]):
        part = mask_of((windows == window) & mask.array)
        space = WINDOWS.get(int(window))
        if space is None or space == "global":
            # An address in no window is reported as a global access, with its nearest allocation.
            result.append((warp.cta.cluster.launch.memory, part, addresses))
        elif space == "shared":
            result += _cluster(warp, part, addresses & _WINDOW)
        elif space == "local":
            result.append((warp.local, part, addresses & _WINDOW))
        else:
            result.append((memory_of(warp, space), part, addresses))
    return result


def _cluster(warp: Warp, mask: Mask, addresses: Array) -> list[tuple[StateSpace, Mask, Array]]:
    ranks = addresses >> np.uint64(REMOTE_SHIFT)
    ctas = warp.cta.cluster.ctas
    result: list[tuple[StateSpace, Mask, Array]] = []
    for rank in np.unique(ranks[mask.array]):
        part = mask_of((ranks == rank) & mask.array)
        if rank < len(ctas):
            cta = ctas[int(rank)]
            check_remote(warp, part, cta)
            result.append((cta.shared, part, addresses))
        else:
            warp.report(
                "out-of-bounds",
                f"a shared::cluster address of CTA {int(rank)} in a cluster of {len(ctas)}",
                part,
            )
    return result


def check_remote(warp: Warp, mask: Mask, cta: Cta, *, arrives: bool = False) -> None:
    """Check that the CTA that owns distributed shared memory is running: it has started and has not exited.

    With `arrives`, the access is an arrive on an mbarrier, which has no observable effect after the CTA has exited.
    (CUDA C++ Programming Guide, "Distributed Shared Memory": a cluster barrier ensures both.)
    """
    if cta is warp.cta:
        return
    clocks = warp.cta.cluster.clocks
    first = cta.warps[0].rank
    started = "cluster started" in warp.cta.state
    if not started and clocks.known[warp.rank][first : first + len(cta.warps)].max() <= clocks.begin:
        warp.report(
            "race",
            f"access to shared memory of CTA {cta.index}, which may not have started yet; use a cluster barrier",
            mask,
        )
    if cta.ended:
        warp.report(
            "race",
            f"access to shared memory of CTA {cta.index}, which has exited; use a cluster barrier at the end",
            mask,
            severity="warning" if arrives else "error",
            cause=("exited", arrives),
        )


def load(warp: Warp, mask: Mask, space: str, addresses: Array, width: int, strong: bool = False) -> Array:
    """The values that the active lanes load, compact: shape [count]; for 16 and 32 bytes, [count, width/8] of uint64.

    `strong` accesses (volatile, relaxed, acquire, atomic) do not race with each other.
    """
    found = parts(warp, mask, space, addresses)
    if len(found) == 1 and found[0][1] is mask:
        return found[0][0].load(warp, mask, found[0][2], width, strong)
    dtype = np.dtype(f"<u{min(width, 8)}")
    out = np.full((32, width // 8) if width > 8 else 32, np.iinfo(dtype).max, dtype)
    for memory, part, own in found:
        out[part.array] = memory.load(warp, part, own, width, strong)
    return compact(mask, out)


def store(
    warp: Warp, mask: Mask, space: str, addresses: Array, width: int, values: Array, strong: bool = False
) -> None:
    """Store the compact `values` of the active lanes."""
    found = parts(warp, mask, space, addresses)
    if len(found) == 1 and found[0][1] is mask:
        found[0][0].store(warp, mask, found[0][2], width, values, strong)
        return
    spread = np.empty((32, *values.shape[1:]), values.dtype)
    spread[mask.array] = values
    for memory, part, own in found:
        memory.store(warp, part, own, width, compact(part, spread), strong)
