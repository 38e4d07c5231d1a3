"""tileas-split-k: several CTAs share the iterations of a loop that adds up, and then add what each of them has.

    acc = for k in 0..n { dot a[i, k], b[k, j], acc }          the CTA of rank r of a cluster of N
    store acc, c                                         ──▶   acc = for k in its part of 0..n { dot … }
                                                               sum = cluster_reduce_scatter acc
                                                               store sum, c

This is split-K: with few tiles of sums and a long loop, most SMs would be idle.  The iterations are dealt out in N runs
of equal length, up to one; a CTA adds its own in order, and the sums of the CTAs are then added in the order of their
ranks, from that of the CTA on that gets the sum (nv_tileas.cluster_reduce_scatter), so that the result does not depend
on the schedule.  What the loop starts from is added last, unless it is zero.
There is no workspace: the CTAs read the sums from each other's shared memory.  plan-cta then decides which part of the
sums, and of all that follows from them, each CTA has.

A kernel can be split if it has one loop with products, which does nothing but add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.launches import launch_of
from tessera_tools.analysis.persistent import CLUSTER_PROGRAMS
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.ir.builtin_attributes import UNIT, DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.folding import constant_integer, constant_value
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import FloatType, IntegerType, RankedTensorType
from tessera_tools.opdef import Op
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.tileas.cta_parts import PARTS, SPLIT
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.plan_cta import check_effects, choose
from tessera_tools.passes.tileas.split_k_price import cheapest
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.planning.layout_rules import is_tile
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target

_LOADS = ("nv_tileas.tiled_load", "nv_tileaa.load", "nv_tileas.tiled_prefetch", "nv_tileaa.create_mem_token")
_PARTS = (2, 4, 8)
"""CTAs of a cluster that every GPU with clusters launches."""


@dataclass(frozen=True)
class SplitK(Pass):
    """Deal out the iterations of loops with products to the CTAs of clusters."""

    name: ClassVar = "tileas-split-k"
    summary: ClassVar = "split loops with products along K over the CTAs of clusters, which add their sums"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, and a kernel_spec on each kernel"
    ensures: ClassVar = "the iterations of each loop that was split are those of one CTA of a cluster"
    statistics: ClassVar = {"split": "kernels whose loop is split"}

    parts: int = option(0, "the CTAs that share the iterations of a loop: 1, 2, 4, 8; 0 chooses by price")
    tile_blocks: int = option(0, "the tile blocks of the launch; 0 if they are unknown")
    arguments: tuple[str, ...] = option((), "the integers among the arguments of the launch; ? for any other")

    def run(self, op: Operation, context: PassContext) -> bool:
        if self.parts not in (0, 1, *_PARTS):
            raise op.error(f"option parts={self.parts} is invalid; expected 0, 1, 2, 4 or 8")
        launch = launch_of(op, self.tile_blocks, self.arguments)
        if self.parts == 1 or (not self.parts and not self.tile_blocks):
            return False
        changed = False
        functions = kernels(op)
        for function in functions if self.parts or len(functions) == 1 else ():
            target = target_of(op)
            try:
                found = splittable(function, target)
                if found is None:
                    if self.parts:
                        text = f"the option split-k={self.parts} has no effect: the kernel has no products"
                        context.failed(function, text, "split-k", "schedule", function=function)
                    continue
                parts, why = self.parts, "as set by the option split-k"
                if not parts:
                    choice = cheapest(found.loop, target, self.tile_blocks, launch)
                    if choice is None:
                        continue
                    parts, why = choice.parts, choice.why
                check_parts(function, found, parts)
            except Missed as refusal:
                if self.parts:
                    raise refusal.error(": the kernel cannot be split along K") from None
                text = f"no loop is split among several CTAs: {refusal.text()}"
                context.failed(refusal.op, text, "split-k", "schedule", function=function)
                continue
            split(function, found, parts)
            changed = True
            context.count("split")
            text = f"{parts} CTAs share the iterations of the loop, and add their sums: {why}"
            context.passed(found.loop, text, "split-k", "schedule", function=function)
        return changed


@dataclass(frozen=True, slots=True)
class Splittable:
    """A loop that can be split, and the numbers of the tiles that it carries."""

    loop: scf.For
    sums: tuple[int, ...]


def splittable(function: nv_tileaa.Func, target: Target) -> Splittable | None:
    """The loop of a kernel that can be split; None if it has no products.  Raises Missed if it cannot be split."""
    dots = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
    if not dots:
        return None
    if not target.has(Feature.CLUSTER):
        raise Missed(function, f"is compiled for {target.name}, which has no clusters")
    spec = function.kernel_spec
    if spec is None or prod(spec.cluster) > 1 or PARTS in function.attributes:
        raise Missed(function, "has clusters for something else")
    if CLUSTER_PROGRAMS in function.attributes:
        raise Missed(function, "has clusters of several tile blocks")
    loops = {loop_of(dot, function) for dot in dots}
    for dot in dots:
        if loop_of(dot, function) is None:
            raise Missed(dot, "multiplies outside of loops")
    if len(loops) > 1:
        second = [loop for loop in function.body.entry if loop in loops][1]
        raise Missed(second, "is a second loop with products")
    (loop,) = loops
    if not isinstance(loop, scf.For):
        assert loop is not None
        branch = isinstance(loop, scf.If | nv_tileaa.If)
        why = (
            "is a branch around the loop with products"
            if branch
            else "is a loop whose iterations are not counted"
        )
        raise Missed(loop, why)
    return Splittable(loop, tuple(_sums(loop)))


def check_parts(function: nv_tileaa.Func, found: Splittable, parts: int) -> None:
    """Raises Conflict if the CTAs of a cluster cannot each have a part of what follows from the sums."""
    copy = function.clone()
    assert isinstance(copy, nv_tileaa.Func)
    places = list(function.walk())
    loop = list(copy.walk())[places.index(found.loop)]
    assert isinstance(loop, scf.For)
    split(copy, Splittable(loop, found.sums), parts)
    check_effects(copy)
    choose(copy, parts, None)


def loop_of(op: Operation, function: Operation) -> Operation | None:
    """The outermost op around an op, below the function; None if it is the op itself."""
    found = None
    outer = op.parent_op
    while outer is not None and outer is not function:
        found, outer = outer, outer.parent_op
    return found


def _sums(loop: scf.For) -> Iterator[int]:
    """The numbers of the sums that a loop carries.  Raises Missed if it does something else."""
    if loop.unsigned_cmp is not None:
        raise Missed(loop, "counts in numbers without a sign")
    least = Facts().lower(loop.lower)
    if least is None or least < 0:
        raise Missed(loop, "begins at a number that is not known to be 0 or more", "add an assume")
    for op in loop.body.walk():
        quiet = is_pure(op) or op.regions or op.has_trait(Terminator) or op.name in _LOADS
        if not quiet:
            raise Missed(op, "has an effect in each iteration, which would happen in other CTAs")
        if isinstance(op, nv_tileaa.Return | nv_tileaa.Break | nv_tileaa.Continue):
            raise Missed(op, "ends the loop early")
    end = loop.body.entry.last_op
    assert end is not None
    for number, (carried, given) in enumerate(zip(loop.iter_args, end.operands, strict=True)):
        if isinstance(carried.type, nv_tileaa.MemTokenType):
            continue
        if not is_tile(carried):
            raise Missed(loop, f"carries a value of type {carried.type} from each iteration to the next")
        if not _adds_up(carried, given):
            raise Missed(loop, f"carries a tile, {carried.type}, that is not a sum")
        yield number


def _adds_up(carried: Value, given: Value) -> bool:
    """Whether a value is what a loop carries plus what the iteration adds."""
    value = given
    while value is not carried:
        op = value.defining_op
        if op is None or not value.has_one_use:
            return False
        if isinstance(op, nv_tileas.Dot):
            value = op.c
        elif isinstance(op, arith.AddF | arith.AddI):
            value = next((v for v in op.operands if _follows(v, carried)), op.operands[0])
        else:
            return False
    return carried.has_one_use


def _follows(value: Value, carried: Value) -> bool:
    """Whether a value begins, through products and additions, with what a loop carries."""
    while value is not carried:
        op = value.defining_op
        if isinstance(op, nv_tileas.Dot):
            value = op.c
        elif isinstance(op, arith.AddF | arith.AddI):
            return any(_follows(v, carried) for v in op.operands)
        else:
            return False
    return True


def split(function: nv_tileaa.Func, found: Splittable, parts: int) -> None:
    """Give each CTA of a cluster its iterations, and add the sums."""
    loop = found.loop
    before = Builder.before(loop)
    lower, upper = _bounds(loop, parts, before)
    loop.set_operand(0, lower)
    loop.set_operand(1, upper)
    loop.attributes[SPLIT] = UNIT
    for number in found.sums:
        start, total = loop.inits[number], loop.results[number]
        type = total.type_as(RankedTensorType)
        uses = list(total.uses)
        after = Builder.after(loop)
        made = after.insert(nv_tileas.ClusterReduceScatter(total, None, res=type, location=loop.location))
        value: Value = made.results[0]
        if splat_of(constant_value(start)) != 0:
            zero = DenseElementsAttr(type, bytes(element_bytes(type.element)))
            begin = before.insert(arith.Constant(zero, location=loop.location)).results[0]
            loop.set_operand(3 + number, begin)
            kind = arith.AddF if isinstance(type.element, FloatType) else arith.AddI
            value = Builder.after(made).insert(kind(start, value, location=loop.location)).results[0]
        for use in uses:
            use.owner.set_operand(use.index, value)
    spec = function.kernel_spec
    assert spec is not None
    function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(spec.num_warps, (parts, 1, 1))


def _bounds(loop: scf.For, parts: int, builder: Builder) -> tuple[Value, Value]:
    """The bounds of the iterations of a CTA.  Of n iterations, CTA r has n / parts, and one more if r < n mod parts."""
    type = loop.lower.type
    location = loop.location

    def made(kind: type[Op], *operands: Value) -> Value:
        return builder.insert(kind(*operands, location=location)).results[0]

    def number(value: int) -> Value:
        return builder.insert(arith.Constant(IntegerAttr(value, type), location=location)).results[0]

    rank: Value = builder.insert(nv_tileas.CtaRank(location=location)).res
    if not isinstance(type, IntegerType):
        rank = builder.insert(arith.IndexCast(rank, out=type, location=location)).results[0]
    elif type.width != 32:
        cast = arith.ExtUI if type.width > 32 else arith.TruncI
        rank = builder.insert(cast(rank, out=type, location=location)).results[0]
    by_one = constant_integer(loop.step) == 1
    # Of a loop without iterations, the difference of the bounds may not be a number of their type.
    end = made(arith.MaxSI, loop.lower, loop.upper)
    count = made(arith.SubI, end, loop.lower)
    if not by_one:
        whole = made(arith.DivUI, count, loop.step)
        rest = made(arith.RemUI, count, loop.step)
        more = builder.insert(arith.CmpI.of("ne", rest, number(0), location)).results[0]
        count = made(arith.AddI, whole, builder.insert(arith.ExtUI(more, out=type)).results[0])
    each = made(arith.ShRUI, count, number(parts.bit_length() - 1))
    extra = made(arith.AndI, count, number(parts - 1))
    first = made(arith.AddI, made(arith.MulI, rank, each), made(arith.MinUI, rank, extra))
    longer = builder.insert(arith.CmpI.of("ult", rank, extra, location)).results[0]
    one = builder.insert(arith.ExtUI(longer, out=type, location=location)).results[0]
    last = made(arith.AddI, made(arith.AddI, first, each), one)
    bounds: list[Value] = []
    for at in (first, last):
        if by_one:
            bounds.append(made(arith.AddI, loop.lower, at))
            continue
        # The last bound is that of the loop: the next step from there may not be a number of its type.
        place = made(arith.AddI, loop.lower, made(arith.MulI, at, loop.step))
        is_end = builder.insert(arith.CmpI.of("eq", at, count, location)).results[0]
        bounds.append(made(arith.Select, is_end, end, place))
    return bounds[0], bounds[1]
