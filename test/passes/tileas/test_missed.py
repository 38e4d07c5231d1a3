"""Why an op stays as it is, as a remark at it, a remark elsewhere and an error say it."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.missed import Missed, place_of

PROGRAM = """
nv_tileaa.func @kernel(%x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %a = arith.addf %x, %x : f32
  %b = arith.mulf %a, %a : f32
  nv_tileaa.return
}
"""


@pytest.fixture(name="ops")
def _ops() -> list[Operation]:
    """The kernel, its sum and its product."""
    return list(parse_module(PROGRAM, "program.mlir").walk())[:3]


def test_a_remark_at_the_op_needs_no_place(ops: list[Operation]) -> None:
    refusal = Missed(ops[1], "has two operands", "use one")
    assert refusal.text() == refusal.text(ops[1]) == "arith.addf has two operands: use one"
    assert Missed(ops[1], "has two operands").text() == "arith.addf has two operands"


def test_a_remark_elsewhere_has_the_place(ops: list[Operation]) -> None:
    refusal = Missed(ops[1], "has two operands", "use one")
    assert refusal.text(ops[2]) == "arith.addf at program.mlir:3:8 has two operands: use one"


def test_a_sentence_on_another_op_gives_it_as_the_cause(ops: list[Operation]) -> None:
    refusal = Missed(ops[1], "has two operands", "use one")
    assert refusal.because(ops[1]) == "it has two operands"
    assert refusal.because(ops[2]) == "arith.addf at program.mlir:3:8 has two operands"


def test_a_kernel_is_no_op_to_its_author(ops: list[Operation]) -> None:
    assert Missed(ops[0], "is empty").text(ops[1]) == "the kernel is empty"


def test_an_error_says_what_follows_and_what_to_do(ops: list[Operation]) -> None:
    error = Missed(ops[1], "has two operands", "use one").error(", of which one is expected")
    with pytest.raises(
        DiagnosticError, match="'arith.addf' op has two operands, of which one is expected; use one"
    ):
        raise error


def test_an_op_that_a_pass_has_made_may_have_no_place(ops: list[Operation]) -> None:
    (op,) = (op for op in parse_module("nv_tileaa.return loc(unknown)").walk() if "return" in op.name)
    assert place_of(op) == ""
    assert Missed(op, "ends").text(ops[1]) == "nv_tileaa.return ends"
