"""tileas-join-loops: loops over consecutive ranges with the same products become one loop.

    %x = scf.for %k = %a to min(%b, %s) { dot … }               %y = scf.for %k = %a to %b {
    %y = scf.for %k = max(%a, %s) to %b   iter_args(%x)   ──▶     dot
         { dot; mask; … }                                         scf.if (%k < %s) { yield } else { mask; yield }; …
                                                                }

Causal attention is often written, or split by a compiler, into a loop without and a loop with masks.  Two loops would
have buffers, pipelines and columns of tensor memory of their own, and the second would wait until its pipelines are
full; one loop has a branch around its mask (tileas-guard-masks).

Products, loads and other ops with effects must be the same in both bodies, in the same order: each has a partner.  The
ops between them are aligned as sequences, by names, attributes, types and operands from outside; they need no partner.
Where the operands of partners differ, a branch computes one or the other.  Factors that one loop takes as they are
loaded, and sums to which its iterations only add, must not differ: the product would take them from registers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import product, zip_longest
from typing import ClassVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.tile_costs import RARELY_ELSE
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Block, BlockArgument, Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.op_keys import op_key
from tessera_tools.ir.traits import Commutative
from tessera_tools.ir.traversal import values_used
from tessera_tools.ir.types import FloatType, IndexType, IntegerType, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.fills import LOADS
from tessera_tools.passes.tileas.products import carried_sums
from tessera_tools.planning.kernel import kernels
from tessera_tools.records import dataclass

MOST_OPS = 2048
"""Ops of a body above which loops are left alone: the alignment is quadratic."""
_SHAPES = (nv_tileaa.Reshape, nv_tileaa.Permute, arith.NegF)
"""Ops between a load and a product that the product does itself."""
_NUMBERS = (IntegerType, IndexType, FloatType)
Pair = tuple[Value, Value]
"""A value of the first loop, and what stands in its place in the second."""


class JoinLoops(Pass):
    """Join loops over consecutive ranges that have the same products."""

    name: ClassVar = "tileas-join-loops"
    summary: ClassVar = "join loops over consecutive ranges that have the same products"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = (
        "no loop with products goes on where one with the same products and accesses, in the same order, ends"
    )
    statistics: ClassVar = {"joined": "loops joined with the one before"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            for loop in [inner for inner in function.walk() if isinstance(inner, scf.For)]:
                joins = (_Join(first, loop).joined() for first in _before(loop))
                made = next((made for made in joins if made is not None), None)
                if made is None:
                    continue
                changed = True
                context.count("joined")
                text = "one loop instead of two over consecutive ranges: their products share buffers and pipelines"
                context.passed(made, text, "joined", "schedule", function=function)
        return changed


def _before(loop: scf.For) -> Iterator[scf.For]:
    """The loops of the same block from which a loop takes what it carries, with nothing but pure ops between."""
    if not any(isinstance(op, nv_tileas.Dot) for op in loop.body.entry):
        return
    for first in dict.fromkeys(init.defining_op for init in loop.inits):
        if isinstance(first, scf.For) and first.parent is loop.parent:
            between = first.next_op
            while between is not None and between is not loop and is_pure(between):
                between = between.next_op
            if between is loop:
                yield first


@dataclass(frozen=True, slots=True)
class _Range:
    """Iterations of both loops: those from `point` on are the second one's."""

    lower: Value
    upper: Value
    point: Value


def _same(one: Value, other: Value) -> bool:
    number = constant_integer(one)
    equal = number is not None and number == constant_integer(other)
    return one is other or (equal and one.type is other.type)


def _other(value: Value, kind: type[arith.MinSI | arith.MaxSI], known: Value) -> Value | None:
    """The operand of a minimum or maximum beside a known one."""
    op = value.defining_op
    if isinstance(op, kind):
        for one, other in (op.operands, op.operands[::-1]):
            if _same(one, known):
                return other
    return None


class _Join:
    """Two loops, and what becomes of them."""

    def __init__(self, first: scf.For, second: scf.For) -> None:
        self.first, self.second, self.facts = first, second, Facts()
        self.carried: list[int] = []
        """Which of the first loop's values each one of the second goes on with."""
        self.same: dict[Value, Value] = {}
        """The counter, or a carried value, of the first loop → that of the second."""
        self.partner: dict[Value, Value] = {}
        """The same for all values of the first loop's body."""
        self.ready: dict[Value, int] = {}
        """A value of a body → the pair behind which it can be computed."""
        self.apart: set[Operation] = set()
        """Ops with regions whose partners would use other values."""
        self.bodies = {first.body.entry, second.body.entry}
        self.order = {op: number for block in self.bodies for number, op in enumerate(block)}

    def joined(self) -> scf.For | None:
        """The one loop; None if the loops stay."""
        first, second = self.first, self.second
        if first.unsigned_cmp or second.unsigned_cmp or first.attributes != second.attributes:
            return None
        sides = [list(loop.body.entry)[:-1] for loop in (first, second)]
        if max(map(len, sides)) > MOST_OPS or not self._carry():
            return None
        pairs = self._align(*sides)
        if pairs is None:
            return None
        needs = self._needs(pairs)
        if needs is None:
            return None
        found = self._range()
        return self._build(pairs, needs, found) if found is not None else None

    # -- what is the same

    def _carry(self) -> bool:
        """Whether the second loop goes on with what the first one carries.  A number may begin anew."""
        first, second = self.first, self.second
        numbers = {result: n for n, result in enumerate(first.results)}
        found = [numbers.get(init) for init in second.inits]
        left = [n for n in range(len(numbers)) if n not in found]
        if len(found) != len(numbers) or found.count(None) != len(left):
            return False
        for result in first.results:
            if any(use.owner is not second for use in result.uses):
                return False
        for place, number in enumerate(found):
            if number is None:
                number = left.pop(0)
                anew = second.results[place]
                if anew.has_uses or not isinstance(anew.type, _NUMBERS):
                    return False
            if first.results[number].type is not second.results[place].type:
                return False
            self.carried.append(number)
            self.same[first.iter_args[number]] = second.iter_args[place]
        self.same[first.induction[0]] = second.induction[0]
        return True

    def _identity(self, value: Value) -> int:
        """Values outside of the loops are told apart; those of the bodies are not."""
        return 0 if value.owner_block in self.bodies else id(value)

    def _key(self, op: Operation) -> Hashable:
        """What the partner of an op has."""
        key = None if op in self.apart else op_key(op, self._identity)
        return id(op) if key is None else (key, *(value.type for value in op.operands))

    def _align(
        self, one: list[Operation], other: list[Operation]
    ) -> list[tuple[Operation, Operation]] | None:
        """The ops of both bodies that are the same; None if one without partner must not be in a branch."""
        while True:
            self.partner, self.ready = dict(self.same), {}
            pairs = self._aligned(one, other)
            differ = next((pair for pair in pairs or () if not self._have_same_regions(*pair)), None)
            if differ is None:
                return pairs
            self.apart.update(differ)

    def _have_same_regions(self, a: Operation, b: Operation) -> bool:
        """Whether the regions of partners use the same values."""
        used = [
            [value for inner in op.walk() for value in inner.operands if value.owner_block in self.bodies]
            for op in (a, b)
        ]
        return all(self._agree(*pair) for pair in zip(*used, strict=True))

    def _aligned(
        self, one: list[Operation], other: list[Operation]
    ) -> list[tuple[Operation, Operation]] | None:
        parts, required = zip(*(_divided(side) for side in (one, other)), strict=True)
        wanted, found = ([self._key(op) for op in side] for side in required)
        if wanted != found or not any(isinstance(op, nv_tileas.Dot) for op in required[0]):
            return None
        pairs: list[tuple[Operation, Operation]] = []
        alone: list[Operation] = []
        for left, right, following in zip_longest(*parts, zip(*required, strict=True)):
            keys = [[self._key(op) for op in side] for side in (left, right)]
            for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
                if tag == "equal":
                    pairs += zip(left[a:b], right[c:d], strict=True)
                else:
                    alone += [*left[a:b], *right[c:d]]
            pairs += [following] if following is not None else []
        for a, b in pairs:
            self.partner.update(zip(a.results, b.results, strict=True))
        for number, pair in enumerate(pairs):
            for op in pair:
                self.ready.update((result, number) for result in op.results)
        for op in sorted(alone, key=self.order.__getitem__):
            after = max((self._ready(value) for value in values_used(op)), default=-1)
            self.ready.update((result, after) for result in op.results)
        return pairs

    def _ready(self, value: Value) -> int:
        return self.ready.get(value, -1)

    def _agree(self, one: Value, other: Value) -> bool:
        if one.owner_block in self.bodies:
            return self.partner.get(one) is other
        return _same(one, other)

    def _needs(self, pairs: list[tuple[Operation, Operation]]) -> dict[int, list[Pair]] | None:
        """The pairs of values between which branches choose, by the pair of ops before which they do.  None if one
        cannot be chosen."""
        wanted: dict[Pair, int] = {}
        ends = [loop.body.entry.last_op for loop in (self.first, self.second)]
        for number, (a, b) in enumerate((*pairs, ends)):
            assert a is not None
            assert b is not None
            one, other = list(a.operands), list(b.operands)
            if number == len(pairs):
                one = [one[n] for n in self.carried]
            if isinstance(a, nv_tileas.Dot) and isinstance(b, nv_tileas.Dot) and not self._stays_fast(a, b):
                return None
            for left, right in self._differing(a, one, other).values():
                if left.type is not right.type or not isinstance(left.type, (*_NUMBERS, RankedTensorType)):
                    return None
                wanted.setdefault((left, right), number)
        found: dict[int, list[Pair]] = {}
        for pair, number in wanted.items():
            after = max(map(self._ready, pair))
            place = next((n for n in found if after < n <= number), number)
            found.setdefault(place, []).append(pair)
        return found

    def _differing(self, op: Operation, one: Sequence[Value], other: Sequence[Value]) -> dict[int, Pair]:
        """The operands of an op and of its partner that are not the same, by position in the op."""
        orders = [other, other[::-1]] if op.has_trait(Commutative) else [other]
        found = [
            {n: pair for n, pair in enumerate(zip(one, order, strict=True)) if not self._agree(*pair)}
            for order in orders
        ]
        return min(found, key=len)

    def _stays_fast(self, a: nv_tileas.Dot, b: nv_tileas.Dot) -> bool:
        """Whether factors that are loaded stay so, and sums to which iterations only add."""
        if (carried_sums(a, a) is None) != (carried_sums(b, b) is None):
            return False
        for one, other in ((a.a, b.a), (a.b, b.b)):
            if not (_is_loaded(one) or _is_loaded(other)):
                continue
            while isinstance(one.defining_op, _SHAPES) and self._agree(one, other):
                assert other.defining_op is not None
                one, other = one.defining_op.operands[0], other.defining_op.operands[0]
            if not self._agree(one, other):
                return False
        return True

    def _range(self) -> _Range | None:
        """The iterations of both loops, if the counter goes from the first one's to the second one's."""
        first, second, facts = self.first, self.second, self.facts
        step = constant_integer(first.step)
        if step is None or step < 1 or not _same(first.step, second.step):
            return None
        limited, begun = (
            _other(first.upper, arith.MinSI, second.upper),
            _other(second.lower, arith.MaxSI, first.lower),
        )
        for end, start in product((limited, first.upper), (begun, second.lower)):
            if end is not None and start is not None and _same(end, start):
                break
        else:
            return None
        if step > 1 and not all(self._divides(step, value) for value in (first.lower, end)):
            return None
        builder = Builder.before(second)
        lower, upper = first.lower, second.upper
        if start is not begun and facts.fact(lower).upper > facts.fact(end).lower:
            lower = builder.insert(arith.MinSI(lower, end, location=first.location)).results[0]
        if end is not limited and facts.fact(end).upper > facts.fact(upper).lower:
            upper = builder.insert(arith.MaxSI(end, upper, location=first.location)).results[0]
        return _Range(lower, upper, end)

    def _divides(self, step: int, value: Value) -> bool:
        return constant_integer(value) == 0 or self.facts.fact(value).divisor % step == 0

    # -- the loop

    def _build(
        self, pairs: list[tuple[Operation, Operation]], needs: Mapping[int, list[Pair]], found: _Range
    ) -> scf.For:
        first, second = self.first, self.second
        location = first.location
        made = scf.For(
            found.lower,
            found.upper,
            first.step,
            first.inits,
            results=list(first.result_types),
            location=location,
        )
        made.attributes.update({k: v for k, v in first.attributes.items() if k not in made.attributes})
        arguments = first.body.entry.arguments
        block = Block([v.type for v in arguments], [location] * len(arguments))
        for old, new in zip(arguments, block.arguments, strict=True):
            new.name_hint = old.name_hint
        made.body.append(block)
        Builder.before(second).insert(made)
        inside = Builder.at_end(block, location)
        maps = IRMapping(), IRMapping()
        for mapping, loop in zip(maps, (first, second), strict=True):
            mapping.values[loop.induction[0]] = made.induction[0]
        for place, number in enumerate(self.carried):
            value: Value = made.iter_args[number]
            if second.inits[place].defining_op is not first:
                begins = arith.CmpI.of("eq", made.induction[0], second.lower, location)
                anew = arith.Select(
                    inside.insert(begins).results[0], second.inits[place], value, location=location
                )
                value = inside.insert(anew).result
            maps[0].values[first.iter_args[number]] = value
            maps[1].values[second.iter_args[place]] = value
        goes_on = None
        chosen: dict[Pair, Value] = {}
        for number, (a, b) in enumerate(pairs):
            if number in needs:
                goes_on = goes_on or self._goes_on(found, made, inside)
                self._choose(goes_on, needs[number], maps, chosen, inside)
            copy = inside.insert(self._copy(a, b, maps, chosen))
            for mapping, op in zip(maps, (a, b), strict=True):
                mapping.values.update(zip(op.results, copy.results, strict=True))
        if len(pairs) in needs:
            goes_on = goes_on or self._goes_on(found, made, inside)
            self._choose(goes_on, needs[len(pairs)], maps, chosen, inside)
        ends: dict[int, Value] = {}
        for place, number in enumerate(self.carried):
            pair = first.yielded[number], second.yielded[place]
            ends[number] = chosen.get(pair) or maps[0].value(pair[0])
        inside.insert(scf.Yield([ends[number] for number in range(len(ends))], location=location))
        for place, number in enumerate(self.carried):
            made.results[number].name_hint = second.results[place].name_hint
            second.results[place].replace_all_uses_with(made.results[number])
        second.erase()
        first.erase()
        return made

    def _goes_on(self, found: _Range, made: scf.For, builder: Builder) -> Value:
        """Whether an iteration is one of the first loop."""
        return builder.insert(arith.CmpI.of("slt", made.induction[0], found.point, made.location)).results[0]

    def _copy(
        self, a: Operation, b: Operation, maps: tuple[IRMapping, IRMapping], chosen: Mapping[Pair, Value]
    ) -> Operation:
        """A pair of ops as one."""
        copy = a.clone(maps[0])
        for number, pair in self._differing(a, list(a.operands), list(b.operands)).items():
            copy.set_operand(number, chosen[pair])
        return copy

    def _choose(
        self,
        goes_on: Value,
        pairs: list[Pair],
        maps: tuple[IRMapping, IRMapping],
        chosen: dict[Pair, Value],
        builder: Builder,
    ) -> None:
        """A branch that computes one value or the other of each pair."""
        location = self.first.location
        blocks = Block(), Block()
        counts: list[int] = []
        for side, (block, mapping) in enumerate(zip(blocks, maps, strict=True)):
            inside, own = Builder.at_end(block, location), IRMapping(dict(mapping.values))
            needed = self._slice([pair[side] for pair in pairs], mapping)
            for op in needed:
                inside.insert(op.clone(own))
            counts.append(len(needed))
            inside.insert(scf.Yield([own.value(pair[side]) for pair in pairs], location=location))
        if not any(counts) and not any(isinstance(one.type, RankedTensorType) for one, _ in pairs):
            for one, other in pairs:
                select = arith.Select(goes_on, maps[0].value(one), maps[1].value(other), location=location)
                chosen[one, other] = builder.insert(select).result
            return
        branch = scf.If(
            goes_on,
            results=[one.type for one, _ in pairs],
            then=Region([blocks[0]]),
            otherwise=Region([blocks[1]]),
            location=location,
        )
        if counts[1] and not counts[0]:
            # A loop is split so that most iterations do less.
            branch.attributes[RARELY_ELSE] = UNIT
        builder.insert(branch)
        chosen.update(zip(pairs, branch.results, strict=True))

    def _slice(self, values: list[Value], mapping: IRMapping) -> list[Operation]:
        """The ops of a body that compute values and have no copy yet, in order."""
        found: set[Operation] = set()
        work = list(values)
        while work:
            value = work.pop()
            op = value.defining_op
            if isinstance(value, BlockArgument) or op is None or op in found:
                continue
            if op.parent in self.bodies and value not in mapping.values:
                found.add(op)
                work += values_used(op)
        return sorted(found, key=self.order.__getitem__)


def _divided(ops: list[Operation]) -> tuple[list[list[Operation]], list[Operation]]:
    """The ops of a body that need a partner, and the others before, between and behind them."""
    parts: list[list[Operation]] = [[]]
    required: list[Operation] = []
    for op in ops:
        inside = (op, *op.walk()) if op.regions else (op,)
        if is_pure(op) and not any(isinstance(inner, nv_tileas.Dot | LoopLike) for inner in inside):
            parts[-1].append(op)
        else:
            required.append(op)
            parts.append([])
    return parts, required


def _is_loaded(value: Value) -> bool:
    """Whether a factor is a tile of memory, in another shape at most: TMA may bring it."""
    while isinstance(op := value.defining_op, _SHAPES):
        value = op.operands[0]
    return isinstance(op, LOADS)
