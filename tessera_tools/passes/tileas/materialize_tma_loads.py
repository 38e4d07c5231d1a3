"""tileas-materialize-tma-loads: a tile comes from global memory through shared memory, by TMA, where that costs less.

    %x = tiled_load %view[%i, %j]
      ──▶  create_pipeline stages = 1; produce_one { tiled_tma_load }        as soon as the indices are known
           consumer_wait; %x = load %stage; consumer_release                 where the load stood

One thread starts the copy, and TMA checks the bounds: a tile of which each thread holds many elements, each behind a
check of its own, takes fewer instructions this way.  All copies of a kernel are in flight together, as they start
where their indices are known and are waited for where their tiles are used.  Numbers and views that stand between loads
are computed in front of the first.  A load stays as it is where TMA cannot
copy boxes of its view, in a loop or a branch, where the buffers do not fit, or where the price is higher: both ways are
counted in instructions of a warp.  Kernels of products get their tiles by other passes.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Builder, Operation, OpResult, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I32, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.box_stages import Brought, declare, fill, read, view
from tessera_tools.passes.tileas.fills import BoxLoad, Filler, pointwise
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.streams import Streams, loops_around
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.target import Feature, Target


class MaterializeTmaLoads(Pass):
    """Load tiles by TMA."""

    name: ClassVar = "tileas-materialize-tma-loads"
    summary: ClassVar = "load tiles through shared memory by TMA where that costs less"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, and a kernel_spec on each kernel"
    ensures: ClassVar = (
        "every TMA load is waited for before its tile is used; kernels of products are unchanged"
    )
    statistics: ClassVar = {"loads": "loads by TMA"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function, target in kernels_with(op, Feature.TMA, Feature.MBARRIER_TRY_WAIT):
            ops = list(function.walk())
            for load in ops:
                if isinstance(load, nv_tileaa.Load) and isinstance(load.res.type, RankedTensorType):
                    context.missed(
                        load,
                        f"TMA does not load the tile: {pointwise(load).text()}",
                        "tma",
                        "memory",
                        function=function,
                    )
            if function.kernel_spec is not None and not any(isinstance(op, _PRODUCTS) for op in ops):
                changed |= _Kernel(function, target, context).run()
        return changed


_PRODUCTS = (nv_tileas.Dot, nv_tileas.AsyncDot, nv_tileas.AgentSwitch)


class _Kernel:
    """The loads of one kernel."""

    def __init__(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
        self.function, self.context = function, context
        self.streams = Streams(function, target)

    def run(self) -> bool:
        """Rewrite the loads that TMA brings; false if there are none."""
        for load in [op for op in self.function.walk() if isinstance(op, nv_tileas.TiledLoad)]:
            if loops_around(load):
                # Agents bring what they can (tileas-materialize-schedule).
                continue
            try:
                self.plan(load)
            except Missed as refusal:
                self.context.missed(
                    refusal.op,
                    f"TMA does not load the tile: {refusal.text()}",
                    "tma",
                    "memory",
                )
        chosen = self.streams.chosen
        self.hoist(chosen)
        groups: list[list[BoxLoad]] = []
        for made in chosen:
            if groups and self.come_together(groups[-1][0].load, made.load):
                groups[-1].append(made)
            else:
                groups.append([made])
        for load in chosen:
            self.context.passed(load.load, f"load by TMA in {load.boxes.text}", "tma", "memory")
        # Each goes to its earliest place.  Of those with the same one, the tile that is used first is copied first.
        for group in reversed(groups):
            self.rewrite(group)
        self.context.count("loads", len(chosen))
        return bool(chosen)

    # -- the choice

    def plan(self, load: nv_tileas.TiledLoad) -> BoxLoad:
        """The load by TMA.  Missed if there is none, or if the load as it is costs less."""
        if load.parent_op is not self.function:
            assert load.parent_op is not None
            raise Missed(
                load,
                f"stands in a '{load.parent_op.name}', and TMA copies ahead only what always runs",
                "load the tile in front of it",
            )
        return self.streams.add(load)

    def hoist(self, loads: list[BoxLoad]) -> None:
        """Compute in front of the first load what the others need, as far as it follows from numbers and views alone:
        then all copies start together."""
        if not loads:
            return
        first, last = loads[0].load, loads[-1].load
        ops: list[Operation] = []
        op: Operation | None = first
        while op is not None and op is not last:
            ops.append(op)
            op = op.next_op
        wanted = set[Value]().union(*(_needed(load.load) for load in loads))
        needed: set[Operation] = set()
        for op in reversed(ops):
            if _computes_numbers(op) and not wanted.isdisjoint(op.results):
                needed.add(op)
                wanted.update(op.operands)
        late: set[Operation | None] = set()
        for op in ops:
            if op in needed and not any(value.defining_op in late for value in op.operands):
                op.move_before(first)
            else:
                late.add(op)

    def come_together(self, first: nv_tileas.TiledLoad, second: nv_tileas.TiledLoad) -> bool:
        """Whether one stage can have the tiles of two loads: nothing between them works on tiles, and the second does
        not follow from what is done there."""
        needed = _needed(second)
        op: Operation | None = first.next_op
        while op is not None and op is not second:
            alone = isinstance(op, nv_tileas.TiledLoad) or is_pure(op)
            if op.regions or not alone or not needed.isdisjoint(op.results):
                return False
            if any(isinstance(v.type, RankedTensorType) for v in op.operands):
                return False
            op = op.next_op
        return op is second

    # -- the code

    def rewrite(self, loads: list[BoxLoad]) -> None:
        """The loads of one stage."""
        first = loads[0].load
        location = first.location
        place = self.earliest(loads)
        builder = Builder.before(place)
        made = nv_tileas.CreatePipeline(
            i32(1),
            i32(1),
            i32(self.streams.warps),
            res=nv_tileas.PipelineTokenType(),
            location=location,
        )
        pipeline = builder.insert(made).res
        iterator = builder.insert(
            nv_tileas.CreateIterator(pipeline, res=nv_tileas.PipelineIterType(I32), location=location)
        ).res
        brought: dict[Filler, Brought] = {load: declare(load, 1, builder) for load in loads}
        if not self.is_first(place):
            # Threads may have used the same bytes of shared memory before.
            builder.insert(nv_tileas.FenceProxy(location=location))
        fill(pipeline, iterator, brought, lambda value: value, builder)
        builder = Builder.before(first)
        token = builder.insert(
            nv_tileas.ConsumerWait(
                pipeline, iterator, i32(0), res=nv_tileas.ConsumerTokenType(), location=location
            )
        ).res
        for load in loads:
            builder = Builder.before(load.load)
            tile = read(load, view(load, brought[load].buffer, iterator, builder), builder)
            load.load.res.replace_all_uses_with(tile)
            load.load.out_token.replace_all_uses_with(load.load.token)
        Builder.after(loads[-1].load).insert(nv_tileas.ConsumerRelease(token, location=location))
        for load in loads:
            load.load.erase()

    def earliest(self, loads: list[BoxLoad]) -> Operation:
        """The op of the function's block before which everything is known that the loads need."""
        made = [v.op for load in loads for v in _needed(load.load) if isinstance(v, OpResult)]
        last = None
        for op in made:
            if last is None or last.is_before_in_block(op):
                last = op
        place = self.function.body.entry.first_op if last is None else last.next_op
        assert place is not None
        return place

    def is_first(self, place: Operation) -> bool:
        """Whether only scalars are computed before an op: no thread has used shared memory."""
        op = place.prev_op
        while op is not None:
            tiles = any(isinstance(v.type, RankedTensorType) for v in (*op.operands, *op.results))
            if op.regions or not _leaves_shared_memory(op) or tiles:
                return False
            op = op.prev_op
        return True


def _needed(load: nv_tileas.TiledLoad) -> set[Value]:
    """What must be known before a tile can be copied."""
    return {*load.indices, load.view}


def _computes_numbers(op: Operation) -> bool:
    """Whether an op has no effects, and nothing to do with tiles."""
    tiles = any(isinstance(value.type, RankedTensorType) for value in (*op.operands, *op.results))
    return is_pure(op) and not op.regions and not tiles


def _leaves_shared_memory(op: Operation) -> bool:
    return is_pure(op) or isinstance(
        op, nv_tileas.CreatePipeline | nv_tileas.AllocTensor | nv_tileas.FenceProxy
    )
