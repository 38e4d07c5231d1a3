"""Dialect conversion: legality, type changes (1:1, 1:0, 1:N), blocks, failure and rollback."""

from __future__ import annotations

import pytest
from ir.sample_ops import (
    Add,
    Const,
    Func,
    Loop,
    Return,
    Store,
    Sub,
    add,
    at,
    block,
    check_structure,
    const,
    dump,
    func,
    module,
    shape,
)

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.casts import UnrealizedConversionCast
from tessera_tools.ir.conversion import (
    Adaptor,
    ConversionPattern,
    ConversionRewriter,
    ConversionTarget,
    apply_full_conversion,
    apply_partial_conversion,
)
from tessera_tools.ir.core import Builder, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.type_converter import REFUSED, TypeConverter
from tessera_tools.ir.types import F32, F64, I32, I64, INDEX


class AddToSub(ConversionPattern):
    op_class = Add

    def match_and_rewrite(self, op: Add, adaptor: Adaptor, rewriter: ConversionRewriter) -> bool:
        left, right = adaptor.operands
        rewriter.replace_op(op, rewriter.insert(Sub.create([left, right], [left.type])))
        return True


class Flatten(ConversionPattern):
    """Passes on all values that the operands became."""

    op_class = Return

    def match_and_rewrite(self, op: Return, adaptor: Adaptor, rewriter: ConversionRewriter) -> bool:
        with rewriter.modify(op):
            op.set_operands(adaptor.flat)
        return True


class Signature(ConversionPattern):
    op_class = Func

    def match_and_rewrite(self, op: Func, adaptor: Adaptor, rewriter: ConversionRewriter) -> bool | str:
        assert self.converter is not None
        if not rewriter.convert_region_types(op.regions[0], self.converter):
            return "an argument cannot be converted"
        with rewriter.modify(op):
            pass
        return True


class SplitAdd(ConversionPattern):
    """An addition of pairs, value by value."""

    op_class = Add

    def match_and_rewrite(self, op: Add, adaptor: Adaptor, rewriter: ConversionRewriter) -> bool:
        left, right = adaptor.one_to_n
        parts = [
            rewriter.insert(Sub.create([a, b], [a.type])).result for a, b in zip(left, right, strict=True)
        ]
        rewriter.replace_op(op, [parts])
        return True


def converter(old: Type, *new: Type) -> TypeConverter:
    made = TypeConverter()
    made.add(lambda t: t)
    made.add(lambda t: new if t is old else None)
    return made


def sums(type: Type = I32) -> Func:
    body = block(types=[type])
    first = body.append(add(body.arguments[0], body.arguments[0], type))
    second = body.append(add(first.result, first.result, type))
    body.append(Return.create([second.result]))
    return func(body)


def target_for(types: TypeConverter) -> ConversionTarget:
    target = ConversionTarget()
    target.add_legal_dialect("t")
    target.add_illegal_op(Add)
    target.add_dynamically_legal_op(Return, Func, predicate=types.is_legal)
    return target


def test_an_illegal_op_is_rewritten() -> None:
    root = module(sums())
    target = ConversionTarget()
    target.add_illegal_op("t.add")
    apply_partial_conversion(root, target, [AddToSub()])
    assert shape(root) == ["t.func", "t.sub", "t.sub", "t.return"]


def test_types_change_one_to_one_without_casts_left() -> None:
    types = converter(I32, I64)
    root = module(sums())
    apply_full_conversion(root, target_for(types), [AddToSub(types), Flatten(types), Signature(types)])
    assert shape(root) == ["t.func", "t.sub", "t.sub", "t.return"]
    assert all(v.type is I64 for op in root.walk() for v in (*op.operands, *op.results))
    check_structure(root)


def test_one_value_becomes_several() -> None:
    types = converter(I32, I64, F32)
    root = module(sums())
    apply_full_conversion(root, target_for(types), [SplitAdd(types), Flatten(types), Signature(types)])
    inner = root.regions[0].block.first_op
    assert inner is not None
    body = inner.regions[0].block
    assert [a.type for a in body.arguments] == [I64, F32]
    assert [op.name for op in body] == ["t.sub"] * 4 + ["t.return"]
    assert body.last_op is not None and body.last_op.operand_types == [I64, F32]
    check_structure(root)


def test_one_value_becomes_none() -> None:
    types = converter(I32)
    root = module(sums())
    apply_full_conversion(root, target_for(types), [SplitAdd(types), Flatten(types), Signature(types)])
    assert shape(root) == ["t.func", "t.return"]
    assert not [v for op in root.walk() for v in op.operands]


def test_an_op_that_stays_sees_the_old_type_through_a_cast() -> None:
    types = converter(I32, I64)
    body = block(types=[I32])
    total = body.append(add(body.arguments[0], body.arguments[0]))
    store = body.append(Store.create([total.result]))
    body.append(Return.create())
    root = module(func(body))
    target = ConversionTarget()
    target.add_illegal_op(Add)
    apply_partial_conversion(root, target, [AddToSub(types)])
    cast = "builtin.unrealized_conversion_cast"
    assert [op.name for op in body] == [cast, cast, "t.sub", cast, "t.store", "t.return"]
    assert store.operand_types == [I32]
    check_structure(root)


def test_the_converter_may_make_what_casts_stand_for() -> None:
    types = converter(I32, I64)

    def narrow(builder: Builder, type: Type, values: list[Value]) -> Value:
        return builder.insert(UnregisteredOp.named("t.narrow", values, [type])).results[0]

    def widen(builder: Builder, new: list[Type], value: Value) -> list[Value]:
        return [builder.insert(UnregisteredOp.named("t.widen", [value], new)).results[0]]

    types.add_source_materialization(narrow)  # type: ignore[arg-type]
    types.add_target_materialization(widen)  # type: ignore[arg-type]
    body = block(types=[I32])
    total = body.append(add(body.arguments[0], body.arguments[0]))
    body.append(Store.create([total.result]))
    body.append(Return.create())
    root = module(func(body))
    target = ConversionTarget()
    target.add_illegal_op(Add)
    apply_partial_conversion(root, target, [AddToSub(types)])
    assert "builtin.unrealized_conversion_cast" not in shape(root)
    assert {"t.widen", "t.narrow"} <= set(shape(root))


def test_a_cast_that_stays_fails_a_full_conversion() -> None:
    types = converter(I32, I64)
    body = block(types=[I32])
    total = body.append(add(body.arguments[0], body.arguments[0]))
    body.append(Store.create([total.result]))
    body.append(Return.create())
    root = module(func(body))
    before = dump(root)
    target = ConversionTarget()
    target.add_legal_dialect("t")
    target.add_illegal_op(Add)
    with pytest.raises(
        DiagnosticError, match="failed to legalize unresolved materialization from"
    ) as failure:
        apply_full_conversion(root, target, [AddToSub(types)])
    assert "see existing live user here" in failure.value.diagnostics[0].notes[0].message
    assert dump(root) == before


def test_failure_names_the_op_and_puts_the_program_back() -> None:
    types = converter(I32, I64)
    root = module(sums(), func(block(const(1, location=at(7)), Return.create()), name="g"))
    before, text = dump(root), str(root)
    target = target_for(types)
    target.add_illegal_op(Const)
    with pytest.raises(DiagnosticError) as failure:
        apply_partial_conversion(root, target, [AddToSub(types), Flatten(types), Signature(types)])
    (error,) = failure.value.diagnostics
    assert error.message == "failed to legalize operation 't.const' that was explicitly marked illegal"
    assert error.location is at(7)
    assert dump(root) == before and str(root) == text
    check_structure(root)


def test_failure_says_why_each_pattern_did_not_apply() -> None:
    types = TypeConverter()
    types.add(lambda t: REFUSED)
    target = ConversionTarget()
    target.add_illegal_op(Add)
    with pytest.raises(DiagnosticError) as failure:
        apply_partial_conversion(module(sums()), target, [AddToSub(types)])
    (note,) = failure.value.diagnostics[0].notes
    assert note.message == "pattern AddToSub does not apply: the type i32 of operand #0 cannot be converted"


def test_the_error_of_a_full_conversion_for_unknown_ops() -> None:
    with pytest.raises(DiagnosticError, match="^failed to legalize operation 't.func'$"):
        apply_full_conversion(module(sums()), ConversionTarget(), [])


def test_unknown_ops_may_stay_in_a_partial_conversion() -> None:
    root = module(sums())
    before = dump(root)
    apply_partial_conversion(root, ConversionTarget(), [])
    assert dump(root) == before


def test_patterns_are_tried_on_unknown_ops() -> None:
    root = module(sums())
    apply_partial_conversion(root, ConversionTarget(), [AddToSub()])
    assert shape(root) == ["t.func", "t.sub", "t.sub", "t.return"]


def test_a_single_value_is_not_had_of_several() -> None:
    types = converter(I32, I64, F32)
    with pytest.raises(DiagnosticError) as failure:
        apply_partial_conversion(module(sums()), target_for(types), [AddToSub(types), Signature(types)])
    assert "operand #0 became 2 values" in failure.value.diagnostics[0].notes[0].message


def test_plain_rewrite_patterns_take_part() -> None:
    class Plain(RewritePattern):
        op_class = Add

        def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
            rewriter.replace_op(op, rewriter.insert(Sub.create(op.operands, op.result_types)))
            return True

    root = module(sums())
    target = ConversionTarget()
    target.add_illegal_op(Add)
    apply_partial_conversion(root, target, [Plain()])
    assert "t.add" not in shape(root)


def test_patterns_that_make_illegal_ops_forever_are_stopped() -> None:
    class Again(ConversionPattern):
        op_class = Add

        def match_and_rewrite(self, op: Add, adaptor: Adaptor, rewriter: ConversionRewriter) -> bool:
            rewriter.replace_op(op, rewriter.insert(add(*adaptor.operands)))
            return True

    root = module(sums())
    before = dump(root)
    target = ConversionTarget()
    target.add_illegal_op(Add)
    with pytest.raises(DiagnosticError) as failure:
        apply_partial_conversion(root, target, [Again()])
    assert "patterns made illegal operations of one another" in failure.value.diagnostics[0].notes[0].message
    assert dump(root) == before


def test_what_is_said_of_an_op_beats_its_dialect() -> None:
    target = ConversionTarget()
    target.add_legal_op(Add)
    target.add_illegal_dialect("t")
    assert target.is_legal(add(const(1).result, const(1).result)) is True
    assert target.is_legal(const(1)) is False
    assert target.is_legal(UnregisteredOp.named("x.y")) is None


def test_unknown_ops_can_be_judged_by_a_predicate() -> None:
    target = ConversionTarget()
    target.mark_unknown_op_dynamically_legal(lambda op: op.name == "x.good")
    assert target.is_legal(UnregisteredOp.named("x.good")) is True
    assert target.is_legal(UnregisteredOp.named("x.bad")) is False


def test_a_dynamically_legal_dialect() -> None:
    target = ConversionTarget()
    target.add_dynamically_legal_dialect("t", predicate=lambda op: not op.results)
    assert target.is_legal(Return.create()) is True and target.is_legal(const(1)) is False


def test_what_is_inside_a_recursively_legal_op_is_left_alone() -> None:
    c = const(1)
    loop = Loop.create(regions=[Region([block(add(c.result, c.result), Return.create())])])
    root = module(func(block(c, loop, add(c.result, c.result), Return.create())))
    target = ConversionTarget()
    target.add_legal_op(Loop)
    target.mark_op_recursively_legal(Loop)
    target.add_illegal_op(Add)
    apply_partial_conversion(root, target, [AddToSub()])
    assert shape(root) == ["t.func", "t.const", "t.loop", "t.add", "t.return", "t.sub", "t.return"]


def test_later_type_rules_are_asked_first() -> None:
    types = TypeConverter()
    types.add(lambda t: F32)
    types.add(lambda t: F64 if t is I32 else None)
    assert types.convert_type(I32) is F64 and types.convert_type(I64) is F32


def test_a_refused_type_is_not_given_to_earlier_rules() -> None:
    types = TypeConverter()
    types.add(lambda t: t)
    types.add(lambda t: REFUSED if t is INDEX else None)
    assert types.convert(INDEX) is None and types.convert_types([I32, INDEX]) is None


def test_a_type_that_no_rule_takes_is_not_converted() -> None:
    assert TypeConverter().convert(I32) is None
    assert TypeConverter().convert_signature([I32]) is None


def test_several_types_are_flattened() -> None:
    types = converter(I32, I64, F32)
    assert types.convert_types([I32, INDEX]) == [I64, F32, INDEX]
    assert types.convert_type(I32) is None
    signature = types.convert_signature([I32, INDEX])
    assert signature is not None and signature.groups == [(I64, F32), (INDEX,)]
    assert signature.types == [I64, F32, INDEX]


def test_casts_that_undo_each_other_cancel() -> None:
    from tessera_tools.ir.casts import reconcile

    c = const(1)
    there = UnrealizedConversionCast.make([c.result], [I64, F32])
    back = UnrealizedConversionCast.make(there.results, [I32])
    end = Return.create(back.results)
    body = block(c, there, back, end)
    assert reconcile([there, back]) == []
    assert list(body) == [c, end] and end.operands == [c.result]


def test_a_cast_that_is_used_otherwise_stays() -> None:
    from tessera_tools.ir.casts import reconcile

    c = const(1)
    there = UnrealizedConversionCast.make([c.result], [I64])
    block(c, there, Return.create(there.results))
    assert reconcile([there]) == [there]
