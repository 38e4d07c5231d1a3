"""Shared helpers of the instruction families: closures over rows, for full and partial masks.

The closures over rows use only registers, lane by lane. Warps at the same instruction may run them together, on rows of
all their lanes (sim/gang.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from tessera_tools.sim.arrays import Array, OfRows
from tessera_tools.sim.decode import Context, Execute, lanewise
from tessera_tools.sim.interfaces import HasLanes, HasPorts
from tessera_tools.sim.warp import Mask, Warp, mask_of
from tessera_tools.target import Feature, UnknownTargetError, lookup

__all__ = ["architecture_without", "computed", "elementwise", "lane_by_lane", "once_for_equal", "put"]


def architecture_without(ctx: Context, feature: Feature) -> str | None:
    """The first architecture of the module that lacks a feature; None if all have it. Unknown ones are left out."""
    for name in ctx.program.targets:
        with suppress(UnknownTargetError):
            if not lookup(name).has(feature):
                return name
    return None


def lane_by_lane(one: Callable[[Warp, Mask, int], None]) -> Execute:
    """Execute `one` for each active lane in turn, with a mask of this lane."""

    def execute(warp: Warp, mask: Mask) -> None:
        for lane in map(int, mask.lanes):
            one(warp, mask_of(1 << lane), lane)

    return execute


def once_for_equal(
    one: Callable[[Warp, Mask, int], None], rows: Callable[[Warp], list[Array]], what: str
) -> Execute:
    """Execute `one` for the active lanes with different operands, whose `rows` are given: for operations that have the
    same effect once as several times.

    ptxas issues a bulk copy once for a warp whose operands are uniform, which CUTLASS relies on; PTX has one for each
    thread, hence a warning.
    """

    def execute(warp: Warp, mask: Mask) -> None:
        operands = np.stack([row.astype(np.uint64) for row in rows(warp)])[:, mask.array]
        _, first, count = np.unique(operands, axis=1, return_index=True, return_counts=True)
        for index in sorted(map(int, first)):
            lane = int(mask.lanes[index])
            one(warp, mask_of(1 << lane), lane)
        if int(count.max()) > 1:
            warp.report(
                "asynchronous",
                f"{what}: {int(count.max())} threads of the warp start the same copy; elect one (elect.sync)",
                mask,
                severity="warning",
            )

    return execute


def elementwise(ufunc: np.ufunc, destination: int, *sources: int) -> Execute:
    """`destination = ufunc(*sources)` for a NumPy ufunc whose operands and result have the same width.

    The result is written in place, without an intermediate row.
    """
    if len(sources) == 1:
        (a,) = sources

        def unary(warp: HasPorts, mask: HasLanes) -> None:
            ports = warp.ports
            if mask.full:
                ufunc(ports[a], out=ports[destination])
            else:
                ufunc(ports[a], out=ports[destination], where=mask.array)

        return lanewise(unary)
    a, b = sources

    def binary(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        if mask.full:
            ufunc(ports[a], ports[b], out=ports[destination])
        else:
            ufunc(ports[a], ports[b], out=ports[destination], where=mask.array)

    return lanewise(binary)


def computed(function: OfRows, destination: int, *sources: int) -> Execute:
    """`destination = function(*rows)`, for any function of whole rows; the result is cast as by assignment."""
    if len(sources) == 1:
        (a,) = sources
        return lanewise(lambda warp, mask: put(warp, mask, destination, function(warp.ports[a])))
    if len(sources) == 2:
        a, b = sources
        return lanewise(
            lambda warp, mask: put(warp, mask, destination, function(warp.ports[a], warp.ports[b]))
        )
    if len(sources) == 3:
        a, b, c = sources
        return lanewise(
            lambda warp, mask: put(
                warp, mask, destination, function(warp.ports[a], warp.ports[b], warp.ports[c])
            )
        )
    return lanewise(
        lambda warp, mask: put(warp, mask, destination, function(*[warp.ports[s] for s in sources]))
    )


def put(warp: HasPorts, mask: HasLanes, destination: int, row: Array | np.generic | int) -> None:
    """Write the active lanes of a whole row to a destination port."""
    if mask.full:
        warp.ports[destination][...] = row
    else:
        np.copyto(warp.ports[destination], row, casting="unsafe", where=mask.array)
