"""The `math` dialect: elementary functions, elementwise.

Constants are folded if the result is exact, or if Python's double-precision function, rounded once more to a
format of at most 24 significant bits, is the nearest number. Upstream calls the C library's function of the format,
which for `expm1` in f32 may be an adjacent number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from tessera_tools.dialects.arith.attributes import fastmath_field
from tessera_tools.dialects.arith.constants import Folded, elementwise, one, signed
from tessera_tools.dialects.arith.floats import format_of
from tessera_tools.dialects.arith.integers import i1_like
from tessera_tools.dialects.arith.numbers import EXACT_IN_DOUBLE, encode
from tessera_tools.dialects.arith.rules import fold_by_rules
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.types import width_of
from tessera_tools.opdef import (
    FLOAT_LIKE,
    PURE,
    SIGNLESS_INTEGER_LIKE,
    Dialect,
    Op,
    derived,
    operand,
    ops_of,
    result,
    same_as,
)


class FloatUnary(Op, traits=(PURE,)):
    """The base of functions of one floating-point number."""

    operand_ = operand(FLOAT_LIKE)
    fastmath = fastmath_field()
    result = result(same_as("operand"))
    assembly = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    compute: ClassVar[Callable[[float], float] | None] = None
    """The function on numbers; the op is not folded after a domain or range error."""
    poles: ClassVar[Mapping[float, float]] = {}
    """Where the function is infinite, with the infinity."""

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        compute, keyword = type(self).compute, format_of(self.result.type)
        if compute is None or keyword not in EXACT_IN_DOUBLE:
            return fold_by_rules(self)

        def function(bits: int) -> int | None:
            number = floats.decode(bits, keyword)
            try:
                return encode(self.poles[number] if number in self.poles else compute(number), keyword)
            except (ValueError, OverflowError):
                return None

        known = elementwise(function, operands, self.result.type)
        return [known] if known is not None else fold_by_rules(self)


class FloatBinary(Op, traits=(PURE,)):
    """The base of functions of two floating-point numbers."""

    lhs = operand(FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    fastmath = fastmath_field()
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    compute: ClassVar[Callable[[float, float], float] | None] = None
    """The function on numbers; the op is not folded after a domain or range error."""

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        compute, keyword = type(self).compute, format_of(self.result.type)
        if compute is None or keyword not in EXACT_IN_DOUBLE:
            return None

        def function(a: int, b: int) -> int | None:
            try:
                return encode(compute(floats.decode(a, keyword), floats.decode(b, keyword)), keyword)
            except (ValueError, OverflowError):
                return None

        return one(elementwise(function, operands, self.result.type))


class FloatTest(Op, traits=(PURE,)):
    """The base of questions about one floating-point number, answered by i1 in its shape."""

    operand_ = operand(FLOAT_LIKE)
    fastmath = fastmath_field()
    result = result(derived("i1 in the shape of 'operand'", i1_like, "operand"))
    assembly = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"
    compute: ClassVar[Callable[[float], bool]] = math.isnan

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        compute, keyword = type(self).compute, format_of(self.operand_.type)
        if keyword not in EXACT_IN_DOUBLE:
            return None
        return one(elementwise(lambda a: int(compute(floats.decode(a, keyword))), operands, self.result.type))


class IntUnary(Op, traits=(PURE,)):
    """The base of functions of one integer."""

    operand_ = operand(SIGNLESS_INTEGER_LIKE)
    result = result(same_as("operand"))
    assembly = "$operand attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        width = width_of(self.result.type)
        return one(elementwise(lambda a: self.count(a, width), operands, self.result.type))

    @staticmethod
    def count(bits: int, width: int) -> int:
        """The function on the bits of an integer."""
        raise AssertionError


def _keeps_integers(function: Callable[[float], float]) -> Callable[[float], float]:
    """A rounding function that preserves NaN, infinity, and the sign of zero."""

    def rounded(x: float) -> float:
        return math.copysign(function(x), x) if math.isfinite(x) else x

    return rounded


def _round_away(x: float) -> float:
    """To the nearest integer, halves away from zero."""
    whole = math.trunc(x)
    return float(whole + int(math.copysign(1, x)) if abs(x - whole) >= 0.5 else whole)


class AbsF(FloatUnary, name="math.absf"):
    """The absolute value."""

    compute = staticmethod(abs)


class ACos(FloatUnary, name="math.acos"):
    """The arc cosine."""

    compute = staticmethod(math.acos)


class ACosh(FloatUnary, name="math.acosh"):
    """The inverse hyperbolic cosine."""

    compute = staticmethod(math.acosh)


class ASin(FloatUnary, name="math.asin"):
    """The arc sine."""

    compute = staticmethod(math.asin)


class ASinh(FloatUnary, name="math.asinh"):
    """The inverse hyperbolic sine."""

    compute = staticmethod(math.asinh)


class ATan(FloatUnary, name="math.atan"):
    """The arc tangent."""

    compute = staticmethod(math.atan)


class ATanh(FloatUnary, name="math.atanh"):
    """The inverse hyperbolic tangent."""

    compute = staticmethod(math.atanh)
    poles: ClassVar[Mapping[float, float]] = {1.0: math.inf, -1.0: -math.inf}


class Cbrt(FloatUnary, name="math.cbrt"):
    """The cube root."""

    compute = staticmethod(math.cbrt)


class Ceil(FloatUnary, name="math.ceil"):
    """Rounded up to an integer."""

    compute = staticmethod(_keeps_integers(math.ceil))


class Cos(FloatUnary, name="math.cos"):
    """The cosine of an angle in radians."""

    compute = staticmethod(math.cos)


class Cosh(FloatUnary, name="math.cosh"):
    """The hyperbolic cosine."""

    compute = staticmethod(math.cosh)


class Erf(FloatUnary, name="math.erf"):
    """The error function."""

    compute = staticmethod(math.erf)


class Erfc(FloatUnary, name="math.erfc"):
    """The complementary error function."""

    compute = staticmethod(math.erfc)


class Exp(FloatUnary, name="math.exp"):
    """The exponential function."""

    compute = staticmethod(math.exp)


class Exp2(FloatUnary, name="math.exp2"):
    """Two to a power."""

    compute = staticmethod(math.exp2)


class ExpM1(FloatUnary, name="math.expm1"):
    """The exponential function minus one, exact near zero."""

    compute = staticmethod(math.expm1)


class Floor(FloatUnary, name="math.floor"):
    """Rounded down to an integer."""

    compute = staticmethod(_keeps_integers(math.floor))


class Log(FloatUnary, name="math.log"):
    """The natural logarithm."""

    compute = staticmethod(math.log)
    poles: ClassVar[Mapping[float, float]] = {0.0: -math.inf}


class Log10(FloatUnary, name="math.log10"):
    """The decimal logarithm."""

    compute = staticmethod(math.log10)
    poles: ClassVar[Mapping[float, float]] = {0.0: -math.inf}


class Log1p(FloatUnary, name="math.log1p"):
    """The natural logarithm of one more, exact near zero."""

    compute = staticmethod(math.log1p)
    poles: ClassVar[Mapping[float, float]] = {-1.0: -math.inf}


class Log2(FloatUnary, name="math.log2"):
    """The binary logarithm."""

    compute = staticmethod(math.log2)
    poles: ClassVar[Mapping[float, float]] = {0.0: -math.inf}


class Round(FloatUnary, name="math.round"):
    """Rounded to the nearest integer, halves away from zero."""

    compute = staticmethod(_keeps_integers(_round_away))


class RoundEven(FloatUnary, name="math.roundeven"):
    """Rounded to the nearest integer, halves to the even one."""

    compute = staticmethod(_keeps_integers(round))


class RSqrt(FloatUnary, name="math.rsqrt"):
    """One over the square root."""


class Sin(FloatUnary, name="math.sin"):
    """The sine of an angle in radians."""

    compute = staticmethod(math.sin)


class Sinh(FloatUnary, name="math.sinh"):
    """The hyperbolic sine."""

    compute = staticmethod(math.sinh)


class Sqrt(FloatUnary, name="math.sqrt"):
    """The square root."""

    compute = staticmethod(math.sqrt)


class Tan(FloatUnary, name="math.tan"):
    """The tangent of an angle in radians."""

    compute = staticmethod(math.tan)


class Tanh(FloatUnary, name="math.tanh"):
    """The hyperbolic tangent."""

    compute = staticmethod(math.tanh)


class Trunc(FloatUnary, name="math.trunc"):
    """Rounded towards zero to an integer."""

    compute = staticmethod(_keeps_integers(math.trunc))


class ATan2(FloatBinary, name="math.atan2"):
    """The angle of the point (rhs, lhs)."""

    compute = staticmethod(math.atan2)


class CopySign(FloatBinary, name="math.copysign"):
    """The first number with the sign of the second."""

    compute = staticmethod(math.copysign)


class PowF(FloatBinary, name="math.powf"):
    """The first number to the power of the second."""

    compute = staticmethod(math.pow)


class IsFinite(FloatTest, name="math.isfinite"):
    """Whether a number is neither infinite nor NaN."""

    compute = staticmethod(math.isfinite)


class IsInf(FloatTest, name="math.isinf"):
    """Whether a number is infinite."""

    compute = staticmethod(math.isinf)


class IsNaN(FloatTest, name="math.isnan"):
    """Whether a value is not a number."""

    compute = staticmethod(math.isnan)


class IsNormal(FloatTest, name="math.isnormal"):
    """Whether a number is neither zero, subnormal, infinite nor NaN."""

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        keyword = format_of(self.operand_.type)
        if keyword not in EXACT_IN_DOUBLE:
            return None
        least = 2.0 ** floats.FORMATS[keyword].least_exponent

        def normal(bits: int) -> int:
            number = floats.decode(bits, keyword)
            return int(math.isfinite(number) and abs(number) >= least)

        return one(elementwise(normal, operands, self.result.type))


class AbsI(IntUnary, name="math.absi"):
    """The absolute value of a signed integer; the least one is unchanged."""

    @staticmethod
    def count(bits: int, width: int) -> int:
        return abs(signed(bits, width))


class CountLeadingZeros(IntUnary, name="math.ctlz"):
    """The number of zero bits above the highest one bit."""

    @staticmethod
    def count(bits: int, width: int) -> int:
        return width - bits.bit_length()


class CountPopulation(IntUnary, name="math.ctpop"):
    """The number of one bits."""

    @staticmethod
    def count(bits: int, width: int) -> int:
        return bits.bit_count()


class CountTrailingZeros(IntUnary, name="math.cttz"):
    """The number of zero bits below the lowest one bit."""

    @staticmethod
    def count(bits: int, width: int) -> int:
        return (bits & -bits).bit_length() - 1 if bits else width


class IPowI(Op, name="math.ipowi", traits=(PURE,)):
    """A signed integer to the power of another; a negative power rounds towards zero."""

    lhs = operand(SIGNLESS_INTEGER_LIKE)
    rhs = operand(same_as("lhs"))
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        width = width_of(self.result.type)

        def power(a: int, b: int) -> int | None:
            base, exponent = signed(a, width), signed(b, width)
            if exponent >= 0:
                return pow(base, exponent, 1 << width)
            if base in (1, -1):
                return base if exponent % 2 else 1
            return None if base == 0 else 0

        return one(elementwise(power, operands, self.result.type))


class FPowI(Op, name="math.fpowi", traits=(PURE,)):
    """A floating-point number to an integer power."""

    lhs = operand(FLOAT_LIKE)
    rhs = operand(SIGNLESS_INTEGER_LIKE)
    fastmath = fastmath_field()
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs) `,` type($rhs)"


class Fma(Op, name="math.fma", traits=(PURE,)):
    """a · b + c, rounded once."""

    a = operand(FLOAT_LIKE)
    b = operand(same_as("a"))
    c = operand(same_as("a"))
    fastmath = fastmath_field()
    result = result(same_as("a"))
    assembly = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class ClampF(Op, name="math.clampf", traits=(PURE,)):
    """A number held between two others."""

    value = operand(FLOAT_LIKE)
    min = operand(same_as("value"))
    max = operand(same_as("value"))
    fastmath = fastmath_field()
    result = result(same_as("value"))
    assembly = "$value `to` ` ` `[` $min `,` $max `]` (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class SinCos(Op, name="math.sincos", traits=(PURE,)):
    """Sine and cosine of an angle in radians."""

    operand_ = operand(FLOAT_LIKE)
    fastmath = fastmath_field()
    sin = result(same_as("operand"))
    cos = result(same_as("operand"))
    assembly = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"


RULES = """
absf(y := absf(x)) -> y
ceil(y := ceil(x)) -> y
floor(y := floor(x)) -> y
round(y := round(x)) -> y
roundeven(y := roundeven(x)) -> y
trunc(y := trunc(x)) -> y
"""

DIALECT = Dialect("math", "elementary functions", ops_of(globals()), rules=RULES, is_complete=True)
