"""Syntax that several `cuda_tile` ops share: rounding modes, flags, assume predicates, hints."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile.attributes import (
    MEMORY_ORDERING,
    MEMORY_SCOPE,
    BoundedAttr,
    DivByAttr,
    OptimizationHintsAttr,
    RoundingAttr,
    SameElementsAttr,
)
from tessera_tools.dialects.cuda_tile.types import TOKEN, scalar, short_text
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, DictionaryAttr, StringAttr, quote
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I32
from tessera_tools.opdef import CustomDirective

if TYPE_CHECKING:
    from tessera_tools.dialects.cuda_tile.core_ops import Assume, Extract, Insert, PrintTko
    from tessera_tools.ir.core import Value
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef import Op
    from tessera_tools.opdef.directive import Node, OpState, Token

HINTS_GRAMMAR = """
custom_hints: "<" ">" | "<" custom_hint ("," custom_hint)* ">"
custom_hint: [KEYWORD] "=" ATTRIBUTE -> named | STRING "=" ATTRIBUTE -> named | INTEGER ["=" ATTRIBUTE] -> wrong
"""
"""The rule `custom_hints`: `<sm_90 = {num_cta_in_cga = 2}, …>`; to be appended to a directive's grammar."""


def read_hints(state: OpState, node: Node) -> OptimizationHintsAttr:
    """The attribute of `custom_hints`."""
    entries: dict[str, Attribute] = {}
    for kind, (key, *value) in node:
        if kind == "wrong" or key is None:
            raise state.error(key, "expected valid keyword or string, as in '<sm_90 = {occupancy = 2}>'")
        (hints,) = value
        if key.text in entries:
            raise state.error(key, f"duplicate optimization_hints key `{key.text}`")
        if not isinstance(hints, DictionaryAttr):
            raise state.error(
                key,
                f"expected dictionary attribute for optimization_hints entry `{key.text}` got value={hints}",
            )
        entries[key.text] = hints
    return OptimizationHintsAttr.of(entries)


def short_types(types: Iterable[Type]) -> str:
    """Types, comma-separated, as written inside this dialect's ops."""
    return ", ".join(map(short_text, types))


def value_types(values: Iterable[Value]) -> list[Type]:
    """The types of values."""
    return [value.type for value in values]


class HasRoundingMode:
    """An op with the attribute `rounding_mode`."""

    __slots__ = ()
    rounding_modes: ClassVar[tuple[str, ...]] = ()
    """The modes that the op has."""
    read_modes: ClassVar[tuple[str, ...]] = ()
    """The modes that its text may have, if the verifier refuses some of them."""


class Rounding(CustomDirective, name="Rounding"):
    """`rounding<zero>`; nothing (but a space, as the reference leaves one) for the default."""

    grammar = 'custom: ["rounding" "<" KEYWORD ">"]'

    def read(self, state: OpState, node: Node) -> None:
        (mode,) = node
        if mode is None:
            return
        op_class = state.definition.op_class
        assert issubclass(op_class, HasRoundingMode)
        allowed = op_class.read_modes or op_class.rounding_modes
        if mode.text not in allowed:
            modes = ", ".join(f"'{case}'" for case in allowed)
            raise state.error(mode, f"expected rounding mode to be one of: {modes}, got: '{mode.text}'")
        state.attribute(self.arguments[0], RoundingAttr(mode.text))

    def write(self, p: Printer, op: Op) -> None:
        mode = op.attributes.get(self.arguments[0])
        default = op.definition.attribute(self.arguments[0]).default
        if not isinstance(mode, RoundingAttr) or mode is default:
            p.write(" ")
            p.space()
        else:
            p.write(f" rounding<{mode.value}>")


class Keyword(CustomDirective, name="Keyword"):
    """A sequence of keywords of enumerations (`signed`, `equal ordered`), for the given attributes.

    One that is missing is refused here and not by the grammar, so that those before it are looked at first.
    """

    grammar = "custom: [KEYWORD [KEYWORD]]"

    def read(self, state: OpState, node: Node) -> None:
        first, second = node
        given = [token for token in (first, second) if token is not None]
        if len(given) > len(self.arguments):
            raise state.error(given[-1], f"does not take '{given[-1].text}' here")
        for key, token in zip_longest(self.arguments, given):
            kind = state.definition.attribute(key).kind
            try:
                state.attribute(key, kind.build(token or ("",)))
            except ValueError as problem:
                failure = state.error(token, str(problem).removesuffix(", but got: ''"))
                if token is None:
                    raise DiagnosticError(
                        *state.error(None, "expected valid keyword").diagnostics, *failure.diagnostics
                    ) from None
                raise failure from None

    def write(self, p: Printer, op: Op) -> None:
        for key in self.arguments:
            kind = op.definition.attribute(key).kind
            p.write(f" {kind.text(op.attributes[key])}")


class Indices(CustomDirective, name="Indices"):
    """`[%i, %j]`, against the operand before it."""

    grammar = 'custom: "[" [values] "]"'

    def read(self, state: OpState, node: Node) -> None:
        indices = node[0] or []
        state.operands(self.arguments[0], indices)
        state.types(self.arguments[0], [scalar(I32)] * len(indices))

    def write(self, p: Printer, op: Extract | Insert) -> None:
        p.write(f"[{', '.join(map(p.name, op.indices))}]")


class NanFlags(CustomDirective, name="NanFlags"):
    """`flush_to_zero propagate_nan`, each or none, in either order."""

    grammar = """
    custom: custom_flag*
    custom_flag: "flush_to_zero" -> flush_to_zero | "propagate_nan" -> propagate_nan
    """

    def read(self, state: OpState, node: Node) -> None:
        for flag, _ in node:
            if flag in state.attributes:
                raise state.error(None, f"'{flag}' is given twice")
            state.attribute(flag, UNIT)

    def write(self, p: Printer, op: Op) -> None:
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

    def read(self, state: OpState, node: Node) -> None:
        kind, children = node
        if kind == "full":
            predicate = children[0]
            if not isinstance(predicate, DivByAttr | SameElementsAttr | BoundedAttr):
                raise state.error(None, "expected assume predicate attribute")
        elif kind == "div_by":
            divisor, *every = (None if token is None else integer_of(token.text) for token in children)
            assert divisor is not None
            predicate = DivByAttr(divisor, *every)
        elif kind == "same_elements":
            predicate = SameElementsAttr(tuple(integer_of(token.text) for token in children[0]))
        else:
            predicate = BoundedAttr(*(integer_of(bound[0].text) if bound else None for bound in children))
        state.attribute("predicate", predicate)

    def write(self, p: Printer, op: Assume) -> None:
        p.write(f" {op.predicate.body()}")


class Print(CustomDirective, name="Print"):
    """`"format", %a, %b token=%t : tile<f32>, tile<i32> -> token`."""

    grammar = 'custom: [STRING] ("," VALUE)* ["token" "=" VALUE] attr_dict [":" types] ["->" TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        text, *values, token, attributes, types, result = node
        if text is None:
            raise state.error(None, "expected attribute value: the format, in quotes")
        state.attribute("str", StringAttr(text.text))
        state.operands("args", values)
        state.types("args", types or [])
        if token is not None:
            state.operand("token", token)
            state.types("token", [TOKEN])
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("result_token", [TOKEN if result is None else result])

    def write(self, p: Printer, op: PrintTko) -> None:
        p.write(f" {quote(op.str_.value)}")
        for value in op.args:
            p.write(f", {p.name(value)}")
        if op.token is not None:
            p.write(f" token={p.name(op.token)}")
        p.attr_dict(op, elide={"str", "operandSegmentSizes"})
        if op.args:
            p.write(f" : {short_types(value_types(op.args))}")
        p.write(f" -> {short_text(op.result_token.type)}")


class HasOrderings:
    """An op with the attributes `memory_ordering_semantics` and `memory_scope`, on pointers or atomic."""

    __slots__ = ()
    orderings: ClassVar[tuple[str, ...]] = ()
    """The orderings that an error names."""


def read_keywords(state: OpState, ordering: Node, scope: Node) -> None:
    """The two keywords at the head of a memory op on pointers; the verifier checks the combination."""
    for key, kind, token in (
        ("memory_ordering_semantics", MEMORY_ORDERING, ordering),
        ("memory_scope", MEMORY_SCOPE, scope),
    ):
        if token is None:
            continue
        try:
            state.attribute(key, kind.build(token))
        except ValueError:
            op_class = state.definition.op_class
            assert issubclass(op_class, HasOrderings)
            cases = ("tl_blk", "device", "sys") if token is scope else op_class.orderings
            raise wrong_keyword(state, token, key, cases) from None


def wrong_keyword(state: OpState, token: Token, key: str, cases: Iterable[str]) -> DiagnosticError:
    """The error for a keyword that is none of an attribute's."""
    return state.error(
        token,
        "expected string or keyword containing one of the following enum values for attribute "
        f"'{key}' [{', '.join(cases)}]",
    )
