"""The exact remainder of a division whose quotient is rounded toward zero, by a loop.

    |x| ≥ |y|:   k = max(exponent(x) - exponent(y) - mantissa + 1, 0)
                 |x| ← |x| - q · |y| · 2^k, with an integer q of fewer bits than the format: exact

An iteration computes `mantissa - 1` bits of the quotient: most pairs need one iteration, the extreme ones 13 (f32) or
41.
"""

from __future__ import annotations

import math

from tessera_tools.dialects import llvm
from tessera_tools.passes.llvm.math.numbers import Number, scaled


def _exponent(x: Number) -> Number:
    """The exponent of a positive number with a fixed bias, as the format's integer."""
    form = x.format
    subnormal = x < 2.0 ** (1 - form.bias)
    exponent = subnormal.choose(x * 2.0**form.precision, x).bits().shifted(form.mantissa)
    return subnormal.choose(exponent - form.precision, exponent)


def _step(x: Number, y: Number) -> Number:
    """One iteration of the loop."""
    distance = _exponent(x) - _exponent(y) - (x.format.mantissa - 1)
    shifted = scaled(y, (distance > 0).choose(distance, 0))
    # The quotient may have been rounded up to the next integer; the fused operation is exact either way.
    rest = (-(x / shifted).truncated()).fma(shifted, x)
    return (rest < 0.0).choose(rest + shifted, rest)


def remainder(x: Number, y: Number) -> Number:
    """x - trunc(x / y) · y with the sign of x; NaN for an infinite x or a zero y."""
    e = x.e
    magnitude, divisor = abs(x), abs(y)
    undefined = ~((magnitude < math.inf) & (divisor > 0.0))
    start = undefined.choose(0.0, magnitude)
    header, body, after = e.new_block([x.type]), e.new_block(), e.new_block()
    e.open(e.emit(llvm.Br([start.value], dest=header)))
    e.at_depth(header.arguments[0], e.current_depth)
    e.block = header
    left = Number(e, header.arguments[0])
    e.emit(llvm.CondBr((left >= divisor).value, [], [], true_dest=body, false_dest=after))
    e.block = body
    following = _step(left, divisor)
    e.emit(llvm.Br([following.value], dest=header))
    e.close()
    e.block = after
    e.at_depth(header.arguments[0], e.current_depth)
    result = left.with_sign_of(x)
    return undefined.choose(math.nan, result)
