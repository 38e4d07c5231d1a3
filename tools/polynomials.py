"""The polynomials of the elementary functions: writes tessera_tools/passes/llvm/math/coefficients.py.

    python tools/polynomials.py

Each function has a smooth part, sin(r) = r + r · u · S(u) with u = r², and the part S is interpolated at
Chebyshev nodes in 60 digits, which is within a small factor of the best polynomial of its degree, and its coefficients
rounded to the format. The degree is the least at which the polynomial's error, seen in the function's result, is an
eighth of half a unit in the last place.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, getcontext
from pathlib import Path

getcontext().prec = DIGITS = 60
OUTPUT = Path(__file__).parents[1] / "tessera_tools/passes/llvm/math/coefficients.py"
PRECISIONS = (24, 53)
"""Significant bits of f32 and f64."""
MARGIN = 3
"""The error is less than half a unit by this power of two."""
SAMPLES = 200

Real = Callable[[Decimal], Decimal]
ONE, TWO = Decimal(1), Decimal(2)


def _series(x: Decimal, first: Decimal, step: Callable[[int], Decimal]) -> Decimal:
    """first · (1 + s₁ + s₁s₂ + …), where step(n) is sₙ."""
    total, term, n = Decimal(0), first, 1
    while term and (not total or abs(term) > abs(total).scaleb(-DIGITS)):
        total += term
        term *= step(n)
        n += 1
    return total


def sin(x: Decimal) -> Decimal:
    """The sine of a small angle."""
    return _series(x, x, lambda n: -x * x / (2 * n * (2 * n + 1)))


def cos(x: Decimal) -> Decimal:
    """The cosine of a small angle."""
    return _series(x, ONE, lambda n: -x * x / (2 * n * (2 * n - 1)))


def sinh(x: Decimal) -> Decimal:
    """The hyperbolic sine of a small number."""
    return _series(x, x, lambda n: x * x / (2 * n * (2 * n + 1)))


def atan(x: Decimal) -> Decimal:
    """The arc tangent; the angle is halved until the series is short."""
    halvings = 0
    while abs(x) > Decimal("0.1"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total, power, n = Decimal(0), x, 1
    while abs(power) > abs(x).scaleb(-DIGITS):
        total += power / n
        power *= -x * x
        n += 2
    return total * 2**halvings


def atanh(x: Decimal) -> Decimal:
    """The inverse hyperbolic tangent."""
    return ((1 + x) / (1 - x)).ln() / 2


def tanh(x: Decimal) -> Decimal:
    """The hyperbolic tangent of a small number."""
    return sinh(x) / cosh(x)


def cosh(x: Decimal) -> Decimal:
    """The hyperbolic cosine."""
    return (x.exp() + (-x).exp()) / 2


PI = 4 * atan(ONE)


def erf(x: Decimal) -> Decimal:
    """The error function, of numbers up to 4: terms are up to e^16 times the sum."""
    total, term, n = Decimal(0), x, 0
    while abs(term) > abs(x).scaleb(-DIGITS):
        total += term / (2 * n + 1)
        n += 1
        term *= -x * x / n
    return 2 * total / PI.sqrt()


def scaled_erfc(x: Decimal) -> Decimal:
    """e^x² · erfc(x) of a positive number: by its continued fraction if that is short."""
    if x < 4:
        return (x * x).exp() * (1 - erf(x))
    rest = x
    for n in range(300, 0, -1):
        rest = x + Decimal(n) / 2 / rest
    return 1 / (rest * PI.sqrt())


ERFC_MIDDLE = 4
"""The x at which the argument of the polynomial for erfc is 0."""


def _of_quotient(f: Callable[[Decimal], Decimal]) -> Real:
    """A function of x as one of q = (x - 4) / (x + 4)."""
    return lambda q: f(ERFC_MIDDLE * (1 + q) / (1 - q))


@dataclass(frozen=True)
class Part:
    """A smooth function on an interval (no node may be 0), and the amplification of its error: error of the result,
    relative, over error of the part."""

    name: str
    what: str
    low: Decimal
    high: Decimal
    function: Real
    weight: Real


def _of_square(f: Callable[[Decimal], Decimal]) -> Real:
    return lambda u: f(u.sqrt())


LN2 = TWO.ln()
PARTS = (
    Part("EXP", "exp(r) = 1 + r + r² · EXP(r), |r| ≤ 0.36", Decimal("-0.36"), Decimal("0.361"),
         lambda r: (r.exp() - 1 - r) / (r * r), lambda r: r * r / r.exp()),
    Part("LOG", "log(1 + f) = f + f² · LOG(f), |f| ≤ 0.34", Decimal("-0.34"), Decimal("0.341"),
         lambda f: ((1 + f).ln() - f) / (f * f), lambda f: f * f / abs((1 + f).ln())),
    Part("SIN", "sin(r) = r + r · u · SIN(u), u = r², |r| ≤ π/4", Decimal(0), (PI / 4) ** 2 * Decimal("1.01"),
         _of_square(lambda r: (sin(r) / r - 1) / (r * r)), _of_square(lambda r: r**3 / sin(r))),
    Part("COS", "cos(r) = 1 - u/2 + u² · COS(u), u = r², |r| ≤ π/4", Decimal(0), (PI / 4) ** 2 * Decimal("1.01"),
         _of_square(lambda r: (cos(r) - 1 + r * r / 2) / r**4), _of_square(lambda r: r**4 / cos(r))),
    Part("TAN", "tan(r) = r + r · u · TAN(u), u = r², |r| ≤ π/4", Decimal(0), (PI / 4) ** 2 * Decimal("1.01"),
         _of_square(lambda r: (sin(r) / cos(r) / r - 1) / (r * r)), _of_square(lambda r: r**3 * cos(r) / sin(r))),
    Part("ATAN", "atan(t) = t + t · u · ATAN(u), u = t², 0 ≤ t ≤ 1", Decimal(0), ONE,
         _of_square(lambda t: (atan(t) / t - 1) / (t * t)), _of_square(lambda t: t**3 / atan(t))),
    Part("SINH", "sinh(x) = x + x · u · SINH(u), u = x², |x| ≤ 1", Decimal(0), ONE,
         _of_square(lambda x: (sinh(x) / x - 1) / (x * x)), _of_square(lambda x: x**3 / sinh(x))),
    Part("TANH", "tanh(x) = x + x · u · TANH(u), u = x², |x| ≤ 0.6", Decimal(0), Decimal("0.36"),
         _of_square(lambda x: (tanh(x) / x - 1) / (x * x)), _of_square(lambda x: x**3 / tanh(x))),
    Part("ERF", "erf(x) = x + x · ERF(u), u = x², |x| ≤ 1", Decimal(0), ONE,
         _of_square(lambda x: erf(x) / x - 1), _of_square(lambda x: x / erf(x))),
    Part("ERFC", "e^x² erfc(x) (1 + 2 x) = ERFC(q), q = (x - 4) / (x + 4), x ≥ 1/2", Decimal("-0.778"),
         Decimal("0.751"), _of_quotient(lambda x: scaled_erfc(x) * (1 + 2 * x)),
         _of_quotient(lambda x: 1 / (scaled_erfc(x) * (1 + 2 * x)))),
    Part("ATANH", "atanh(s) = s + s³/3 + s · u² · ATANH(u), u = s², |s| ≤ 0.172", Decimal(0), Decimal("0.0296"),
         _of_square(lambda s: (atanh(s) / s - 1 - s * s / 3) / s**4), _of_square(lambda s: s**5 / atanh(s))),
)  # fmt: skip
EXTRA_BITS = {"ATANH": 9, "ERFC": -3}
"""Bits by which a part must be better: the logarithm of a power is multiplied by an exponent of so many bits.  ERFC has
no exact first term, so that the rounding of its coefficients counts."""


def nodes(part: Part, count: int) -> list[Decimal]:
    """The Chebyshev nodes of the interval."""
    middle, half = (part.low + part.high) / 2, (part.high - part.low) / 2
    return [middle + half * _cos_of_turn(Decimal(2 * i + 1) / (4 * count)) for i in range(count)]


def _cos_of_turn(turn: Decimal) -> Decimal:
    """cos(2π · turn), for less than half a turn."""
    angle = 2 * PI * turn
    return cos(angle) if angle <= PI / 2 else -cos(PI - angle)


def interpolated(points: list[Decimal], values: list[Decimal]) -> list[Decimal]:
    """The coefficients, from the constant on, of the polynomial through points (Newton's form, multiplied out)."""
    table = list(values)
    count = len(points)
    for level in range(1, count):
        for i in range(count - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (points[i] - points[i - level])
    result = [Decimal(0)] * count
    for i in range(count - 1, -1, -1):
        # result = result · (x - points[i]) + table[i]
        result = [(result[k - 1] if k else table[i]) - points[i] * result[k] for k in range(count)]
    return result


def to_format(value: Decimal, precision: int) -> Decimal:
    """The nearest number of f32 or f64."""
    if precision == 53:
        return Decimal(float(value))
    return Decimal(struct.unpack("f", struct.pack("f", float(value)))[0])


def fitted(part: Part, degree: int, precision: int) -> list[Decimal]:
    """Coefficients of the format, from the constant on."""
    points = nodes(part, degree + 1)
    return [to_format(c, precision) for c in interpolated(points, [part.function(x) for x in points])]


def error(part: Part, coefficients: list[Decimal]) -> Decimal:
    """The greatest relative error in the function's result."""
    worst = Decimal(0)
    for i in range(1, SAMPLES):
        x = part.low + (part.high - part.low) * i / SAMPLES
        if not x:
            continue
        value = Decimal(0)
        for coefficient in reversed(coefficients):
            value = value * x + coefficient
        worst = max(worst, abs(value - part.function(x)) * abs(part.weight(x)))
    return worst


def best(part: Part, precision: int) -> tuple[list[Decimal], Decimal]:
    """The shortest polynomial that is good enough, and its error. RuntimeError if there is none."""
    limit = TWO ** -(precision + MARGIN + EXTRA_BITS.get(part.name, 0))
    for degree in range(1, 40):
        coefficients = fitted(part, degree, precision)
        found = error(part, coefficients)
        if found <= limit:
            return coefficients, found
    raise RuntimeError(f"no polynomial for {part.name}")


def module_text() -> str:
    """The module of coefficients."""
    lines = [
        '"""Generated by `python tools/polynomials.py`; do not edit.',
        "",
        "Polynomials of the elementary functions by the format's significant bits: coefficients from the constant on.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "Table = dict[int, tuple[float, ...]]",
    ]
    for part in PARTS:
        made = {precision: best(part, precision) for precision in PRECISIONS}
        lines += ["", f"{part.name}: Table = {{"]
        for precision, (coefficients, _) in made.items():
            lines.append(f"    {precision}: (")
            lines += [f"        {float(c)!r}," for c in coefficients]
            lines.append("    ),")
        bounds = ", ".join(f"2^{float(found.ln() / LN2):.1f}" for _, found in made.values())
        lines += ["}", f'"""{part.what}; relative errors of the result {bounds}."""']
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the module."""
    OUTPUT.write_text(module_text())
    print(f"wrote {OUTPUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
