"""Kinds of attributes and constraints of types that all declared ops have: each answers whatever it is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    FunctionType,
    IntegerType,
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


# -- what a kind's summary says

NUMBERS = (
    *(
        IntegerAttr(value, type)
        for type in (I8, I16, I32, I64, INDEX)
        for value in (*range(-2, 20), 24, 32, 96)
    ),
    *(DenseArrayAttr(type, (0,) * length) for type in (I1, I8, I32, I64) for length in range(5)),
    *(FloatAttr.of(1.0, type) for type in (F16, F32, F64)),
)
BOUNDS: dict[str, Callable[[int, int], bool]] = {
    r"value is positive": lambda value, _: value > 0,
    r"value is non-negative": lambda value, _: value >= 0,
    r"value is a power of two > 0": lambda value, _: value in (1, 2, 4, 8, 16, 32),
    r"minimum value is (\d+)": lambda value, bound: value >= bound,
    r"maximum value is (\d+)": lambda value, bound: value <= bound,
}


def said(summary: str) -> Callable[[Any], bool] | None:
    """Which of NUMBERS are of a kind, by its summary; None if the summary is not one of numbers."""
    if match := re.fullmatch(r"(\d+)-bit float attribute", summary):
        return lambda a: isinstance(a, FloatAttr) and a.type is {32: F32, 64: F64}[int(match[1])]
    if match := re.fullmatch(r"i(\d+) dense array attribute(?: with (\d+) elements.*)?", summary):
        return lambda a: (
            isinstance(a, DenseArrayAttr)
            and a.element is IntegerType(int(match[1]))
            and (match[2] is None or len(a) == int(match[2]))
        )
    if match := re.fullmatch(r"allowed (\d+)-bit signless integer cases: ([\d, ]+)", summary):
        cases = {int(case) for case in match[2].split(", ")}
        return lambda a: (
            isinstance(a, IntegerAttr) and a.type is IntegerType(int(match[1])) and a.value in cases
        )
    if match := re.fullmatch(r"(\d+)-bit signless integer attribute(.*)", summary):
        clauses = [clause for clause in re.split(r" (?:and )?whose ", match[2]) if clause]
        bounds = [
            (holds, int(found[1]) if found.groups() else 0)
            for clause in clauses
            for pattern, holds in BOUNDS.items()
            if (found := re.fullmatch(pattern, clause))
        ]
        assert len(bounds) == len(clauses), summary
        return lambda a: (
            isinstance(a, IntegerAttr)
            and a.type is IntegerType(int(match[1]))
            and all(holds(a.value, bound) for holds, bound in bounds)
        )
    return None


def test_a_kind_of_numbers_takes_what_its_summary_says() -> None:
    kinds = {id(field.kind): field.kind for _, d in declarations() for field in d.attributes}.values()
    known = [(kind, holds) for kind in kinds if (holds := said(kind.summary)) is not None]
    assert len(known) > 10
    for kind, holds in known:
        for attribute in NUMBERS:
            assert bool(kind.check(attribute)) == holds(attribute), f"{attribute}: {kind.summary}"
