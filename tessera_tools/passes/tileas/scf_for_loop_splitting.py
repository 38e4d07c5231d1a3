"""scf-for-loop-splitting: iterations whose checks all hold become a loop of their own, without the checks.

    scf.for %k = %a to %b step %s {          %h = the first %k whose tile may reach beyond %n, at most %b
      load %view[%k]   (extent %n)     ──▶   scf.for %k = %a to %h step %s { load without bounds; without mask }
      select (%k + iota < %m), …             scf.for %k = %t to %b step %s { as before }          (%t: the next %k)
    }

This is index-set splitting, for checks that are affine in the counter: bounds of tiled accesses, and masks that
compare tiles of *base + offsets*.  Each becomes conditions `coefficient · %k + number >= 0` on integers that do not
wrap.  Those with a negative coefficient bound the first loop; the others must hold from its start, otherwise it has no
iteration.

A loop with products is pipelined and left alone: the pipeline would be filled twice.  On sm_80, two loops of causal
attention take 208 registers instead of 161, and execute more instructions than one with a branch around its mask
(tileas-guard-masks).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from tessera_tools.analysis.access import in_bounds, storage_bits, vector_elements
from tessera_tools.analysis.affine import RENAMES, Affine, AffineValues
from tessera_tools.analysis.counting import may_wrap
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.tile_costs import LANES, cost_of
from tessera_tools.analysis.transfer import limits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, IntegerAttr
from tessera_tools.ir.core import Builder, IRMapping, Operation, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import I1, I32, I64, IntegerType, RankedTensorType, element_type
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.planning.kernel import kernel_spec, kernels, target_of
from tessera_tools.records import dataclass, field
from tessera_tools.target import Target
from tessera_tools.target.throughput import throughput

LEAST_ELEMENTS = 4
"""Elements of a thread for whose checks a loop is split."""
MOST_COPY = 512
"""Elements of a thread that the ops of a loop compute, above which a second copy is too much code."""
LEAST_SHARE = 6
"""A loop is split if checks are at least the 6th part of its instructions."""
REMAINDER = "nv_tileas.remainder"
"""A unit attribute of the second loop."""
_FAR = 1 << 33
"""Beyond every tile at an index of 32 bits."""
_MIRRORED = {"sle": "sge", "slt": "sgt"}
_WHOLE = (nv_tileas.AllocTensor, nv_tileas.Dot)
"""Ops that stand for one thing of a kernel, or whose loops are pipelined."""


@dataclass(frozen=True)
class LoopSplitting(Pass):
    """Split loops where checks begin to fail."""

    name: ClassVar = "scf-for-loop-splitting"
    summary: ClassVar = "split loops into iterations whose bounds and masks are known to hold, and the others"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = "the first of two loops has no check that the second has for its last iterations"
    statistics: ClassVar = {"split": "loops split"}

    most_elements: int = option(
        MOST_COPY, "elements of a thread in a loop above which it is not split; 0 for none"
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            for loop in [inner for inner in function.walk() if isinstance(inner, scf.For)]:
                threads = LANES * kernel_spec(function).num_warps
                split = _Split(loop, threads)
                if split.is_possible(self.most_elements) and split.find() and split.pays(target_of(op)):
                    split.perform()
                    changed = True
                    context.count("split")
                    what = f"split: {split.count()} checked in the last iterations only"
                    context.passed(loop, what, "masks", "schedule", function=function)
        return changed


@dataclass(frozen=True, slots=True)
class _Condition:
    """`coefficient` · counter + the sum of factor · value of `terms` + `constant` >= 0, in unlimited integers."""

    coefficient: int
    terms: tuple[tuple[int, Affine | Value], ...]
    """An affine function stands for its invariant part, as a signed integer of the counter's type."""
    constant: int


@dataclass(slots=True)
class _Checks:
    """What the first loop of a split does not check."""

    conditions: list[_Condition] = field(default_factory=list)
    masks: list[Value] = field(default_factory=list)
    accesses: dict[nv_tileas.TiledLoad | nv_tileas.TiledStore, tuple[int, ...]] = field(default_factory=dict)
    """Accesses, and their axes in bounds."""
    instructions: int = 0
    """For all elements."""


class _Split:
    """One loop."""

    def __init__(self, loop: scf.For, threads: int) -> None:
        self.loop, self.threads = loop, threads
        self.facts = Facts()
        self.values = AffineValues(loop, self.facts)
        self.checks = _Checks()
        self.type = loop.lower.type
        self.before = Builder.before(loop)
        self.wraps = True
        """Whether the counter behind the last may not fit its type."""

    def count(self) -> str:
        """What is no longer checked, for a remark."""
        parts = [(len(self.checks.accesses), "bounds"), (len(self.checks.masks), "masks")]
        return " and ".join(what for number, what in parts if number) or "nothing"

    def is_possible(self, most: int) -> bool:
        """Whether two loops do what the one does, and are not too much code."""
        loop = self.loop
        if (
            self.type is not I32
            or loop.unsigned_cmp
            or loop.trip_count is not None
            or REMAINDER in loop.attributes
        ):
            return False
        self.wraps = may_wrap(loop.upper, loop.step, False, self.facts)
        if self.facts.fact(loop.step).lower < 1 or (self.wraps and self.facts.fact(loop.lower).lower < 0):
            return False
        elements = 0
        for inner in list(loop.walk()):
            if isinstance(inner, (LoopLike, *_WHOLE)) or inner.name.startswith("nv_tileas.async."):
                return False
            elements += sum(self.held(r.type) for r in inner.results)
        return 0 < elements <= most

    def held(self, type: Type) -> int:
        """Elements of a tile in each thread."""
        return -(-type.num_elements // self.threads) if isinstance(type, RankedTensorType) else 0

    def pays(self, target: Target) -> bool:
        """Whether the checks are a good part of the loop: one or two instructions for each element."""
        rate = LANES * throughput(target).issue
        total = sum(cost_of(op, target).cycles.get("issue", 0) for op in self.loop.body.entry) * rate
        return LEAST_SHARE * self.checks.instructions >= total

    # -- what is checked

    def find(self) -> bool:
        """Collects the checks; False if there is none that an iteration can decide."""
        for op in self.loop.body.entry:
            if isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore):
                self._access(op)
            elif isinstance(op, arith.Select) and isinstance(op.condition.type, RankedTensorType):
                self._mask(op.condition)
            elif isinstance(op, nv_tileaa.Load | nv_tileaa.Store) and op.mask is not None:
                self._mask(op.mask)
        return any(condition.coefficient < 0 for condition in self.checks.conditions)

    def _access(self, op: nv_tileas.TiledLoad | nv_tileas.TiledStore) -> None:
        view, tile = op.view.defining_op, op.moved.type
        if not isinstance(view, nv_tileaa.MakeMemRef) or self.held(tile) < LEAST_ELEMENTS:
            return
        if not self.values.is_outside(view.res):
            return
        found: list[_Condition] = []
        axes: list[int] = []
        inside = in_bounds(view, op.indices, tile.shape, self.facts)
        for axis, (index, extent, size) in enumerate(
            zip(op.indices, view.extents(), tile.shape, strict=True)
        ):
            if inside[axis]:
                continue
            place = self.values.affine_of(index)
            if place is None:
                continue
            end: tuple[tuple[int, Any], ...] = ((1, extent),) if isinstance(extent, Value) else ()
            most = 0 if isinstance(extent, Value) else min(extent, _FAR)
            conditions = [
                *self._within(place, I32, 0, 0, least=0),
                _Condition(-place.coefficient, (*end, (-1, place)), most - size),
            ]
            axes.append(axis)
            found += conditions
        if axes:
            self.checks.accesses[op] = tuple(axes)
            self.checks.instructions += tile.num_elements
            self.add(found)

    def _mask(self, mask: Value) -> None:
        if mask in self.checks.masks or self.held(mask.type) < LEAST_ELEMENTS:
            return
        found = self._conditions(mask)
        if found is not None:
            self.checks.masks.append(mask)
            self.checks.instructions += 2 * mask.type.num_elements  # type: ignore[attr-defined]
            self.add(found)

    def _conditions(self, mask: Value) -> list[_Condition] | None:
        """What makes all elements of a mask true; None if it is not known."""
        op = mask.defining_op
        if isinstance(op, RENAMES):
            return self._conditions(op.source)
        if isinstance(op, arith.AndI):
            left, right = self._conditions(op.lhs), self._conditions(op.rhs)
            return None if left is None or right is None else left + right
        if not isinstance(op, arith.CmpI):
            return None
        predicate, greater, less = op.predicate_name, op.lhs, op.rhs
        if predicate in _MIRRORED:
            predicate, greater, less = _MIRRORED[predicate], less, greater
        if predicate not in ("sge", "sgt") or element_type(greater.type) is not I32:
            return None
        above, below = self.values.tile_of(greater), self.values.tile_of(less)
        if above is None or below is None:
            return None
        more = above.low - below.high - (predicate == "sgt")
        compared = _Condition(
            above.base.coefficient - below.base.coefficient, ((1, above.base), (-1, below.base)), more
        )
        return [
            compared,
            *self._within(above.base, I32, above.low, above.high),
            *self._within(below.base, I32, below.low, below.high),
        ]

    def _within(
        self, base: Affine, type: IntegerType, low: int, high: int, least: int | None = None
    ) -> Iterable[_Condition]:
        """base + low and base + high do not wrap, and are at least `least`."""
        first, last = limits(type)
        yield _Condition(base.coefficient, ((1, base),), low - (first if least is None else least))
        yield _Condition(-base.coefficient, ((-1, base),), last - high)

    def add(self, conditions: Iterable[_Condition]) -> None:
        """Adds those that are not known to hold."""
        for condition in conditions:
            if self._least(condition) < 0 and condition not in self.checks.conditions:
                self.checks.conditions.append(condition)

    def _least(self, condition: _Condition) -> int:
        """The least value of a condition's left side."""
        counter = self.facts.fact(self.loop.induction[0])
        total = condition.constant
        total += min(condition.coefficient * counter.lower, condition.coefficient * counter.upper)
        for factor, term in condition.terms:
            if isinstance(term, Affine):
                low, high = self.values.range_of(term, self.type)
            else:
                fact = self.facts.fact(term)
                low, high = fact.lower, fact.upper
            total += min(factor * low, factor * high)
        return total

    # -- the two loops

    def perform(self) -> None:
        """The loop without checks before the loop."""
        loop = self.loop
        middle = self._middle(self._end())
        # The facts of the upper bound are those of the counter.
        made = self._unchecked(self.emit(arith.MinSI(middle, loop.upper)))
        loop.set_operands([middle, loop.upper, loop.step, *made.results])
        loop.attributes[REMAINDER] = UNIT

    def _end(self) -> Value:
        """Where checks may fail, at most the upper bound: the lower one if a condition fails there."""
        loop, zero = self.loop, self.wide(0)
        lower, end, holds = self.extended(loop.lower), self.extended(loop.upper), None
        for condition in self.checks.conditions:
            number = self.number(condition)
            if condition.coefficient > 0:
                first = self.emit(arith.MulI(lower, self.wide(condition.coefficient)))
                number = self.emit(arith.AddI(first, number))
            elif condition.coefficient < 0:
                # number / -coefficient is the last counter for which it holds.
                positive = self.emit(arith.MaxSI(number, zero))
                last = self.emit(arith.DivUI(positive, self.wide(-condition.coefficient)))
                end = self.emit(arith.MinSI(end, self.emit(arith.AddI(last, self.wide(1)))))
            true = self.compare("sge", number, zero)
            holds = true if holds is None else self.emit(arith.AndI(holds, true))
        assert holds is not None
        chosen = self.emit(arith.Select(holds, end, lower))
        return self.emit(arith.TruncI(chosen, out=I32))

    def _middle(self, end: Value) -> Value:
        """The first counter that the first loop does not have: lower + ceil((end - lower) / step) · step."""
        loop = self.loop
        some = self.emit(arith.SubI(self.emit(arith.MaxSI(end, loop.lower)), loop.lower))
        rounds = self.emit(arith.CeilDivUI(some, loop.step))
        if self.wraps:
            # One iteration earlier where that counter would not fit its type.
            room = self.emit(arith.SubI(self.narrow(limits(self.type)[1]), loop.lower))
            rounds = self.emit(arith.MinUI(rounds, self.emit(arith.DivUI(room, loop.step))))
        return self.emit(arith.AddI(loop.lower, self.emit(arith.MulI(rounds, loop.step))))

    def number(self, condition: _Condition) -> Value:
        """The invariant part of a condition, in 64 bits."""
        total = self.wide(condition.constant)
        for factor, term in condition.terms:
            value = self._invariant(term) if isinstance(term, Affine) else self._extent(term)
            if value is not None:
                total = self.emit((arith.AddI if factor > 0 else arith.SubI)(total, value))
        return total

    def _invariant(self, base: Affine) -> Value | None:
        """The invariant part of an affine function: computed as the counter is, and extended."""
        total: Value | None = None
        for value, factor in base.terms.items():
            scaled = value if factor == 1 else self.emit(arith.MulI(value, self.narrow(factor)))
            total = scaled if total is None else self.emit(arith.AddI(total, scaled))
        if base.constant:
            number = self.narrow(base.constant)
            total = number if total is None else self.emit(arith.AddI(total, number))
        return None if total is None else self.extended(total)

    def _extent(self, value: Value) -> Value:
        """An extent, at most as far as an index reaches."""
        if value.type is not I64:
            return self.extended(value)
        return self.emit(arith.MaxSI(self.emit(arith.MinSI(value, self.wide(_FAR))), self.wide(0)))

    def _unchecked(self, end: Value) -> scf.For:
        """A copy of the loop up to `end`, without the checks."""
        loop, checks = self.loop, self.checks
        mapping = IRMapping()
        made = self.before.insert(loop.clone(mapping))
        assert isinstance(made, scf.For)
        made.set_operands([loop.lower, end, loop.step, *loop.inits])
        copies = dict(zip(loop.body.entry, made.body.entry, strict=True))
        masks = {mapping.value(mask) for mask in checks.masks}
        for copy in copies.values():
            if isinstance(copy, arith.Select) and copy.condition in masks:
                copy.results[0].replace_all_uses_with(copy.true_value)
            elif isinstance(copy, nv_tileaa.Load | nv_tileaa.Store) and copy.mask in masks:
                _unmask(copy)
        for op, axes in checks.accesses.items():
            copy = copies[op]
            assert isinstance(copy, nv_tileas.TiledLoad | nv_tileas.TiledStore)
            self._unbounded(copy, axes)
        return made

    def _unbounded(self, op: nv_tileas.TiledLoad | nv_tileas.TiledStore, axes: tuple[int, ...]) -> None:
        """The access through a view in which it is in bounds along the axes, as wide as it then may be."""
        view = op.view.defining_op
        assert isinstance(view, nv_tileaa.MakeMemRef)
        made = Builder.after(view).insert(view.clone())
        assert isinstance(made, nv_tileaa.MakeMemRef)
        inside = [promised or axis in axes for axis, promised in enumerate(view.promised())]
        made.attributes["inbounds"] = DenseArrayAttr(I1, tuple(map(int, inside)))
        op.set_operand(0, made.res)
        tile = op.moved.type
        bits = storage_bits(tile.element)
        width = vector_elements(made, op.indices, tile, Facts()) * bits
        if width > op.atom.bits:
            op.attributes["atom"] = CopyAtomAttr.make(80, op.word, width, tile.element)

    # -- scalars before the loop

    def emit(self, op: Operation) -> Value:
        op.location = self.loop.location
        return self.before.insert(op).results[0]

    def wide(self, value: int) -> Value:
        """A number of 64 bits."""
        return self.emit(arith.Constant(IntegerAttr(value, I64)))

    def narrow(self, value: int) -> Value:
        """A number of the counter's type, as it wraps."""
        low, high = limits(self.type)
        return self.emit(arith.Constant(IntegerAttr((value - low) % (high - low + 1) + low, self.type)))

    def extended(self, value: Value) -> Value:
        return value if value.type is I64 else self.emit(arith.ExtSI(value, out=I64))

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        return self.emit(arith.CmpI(IntegerAttr(CMPI_PREDICATES.index(predicate), I64), left, right))


def _unmask(op: nv_tileaa.Load | nv_tileaa.Store) -> None:
    """A load or store without its mask."""
    attributes = {k: v for k, v in op.attributes.items() if k not in ("copy_atom", "operandSegmentSizes")}
    if isinstance(op, nv_tileaa.Load):
        made: nv_tileaa.Load | nv_tileaa.Store = nv_tileaa.Load(
            op.source, None, None, op.token, op.copy_atom, res=op.res.type, out_token=op.out_token.type,
            attributes=attributes,
        )  # fmt: skip
    else:
        made = nv_tileaa.Store(
            op.dest,
            op.value,
            None,
            op.token,
            op.copy_atom,
            out_token=op.out_token.type,
            attributes=attributes,
        )
    made.location = op.location
    Builder.before(op).insert(made)
    for old, new in zip(op.results, made.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.erase()
