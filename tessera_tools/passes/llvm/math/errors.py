"""erf and erfc.

    |x| < 1      erf x = x + x · ERF(x²)
    x ≥ 1/2      erfc x = e^-x² · ERFC(q) / (1 + 2 x), q = (x - 4) / (x + 4)
    x < -1/2     erfc x = 2 - erfc(-x)              between: erfc x = 1 - erf x

x² is computed with its rounding error, because the absolute error of x² is the relative error of e^-x².
"""

from __future__ import annotations

from tessera_tools.passes.llvm.math import coefficients
from tessera_tools.passes.llvm.math.exponentials import exp
from tessera_tools.passes.llvm.math.numbers import Number, polynomial, two_product

_MOST = 28.0
"""Beyond it, erfc is 0 in either format."""


def _near(x: Number) -> Number:
    return x.fma(polynomial(coefficients.ERF, x * x), x)


def _far(x: Number) -> Number:
    """erfc of a number from 1/2 on."""
    x = (x > _MOST).choose(_MOST, x)
    square = two_product(x, x)
    power = exp(-square.high)
    power = power - power * square.low
    return power * (polynomial(coefficients.ERFC, (x - 4.0) / (x + 4.0)) / x.fma(2.0, x.of(1.0)))


def erf(x: Number) -> Number:
    """The error function."""
    magnitude = abs(x)
    large = (1.0 - _far(magnitude)).with_sign_of(x)
    return (magnitude >= 1.0).choose(large, _near(x))


def erfc(x: Number) -> Number:
    """1 - erf(x), accurate also if it is tiny."""
    magnitude = abs(x)
    far = _far(magnitude)
    result = (x < 0.0).choose(2.0 - far, far)
    return (magnitude >= 0.5).choose(result, 1.0 - _near(x))
