"""Fields, constraints, segments, constructors and inference of declared ops."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir.core import Operation, UnregisteredOp, Value
from tessera_tools.ir.types import F32, I1, I32, I64, RankedTensorType, VectorType
from tessera_tools.opdef import (
    ANY_FLOAT,
    ANY_INTEGER,
    ANY_TYPE,
    FLOAT_LIKE,
    I32_ATTR,
    SIGNLESS_INTEGER,
    UNIT_ATTR,
    Op,
    attribute,
    container_of,
    derived,
    exactly,
    operand,
    optional_operand,
    optional_result,
    region,
    same_as,
    successor,
    variadic_operand,
    variadic_result,
)
from tessera_tools.opdef import result as output


class Add(Op, name="unit.add"):
    """Adds.

    The sum wraps around.
    """

    lhs = operand(SIGNLESS_INTEGER)
    rhs = operand(same_as("lhs"))
    width = attribute(I32_ATTR, default=ba.i32(0))
    flag = attribute(UNIT_ATTR, optional=True, key="unit.flag")
    sum = output(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($lhs)"


class Segments(Op, name="unit.segments"):
    """Has two variable operand fields and two variable result fields."""

    first = variadic_operand()
    middle = operand()
    last = optional_operand(ANY_INTEGER)
    many = variadic_result()
    maybe = optional_result()


class OnlyOperands(Op, name="unit.only_operands"):
    """Has two variable operand fields."""

    first = variadic_operand()
    last = optional_operand(ANY_INTEGER)


class OnlyResults(Op, name="unit.only_results"):
    """Has two variable result fields."""

    many = variadic_result()
    maybe = optional_result()


class Tail(Op, name="unit.tail"):
    """Has one variable field, between two fixed ones."""

    before = operand()
    between = variadic_operand()
    after = operand()


class Shaped(Op, name="unit.shaped"):
    """Its result is a vector of as many elements as there are inputs."""

    inputs = variadic_operand(ANY_FLOAT)
    bit = operand(exactly(I1))
    vector = output(
        derived("a vector of the inputs", lambda ts: VectorType((len(ts),), ts[0]) if ts else None, "inputs")
    )


class Structured(Op, name="unit.structured"):
    """Has a region and a successor."""

    body = region()
    dest = successor()


def values(*types: object) -> list[Value]:
    return list(UnregisteredOp.named("unit.source", [], types, {}, [], []).results)  # type: ignore[arg-type]


def refused(op: Operation, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        op.verify_declared()  # type: ignore[attr-defined]


def test_operands_and_results_are_read_through_their_fields() -> None:
    a, b = values(I32, I32)
    op = Add(a, b)
    assert (op.lhs, op.rhs) == (a, b)
    assert op.sum is op.results[0]
    assert op.sum.type is I32


def test_an_attribute_with_its_default_is_not_stored() -> None:
    a, b = values(I32, I32)
    op = Add(a, b, width=ba.i32(0))
    assert op.attributes == {}
    assert op.width is ba.i32(0)
    op.width = ba.i32(3)
    assert op.attributes == {"width": ba.i32(3)}
    op.width = ba.i32(0)
    assert op.attributes == {}


def test_an_attribute_may_have_another_name_in_the_ir() -> None:
    a, b = values(I32, I32)
    assert Add(a, b, flag=ba.UNIT).attributes == {"unit.flag": ba.UNIT}
    assert Add.inherent_attributes == {"width", "unit.flag"}


def test_segments_are_kept_by_the_constructor_and_by_set_field() -> None:
    a, b, c = values(I32, I32, I32)
    op = Segments([a, b], c, many=[F32], maybe=None)
    assert op.attributes["operandSegmentSizes"] == ba.DenseArrayAttr(I32, (2, 1, 0))
    assert op.attributes["resultSegmentSizes"] == ba.DenseArrayAttr(I32, (1, 0))
    assert (op.first, op.middle, op.last) == ([a, b], c, None)
    op.set_field("first", [])
    assert (op.first, op.middle) == ([], c)
    assert op.attributes["operandSegmentSizes"] == ba.DenseArrayAttr(I32, (0, 1, 0))


def test_sizes_of_segments_are_attributes_of_ops_with_several_variable_fields() -> None:
    assert Segments.inherent_attributes == {"operandSegmentSizes", "resultSegmentSizes"}
    assert Tail.inherent_attributes == set()
    assert OnlyOperands.inherent_attributes == {"operandSegmentSizes"}
    assert OnlyResults.inherent_attributes == {"resultSegmentSizes"}


def test_one_variable_field_takes_what_is_left() -> None:
    a, b, c, d = values(I32, I32, I32, I32)
    assert Tail(a, [b, c], d).between == [b, c]
    assert Tail(a, [], d).after is d
    assert "operandSegmentSizes" not in Tail(a, [], d).attributes


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 1), "must have 3 elements"),
        ((2, 1, 1), "does not match with the total size"),
        ((-1, 3, 1), "does not match with the total size"),
        ((0, 2, 1), "operand group 'middle' has 2 values"),
        ((0, 1, 2), "operand group 'last' has 2 values"),
    ],
)
def test_wrong_segment_sizes_are_refused(sizes: tuple[int, ...], message: str) -> None:
    op = Segments([values(I32)[0]], values(I32)[0], last=values(I32)[0], many=[], maybe=None)
    op.attributes["operandSegmentSizes"] = ba.DenseArrayAttr(I32, sizes)
    refused(op, message)


def test_counts_are_verified() -> None:
    a, b = values(I32, I32)
    refused(Add.create([a], [I32]), "expected 2 operands, but found 1")
    refused(Add.create([a, b], []), "requires one result, but found 0")
    refused(Tail.create([a], []), "expected 2 or more operands, but found 1")
    refused(Structured.create(), "requires one region, but found 0")


def test_constraints_are_verified_with_the_position_and_the_type() -> None:
    a, b = values(F32, F32)
    refused(Add.create([a, b], [F32]), "operand #0 must be signless integer, but got 'f32'")


def test_types_that_must_agree_are_verified() -> None:
    a, b = values(I32, I64)
    refused(Add.create([a, b], [I32]), "all of {lhs, rhs} have same type: expected 'i32', but got 'i64'")


def test_a_derived_type_is_inferred_and_verified() -> None:
    a, b, c = values(F32, F32, I1)
    assert Shaped([a, b], c).vector.type is VectorType((2,), F32)
    refused(Shaped.create([a, b, c], [F32]), "result #0 must be a vector of the inputs .*, but got 'f32'")
    with pytest.raises(TypeError, match="the type of result 'vector' is needed"):
        Shaped([], c)


def test_an_attribute_that_changes_after_a_verification_is_verified_again() -> None:
    op = Add(*values(I32, I32), width=ba.i32(3))
    op.verify_declared()
    op.attributes["width"] = ba.i64(3)
    refused(op, "attribute 'width'")
    op.attributes["width"] = ba.i32(4)
    op.verify_declared()


def test_attributes_are_verified() -> None:
    a, b = values(I32, I32)
    op = Add(a, b)
    op.attributes["width"] = ba.i64(3)
    refused(op, "attribute 'width' failed to satisfy constraint: 32-bit signless integer attribute")


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        (1, {}, "operand 'rhs' is needed"),
        (5, {}, "5 positional parameters, expected at most 4"),
        (2, {"nothing": 1}, "unexpected parameter 'nothing'"),
        (2, {"lhs": 1}, "unexpected parameter 'lhs'"),
    ],
)
def test_the_constructor_refuses(arguments: int, named: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Add(*values(*[I32] * arguments), **named)


def test_a_field_of_a_base_class_has_its_own_place_in_each_subclass() -> None:
    class Base(Op):
        value = operand()

    class Left(Base, name="unit.left"):
        extra = operand()

    class Right(Base, name="unit.right"):
        pass

    assert [f.name for f in Left.definition.operands] == ["value", "extra"]
    assert [f.name for f in Right.definition.operands] == ["value"]
    assert Left.value is not Right.value


def test_constraints_combine() -> None:
    both = SIGNLESS_INTEGER | ANY_FLOAT
    assert both.accepts(I32) and both.accepts(F32)
    assert both.summary == "signless integer or floating-point"
    assert not (SIGNLESS_INTEGER & ANY_FLOAT).accepts(I32)
    assert FLOAT_LIKE.accepts(RankedTensorType((2,), F32)) and not FLOAT_LIKE.accepts(VectorType((2,), I32))
    vectors = container_of(VectorType, ANY_FLOAT)
    assert vectors.accepts(VectorType((2,), F32)) and not vectors.accepts(RankedTensorType((2,), F32))
    assert vectors.summary == "VectorType of floating-point values"
    assert container_of(VectorType, ANY_FLOAT, "floats").summary == "floats"
    assert ANY_TYPE.accepts(I1)


def test_inference_goes_through_any_field_of_the_same_type() -> None:
    definition = Add.definition
    for known in ("lhs", "rhs", "sum"):
        for field in (*definition.operands, *definition.results):
            if field.name != known:
                assert definition.infer(field, {known: I64}) is I64


def test_the_summary_is_the_first_line_of_the_docstring() -> None:
    assert Add.summary == "Adds."
