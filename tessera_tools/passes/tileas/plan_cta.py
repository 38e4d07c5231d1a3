"""plan-cta: the CTAs of a cluster each compute a part of every tile.

    kernel_spec<cluster = [2, 1, 1]>, parts = [2, 1]
        %b = tiled_load …                : tensor<64x256xf16>       convert_layout … {plancta.direction = "backward"}
        %d = dot %a, %b, %c              : tensor<256x256xf32>      … tensor<256x256xf32, block = [[128, 0]]>
    ──▶ %b = tiled_load … {shared_by = 1} : tensor<64x256xf16>      both CTAs need all of it: TMA multicasts it
        %d = dot %a, %b, %c              : tensor<128x256xf32>      128 rows each, from row 128 · rank on

Conversions at the largest product, or else at the largest tile in memory, ask for parts of it (seeds).  The parts of
other values then follow through the arms of cta_arms.py, against the flow of values (backward) and along it
(forward); the conversions cancel.  A program is a cluster: all CTAs run it, with the same numbers.  (With
`cluster_programs`, each CTA runs a whole program of its own, and shares loads: cluster_programs.py.)  Two things keep a
kernel from having clusters: an effect that only one CTA may have, and a value of which a CTA has not the part that it
needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.analysis.persistent import ANY, CLUSTER_PROGRAMS, LARGE, LAUNCHES, NEVER, STATIC, WANTED
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, StringAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tileas.cluster_loops import even_out
from tessera_tools.passes.tileas.cluster_price import choose_blocks, pairs_are_rows
from tessera_tools.passes.tileas.cluster_programs import OF_A_PROGRAM, programs_of, share_loads
from tessera_tools.passes.tileas.cta_arms import BACKWARD, DIRECTION, FORWARD, Conflict
from tessera_tools.passes.tileas.cta_layouts import (
    Blocks,
    given_blocks,
    part_shape,
    replicated,
    retype,
    split,
    with_blocks,
)
from tessera_tools.passes.tileas.cta_parts import PARTS, WARPS_ALONE, commit, refuse
from tessera_tools.passes.tileas.cta_plan import Plan
from tessera_tools.passes.tileas.dynamic_persistent import common_loads
from tessera_tools.passes.tileas.fills import OTHER_TOKEN
from tessera_tools.passes.tileas.memory_order import MemoryOrder, is_access, writes_memory
from tessera_tools.passes.tileas.missed import place_of
from tessera_tools.passes.tileas.products import loops_around
from tessera_tools.passes.tileas.stay_price import Staying, choose_staying
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.planning.layout_rules import is_tile
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target

if TYPE_CHECKING:
    from typing import TypeAlias

    _Access: TypeAlias = "nv_tileas.TiledLoad | nv_tileas.TiledStore | nv_tileaa.Load | nv_tileaa.Store"

_STOPS = ("", "seeds", "layouts")
_WITHIN_A_CTA = (
    "nv_tileas.tiled_load", "nv_tileas.tiled_store", "nv_tileaa.load", "nv_tileaa.store", "nv_tileaa.assert",
    "nv_tileaa.gdc_wait", "nv_tileaa.gdc_launch_dependents", "nv_tileaa.fence_alias", "nv_tileas.tiled_prefetch",
    "nv_tileas.cluster_reduce_scatter",
)  # fmt: skip
"""Ops with effects that every CTA of a cluster may have, on its part."""


_TILED = (nv_tileas.TiledLoad, nv_tileas.TiledStore)
_STORES = (nv_tileas.TiledStore, nv_tileaa.Store)
_ACCESSES = (nv_tileas.TiledLoad, nv_tileaa.Load, *_STORES)
"""Accesses that CTAs of a cluster do in the order of their tokens."""
_FEW = 0.05
"""The part of the bytes of a program that may be loaded again for each program: less is an estimate's error."""
_ANCHORS = (nv_tileas.Dot, nv_tileas.ClusterReduceScatter)
"""Ops at each of which parts are asked for."""
_EXCHANGE = 1000
"""The price of an exchange between CTAs: two barriers of a cluster."""
_NO_AGENTS = 1e9
"""The price of an exchange in a kernel with products, which then cannot have agents: all threads of a cluster meet."""


@dataclass(frozen=True)
class PlanCTA(Pass):
    """Give each CTA of a cluster its part of every tile."""

    name: ClassVar = "plan-cta"
    summary: ClassVar = "propagate CTA related layouts"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without thread layouts, and a kernel_spec on each kernel"
    ensures: ClassVar = "kernels with a cluster work on the tiles of one CTA; others are unchanged"
    statistics: ClassVar = {"planned": "kernels with a cluster", "shared": "loads that CTAs share"}

    launches: str = option(
        ANY,
        "large chooses clusters of tile blocks, and whether CTAs stay, for launches that fill the GPU",
        choices=LAUNCHES,
    )
    stay: bool = option(True, "also choose whether CTAs stay for further programs, and how they get these")
    stop: str = option("", "where to stop, to look at the IR: 'seeds', 'layouts'; '' goes on to the end")

    def run(self, op: Operation, context: PassContext) -> None:
        if self.stop not in _STOPS:
            raise op.error(f"option stop={self.stop} is invalid; expected seeds or layouts")
        for function in kernels(op):
            spec = function.kernel_spec
            if spec is not None and prod(spec.cluster) == 1 and self.launches == LARGE:
                self.choose(function, spec, target_of(op), context)
            spec = function.kernel_spec
            if spec is None or prod(spec.cluster) == 1:
                continue
            self.plan(function, spec, target_of(op), context)

    def plan(
        self, function: nv_tileaa.Func, spec: nv_tileaa.KernelSpecAttr, target: Target, context: PassContext
    ) -> None:
        count = prod(spec.cluster)
        given = function.attributes.get(PARTS)
        programs = programs_of(function)
        seeded = any(DIRECTION in inner.attributes for inner in function.walk())
        try:
            if not target.has(Feature.CLUSTER):
                raise Conflict(function, f"is compiled for {target.name}, which has no clusters")
            if count & (count - 1) or count > target.max_cluster_size:
                raise Conflict(
                    function,
                    f"has a cluster of {count} CTAs; expected a power of two up to {target.max_cluster_size}",
                )
            check_effects(function, ordered=programs is None)
            if programs is not None:
                self.share(function, programs, target, context)
                return
            chosen = None if seeded else choose(function, count, given)
            if chosen is not None:
                seed(chosen)
            if self.stop == "seeds":
                return
            plan = propagated(function, count)
        except Conflict as problem:
            if isinstance(given, DenseArrayAttr) or programs is not None or seeded:
                raise problem.error(f": the kernel cannot have a cluster of {count} CTAs") from None
            refuse(function)
            text = f"no cluster of {count} CTAs: {problem.text()}"
            context.failed(problem.op, text, "cluster", "schedule", function=function)
            return
        if self.stop == "layouts":
            plan.show()
            return
        for access, other in check_effects(function).items():
            keep_order(access)
            text = f"the CTAs of the cluster meet before the access, which its token orders after {_named(other)}"
            context.analyzed(access, text, "cluster", "schedule")
        shared = commit(function, plan.blocks, plan.bits)
        function.attributes.pop(PARTS, None)
        function.attributes.pop(WARPS_ALONE, None)
        function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(spec.num_warps, (count, 1, 1))
        context.count("planned")
        context.count("shared", len(shared))
        if chosen is not None:
            parts = " x ".join(map(str, chosen.parts))
            text = (
                f"each tile block is a cluster of {count} CTAs, which compute {parts} parts: {chosen.why}; they may "
                f"share {len(shared)} of the tiles that they load"
            )
            context.passed(function, text, "cluster", "schedule")

    def choose(
        self, function: nv_tileaa.Func, spec: nv_tileaa.KernelSpecAttr, target: Target, context: PassContext
    ) -> None:
        """Give a kernel clusters of tile blocks if they take less time."""
        if PARTS in function.attributes:
            return
        choice = choose_blocks(function, target)
        if choice is None:
            if self.stay and _may_stay(function):
                self.keep(function, target, context)
            return
        columns, rows = choice.shape
        what = f"{choice.cycles:,.0f} cycles a step with clusters of {columns} x {rows} tile blocks"
        try:
            check_effects(function, ordered=False)
        except Conflict as problem:
            text = f"the CTAs have no clusters, with which they would take {what}: {problem.text()}"
            context.failed(problem.op, text, "cluster", "schedule", function=function)
            return
        function.attributes[CLUSTER_PROGRAMS] = DenseArrayAttr(I64, choice.shape)
        function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(
            spec.num_warps, (columns * rows, 1, 1)
        )
        staying = None
        if self.stay and _may_stay(function):
            staying = choose_staying(function, target, choice.cycles)
        if staying is not None and staying.scheduler == NEVER:
            staying = None
        then = ", whose CTAs stay for the next ones" if staying is not None else ""
        text = f"{what}{then}, {choice.plain:,.0f} without: {choice.bound} it"
        context.passed(function, text, "cluster", "schedule")
        if staying is not None:
            _let_stay(function, staying, [staying.text], context)

    def keep(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
        """Let the CTAs of a kernel stay if their programs then lose less time: all load the same tiles, which a CTA
        then loads once, or its agents load for the next program."""
        own = sum(map(_bytes, common_loads(function)))
        every = sum(_bytes(op) for op in function.walk() if isinstance(op, _TILED))
        staying = choose_staying(function, target)
        why = [f"{own} of {every} bytes of each program are the same for all"] * (own > _FEW * every)
        if staying is not None:
            if staying.scheduler == NEVER:
                text = f"the CTAs end with their programs: {staying.text}"
                context.missed(function, text, "cluster", "schedule")
                return
            why.append(staying.text)
        if not why:
            return
        try:
            check_effects(function, ordered=False)
        except Conflict as problem:
            text = f"the CTAs do not stay, though {'; '.join(why)}: {problem.text()}"
            context.failed(problem.op, text, "cluster", "schedule", function=function)
            return
        _let_stay(function, staying, why, context)

    def share(
        self, function: nv_tileaa.Func, programs: tuple[int, int], target: Target, context: PassContext
    ) -> None:
        """Let the CTAs of a cluster, which run a program each, share loads."""
        longer = even_out(function, programs) if target.has(Feature.TCGEN05) else []
        for loop in longer:
            text = "the CTAs of a cluster run the loop equally often, so that they can multiply together"
            context.passed(loop, text, "cluster", "schedule", function=function)
        shared = share_loads(function, programs, pairs_are_rows(function, programs, target))
        context.count("planned")
        context.count("shared", shared)
        text = (
            f"each cluster has the CTAs of {programs[0]} x {programs[1]} tile blocks; they may share {shared} of the "
            "tiles that they load"
        )
        context.passed(function, text, "cluster", "schedule")


def _let_stay(
    function: nv_tileaa.Func, staying: Staying | None, why: list[str], context: PassContext
) -> None:
    """The CTAs stay, and get their programs as is the cheapest; by a stride if that has no price."""
    scheduler = staying.scheduler if staying is not None else STATIC
    function.attributes[WANTED] = StringAttr(scheduler)
    text = f"the CTAs stay for the next programs, by {scheduler}: {'; '.join(why)}"
    context.passed(function, text, "cluster", "schedule")
    if staying is not None and staying.unequal is not None:
        text = "some programs may execute it more often than others, so that a stride would not balance CTAs"
        context.analyzed(staying.unequal, text, "cluster", "schedule")


def _may_stay(function: nv_tileaa.Func) -> bool:
    """Whether a kernel can be persistent: no early return would end a CTA that has other programs."""
    return len(function.body.blocks) == 1 and not any(
        isinstance(op, nv_tileaa.Return) and op.parent_op is not function for op in function.walk()
    )


def _bytes(op: nv_tileas.TiledLoad | nv_tileas.TiledStore) -> int:
    """The bytes of a tile in global memory."""
    type = op.moved.type
    return type.num_elements * storage_bits(type.element) // 8


def check_effects(function: nv_tileaa.Func, ordered: bool = True) -> dict[_Access, Operation]:
    """Raises Conflict for what only one CTA may do, and, if `ordered`, for a load and a store in order that are in
    different loops.  The accesses that CTAs of a cluster do in order, and another one before each."""
    order = MemoryOrder()
    accesses = [op for op in function.walk() if is_access(op)]
    found: dict[_Access, Operation] = {}
    for op in function.walk():
        effects = op.effects()
        known = effects is not None and not effects.own
        if not ordered and isinstance(op, OF_A_PROGRAM):
            check_waits(op)
            continue
        if not (op.regions or known or op.name in _WITHIN_A_CTA or is_quiet(op)):
            raise Conflict(op, "has an effect that each CTA of a cluster would have")
    for op in accesses if ordered else ():
        for other in order.before(op):
            if not (writes_memory(op) or writes_memory(other)):
                continue
            stores = isinstance(op, _STORES) and isinstance(other, _STORES)
            near = stores or loops_around(op) == loops_around(other)
            if not (near and isinstance(op, _ACCESSES) and isinstance(other, _ACCESSES)):
                raise Conflict(
                    op,
                    f"is ordered by its token after {_named(other)}, which other CTAs of a cluster would do",
                    OTHER_TOKEN,
                )
            if op is not other or not order.has_places(op):
                found[op] = other
    return found


def keep_order(access: _Access) -> None:
    """Let the CTAs of a cluster meet before a load or store."""
    assert access.token is not None
    made = nv_tileas.ClusterOrder(access.token, None, res=MEM_TOKEN, location=access.location)
    Builder.before(access).insert(made)
    access.set_field("token", [made.res])


def _named(other: Operation) -> str:
    return f"'{other.name}'{place_of(other)}"


def check_waits(op: Operation) -> None:
    """Raises Conflict if an atomic operation is in a loop that may wait for its result: a CTA without a program, which
    does not execute the operation, might wait forever."""
    outer = op.parent_op
    while outer is not None:
        if isinstance(outer, nv_tileaa.Loop | scf.While) and not isinstance(op, nv_tileaa.Print):
            raise Conflict(op, "is in a loop that may wait for it, also in a CTA without a tile block")
        outer = outer.parent_op


def is_quiet(op: Operation) -> bool:
    """Whether an op has no effects that others see."""
    return op.has_trait(Terminator) or op.name == "nv_tileaa.create_mem_token"


# -- seeds


def anchors(function: nv_tileaa.Func) -> list[tuple[Operation, Value]]:
    """The ops at which parts are asked for, with the values: sums of several CTAs, else products, the largest first,
    else the tiles in memory."""
    sums = [(op, op.res) for op in function.walk() if isinstance(op, nv_tileas.ClusterReduceScatter)]
    if sums:
        return [(op, res) for op, res in sums]
    products = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
    if products:
        return [(op, op.res) for op in sorted(products, key=lambda op: -op.multiplications)]
    tiles: list[tuple[Operation, Value]] = []
    for op in function.walk():
        if isinstance(op, nv_tileas.TiledLoad | nv_tileaa.Load) and is_tile(op.res):
            tiles.append((op, op.res))
        elif isinstance(op, nv_tileas.TiledStore | nv_tileaa.Store) and is_tile(op.value):
            tiles.append((op, op.value))
    return sorted(tiles, key=lambda found: -found[1].type_as(RankedTensorType).num_elements)


def choose(function: nv_tileaa.Func, count: int, given: Attribute | None) -> Plan:
    """The plan of the lowest price, or that in the parts that are given.  Raises Conflict if there is none."""
    found = anchors(function)
    if not found:
        raise Conflict(function, "has no tile in memory, and nothing for several CTAs to do")
    candidates: list[tuple[float, Plan]] = []
    problem: Conflict | None = None
    op, value = found[0]
    shapes = list(_shapes(count, given))
    if isinstance(op, nv_tileas.ClusterReduceScatter):
        # A thread has several columns of sums in its registers, and can keep some of them without an exchange.
        shapes.reverse()
    for rows, columns in shapes:
        plan = Plan(function, count)
        plan.anchor, plan.parts = (op, value), (rows, columns)
        try:
            plan.give(value, _seed(op, value, rows, columns, plan.bits), op)
            for later in found:
                plan.spread()
                if isinstance(later[0], _ANCHORS) and later[1] not in plan.blocks:
                    plan.give(later[1], _seed(later[0], later[1], rows, columns, plan.bits), later[0])
                    plan.others.append(later[0])
            plan.spread()
            plan.check()
        except Conflict as refusal:
            problem = problem or refusal
            continue
        candidates.append((price(plan), plan))
    if not candidates:
        assert problem is not None
        raise problem
    cost, best = min(candidates, key=lambda found: found[0])
    if isinstance(given, DenseArrayAttr):
        best.why = "as set by the option cluster"
    else:
        others = [
            f"{p.parts[0]} x {p.parts[1]} parts would take {_price_text(c)}"
            for c, p in candidates
            if p is not best and p.parts
        ]
        best.why = ", and ".join([f"a step takes {_price_text(cost)}", *others])
    return best


def _shapes(count: int, given: Attribute | None) -> Iterator[tuple[int, int]]:
    if isinstance(given, DenseArrayAttr):
        rows, columns = given.values
        yield rows, columns
        return
    rows = count
    while rows:
        yield rows, count // rows
        rows //= 2


def _seed(op: Operation, value: Value, rows: int, columns: int, bits: int) -> Blocks:
    """The parts of an anchor: rows along the last axis but one, columns along the last."""
    shape: tuple[int, ...] = value.type.shape  # type: ignore[attr-defined]
    if len(shape) == 1:
        if rows > 1 and columns > 1:
            raise Conflict(op, "has a tile of one axis, which cannot be split in rows and columns")
        counts: tuple[int, ...] = (rows * columns,)
    else:
        # Rows are those of the outermost axis that has some: batches are as good.
        counts = (*(1,) * (len(shape) - 2), rows, columns)
    if any(n < m for n, m in zip(shape, counts, strict=True)):
        raise Conflict(
            op, f"has a tile of {'x'.join(map(str, shape))}, which is not {rows} x {columns} parts"
        )
    return split(shape, counts, 0, bits)


def price(plan: Plan) -> float:
    """An estimate of the cycles of the products of a step, or of the bytes that a CTA moves.

    A step of wgmma takes one cycle for 4,096 products of 16 bits, or as long as shared memory takes to give the
    factors: 128 bytes a cycle, A once for each 64 rows, B once for each 64 rows and warpgroup.
    """
    total = 0.0
    for op in plan.function.walk():
        if not isinstance(op, nv_tileas.Dot):
            continue
        part = part_shape(op.c.type.shape, plan.of(op.res))
        assert part is not None
        m, n, k = part[-2], part[-1], op.a.type.shape[-1]
        used = max(m, 64) * max(n, 8)
        tensor = used * k / 4096
        size = 2
        shared = (m * k + max(1, m // 64) * n * k) * size / 128
        filled = (m + n) * k * size / 64
        total += max(tensor, shared, filled) * prod(part[:-2])
    if not total:
        op, value = plan.anchor or (None, None)
        assert op is not None and value is not None
        part = part_shape(value.type.shape, plan.of(value))  # type: ignore[attr-defined]
        assert part is not None
        # Whole rows are one access after another.
        total = prod(part) * (1 + 1 / part[-1])
    alone = not any(isinstance(op, nv_tileas.Dot) for op in plan.function.walk())
    for op in plan.function.walk():
        if isinstance(op, nv_tileaa.Reduce) and any(basis[op.axis.value] for basis in plan.of(op.sources[0])):
            total += _EXCHANGE if alone else _NO_AGENTS
    return total


def _price_text(cost: float) -> str:
    """A price, and what it stands for."""
    without = " without agents" if cost >= _NO_AGENTS else ""
    return f"{cost % _NO_AGENTS:,.0f} cycles{without}"


def seed(plan: Plan) -> None:
    """Write the conversions at the anchors of a plan."""
    assert plan.anchor is not None
    for op in (plan.anchor[0], *plan.others):
        _seed_at(op, plan)


def _seed_at(op: Operation, plan: Plan) -> None:
    for index, operand in enumerate(list(op.operands)):
        if is_tile(operand) and operand in plan.blocks:
            made = _conversion(operand, plan.blocks[operand], BACKWARD)
            Builder.before(op).insert(made)
            op.set_operand(index, made.results[0])
    for result in op.results:
        if is_tile(result) and result in plan.blocks:
            plain = result.type_as(RankedTensorType)
            wanted = with_blocks(plain, plan.blocks[result])
            made = nv_tileas.ConvertLayout(result, res=plain, location=op.location)
            made.attributes[DIRECTION] = StringAttr(FORWARD)
            op.parent.insert_after(op, made)  # type: ignore[union-attr]
            result.replace_all_uses_with(made.results[0], keep=lambda use, made=made: use.owner is made)
            result.type = wanted


def _conversion(value: Value, blocks: Blocks, direction: str) -> nv_tileas.ConvertLayout:
    type = value.type_as(RankedTensorType)
    made = nv_tileas.ConvertLayout(value, res=with_blocks(type, blocks))
    made.attributes[DIRECTION] = StringAttr(direction)
    return made


def propagated(function: nv_tileaa.Func, count: int) -> Plan:
    """The plan that the conversions of a function ask for; they are merged with what they come to.  Raises Conflict if
    it has none."""
    plan = Plan(function, count)
    seeds: list[tuple[Value, Blocks, Operation]] = []
    for op in list(function.walk()):
        if not isinstance(op, nv_tileas.ConvertLayout) or DIRECTION not in op.attributes:
            continue
        direction = op.attributes[DIRECTION]
        if not isinstance(direction, StringAttr) or direction.value not in (BACKWARD, FORWARD):
            raise op.error(f'has {DIRECTION} = {direction}; expected "{BACKWARD}" or "{FORWARD}"')
        blocks = given_blocks(op.res if direction.value == BACKWARD else op.source, plan.bits)
        if blocks is None:
            raise op.error(f"has no CTA layout for a cluster of {count} CTAs")
        source = op.source
        seeds.append((source, blocks, op))
        op.res.replace_all_uses_with(source)
        op.erase()
    for op in function.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
            if is_tile(value):
                plain = value.type_as(RankedTensorType)
                retype(value, RankedTensorType(plain.shape, plain.element))
    for value, blocks, op in seeds:
        plan.give(value, blocks, op)
    plan.spread()
    for op, value in anchors(function):
        if isinstance(op, nv_tileas.Dot) and value not in plan.blocks:
            plan.give(value, replicated(value.type.rank, plan.bits), op)  # type: ignore[attr-defined]
            plan.spread()
    plan.check()
    return plan


@dataclass(frozen=True)
class TileASPlanCTA(PlanCTA):
    """The same pass, by the name of its family."""

    name: ClassVar = "tileas-plan-cta"
