"""Rules for a dialect's attributes on ops of other dialects: `nvvm.kernel` on a function, `llvm.noalias` on a
parameter.

    Dialect("nvvm", …, op_attributes={"nvvm.kernel": rule}, parameter_attributes={"nvvm.grid_constant": rule})

A rule returns an error message, or None. An attribute without a rule is not checked. The dialect is imported
when an attribute with its prefix is first verified.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tessera_tools.diagnostics import error
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr
from tessera_tools.ir.core import Operation
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.records import dataclass


@dataclass(frozen=True, slots=True)
class ParameterUse:
    """An attribute of a parameter or a result: its function, its type, and the other attributes."""

    function: Operation
    type: Type
    beside: Mapping[str, Attribute]
    is_result: bool


OpRule = Callable[[Operation, Attribute], str | None]
ParameterRule = Callable[[ParameterUse, Attribute], str | None]
RuleT = TypeVar("RuleT", OpRule, ParameterRule)

_op_rules: dict[str, OpRule | None] = {}
_parameter_rules: dict[str, ParameterRule | None] = {}
_rules_of: dict[tuple[str, ...], list[tuple[str, OpRule]]] = {}
"""The names of an op's attributes → those with a rule. Most ops have none."""


def _rule(known: dict[str, RuleT | None], key: str, table: str) -> RuleT | None:
    """The rule of the attribute `key`, from the dialect of its prefix; cached."""
    prefix, dot, _ = key.partition(".")
    module = DIALECT_MODULES.get(prefix) if dot else None
    rules = getattr(importlib.import_module(module).DIALECT, table) if module is not None else {}
    known[key] = rules.get(key)
    return known[key]


def verify_op_attributes(op: Operation) -> None:
    """Raise an error for the first attribute that violates a rule of its dialect."""
    attributes = op.attributes
    names = tuple(attributes)
    ruled = _rules_of.get(names)
    if ruled is None:
        found = [
            (key, _op_rules[key] if key in _op_rules else _rule(_op_rules, key, "op_attributes"))
            for key in names
        ]
        ruled = _rules_of[names] = [(key, rule) for key, rule in found if rule is not None]
    for key, rule in ruled:
        problem = rule(op, attributes[key])
        if problem is not None:
            raise error(op.location, problem)


def verify_parameters(op: Operation, key: str, noun: str, types: Sequence[Type]) -> None:
    """Raise an error for the first attribute of a parameter or a result (`noun`) of a function that violates a rule.

    `key` is the attribute that holds one dictionary for each of `types`.
    """
    found = op.attributes.get(key)
    if not isinstance(found, ArrayAttr):
        return
    if len(found) != len(types):
        raise op.error(
            f"expects {noun} attribute array to have the same number of elements as the number of function "
            f"{noun}s, got {len(found)}, but expected {len(types)}"
        )
    for type, entry in zip(types, found, strict=True):
        if not isinstance(entry, DictionaryAttr):
            raise op.error(f"expects {noun} attribute dictionary to be a DictionaryAttr, but got `{entry}`")
        beside = dict(entry.entries)
        use = ParameterUse(op, type, beside, noun == "result")
        for name, value in beside.items():
            rule = (
                _parameter_rules[name]
                if name in _parameter_rules
                else _rule(_parameter_rules, name, "parameter_attributes")
            )
            problem = rule(use, value) if rule is not None else None
            if problem is not None:
                raise error(op.location, problem)
