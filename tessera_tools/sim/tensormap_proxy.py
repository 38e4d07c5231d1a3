"""Tensor maps in memory, and the tensormap proxy through which copies read them.

    tensormap.replace (generic) ──▶ release: fence or cp_fenceproxy ──▶ fence …acquire [map] ──▶ copy

A map that the host wrote needs no fence. A map that the kernel changed is visible to copies of a CTA after a thread
of that CTA has acquired the released version (PTX ISA, "membar, fence": .proxy.tensormap).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.memory import BASE, UNFENCED, WINDOWS
from tessera_tools.sim.proxies import covered, history_of
from tessera_tools.sim.tensor_map import SIZE, TensorMap, TensorMapError
from tessera_tools.sim.warp import Mask, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cluster
    from tessera_tools.sim.memory import Allocations

__all__ = ["acquire", "changed", "read_map", "release"]


@dataclass(slots=True)
class _Versions:
    """A map that the kernel has changed: the number of changes, the released version, each CTA's acquired version."""

    written: int = 0
    writer: tuple[Cluster, int, int] | None = None
    """Cluster, rank and clock of the warp that changed it last."""
    released: int = 0
    acquired: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])


def _table(warp: Warp) -> dict[int, _Versions]:
    return warp.cta.cluster.launch.state.setdefault("tensormap", {})


def changed(warp: Warp, address: int, *, released: bool) -> None:
    """The generic proxy has written the map at a global address; `released`: by an instruction with its own fence."""
    versions = _table(warp).setdefault(address, _Versions())
    versions.written += 1
    versions.writer = (warp.cta.cluster, warp.rank, int(warp.cta.cluster.clocks.now))
    if released:
        versions.released = versions.written


def release(warp: Warp, mask: Mask) -> None:
    """fence.proxy.tensormap::generic.release: releases the changes that are ordered before it."""
    cluster = warp.cta.cluster
    for versions in _table(warp).values():
        if versions.writer is None or versions.writer[0] is not cluster:
            continue
        _, rank, clock = versions.writer
        if rank == warp.rank or cluster.clocks.known[warp.rank][rank] >= clock:
            versions.released = versions.written
    # Maps that plain stores have written.
    for region in cluster.launch.memory.regions:
        if region.state is None:
            continue
        history = history_of(warp, region)
        dirty = np.flatnonzero(region.state & UNFENCED)
        if history is not None and len(dirty):
            dirty = covered(warp, mask, history, dirty)
        region.state[dirty] &= ~np.uint8(UNFENCED)


def acquire(warp: Warp, address: int) -> None:
    """fence.proxy.tensormap::generic.acquire [address]: the CTA acquires the released version."""
    versions = _table(warp).get(address)
    if versions is not None:
        versions.acquired[warp.cta.index] = versions.released


def read_map(warp: Warp, mask: Mask, address: int, what: str, *, severity: str = "error") -> TensorMap | None:
    """The map at the generic address of a copy; a finding and None if there is none.

    `severity` is that of bytes that are no map.
    """
    launch = warp.cta.cluster.launch
    if launch.parameters.find(address | BASE["param"]) is not None and address >> 40 == 0:
        address |= BASE["param"]  # ptxas accepts an address of .param that no cvta has converted to generic.
    space = WINDOWS.get(address >> 40)
    memories: dict[str | None, Allocations] = {
        "global": launch.memory,
        "param": launch.parameters,
        "const": launch.module.constants,
    }
    if space not in memories:
        where = f"{space or 'unmapped'} memory"
        warp.report(
            "illegal", f"{what}: its tensor map is in {where}; expected .param, .const or .global", mask
        )
        return None
    region = memories[space].find(address)
    if region is None or address + SIZE > region.base + region.size:
        warp.report("out-of-bounds", f"{what}: no tensor map of 128 bytes at {address:#x}", mask)
        return None
    if address % 64:
        warp.report(
            "misaligned", f"{what}: its tensor map is at {address:#x}; expected a multiple of 64", mask
        )
    begin = address - region.base
    versions = _table(warp).get(address)
    if versions is not None and versions.acquired.get(warp.cta.index) != versions.written:
        lacks = "released by fence.proxy.tensormap" if versions.released != versions.written else "acquired"
        warp.report(
            "proxy",
            f"{what}: the kernel changed its tensor map, and the change was not {lacks}: release it, then "
            "fence.proxy.tensormap::generic.acquire before the copy",
            mask,
        )
    elif region.state is not None and (region.state[begin : begin + SIZE] & UNFENCED).any():
        warp.report(
            "proxy",
            f"{what}: the kernel stored to its tensor map with no fence.proxy.tensormap since",
            mask,
        )
    raw = region.data[begin : begin + SIZE].tobytes()
    cache = launch.state.setdefault("tensor maps", {})
    tensor = cache.get(raw)
    if tensor is None:
        try:
            tensor = TensorMap.decode(raw)
            tensor.check()
        except TensorMapError as found:
            warp.report("illegal", f"{what}: {found}", mask, severity=severity)
            return None
        cache[raw] = tensor
    return tensor
