"""Affine expressions, maps and integer sets, with MLIR's simplifications and spelling.

    (d0, d1)[s0] -> (d0 + s0 * 4, d1 floordiv 2)        (d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)

Expressions are immutable and interned: equal expressions are the same object.  They are simplified as they are built
(constants to the right and folded, `d0 + 2 + 3` is `d0 + 5`), by the rules of MLIR's AffineExpr.cpp, because the
simplified form is what is printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tessera_tools.records import dataclass


class AffineExpr:
    """An affine expression.  `kind` is "dim", "symbol", "constant", or an operator of `OPERATORS`.

    Leaves have a `value` (position or constant), operators a `lhs` and a `rhs`.  Build from `dim`, `symbol` and
    `constant` with `+ - * // %` (`//` is floordiv, `%` is mod) and `ceildiv`.
    """

    __slots__ = ("_lhs", "_rhs", "kind", "value")

    kind: str
    value: int
    _lhs: AffineExpr | None
    _rhs: AffineExpr | None

    OPERATORS: ClassVar[tuple[str, ...]] = ("+", "*", "mod", "floordiv", "ceildiv")
    _instances: ClassVar[dict[tuple[object, ...], AffineExpr]] = {}

    def __new__(cls, kind: str, value: int = 0, lhs: AffineExpr | None = None, rhs: AffineExpr | None = None):
        key = (kind, value, lhs, rhs)
        found = cls._instances.get(key)
        if found is None:
            found = super().__new__(cls)
            found.kind, found.value, found._lhs, found._rhs = key
            cls._instances[key] = found
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return (AffineExpr, (self.kind, self.value, self._lhs, self._rhs))

    def __copy__(self) -> AffineExpr:
        return self

    def __deepcopy__(self, memo: object) -> AffineExpr:
        return self

    @property
    def lhs(self) -> AffineExpr:
        assert self._lhs is not None
        return self._lhs

    @property
    def rhs(self) -> AffineExpr:
        assert self._rhs is not None
        return self._rhs

    # -- building

    def __add__(self, other: AffineExpr | int) -> AffineExpr:
        return _add(self, _expr(other))

    def __radd__(self, other: int) -> AffineExpr:
        return _add(_expr(other), self)

    def __neg__(self) -> AffineExpr:
        return self * -1

    def __sub__(self, other: AffineExpr | int) -> AffineExpr:
        return self + _expr(other) * -1

    def __rsub__(self, other: int) -> AffineExpr:
        return _expr(other) - self

    def __mul__(self, other: AffineExpr | int) -> AffineExpr:
        return _mul(self, _expr(other))

    def __rmul__(self, other: int) -> AffineExpr:
        return _mul(_expr(other), self)

    def __floordiv__(self, other: AffineExpr | int) -> AffineExpr:
        return _floordiv(self, _expr(other))

    def __mod__(self, other: AffineExpr | int) -> AffineExpr:
        return _mod(self, _expr(other))

    def ceildiv(self, other: AffineExpr | int) -> AffineExpr:
        return _ceildiv(self, _expr(other))

    # -- queries

    @property
    def is_constant(self) -> bool:
        return self.kind == "constant"

    @property
    def is_symbolic(self) -> bool:
        """True if no dimension occurs."""
        if self._lhs is None or self._rhs is None:
            return self.kind != "dim"
        return self._lhs.is_symbolic and self._rhs.is_symbolic

    def known_divisor(self) -> int:
        """The largest constant that is known to divide the value (0 for the constant 0)."""
        if self.kind == "constant":
            return abs(self.value)
        if self._lhs is None or self._rhs is None:
            return 1
        if self.kind in ("floordiv", "ceildiv"):
            divisor = self._rhs.value if self._rhs.is_constant else 0
            whole = self._lhs.known_divisor()
            return abs(whole // divisor) if divisor and whole % divisor == 0 else 1
        if self.kind == "*":
            return self._lhs.known_divisor() * self._rhs.known_divisor()
        return math.gcd(self._lhs.known_divisor(), self._rhs.known_divisor())

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
        """The value at a point.  Raises ValueError if a divisor or modulus is not positive."""
        if self.kind == "constant":
            return self.value
        if self.kind == "dim":
            return dims[self.value]
        if self.kind == "symbol":
            return symbols[self.value]
        left, right = self.lhs.evaluate(dims, symbols), self.rhs.evaluate(dims, symbols)
        if self.kind == "+":
            return left + right
        if self.kind == "*":
            return left * right
        if right <= 0:
            raise ValueError(f"{self.kind} by {right}, which is not positive")
        if self.kind == "mod":
            return left % right
        return left // right if self.kind == "floordiv" else -(-left // right)

    def substitute(
        self, dims: Sequence[AffineExpr] | Mapping[int, AffineExpr] = (), symbols: Sequence[AffineExpr] = ()
    ) -> AffineExpr:
        """The expression with dimension i replaced by `dims[i]` and symbol i by `symbols[i]`, if given."""
        if self.kind == "dim":
            known = self.value in dims if isinstance(dims, Mapping) else self.value < len(dims)
            return dims[self.value] if known else self
        if self.kind == "symbol":
            return symbols[self.value] if self.value < len(symbols) else self
        if self._lhs is None or self._rhs is None:
            return self
        return binary(self.kind, self._lhs.substitute(dims, symbols), self._rhs.substitute(dims, symbols))

    def uses_dim(self, position: int) -> bool:
        """True if dimension `position` occurs."""
        if self._lhs is None or self._rhs is None:
            return self.kind == "dim" and self.value == position
        return self._lhs.uses_dim(position) or self._rhs.uses_dim(position)

    def __repr__(self) -> str:
        return f"<AffineExpr {self}>"

    def __str__(self) -> str:
        return _text(self, False)


def dim(position: int) -> AffineExpr:
    """`d<position>`."""
    return AffineExpr("dim", position)


def symbol(position: int) -> AffineExpr:
    """`s<position>`."""
    return AffineExpr("symbol", position)


def constant(value: int) -> AffineExpr:
    """An integer."""
    return AffineExpr("constant", value)


def binary(kind: str, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """`lhs kind rhs`, simplified; `kind` is one of `AffineExpr.OPERATORS`."""
    return _BUILD[kind](lhs, rhs)


def _expr(value: AffineExpr | int) -> AffineExpr:
    return value if isinstance(value, AffineExpr) else constant(value)


def _factors(expr: AffineExpr) -> tuple[AffineExpr, int]:
    """(e, c) with expr = e * c."""
    if expr.kind == "*" and expr.rhs.is_constant:
        return expr.lhs, expr.rhs.value
    return expr, 1


def _add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    # c + c' = c''
    if lhs.is_constant and rhs.is_constant:
        return constant(lhs.value + rhs.value)
    # c + e = e + c, s + d = d + s, d1 + d0 = d0 + d1, s1 + s0 = s0 + s1
    if lhs.is_constant or (lhs.is_symbolic and not rhs.is_symbolic) or _out_of_order(lhs, rhs):
        return _add(rhs, lhs)
    # e + 0 = e
    if rhs.is_constant and rhs.value == 0:
        return lhs
    # (e + c) + c' = e + c''
    constant_tail = lhs.kind == "+" and lhs.rhs.is_constant
    if constant_tail and rhs.is_constant:
        return _add(lhs.lhs, constant(lhs.rhs.value + rhs.value))
    # e * c + e * c' = e * c''
    (left, left_factor), (right, right_factor) = _factors(lhs), _factors(rhs)
    if left is right:
        return _mul(left, constant(left_factor + right_factor))
    # (e + c) + f = (e + f) + c
    if constant_tail:
        return _add(_add(lhs.lhs, rhs), lhs.rhs)
    # e - (e floordiv q) * q = e mod q
    remainder = _remainder(lhs, rhs)
    if remainder is not None:
        return remainder
    # (e + f) + (g floordiv q) * r = e + (f + (g floordiv q) * r), if the inner sum becomes simpler
    if lhs.kind == "+" and rhs.kind == "*" and rhs.lhs.kind == "floordiv":
        inner = _add(lhs.rhs, rhs)
        if inner is not AffineExpr("+", 0, lhs.rhs, rhs):
            return _add(lhs.lhs, inner)
    return AffineExpr("+", 0, lhs, rhs)


def _out_of_order(lhs: AffineExpr, rhs: AffineExpr) -> bool:
    """True if both are dimensions or both are symbols, and the one with the higher position is first."""
    return lhs.kind in ("dim", "symbol") and lhs.kind == rhs.kind and lhs.value > rhs.value


def _remainder(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """`lhs mod q` if rhs is `(lhs floordiv q) * -q`, or `(lhs floordiv q) * q * -1` with a symbolic q."""
    if rhs.kind != "*" or not rhs.rhs.is_constant:
        return None
    product, factor = rhs.lhs, rhs.rhs.value
    if factor == -1 and product.kind == "*" and product.lhs.kind == "floordiv":
        quotient = product.lhs
        return _mod(lhs, product.rhs) if quotient.lhs is lhs and quotient.rhs is product.rhs else None
    if product.kind == "floordiv" and product.lhs is lhs and product.rhs.is_constant:
        divisor = product.rhs.value
        return _mod(lhs, product.rhs) if divisor > 0 and divisor == -factor else None
    return None


def _mul(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    if lhs.is_constant and rhs.is_constant:
        return constant(lhs.value * rhs.value)
    if not lhs.is_symbolic and not rhs.is_symbolic:
        raise ValueError(
            "non-affine expression: at least one of the multiply operands has to be either a constant or symbolic"
        )
    # s * d = d * s, c * e = e * c, s1 * s0 = s0 * s1
    if not rhs.is_symbolic or lhs.is_constant or _out_of_order(lhs, rhs):
        return _mul(rhs, lhs)
    if rhs.is_constant:
        # e * 1 = e, e * 0 = 0
        if rhs.value in (0, 1):
            return lhs if rhs.value else rhs
        # (e * c) * c' = e * c''
        if lhs.kind == "*" and lhs.rhs.is_constant:
            return _mul(lhs.lhs, constant(lhs.rhs.value * rhs.value))
    # (e * c) * s = (e * s) * c
    if lhs.kind == "*" and lhs.rhs.is_constant:
        return _mul(_mul(lhs.lhs, rhs), lhs.rhs)
    return AffineExpr("*", 0, lhs, rhs)


def _check_divisor(kind: str, rhs: AffineExpr) -> None:
    if not rhs.is_symbolic:
        raise ValueError(
            f"non-affine expression: right operand of {kind} has to be either a constant or symbolic"
        )


def _floordiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    _check_divisor("floordiv", rhs)
    if rhs.is_constant and rhs.value != 0:
        simple = _exact_quotient(lhs, rhs.value)
        if simple is not None:
            return simple
        if lhs.is_constant:
            return constant(lhs.value // rhs.value)
        # (e + f) floordiv c = e floordiv c + f floordiv c, if c divides e or f
        if lhs.kind == "+" and 0 in (
            lhs.lhs.known_divisor() % rhs.value,
            lhs.rhs.known_divisor() % rhs.value,
        ):
            return _add(_floordiv(lhs.lhs, rhs), _floordiv(lhs.rhs, rhs))
    return AffineExpr("floordiv", 0, lhs, rhs)


def _exact_quotient(lhs: AffineExpr, divisor: int) -> AffineExpr | None:
    """e / 1 = e, and (e * c) / c' = e * c'' where c' divides c; the same for floordiv and ceildiv."""
    if divisor == 1:
        return lhs
    base, factor = _factors(lhs)
    if base is not lhs and factor % divisor == 0:
        return _mul(base, constant(factor // divisor))
    return None


def _ceildiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    _check_divisor("ceildiv", rhs)
    if rhs.is_constant and rhs.value != 0:
        simple = _exact_quotient(lhs, rhs.value)
        if simple is not None:
            return simple
        if lhs.is_constant:
            return constant(-(-lhs.value // rhs.value))
    return AffineExpr("ceildiv", 0, lhs, rhs)


def _mod(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    _check_divisor("mod", rhs)
    if rhs.is_constant and rhs.value > 0:
        if lhs.is_constant:
            return constant(lhs.value % rhs.value)
        # e mod c = 0, if c divides e
        if lhs.known_divisor() % rhs.value == 0:
            return constant(0)
        # (e + f) mod c = f mod c, if c divides e; likewise for f
        if lhs.kind == "+":
            if lhs.lhs.known_divisor() % rhs.value == 0:
                return _mod(lhs.rhs, rhs)
            if lhs.rhs.known_divisor() % rhs.value == 0:
                return _mod(lhs.lhs, rhs)
        # (e mod c) mod c' = e mod c', if c' divides c
        inner = lhs.rhs.value if lhs.kind == "mod" and lhs.rhs.is_constant else 0
        if inner > 0 and inner % rhs.value == 0:
            return _mod(lhs.lhs, rhs)
    return AffineExpr("mod", 0, lhs, rhs)


_BUILD = {"+": _add, "*": _mul, "mod": _mod, "floordiv": _floordiv, "ceildiv": _ceildiv}


def _text(expr: AffineExpr, tight: bool) -> str:
    """MLIR's text; if `tight` is set, a sum needs parentheses."""
    if expr.kind == "constant":
        return str(expr.value)
    if expr.kind in ("dim", "symbol"):
        return f"{expr.kind[0]}{expr.value}"
    left, right = expr.lhs, expr.rhs
    if expr.kind == "+":
        base, factor = _factors(right)
        text = _text(left, False)
        if right.is_constant and right.value < 0:
            text += f" - {-right.value}"
        elif factor == -1:
            text += f" - {_text(base, base.kind == '+')}"
        elif factor < -1:
            text += f" - {_text(base, True)} * {-factor}"
        else:
            text += f" + {_text(right, False)}"
    elif expr.kind == "*" and right.is_constant and right.value == -1:
        text = f"-{_text(left, True)}"
    else:
        text = f"{_text(left, True)} {expr.kind} {_text(right, True)}"
    return f"({text})" if tight else text


@dataclass(frozen=True, slots=True)
class AffineMap:
    """`(d0, …)[s0, …] -> (results)`."""

    num_dims: int
    num_symbols: int
    results: tuple[AffineExpr, ...]

    @classmethod
    def identity(cls, rank: int) -> AffineMap:
        """`(d0, …) -> (d0, …)`."""
        return cls(rank, 0, tuple(map(dim, range(rank))))

    @classmethod
    def constant(cls, *values: int) -> AffineMap:
        """`() -> (values)`."""
        return cls(0, 0, tuple(map(constant, values)))

    @property
    def is_identity(self) -> bool:
        return len(self.results) == self.num_dims and all(e is dim(i) for i, e in enumerate(self.results))

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> tuple[int, ...]:
        """The results at a point.  Raises ValueError if the number of dimensions or symbols does not match."""
        if len(dims) != self.num_dims or len(symbols) != self.num_symbols:
            raise ValueError(
                f"{self} takes {self.num_dims} dimensions and {self.num_symbols} symbols, "
                f"got {len(dims)} and {len(symbols)}"
            )
        return tuple(e.evaluate(dims, symbols) for e in self.results)

    def compose(self, inner: AffineMap) -> AffineMap:
        """`self ∘ inner`: this map on the results of `inner`; `inner`'s symbols come after this map's own."""
        if len(inner.results) != self.num_dims:
            raise ValueError(
                f"{self} takes {self.num_dims} dimensions, {inner} has {len(inner.results)} results"
            )
        shifted = [symbol(self.num_symbols + i) for i in range(inner.num_symbols)]
        dims = [e.substitute((), shifted) for e in inner.results]
        return AffineMap(
            inner.num_dims,
            self.num_symbols + inner.num_symbols,
            tuple(e.substitute(dims) for e in self.results),
        )

    def substitute(
        self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr], num_dims: int, num_symbols: int
    ) -> AffineMap:
        """The map over `num_dims` and `num_symbols` new variables in which the old ones are replaced."""
        return AffineMap(num_dims, num_symbols, tuple(e.substitute(dims, symbols) for e in self.results))

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results))
        return f"{_variables(self.num_dims, self.num_symbols)} -> ({results})"


@dataclass(frozen=True, slots=True)
class IntegerSet:
    """`(d0, …)[s0, …] : (e == 0, f >= 0)`; a constraint is (expression, whether it is an equality)."""

    num_dims: int
    num_symbols: int
    constraints: tuple[tuple[AffineExpr, bool], ...]

    def contains(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> bool:
        """True if a point satisfies every constraint."""
        values = ((e.evaluate(dims, symbols), equal) for e, equal in self.constraints)
        return all(value == 0 if equal else value >= 0 for value, equal in values)

    def substitute(
        self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr], num_dims: int, num_symbols: int
    ) -> IntegerSet:
        """The set over `num_dims` and `num_symbols` new variables in which the old ones are replaced."""
        constraints = tuple((e.substitute(dims, symbols), equal) for e, equal in self.constraints)
        return IntegerSet(num_dims, num_symbols, constraints)

    def __str__(self) -> str:
        constraints = ", ".join(f"{e} {'==' if equal else '>='} 0" for e, equal in self.constraints)
        return f"{_variables(self.num_dims, self.num_symbols)} : ({constraints})"


def _variables(dims: int, symbols: int) -> str:
    text = f"({', '.join(f'd{i}' for i in range(dims))})"
    return text + (f"[{', '.join(f's{i}' for i in range(symbols))}]" if symbols else "")
