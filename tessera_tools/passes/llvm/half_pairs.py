"""Floats of 8 and 4 bits as f16, exactly, two at a time: operands of the tensor cores' f16 instructions.

word of codes   c3 c2 c1 c0  (a byte each)
in place        c1 0 c0 0 │ c3 0 c2 0        the sign at f16's sign bit
f16 × 2^n       exponent and fraction moved to f16's; 2^n corrects the bias, also for subnormals
"""

from __future__ import annotations

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.floats import FORMATS
from tessera_tools.ir.types import F16, I32, FloatType, VectorType
from tessera_tools.passes.llvm.emitter import Emitter

HALF_PAIR = VectorType((2,), F16)
_F16 = FORMATS["f16"]


def _both(half: int) -> int:
    """A 16-bit pattern in both halves of a word."""
    return half << 16 | half


def half_pairs(e: Emitter, word: Value, type: Type) -> tuple[Value, Value]:
    """The four codes of `type` in the bytes of a word, low bits first, as two pairs of f16: c0, c1 and c2, c3.

    Requires f8E4M3FN, f8E5M2 or f4E2M1FN, the latter in the low halves of bytes whose high halves are 0.
    """
    assert isinstance(type, FloatType)
    low = e.or_(e.and_(e.shl(word, 8), 0xFF00), e.and_(e.shl(word, 16), 0xFF000000))
    high = e.or_(e.and_(e.lshr(word, 8), 0xFF00), e.and_(word, 0xFF000000))
    return _pair(e, e.constant(low), type), _pair(e, e.constant(high), type)


def _pair(e: Emitter, placed: Value, type: FloatType) -> Value:
    """Two codes, each in the high byte of a half of a word, as f16."""
    form = FORMATS[type.keyword]
    if form.exponent == _F16.exponent and form.width == 8:
        return e.bitcast(placed, HALF_PAIR)
    # The sign goes from the code's top bit, bit 7 + width of its half, to bit 15; the rest to the top of the fraction.
    sign = e.shl(e.and_(placed, _both(1 << 7 + form.width)), 8 - form.width)
    magnitude = e.and_(placed, _both((1 << form.width - 1) - 1 << 8))
    shift = _F16.fraction - form.fraction - 8
    fields = e.constant(e.shl(magnitude, shift) if shift >= 0 else e.lshr(magnitude, -shift))
    factor = (_F16.bias - form.bias + _F16.bias) << _F16.fraction
    pair = e.bitcast(fields, HALF_PAIR), e.bitcast(e.constant(_both(factor)), HALF_PAIR)
    bits = e.bitcast(e.emit(llvm.FMul.create(pair, [HALF_PAIR], {})).results[0], I32)
    if form.top == "nan":
        # One step above the largest number sets the bit above its exponent: from it, an exponent of ones and more.
        step = 1 << _F16.fraction - form.fraction
        above = 1 << _F16.fraction + form.exponent
        carry = e.and_(e.add(fields, _both(step)), _both(above))
        bits = e.or_(bits, e.mul(e.lshr(carry, form.exponent + 1), (1 << form.exponent + 2) - 1))
    return e.bitcast(e.constant(e.or_(bits, sign)), HALF_PAIR)
