"""Lowering of loops and branches, which carry modified fragments, and of divergent conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects import arith, cf, memref, nv_tileaa, nv_tileas, scf, tile
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import I32, MemRefType
from tessera_tools.passes.tile.groups import wait_for_boxes
from tessera_tools.passes.tile.ignored import remark_ignored
from tessera_tools.passes.tile.lowering import Lowering, handles, writes_of


@handles("scf.for")
def for_loop(low: Lowering, op: scf.For) -> None:
    """The loop carries its scalars, and the fragments that it modifies."""
    by_thread = any(v in low.divergent for v in (op.lower, op.upper, op.step))
    if by_thread:
        check_by_thread(op, "is in a loop with thread-dependent bounds")
    # A fragment without a value before the loop is written in each iteration before it is read, and dead after it.
    changed = [v for v in low.written(op) if v in low.tiles]
    tokens: list[Any] = [low.token] if low.ordered(op) else []
    wait_for_boxes(low, low.groups.before.get(op, ()))
    commits, waits = low.groups.advances(op) if low.groups.boxes else (False, False)
    moving = [low.filled] * commits + [low.drained] * waits
    inits = [low.scalar(op, v) for v in op.inits] + [low.tile(op, v) for v in changed] + moving + tokens
    bounds = [low.scalar(op, v) for v in (op.lower, op.upper, op.step)]
    block = Block([bounds[0].type, *(v.type for v in inits)], [op.location] * (1 + len(inits)))
    types = [v.type for v in inits]
    unsigned = op.attributes.get("unsignedCmp")
    loop = scf.For(*bounds, inits, unsigned, results=types, body=Region([block]), location=op.location)
    numbers = len(op.inits)
    low.values[op.induction[0]] = block.arguments[0]
    loop.attributes.update(op.discardable_attributes)
    low.values.update(zip(op.iter_args, block.arguments[1 : 1 + numbers], strict=True))
    saved, low.builder = low.builder, Builder.at_end(block, op.location)
    before = dict(low.tiles)
    ends = numbers + len(changed)
    low.tiles.update(zip(changed, block.arguments[1 + numbers : 1 + ends], strict=True))
    if tokens:
        low.token = block.arguments[-1]
    _move(low, block.arguments[1 + ends :], commits, waits)
    low.by_thread += by_thread
    low.block(op.body.entry)
    low.by_thread -= by_thread
    yielded = [low.scalar(op, v) for v in op.yielded] + [low.tile(op, v) for v in changed]
    moved = [low.filled] * commits + [low.drained] * waits
    low.insert(scf.Yield(yielded + moved + [low.token] * len(tokens)))
    low.builder = saved
    low.insert(loop)
    _move(low, loop.results[ends:], commits, waits)
    if low.copies and not by_thread and not low.by_thread:
        # A loop without iterations does not wait for copies, and later ops may reuse the bytes.
        low.insert(nv_tileas.AsyncWaitGroup(i32(0)))
    wait_for_boxes(low, low.groups.waits.get(op, ()))
    low.tiles = before
    low.values.update(zip(op.results, loop.results[:numbers], strict=True))
    if tokens:
        low.token = loop.results[-1]
    low.tiles.update(zip(changed, loop.results[numbers:ends], strict=True))
    for value, result in zip(changed, loop.results[numbers:ends], strict=True):
        result.name_hint = value.name_hint


def _move(low: Lowering, values: Sequence[Value], commits: bool, waits: bool) -> None:
    """Go on with the iterators of groups that a loop carries."""
    if commits:
        low.filled = values[0]
    if waits:
        low.drained = values[commits]


@handles("scf.if")
def branch(low: Lowering, op: scf.If) -> None:
    """A branch, or a select for a divergent condition."""
    changed = low.written(op)
    if op.condition in low.divergent:
        _by_thread(low, op, changed)
        return
    _branch(low, op, changed)


def _branch(low: Lowering, op: Any, changed: list[Value], skipped: Sequence[str] = ()) -> None:
    """A branch, without the ops with a name in `skipped`."""
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
            low.block(region.blocks[0], skipped)
            last = region.blocks[0].last_op
            values = [low.scalar(op, v) for v in (last.operands if last is not None else ())]
        blocks.append(block)
        ends.append((values, low.tiles, low.token))
    # A fragment that only one side writes, and that has no value before, is dead after it.
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
"""Ops on fragments that all threads may execute, if only some use the result."""
_ELEMENTS = (
    "tile.load_shared", "tile.load_shared_vector", "tile.store_shared", "tile.store_shared_vector", "tile.load_global",
    "tile.load_global_vector", "tile.store_global_element", "tile.store_global_vector", "tile.prefetch",
)  # fmt: skip
"""Per-thread accesses."""
_NUMBERS = (
    "tile.thread_id", "tile.warp_id", "tile.lane_id", "tile.num_threads", "tile.block_id", "tile.num_blocks",
)  # fmt: skip


def check_by_thread(op: Operation, where: str) -> None:
    """Raises an error at a collective op inside a divergent op."""
    allowed = (*_ELEMENTS, *_NUMBERS, "tile.compute_tensor_slice")
    for inner in op.walk():
        own = inner.name in _UNCONDITIONAL and inner.parent_op is op and isinstance(op, scf.If)
        together = inner.name.startswith("tile.") and inner.name not in allowed and not own
        if together or isinstance(inner, cf.Assert):
            raise inner.error(
                f"{where}; accesses of single elements, and fragments changed in a branch's own block, are supported "
                "there"
            )


def _by_thread(low: Lowering, op: Operation, changed: list[Value]) -> None:
    """Lower a divergent branch: accesses of single elements are in real branches; for fragments, both sides are
    computed, and each thread selects the elements by its condition."""
    check_by_thread(op, "is under a thread-dependent condition")
    if op.results or any(inner.name not in _UNCONDITIONAL for inner in op.walk() if not _is_plain(inner)):
        low.by_thread += 1
        _branch(low, op, [], _UNCONDITIONAL)
        low.by_thread -= 1
    if changed:
        _choose(low, op, changed)


def _is_plain(op: Operation) -> bool:
    """True if an op only computes a scalar."""
    return (
        op.name.startswith(("arith.", "math.", "scf.yield"))
        or op.name in _NUMBERS
        or isinstance(op, memref.Dim)
    )


def _choose(low: Lowering, op: Any, changed: list[Value]) -> None:
    condition = low.scalar(op, op.condition)
    before = dict(low.tiles)
    sides: list[dict[Value, Value]] = []
    for region in op.regions:
        low.tiles = dict(before)
        if region.blocks:
            needed = _needed(region.blocks[0])
            for inner in region.blocks[0]:
                if inner in needed:
                    low.op(inner)
        sides.append(low.tiles)
    low.tiles = before
    low.builder.location = op.location
    for fragment in changed:
        then, otherwise = sides[0].get(fragment), sides[1].get(fragment)
        if then is None or otherwise is None:
            raise op.error(
                "writes an uninitialized fragment for some threads only; initialize it with tile.fill"
            )
        low.tiles[fragment] = low.insert(arith.Select(condition, then, otherwise)).result


def _needed(block: Block) -> set[Operation]:
    """The ops on fragments in a block, and the ops of their scalars.  Raises an error if those are not arithmetic."""
    found: set[Operation] = set()
    work = [op for op in block if op.name in _UNCONDITIONAL]
    while work:
        op = work.pop()
        found.add(op)
        for value in op.operands:
            maker = value.defining_op
            if maker is None or maker.parent is not block or maker in found:
                continue
            if not _is_plain(maker):
                raise op.error(
                    f"uses a result of {maker.name} under a thread-dependent condition; move that op out"
                )
            work.append(maker)
    return found


# -- scalars


@handles("tile.thread_id", "tile.warp_id", "tile.lane_id", "tile.num_threads")
def thread(low: Lowering, op: Any) -> None:
    """An index from the thread id."""
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
def block(low: Lowering, op: tile.BlockId | tile.NumBlocks) -> None:
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
    """A record; its number is the marker's position in program order."""
    assert low.profile is not None
    remark_ignored(op)
    low.insert(nv_tileas.ProfileRecord(*low.profile, i32(low.markers)))
    low.markers += 1


@handles("memref.dim")
def extent(low: Lowering, op: memref.Dim) -> None:
    """The extent that the caller passed."""
    tensor = low.tensors.get(op.source)
    number, type = constant_integer(op.index), op.source.type
    if tensor is None or number is None or not isinstance(type, MemRefType):
        raise op.error("queries an extent; expected a kernel parameter and a constant dimension")
    if not 0 <= number < type.rank:
        raise op.error(f"queries dimension {number} of {op.source.type}")
    found = low.extent(op.source, number)
    low.values[op.result] = low.number(found) if isinstance(found, int) else low.index(found)


@handles("cf.assert")
def check(low: Lowering, op: cf.Assert) -> None:
    """A run-time check, executed by all threads."""
    if op.arg in low.divergent:
        raise op.error("checks a thread-dependent condition; it must be the same in all threads of a block")
    low.insert(nv_tileaa.Assert(low.scalar(op, op.arg), op.msg))


@handles("llvm.intr.assume")
def assume(low: Lowering, op: Operation) -> None:
    """No op: assumed equalities were used for the bounds of slices (analysis/equality.py)."""


__all__ = ["block_coordinate", "check_by_thread", "writes_of"]
