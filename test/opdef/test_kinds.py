"""Kinds of attributes and constraints of types that all declared ops have: each answers whatever it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
)
from tessera_tools.ir.types import (
    F16,
    F32,
    I1,
    I8,
    I32,
    I64,
    INDEX,
    FunctionType,
    MemRefType,
    NoneType,
    RankedTensorType,
    TupleType,
    VectorType,
)
from tessera_tools.opdef.dialect import all_dialects

TYPES: tuple[Type, ...] = (
    I1, I8, I32, I64, INDEX, F16, F32, NoneType(), TupleType((I32,)), FunctionType((), ()), VectorType((), F32),
    VectorType((2,), I32), RankedTensorType((), I1), RankedTensorType((2, 3), F32), MemRefType((4,), F32),
)  # fmt: skip
ATTRIBUTES: tuple[Attribute, ...] = (
    UNIT, StringAttr("x"), TypeAttr(I32), TypeAttr(FunctionType((), ())), SymbolRefAttr("x"), ArrayAttr(()),
    ArrayAttr((UNIT,)), ArrayAttr((ArrayAttr(()),)), DictionaryAttr(()), FloatAttr.of(1.0, F32),
    *(IntegerAttr(value, type) for type in (I1, I8, I32, I64, INDEX) for value in (-1, 0)),
    *(DenseArrayAttr(type, values) for type in (I1, I8, I32, I64) for values in ((), (1,))),
    DenseElementsAttr(RankedTensorType((), I32), (0).to_bytes(4, "little")),
)  # fmt: skip


def declarations() -> Iterator[tuple[str, Any]]:
    """The definition of each declared op, by name."""
    for dialect in all_dialects():
        for name, op in dialect.ops.items():
            yield name, op.definition


def test_a_kind_of_attribute_answers_of_every_attribute() -> None:
    """One that is foreign is no fault, and no kind but that of any attribute takes all."""
    for name, definition in declarations():
        for field in definition.attributes:
            taken = [bool(field.kind.check(attribute)) for attribute in ATTRIBUTES]
            assert not all(taken) or field.kind.summary == "any attribute", f"{name}: {field.key}"


@pytest.mark.parametrize("part", ["operands", "results"])
def test_a_constraint_answers_of_every_type(part: str) -> None:
    for _, definition in declarations():
        for field in getattr(definition, part):
            for type in TYPES:
                assert isinstance(field.constraint.accepts(type), bool)
