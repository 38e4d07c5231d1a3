"""shfl, vote, match, redux, activemask, elect (PTX ISA, "Data Movement…: shfl.sync", "Parallel Synchronization").

The .sync forms wait for the lanes of their member mask; none of them orders memory. A member mask with an exited lane,
or without a lane that runs the instruction, is the finding `illegal`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.arrays import Array, every, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.instructions.floating import element_of, extreme
from tessera_tools.sim.interfaces import HasLanes, Warps
from tessera_tools.sim.program import Operand
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import FULL, JointOutcome, Mask, Warp, mask_of

_LANES = np.arange(32, dtype=np.int64)


def _members(ctx: Context, operand: Operand) -> int:
    """The port of a member mask; the instruction waits for its lanes."""
    port = ctx.read(operand, TYPES["u32"])
    ctx.collective(port)
    return port


def _by_members(execute: Callable[[Warp, Mask], None], members: int | None) -> Execute:
    """Runs `execute` for each group of lanes with the same member mask: groups of a warp may arrive together."""
    if members is None:
        return execute

    def run(warp: Warp, mask: Mask) -> None:
        row = warp.ports[members]
        wanted = int(row[mask.first])
        if mask.count == 1 or every(row[mask.array] == row[mask.first]):
            groups = [(wanted, mask)]
        else:
            groups = [(int(bits), mask_of((row == bits) & mask.array)) for bits in np.unique(row[mask.array])]
        for wanted, part in groups:
            unexpected = part.bits & ~wanted
            if unexpected:
                warp.report(
                    "illegal",
                    f"lanes {unexpected:#010x} run it, but are not in the mask {wanted:#010x}",
                    mask_of(unexpected),
                )
            execute(warp, part)

    return run


@instruction("shfl.sync", "shfl")
def shfl(ctx: Context) -> Execute:
    """shfl.sync.mode.b32 d{|p}, a, b, c, membermask: a from another lane; p tells whether the lane was in range."""
    mode = ctx.choose("up", "down", "bfly", "idx")
    type = ctx.type("b32")
    synchronous = "sync" in ctx.inst.modifiers
    operands = ctx.operands(5 if synchronous else 4)
    target, predicate = ctx.pair(operands[0])
    u32 = TYPES["u32"]
    d, a = ctx.write(target, type), ctx.read(operands[1], type)
    b, c = ctx.read(operands[2], u32), ctx.read(operands[3], u32)
    p = ctx.write(predicate, TYPES["pred"]) if predicate is not None else None
    members = _members(ctx, operands[4]) if synchronous else None

    def sources(step: Array, control: Array) -> tuple[Array, Array]:
        """The source lane of each lane, and whether it is inside the segment."""
        clamp, segment = control & 31, control >> 8 & 31
        highest = (_LANES & segment) | (clamp & ~segment & 31)
        lowest = _LANES & segment
        if mode == "up":
            source = _LANES - step
            inside = source >= highest
        elif mode == "down":
            source = _LANES + step
            inside = source <= highest
        elif mode == "bfly":
            source = _LANES ^ step
            inside = source <= highest
        else:
            source = lowest | (step & ~segment & 31)
            inside = source <= highest
        return np.where(inside, source, _LANES), inside

    def execute(warp: Warp, mask: Mask) -> None:
        ports = warp.ports
        source, inside = sources(ports[b].astype(np.int64) & 31, ports[c].astype(np.int64))
        missing = ~mask.array[source] & mask.array
        if some(missing):
            lane = int(source[np.flatnonzero(missing)[0]])
            warp.report("illegal", f"reads from lane {lane}, which does not take part", mask_of(missing))
        row = ports[a][source]
        put(warp, mask, d, row)
        if p is not None:
            put(warp, mask, p, inside)

    lane, control = ctx.number(operands[2]), ctx.number(operands[3])
    fixed = (
        sources(np.full(32, lane & 31, np.int64), np.full(32, control & FULL, np.int64))
        if lane is not None and control is not None
        else None
    )
    named = ctx.number(operands[4]) if synchronous else None
    whole = named is not None and named & FULL == FULL

    def together(gang: Warps, mask: HasLanes) -> JointOutcome:
        ports = gang.ports
        if not mask.full or members is None:
            return NotImplemented
        if not whole and some(ports[members] != np.uint32(FULL)):
            return NotImplemented
        if fixed is not None:
            source, inside = fixed
            row = ports[a].reshape(-1, 32).take(source, 1)
            ports[d][...] = row.reshape(-1)
            if p is not None:
                ports[p].reshape(-1, 32)[...] = inside
            return None
        step, control = (
            ports[b].reshape(-1, 32).astype(np.int64) & 31,
            ports[c].reshape(-1, 32).astype(np.int64),
        )
        source, inside = sources(step, control)
        ports[d][...] = np.take_along_axis(ports[a].reshape(-1, 32), source, 1).reshape(-1)
        if p is not None:
            ports[p][...] = inside.reshape(-1)
        return None

    ctx.together, ctx.effect = together, "none"
    return _by_members(execute, members)


@instruction("vote.sync", "vote")
def vote(ctx: Context) -> Execute:
    """vote.sync.{all,any,uni}.pred p, {!}a, mask; vote.sync.ballot.b32 d, {!}a, mask."""
    mode = ctx.choose("all", "any", "uni", "ballot")
    type = ctx.type("b32" if mode == "ballot" else "pred")
    synchronous = "sync" in ctx.inst.modifiers
    operands = ctx.operands(3 if synchronous else 2)
    d = ctx.write(operands[0], type)
    a, negated = ctx.predicate(operands[1])
    members = _members(ctx, operands[2]) if synchronous else None

    def execute(warp: Warp, mask: Mask) -> None:
        bits = mask_of(warp.ports[a]).bits
        bits = (~bits if negated else bits) & mask.bits
        value: np.uint32 | bool = np.uint32(bits)
        if mode == "all":
            value = bits == mask.bits
        elif mode == "any":
            value = bits != 0
        elif mode == "uni":
            value = bits in (0, mask.bits)
        put(warp, mask, d, value)

    return _by_members(execute, members)


@instruction("match.any.sync", "match.all.sync")
def match(ctx: Context) -> Execute:
    """match.{any,all}.sync.type d{|p}, a, membermask: the lanes with an equal value; .all: all lanes or none."""
    of_all = "all" in ctx.inst.modifiers
    type = ctx.type("b32", "b64")
    operands = ctx.operands(3)
    target, predicate = ctx.pair(operands[0])
    if predicate is not None and not of_all:
        raise ctx.error("has a predicate, which only match.all has")
    d, a = ctx.write(target, TYPES["b32"]), ctx.read(operands[1], type)
    p = ctx.write(predicate, TYPES["pred"]) if predicate is not None else None
    members = _members(ctx, operands[2])
    weights = np.uint64(1) << _LANES.astype(np.uint64)

    def execute(warp: Warp, mask: Mask) -> None:
        row = warp.ports[a]
        if of_all:
            same = every(row[mask.array] == row[mask.first])
            put(warp, mask, d, np.uint32(mask.bits if same else 0))
            if p is not None:
                put(warp, mask, p, same)
            return
        equal = (row[:, None] == row[None, :]) & mask.array
        put(warp, mask, d, (equal * weights).sum(axis=1).astype(np.uint32))

    return _by_members(execute, members)


_REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


@instruction("redux.sync")
def redux(ctx: Context) -> Execute:
    """redux.sync.op.type d, a, membermask: of u32 and s32, of bits, and min/max{.abs}{.NaN} of f32."""
    op = ctx.choose(*_REDUCTIONS)
    if op in ("and", "or", "xor"):
        type = ctx.type("b32")
    else:
        type = ctx.type("u32", "s32", *(("f32",) if op != "add" else ()))
    magnitude, propagate = (ctx.flag("abs"), ctx.flag("NaN")) if type.name == "f32" else (False, False)
    target, source, membermask = ctx.operands(3)
    d, a = ctx.write(target, type), ctx.read(source, type)
    members = _members(ctx, membermask)
    if type.name == "f32":
        element = element_of(type)
        pick = extreme(element, op == "max", propagate)

        def floats(warp: Warp, mask: Mask) -> None:
            patterns = element.patterns(warp.ports[a])[mask.array]
            if magnitude:
                patterns = patterns & ~element.sign
            result = patterns[:1]
            for index in range(1, len(patterns)):
                result = pick(result, patterns[index : index + 1])
            put(warp, mask, d, element.row(pick(result, result)))

        return _by_members(floats, members)
    reduce = _REDUCTIONS[op].reduce

    def execute(warp: Warp, mask: Mask) -> None:
        put(warp, mask, d, reduce(warp.ports[a][mask.array], dtype=type.dtype))

    return _by_members(execute, members)


@instruction("elect.sync")
def elect(ctx: Context) -> Execute:
    """elect.sync d|p, membermask: p is true in one lane, the lowest; d is that lane (or `_`)."""
    operands = ctx.operands(2)
    target, predicate = ctx.pair(operands[0])
    if predicate is None:
        raise ctx.error("needs a predicate after its destination")
    d, p = ctx.write(target, TYPES["b32"]), ctx.write(predicate, TYPES["pred"])
    members = _members(ctx, operands[1])

    def execute(warp: Warp, mask: Mask) -> None:
        put(warp, mask, d, np.uint32(mask.first))
        put(warp, mask, p, mask.first == _LANES)

    return _by_members(execute, members)


@instruction("activemask")
def activemask(ctx: Context) -> Execute:
    """activemask.b32 d: the lanes that run this instruction now."""
    ctx.type("b32")
    destination = ctx.write(ctx.operands(1)[0], TYPES["u32"])
    return lambda warp, mask: put(warp, mask, destination, np.uint32(mask.bits))
