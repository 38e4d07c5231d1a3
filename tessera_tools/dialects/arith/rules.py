"""Matches and applies rules; `rule_text.py` explains their language.

op ─match_rule─▶ Match: the bindings of names ─apply─▶ values and constants, and new ops
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tessera_tools.dialects.arith.attributes import (
    INVERSE_PREDICATE,
    SWAPPED_PREDICATE,
    FastMathFlagsAttr,
    IntegerOverflowFlagsAttr,
)
from tessera_tools.dialects.arith.constant_op import make_constant
from tessera_tools.dialects.arith.constants import (
    Folded,
    bits_of,
    elementwise,
    signed,
    splat_of,
)
from tessera_tools.dialects.arith.numbers import EXACT_IN_DOUBLE, INTEGER
from tessera_tools.dialects.arith.rule_text import (
    Apply,
    Name,
    NoMatch,
    Number,
    Rule,
    Term,
    parse_rule,
    split_rules,
)
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.traits import ConstantLike
from tessera_tools.ir.types import I64, FloatType, IndexType, IntegerType, element_type, width_of
from tessera_tools.records import dataclass, field

CHANGES = {"inverse": INVERSE_PREDICATE, "swapped": SWAPPED_PREDICATE}
FAST = frozenset(FastMathFlagsAttr.cases) - {"none", "fast"}


# -- matching


@dataclass
class Match(Mapping[str, Any]):
    """The bindings of a rule's names; the rule's condition is evaluated on them."""

    root: Any
    bound: dict[str, Any] = field(default_factory=dict)
    ops: list[Any] = field(default_factory=list)

    def match(self, term: Term, value: Value) -> bool:
        """True if a value is what the term describes."""
        if isinstance(term, Name):
            known = self.bound.get(term.name)
            if known is not None:
                return known is value
            if term.is_constant and bits_of(constant_value(value)) is None:
                return False
            self.bound[term.name] = value
            return True
        if isinstance(term, Number):
            return term.equals(constant_value(value), value.type)
        op = value.defining_op
        if type(op) is not term.op_class or op is None or not self.match_op(term, op):
            return False
        if term.label is not None:
            self.bound[term.label] = value
        return True

    def match_op(self, term: Apply, op: Any) -> bool:
        """True if an op, of the term's class, is what the term describes."""
        if term.predicates is not None:
            (word,) = term.words
            if word not in term.predicates:
                self.bound[word] = op.predicate_name
            elif word != op.predicate_name:
                return False
        elif term.words and not op.overflow_flags.flags.issuperset(term.words):
            return False
        self.ops.append(op)
        return all(self.match(t, v) for t, v in zip(term.operands, op.operands, strict=True))

    def flags(self, kind: type) -> frozenset[str]:
        """The flags that all ops of the match have which have flags of that kind."""
        name = "fastmath" if kind is FastMathFlagsAttr else "overflow_flags"
        found = [getattr(op, name) for op in self.ops if hasattr(type(op), name)]
        given = [f.flags if f is not None else frozenset[str]() for f in found]
        return frozenset.intersection(*given) if given else frozenset()

    def __getitem__(self, key: str) -> Any:
        found = self.bound.get(key)
        if found is None:
            if key == "out":
                return self.root.results[0].type
            if key == "w":
                return width_of(self.root.results[0].type)
            if key == "root":
                return self.root
            if key in FAST:
                return key in self.flags(FastMathFlagsAttr)
            raise KeyError(key)
        if isinstance(found, Value) and Name(key).is_constant:
            bits = splat_of(constant_value(found))
            if bits is None:
                raise NoMatch
            return bits
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.bound)

    def __len__(self) -> int:
        return len(self.bound)


def _same_shape(a: Type, b: Type) -> bool:
    return getattr(a, "shape", None) == getattr(b, "shape", None)


def _holds(value: Value, width: int) -> bool:
    """True if the floating-point type of a value represents all integers of that width exactly."""
    element = element_type(value.type)
    if not isinstance(element, FloatType) or element.keyword not in EXACT_IN_DOUBLE:
        return False
    form = floats.FORMATS[element.keyword]
    return form.top == "ieee" and width <= form.fraction + 1


HELPERS: dict[str, Any] = {
    "__builtins__": {},
    "width": lambda value: width_of(value.type),
    "type": lambda value: value.type,
    "is_index": lambda type: isinstance(element_type(type), IndexType),
    "is_integer": lambda type: isinstance(element_type(type), IntegerType),
    "same_shape": _same_shape,
    "is_constant": lambda value: constant_value(value) is not None,
    "signed": signed,
    "holds": _holds,
    "to_nearest": lambda op: op.roundingmode is None or op.roundingmode.value == 0,
    "reflexive": lambda p: p in ("eq", "sle", "sge", "ule", "uge"),
    "true_on_nan": lambda p: p[0] == "u" or p == "true",
    "is_equality": lambda p: p in ("eq", "ne"),
    "is_signed": lambda p: p[0] == "s",
    "is_unsigned": lambda p: p[0] == "u",
}
"""What a condition may call."""


def match_rule(rule: Rule, op: Operation) -> Match | None:
    """The match of a rule at an op of its root's class; None if it does not apply."""
    for pattern in rule.variants:
        match = Match(op)
        if not match.match_op(pattern, op):
            continue
        if any(r is None and op.results[i].has_uses for i, r in enumerate(rule.results)):
            continue
        try:
            if not rule.condition or eval(rule.code, HELPERS, match):
                return match
        except NoMatch:
            continue
    return None


# -- results


@dataclass
class Results:
    """Creates the ops of a rule's result, detached until all are created."""

    match: Match
    made: list[Operation] = field(default_factory=list)
    overflows: set[str] = field(default_factory=set)
    """The flags that the constants rule out."""

    def make(self, term: Term, result: Type) -> Value | Attribute:
        """The value or constant of a term of that type."""
        if isinstance(term, Number):
            return term.attribute(result)
        if isinstance(term, Name):
            return self.match.bound[term.name]
        operands = self.operands_of(term, result)
        known = self.compute(term, operands)
        if known is not None:
            return known
        op = self.create(term, [self.value(*operand) for operand in operands], result)
        self.made.append(op)
        return op.results[0]

    def operands_of(self, term: Apply, result: Type) -> list[tuple[Any, Type]]:
        """The operands, with their types; a number has the type of the other operand."""
        made: list[Any] = [None if isinstance(t, Number) else self.make(t, result) for t in term.operands]
        beside = next((m.type for m in made if m is not None), result)
        numbers = [t.attribute(beside) if isinstance(t, Number) else None for t in term.operands]
        return [(m, m.type) if m is not None else (n, beside) for m, n in zip(made, numbers, strict=True)]

    def compute(self, term: Apply, operands: Sequence[tuple[Any, Type]]) -> Attribute | None:
        """The result of an integer op on constants; None for other ops and operands."""
        mnemonic = term.name.removeprefix("arith.")
        attributes = [constant_value(v) if isinstance(v, Value) else v for v, _ in operands]
        columns = [bits_of(a) for a in attributes]
        if mnemonic not in INTEGER or None in columns:
            return None
        operand_type = operands[0][1]
        width = width_of(operand_type)
        function = INTEGER[mnemonic]
        found = elementwise(lambda a, b: function(a, b, width), attributes, operand_type)
        if found is None:
            raise NoMatch
        exact = {"addi": operator.add, "subi": operator.sub, "muli": operator.mul}.get(mnemonic)
        if exact is not None:
            half = 1 << width >> 1
            for a, b in _rows(attributes):
                if not 0 <= exact(a, b) < 1 << width:
                    self.overflows.add("nuw")
                if not -half <= exact(signed(a, width), signed(b, width)) < half:
                    self.overflows.add("nsw")
        return found

    def value(self, found: Value | Attribute, result: Type) -> Value:
        """A value for a constant."""
        if isinstance(found, Value):
            return found
        op = make_constant(found, result)
        if op is None:
            raise NoMatch
        self.made.append(op)
        return op.results[0]

    def create(self, term: Apply, values: Sequence[Value], result: Type) -> Any:
        """The op, with its flags."""
        root = self.match.root
        if term.predicates is not None:
            (word,) = term.words
            word = self.match.bound.get(word, word)
            if term.change is not None:
                word = CHANGES[term.change][word]
            return term.op_class(IntegerAttr(term.predicates.index(word), I64), *values)
        op = term.op_class(*values, out=result) if hasattr(term.op_class, "out") else term.op_class(*values)
        kept = (self.match.flags(IntegerOverflowFlagsAttr) & set(term.words)) - self.overflows
        if kept:
            op.overflow_flags = IntegerOverflowFlagsAttr.of(kept)
        if "exact" in term.words and all(o.is_exact for o in self.match.ops if hasattr(type(o), "is_exact")):
            op.is_exact = UNIT
        if term.op_class is type(root):
            for name in ("fastmath", "roundingmode"):
                if getattr(root, name, None) is not None:
                    setattr(op, name, getattr(root, name))
        return op


def _rows(attributes: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    columns = [bits_of(a) or [] for a in attributes]
    count = max(map(len, columns))
    return zip(*(c * count if len(c) == 1 else c for c in columns), strict=True)


def apply(rule: Rule, match: Match, rewriter: Rewriter | None) -> list[Value | Attribute] | None:
    """The results of a rule that matched; None if a constant cannot be materialized.

    New ops are inserted through the rewriter, and all results are values then.
    """
    results = Results(match)
    found: list[Any] = []
    try:
        for term, result in zip(rule.results, match.root.results, strict=True):
            made = result if term is None else results.make(term, result.type)
            found.append(results.value(made, result.type) if rewriter is not None else made)
    except NoMatch:
        for op in reversed(results.made):
            op.erase()
        return None
    for op in results.made:
        assert rewriter is not None
        rewriter.insert(op)
    return found


# -- application


class RulePattern(RewritePattern):
    """Applies one rule whose result has ops."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name = rule.text  # type: ignore[misc]
        self.op_class = rule.pattern.op_class  # type: ignore[misc]

    def applies_to(self, operands: Sequence[type[Operation] | None]) -> bool:
        return _may_match(self.rule, operands)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        match = match_rule(self.rule, op)
        values: Any = apply(self.rule, match, rewriter) if match is not None else None
        if values is None:
            return f"not {self.rule.text.partition('->')[0].strip()}"
        rewriter.replace_op(op, values)
        return True


def _may_match(rule: Rule, operands: Sequence[type[Operation] | None]) -> bool:
    """True if the classes of the ops that define the operands allow a match."""
    return any(all(map(_may_be, pattern.operands, operands)) for pattern in rule.variants)


def _may_be(term: Term, cls: Any) -> bool:
    if isinstance(term, Apply):
        return cls is term.op_class
    if isinstance(term, Number) or term.is_constant:
        return cls is not None and cls.has_trait(ConstantLike)
    return True


@functools.cache
def _lines_of(dialect: str) -> dict[str, list[str]]:
    from tessera_tools.opdef.dialect import find_dialect

    found = find_dialect(dialect)
    return split_rules(found.rules) if found is not None else {}


@functools.cache
def rules_of(op_class: type[Operation]) -> list[Rule]:
    """The rules for an op, as its dialect declares them; parsed when the op first occurs."""
    dialect, _, mnemonic = op_class.name.partition(".")
    return [parse_rule(dialect, line) for line in _lines_of(dialect).get(mnemonic, ())]


class Rules(RewritePattern):
    """The rules of all dialects whose results have ops."""

    def for_class(self, op_class: type[Operation]) -> Sequence[RewritePattern]:
        if not isinstance(op_class.name, str):
            return []  # ops of unknown dialects share a class
        return [RulePattern(rule) for rule in rules_of(op_class) if not rule.is_fold]


_folds: dict[tuple[type[Operation] | None, ...], list[Rule]] = {}
"""The rules that may apply to an op of a class with operands defined by ops of such classes."""


def fold_by_rules(op: Operation) -> Folded:
    """The result of the first rule that applies without a new op; None if there is none."""
    operands = [type(made) if (made := v.defining_op) is not None else None for v in op.operands]
    key = (type(op), *operands)
    rules = _folds.get(key)
    if rules is None:
        rules = _folds[key] = [r for r in rules_of(type(op)) if r.is_fold and _may_match(r, operands)]
    for rule in rules:
        match = match_rule(rule, op)
        found = apply(rule, match, None) if match is not None else None
        if found is not None:
            return found
    return None
