"""Which values differ between the threads of a block, op by op."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.divergence import differs, divergent_values
from tessera_tools.dialects import scf
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module

GIVEN = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  %same = arith.addi %n, %c1 : index
  %mine = arith.addi %t, %n : index
  %even = arith.cmpi eq, %n, %c0 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %s = tile.alloc_shared : memref<64xindex, 3>
"""


def differing(body: str) -> tuple[list[bool], Operation]:
    """Whether each result and argument of the last op with regions differs, its own first; and the op."""
    text = f"func.func @k(%n: index) attributes {{tessera.kernel, tessera.threads = 64}} {{{GIVEN}{body}\nreturn }}"
    function = next(iter(parse_module(text).regions[0].entry))
    found = divergent_values(function)
    op = [inner for inner in function.walk() if isinstance(inner, scf.For | scf.If | scf.While)][-1]
    arguments = [a for region in op.regions for block in region.blocks for a in block.arguments]
    return [value in found for value in (*op.results, *arguments)], op


def loop(bounds: str, inits: str = "%n, %n", ends: str = "%a, %b") -> str:
    first, second = inits.split(", ")
    return (
        f"%r:2 = scf.for %i = {bounds} iter_args(%a = {first}, %b = {second}) -> (index, index) {{\n"
        f"%next = arith.addi %a, %c1 : index\nscf.yield {ends} : index, index }}"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # results, counter, carried values
        (loop("%c0 to %n step %c1"), [False, False, False, False, False]),
        (loop("%c0 to %same step %c1", ends="%next, %b"), [False] * 5),
        (loop("%t to %n step %c1"), [True, True, True, False, False]),
        (loop("%c0 to %mine step %c1"), [True, True, True, False, False]),
        (loop("%c0 to %n step %mine"), [True, True, True, False, False]),
        (loop("%c0 to %n step %c1", inits="%t, %n"), [True, False, False, True, False]),
        (loop("%c0 to %n step %c1", inits="%n, %t", ends="%next, %b"), [False, True, False, False, True]),
        (loop("%c0 to %n step %c1", ends="%a, %mine"), [False, True, False, False, True]),
        (loop("%c0 to %n step %c1", inits="%n, %t", ends="%b, %a"), [True, True, False, True, True]),
    ],
)
def test_values_around_a_loop(body: str, expected: list[bool]) -> None:
    assert differing(body)[0] == expected


def branch(condition: str, then: str, otherwise: str) -> str:
    return (
        f"%r:2 = scf.if {condition} -> (index, index) {{ scf.yield {then} : index, index }}"
        f" else {{ scf.yield {otherwise} : index, index }}"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (branch("%even", "%n, %n", "%same, %c0"), [False, False]),
        (branch("%first", "%n, %n", "%same, %c0"), [True, True]),
        (branch("%even", "%n, %t", "%same, %c0"), [False, True]),
        (branch("%even", "%n, %c0", "%mine, %c0"), [True, False]),
    ],
)
def test_results_of_a_branch(body: str, expected: list[bool]) -> None:
    assert differing(body)[0] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("tile.thread_id : index", True),
        ("tile.warp_id : index", True),
        ("tile.lane_id : index", True),
        ("tile.load_shared %s[%c0] : memref<64xindex, 3>", True),
        ("arith.muli %t, %c1 : index", True),
        ("arith.muli %n, %c1 : index", False),
        ("tile.num_threads : index", False),
        ("tile.block_id {dimension = 0} : index", False),
    ],
)
def test_what_an_op_gives(value: str, expected: bool) -> None:
    (found,), _ = differing(
        f"%v = {value}\n%r = scf.if %even -> (index) {{ scf.yield %v : index }} else {{ scf.yield %n : index }}"
    )
    assert found == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (loop("%c0 to %n step %c1", inits="%t, %n"), False),
        (loop("%t to %n step %c1"), True),
        (loop("%c0 to %t step %c1"), True),
        (loop("%c0 to %n step %mine"), True),
        (branch("%even", "%t, %n", "%n, %n"), False),
        (branch("%first", "%n, %n", "%n, %n"), True),
        ("scf.while : () -> () { scf.condition(%even) } do { scf.yield }", False),
        ("scf.while : () -> () { scf.condition(%first) } do { scf.yield }", True),
    ],
)
def test_where_threads_part(body: str, expected: bool) -> None:
    _, op = differing(body)
    function = op.parent_op
    assert function is not None
    assert differs(op, divergent_values(function)) == expected
