"""setmaxnreg, griddepcontrol, createpolicy (PTX ISA, "Miscellaneous Instructions", "griddepcontrol")."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.machine import CTA_ENDS, Cta
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Outcome, Wait, Warp

_REGISTERS = 65536
"""Registers of a multiprocessor, all of which belong to the CTA."""


@dataclass(slots=True)
class Pool:
    """The registers of a CTA that its warps have returned; `held` is each warp's count per thread."""

    free: int
    held: list[int]
    history: list[list[int]] = field(default_factory=list[list[int]])
    """Per warp: the counts it has requested; all warps of a warpgroup must request the same counts."""
    lines: dict[int, int] = field(default_factory=dict[int, int])


def pool(cta: Cta) -> Pool:
    """The pool of a CTA. At launch, every thread has an equal share of the registers, a multiple of 8, and the pool has
    none: what does not divide evenly belongs to no CTA."""
    found = cta.state.get("setmaxnreg")
    if found is None:
        warps = len(cta.warps)
        share = min(_REGISTERS // (32 * warps) // 8 * 8, 256)
        found = cta.state["setmaxnreg"] = Pool(0, [share] * warps, [[] for _ in range(warps)])
    return found


@instruction("setmaxnreg.inc", "setmaxnreg.dec")
def setmaxnreg(ctx: Context) -> Execute:
    """setmaxnreg.{inc,dec}.sync.aligned.u32 n: changes the registers from the CTA's pool; inc waits for free ones."""
    increases = "inc" in ctx.inst.modifiers
    ctx.choose("sync")
    ctx.choose("aligned")
    ctx.type("u32")
    (operand,) = ctx.operands(1)
    count = ctx.number(operand) or 0
    if not 24 <= count <= 256 or count % 8:
        raise ctx.error("needs a multiple of 8 from 24 to 256")
    ctx.aligned()
    ctx.blocks()

    def execute(warp: Warp, mask: Mask) -> Outcome:
        found = pool(warp.cta)
        mine = found.held[warp.index]
        asked = found.history[warp.index]
        asked.append(count)
        first = warp.index // 4 * 4
        for other in found.history[first : first + 4]:
            if len(other) >= len(asked) and other[len(asked) - 1] != count:
                warp.report(
                    "illegal",
                    f"setmaxnreg to {count}, where another warp of the warpgroup asked for {other[len(asked) - 1]}",
                    mask,
                )
                break
        # The compiler chooses the register count at launch; only requested counts are known.
        if len(asked) > 1 and ((count < mine) if increases else (count > mine)):
            warp.report(
                "illegal",
                f"setmaxnreg.{'inc' if increases else 'dec'} to {count} registers; the threads have {mine}",
                mask,
            )
            return None
        if count <= mine:
            found.free += (mine - count) * 32
            found.held[warp.index] = count
            warp.cta.cluster.launch.progress += 1
            return None
        needed = (count - mine) * 32

        def ready() -> bool:
            return found.free >= needed

        def finish(warp: Warp, mask: Mask) -> None:
            found.free -= needed
            found.held[warp.index] = count

        if ready():
            finish(warp, mask)
            return None
        return Wait(
            ready,
            lambda: (
                f"registers: {needed} more for {count} per thread, and the CTA's pool has {found.free}; "
                f"warps hold {found.held} per thread"
            ),
            finish,
        )

    return execute


def _end_of_cta(cta: Cta) -> None:
    """setmaxnreg requires whole warpgroups."""
    found: Pool | None = cta.state.get("setmaxnreg")
    if found is None:
        return
    for first in range(0, len(cta.warps), 4):
        counts = [len(asked) for asked in found.history[first : first + 4]]
        if len(set(counts)) > 1:
            warp = cta.warps[first + int(np.argmax(counts))]
            warp.split.pc -= 1
            warp.report(
                "illegal",
                f"setmaxnreg ran {counts} times in the warps {first} to {first + len(counts) - 1}: all warps of a "
                "warpgroup must execute it",
            )


CTA_ENDS.append(_end_of_cta)


@instruction("griddepcontrol.launch_dependents")
def launch_dependents(ctx: Context) -> Execute:
    """griddepcontrol.launch_dependents: dependents may start; it has no effect on this grid."""
    ctx.operands(0)
    return lambda warp, mask: None


@instruction("griddepcontrol.wait")
def wait(ctx: Context) -> Execute:
    """griddepcontrol.wait: waits until the prerequisite grids have completed and their writes are visible.

    Buffers marked by `sim.unfinished` may be read afterwards.
    """
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        warp.state["griddepcontrol.wait"] = True

    return execute


@instruction("createpolicy.fractional", "createpolicy.range", "createpolicy.cvt")
def createpolicy(ctx: Context) -> Execute:
    """createpolicy: a cache policy, which has no effect on values; here always 0."""
    for modifier in ctx.remaining():
        ctx.flag(modifier)
    destination = ctx.write(ctx.operands()[0], TYPES["b64"])
    return lambda warp, mask: put(warp, mask, destination, np.uint64(0))
