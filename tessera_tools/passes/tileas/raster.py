"""The order in which the numbers of programs go through the grid.

    rows         0 1 2 3 4 5      grouped:2    0 1 4 5 8 9        hilbert:4    0 3 4 5
                 6 7 8 …                       2 3 6 7 …                       1 2 7 6
                                                                               …
    reversed:2   10 8 6 4 2 0
                 11 9 7 5 3 1

CTAs that run at the same time have neighboring numbers.  If these are neighbors along both axes, they load the same
tiles more often, and L2 has them.  `grouped:N` goes through the grid in columns of N programs, `hilbert:N` along a
Hilbert curve in each square of N by N programs, which starts and ends next to the squares beside it.  Every order is a
permutation of the grid, also of one whose extents are not multiples of N: squares that are cut go by rows.

`reversed:N` begins each N rows with their last programs.  In causal attention these have the most keys.  What runs at
the end of a launch, when no program is left for an SM that is done, are then short ones. L2 has the keys of N heads.
"""

from __future__ import annotations

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.records import dataclass

ROWS, REVERSED, GROUPED, HILBERT = "rows", "reversed", "grouped", "hilbert"
_DEFAULTS = {ROWS: 1, REVERSED: 8, GROUPED: 8, HILBERT: 8}
_MOST = 1 << 10


@dataclass(frozen=True, slots=True)
class Raster:
    """An order, with the programs along a side of its groups."""

    kind: str
    width: int


def read_raster(text: str) -> Raster | None:
    """`reversed:4`, `grouped`, `grouped:4`, `hilbert:8` …; None if it is not an order."""
    kind, mark, width = text.partition(":")
    # Python refuses to read numbers of thousands of digits.
    is_number = width.isdecimal() and len(width) <= len(str(_MOST))
    if kind not in _DEFAULTS or (mark and not is_number) or (mark and kind == ROWS):
        return None
    found = Raster(kind, int(width) if mark else _DEFAULTS[kind])
    is_power = found.width & (found.width - 1) == 0
    if not 1 <= found.width <= _MOST or (kind == HILBERT and not is_power):
        return None
    return found


def priced_raster(function: nv_tileaa.Func) -> Raster:
    """`reversed` if some loops with products are longer in programs further along the first axis of the grid, and none
    is shorter, as in causal attention; otherwise `rows`.

    In the order of rows, the longest programs of the last row start last, when other SMs have nothing left: with 16
    heads of 64 programs that take 1 to 64 steps, 132 SMs are busy 87 % of the time, and 99.9 % in bands of 8 rows that
    begin with the longest (test/passes/tileas/test_raster.py).
    """
    known: dict[Value, int | None] = {}
    grows = False
    for loop in function.walk():
        if isinstance(loop, scf.For) and any(isinstance(op, nv_tileas.Dot) for op in loop.body.entry):
            if _growth(loop.lower, known) != 0 or (growth := _growth(loop.upper, known)) is None:
                return Raster(ROWS, 1)
            grows = grows or growth > 0
    return Raster(REVERSED, _DEFAULTS[REVERSED]) if grows else Raster(ROWS, 1)


_FIRST_AND_SECOND = (arith.AddI, arith.MinSI, arith.MaxSI, arith.MinUI, arith.MaxUI)
"""Integers that do not decrease if neither operand does."""
_FIRST = (
    nv_tileaa.Assume, arith.ExtSI, arith.ExtUI, arith.TruncI, arith.IndexCast, arith.IndexCastUI, arith.SubI,
    arith.MulI, arith.DivSI, arith.DivUI, arith.FloorDivSI, arith.CeilDivSI, arith.CeilDivUI, arith.ShLI, arith.ShRSI,
    arith.ShRUI,
)  # fmt: skip
"""Integers that do not decrease if the first operand does not; another one is the same for all programs of a row."""


def _growth(value: Value, known: dict[Value, int | None]) -> int | None:
    """How a number changes along the first axis of the grid: 0 not, 1 it does not decrease; None if unknown.

    Arithmetic is taken not to wrap, and extents and factors to be positive: an order is right for any numbers.
    """
    if value not in known:
        known[value] = None  # also while its operands are looked at
        known[value] = _growth_of(value, known)
    return known[value]


def _growth_of(value: Value, known: dict[Value, int | None]) -> int | None:
    op = value.defining_op
    if op is None:
        return 0 if isinstance(value.owner_block.parent_op, nv_tileaa.Func) else None  # type: ignore[union-attr]
    if isinstance(op, nv_tileaa.GetProgramId):
        return int(op.axis.value == 0)
    if op.regions:
        return None
    found = [_growth(operand, known) for operand in op.operands]
    if not any(one != 0 for one in found):
        return 0
    if None in found:
        return None
    if isinstance(op, arith.MulI):
        return 1 if found.count(0) == 1 else None
    follows = isinstance(op, _FIRST_AND_SECOND) or (isinstance(op, _FIRST) and not any(found[1:]))
    return 1 if follows else None


def program_at(
    raster: Raster, number: Value, columns: Value, rows: Value, builder: Builder
) -> tuple[Value, Value]:
    """(x, y) of the program with a number below columns · rows, along axis 0 and axis 1 of the grid, in an order other
    than by rows.

    A band has at most all programs of the grid, so that their number does not wrap.
    """
    n = Numbers(builder)
    width = n.constant(raster.width)
    if raster.kind == REVERSED:
        # Bands of `width` rows, the last of which may have fewer.
        band = n.mul(n.min(width, rows), columns)
        top = n.mul(n.div(number, band), width)
        height = n.min(n.sub(rows, top), width)
        within = n.rem(number, band)
        last = n.sub(columns, n.constant(1))
        return n.sub(last, n.div(within, height)), n.add(top, n.rem(within, height))
    if raster.kind == GROUPED:
        # Columns of `width` programs, the last of which may be narrower.
        group = n.mul(n.min(width, columns), rows)
        first = n.mul(n.div(number, group), width)
        size = n.min(n.sub(columns, first), width)
        within = n.rem(number, group)
        return n.add(first, n.rem(within, size)), n.div(within, size)
    # Bands of `width` rows, and squares in them; both may be cut at the end.
    band = n.mul(n.min(width, rows), columns)
    top = n.mul(n.div(number, band), width)
    height = n.min(n.sub(rows, top), width)
    in_band = n.rem(number, band)
    square = n.mul(width, height)
    left = n.mul(n.div(in_band, square), width)
    size = n.min(n.sub(columns, left), width)
    within = n.rem(in_band, square)
    x, y = _hilbert(raster.width, within, n)
    whole = n.both(n.equal(size, width), n.equal(height, width))
    x = n.select(whole, x, n.rem(within, size))
    y = n.select(whole, y, n.div(within, size))
    return n.add(left, x), n.add(top, y)


def _hilbert(width: int, number: Value, n: Numbers) -> tuple[Value, Value]:
    """(x, y) of a number on the Hilbert curve from (0, 0) to (width - 1, 0) (Warren, Hacker's Delight, 16-2)."""
    zero, one = n.constant(0), n.constant(1)
    x, y, rest, side = zero, zero, number, 1
    while side < width:
        rx = n.both(n.shr(rest, 1), one)
        ry = n.both(n.xor(rest, rx), one)
        # A quarter whose curve is turned: mirror it if it is the last one, and exchange the axes.
        last = n.constant(side - 1)
        turned, mirrored = n.equal(ry, zero), n.equal(rx, one)
        a = n.select(mirrored, n.sub(last, x), x)
        b = n.select(mirrored, n.sub(last, y), y)
        x, y = n.select(turned, b, x), n.select(turned, a, y)
        x = n.add(x, n.mul(rx, n.constant(side)))
        y = n.add(y, n.mul(ry, n.constant(side)))
        rest = n.shr(rest, 2)
        side *= 2
    return x, y


class Numbers:
    """Builds arithmetic on 32-bit numbers that are not negative and do not wrap."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.known: dict[int, Value] = {}

    def _made(self, op: Operation) -> Value:
        return self.builder.insert(op).results[0]

    def constant(self, number: int) -> Value:
        if number not in self.known:
            self.known[number] = self._made(arith.Constant(i32(number)))
        return self.known[number]

    def add(self, a: Value, b: Value) -> Value:
        return self._made(arith.AddI(a, b))

    def sub(self, a: Value, b: Value) -> Value:
        return self._made(arith.SubI(a, b))

    def mul(self, a: Value, b: Value) -> Value:
        return self._made(arith.MulI(a, b))

    def div(self, a: Value, b: Value) -> Value:
        return self._made(arith.DivUI(a, b))

    def rem(self, a: Value, b: Value) -> Value:
        return self._made(arith.RemUI(a, b))

    def min(self, a: Value, b: Value) -> Value:
        return self._made(arith.MinUI(a, b))

    def both(self, a: Value, b: Value) -> Value:
        return self._made(arith.AndI(a, b))

    def xor(self, a: Value, b: Value) -> Value:
        return self._made(arith.XOrI(a, b))

    def shr(self, a: Value, bits: int) -> Value:
        return self._made(arith.ShRUI(a, self.constant(bits)))

    def less(self, a: Value, b: Value) -> Value:
        return self._compare("ult", a, b)

    def equal(self, a: Value, b: Value) -> Value:
        return self._compare("eq", a, b)

    def _compare(self, predicate: str, a: Value, b: Value) -> Value:
        return self._made(arith.CmpI.of(predicate, a, b))

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self._made(arith.Select(condition, a, b))
