"""tileas-materialize-tma-stores: stores tiles through shared memory by TMA if that costs less.

    tiled_store %view[%i, %j], convert_layout(%x)
      ──▶  store %x, %buffer; fence_proxy; async.tiled_tma_store %desc[%i, %j], %buffer        … async.store_wait 0 read

TMA writes whole boxes, checks bounds, and needs no conversion to a layout with whole cache lines.  A store is not
changed if TMA cannot copy boxes of its view, if the buffer does not fit, or if the cost is higher: both alternatives
are estimated in cycles of a warp.  The reads of the boxes complete before the buffer is filled again and before the
kernel ends; their writes complete before an access that a token orders after the store.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.access import in_bounds
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.parameters import expression_of
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.cute_nvgpu import TmaStoreAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType, TmaDescType
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, i32, i64
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.location import Location
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout import (
    LinearLayout,
    MatrixAccess,
    RegisterMove,
    SharedRoundTrip,
    VectorAccess,
    classify,
    transpose,
)
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.boxes import ENOUGH_BLOCKS, Boxes, axes_of, boxes_of, with_axes
from tessera_tools.passes.tileas.memory_order import ORDERS_OTHERS, MemoryOrder, writes_memory
from tessera_tools.passes.tileas.missed import Missed, place_of
from tessera_tools.planning.accesses import access_vector, layout_axis
from tessera_tools.planning.kernel import kernels_with, occupancy_of
from tessera_tools.planning.shared_memory import ALIGN, allocate, best_store, conversion_plan, store_atom
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target
from tessera_tools.target.occupancy import occupancy

BARRIER = 16
"""Cycles that a warp loses at a barrier of its unit."""
CHECK = 2
"""Instructions of a bounds check: a comparison and a branch."""
_LINE = 128
"""The size of a cache line, in bytes; the lines of a warp's access are served one at a time."""
_FIXED = 4
"""A proxy fence, the choice of the thread that stores, a commit, and a wait."""


class MaterializeTmaStores(Pass):
    """Store tiles by TMA."""

    name: ClassVar = "tileas-materialize-tma-stores"
    summary: ClassVar = "store tiles through shared memory by TMA where that costs less"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "layouts on every tensor"
    ensures: ClassVar = "every TMA store is waited for before its buffer is reused and before the kernel ends"
    statistics: ClassVar = {"stores": "stores by TMA"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function, target in kernels_with(op, Feature.TMA, Feature.STMATRIX):
            changed |= _Kernel(function, target, context).run()
        return changed


@dataclass(eq=False)
class _Plan:
    """A store by TMA: the tile that is written to shared memory, how, and the boxes of the TMA copy."""

    store: nv_tileas.TiledStore
    value: Value
    boxes: Boxes
    access: VectorAccess | MatrixAccess
    price: int

    @property
    def conversion(self) -> Operation | None:
        """The layout conversion that the store makes unnecessary."""
        return self.store.value.defining_op if self.value is not self.store.value else None

    @property
    def bytes(self) -> int:
        """The size of the tile in memory, in bytes."""
        type = self.value.type_as(RankedTensorType)
        return type.num_elements * self.boxes.bits // 8


class _Kernel:
    """The stores of one kernel."""

    def __init__(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
        self.function, self.target, self.context = function, target, context
        self.facts, self.order = Facts(), MemoryOrder()

    def run(self) -> bool:
        """Rewrite the stores that TMA does; false if there are none."""
        ops = list(self.function.walk())
        self.stores = [op for op in ops if isinstance(op, nv_tileas.TiledStore)]
        self.accesses = [op for op in ops if not op.regions and not _passes_on(op) and self.order.before(op)]
        if not self.stores:
            return False
        self.turns = _turns(ops)
        try:
            chosen = self.choose()
        except DiagnosticError:
            # The pass that allocates shared memory reports an error if the buffers do not fit.
            return False
        followed = {store: self.is_followed(store) for store in chosen}
        meetings = [op for op in ops if isinstance(op, ORDERS_OTHERS)]
        met = [op for op in meetings if not chosen.keys().isdisjoint(self.order.before(op))]
        repeated = {store: store in self.order.before(store) for store in chosen}
        left: list[nv_tileas.TiledTmaStore] = []
        for store, plan in chosen.items():
            self.context.passed(store, f"store by TMA in {plan.boxes.text}", "tma", "memory")
            made = self.rewrite(plan, followed[store], repeated[store])
            if not followed[store]:
                left.append(made)
            self.context.count("stores")
        for op in met:
            Builder.before(op).insert(_wait(op.location, read=False))
        self.wait_at_ends(left)
        return bool(chosen)

    # -- the choice

    def choose(self) -> dict[Operation, _Plan]:
        """The stores that TMA does.  Raises DiagnosticError if the buffers of the kernel do not fit."""
        chosen: dict[Operation, _Plan] = {}
        for store in self.stores:
            tell = self.context.missed
            try:
                plan = self.plan(store, set(chosen))
                tell = self.context.failed
                self.check_room([*chosen.values(), plan])
            except Missed as refusal:
                text = f"TMA does not store the tile: {refusal.text()}"
                tell(refusal.op, text, "tma", "memory")
                continue
            chosen[store] = plan
        return chosen

    def plan(self, store: nv_tileas.TiledStore, chosen: set[Operation]) -> _Plan:
        """The cheapest store by TMA.  Raises Missed if there is none, or if the direct store costs less."""
        type = store.value.type
        assert isinstance(type, RankedTensorType)
        axes = axes_of(store, type, self.facts, "writes")
        for op in self.order.before(store):
            if op is not store and op not in chosen and writes_memory(op):
                raise Missed(
                    store,
                    f"is ordered by its token after '{op.name}'{place_of(op)}, whose writes must be visible to TMA",
                    "give the store another token if the two touch different memory",
                )
        for other in self.stores:
            ordered = other in self.order.before(store) or store in self.order.before(other)
            ordered |= store in self.turns and self.turns.get(other) is self.turns[store]
            if other is not store and not ordered and _parameter(other) == _parameter(store):
                again = place_of(other) == place_of(store)
                which = "a copy of it for another iteration" if again else f"another store{place_of(other)}"
                raise Missed(
                    store,
                    f"writes a tensor that {which} also writes, without a token that orders them",
                    "let the loop carry its token" if again else "give the second the token of the first",
                )
        value = store.value
        conversion = value.defining_op
        if isinstance(conversion, nv_tileas.ConvertLayout) and value.has_one_use:
            value = conversion.source
        layout = transpose(nv_tileas.layout_of(value.type), axes)
        best: _Plan | None = None
        why: Missed | None = None
        for swizzle in SWIZZLE_ALIGNMENT:
            try:
                boxes = boxes_of(store, type, axes, swizzle, "writes")
            except Missed as refusal:
                # The first one is without a swizzle, which adds requirements.
                why = why or refusal
                continue
            access = best_store(layout, boxes.layout, boxes.bits, self.target)
            price = access.banks.total + boxes.count + 2 * BARRIER + _FIXED
            if best is None or price < best.price:
                best = _Plan(store, value, boxes, access, price)
        if best is None:
            assert why is not None
            raise why
        direct = self.direct_price(store)
        if best.price < direct + _least_conversion_price(store, value):
            # The exact price of a conversion takes long to find.
            return best
        direct += self.conversion_price(store, value)
        if best.price >= direct:
            raise Missed(
                store,
                f"takes about {direct} cycles of a warp directly, and {best.price} through shared memory",
            )
        return best

    def direct_price(self, store: nv_tileas.TiledStore) -> int:
        """Cycles of a warp for a direct store from registers."""
        type = store.value.type
        layout = nv_tileas.layout_of(type)
        vector = access_vector(store, layout)
        free = layout.free_variable_masks().get("register", 0)
        count = (layout.in_size("register") >> free.bit_count()) // vector
        size = element_bytes(type.element)
        checks = 0 if all(in_bounds(store.view.defining_op, store.indices, type.shape, self.facts)) else CHECK
        return count * (_lines(layout, layout_axis(store), vector * size) + checks)

    def conversion_price(self, store: nv_tileas.TiledStore, value: Value) -> int:
        """Cycles of a warp for the conversion before a direct store that a store of `value` by TMA makes
        unnecessary."""
        if value is store.value:
            return 0
        conversion = store.value.defining_op
        assert isinstance(conversion, nv_tileas.ConvertLayout)
        plan = conversion_plan(conversion, self.target)
        if isinstance(plan, SharedRoundTrip):
            return plan.store.banks.total + plan.load.banks.total + 2 * BARRIER
        if isinstance(plan, RegisterMove):
            return 0
        return 2 * nv_tileas.layout_of(store.value.type).in_size("register")

    def check_room(self, plans: list[_Plan]) -> None:
        """Missed unless the buffers of the plans fit, without fewer CTAs at a time than now or enough."""
        spec = self.function.kernel_spec
        assert spec is not None
        saved = {plan.conversion for plan in plans if plan.conversion is not None}
        others = allocate(self.function, self.target, saved).total
        total = others + sum(plan.bytes for plan in plans)
        # Swizzled buffers and pipelines are aligned; with the largest first, there are no gaps between them.
        gap = max(SWIZZLE_ALIGNMENT[plan.boxes.swizzle] for plan in plans)

        def blocks(shared: int) -> int:
            # The registers are not known yet.
            return occupancy(self.target, threads=32 * spec.num_warps, registers=0, shared=shared).blocks

        fits = total + gap <= self.target.max_shared_per_block
        # Agents with setmaxnreg use the whole register file, by one CTA or as many as the plan says.
        agents = any(isinstance(op, nv_tileas.AgentSwitch) and op.registers for op in self.function.walk())
        enough = max(1, occupancy_of(self.function)) if agents else ENOUGH_BLOCKS
        # With the conversions, no more CTAs fit now: what these take is seldom needed, and takes long to find.
        is_less = blocks(total) < min(enough, blocks(others))
        if is_less:
            is_less = blocks(total) < min(enough, blocks(allocate(self.function, self.target).total))
        if not fits or is_less:
            raise Missed(
                plans[-1].store,
                f"would take {plans[-1].bytes} bytes of shared memory, with which "
                + ("fewer CTAs would fit on a multiprocessor" if fits else "the kernel does not fit"),
                "" if fits else "use smaller tiles",
            )

    def is_followed(self, store: Operation) -> bool:
        """True if a token orders another access after a store."""
        return any(store in self.order.before(op) for op in self.accesses if op is not store)

    # -- the code

    def rewrite(self, plan: _Plan, followed: bool, repeated: bool) -> nv_tileas.TiledTmaStore:
        """Replace a store by one through shared memory."""
        store, boxes, value = plan.store, plan.boxes, plan.value
        location = store.location
        type = value.type_as(RankedTensorType)
        turned = boxes.order != tuple(range(len(boxes.order)))
        view = store.view.defining_op
        assert isinstance(view, nv_tileaa.MakeMemRef)
        near = Builder.after(view)
        source = near.insert(with_axes(view, boxes.order)).res if turned else store.view
        atom = TmaStoreAtomAttr(len(boxes.box), type.element, boxes.swizzle)
        box, kind = DenseArrayAttr(I64, boxes.box), TmaDescType(boxes.box, type.element)
        desc = near.insert(nv_tileas.MakeTiledTmaDesc(source, box, atom, res=kind, location=location)).res
        memory = SmemType((1, *boxes.tile), type.element, SharedAttr(boxes.layout))
        alloc = nv_tileas.AllocTensor(res=memory, location=location)
        alloc.attributes[ALIGN] = i64(SWIZZLE_ALIGNMENT[boxes.swizzle])
        buffer = Builder.at_start(self.function.body.entry, location).insert(alloc).res
        builder = Builder.before(store)
        if _is_in_loop(store) and not isinstance(store.token.defining_op, nv_tileas.ClusterOrder):
            builder.insert(_wait(location, read=not repeated))
        if turned:
            layout = transpose(nv_tileas.layout_of(type), boxes.order)
            made = nv_tileas.with_layout(RankedTensorType(boxes.tile, type.element), layout)
            value = builder.insert(
                nv_tileaa.Permute(value, DenseArrayAttr(I64, boxes.order), res=made, location=location)
            ).res
        zero = builder.insert(arith.Constant(i32(0), location=location)).results[0]
        atom = store_atom(plan.access, type.element)
        builder.insert(nv_tileas.Store(value, buffer, zero, None, atom, location=location))
        builder.insert(nv_tileas.FenceProxy(location=location))
        indices = [store.indices[axis] for axis in boxes.order]
        copy = nv_tileas.TiledTmaStore(
            desc, indices, buffer, zero, store.token, out_token=store.out_token.type, location=location
        )
        builder.insert(copy)
        if followed:
            builder.insert(_wait(location, read=False))
        conversion = plan.conversion
        assert copy.out_token is not None
        store.replace_all_uses_with([copy.out_token])
        store.erase()
        if conversion is not None:
            conversion.erase()
        return copy

    def wait_at_ends(self, stores: list[nv_tileas.TiledTmaStore]) -> None:
        """Insert waits before the storing threads exit the kernel: the reads of shared memory must be complete."""
        agents = {nv_tileas.agent_of(op) for op in stores}
        ends = [agent.entry.last_op for agent in agents if agent is not None]
        if None in agents:
            ends += [op for op in self.function.walk() if isinstance(op, nv_tileaa.Return)]
        for end in ends:
            assert end is not None
            Builder.before(end).insert(_wait(end.location, read=True))


def _turns(ops: list[Operation]) -> dict[Operation, nv_tileas.CreateOrder]:
    """The ops of agents that access memory in turn, with their turns."""
    orders = [op for op in ops if isinstance(op, nv_tileas.CreateOrder) and op.of_accesses]
    return {
        op: order
        for order in orders
        for agent in order.agents
        for op in nv_tileas.in_turn(agent.entry, order.res)
    }


def _passes_on(op: Operation) -> bool:
    """Whether an op takes tokens, and accesses nothing: a terminator, or a meeting, with a wait in front."""
    return op.has_trait(Terminator) or isinstance(op, ORDERS_OTHERS)


def _parameter(store: nv_tileas.TiledStore) -> int | None:
    """The kernel parameter that is the base of a store's view; None if unknown."""
    view = store.view.defining_op
    base = expression_of(view.base) if isinstance(view, nv_tileaa.MakeMemRef) else None
    return None if base is None else base.parameter


def _least_conversion_price(store: nv_tileas.TiledStore, value: Value) -> int:
    """The fewest cycles of a warp for the conversion of `value` before a direct store: with shared memory, two barriers
    and the bytes of each warp in both directions."""
    source, type = nv_tileas.layout_of(value.type), store.value.type
    if value is store.value or classify(source, nv_tileas.layout_of(type)) != "shared":
        return 0
    return 2 * BARRIER + 2 * (
        type.num_elements * element_bytes(type.element) // (_LINE * source.in_size("warp"))
    )


def _wait(location: Location, read: bool) -> nv_tileas.AsyncStoreWait:
    return nv_tileas.AsyncStoreWait(i32(0), UNIT if read else None, location=location)


def _lines(layout: LinearLayout, axis: int, size: int) -> int:
    """The number of cache lines of a warp's access with `size` bytes per lane."""
    rows, run = 1, size
    place = layout.out_dims.index(f"dim{axis}")
    for basis in layout.bases["lane"]:
        if any(c for i, c in enumerate(basis) if i != place):
            rows *= 2
        elif basis[place]:
            run *= 2
    return rows * max(1, run // _LINE)


def _is_in_loop(op: Operation) -> bool:
    around = op.parent_op
    while around is not None:
        if isinstance(around, LoopLike):
            return True
        around = around.parent_op
    return False
