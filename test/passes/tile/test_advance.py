"""How an index changes between iterations of a loop: every row of the module's table, and what it does not know."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import scf
from tessera_tools.parser import parse_module
from tessera_tools.passes.tile.advance import LINEAR, advance

TEXT = """
func.func @f(%n: index, %t: index, %step: index, %m: memref<?xindex>) {{
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step {step} {{
    {body}
    "test.use"(%x) : (index) -> ()
  }}
  return
}}
"""


def advance_of(body: str, step: str = "%c4") -> object:
    """The advance of %x, which the body defines, in the loop of %i."""
    module = parse_module(TEXT.format(body=body, step=step), "loop.mlir", allow_unregistered=True)
    loop = next(op for op in module.walk() if isinstance(op, scf.For))
    use = next(op for op in module.walk() if op.name == "test.use")
    return advance(use.operand(0), loop)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%x = arith.addi %i, %t : index", 4),
        ("%x = arith.subi %t, %i : index", -4),
        ("%x = arith.muli %i, %c8 : index", 32),
        ("%x = arith.muli %c8, %i : index", 32),
        ("%a = arith.muli %i, %c8 : index\n %x = arith.addi %a, %i : index", 36),
        ("%x = arith.muli %i, %t : index", LINEAR),
        ("%a = arith.muli %i, %t : index\n %x = arith.addi %a, %i : index", LINEAR),
        ("%a = arith.muli %i, %t : index\n %x = arith.muli %a, %c8 : index", LINEAR),
        ("%a = arith.index_cast %i : index to i32\n %x = arith.index_cast %a : i32 to index", 4),
    ],
)
def test_what_moves(body: str, expected: object) -> None:
    assert advance_of(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "%x = arith.addi %t, %c3 : index",
        "%x = arith.constant 7 : index",
        "%x = tile.thread_id : index",
        "%x = arith.muli %t, %c3 : index",
        "%x = arith.divsi %t, %c3 : index",
        "%a = arith.subi %i, %i : index\n %x = arith.remsi %a, %c3 : index",
    ],
)
def test_what_stays(body: str) -> None:
    assert advance_of(body) == 0


@pytest.mark.parametrize(
    "body",
    [
        "%x = memref.load %m[%i] : memref<?xindex>",
        "%x = memref.load %m[%c0] : memref<?xindex>",
        "%x = arith.divsi %i, %c3 : index",
        "%x = arith.muli %i, %i : index",
        "%a = arith.divsi %i, %c3 : index\n %x = arith.addi %a, %i : index",
        "%a = arith.divsi %i, %c3 : index\n %x = arith.muli %a, %c3 : index",
    ],
)
def test_what_is_unknown(body: str) -> None:
    assert advance_of(body) is None


def test_a_step_that_is_only_a_value_is_linear() -> None:
    assert advance_of("%x = arith.addi %i, %t : index", "%step") == LINEAR
    assert advance_of("%x = arith.addi %t, %c3 : index", "%step") == 0


def test_a_value_of_an_inner_loop_moves_within_it() -> None:
    """The inner loop's variable is no function of the outer one's."""
    body = "%x = scf.for %j = %c0 to %n step %c3 iter_args(%k = %c0) -> (index) {\n scf.yield %j : index\n }"
    assert advance_of(body) is None
