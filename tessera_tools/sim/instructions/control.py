"""Control flow (PTX ISA, "Control Flow Instructions"): bra, brx.idx, exit, ret, trap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.interfaces import HasLanes
from tessera_tools.sim.machine import StopLaunch
from tessera_tools.sim.program import Name
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import CHANGED, JointOutcome, Mask, Outcome, Split, Warp, mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.gang import Gang


@instruction("bra")
def bra(ctx: Context) -> Execute:
    """@p bra{.uni} label: the lanes with p branch to the label."""
    ctx.flag("uni")
    target = ctx.label(ctx.operands(1)[0])
    if ctx.inst.predicate is None:
        ctx.together = lambda gang, mask: ~target
        return lambda warp, mask: target
    port, negated = ctx.predicate(ctx.inst.predicate)

    def together(gang: Gang, mask: HasLanes) -> JointOutcome:
        taken = np.count_nonzero(gang.ports[port])
        if taken == len(mask.array):
            return None if negated else ~target
        if not taken:
            return ~target if negated else None
        return NotImplemented

    ctx.together = together
    ctx.module.branches[ctx.pc] = port, negated

    def execute(warp: Warp, mask: Mask) -> Outcome:
        chosen = mask_of(warp.ports[port]).bits
        return warp.branch(mask.bits & (~chosen if negated else chosen), target, mask)

    return execute


@instruction("brx.idx")
def brx(ctx: Context) -> Execute:
    """brx.idx{.uni} index, list: branches to the label of the list at the index."""
    ctx.flag("uni")
    ctx.blocks()
    index, names = ctx.operands(2)
    labels = ctx.inst.scope.target_list(names.name) if isinstance(names, Name) else None
    if labels is None:
        raise ctx.error("names no .branchtargets list")
    targets = [ctx.label(Name(label)) for label in labels]
    port = ctx.read(index, TYPES["u32"])

    def execute(warp: Warp, mask: Mask) -> Outcome:
        row = warp.ports[port]
        wanted = np.unique(row[mask.array])
        if int(wanted[-1]) >= len(targets):
            warp.report("illegal", f"index {int(wanted[-1])} into a list of {len(targets)} labels", mask)
            return warp.leave(mask)
        if len(wanted) == 1:
            return targets[int(wanted[0])]
        split = warp.split
        warp.splits.remove(split)
        for value in wanted:
            lanes = mask_of((row == value) & mask.array)
            warp.splits.append(Split(targets[int(value)], lanes, split.stack))
        return CHANGED

    return execute


@instruction("exit")
def exit_(ctx: Context) -> Execute:
    """exit: the thread exits."""
    ctx.blocks()
    ctx.operands(0)
    return lambda warp, mask: warp.leave(mask)


def _stop(ctx: Context, what: str) -> Execute:
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        warp.report("trap", f"the kernel executed {what}", mask)
        raise StopLaunch

    return execute


@instruction("trap")
def trap(ctx: Context) -> Execute:
    """trap: ends the launch with a finding."""
    return _stop(ctx, "a trap")


@instruction("brkpt")
def brkpt(ctx: Context) -> Execute:
    """brkpt: suspends the launch for a debugger; here it ends the launch, with a finding."""
    return _stop(ctx, "a breakpoint")


@instruction("nanosleep")
def nanosleep(ctx: Context) -> Execute:
    """nanosleep.u32 t: the warp yields; no time is simulated."""
    ctx.type("u32")
    ctx.read(ctx.operands(1)[0], TYPES["u32"])
    return lambda warp, mask: None


@instruction("pmevent")
def pmevent(ctx: Context) -> Execute:
    """pmevent{.mask} a: triggers performance monitor events, which the simulator does not have."""
    ctx.flag("mask")
    ctx.operands(1)
    return lambda warp, mask: None
