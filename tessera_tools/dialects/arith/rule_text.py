"""Identities as text: `addi(subi(a, b), b) -> a`.

    text ─parse─▶ Rule ─┬─ the result is a value or a constant: applied by `fold_by_rules`, from the op's `fold`
                        └─ the result has ops: a `RulePattern`, which `canonicalize` applies

A rule is `PATTERN -> RESULT [if CONDITION]`, in the syntax of Python's expressions:

    addi(x, y)        the op of the dialect; the operands of a commutative op match in both orders
    x                 any value; one name is one value
    c, c0, c1         a constant operand; in a condition the bits of a scalar or splat
    0, -1, 1.0, inf   this constant, of the type that its place has; also smin, smax (the extreme signed integers),
                      nan, and poison
    z := andi(x, y)   names the value of a nested op
    cmpi[slt](x, y)   a comparison with a predicate; another name than a predicate's matches any, and a result
                      may write inverse(p) or swapped(p)
    muli[nuw](x, y)   in a pattern: the op must have the flags; in a result: the flags to keep, where all ops of the
                      pattern have them and the constants of the result combine without that overflow
    (x, None)         the results of an op with several; None for one that must have no use

In a result, an op on constants only is folded; an op of the class of the pattern's root keeps its fast-math flags
and rounding mode. A cast has the type of the result.

A condition sees the names of the pattern, `out` (the type of the result), `w` (the width of its elements), the words
of fast-math flags (whether all ops of the pattern that have such flags have this one), and the functions in `HELPERS`.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

from tessera_tools.dialects.arith.attributes import (
    CMPF_PREDICATES,
    CMPI_PREDICATES,
)
from tessera_tools.dialects.arith.constants import (
    constant,
    splat_of,
)
from tessera_tools.dialects.arith.numbers import EXACT_IN_DOUBLE
from tessera_tools.dialects.ub import PoisonAttr
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.traits import Commutative
from tessera_tools.ir.types import FloatType, IndexType, IntegerType, bit_width, element_type
from tessera_tools.records import dataclass

NUMBERS = ("smin", "smax", "inf", "nan", "poison")


class NoMatch(Exception):
    """The rule does not apply after all."""


# -- terms


@dataclass(frozen=True)
class Name:
    """Any value, or a constant."""

    name: str

    @property
    def is_constant(self) -> bool:
        return re.fullmatch(r"c\d*", self.name) is not None


@dataclass(frozen=True)
class Number:
    """A certain constant: a number, or one of the words in `NUMBERS`."""

    value: int | float | str

    def bits(self, type: Type) -> int | None:
        """The bits of the number in an element of the type; None if the type cannot represent it."""
        element = element_type(type)
        if isinstance(element, FloatType):
            if element.keyword not in EXACT_IN_DOUBLE or self.value in ("smin", "smax", "poison"):
                return None
            try:
                return floats.encode(float(self.value), element.keyword)
            except ValueError:
                return None
        if not isinstance(element, IntegerType | IndexType) or isinstance(self.value, float):
            return None
        width = bit_width(element)
        if isinstance(self.value, str):
            least = 1 << width >> 1
            return {"smin": least, "smax": least - 1}.get(self.value) if width else None
        return self.value & ((1 << width) - 1)

    def attribute(self, type: Type) -> Attribute:
        """The constant of a type."""
        if self.value == "poison":
            return PoisonAttr()
        bits = self.bits(type)
        found = constant(type, [bits]) if bits is not None else None
        if found is None:
            raise NoMatch
        return found

    def equals(self, attribute: Attribute | None, type: Type) -> bool:
        """True if a constant of the type is this one."""
        if self.value == "poison" or isinstance(attribute, PoisonAttr):
            return self.value == "poison" and isinstance(attribute, PoisonAttr)
        bits = splat_of(attribute)
        if bits is None:
            return False
        if self.value == "nan":
            element = element_type(type)
            return (
                isinstance(element, FloatType)
                and element.keyword in EXACT_IN_DOUBLE
                and math.isnan(floats.decode(bits, element.keyword))
            )
        return bits == self.bits(type)


@dataclass(frozen=True)
class Apply:
    """An op of the dialect on operands."""

    name: str
    operands: tuple[Term, ...]
    label: str | None = None
    words: tuple[str, ...] = ()
    """Flags, or the predicate of a comparison."""
    change: str | None = None
    """What a result does with a predicate: `inverse` or `swapped`."""

    @functools.cached_property
    def op_class(self) -> Any:
        from tessera_tools.opdef.dialect import find_op

        found = find_op(self.name)
        if found is None:
            raise ValueError(f"a rule names '{self.name}', which no dialect has")
        return found

    @property
    def predicates(self) -> tuple[str, ...] | None:
        """The predicates of a comparison; None for other ops."""
        return {"arith.cmpi": CMPI_PREDICATES, "arith.cmpf": CMPF_PREDICATES}.get(self.name)


Term = Name | Number | Apply


# -- text


@dataclass(frozen=True)
class Rule:
    """One identity."""

    text: str
    pattern: Apply
    results: tuple[Term | None, ...]
    condition: str = ""

    @functools.cached_property
    def code(self) -> CodeType:
        """The condition, compiled."""
        return compile(self.condition, f"<{self.text}>", "eval")

    @functools.cached_property
    def variants(self) -> tuple[Apply, ...]:
        """The pattern with the operands of its commutative ops in each order."""
        return tuple(dict.fromkeys(_orders(self.pattern)))

    @property
    def is_fold(self) -> bool:
        """True if the results are values and constants."""
        return all(isinstance(result, Name | Number) for result in self.results)


def _orders(term: Term) -> Iterator[Any]:
    if not isinstance(term, Apply):
        yield term
        return
    swaps = term.op_class.has_trait(Commutative) and len(term.operands) == 2
    for operands in itertools.product(*(list(_orders(t)) for t in term.operands)):
        for order in (operands, operands[::-1]) if swaps else (operands,):
            yield Apply(term.name, tuple(order), term.label, term.words, term.change)


def split_rules(text: str) -> dict[str, list[str]]:
    """The rules of a text, one a line, by the name of the op of the pattern; `#` begins a comment."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line:
            found.setdefault(re.split(r"\W", line, maxsplit=1)[0], []).append(line)
    return found


def parse_rule(dialect: str, line: str) -> Rule:
    """Parse one rule. Raises ValueError if it is invalid."""
    left, arrow, right = line.partition("->")
    right, _, condition = right.partition(" if ")
    try:
        tree = ast.parse(f"[{left.strip()}, {right.strip()}]", mode="eval").body
    except SyntaxError as problem:
        raise ValueError(f"not a rule: '{line}': {problem.msg}") from None
    sides = tree.elts if isinstance(tree, ast.List) else []
    if not arrow or len(sides) != 2:
        raise ValueError(f"not a rule: '{line}': expected OP(…) -> RESULT")
    pattern = _term(sides[0], dialect)
    parts = sides[1].elts if isinstance(sides[1], ast.Tuple) else [sides[1]]
    results = [
        None if isinstance(part, ast.Constant) and part.value is None else _term(part, dialect)
        for part in parts
    ]
    if not isinstance(pattern, Apply):
        raise ValueError(f"not a rule: '{line}': the pattern is not an op")
    unknown = {name for result in results if result is not None for name in _names(result)} - set(
        _names(pattern)
    )
    if unknown:
        raise ValueError(f"'{line}': '{unknown.pop()}' is undefined")
    return Rule(line, pattern, tuple(results), condition.strip())


def _names(term: Term) -> Iterator[str]:
    if isinstance(term, Name):
        yield term.name
    elif isinstance(term, Apply):
        if term.label is not None:
            yield term.label
        if term.predicates is not None and term.words[0] not in term.predicates:
            yield term.words[0]
        for operand in term.operands:
            yield from _names(operand)


def _term(node: ast.expr, dialect: str) -> Term:
    match node:
        case ast.Name(id=name):
            return Number(name) if name in NUMBERS else Name(name)
        case ast.Constant(value=int() | float() as value):
            return Number(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Number(-value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
            return Number("-inf")
        case ast.NamedExpr(target=ast.Name(id=label), value=value):
            made = _term(value, dialect)
            if isinstance(made, Apply):
                return Apply(made.name, made.operands, label, made.words, made.change)
        case ast.Call(func=function, args=arguments):
            words: tuple[str, ...] = ()
            change = None
            if isinstance(function, ast.Subscript):
                inside = function.slice
                if isinstance(inside, ast.Call) and isinstance(inside.func, ast.Name):
                    change, inside = inside.func.id, inside.args[0]
                listed = inside.elts if isinstance(inside, ast.Tuple) else [inside]
                words = tuple(ast.unparse(word) for word in listed)
                function = function.value
            operands = tuple(_term(argument, dialect) for argument in arguments)
            return Apply(f"{dialect}.{ast.unparse(function)}", operands, None, words, change)
    raise ValueError(f"'{ast.unparse(node)}' is not a term of a rule")
