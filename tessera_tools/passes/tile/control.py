"""Loops and branches: fragments that they change are passed through them; conditions that differ by thread."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import arith, cf, memref, nv_tileaa, nv_tileas, scf, tile
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import I32, MemRefType
from tessera_tools.passes.tile.lowering import Lowering, handles, writes_of

_BY_THREAD = (
    tile.ThreadId,
    tile.WarpId,
    tile.LaneId,
    tile.LoadShared,
    tile.LoadSharedVector,
    tile.LoadGlobal,
    tile.LoadGlobalVector,
)


def divergent_values(function: Operation) -> set[Value]:
    """The values that may differ between the threads of a block: thread numbers, what is loaded by thread, and what is
    computed from them, around loops too."""
    found: set[Value] = set()
    changed = True
    while changed:
        changed = False
        for op in function.walk():
            news: list[Value] = []
            if isinstance(op, _BY_THREAD) or (
                not op.regions and not op.name.startswith("tile.") and any(v in found for v in op.operands)
            ):
                news += op.results
            elif isinstance(op, scf.For):
                body = op.body.entry
                ends = body.last_op.operands if body.last_op is not None else []
                for init, argument, end, result in zip(
                    op.inits, body.arguments[1:], ends, op.results, strict=True
                ):
                    if init in found or end in found or argument in found:
                        news += [argument, result]
                if any(v in found for v in (op.lower, op.upper, op.step)):
                    news += [body.arguments[0], *op.results]
            elif isinstance(op, scf.If):
                for region in op.regions:
                    last = region.blocks[0].last_op if region.blocks else None
                    for value, result in zip(
                        last.operands if last is not None else (), op.results, strict=False
                    ):
                        if value in found or op.condition in found:
                            news.append(result)
            for value in news:
                if value not in found:
                    found.add(value)
                    changed = True
    return found


@handles("scf.for")
def for_loop(low: Lowering, op: Any) -> None:
    """The loop carries its numbers, and the fragments that it changes."""
    if any(v in low.divergent for v in (op.lower, op.upper, op.step)):
        raise op.error("has bounds that differ by thread; all threads of a block run a loop together")
    if any(isinstance(v.type, MemRefType) for v in op.inits):
        raise op.error("carries buffers; change them in place instead")
    # What holds nothing before the loop is written in each iteration before it is read, and nothing behind it.
    changed = [v for v in low.written(op) if v in low.tiles]
    tokens: list[Any] = [low.token] if low.ordered(op) else []
    inits = [low.scalar(op, v) for v in op.inits] + [low.tile(op, v) for v in changed] + tokens
    bounds = [low.scalar(op, v) for v in (op.lower, op.upper, op.step)]
    block = Block([bounds[0].type, *(v.type for v in inits)], [op.location] * (1 + len(inits)))
    types = [v.type for v in inits]
    unsigned = op.attributes.get("unsignedCmp")
    loop = scf.For(*bounds, inits, unsigned, results=types, body=Region([block]), location=op.location)
    numbers = len(op.inits)
    low.values[op.induction[0]] = block.arguments[0]
    loop.attributes.update({k: v for k, v in op.attributes.items() if k.startswith("tessera.")})
    low.values.update(zip(op.iter_args, block.arguments[1 : 1 + numbers], strict=True))
    saved, low.builder = low.builder, Builder.at_end(block, op.location)
    before = dict(low.tiles)
    ends = numbers + len(changed)
    low.tiles.update(zip(changed, block.arguments[1 + numbers : 1 + ends], strict=True))
    if tokens:
        low.token = block.arguments[-1]
    low.block(op.body.entry)
    yielded = [low.scalar(op, v) for v in op.yielded] + [low.tile(op, v) for v in changed]
    low.insert(scf.Yield(yielded + [low.token] * len(tokens)))
    low.builder = saved
    low.insert(loop)
    if low.copies:
        # A loop that runs no iteration waits for nothing, and what follows may use the bytes for something else.
        low.insert(nv_tileas.AsyncWaitGroup(i32(0)))
    low.tiles = before
    low.values.update(zip(op.results, loop.results[:numbers], strict=True))
    if tokens:
        low.token = loop.results[-1]
    low.tiles.update(zip(changed, loop.results[numbers:ends], strict=True))
    for value, result in zip(changed, loop.results[numbers:ends], strict=True):
        result.name_hint = value.name_hint


@handles("scf.if")
def branch(low: Lowering, op: Any) -> None:
    """A branch, or a choice by thread."""
    changed = low.written(op)
    if op.condition in low.divergent:
        _choose(low, op, changed)
        return
    before, token = dict(low.tiles), low.token
    ordered = low.ordered(op)
    saved = low.builder
    blocks: list[Block] = []
    ends: list[tuple[list[Value], dict[Value, Value], Any]] = []
    for region in op.regions:
        block = Block()
        low.builder = Builder.at_end(block, op.location)
        low.tiles, low.token = dict(before), token
        values: list[Value] = []
        if region.blocks:
            low.block(region.blocks[0])
            last = region.blocks[0].last_op
            values = [low.scalar(op, v) for v in (last.operands if last is not None else ())]
        blocks.append(block)
        ends.append((values, low.tiles, low.token))
    # What only one side writes, and nothing before, holds nothing behind.
    changed = [v for v in changed if all(v in tiles for _, tiles, _ in ends)]
    for block, (values, tiles, last) in zip(blocks, ends, strict=True):
        tokens = [last] * ordered
        Builder.at_end(block, op.location).insert(scf.Yield([*values, *(tiles[v] for v in changed), *tokens]))
    low.builder = saved
    values, tiles, last = ends[0]
    types = [v.type for v in (*values, *(tiles[v] for v in changed), *[last] * ordered)]
    then, otherwise = (Region([block]) for block in blocks)
    condition = low.scalar(op, op.condition)
    made = scf.If(condition, results=types, then=then, otherwise=otherwise, location=op.location)
    low.insert(made)
    numbers = len(op.results)
    low.tiles = before
    low.values.update(zip(op.results, made.results[:numbers], strict=True))
    low.tiles.update(zip(changed, made.results[numbers : numbers + len(changed)], strict=True))
    low.token = made.results[-1] if ordered else token


_UNCONDITIONAL = (
    "tile.fill", "tile.mask_fill", "tile.copy", "tile.scale_tensor", "tile.broadcast_scale", "tile.scale_accumulator",
    "tile.accumulate", "tile.causal_mask", "tile.bound_mask",
)  # fmt: skip
"""Ops on fragments that may be done by all threads, and their result taken by some."""


def _choose(low: Lowering, op: Any, changed: list[Value]) -> None:
    """Both sides are done; each thread takes the elements of the side that its condition names."""
    for region in op.regions:
        for inner in region.blocks[0] if region.blocks else ():
            if inner.name.startswith("tile.") and inner.name not in _UNCONDITIONAL:
                raise inner.error(
                    "stands under a condition that differs by thread, where only fragments may be changed in place"
                )
            if inner.regions:
                raise inner.error("stands under a condition that differs by thread; move it out")
    if op.results:
        raise op.error("gives values by a condition that differs by thread; use arith.select")
    condition = low.scalar(op, op.condition)
    before = dict(low.tiles)
    sides: list[dict[Value, Value]] = []
    for region in op.regions:
        low.tiles = dict(before)
        if region.blocks:
            low.block(region.blocks[0])
        sides.append(low.tiles)
    low.tiles = before
    low.builder.location = op.location
    for fragment in changed:
        then, otherwise = sides[0].get(fragment), sides[1].get(fragment)
        if then is None or otherwise is None:
            raise op.error(
                "writes a fragment for some threads that nothing has been written to; fill it first"
            )
        low.tiles[fragment] = low.insert(arith.Select(condition, then, otherwise)).result


# -- numbers


@handles("tile.thread_id", "tile.warp_id", "tile.lane_id", "tile.num_threads")
def thread(low: Lowering, op: Any) -> None:
    """From the thread's number in its block."""
    if isinstance(op, tile.NumThreads):
        low.values[op.res] = low.number(low.fragments.threads)
        return
    from tessera_tools.opdef.dialect import find_op

    register: Any = find_op("nvvm.read.ptx.sreg.tid.x")
    number = low.index(low.insert(register.create([], [I32], {})).results[0])
    if isinstance(op, tile.WarpId):
        number = low.insert(arith.DivUI(number, low.number(32))).result
    elif isinstance(op, tile.LaneId):
        number = low.insert(arith.RemUI(number, low.number(32))).result
    low.values[op.res] = number


@handles("tile.block_id", "tile.num_blocks")
def block(low: Lowering, op: Any) -> None:
    """The block's coordinate."""
    low.values[op.res] = block_coordinate(
        low, op.axis.value if op.axis is not None else 0, isinstance(op, tile.BlockId)
    )


def block_coordinate(low: Lowering, axis: int, own: bool = True) -> Value:
    """The block's coordinate along an axis of the grid, or the grid's extent there, as an index."""
    kind = nv_tileaa.GetProgramId if own else nv_tileaa.GetNumPrograms
    return low.index(low.insert(kind(i32(axis))).res)


@handles("tile.profile_marker")
def profile_marker(low: Lowering, op: tile.ProfileMarker) -> None:
    """A record; its number is the marker's in the order of the program."""
    assert low.profile is not None
    low.insert(nv_tileas.ProfileRecord(*low.profile, i32(low.markers)))
    low.markers += 1


@handles("memref.dim")
def extent(low: Lowering, op: memref.Dim) -> None:
    """The extent that the caller passed."""
    tensor = low.tensors.get(op.source)
    axis: Any = op.index.defining_op
    if tensor is None or not isinstance(axis, arith.Constant):
        raise op.error("asks for an extent that is not that of a parameter along a constant dimension")
    number = axis.value.value
    if not 0 <= number < op.source.type.rank:
        raise op.error(f"asks for dimension {number} of {op.source.type}")
    found = low.extent(op.source, number)
    low.values[op.result] = low.number(found) if isinstance(found, int) else low.index(found)


@handles("cf.assert")
def check(low: Lowering, op: cf.Assert) -> None:
    """A check at run time; all threads make it together."""
    if op.arg in low.divergent:
        raise op.error(
            "checks a condition that differs by thread; all threads of a block check one condition"
        )
    low.insert(nv_tileaa.Assert(low.scalar(op, op.arg), op.msg))


@handles("llvm.intr.assume")
def assume(low: Lowering, op: Any) -> None:
    """Nothing: what is assumed to be equal has told where slices end (analysis/equality.py)."""


__all__ = ["block_coordinate", "divergent_values", "writes_of"]
