"""Intrinsics on the elements of one type: `llvm.intr.fma` is a call of `@llvm.fma.f32`.

`intrinsic` is LLVM's name without type suffixes; `overloads` what completes it ("res" or the number of an operand).
An op's immediate arguments are attributes, named by `immediates` in the order in which they follow the operands.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects.llvm.base import (
    FLOATS,
    INTEGERS,
    Emitter,
    LLVMOp,
    fastmath,
    fastmath_text,
    mangled,
)
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.types import I1
from tessera_tools.opdef import COMMUTATIVE, PURE, operand, result, same_as


class Intrinsic(LLVMOp):
    """The base."""

    intrinsic: ClassVar[str] = ""
    overloads: ClassVar[tuple[str, ...]] = ("0",)
    """What completes the name: "res", or the number of an operand."""
    immediates: ClassVar[tuple[str, ...]] = ()

    def llvm_ir(self, e: Emitter) -> None:
        operands = self.operands
        produced = self.results[0].type if self.results else None
        name = self.intrinsic
        for which in self.overloads:
            type = produced if which == "res" else operands[int(which)].type
            name += f".{mangled(type)}"  # type: ignore[arg-type]
        arguments = [e.operand(v) for v in operands]
        for key in self.immediates:
            value = self.attributes[key]
            assert isinstance(value, IntegerAttr)
            arguments.append(
                f"i1 {'true' if value.value else 'false'}"
                if value.type is I1
                else f"{value.type} {value.value}"
            )
        e.call(
            self,
            name,
            e.type(produced) if produced is not None else "void",
            arguments,
            flags=fastmath_text(self),
        )


CALL_FORMAT = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


class _FloatUnary(Intrinsic):
    arg = operand(FLOATS)
    fastmath_flags = fastmath()
    res = result(same_as("arg"))
    assembly = CALL_FORMAT


class _FloatBinary(Intrinsic):
    a = operand(FLOATS)
    b = operand(same_as("a"))
    fastmath_flags = fastmath()
    res = result(same_as("a"))
    assembly = CALL_FORMAT


class _FloatTernary(Intrinsic):
    a = operand(FLOATS)
    b = operand(same_as("a"))
    c = operand(same_as("a"))
    fastmath_flags = fastmath()
    res = result(same_as("a"))
    assembly = CALL_FORMAT


class _IntUnary(Intrinsic):
    arg = operand(INTEGERS)
    res = result(same_as("arg"))
    assembly = CALL_FORMAT


class _IntBinary(Intrinsic):
    a = operand(INTEGERS)
    b = operand(same_as("a"))
    res = result(same_as("a"))
    assembly = CALL_FORMAT


class _IntTernary(Intrinsic):
    a = operand(INTEGERS)
    b = operand(same_as("a"))
    c = operand(same_as("a"))
    res = result(same_as("a"))
    assembly = CALL_FORMAT


class Exp(_FloatUnary, name="llvm.intr.exp", traits=(PURE,)):
    """e to the power."""

    intrinsic = "llvm.exp"


class Exp2(_FloatUnary, name="llvm.intr.exp2", traits=(PURE,)):
    """Two to the power."""

    intrinsic = "llvm.exp2"


class Exp10(_FloatUnary, name="llvm.intr.exp10", traits=(PURE,)):
    """Ten to the power."""

    intrinsic = "llvm.exp10"


class FAbs(_FloatUnary, name="llvm.intr.fabs", traits=(PURE,)):
    """Absolute value."""

    intrinsic = "llvm.fabs"


class FCeil(_FloatUnary, name="llvm.intr.ceil", traits=(PURE,)):
    """The next integer above."""

    intrinsic = "llvm.ceil"


class FFloor(_FloatUnary, name="llvm.intr.floor", traits=(PURE,)):
    """The next integer below."""

    intrinsic = "llvm.floor"


class Log(_FloatUnary, name="llvm.intr.log", traits=(PURE,)):
    """Natural logarithm."""

    intrinsic = "llvm.log"


class Log2(_FloatUnary, name="llvm.intr.log2", traits=(PURE,)):
    """Logarithm to base 2."""

    intrinsic = "llvm.log2"


class Log10(_FloatUnary, name="llvm.intr.log10", traits=(PURE,)):
    """Logarithm to base 10."""

    intrinsic = "llvm.log10"


class RoundEven(_FloatUnary, name="llvm.intr.roundeven", traits=(PURE,)):
    """The nearest integer, ties to even."""

    intrinsic = "llvm.roundeven"


class Round(_FloatUnary, name="llvm.intr.round", traits=(PURE,)):
    """The nearest integer, ties away from zero."""

    intrinsic = "llvm.round"


class FTrunc(_FloatUnary, name="llvm.intr.trunc", traits=(PURE,)):
    """The integer part."""

    intrinsic = "llvm.trunc"


class Sqrt(_FloatUnary, name="llvm.intr.sqrt", traits=(PURE,)):
    """Square root."""

    intrinsic = "llvm.sqrt"


class Rint(_FloatUnary, name="llvm.intr.rint", traits=(PURE,)):
    """The nearest integer in the current rounding mode."""

    intrinsic = "llvm.rint"


class Nearbyint(_FloatUnary, name="llvm.intr.nearbyint", traits=(PURE,)):
    """The nearest integer, without the inexact exception."""

    intrinsic = "llvm.nearbyint"


class Sin(_FloatUnary, name="llvm.intr.sin", traits=(PURE,)):
    """Sine."""

    intrinsic = "llvm.sin"


class Cos(_FloatUnary, name="llvm.intr.cos", traits=(PURE,)):
    """Cosine."""

    intrinsic = "llvm.cos"


class Tan(_FloatUnary, name="llvm.intr.tan", traits=(PURE,)):
    """Tangent."""

    intrinsic = "llvm.tan"


class Sinh(_FloatUnary, name="llvm.intr.sinh", traits=(PURE,)):
    """Hyperbolic sine."""

    intrinsic = "llvm.sinh"


class Cosh(_FloatUnary, name="llvm.intr.cosh", traits=(PURE,)):
    """Hyperbolic cosine."""

    intrinsic = "llvm.cosh"


class Tanh(_FloatUnary, name="llvm.intr.tanh", traits=(PURE,)):
    """Hyperbolic tangent."""

    intrinsic = "llvm.tanh"


class ASin(_FloatUnary, name="llvm.intr.asin", traits=(PURE,)):
    """Inverse sine."""

    intrinsic = "llvm.asin"


class ACos(_FloatUnary, name="llvm.intr.acos", traits=(PURE,)):
    """Inverse cosine."""

    intrinsic = "llvm.acos"


class ATan(_FloatUnary, name="llvm.intr.atan", traits=(PURE,)):
    """Inverse tangent."""

    intrinsic = "llvm.atan"


class CopySign(_FloatBinary, name="llvm.intr.copysign", traits=(PURE,)):
    """The first's magnitude with the second's sign."""

    intrinsic = "llvm.copysign"


class Pow(_FloatBinary, name="llvm.intr.pow", traits=(PURE,)):
    """Power."""

    intrinsic = "llvm.pow"


class MaxNum(_FloatBinary, name="llvm.intr.maxnum", traits=(PURE, COMMUTATIVE)):
    """The larger; a NaN only if both are."""

    intrinsic = "llvm.maxnum"


class MinNum(_FloatBinary, name="llvm.intr.minnum", traits=(PURE, COMMUTATIVE)):
    """The smaller; a NaN only if both are."""

    intrinsic = "llvm.minnum"


class Maximum(_FloatBinary, name="llvm.intr.maximum", traits=(PURE, COMMUTATIVE)):
    """The larger; NaN if either is."""

    intrinsic = "llvm.maximum"


class Minimum(_FloatBinary, name="llvm.intr.minimum", traits=(PURE, COMMUTATIVE)):
    """The smaller; NaN if either is."""

    intrinsic = "llvm.minimum"


class ATan2(_FloatBinary, name="llvm.intr.atan2", traits=(PURE,)):
    """The angle of a vector."""

    intrinsic = "llvm.atan2"


class FMA(_FloatTernary, name="llvm.intr.fma", traits=(PURE,)):
    """a * b + c, rounded once."""

    intrinsic = "llvm.fma"


class FMulAdd(_FloatTernary, name="llvm.intr.fmuladd", traits=(PURE,)):
    """a * b + c, rounded once or twice."""

    intrinsic = "llvm.fmuladd"


class BitReverse(_IntUnary, name="llvm.intr.bitreverse", traits=(PURE,)):
    """The bits in reverse."""

    intrinsic = "llvm.bitreverse"


class ByteSwap(_IntUnary, name="llvm.intr.bswap", traits=(PURE,)):
    """The bytes in reverse."""

    intrinsic = "llvm.bswap"


class CtPop(_IntUnary, name="llvm.intr.ctpop", traits=(PURE,)):
    """The number of ones."""

    intrinsic = "llvm.ctpop"


class SMax(_IntBinary, name="llvm.intr.smax", traits=(PURE, COMMUTATIVE)):
    """The larger, signed."""

    intrinsic = "llvm.smax"


class SMin(_IntBinary, name="llvm.intr.smin", traits=(PURE, COMMUTATIVE)):
    """The smaller, signed."""

    intrinsic = "llvm.smin"


class UMax(_IntBinary, name="llvm.intr.umax", traits=(PURE, COMMUTATIVE)):
    """The larger, unsigned."""

    intrinsic = "llvm.umax"


class UMin(_IntBinary, name="llvm.intr.umin", traits=(PURE, COMMUTATIVE)):
    """The smaller, unsigned."""

    intrinsic = "llvm.umin"


class SAddSat(_IntBinary, name="llvm.intr.sadd.sat", traits=(PURE,)):
    """Signed addition that saturates."""

    intrinsic = "llvm.sadd.sat"


class UAddSat(_IntBinary, name="llvm.intr.uadd.sat", traits=(PURE,)):
    """Unsigned addition that saturates."""

    intrinsic = "llvm.uadd.sat"


class SSubSat(_IntBinary, name="llvm.intr.ssub.sat", traits=(PURE,)):
    """Signed subtraction that saturates."""

    intrinsic = "llvm.ssub.sat"


class USubSat(_IntBinary, name="llvm.intr.usub.sat", traits=(PURE,)):
    """Unsigned subtraction that saturates."""

    intrinsic = "llvm.usub.sat"


class SShlSat(_IntBinary, name="llvm.intr.sshl.sat", traits=(PURE,)):
    """Signed shift left that saturates."""

    intrinsic = "llvm.sshl.sat"


class UShlSat(_IntBinary, name="llvm.intr.ushl.sat", traits=(PURE,)):
    """Unsigned shift left that saturates."""

    intrinsic = "llvm.ushl.sat"


class FShl(_IntTernary, name="llvm.intr.fshl", traits=(PURE,)):
    """The high half of `a:b` shifted left by `c`."""

    intrinsic = "llvm.fshl"


class FShr(_IntTernary, name="llvm.intr.fshr", traits=(PURE,)):
    """The low half of `a:b` shifted right by `c`."""

    intrinsic = "llvm.fshr"
