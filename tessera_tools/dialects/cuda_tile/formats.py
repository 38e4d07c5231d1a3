"""Syntax that several `cuda_tile` ops share: rounding modes, flags, assume predicates, hints."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.cuda_tile.attributes import (
    BoundedAttr,
    DivByAttr,
    OptimizationHintsAttr,
    RoundingAttr,
    SameElementsAttr,
)
from tessera_tools.dialects.cuda_tile.types import TOKEN, short_text
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, DictionaryAttr, IntegerAttr, StringAttr, quote
from tessera_tools.ir.types import I1
from tessera_tools.opdef import CustomDirective

HINTS_GRAMMAR = """
custom_hints: "<" ">" | "<" custom_hint ("," custom_hint)* ">"
custom_hint: KEYWORD "=" ATTR_DICT
"""
"""The rule `custom_hints`: `<sm_90 = {num_cta_in_cga = 2}, …>`; to be appended to a directive's grammar."""


def read_hints(state: Any, node: Any) -> OptimizationHintsAttr:
    """The attribute that `custom_hints` stands for."""
    entries: dict[str, Attribute] = {}
    for key, hints in node:
        if key.text in entries:
            raise state.error(key, f"duplicate optimization_hints key `{key.text}`")
        entries[key.text] = DictionaryAttr.of(hints)
    return OptimizationHintsAttr(DictionaryAttr.of(entries))


def short_types(types: Any) -> str:
    """Types, comma-separated, as written inside this dialect's ops."""
    return ", ".join(map(short_text, types))


def value_types(values: Any) -> list[Type]:
    """The types of values."""
    return [value.type for value in values]


class Rounding(CustomDirective, name="Rounding"):
    """`rounding<zero>`; nothing (but a space, as the reference leaves one) for the default."""

    grammar = 'custom: ["rounding" "<" KEYWORD ">"]'

    def read(self, state: Any, node: Any) -> None:
        (mode,) = node
        if mode is None:
            return
        if mode.text not in RoundingAttr.cases:
            modes = ", ".join(f"'{case}'" for case in RoundingAttr.cases)
            raise state.error(mode, f"expected rounding mode to be one of: {modes}, got: '{mode.text}'")
        state.attribute(self.arguments[0], RoundingAttr(mode.text))

    def write(self, p: Any, op: Any) -> None:
        mode = op.attributes.get(self.arguments[0])
        default = op.definition.fields[self.arguments[0]].default
        if mode is None or mode is default:
            p.write(" ")
            p.space()
        else:
            p.write(f" rounding<{mode.value}>")


class Indices(CustomDirective, name="Indices"):
    """`[%i, %j]`, against the operand before it."""

    grammar = 'custom: "[" [values] "]"'

    def read(self, state: Any, node: Any) -> None:
        state.operands(self.arguments[0], node[0] or [])

    def write(self, p: Any, op: Any) -> None:
        values = getattr(op, self.arguments[0])
        p.write(f"[{', '.join(map(p.name, values))}]")


class NanFlags(CustomDirective, name="NanFlags"):
    """`flush_to_zero propagate_nan`, each or none, in either order."""

    grammar = """
    custom: custom_flag*
    custom_flag: "flush_to_zero" -> flush_to_zero | "propagate_nan" -> propagate_nan
    """

    def read(self, state: Any, node: Any) -> None:
        for flag, _ in node:
            if flag in state.attributes:
                raise state.error(None, f"'{flag}' is given twice")
            state.attribute(flag, UNIT)

    def write(self, p: Any, op: Any) -> None:
        for flag in ("flush_to_zero", "propagate_nan"):
            if flag in op.attributes:
                p.write(f" {flag}")


class AssumePredicate(CustomDirective, name="AssumePredicate"):
    """`div_by<16>`, `same_elements<[2, 4]>`, `bounded<0, ?>`, or the attribute in full."""

    grammar = """
    custom: "div_by" "<" INTEGER ["," "every" INTEGER "along" INTEGER] ">" -> div_by
          | "same_elements" "<" integer_array ">" -> same_elements
          | "bounded" "<" custom_bound "," custom_bound ">" -> bounded
          | ATTRIBUTE -> full
    custom_bound: INTEGER | "?"
    """

    def read(self, state: Any, node: Any) -> None:
        kind, children = node
        if kind == "full":
            predicate = children[0]
            if not isinstance(predicate, DivByAttr | SameElementsAttr | BoundedAttr):
                raise state.error(None, "expected assume predicate attribute")
        elif kind == "div_by":
            predicate = DivByAttr(*(None if token is None else int(token.text, 0) for token in children))
        elif kind == "same_elements":
            predicate = SameElementsAttr(tuple(int(token.text, 0) for token in children[0]))
        else:
            predicate = BoundedAttr(*(int(bound[0].text, 0) if bound else None for bound in children))
        state.attribute("predicate", predicate)

    def write(self, p: Any, op: Any) -> None:
        p.write(f" {op.predicate.body()}")


class Print(CustomDirective, name="Print"):
    """`"format", %a, %b token=%t : tile<f32>, tile<i32> -> token`."""

    grammar = 'custom: STRING ("," VALUE)* ["token" "=" VALUE] attr_dict [":" types] ["->" TYPE]'

    def read(self, state: Any, node: Any) -> None:
        text, *values, token, attributes, types, result = node
        state.attribute("str", StringAttr(text.text))
        state.operands("args", values)
        state.types("args", types or [])
        if token is not None:
            state.operand("token", token)
            state.types("token", [TOKEN])
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("result_token", [TOKEN if result is None else result])

    def write(self, p: Any, op: Any) -> None:
        p.write(f" {quote(op.str_.value)}")
        for value in op.args:
            p.write(f", {p.name(value)}")
        if op.token is not None:
            p.write(f" token={p.name(op.token)}")
        p.attr_dict(op, elide={"str", "operandSegmentSizes"})
        if op.args:
            p.write(f" : {short_types(value_types(op.args))}")
        p.write(f" -> {short_text(op.result_token.type)}")


def check_hints(op: Any, names: tuple[str, ...]) -> None:
    """Every optimization hint of the op is one of `names`, for a known architecture, with a value that it takes."""
    hints = op.optimization_hints
    for architecture, entry in hints.value.entries if hints is not None else ():
        if architecture not in HINT_TARGETS:
            raise op.error(f"unknown hint key {architecture}")
        for name, value in entry.entries:
            if name not in names:
                raise op.error(f"{name} is not known hint for current Operation")
            _check_hint(op, f"{architecture}.{name}", architecture, name, value)


HINT_TARGETS = (
    "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121", "default",
)  # fmt: skip
"""The keys of optimization hints."""


def _check_hint(op: Any, place: str, architecture: str, name: str, value: Any) -> None:
    if name == "allow_tma":
        if not isinstance(value, IntegerAttr) or value.type is not I1:
            raise op.error(f"boolean value expected for {place}")
        return
    if not isinstance(value, IntegerAttr):
        raise op.error(f"integer value expected for {place}")
    number = value.value
    if name == "num_cta_in_cga":
        if architecture in ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89") and number != 1:
            raise op.error(f"expected 1 for {place}")
        if number not in (1, 2, 4, 8, 16):
            raise op.error(f"expected power-of-two ≤ 16 for {place}")
    elif name == "num_worker_warps_per_cta" and number not in (4, 8):
        raise op.error(f"expected 4 or 8 for {place}")
    elif name == "latency" and not 1 <= number <= 10:
        raise op.error(f"value out of range [1, 10] for {place}")
    elif name == "occupancy" and not 1 <= number <= 32:
        raise op.error(f"value out of range [1, 32] for {place}")
