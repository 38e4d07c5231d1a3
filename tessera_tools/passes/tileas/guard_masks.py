"""tileas-guard-masks: where one comparison of scalars shows that a mask holds for a whole tile, the mask is skipped.

    %m = cmpi sge, %rows, %columns            %all = first row >= last column          (scalars)
    %s = select %m, %x, %minus_inf     ──▶    %s = scf.if %all { yield %x }
                                              else { %m = cmpi …; yield (select %m, %x, %minus_inf) }

Causal attention masks the blocks on the diagonal only, and a mask of bounds the last block only.  Loops with products
get such a branch, because they are pipelined; other loops are split (scf-for-loop-splitting).  The rows and columns
are numbers of the program plus an iota: a tile is *base + offsets*, a scalar and the constants between which the rest
lies.  Numbers wrap, so that the branch also asks whether these may; where it does not know, the mask is applied.
"""

from __future__ import annotations

from typing import ClassVar, overload

from tessera_tools.analysis.affine import RENAMES
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.tile_costs import RARELY_ELSE
from tessera_tools.analysis.transfer import limits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I64, IntegerType, RankedTensorType, element_type
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.products import asynchronous_products
from tessera_tools.planning.kernel import kernel_spec, kernels_with
from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP

LEAST_ELEMENTS = 16
"""Elements of a thread for which a branch is worth more than it takes."""
_MIRRORED = {"sle": "sge", "slt": "sgt"}


class GuardMasks(Pass):
    """Skip the masks of tiles for which they hold."""

    name: ClassVar = "tileas-guard-masks"
    summary: ClassVar = (
        "branch around masks where a comparison of scalars shows that they hold for a whole tile"
    )
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, before the loops are scheduled"
    ensures: ClassVar = "loops with products apply a mask only to tiles for which it may not hold"
    statistics: ClassVar = {"guarded": "masks behind a branch"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function, target in kernels_with(op):
            choice = asynchronous_products(function, target)
            warps = kernel_spec(function).num_warps if choice is None else WARPS_OF_WARPGROUP * choice.groups
            least = LEAST_ELEMENTS * 32 * warps
            facts = Facts()
            selects = [inner for inner in function.walk() if isinstance(inner, arith.Select)]
            for select in [inner for inner in selects if _is_worth_a_branch(inner, least)]:
                changed = True
                if self._guard(select, facts):
                    context.count("guarded")
                    context.passed(
                        select, "mask skipped where it holds for the whole tile", "masks", "schedule", function=function
                    )  # fmt: skip
        return changed

    def _guard(self, select: arith.Select, facts: Facts) -> bool:
        type, builder = select.result.type, Builder.before(select)
        holds = _Check(builder, facts).of(select.condition)
        if holds is None:
            return False
        then, otherwise = Block(), Block()
        guarded = scf.If(
            holds, results=[type], then=Region([then]), otherwise=Region([otherwise]), location=select.location
        )  # fmt: skip
        guarded.attributes[RARELY_ELSE] = UNIT
        builder.insert(guarded)
        select.result.replace_all_uses_with(guarded.results[0])
        Builder.at_end(then, select.location).insert(scf.Yield([select.true_value]))
        for op in [*_only_for(select), select]:
            op.detach()
            otherwise.append(op)
        Builder.at_end(otherwise, select.location).insert(scf.Yield([select.result]))
        return True


def _is_worth_a_branch(select: arith.Select, least: int) -> bool:
    """Whether a select masks a tile of at least `least` elements in a loop of products."""
    taken, loop = select.true_value.defining_op, select.parent_op
    return (
        isinstance(loop, scf.For)
        and any(isinstance(inner, nv_tileas.Dot) for inner in loop.body.entry)
        and isinstance(select.condition.type, RankedTensorType)
        and select.result.type.num_elements >= least
        # A tile of equal elements has no registers that the branch could leave alone.
        and not isinstance(taken, nv_tileaa.ConstantTensor | nv_tileaa.Splat | nv_tileaa.Broadcast)
    )


def _only_for(select: arith.Select) -> list[Operation]:
    """The ops of a select's block that compute its condition and nothing else, in order."""
    found: set[Operation] = {select}
    block = select.parent
    assert block is not None
    before = list(block)
    for op in reversed(before[: before.index(select)]):
        users = {use.owner for result in op.results for use in result.uses}
        feeds = op.results and isinstance(op.results[0].type, RankedTensorType)
        if feeds and users and users <= found and is_pure(op) and not op.regions and _is_mask(op, select):
            found.add(op)
    return [op for op in before if op in found and op is not select]


def _is_mask(op: Operation, select: arith.Select) -> bool:
    """Whether an op computes the condition, and not the values to choose from."""
    return op not in (select.true_value.defining_op, select.false_value.defining_op)


@dataclass(frozen=True, slots=True)
class _Tile:
    """Elements that are `base` (0 for None) plus numbers from `low` to `high`, as their type wraps."""

    base: Value | None
    low: int
    high: int


class _Check:
    """Builds the scalar that says whether a condition holds for all elements of a tile."""

    def __init__(self, builder: Builder, facts: Facts) -> None:
        self.builder, self.facts = builder, facts

    def of(self, condition: Value) -> Value | None:
        """An i1 that is true only if all elements are; None if nothing is known of them."""
        op = condition.defining_op
        if isinstance(op, RENAMES):
            return self.of(op.source)
        if isinstance(op, nv_tileaa.Splat):
            return op.source
        if isinstance(op, arith.AndI):
            left = self.of(op.lhs)
            right = None if left is None else self.of(op.rhs)
            return None if right is None else self._both(left, right)
        return self._comparison(op) if isinstance(op, arith.CmpI) else None

    def _comparison(self, op: arith.CmpI) -> Value | None:
        predicate, greater, less = op.predicate_name, op.lhs, op.rhs
        if predicate in _MIRRORED:
            predicate, greater, less = _MIRRORED[predicate], less, greater
        element = element_type(greater.type)
        if predicate not in ("sge", "sgt") or not isinstance(element, IntegerType):
            return None
        above, below = self._tile(greater), self._tile(less)
        if above is None or below is None:
            return None
        more = below.high - above.low
        if not all(abs(n) < limits(element)[1] for n in (above.high, below.low, more)):
            return None
        # Neither tile wraps: the other ends of the two ranges follow from the comparison of these.
        zero = self._number(0, element) if above.base is None or below.base is None else None
        left, right = above.base or zero, below.base or zero
        assert left is not None and right is not None
        holds = self._within(left, element, 0, above.high)
        holds = self._both(holds, self._within(right, element, min(below.low, more), more))
        if more:
            right = self.builder.insert(arith.AddI(right, self._number(more, element))).result
        return self._both(holds, self._compare(predicate, left, right))

    def _within(self, base: Value, element: IntegerType, lower: int, upper: int) -> Value | None:
        """Whether neither base + lower nor base + upper wraps; None if it is known that neither does."""
        least, most = limits(element)
        fact = self.facts.fact(base)
        holds: Value | None = None
        if fact.upper + upper > most:
            holds = self._compare("sle", base, self._number(most - upper, element))
        if fact.lower + lower < least:
            holds = self._both(holds, self._compare("sge", base, self._number(least - lower, element)))
        return holds

    @overload
    def _both(self, left: Value | None, right: Value) -> Value: ...

    @overload
    def _both(self, left: Value | None, right: Value | None) -> Value | None: ...

    def _both(self, left: Value | None, right: Value | None) -> Value | None:
        """The conjunction; None is true."""
        if left is None or right is None:
            return left if right is None else right
        return self.builder.insert(arith.AndI(left, right)).result

    def _compare(self, predicate: str, left: Value, right: Value) -> Value:
        code = IntegerAttr(CMPI_PREDICATES.index(predicate), I64)
        return self.builder.insert(arith.CmpI(code, left, right)).result

    def _number(self, value: int, type: IntegerType) -> Value:
        return self.builder.insert(arith.Constant(IntegerAttr(value, type))).results[0]

    def _tile(self, value: Value) -> _Tile | None:
        op = value.defining_op
        if isinstance(op, RENAMES):
            return self._tile(op.source)
        if isinstance(op, nv_tileaa.Splat):
            return _Tile(op.source, 0, 0)
        if isinstance(op, arith.AddI | arith.SubI):
            left, right = self._tile(op.lhs), self._tile(op.rhs)
            if left is None or right is None:
                return None
            base = left.base or right.base
            if right.base is not None and (left.base is not None or isinstance(op, arith.SubI)):
                first = left.base or self._number(0, right.base.type)  # type: ignore[arg-type]
                base = self.builder.insert(type(op)(first, right.base)).result
            if isinstance(op, arith.AddI):
                return _Tile(base, left.low + right.low, left.high + right.high)
            return _Tile(base, left.low - right.high, left.high - right.low)
        fact, (least, most) = self.facts.fact(value), limits(value.type)
        if fact.lower == least or fact.upper == most:
            return None
        return _Tile(None, fact.lower, fact.upper)
