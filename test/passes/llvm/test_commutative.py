"""Which regions may get their arguments in another order."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import nv_tileaa
from tessera_tools.parser import parse_module
from tessera_tools.passes.llvm.reductions import is_commutative


def reduction(body: str) -> nv_tileaa.Reduce:
    module = parse_module(f"""nv_tileaa.func @f(%x: tensor<8xi32>, %c: i32) {{
  %r = "nv_tileaa.reduce"(%x) ({{
  ^bb0(%a: i32, %b: i32):
    {body}
    nv_tileaa.yield %s : i32
  }}) {{axis = 0 : i32, identities = [0 : i32]}} : (tensor<8xi32>) -> tensor<i32>
  nv_tileaa.return
}}""")
    (found,) = (op for op in module.walk() if isinstance(op, nv_tileaa.Reduce))
    return found


@pytest.mark.parametrize("body", ["%s = arith.addi %a, %b : i32", "%s = arith.maxsi %b, %a : i32"])
def test_a_commutative_op_on_both_arguments_is(body: str) -> None:
    assert is_commutative(reduction(body))


@pytest.mark.parametrize(
    "body",
    [
        "%s = arith.subi %a, %b : i32",
        "%s = arith.addi %a, %a : i32",
        "%s = arith.addi %b, %c : i32",
        "%t = arith.addi %a, %c : i32 %s = arith.addi %t, %b : i32",
    ],
)
def test_others_are_not(body: str) -> None:
    assert not is_commutative(reduction(body))


def test_an_argument_alone_is_not() -> None:
    op = reduction("%s = arith.addi %a, %b : i32")
    end = op.body.entry.last_op
    assert end is not None
    end.set_operand(0, op.body.entry.arguments[0])
    assert not is_commutative(op)
