"""Closures around an instruction: for lanes that must meet, and for the lanes that its predicate selects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tessera_tools.sim.arrays import every, some
from tessera_tools.sim.interfaces import HasLanes
from tessera_tools.sim.lanes import Lanes
from tessera_tools.sim.warp import CHANGED, JointOutcome, Mask, Outcome, Split, Warp, mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Execute, Together
    from tessera_tools.sim.gang import Gang

__all__ = ["converged", "guarded", "guarded_control", "guarded_together"]


def converged(execute: Execute, needed: Callable[[Warp], int]) -> Execute:
    def run(warp: Warp, mask: Mask) -> Outcome:
        if mask.bits != warp.live:
            members = needed(warp) & warp.live
            if members & ~mask.bits and not warp.split.forced:
                return warp.converge(members)
            warp.split.forced = False
        return execute(warp, mask)

    return run


def guarded(execute: Execute, port: int, negated: bool) -> Execute:
    def run(warp: Warp, mask: Mask) -> Outcome:
        chosen = mask_of(warp.ports[port]).bits
        bits = mask.bits & (~chosen if negated else chosen)
        if not bits:
            return None
        return execute(warp, mask if bits == mask.bits else mask_of(bits))

    return run


def guarded_together(execute: Together, port: int, negated: bool) -> Together:
    """Like `guarded`, for the lanes of several warps."""

    def run(warp: Gang, mask: HasLanes) -> JointOutcome:
        chosen = warp.ports[port] ^ negated
        if not mask.full:
            chosen &= mask.array
        elif every(chosen):
            return execute(warp, mask)
        if some(chosen):
            return execute(warp, Lanes(chosen))
        return None

    return run


def guarded_control(execute: Execute, port: int, negated: bool) -> Execute:
    """Like `guarded`, for instructions that may block: the lanes that skip the instruction become a separate split."""

    def run(warp: Warp, mask: Mask) -> Outcome:
        chosen = mask_of(warp.ports[port]).bits
        bits = mask.bits & (~chosen if negated else chosen)
        if not bits:
            return None
        if bits == mask.bits:
            return execute(warp, mask)
        split = warp.split
        warp.splits.append(Split(split.pc + 1, mask_of(mask.bits & ~bits), split.stack))
        split.mask = mask_of(bits)
        result = execute(warp, split.mask)
        if result is None or isinstance(result, int):
            split.pc = split.pc + 1 if result is None else result
            return CHANGED
        return result

    return run
