"""tile-double-buffering: a loop copies the tiles of its next iteration while it computes with those of this one.

    %k = alloc_shared : 64x64             %k = alloc_shared : 2x64x64
    for %i {                              copy %K[lower] to %k[0], if there is an iteration; commit
      barrier                             for %i {
      copy %K[%i] to %k            ──▶      barrier
      commit; wait 0                        copy %K[%i + step] to %k[next], if there is a next iteration; commit
      barrier                               wait 1
      mma %q, %k                            barrier
    }                                       mma %q, %k[this]
                                          }
                                          wait 0

This is the second buffer that tile-analyze recommends.  It applies to a loop that writes no global memory and copies
whole buffers which nothing else writes, commits one group and waits for all groups before it reads them.  The barrier
in front of the copies is that of the program: it keeps the next tile from replacing one that a thread still reads.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import arith, func, memref, scf, tile
from tessera_tools.dialects.memref.layouts import subview_type
from tessera_tools.dialects.tile.asynchronous import CopyLike, WaitLike
from tessera_tools.ir.builder import Builder
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, StridedLayoutAttr, i64, index
from tessera_tools.ir.core import Block, IRMapping, Operation, Region, Value
from tessera_tools.ir.effects import Kind, Resource, accesses, is_pure
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import I64, INDEX, MemRefType
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tile.convert_tile_to_tileas import ConvertTileToTileAS, is_kernel
from tessera_tools.records import dataclass
from tessera_tools.target import Target

_STAGES = 2
_GROUPS = (tile.CpCommitGroup, WaitLike, tile.AsyncWait)


@dataclass(frozen=True)
class DoubleBuffering(Pass):
    """Copy the tiles of the next iteration while a loop computes."""

    name: ClassVar = "tile-double-buffering"
    summary: ClassVar = "copy the tiles of a loop's next iteration to a second buffer while it computes"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "kernels of the tile dialect with loops and branches of scf"
    ensures: ClassVar = (
        "loops that copied and waited for all of it compute while they copy, where the buffers fit"
    )
    statistics: ClassVar = {"loops": "loops with a second buffer for each copy"}

    gpu_name: str = option("", "the GPU architecture (default: tessera.target, else sm_80)")

    def run(self, op: Operation, context: PassContext) -> bool:
        functions = [f for f in op.regions[0].entry if isinstance(f, func.Func) and is_kernel(f)]
        if not functions:
            return False
        target = ConvertTileToTileAS(gpu_name=self.gpu_name).target(functions)
        changed = 0
        for function in functions:
            for loop in [inner for inner in function.walk() if isinstance(inner, scf.For)]:
                if not any(isinstance(inner, CopyLike) for inner in loop.body.entry):
                    continue
                try:
                    plan = _Plan.of(loop, function, target)
                except _Refused as refusal:
                    context.missed(
                        refusal.op, f"no second buffer: {refusal.why}", "double-buffering", "memory"
                    )
                    continue
                plan.rewrite()
                changed += 1
                count = len(plan.copies)
                context.passed(
                    loop,
                    f"a second buffer for {count} cop{'ies' if count > 1 else 'y'}: "
                    f"{'those' if count > 1 else 'that'} of the next iteration {'are' if count > 1 else 'is'} in "
                    "flight while this one computes",
                    "double-buffering",
                    "memory",
                )
        context.count("loops", changed)
        return bool(changed)


class _Refused(Exception):
    """Why a loop stays as it is."""

    def __init__(self, op: Operation, why: str) -> None:
        super().__init__(why)
        self.op, self.why = op, why


@dataclass(eq=False)
class _Plan:
    """A loop, its copies in order, and the ops that commit them and wait for them."""

    loop: scf.For
    copies: list[CopyLike]
    commit: tile.CpCommitGroup | None
    wait: Operation
    """Without a commit, a tile.async_wait, which does both."""

    @classmethod
    def of(cls, loop: scf.For, function: Operation, target: Target) -> _Plan:
        """Raises _Refused if the copies cannot be an iteration ahead."""
        body = loop.body.entry
        groups = [op for op in loop.walk() if isinstance(op, _GROUPS)]
        copies = [op for op in body if isinstance(op, CopyLike)]
        waits = [op for op in groups if not isinstance(op, tile.CpCommitGroup)]
        commits = [op for op in groups if isinstance(op, tile.CpCommitGroup)]
        if len(waits) != 1 or any(op.parent is not body for op in groups):
            raise _Refused(loop, "it does not wait once in each iteration")
        wait = waits[0]
        if isinstance(wait, WaitLike) and wait.pending.value:
            raise _Refused(wait, "it leaves groups in flight already")
        if len(commits) != isinstance(wait, WaitLike):
            raise _Refused(loop, "it does not commit one group in each iteration")
        commit = commits[0] if commits else None
        order = list(body)
        last = order.index(commit if commit is not None else wait)
        if any(order.index(copy) > last for copy in copies) or last > order.index(wait):
            raise _Refused(loop, "it does not copy, commit and wait in this order")
        if any(isinstance(op, CopyLike) and op.parent is not body for op in loop.walk()):
            raise _Refused(loop, "it copies under a condition or in an inner loop")
        if not any(isinstance(op, tile.Barrier) for op in order[: order.index(copies[0])]):
            raise _Refused(copies[0], "no barrier stands before the copy; run tile-barrier-optimization")
        plan = cls(loop, copies, commit, wait)
        for copy in copies:
            plan.check_buffer(copy)
            plan.check_source(copy)
        plan.check_room(function, target)
        plan.check_extents()
        plan.check_stores()
        return plan

    @property
    def buffers(self) -> list[tile.AllocShared]:
        """The buffers that are copied to, each once."""
        found = dict.fromkeys(copy.dest.defining_op for copy in self.copies)
        return [op for op in found if isinstance(op, tile.AllocShared)]

    def check_buffer(self, copy: CopyLike) -> None:
        """The destination is a whole buffer, which is only read, behind the wait."""
        buffer = copy.dest.defining_op
        if not isinstance(buffer, tile.AllocShared):
            raise _Refused(copy, "its destination is a part of a buffer")
        for user in buffer.res.users:
            if user in self.copies:
                continue
            place: Operation | None = user
            while place is not None and place.parent is not self.loop.body.entry:
                place = place.parent_op
            if place is None or not self._is_behind(place):
                raise _Refused(user, "it uses a buffer of the loop's copies, but not behind their wait")
            if isinstance(user, memref.SubView | CopyLike) or any(
                isinstance(result.type, MemRefType)
                and result.type.memory_space is buffer.res.type.memory_space
                for result in user.results
            ):
                raise _Refused(user, "it makes another name of a buffer of the loop's copies")

    def _is_behind(self, op: Operation) -> bool:
        order = list(self.loop.body.entry)
        return order.index(op) > order.index(self.wait)

    def check_source(self, copy: CopyLike) -> None:
        """The source follows from the number of the iteration alone."""
        work = list(copy.operands)
        while work:
            value = work.pop()
            if value is self.loop.induction[0]:
                continue
            made = value.defining_op
            if made is None:
                if value.owner_block is self.loop.body.entry:
                    raise _Refused(copy, "its source depends on what an iteration gives to the next one")
            elif made.parent is self.loop.body.entry:
                if made.regions or not (
                    is_pure(made) or isinstance(made, memref.SubView | tile.ComputeTensorSlice)
                ):
                    raise _Refused(copy, f"its source depends on {made.name}, which cannot be computed ahead")
                work += made.operands

    def check_extents(self) -> None:
        """A stage is a part of a ring, which has no dimension of extent 1 (passes/tile/lowering.py)."""
        for copy in self.copies:
            if 1 in copy.dest.type.shape:
                raise _Refused(copy, "its buffer has a dimension of extent 1; drop it")

    def check_stores(self) -> None:
        """The loop writes no global memory: what an iteration stores, the copy of the next one may read, also through
        another argument."""
        for op in self.loop.walk():
            for effect, _ in accesses(op):
                if effect.kind is Kind.WRITE and effect.resource in (Resource.GLOBAL, Resource.MEMORY):
                    raise _Refused(op, "the copy of the next iteration may read what it writes")

    def check_room(self, function: Operation, target: Target) -> None:
        used = sum(_bytes(op) for op in function.walk() if isinstance(op, tile.AllocShared))
        total = used + sum(map(_bytes, self.buffers))
        if total > target.max_shared_per_block:
            raise _Refused(
                self.loop,
                f"{total} bytes of shared memory would be needed, and {target.name} has "
                f"{target.max_shared_per_block} for a block",
            )

    # -- the new loop

    def rewrite(self) -> None:
        """Make the buffers rings of two stages, and copy an iteration ahead."""
        loop, body = self.loop, self.loop.body.entry
        before = Builder.before(loop)
        if _is_in_loop(loop):
            # Threads may still read what the loop has copied in the iteration before of the loop around it.
            before.insert(tile.Barrier())
        first = before.insert(arith.CmpI.of(loop.less_than, loop.lower, loop.upper)).result
        rings = {buffer: self.ring(buffer) for buffer in self.buffers}
        self.ahead(before, first, loop.lower, 0, rings)
        before.insert(tile.CpCommitGroup())

        inside = Builder.at_start(body, loop.location)
        two = inside.insert(arith.Constant(index(_STAGES))).result
        one = inside.insert(arith.Constant(index(1))).result
        passed = inside.insert(arith.SubI(loop.induction[0], loop.lower)).result
        number = self.as_index(inside, inside.insert(arith.DivUI(passed, loop.step)).result)
        stage = inside.insert(arith.RemUI(number, two)).result
        free = inside.insert(arith.SubI(one, stage)).result

        place = Builder.before(self.copies[0])
        following = place.insert(arith.AddI(loop.induction[0], loop.step)).result
        more = place.insert(arith.CmpI.of(loop.less_than, following, loop.upper)).result
        self.ahead(place, more, following, free, rings)

        read = Builder.before(self.wait)
        if self.commit is None:
            read.insert(tile.CpCommitGroup())
        read.insert(tile.CpWaitGroup(i64(1)))
        Builder.after(loop).insert(tile.CpWaitGroup(i64(0), location=self.wait.location))
        for buffer, ring in rings.items():
            view = self.stage(read, ring, stage)
            for use in list(buffer.res.uses):
                if use.owner not in self.copies:
                    use.set(view)
        sources = self.sources()
        for copy in self.copies:
            copy.erase()
        for op in reversed(list(body)):
            if op in sources and not any(result.has_uses for result in op.results):
                op.erase()
        self.wait.erase()
        for buffer in rings:
            buffer.erase()

    def ring(self, buffer: tile.AllocShared) -> Value:
        """Two stages of a buffer."""
        type = buffer.res.type
        ring = MemRefType((_STAGES, *type.shape), type.element, None, type.memory_space)
        made = Builder.before(buffer).insert(
            tile.AllocShared(buffer.swizzle, buffer.swizzle_size, None, buffer.alignment, res=ring)
        )
        made.res.name_hint = buffer.res.name_hint
        return made.res

    def stage(self, builder: Builder, ring: Value, number: Value | int) -> Value:
        """A stage of a ring."""
        type = ring.type_as(MemRefType)
        shape = type.shape[1:]
        offsets = (number if isinstance(number, int) else memref.DYNAMIC_INDEX, *(0 for _ in shape))
        sizes, steps = (1, *shape), (1,) * len(type.shape)
        full: Any = subview_type(type, offsets, sizes, steps)
        layout = StridedLayoutAttr(full.layout.strides[1:], full.layout.offset)
        part = MemRefType(shape, full.element, layout, full.memory_space)
        lists = [DenseArrayAttr(I64, tuple(items)) for items in (offsets, sizes, steps)]
        dynamic = [] if isinstance(number, int) else [number]
        made = builder.insert(memref.SubView(ring, dynamic, [], [], *lists, result=part)).result
        made.name_hint = ring.name_hint
        return made

    def as_index(self, builder: Builder, value: Value) -> Value:
        """A number of the loop's type as an index."""
        return value if value.type is INDEX else builder.insert(arith.IndexCast(value, out=INDEX)).out

    def ahead(
        self,
        builder: Builder,
        condition: Value,
        counter: Value,
        stage: Value | int,
        rings: dict[tile.AllocShared, Value],
    ) -> None:
        """The copies of the iteration of a counter to a stage, if a condition holds."""
        block = Block()
        inner = Builder.at_end(block, builder.location)
        mapping = IRMapping({self.loop.induction[0]: counter})
        needed = self.sources()
        for op in self.loop.body.entry:
            if op in needed:
                inner.insert(op.clone(mapping))
            elif op in self.copies:
                copied: Any = op
                mapping.values[copied.dest] = self.stage(inner, rings[copied.dest.defining_op], stage)
                inner.insert(op.clone(mapping)).attributes.pop("double_buffer", None)
        inner.insert(scf.Yield([]))
        builder.insert(
            scf.If(condition, results=[], then=Region([block]), otherwise=Region(), location=builder.location)
        )

    def sources(self) -> set[Operation]:
        """The ops of the body from which the sources of the copies follow."""
        found: set[Operation] = set()
        work = [value for copy in self.copies for value in copy.operands]
        while work:
            made = work.pop().defining_op
            if made is not None and made.parent is self.loop.body.entry and made not in found:
                found.add(made)
                work += made.operands
        return found


def _is_in_loop(op: Operation) -> bool:
    around = op.parent_op
    while around is not None and not isinstance(around, LoopLike):
        around = around.parent_op
    return around is not None


def _bytes(op: tile.AllocShared) -> int:
    type = op.res.type
    return type.num_elements * storage_bits(type.element) // 8
