"""tileas-slicing: an iteration of a loop has several slices, each of which was an iteration.

    for %i = %a to %b step %s {sliceCount = 2}      for %i = %a to %m step 2 · %s { slice at %i; slice at %i + %s }
                                               ──▶  for %i = %m to %b step %s { slice at %i }

The second loop has what is left of the iterations: fewer than a slice count.  It is not there if their number is known
to be a multiple.  Slices are made before the loop is scheduled and pipelined, so that the products of one slice run
while the threads work on another.  (A loop's `tessera.unroll_hint` repeats finished code, see planning/unrolling.py.)
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.counting import may_wrap
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileas, scf
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import I64, bit_width
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.planning.kernel import kernels
from tessera_tools.planning.unrolling import MOST_COPIES
from tessera_tools.records import dataclass

SLICE_COUNT = "sliceCount"
"""Attribute of a loop: how many of its iterations are the slices of one."""
_ONCE = (nv_tileas.AllocTensor, nv_tileas.AgentSwitch, nv_tileas.CreatePipeline)
"""Ops that stand for one thing of a kernel."""


@dataclass(frozen=True)
class Slicing(Pass):
    """Put several iterations of a loop into one."""

    name: ClassVar = "tileas-slicing"
    summary: ClassVar = "make the iterations of loops with a sliceCount the slices of one iteration"
    anchor: ClassVar = "builtin.module"
    ensures: ClassVar = "no loop has a sliceCount"
    statistics: ClassVar = {"sliced": "loops sliced", "residual": "loops for the iterations that are left"}

    slice_count: int = option(0, "slices of each innermost loop without a sliceCount; 0 for none")

    def run(self, op: Operation, context: PassContext) -> bool:
        if not 0 <= self.slice_count <= MOST_COPIES:
            raise op.error(
                f"option slice-count={self.slice_count} is invalid; expected a number from 0 to {MOST_COPIES}"
            )
        changed = False
        for function in kernels(op):
            # Inner loops first: a slice of the outer loop then has them as they are.
            for loop in [o for o in function.walk() if isinstance(o, LoopLike)][::-1]:
                count = self._count(loop)
                if count is None:
                    continue
                loop.attributes.pop(SLICE_COUNT, None)
                changed = True
                if count > 1 and isinstance(loop, scf.For):
                    _Sliced(loop, count, context).run()
        return changed

    def _count(self, loop: Operation) -> int | None:
        """How many slices a loop is to have; None if nothing says so.  DiagnosticError for an invalid number."""
        given = loop.attributes.get(SLICE_COUNT)
        if given is None:
            innermost = isinstance(loop, scf.For) and not any(
                isinstance(inner, LoopLike) for inner in loop.walk()
            )
            return self.slice_count if self.slice_count and innermost else None
        if not isinstance(given, IntegerAttr):
            raise loop.error(f"The {SLICE_COUNT} need to be a IntegerAttr, found {given}")
        if not 1 <= given.value <= MOST_COPIES:
            raise loop.error(f"has {SLICE_COUNT} = {given.value}; expected a number from 1 to {MOST_COPIES}")
        if not isinstance(loop, scf.For):
            raise loop.error(
                f"unsupported op in Slicing pass: '{loop.name}' has no number of iterations; use scf.for"
            )
        return given.value


class _Sliced:
    """One loop."""

    def __init__(self, loop: scf.For, count: int, context: PassContext) -> None:
        self.loop, self.count, self.context = loop, count, context
        self.before = Builder.before(loop)
        self.type = loop.lower.type
        self.step: Value | None = None

    def run(self) -> None:
        loop = self.loop
        for inner in loop.walk():
            if isinstance(inner, _ONCE):
                raise inner.error(
                    "is not expected inside sliced part in SlicingPass: it would be there twice"
                )
        trips = loop.trip_count
        if trips is not None and trips < self.count:
            return
        if not self.fits(trips):
            raise loop.error(
                "unsupported op to be a lower bound in slicing pass: the bound of the iterations that are left may not "
                f"fit {self.type}; add an assume of the upper bound and the step"
            )
        self.step = self.add(arith.MulI(loop.step, self.number(self.count)))
        middle = self.middle()
        made = self.sliced(middle)
        self.context.count("sliced")
        if trips is not None and trips % self.count == 0:
            for old, new in zip(loop.results, made.results, strict=True):
                old.replace_all_uses_with(new)
            loop.erase()
            return
        self.context.count("residual")
        loop.set_operands([middle, loop.upper, loop.step, *made.results])

    def fits(self, trips: int | None) -> bool:
        """Whether the step of the sliced loop, and where the iterations that are left begin, fit the type."""
        loop, facts, unsigned = self.loop, Facts(), self.loop.unsigned_cmp is not None
        most = (1 << bit_width(self.type) - (not unsigned)) - 1
        counters = loop.counters
        if trips is None or counters is None:
            return facts.fact(loop.step).upper * self.count <= most and not may_wrap(
                loop.upper, loop.step, unsigned, facts
            )
        whole = trips // self.count * self.count
        return counters.step * self.count <= most and counters.start + whole * counters.step <= most

    def middle(self) -> Value:
        """Where the iterations that are left begin: lower + (trips / count) · count · step."""
        loop = self.loop
        compare = self.add(
            arith.CmpI(
                IntegerAttr(CMPI_PREDICATES.index("ult" if loop.unsigned_cmp else "slt"), I64),
                loop.lower,
                loop.upper,
            )
        )
        # Below 2^n even where the bounds are of different signs; unsigned from here on.
        span = self.add(arith.SubI(loop.upper, loop.lower))
        last = self.add(arith.DivUI(self.add(arith.SubI(span, self.number(1))), loop.step))
        trips = self.add(arith.AddI(last, self.number(1)))
        some = self.add(arith.Select(compare, trips, self.number(0)))
        rounds = self.add(arith.DivUI(some, self.number(self.count)))
        whole = self.add(arith.MulI(rounds, self.step))
        return self.add(arith.AddI(loop.lower, whole))

    def sliced(self, middle: Value) -> scf.For:
        """The loop whose iterations have all slices."""
        loop = self.loop
        made = scf.For(
            loop.lower, middle, self.step, loop.inits, loop.unsigned_cmp,
            results=loop.result_types, location=loop.location,
        )  # fmt: skip
        made.attributes.update({k: v for k, v in loop.attributes.items() if k not in made.attributes})
        block = Block([self.type, *loop.result_types], [loop.location] * (1 + len(loop.results)))
        made.body.append(block)
        self.before.insert(made)
        inside = Builder.at_end(block, loop.location)
        counter: Value = block.arguments[0]
        carried: list[Value] = list(block.arguments[1:])
        for number in range(self.count):
            if number:
                counter = inside.insert(arith.AddI(counter, loop.step, location=loop.location)).result
            mapping = IRMapping()
            mapping.values[loop.induction[0]] = counter
            mapping.values.update(zip(loop.iter_args, carried, strict=True))
            for op in loop.body.entry:
                if not isinstance(op, scf.Yield):
                    inside.insert(op.clone(mapping))
            carried = [mapping.value(v) for v in loop.yielded]
        inside.insert(scf.Yield(carried))
        return made

    def number(self, value: int) -> Value:
        return self.add(arith.Constant(IntegerAttr(value, self.type)))

    def add(self, op: Operation) -> Value:
        op.location = self.loop.location
        return self.before.insert(op).results[0]
