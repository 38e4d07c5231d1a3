"""Contiguity of the elements of a tile along each axis, which decides how accesses through pointers are vectorized.

    iota                                   0 1 2 3 4 5 6 7     length 8, step 1, divisor huge (of 0)
    16 · %i + iota                         …                   length 8, step 1, divisor 16
    offset(splat %p, 16 · %i + iota), f32  …                   length 8, step 4, divisor 16 if %p has it
    … < splat %n, 8 dividing %n            t t t t t t t t     length 8, step 0

A `Run` describes one axis: in every aligned block of `length` elements, consecutive values differ by `step` (modulo 2
to the type's width), and the first value of the block is a multiple of `divisor`.  Lengths and divisors are powers of
two. If the first value of an aligned block is a multiple of the block's span, the block does not wrap around, signed or
unsigned, because the span divides the modulus and half of it.  Such a run is preserved by extensions and comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from tessera_tools.analysis.access import WIDEST_ACCESS
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.forward import Forward
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.transfer import ZERO_DIVISOR, Fact, power_of_two
from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.traits import SameOperandsAndResultShape
from tessera_tools.ir.types import IntegerType, RankedTensorType, element_type, width_of


class Run(NamedTuple):
    """The run along one axis; see the module."""

    length: int
    step: int
    divisor: int

    def cut(self, length: int) -> Run:
        """The run for shorter blocks."""
        if length >= self.length:
            return self
        between = power_of_two(length * abs(self.step)) if self.step else ZERO_DIVISOR
        return Run(length, self.step, min(self.divisor, between))

    @property
    def of_all(self) -> int:
        """A divisor of all elements."""
        return self.cut(1).divisor

    def exact(self, half: int, spread: int) -> Run:
        """The run for blocks in which the values do not wrap. `half`: half the modulus; `spread`: a bound on their
        differences."""
        if self.step == 0 or self.length == 1 or spread + abs(self.step) < 2 * half:
            return self
        found = self
        while found.length > 1 and not found.is_aligned(half):
            found = found.cut(found.length // 2)
        return found

    def is_aligned(self, half: int) -> bool:
        """True if the first value of each block is a multiple of the block's whole span."""
        span = self.length * self.step
        return 0 < span <= half and self.divisor % power_of_two(span) == 0 and span == power_of_two(span)


Runs = tuple[Run, ...]
"""A run for each axis of a tile; none for a scalar."""

Rule = Callable[[Any, "Axes", Sequence[Runs]], Runs | None]


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, RankedTensorType) else ()


class Axes(Forward[Runs]):
    """The runs of the tiles of a program."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts

    def tracks(self, value: Value) -> bool:
        return isinstance(value.type, RankedTensorType)

    def unknown(self, value: Value) -> Runs:
        divisor = self.divisor(value)
        return tuple(Run(1, 0, divisor) for _ in _shape(value))

    def divisor(self, value: Value) -> int:
        """The power of two that divides all elements of a tile, or a scalar."""
        return power_of_two(self.facts.divisor(value)) if self.facts.tracks(value) else 1

    def has_rule(self, op: Operation) -> bool:
        return op.name in RULES or is_elementwise(op)

    def transfer(self, value: Value, op: Operation, operands: Sequence[Runs | None]) -> Runs | None:
        known = [
            self.unknown(operand) if found is None else found
            for found, operand in zip(operands, op.operands, strict=True)
        ]
        found = RULES.get(op.name, _elementwise)(op, self, known)
        if found is None:
            return None
        # A divisor of all elements is a divisor of the first ones.
        least = self.divisor(value)
        return tuple(run._replace(divisor=max(run.divisor, least)) for run in found)

    def join(self, a: Runs, b: Runs) -> Runs:
        return tuple(_join(x, y) for x, y in zip(a, b, strict=True))


def is_elementwise(op: Operation) -> bool:
    """True if each element of a result depends only on the operands' elements at the same position, and on scalars."""
    return op.name.startswith(("arith.", "math.")) or op.has_trait(SameOperandsAndResultShape)


def _join(a: Run, b: Run) -> Run:
    length = min(a.length, b.length)
    x, y = a.cut(length), b.cut(length)
    if x.step == y.step:
        return Run(length, x.step, min(x.divisor, y.divisor))
    return Run(1, 0, min(x.of_all, y.of_all))


def _together(a: Run, b: Run) -> tuple[Run, Run]:
    length = min(a.length, b.length)
    return a.cut(length), b.cut(length)


def _elementwise(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs:
    """If all operands are constant along a block, so are the results."""
    rank = len(_shape(op.results[0]))
    lengths = [
        min((runs[d].length if runs[d].step == 0 else 1 for runs in x if runs), default=1)
        for d in range(rank)
    ]
    if not any(x):
        return axes.unknown(op.results[0])
    return tuple(Run(length, 0, 1) for length in lengths)


# -- arithmetic


def _sum(sign: int) -> Rule:
    def rule(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs:
        return tuple(_add(a, b, sign) for a, b in zip(*x, strict=True))

    return rule


def _add(a: Run, b: Run, sign: int = 1) -> Run:
    a, b = _together(a, b)
    return Run(a.length, a.step + sign * b.step, min(a.divisor, b.divisor))


def _number(fact: Fact) -> int | None:
    return fact.lower if fact.lower == fact.upper else None


def _scaled(run: Run, factor: int) -> Run:
    if factor == 0:
        return Run(run.length, 0, ZERO_DIVISOR)
    return Run(run.length, run.step * factor, min(run.divisor * power_of_two(abs(factor)), ZERO_DIVISOR))


def _product(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs:
    factors = [_number(axes.facts.fact(v)) for v in op.operands]
    return tuple(_multiply(a, b, *factors) for a, b in zip(*x, strict=True))


def _multiply(a: Run, b: Run, left: int | None, right: int | None) -> Run:
    """A uniform tile scales the runs of the other."""
    if right is not None:
        return _scaled(a, right)
    if left is not None:
        return _scaled(b, left)
    a, b = _together(a, b)
    if a.step == b.step == 0:
        return Run(a.length, 0, min(a.divisor * b.divisor, ZERO_DIVISOR))
    return Run(1, 0, min(a.of_all * b.of_all, ZERO_DIVISOR))


def _shift_left(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs | None:
    amount = _number(axes.facts.fact(op.operands[1]))
    if amount is None or not 0 <= amount < width_of(op.results[0].type):
        return _elementwise(op, axes, x)
    return tuple(_scaled(run, 1 << amount) for run in x[0])


def _parts(size: int, half: int, run: Run) -> Run:
    """The run for blocks that do not cross a multiple of `size` (a power of two)."""
    while run.length > 1 and run.step and not (run.is_aligned(half) and run.length * run.step <= size):
        run = run.cut(run.length // 2)
    return run


def _quotient(op: Operation, axes: Axes, x: Sequence[Runs], size: int | None) -> Runs:
    """Division by `size`, rounded down, if that is a power of two: the quotient is constant between multiples of
    `size`."""
    if size is None or size <= 0 or size & (size - 1):
        return _elementwise(op, axes, x)
    half = 1 << width_of(op.results[0].type) >> 1
    found = []
    for run in x[0]:
        if run.step % size == 0 and run.divisor % size == 0 and (run.step == 0 or run.is_aligned(half)):
            found.append(Run(run.length, run.step // size, run.divisor // size))
        else:
            part = _parts(size, half, run)
            found.append(Run(part.length, 0, max(1, part.divisor // size)))
    return tuple(found)


def _rest(op: Operation, axes: Axes, x: Sequence[Runs], size: int | None) -> Runs:
    """The remainder of a division by `size`, if that is a power of two."""
    if size is None or size <= 0 or size & (size - 1):
        return _elementwise(op, axes, x)
    half = 1 << width_of(op.results[0].type) >> 1
    parts = (_parts(size, half, run) for run in x[0])
    return tuple(Run(part.length, part.step, min(part.divisor, size)) for part in parts)


def _divisor_of(op: Operation, axes: Axes, signed: bool) -> int | None:
    """The uniform divisor of all elements; None if it is unknown or a signed division does not round down."""
    if signed and axes.facts.fact(op.operands[0]).lower < 0:
        return None
    return _number(axes.facts.fact(op.operands[1]))


def _divide(signed: bool) -> Rule:
    return lambda op, axes, x: _quotient(op, axes, x, _divisor_of(op, axes, signed))


def _remainder(signed: bool) -> Rule:
    return lambda op, axes, x: _rest(op, axes, x, _divisor_of(op, axes, signed))


def _shift_right(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs:
    amount = _number(axes.facts.fact(op.operands[1]))
    size = 1 << amount if amount is not None and 0 <= amount < width_of(op.results[0].type) else None
    return _quotient(op, axes, x, size)


def _and(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs:
    """And with 2^k - 1 is the remainder modulo 2^k."""
    for i in (0, 1):
        mask = _number(axes.facts.fact(op.operands[i]))
        if mask is not None and mask > 0 and mask & (mask + 1) == 0:
            return _rest(op, axes, (x[1 - i],), mask + 1)
    return _elementwise(op, axes, x)


def _select(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs | None:
    condition, yes, no = x
    rank = len(_shape(op.results[0]))
    conditions = condition or tuple(Run(n, 0, 1) for n in _shape(op.results[0]))
    found = []
    for d in range(rank):
        run = _join(yes[d], no[d])
        found.append(run.cut(conditions[d].length if conditions[d].step == 0 else 1))
    return tuple(found)


def _exact(value: Value, axes: Axes, runs: Runs, unsigned: bool) -> Runs:
    """The runs of the exact numbers, not modulo 2**width."""
    fact = axes.facts.fact(value)
    half = 1 << width_of(value.type) >> 1
    whole = 2 * half
    spread = whole if unsigned and fact.lower < 0 else fact.upper - fact.lower
    return tuple(run.exact(half, spread) for run in runs)


def _extend(unsigned: bool) -> Rule:
    return lambda op, axes, x: _exact(op.operands[0], axes, x[0], unsigned)


def _keep(op: Operation, axes: Axes, x: Sequence[Runs]) -> Runs:
    return x[0]


def _compare(op: arith.CmpI, axes: Axes, x: Sequence[Runs]) -> Runs:
    """a < b is constant in a block that starts at a multiple of its span, if b is such a multiple too."""
    predicate = op.predicate_name
    if _number(axes.facts.fact(op.results[0])) is not None:
        return tuple(Run(n, 0, 1) for n in _shape(op.results[0]))
    half = 1 << width_of(op.operands[0].type) >> 1
    found = []
    for a, b in zip(*x, strict=True):
        a, b = _together(a, b)
        if predicate in ("eq", "ne"):
            found.append(Run(a.length if a.step == b.step else 1, 0, 1))
            continue
        moving, still = (a, b) if b.step == 0 else (b, a)
        kept = {"lt", "ge"} if moving is a else {"gt", "le"}
        if still.step != 0 or (moving.step != 0 and predicate[1:] not in kept):
            found.append(Run(1, 0, 1))
            continue
        while moving.length > 1 and moving.step:
            if moving.is_aligned(half) and still.divisor % (moving.length * moving.step) == 0:
                break
            moving = moving.cut(moving.length // 2)
        found.append(Run(moving.length, 0, 1))
    return tuple(found)


def _offset(op: nv_tileaa.Offset, axes: Axes, x: Sequence[Runs]) -> Runs:
    bits = storage_bits(op.elem_type.value)
    exact = _exact(op.offset, axes, x[1], unsigned=False)
    if bits % 8:
        return _elementwise(op, axes, x)
    return tuple(_add(a, _scaled(b, bits // 8)) for a, b in zip(x[0], exact, strict=True))


# -- shapes


def _splat(op: nv_tileaa.Splat, axes: Axes, x: Sequence[Runs]) -> Runs:
    divisor = axes.divisor(op.source)
    return tuple(Run(power_of_two(n), 0, divisor) for n in op.res.type.shape)


def _iota(op: nv_tileaa.Iota, axes: Axes, x: Sequence[Runs]) -> Runs:
    return (Run(power_of_two(op.res.type.shape[0]), 1, ZERO_DIVISOR),)


def _constant(op: arith.Constant | nv_tileaa.ConstantTensor, axes: Axes, x: Sequence[Runs]) -> Runs | None:
    result = op.results[0]
    if not (isinstance(op.value, DenseElementsAttr) and op.value.is_splat):
        return None
    divisor = axes.divisor(result)
    return tuple(Run(power_of_two(n), 0, divisor) for n in _shape(result))


def _broadcast(op: nv_tileaa.Broadcast, axes: Axes, x: Sequence[Runs]) -> Runs:
    return tuple(
        run if old == new else Run(power_of_two(new), 0, run.of_all)
        for run, old, new in zip(x[0], op.source.type.shape, op.res.type.shape, strict=True)
    )


def _reshape(op: nv_tileaa.Reshape, axes: Axes, x: Sequence[Runs]) -> Runs:
    """An axis keeps the run of the source's axis that has the same row-major stride."""
    old, new = op.source.type.shape, op.res.type.shape
    at = {prod(old[d + 1 :]): d for d in reversed(range(len(old))) if old[d] > 1}
    least = max((run.of_all for run in x[0]), default=1)
    found = []
    for d, size in enumerate(new):
        source = at.get(prod(new[d + 1 :])) if size > 1 else None
        found.append(x[0][source].cut(power_of_two(size)) if source is not None else Run(1, 0, least))
    return tuple(found)


def _permute(op: nv_tileaa.Permute, axes: Axes, x: Sequence[Runs]) -> Runs:
    return tuple(x[0][d] for d in op.permutation.values)


def _extract(op: nv_tileaa.Extract, axes: Axes, x: Sequence[Runs]) -> Runs:
    return tuple(run.cut(power_of_two(n)) for run, n in zip(x[0], op.res.type.shape, strict=True))


def _cat(op: nv_tileaa.Cat, axes: Axes, x: Sequence[Runs]) -> Runs:
    shapes = zip(op.lhs.type.shape, op.rhs.type.shape, strict=True)
    return tuple(
        _join(a, b).cut(min(power_of_two(m), power_of_two(n)))
        for a, b, (m, n) in zip(*x, shapes, strict=True)
    )


def _assume(op: nv_tileaa.Assume, axes: Axes, x: Sequence[Runs]) -> Runs:
    """The assumed facts, if they are stronger than the known ones."""
    found = list(x[0])
    every = op.every.value if op.every is not None else 0
    if every > 0 and op.along is not None and isinstance(element_type(op.res.type), IntegerType):
        axis, length = op.along.value, power_of_two(every)
        divisor = power_of_two(op.divisor.value) if op.divisor is not None else 1
        # Groups whose size is not a power of two contain smaller ones whose size is.
        assumed = Run(length, 1, divisor if length == every else min(length, divisor))
        if found[axis].step != 1 or found[axis].length <= assumed.length:
            found[axis] = assumed
    for axis, size in enumerate(op.same.values if op.same is not None else ()):
        if size > 1 and (found[axis].step != 0 or found[axis].length < size):
            found[axis] = Run(power_of_two(size), 0, found[axis].of_all)
    return tuple(found)


RULES: dict[str, Rule] = {
    "arith.addi": _sum(1),
    "arith.subi": _sum(-1),
    "arith.muli": _product,
    "arith.shli": _shift_left,
    "arith.divui": _divide(signed=False),
    "arith.floordivsi": lambda op, axes, x: _quotient(op, axes, x, _divisor_of(op, axes, False)),
    "arith.divsi": _divide(signed=True),
    "arith.shrui": _shift_right,
    "arith.shrsi": _shift_right,
    "arith.remui": _remainder(signed=False),
    "arith.remsi": _remainder(signed=True),
    "arith.andi": _and,
    "arith.select": _select,
    "arith.cmpi": _compare,
    "arith.extsi": _extend(unsigned=False),
    "arith.extui": _extend(unsigned=True),
    "arith.trunci": _keep,
    "arith.constant": _constant,
    "nv_tileaa.constant_tensor": _constant,
    "nv_tileaa.int_to_ptr": _keep,
    "nv_tileaa.ptr_to_int": _keep,
    "nv_tileaa.offset": _offset,
    "nv_tileaa.splat": _splat,
    "nv_tileaa.iota": _iota,
    "nv_tileaa.broadcast": _broadcast,
    "nv_tileaa.reshape": _reshape,
    "nv_tileaa.permute": _permute,
    "nv_tileaa.extract": _extract,
    "nv_tileaa.cat": _cat,
    "nv_tileaa.assume": _assume,
}
"""The transfer rules, by operation name; elementwise ops without a rule preserve only uniform blocks."""


def pointer_vector(op: nv_tileaa.Load | nv_tileaa.Store, axes: Axes) -> tuple[int | None, int]:
    """(axis, elements) of the widest access of an nv_tileaa.load or store: the addresses of that many adjacent elements
    are contiguous and aligned to their total size, and their masks are equal.

    If the access has one element, the axis is the one with the smallest address stride, along which adjacent threads
    should be placed; None for a scalar, and if nothing is known.
    """
    axis, count, _ = pointer_limit(op, axes)
    return axis, count


def pointer_limit(op: nv_tileaa.Load | nv_tileaa.Store, axes: Axes) -> tuple[int | None, int, str]:
    """As `pointer_vector`, with the reason why the access is not wider; "" if it has 128 bits."""
    pointers = op.operands[0]
    if not isinstance(pointers.type, RankedTensorType):
        return None, 1, "it accesses a single element"
    bits = storage_bits(element_type(op.moved.type))
    size = bits // 8
    widest = max(1, WIDEST_ACCESS // bits)
    masks = axes.of(op.mask) if op.mask is not None else (None,) * pointers.type.rank
    best = (1, -1, "no adjacent elements are known to have contiguous addresses")
    closest: tuple[int, int] | None = None
    for axis, (run, mask) in enumerate(zip(axes.of(pointers), masks, strict=True)):
        if run.length > 1 and run.step and (closest is None or abs(run.step) <= closest[0]):
            closest = (abs(run.step), axis)
        if run.step != size:
            continue
        most, why = widest, ""
        if run.length < most:
            most = run.length
            few = f"only {most}" if most > 1 else "no"
            why = f"{few} adjacent elements along dimension {axis} are known to have contiguous addresses"
        equal = most if mask is None else mask.length if mask.step == 0 else 1
        if equal < most:
            most = equal
            why = (
                f"the mask is not known to be uniform for {most + 1} adjacent elements along dimension {axis}"
            )
        while most > 1 and run.cut(most).divisor % (most * size):
            most //= 2
            why = f"the addresses are not known to be multiples of {2 * most * size} bytes: add an assume"
        if most >= best[0]:
            best = (most, axis, why)
    count, axis, why = best
    if count > 1:
        return axis, count, why
    return (closest[1] if closest is not None else None), 1, why
