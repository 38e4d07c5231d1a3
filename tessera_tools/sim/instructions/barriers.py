"""bar and barrier of a CTA, bar.warp.sync (PTX ISA, "bar, barrier", "bar.warp.sync")."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.gang import Gang
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.interfaces import HasLanes
from tessera_tools.sim.machine import Cta
from tessera_tools.sim.program import Operand
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import FULL, JointOutcome, Mask, Outcome, Wait, Warp

_COUNT = 16
"""Barriers of a CTA."""


@dataclass(slots=True)
class Barrier:
    """One of a CTA's barriers. `arrived` counts threads of this generation; `seen` is what they release."""

    generation: int = 0
    arrived: int = 0
    expected: int | None = None
    """The expected number of threads; None for all threads of the CTA."""
    seen: Array | None = None
    true: int = 0
    false: int = 0
    result: tuple[int, int] = (0, 0)
    """Threads with a true, and with a false, predicate in the last complete generation."""
    released: Array | None = None
    lanes: dict[int, int] = field(default_factory=dict[int, int])
    """Warp → its lanes that have arrived in this generation."""
    whole: list[Warp] = field(default_factory=list[Warp])
    """Warps that wait here with all their lanes: they meet when the generation ends."""

    def complete(self, cta: Cta) -> bool:
        """End the generation if all threads have arrived."""
        wanted = self.expected if self.expected is not None else cta.live_threads
        if not self.arrived or self.arrived < wanted:
            return False
        self.result, self.released = (self.true, self.false), self.seen
        if self.whole:
            cta.cluster.clocks.synchronize(self.whole, self.seen)
        self.generation += 1
        self.whole = []
        self.lanes = {}
        self.arrived = self.true = self.false = 0
        self.seen = None
        return True


def barriers(cta: Cta) -> list[Barrier]:
    """The barriers of a CTA."""
    found = cta.state.get("barriers")
    if found is None:
        found = cta.state["barriers"] = [Barrier() for _ in range(_COUNT)]
    return found


@instruction("bar.sync", "bar.red", "bar.arrive", "bar.cta.sync", "bar.cta.red", "bar.cta.arrive")
def bar(ctx: Context) -> Execute:
    """bar{.cta}.{sync,arrive,red}: barrier{.cta}.….aligned."""
    return _barrier(ctx, aligned=True)


@instruction(
    "barrier.sync",
    "barrier.red",
    "barrier.arrive",
    "barrier.cta.sync",
    "barrier.cta.red",
    "barrier.cta.arrive",
)
def barrier(ctx: Context) -> Execute:
    """barrier{.cta}.{sync,arrive,red}{.aligned} a{, b}."""
    return _barrier(ctx, aligned=ctx.flag("aligned"))


def _barrier(ctx: Context, *, aligned: bool) -> Execute:
    kind = next(m for m in ctx.inst.modifiers if m in ("sync", "red", "arrive"))
    if aligned:
        ctx.aligned()
    ctx.blocks()
    operands = list(ctx.operands())
    u32 = TYPES["u32"]
    reduction, destination, predicate = "", -1, (-1, False)
    if kind == "red":
        reduction = ctx.choose("popc", "and", "or")
        type = ctx.type("u32", "pred")
        destination = ctx.write(operands.pop(0), type)
        predicate = ctx.predicate(operands.pop())
    if not 1 <= len(operands) <= 2 or (kind == "arrive" and len(operands) != 2):
        raise ctx.error(f"has {len(ctx.operands())} operands; expected a barrier and a thread count")
    which = ctx.read(operands[0], u32)
    count = _optional(ctx, operands, 1)

    def together(gang: Gang, mask: HasLanes) -> JointOutcome:
        """All warps of the CTA meet, if no other arrival is expected."""
        warps, cta = gang.warps, gang.cta
        row = gang.ports[which]
        number = int(row[0])
        if gang.stats is not None or len(warps) != len(cta.warps) or number >= _COUNT or some(row != number):
            return NotImplemented
        state = barriers(cta)[number]
        if state.arrived or any(warp.live != FULL for warp in warps):
            return NotImplemented
        if count is not None and some(gang.ports[count] != 32 * len(warps)):
            return NotImplemented
        cta.cluster.clocks.synchronize(warps)
        state.expected = 32 * len(warps) if count is not None else None
        state.generation += 1
        cta.cluster.launch.progress += 1
        gang.met = True
        return ~(gang.pc + 1)

    if kind == "sync":
        ctx.together = together

    def execute(warp: Warp, mask: Mask) -> Outcome:
        number = int(warp.ports[which][mask.first])
        expected = int(warp.ports[count][mask.first]) if count is not None else None
        cta = warp.cta
        if number >= _COUNT or (expected is not None and (expected % 32 or not expected)):
            threads = "all" if expected is None else expected
            warp.report("barrier", f"barrier {number} with {threads} threads; barriers are 0 to 15, "
                        "thread counts multiples of 32", mask)  # fmt: skip
            return None
        state = barriers(cta)[number]
        if state.arrived and state.expected != expected:
            warp.report(
                "barrier", f"barrier {number} awaits {state.expected or 'all'} threads; here it is {expected or 'all'}",
                mask,
            )  # fmt: skip
        state.expected = expected
        already = state.lanes.get(warp.index, 0)
        # A barrier counts arrivals, and not who arrives: a warp may also wait for what it has announced (the epilogues
        # of CUTLASS do, with a count of one warp more). To announce it twice is a missing wait.
        if already & mask.bits and kind == "arrive":
            warp.report(
                "barrier",
                f"arrives again at barrier {number} before its generation ends: {state.arrived} of "
                f"{expected or cta.live_threads} threads have arrived, and the warp would count twice",
                mask,
            )
        state.lanes[warp.index] = already | mask.bits
        # A partial last warp counts as a whole warp (PTX ISA: barriers count whole warps).
        state.arrived += 32 if mask.bits == warp.live else mask.count
        clocks = cta.cluster.clocks
        seen = clocks.release(warp)
        state.seen = seen if state.seen is None else np.maximum(state.seen, seen)
        if predicate[0] >= 0:
            row = warp.ports[predicate[0]][mask.array] ^ predicate[1]
            state.true += int(row.sum())
            state.false += int((~row).sum())
        generation = state.generation
        if warp.stats is not None:
            warp.stats.arrive("barrier", cta.number, number, generation)
            if kind != "arrive":
                warp.stats.wait("barrier", cta.number, number, generation)
        whole = mask.bits == warp.live and kind != "arrive"
        if whole:
            state.whole.append(warp)
        state.complete(cta)
        if kind == "arrive":
            return None

        def ready() -> bool:
            return state.generation != generation or state.complete(cta)

        def describe() -> str:
            wanted = state.expected if state.expected is not None else cta.live_threads
            return f"barrier {number}: {state.arrived} of {wanted} threads have arrived"

        def finish(warp: Warp, mask: Mask) -> None:
            if not whole:
                assert state.released is not None
                clocks.acquire(warp, state.released)
            if reduction:
                true, false = state.result
                value = {"popc": true, "and": not false, "or": bool(true)}[reduction]
                put(warp, mask, destination, value)

        return Wait(ready, describe, finish)

    return execute


def _optional(ctx: Context, operands: list[Operand], index: int) -> int | None:
    return ctx.read(operands[index], TYPES["u32"]) if len(operands) > index else None


@instruction("bar.warp.sync")
def warp_sync(ctx: Context) -> Execute:
    """bar.warp.sync membermask: the lanes meet, which orders their memory accesses."""
    port = ctx.read(ctx.operands(1)[0], TYPES["u32"])
    ctx.collective(port)
    return lambda warp, mask: warp.cta.cluster.clocks.synchronize([warp])
