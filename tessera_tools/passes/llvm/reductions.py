"""nv_tileaa.reduce and nv_tileaa.scan: registers of a thread first, then shuffles between lanes, then shared memory.

reduce   each thread combines its registers, pair by pair; lanes combine by butterflies; every warp stores its result,
         and every thread loads the results of all warps, and combines them
scan     from the lowest bits of the coordinate to the highest, and back:

    totals of blocks    a b c d  ──▶  ab cd  ──▶  abcd          (a run of bits of one kind at a time)
    prefixes            - a - c  ◀──  -  ab  ◀──  -

The region is lowered again for each combination, with the earlier and the later value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nvvm.attributes import ReduxKindAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.traits import Commutative
from tessera_tools.ir.types import I1, I32, IntegerType, RankedTensorType
from tessera_tools.layout.reduction import Exchange, Gather, LaneStep, Reduction, Run, span
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import (
    Trip,
    through_memory,
)
from tessera_tools.passes.llvm.shuffles import BY_INDEX, BY_XOR, exchange
from tessera_tools.passes.llvm.tiles import Tile, converted
from tessera_tools.planning.reductions import part_bytes, reduction_plan, round_trips, scan_plan
from tessera_tools.target import Feature

Parts = tuple[Value, ...]
"""One scalar for each operand of the op."""


ItemT = TypeVar("ItemT")


class Combiner:
    """The region of one op, and its scratch."""

    def __init__(self, low: Lowering, op: nv_tileaa.Reduce | nv_tileaa.Scan) -> None:
        self.low = low
        self.op = op
        self.e = low.e
        self.scratch = low.allocation.offsets.get(op, 0)
        """The offset of the scratch for the next round trip."""

    def sources(self) -> list[Parts]:
        """The operands, by register."""
        columns = [self.low.tile(source).elements(self.e) for source in self.op.sources]
        return list(zip(*columns, strict=True))

    def combine(self, earlier: Parts, later: Parts) -> Parts:
        """Apply the region to the prefix of an element, and the element."""
        low, block = self.low, self.op.body.entry
        for i, pair in enumerate(zip(earlier, later, strict=True)):
            for argument, value in zip(block.arguments[2 * i : 2 * i + 2], pair, strict=True):
                low.define(argument, value)
        low.block(block)
        self.e.location = self.op.location
        return tuple(low.scalar(value) for value in self.op.yielded)

    def tree(self, values: Sequence[Parts]) -> Parts:
        """Values in their order, combined pair by pair."""
        while len(values) > 1:
            pairs = [self.combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
            values = pairs + list(values[len(pairs) * 2 :])
        return values[0]

    def choose(self, condition: Value, then: Parts, otherwise: Parts) -> Parts:
        """Select `then` if the condition is true."""
        return tuple(self.e.either(condition, a, b) for a, b in zip(then, otherwise, strict=True))

    def exchange(self, values: Sequence[Parts], kind: str, lane: Any) -> list[Parts]:
        """Each of the values from another lane of the warp."""
        flat = exchange(self.e, [part for parts in values for part in parts], kind, lane)
        count = len(self.op.sources)
        return [tuple(flat[i : i + count]) for i in range(0, len(flat), count)]

    def gather(self, gather: Gather, values: Sequence[Parts]) -> list[list[Parts]]:
        """Values by register → [warp of the group][register]."""
        found = self.through_memory(gather, values)
        return [found[warp :: gather.count] for warp in range(gather.count)]

    def through_memory(self, exchange: Exchange, values: Sequence[Parts]) -> list[Parts]:
        """Values by register → values by register: store, barrier, load."""
        plans = round_trips(self.op, exchange)
        trips: list[Trip] = []
        for i, (source, plan) in enumerate(zip(self.op.sources, plans, strict=True)):
            shape = tuple(size for _, size in exchange.before.outs)
            plain = RankedTensorType(shape, source.type.element)
            before = nv_tileas.with_layout(plain, exchange.before)
            after = nv_tileas.with_layout(plain, exchange.after)
            tile = Tile(before, [parts[i] for parts in values])
            trips.append(Trip(plan.store, plan.load, self.scratch, tile, before, after))
            self.scratch += part_bytes(plan)
        # All operands have the same layout, so the same threads store.
        tiles = through_memory(self.e, dict(plans[0].store_masks), trips)
        return list(zip(*(tile.elements(self.e) for tile in tiles), strict=True))


def is_commutative(op: nv_tileaa.Reduce | nv_tileaa.Scan) -> bool:
    """True if the region is known to be commutative: every result is a commutative op on its two arguments."""
    arguments = op.body.entry.arguments
    for i, value in enumerate(op.yielded):
        inner = value.defining_op
        pair = arguments[2 * i : 2 * i + 2]
        if inner is None or not inner.has_trait(Commutative) or set(inner.operands) != set(pair):
            return False
    return True


_WHOLE_WARP = {
    "arith.addi": "add", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
    "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "umax", "arith.minui": "umin",
}  # fmt: skip
"""The operations of redux.sync on one 32-bit integer per lane (PTX ISA, "redux.sync"): the op → nvvm's keyword."""


def warp_reduction(low: Lowering, op: nv_tileaa.Reduce, steps: Sequence[LaneStep]) -> str | None:
    """The keyword of the redux.sync that performs all lane steps at once; None if there is none."""
    if not low.target.has(Feature.REDUX_SYNC) or len(op.sources) != 1 or not is_commutative(op):
        return None
    whole = len(steps) == 5 and all(step.partners == tuple(range(len(step.partners))) for step in steps)
    (value,) = op.yielded
    inner: Any = value.defining_op
    type = value.type
    if not whole or not isinstance(type, IntegerType) or type.width > 32 or converted(type) is not type:
        return None
    return _WHOLE_WARP.get(inner.name)


def _redux(low: Lowering, value: Value, word: str) -> Value:
    """An integer of up to 32 bits reduced over the warp; sign extension also preserves the order of unsigned
    numbers."""
    e, type = low.e, value.type
    assert isinstance(type, IntegerType)
    wide = e.resized(value, I32, signed=True)
    found = e.nvvm("redux.sync", [wide, e.constant(-1)], [I32], kind=ReduxKindAttr(word)).results[0]
    return e.resized(found, type)


@lowers("nv_tileaa.reduce")
def reduce(low: Lowering, op: nv_tileaa.Reduce) -> None:
    """Registers, lanes, warps."""
    body = Combiner(low, op)
    plan = reduction_plan(op)
    sources = body.sources()
    values = [body.tree([sources[r] for r in group]) for group in plan.groups]
    word = warp_reduction(low, op, plan.steps)
    values = _lanes(body, plan, values) if word is None else [(_redux(low, v, word),) for (v,) in values]
    made = [values[i] for i in plan.values]
    if plan.gather is not None:
        warps = body.gather(plan.gather, made)
        made = [body.tree(parts) for parts in zip(*warps, strict=True)]
    if plan.spread is not None:
        made = body.through_memory(plan.spread, made)
    _define(low, op, made)


def _lanes(body: Combiner, plan: Reduction, values: list[Parts]) -> list[Parts]:
    """Butterflies: pairs of lanes combine, and both have the result.

    If the order of operands matters, both lanes must use the same one.  If the result passes through shared memory,
    only the lanes that are the earlier one in every step are used.
    """
    e = body.e
    as_received = is_commutative(body.op) or plan.gather is not None
    for step in plan.steps:
        received = body.exchange([values[i] for i in step.partners], BY_XOR, step.lanes)
        pairs = list(zip(received, values, strict=True))
        if not as_received:
            is_later = e.icmp("ne", e.and_(e.lane, step.upper), 0)
            pairs = [
                (body.choose(is_later, own, other), body.choose(is_later, other, own)) for other, own in pairs
            ]
        values = [body.combine(earlier, later) for later, earlier in pairs]
    return values


def _define(low: Lowering, op: Operation, values: Sequence[Parts]) -> None:
    """Define the results from their registers; a scalar is in every thread."""
    for i, result in enumerate(op.results):
        low.define_flat(result, [parts[i] for parts in values])


@lowers("nv_tileaa.scan")
def scan(low: Lowering, op: nv_tileaa.Scan) -> None:
    """See `_Scanner`."""
    plan = scan_plan(op)
    body = Combiner(low, op)
    sources = body.sources()
    values = {register: sources[register] for register in dict.fromkeys(plan.originals)}
    done = _Scanner(body, op.reverse is not None, plan.runs).scan(values, list(plan.registers))
    _define(low, op, [done[register] for register in plan.originals])


Registers = dict[int, Parts]
"""By register index; for totals, the bits of the run are 0."""


class _Scanned:
    """One run of bits: each block combined with those before it (`inclusive`), only those before it (`exclusive`,
    undefined for the first one: by register, or if `is_first` is true), and all of them (`totals`)."""

    def __init__(self) -> None:
        self.inclusive: Registers = {}
        self.exclusive: Registers = {}
        self.totals: Registers = {}
        self.is_first: Value | None = None


class _Before(NamedTuple):
    """The prefix of a block; absent if `is_absent` is true."""

    value: Parts
    is_absent: Value | None


class _Scanner:
    """A scan, run by run."""

    def __init__(self, body: Combiner, reverse: bool, runs: Sequence[Run]) -> None:
        self.body = body
        self.e = body.e
        self.reverse = reverse
        self.runs = runs

    def scan(self, values: Registers, bits: list[int]) -> Registers:
        """The scan of registers whose index has these bits.

        It starts with the first element, as in the reference compiler; an identity would not change the result.
        """
        if not self.runs:
            return values
        first, *_ = self.runs
        run = self._run(first, values, bits)
        if len(self.runs) == 1:
            return run.inclusive
        before = self._before(1, run.totals, self._left(first, bits))
        mask = first.mask if first.kind == "register" else 0
        return {r: self._after(before.get(r & ~mask), value) for r, value in run.inclusive.items()}

    def _after(self, before: _Before | None, value: Parts) -> Parts:
        """A value combined with its prefix, if there is one."""
        if before is None:
            return value
        made = self.body.combine(before.value, value)
        return made if before.is_absent is None else self.body.choose(before.is_absent, value, made)

    def _before(self, level: int, totals: Registers, bits: list[int]) -> dict[int, _Before]:
        """The prefix of each block, by register, for those that have one; `totals` are the blocks at this
        level."""
        here = self.runs[level]
        run = self._run(here, totals, bits)
        above: dict[int, _Before] = {}
        if level + 1 < len(self.runs):
            above = self._before(level + 1, run.totals, self._left(here, bits))
        found: dict[int, _Before] = {}
        for register in totals:
            outer = above.get(register & ~here.mask if here.kind == "register" else register)
            inner = run.exclusive.get(register)
            if inner is not None and outer is not None:
                found[register] = self._joined(outer, inner, run.is_first)
            elif inner is not None:
                found[register] = _Before(inner, run.is_first)
            elif outer is not None:
                found[register] = outer
        return found

    def _joined(self, outer: _Before, inner: Parts, is_first: Value | None) -> _Before:
        """The prefix of an outer block combined with the prefix inside it; without the latter if the block `is_first`
        there."""
        value = self._after(outer, inner)
        if is_first is None:
            return _Before(value, None)
        absent = (
            None if outer.is_absent is None else self.e.constant(self.e.and_(outer.is_absent, is_first), I1)
        )
        return _Before(self.body.choose(is_first, outer.value, value), absent)

    @staticmethod
    def _left(run: Run, bits: list[int]) -> list[int]:
        return [bit for bit in bits if run.kind != "register" or bit not in run.bits]

    def _run(self, run: Run, values: Registers, bits: list[int]) -> _Scanned:
        """One run."""
        if run.kind == "register":
            return self._registers(run, values, self._left(run, bits))
        return self._lanes(run, values) if run.kind == "lane" else self._warps(run, values, bits)

    def _registers(self, run: Run, values: Registers, left: list[int]) -> _Scanned:
        """One after the other."""
        scanned = _Scanned()
        for block in span([1 << bit for bit in left]):
            before: Parts | None = None
            for place in self._in_order(span([1 << bit for bit in run.bits])):
                register = block | place
                value = values[register]
                if before is not None:
                    scanned.exclusive[register] = before
                    value = self.body.combine(before, value)
                before = scanned.inclusive[register] = value
            assert before is not None
            scanned.totals[block] = before
        return scanned

    def _in_order(self, items: list[ItemT]) -> list[ItemT]:
        return items[::-1] if self.reverse else items

    def _lanes(self, run: Run, values: Registers) -> _Scanned:
        """Blocks of 1, 2, 4, … lanes: the later half of each pair is combined with the last lane of the earlier
        half."""
        e, body, lane = self.e, self.body, self.e.lane
        names, current = list(values), list(values.values())
        inside = 0
        for bit in (1 << b for b in run.bits):
            # The lane whose bit is that of the earlier half, and whose bits below are those of the last one.
            others = e.and_(lane, ~(inside | bit))
            source = e.xor(others, bit if self.reverse else inside)
            is_later = e.icmp("eq" if self.reverse else "ne", e.and_(lane, bit), 0)
            received = body.exchange(current, BY_INDEX, source)
            current = [
                body.choose(is_later, body.combine(other, own), own)
                for own, other in zip(current, received, strict=True)
            ]
            inside |= bit
        others = e.and_(lane, ~inside)
        place = e.and_(lane, inside)
        step = 1 if self.reverse else -1
        neighbor = e.xor(e.and_(e.add(e.xor(place, ~inside if self.reverse else 0), step), inside), others)
        scanned = _Scanned()
        scanned.inclusive = dict(zip(names, current, strict=True))
        scanned.is_first = e.icmp("eq", place, inside if self.reverse else 0)
        if run is not self.runs[0]:
            scanned.exclusive = dict(zip(names, body.exchange(current, BY_INDEX, neighbor), strict=True))
        if run is not self.runs[-1]:
            last = e.xor(others, 0 if self.reverse else inside)
            scanned.totals = dict(zip(names, body.exchange(current, BY_INDEX, last), strict=True))
        else:
            scanned.totals = scanned.inclusive
        return scanned

    def _warps(self, run: Run, values: Registers, bits: list[int]) -> _Scanned:
        """Every thread loads the totals of all warps, and combines those before its own."""
        e, body = self.e, self.body
        assert run.gather is not None
        order = span([1 << bit for bit in bits])
        totals = body.gather(run.gather, [values[r] for r in order])
        places = span([1 << bit for bit in run.bits])
        own = e.and_(e.warp, run.mask)
        scanned = _Scanned()
        (_, first), *rest = self._in_order(list(zip(places, totals, strict=True)))
        scanned.is_first = e.icmp("eq", own, run.mask if self.reverse else 0)
        before, found = first, first
        for place, total in rest:
            if before is not first:
                is_here = e.icmp("eq", own, place)
                found = [body.choose(is_here, b, f) for b, f in zip(before, found, strict=True)]
            before = [body.combine(b, t) for t, b in zip(total, before, strict=True)]
        scanned.exclusive = dict(zip(order, found, strict=True))
        scanned.totals = dict(zip(order, before, strict=True))
        if run is self.runs[0]:
            scanned.inclusive = {
                r: body.choose(scanned.is_first, values[r], body.combine(scanned.exclusive[r], values[r]))
                for r in order
            }
        return scanned
