"""Custom directives of the dialect: syntax that the declarative format cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.attributes import DereferenceableAttr
from tessera_tools.dialects.llvm.types import ArrayType, StructType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I32, I64, VectorType
from tessera_tools.opdef import CustomDirective, Op

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.aggregates import ExtractValue, InsertValue, ShuffleVector
    from tessera_tools.dialects.llvm.arith import IntToPtr
    from tessera_tools.dialects.llvm.memory import GEP, Load
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

DYNAMIC_INDEX = -(1 << 31)
"""In `rawConstantIndices`: the index is the next operand."""

GEP_FLAGS = {"inbounds": 3, "inbounds_flag": 1, "nusw": 2, "nuw": 4}
"""Bits of `noWrapFlags`; inbounds implies nusw."""


def gep_flags_text(bits: int) -> str:
    """`inbounds|nuw`."""
    words: list[str] = []
    for word, mask in GEP_FLAGS.items():
        if bits & mask == mask:
            words.append(word)
            bits &= ~mask
    return "|".join(words)


class GEPFlags(CustomDirective, name="GEPFlags"):
    """`inbounds|nuw`, or nothing."""

    grammar = """
    custom: KEYWORD ("|" KEYWORD)* -> present
          | -> absent
    """

    def read(self, state: OpState, node: Node) -> None:
        alias, words = node
        bits = 0
        for token in words if alias == "present" else ():
            if token.text not in GEP_FLAGS and token.text != "none":
                raise state.error(token, f"unknown flag '{token.text}'; expected {', '.join(GEP_FLAGS)}")
            bits |= GEP_FLAGS.get(token.text, 0)
        if bits:
            state.attribute("noWrapFlags", IntegerAttr(bits, I32))

    def write(self, p: Printer, op: GEP) -> None:
        bits = op.no_wrap_flags.value
        if bits:
            p.space()
            p.write(gep_flags_text(bits))


class GEPIndices(CustomDirective, name="GEPIndices"):
    """`[%i, 0, 2]`: values and constants."""

    grammar = """
    custom: "[" [custom_index ("," custom_index)*] "]"
    custom_index: VALUE -> value
                | INTEGER -> number
    """

    def read(self, state: OpState, node: Node) -> None:
        constants: list[int] = []
        for item in node:
            if item is None:
                continue
            alias, (token,) = item
            if alias == "value":
                state.operand("dynamic_indices", token)
                constants.append(DYNAMIC_INDEX)
            else:
                constants.append(integer_of(token.text))
        state.operands("dynamic_indices", [])
        state.attribute("rawConstantIndices", DenseArrayAttr(I32, tuple(constants)))

    def write(self, p: Printer, op: GEP) -> None:
        dynamic = iter(op.dynamic_indices)
        parts = [
            p.name(next(dynamic)) if c == DYNAMIC_INDEX else str(c) for c in op.raw_constant_indices.values
        ]
        p.write(f"[{', '.join(parts)}]")


class Dereferenceable(CustomDirective, name="Dereferenceable"):
    """`dereferenceable<bytes = 8, mayBeNull = true>`, or nothing."""

    grammar = """
    custom: "dereferenceable" "<" custom_entry ("," custom_entry)* ">" -> present
          | -> absent
    custom_entry: KEYWORD "=" INTEGER -> number
                | KEYWORD "=" KEYWORD -> flag
    """

    def read(self, state: OpState, node: Node) -> None:
        alias, entries = node
        if alias == "absent":
            return
        count, nullable = 0, False
        for kind, (key, value) in entries:
            if kind == "number" and key.text == "bytes":
                count = integer_of(value.text)
            elif kind == "flag" and key.text == "mayBeNull" and value.text in ("true", "false"):
                nullable = value.text == "true"
            else:
                raise state.error(key, "expected 'bytes = <integer>' or 'mayBeNull = true|false'")
        state.attribute("dereferenceable", DereferenceableAttr(count, nullable))

    def write(self, p: Printer, op: Load | IntToPtr) -> None:
        if op.dereferenceable is not None:
            p.space()
            p.write(f"dereferenceable{op.dereferenceable.parameters_text()}")


def element_at(container: Type | None, position: tuple[int, ...]) -> Type | None:
    """The type at a position inside structs and arrays; None if there is none."""
    for index in position:
        if (
            isinstance(container, StructType)
            and container.types is not None
            and 0 <= index < len(container.types)
        ):
            container = container.types[index]
        elif isinstance(container, ArrayType) and 0 <= index < container.count:
            container = container.element
        else:
            return None
    return container


class Position(CustomDirective, name="Position"):
    """`[0, 1]` right after an operand."""

    grammar = "custom: integer_array"

    def read(self, state: OpState, node: Node) -> None:
        (tokens,) = node
        state.attribute("position", DenseArrayAttr(I64, tuple(integer_of(t.text) for t in tokens)))

    def write(self, p: Printer, op: ExtractValue | InsertValue) -> None:
        p.write(f"[{', '.join(map(str, op.position.values))}]")


class TrailingSpace(CustomDirective, name="TrailingSpace"):
    """No text; upstream prints a space in place of an inferred type."""

    grammar = "custom: "

    def read(self, state: OpState, node: Node) -> None:
        pass

    def write(self, p: Printer, op: Op) -> None:
        p.write(" ")

    def covers(self) -> tuple[set[str], set[str]]:
        return set(), set()


class Mask(CustomDirective, name="Mask"):
    """`[0, 1, -1]`."""

    grammar = "custom: integer_array"

    def read(self, state: OpState, node: Node) -> None:
        (tokens,) = node
        state.attribute("mask", DenseArrayAttr(I32, tuple(integer_of(t.text) for t in tokens)))

    def write(self, p: Printer, op: ShuffleVector) -> None:
        p.write(f" [{', '.join(map(str, op.mask.values))}]")


def shuffled(vector: Type | None, mask: DenseArrayAttr | None) -> Type | None:
    """The result type of a shuffle."""
    if not isinstance(vector, VectorType) or not mask:
        return None
    return VectorType((len(mask),), vector.element, vector.scalable)
