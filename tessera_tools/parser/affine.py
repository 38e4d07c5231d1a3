"""Affine maps, `(d0, d1)[s0] -> (d0 + s0 * 4, d1 floordiv 2)`, and integer sets, `(d0) : (d0 - 4 >= 0)`."""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.ir import affine
from tessera_tools.ir.affine import AffineExpr, AffineMap, IntegerSet
from tessera_tools.parser.lexical import TextScanner


class _Names:
    """Dimension and symbol names in scope."""

    def __init__(self, s: TextScanner) -> None:
        self.scanner = s
        self.expressions: dict[str, AffineExpr] = {}
        self.num_dims = self._declare("(", ")", affine.dim)
        self.num_symbols = self._declare("[", "]", affine.symbol) if s.peek("[") else 0

    def _declare(self, open: str, close: str, make: Callable[[int], AffineExpr]) -> int:
        """Bring the names of a list into scope; returns how many."""
        s, known = self.scanner, len(self.expressions)

        def one() -> None:
            at = s.skip()
            name = s.word()
            if name in self.expressions:
                raise s.error(f"redefinition of affine identifier '{name}'", at)
            self.expressions[name] = make(len(self.expressions) - known)

        return len(s.list(open, one, close))

    def sum(self) -> AffineExpr:
        """Terms joined by `+` and `-`."""
        s = self.scanner
        s.nest()
        found = self._product()
        while True:
            if s.optional("+"):
                found = found + self._product()
            elif not s.peek("->") and s.optional("-"):
                found = found - self._product()
            else:
                s.depth -= 1
                return found

    def _product(self) -> AffineExpr:
        s = self.scanner
        found = self._factor()
        while True:
            at = s.skip()
            if s.optional("*"):
                right = self._factor()
                if found.is_symbolic or right.is_symbolic:
                    found = found * right
                    continue
                raise s.error("non-affine expression: one factor must be a symbol or constant", at)
            operator = next((w for w in ("floordiv", "ceildiv", "mod") if s.optional(w)), None)
            if operator is None:
                return found
            right = self._factor()
            if not right.is_symbolic:
                raise s.error(
                    f"non-affine expression: right operand of {operator} must be a symbol or constant", at
                )
            found = {
                "floordiv": lambda a, b: a // b,
                "ceildiv": lambda a, b: a.ceildiv(b),
                "mod": lambda a, b: a % b,
            }[operator](found, right)

    def _factor(self) -> AffineExpr:
        s = self.scanner
        if s.optional("("):
            found = self.sum()
            s.expect(")")
            return found
        if s.optional("-"):
            s.nest()
            negated = self._factor() * affine.constant(-1)
            s.depth -= 1
            return negated
        number = s.optional_integer()
        if number is not None:
            return affine.constant(number)
        at = s.skip()
        name = s.optional_word()
        if name is None:
            raise s.error(f"expected an affine expression, found {s.found()}")
        if name not in self.expressions:
            raise s.error(f"use of undeclared identifier '{name}'", at)
        return self.expressions[name]


def read_affine_map(s: TextScanner) -> AffineMap:
    """`(dims)[symbols] -> (results)`."""
    names = _Names(s)
    s.expect("->")
    results = s.list("(", names.sum, ")")
    return AffineMap(names.num_dims, names.num_symbols, tuple(results))


def read_integer_set(s: TextScanner) -> IntegerSet:
    """`(dims)[symbols] : (constraints)`."""
    names = _Names(s)
    s.expect(":")

    def constraint() -> tuple[AffineExpr, bool]:
        left = names.sum()
        for operator in (">=", "<=", "=="):
            if s.optional(operator):
                right = names.sum()
                return (right - left if operator == "<=" else left - right, operator == "==")
        raise s.error(f"expected '>=', '<=' or '==', found {s.found()}")

    return IntegerSet(names.num_dims, names.num_symbols, tuple(s.list("(", constraint, ")")))
