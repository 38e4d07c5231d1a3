"""Names, labels, forms and spacing of printed IR."""

from __future__ import annotations

import re

import pytest

from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import op_text, print_op
from tessera_tools.parser import parse_module


def module(text: str) -> Operation:
    return parse_module(text, allow_unregistered=True)


def identical(text: str, **options: bool) -> None:
    """Parsing and printing gives the text back."""
    assert print_op(module(text), **options) == text


def test_named_values_keep_their_names_and_the_rest_are_numbered() -> None:
    identical(
        "module {\n"
        "  func.func @f(%x: i32, %arg0: i32) -> i32 {\n"
        "    %0 = arith.addi %x, %arg0 : i32\n"
        "    %sum = arith.addi %0, %x : i32\n"
        "    %1 = arith.addi %sum, %0 : i32\n"
        "    return %1 : i32\n"
        "  }\n"
        "}\n"
    )


def test_no_space_stands_before_an_attribute_in_angle_brackets() -> None:
    identical(
        "module {\n"
        "  func.func @f(%x: i32) -> i32 {\n"
        "    %0 = arith.addi %x, %x overflow<nsw> : i32\n"
        "    return %0 : i32\n"
        "  }\n"
        "}\n"
    )


def test_names_are_unique_within_an_isolated_region_and_free_again_in_the_next() -> None:
    text = print_op(
        module(
            "func.func @f(%a: i32) {\n  scf.execute_region {\n    %b = arith.constant 1 : i32\n    scf.yield\n  }\n"
            "  scf.execute_region {\n    %b = arith.constant 2 : i32\n    scf.yield\n  }\n  return\n}\n"
            "func.func @g(%a: i32) {\n  return\n}\n"
        )
    )
    assert text.count("(%a: i32)") == 2
    assert text.count("%b = ") == 2


def test_a_nested_isolated_op_uses_no_name_of_the_ops_around_it_again() -> None:
    ir = module(
        "func.func @f(%x: i32) -> i32 {\n"
        "  %foo = arith.constant 1 : i32\n"
        "  %0 = arith.addi %x, %foo : i32\n"
        "  builtin.module {\n"
        "    func.func @g(%y: i32) -> i32 {\n"
        "      %bar = arith.constant 2 : i32\n"
        "      %1 = arith.addi %y, %bar : i32\n"
        "      return %1 : i32\n"
        "    }\n"
        "  }\n"
        "  return %0 : i32\n"
        "}\n"
    )
    inner = next(op for op in ir.walk() if '"g"' in str(op.attributes.get("sym_name"))).regions[0].entry
    inner.arguments[0].name_hint = "x"
    next(iter(inner)).results[0].name_hint = "foo"
    text = print_op(ir)
    defined = re.findall(r"(%\w+)(?:: i32|\b =)", text)
    assert len(defined) == 6 and len(set(defined)) == 6, text
    assert print_op(module(text)) == text


def test_a_hint_that_is_taken_gets_a_number_behind_it() -> None:
    ir = module("func.func @f(%a: i32, %b: i32) {\n  return\n}\n")
    body = next(iter(ir.regions[0].blocks[0])).regions[0].blocks[0]
    body.arguments[1].name_hint = "a"
    assert "(%a: i32, %a_0: i32)" in print_op(ir)


def test_results_that_were_bound_apart_stay_apart() -> None:
    identical('module {\n  %a, %b:2 = "t.x"() : () -> (i1, i2, i3)\n  "t.y"(%b#1, %a) : (i3, i1) -> ()\n}\n')
    identical('module {\n  %0:3 = "t.x"() : () -> (i1, i2, i3)\n  "t.y"(%0#2) : (i3) -> ()\n}\n')


def test_blocks_keep_their_labels_and_tell_their_predecessors() -> None:
    identical(
        "module {\n"
        "  func.func @f(%c: i1) {\n"
        "    cf.cond_br %c, ^left, ^bb2\n"
        "  ^left:  // pred: ^bb0\n"
        "    cf.br ^bb2\n"
        "  ^bb2:  // 2 preds: ^bb0, ^left\n"
        "    return\n"
        "  ^bb3:  // no predecessors\n"
        "    return\n"
        "  }\n"
        "}\n"
    )


def test_empty_blocks_and_regions_are_told_apart_in_the_generic_form() -> None:
    identical(
        '"builtin.module"() ({\n  "t.x"() ({\n  }, {\n  ^bb0:\n  }) : () -> ()\n}) : () -> ()\n', generic=True
    )


def test_the_generic_form_has_properties_in_angle_brackets_and_defaults_written_out() -> None:
    text = print_op(module("%0 = arith.constant 1.0 : f32\n%1 = arith.addf %0, %0 {k} : f32\n"), generic=True)
    assert '"arith.constant"() <{value = 1.000000e+00 : f32}> : () -> f32' in text
    assert '"arith.addf"(%0, %0) <{fastmath = #arith.fastmath<none>}> {k} : (f32, f32) -> f32' in text


def test_attribute_names_and_symbols_are_quoted_where_they_must_be() -> None:
    identical('module {\n  func.func private @"a b"() attributes {"odd key" = "\\00\\22", x.y}\n}\n')


def test_a_dialects_types_are_short_only_in_its_own_ops() -> None:
    source = '%0 = cuda_tile.constant <i32: 4> : tile<i32>\n"t.x"(%0) : (!cuda_tile.tile<i32>) -> ()\n'
    text = print_op(module(source))
    assert "constant <i32: 4> : tile<i32>" in text
    assert "(!cuda_tile.tile<i32>) -> ()" in text


def test_one_operation_is_numbered_as_in_its_function() -> None:
    ir = module(
        "func.func @f(%x: i32) {\n  %0 = arith.addi %x, %x : i32\n  %1 = arith.addi %0, %x : i32\n  return\n}\n"
    )
    second = list(next(iter(ir.regions[0].blocks[0])).regions[0].blocks[0])[1]
    assert op_text(second) == "%1 = arith.addi %0, %x : i32"


def test_a_value_that_is_nowhere_defined_is_shown_as_such() -> None:
    ir = module('%0 = "t.x"() : () -> i32\n"t.y"(%0) : (i32) -> ()\n')
    first, second = list(ir.regions[0].blocks[0])
    first.detach()
    assert '"t.y"(<<UNKNOWN SSA VALUE>>)' in print_op(second)


@pytest.mark.parametrize("local_scope", [False, True])
def test_locations_read_back(local_scope: bool) -> None:
    ir = module('func.func @f(%a: i32 loc("x")) {\n  return loc("r"("f":1:2))\n} loc("fn")\n')
    text = print_op(ir, debuginfo=True, local_scope=local_scope)
    assert print_op(module(text), debuginfo=True, local_scope=local_scope) == text
    assert ("#loc" in text) is not local_scope
