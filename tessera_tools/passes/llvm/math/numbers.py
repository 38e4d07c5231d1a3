"""Formulas with operators for the emitter, formats, and sums and products in twice the precision.

    x = Number(e, value)
    y = (x < 0).choose(-x, x * x + 1)      # llvm.fcmp, llvm.fneg, llvm.fmul, llvm.fadd, llvm.select

Python numbers become constants of the type of the other operand. Formulas are emitted at the current position, so they
cost nothing if their branch is not taken. LLVM performs CSE and hoists invariants out of loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tessera_tools.dialects import llvm
from tessera_tools.dialects.arith.attributes import CMPF_PREDICATES, CMPI_PREDICATES
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import FALSE, i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F32, F64, I1, I32, I64, FloatType, IntegerType
from tessera_tools.opdef import Op
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.math.coefficients import Table
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from fractions import Fraction  # its import takes milliseconds


@dataclass(frozen=True)
class Format:
    """f32 or f64: `precision` significant bits, patterns of type `integer`."""

    type: FloatType
    integer: IntegerType
    precision: int
    bias: int

    @property
    def mantissa(self) -> int:
        """Bits after the point."""
        return self.precision - 1

    @property
    def magic(self) -> float:
        """Adding this number rounds a smaller one to an integer, which is then in the low bits."""
        return 1.5 * 2.0**self.mantissa


FORMATS = {F32: Format(F32, I32, 24, 127), F64: Format(F64, I64, 53, 1023)}


class Number:
    """A value with operators, each one llvm op.  Integers are signed; a comparison gives an i1, false for a NaN."""

    __slots__ = ("e", "value")

    def __init__(self, e: Emitter, value: Value) -> None:
        self.e = e
        self.value = value

    @property
    def type(self) -> Any:
        """The llvm type."""
        return self.value.type

    @property
    def format(self) -> Format:
        """The format of a float."""
        return FORMATS[self.type]

    def of(self, constant: float) -> Number:
        """A constant of this type."""
        return Number(self.e, self.e.constant(constant, self.type))

    def make(
        self, cls: type[Op], operands: Sequence[Number | float], type: Type | None = None, **attributes: Any
    ) -> Number:
        """An op of a class; numbers of Python among the operands are constants of this type."""
        values = [v.value if isinstance(v, Number) else self.e.constant(v, self.type) for v in operands]
        return Number(self.e, self.e.emit(cls.create(values, [type or self.type], attributes)).results[0])

    @property
    def _floats(self) -> bool:
        return isinstance(self.type, FloatType)

    def __add__(self, other: Number | float) -> Number:
        return self.make(llvm.FAdd if self._floats else llvm.Add, (self, other))

    def __radd__(self, other: float) -> Number:
        return self + other

    def __sub__(self, other: Number | float) -> Number:
        return self.make(llvm.FSub if self._floats else llvm.Sub, (self, other))

    def __rsub__(self, other: float) -> Number:
        return self.make(llvm.FSub if self._floats else llvm.Sub, (other, self))

    def __mul__(self, other: Number | float) -> Number:
        return self.make(llvm.FMul if self._floats else llvm.Mul, (self, other))

    def __rmul__(self, other: float) -> Number:
        return self * other

    def __truediv__(self, other: Number | float) -> Number:
        return self.make(llvm.FDiv, (self, other))

    def __rtruediv__(self, other: float) -> Number:
        return self.make(llvm.FDiv, (other, self))

    def __neg__(self) -> Number:
        return self.make(llvm.FNeg, (self,)) if self._floats else 0 - self

    def __abs__(self) -> Number:
        return (
            self.make(llvm.FAbs, (self,))
            if self._floats
            else self.make(llvm.Abs, (self,), is_int_min_poison=FALSE)
        )

    def __and__(self, other: Number | int) -> Number:
        return self.make(llvm.And, (self, other))

    def __or__(self, other: Number | int) -> Number:
        return self.make(llvm.Or, (self, other))

    def __xor__(self, other: Number | int) -> Number:
        return self.make(llvm.XOr, (self, other))

    def __invert__(self) -> Number:
        return self ^ -1

    def __lshift__(self, other: Number | int) -> Number:
        return self.make(llvm.Shl, (self, other))

    def __rshift__(self, other: Number | int) -> Number:
        """Arithmetic shift to the right."""
        return self.make(llvm.AShr, (self, other))

    def shifted(self, other: Number | int) -> Number:
        """Logical shift to the right."""
        return self.make(llvm.LShr, (self, other))

    def compared(self, predicate: str, other: Number | float) -> Number:
        """A comparison by arith's predicate."""
        floats = self._floats
        code = i64((CMPF_PREDICATES if floats else CMPI_PREDICATES).index(predicate))
        return self.make(llvm.FCmp if floats else llvm.ICmp, (self, other), I1, predicate=code)

    def __lt__(self, other: Number | float) -> Number:
        return self.compared("olt" if self._floats else "slt", other)

    def __le__(self, other: Number | float) -> Number:
        return self.compared("ole" if self._floats else "sle", other)

    def __gt__(self, other: Number | float) -> Number:
        return self.compared("ogt" if self._floats else "sgt", other)

    def __ge__(self, other: Number | float) -> Number:
        return self.compared("oge" if self._floats else "sge", other)

    def equals(self, other: Number | float) -> Number:
        """True if the numbers are equal: -0 equals +0, and a NaN equals nothing."""
        return self.compared("oeq" if self._floats else "eq", other)

    def is_nan(self) -> Number:
        """True if it is a NaN."""
        return self.compared("uno", self)

    def choose(self, a: Number | float, b: Number | float) -> Number:
        """a if this i1 is true, otherwise b; one of them is a Number."""
        typed = a if isinstance(a, Number) else b
        assert isinstance(typed, Number)
        left, right = (v if isinstance(v, Number) else typed.of(v) for v in (a, b))
        return self.make(llvm.Select, (self, left, right), typed.type)

    def fma(self, b: Number | float, c: Number | float) -> Number:
        """self · b + c, rounded once."""
        return self.make(llvm.FMA, (self, b, c))

    def sqrt(self) -> Number:
        """The square root."""
        return self.make(llvm.Sqrt, (self,))

    def truncated(self) -> Number:
        """The number rounded toward zero."""
        return self.make(llvm.FTrunc, (self,))

    def with_sign_of(self, other: Number) -> Number:
        """The magnitude with another number's sign."""
        return self.make(llvm.CopySign, (self, other))

    def bits(self) -> Number:
        """A float's pattern as an integer."""
        return self.bitcast(self.format.integer)

    def as_float(self) -> Number:
        """The float of a pattern."""
        return self.bitcast(F32 if self.type is I32 else F64)

    def bitcast(self, type: Type) -> Number:
        """The bits as another type."""
        return self.make(llvm.Bitcast, (self,), type)

    def sign_bit(self) -> Number:
        """True if a float's sign bit is set, also for a zero or a NaN."""
        return self.bits() < 0

    def to_float(self, type: FloatType) -> Number:
        """A signed integer as a float."""
        return self.make(llvm.SIToFP, (self,), type)

    def unsigned_to_float(self, type: FloatType) -> Number:
        """An unsigned integer as a float."""
        return self.make(llvm.UIToFP, (self,), type)

    def resized(self, type: IntegerType, *, signed: bool = False) -> Number:
        """An integer of another width."""
        if type is self.type:
            return self
        narrower = type.width < self.type.width
        return self.make(llvm.Trunc if narrower else llvm.SExt if signed else llvm.ZExt, (self,), type)


class Pair(NamedTuple):
    """An unevaluated sum: twice the precision if |low| is at most half a unit of `high`."""

    high: Number
    low: Number


class ConstantPair(NamedTuple):
    """A constant as a sum of two floats."""

    high: float
    low: float


def split(value: Fraction, precision: int, parts: int) -> list[float]:
    """A positive number as a sum of floats, each the nearest to the remainder."""
    found: list[float] = []
    for _ in range(parts):
        part = _nearest(value, precision)
        found.append(float(part))
        value -= part
    return found


def _nearest(value: Fraction, precision: int) -> Fraction:
    if not value:
        return value
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    unit = type(value)(2) ** (exponent - precision)
    scaled = round(value / unit)
    while abs(scaled) >= 1 << precision:
        unit *= 2
        scaled = round(value / unit)
    return scaled * unit


def constant_pair(value: Fraction, precision: int) -> ConstantPair:
    """A number as a sum of two floats of the precision."""
    return ConstantPair(*split(value, precision, 2))


def two_sum(a: Number, b: Number) -> Pair:
    """a + b exactly, if |a| is not less than |b|, or a is 0."""
    total = a + b
    return Pair(total, b - (total - a))


def two_difference(a: Number, b: Number) -> Pair:
    """a - b exactly, for any a and b (Knuth)."""
    total = a - b
    virtual = total - a
    return Pair(total, (a - (total - virtual)) - (b + virtual))


def two_product(a: Number, b: Number | float) -> Pair:
    """a · b exactly, unless it underflows."""
    product = a * b
    return Pair(product, a.fma(b, -product))


def times(a: Pair, b: ConstantPair) -> Pair:
    """a · b with an error of some units of twice the precision."""
    high, low = two_product(a.high, b.high)
    return Pair(high, low + (a.high * b.low + a.low * b.high))


def polynomial(table: Table, x: Number) -> Number:
    """The polynomial of the format, by Horner's rule."""
    coefficients = table[x.format.precision]
    result = x.of(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def power_of_two(exponent: Number, form: Format) -> Number:
    """2^exponent for an integer of the format's width; must be a normal number."""
    return ((exponent + form.bias) << form.mantissa).as_float()


def scaled(x: Number, exponent: Number) -> Number:
    """x · 2^exponent, rounded once; the exponent is an integer of the format's width, within ±2 · bias."""
    half = exponent >> 1
    return x * power_of_two(half, x.format) * power_of_two(exponent - half, x.format)


def rounded_to_integer(x: Number, factor: float = 1.0) -> tuple[Number, Number]:
    """The integer nearest to x · factor as a float, and as an integer of the format's width; its magnitude is less than
    2^(mantissa - 1)."""
    magic = x.format.magic
    shifted = x + magic if factor == 1.0 else x.fma(factor, magic)
    return shifted - magic, shifted.bits() - x.of(magic).bits()
