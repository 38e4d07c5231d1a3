"""What is known of values around loops and out of branches that are left early, and of counters that may wrap."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.counting import may_wrap
from tessera_tools.analysis.facts import Facts
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.flow import flow_of, sources
from tessera_tools.parser import parse_module

HEAD = """nv_tileaa.func @f(%n: i32, %c: i1) {
  %c8 = arith.constant 8 : i32
  %c12 = arith.constant 12 : i32
  %c64 = arith.constant 64 : i32
"""


def ops(body: str) -> dict[str, Operation]:
    """The ops of a function with that body, by name; of several, the last."""
    module = parse_module(f"{HEAD}{body}\n  nv_tileaa.return\n}}\n", "f.mlir")
    return {op.name: op for op in module.walk()}


def facts(value: Value) -> tuple[int, int | None, int | None]:
    found = Facts()
    return found.divisor(value), found.lower(value), found.upper(value)


LOOP = """
  %r = nv_tileaa.loop (%i = %c64) : (i32) -> i32 {
    %j = arith.addi %i, %c8 : i32
    nv_tileaa.if %c {
      nv_tileaa.if %c { nv_tileaa.break %c12 : i32 } else { nv_tileaa.continue %c12 : i32 }
    }
    nv_tileaa.if %c { nv_tileaa.break %i : i32 }
    nv_tileaa.continue %j : i32
  }"""


def test_a_carried_value_takes_what_each_continue_passes_on() -> None:
    loop = ops(LOOP)["nv_tileaa.loop"]
    argument = loop.regions[0].entry.arguments[0]
    # 64, then 12 or 8 more each time.
    assert facts(argument) == (4, None, None)
    names = [v.name_hint for v in sources(argument) or []]
    assert names == ["c64", "c12", "j"]


def test_a_result_takes_what_each_break_passes_on() -> None:
    loop = ops(LOOP)["nv_tileaa.loop"]
    assert [v.name_hint for v in sources(loop.results[0]) or []] == ["c12", "i"]
    assert facts(loop.results[0]) == (4, None, None)


def test_bounds_that_each_way_keeps_hold_in_the_loop() -> None:
    body = """
  %r = nv_tileaa.loop (%i = %c12) : (i32) -> i32 {
    %j = arith.minsi %i, %c8 : i32
    nv_tileaa.if %c { nv_tileaa.continue %c12 : i32 }
    nv_tileaa.if %c { nv_tileaa.break %i : i32 }
    %k = arith.maxsi %j, %c8 : i32
    nv_tileaa.continue %k : i32
  }"""
    assert facts(ops(body)["nv_tileaa.loop"].results[0])[2] == 12


def test_a_branch_that_leaves_gives_nothing() -> None:
    body = """
  nv_tileaa.loop {
    %v = nv_tileaa.if %c -> (i32) { nv_tileaa.break } else { nv_tileaa.yield %c12 : i32 }
    %w = nv_tileaa.if %c -> (i32) { nv_tileaa.continue } else { nv_tileaa.return }
    %x = arith.addi %v, %w : i32
    nv_tileaa.continue
  }"""
    found = ops(body)
    v, w = found["arith.addi"].operands
    assert facts(v) == (12, 12, 12)
    # What is never reached may be anything.
    assert sources(w) == []
    assert facts(w) == (1, None, None)


def test_the_carried_values_of_a_while_are_known_in_both_regions() -> None:
    body = """
  %r = scf.while (%i = %c64) : (i32) -> i32 {
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%a: i32):
    %b = arith.addi %a, %c8 : i32
    scf.yield %b : i32
  }"""
    loop = ops(body)["scf.while"]
    assert facts(loop.regions[1].entry.arguments[0])[0] == 8
    assert facts(loop.results[0])[0] == 8


def test_an_op_without_regions_passes_nothing_on() -> None:
    constant = ops("")["arith.constant"]
    assert flow_of(constant) == []
    assert sources(constant.results[0]) is None


@pytest.mark.parametrize(
    ("upper", "step", "unsigned", "ahead", "wraps"),
    [
        ("%n", "1", False, 1, False),
        ("%n", "1", True, 1, False),
        ("%n", "2", False, 1, True),
        ("2147483647", "2", False, 1, True),
        ("2147483647", "2", True, 1, False),
        ("2147483646", "2", False, 1, False),
        ("100", "2147483000", False, 1, False),
        ("1000", "2147483000", False, 1, True),
        ("-5", "2", True, 1, True),
        ("-5", "2", False, 1, False),
        ("%n", "%n", False, 1, True),
        ("%n", "1", False, 2, True),
        ("100", "1", False, 3, False),
        ("2147483646", "1", False, 3, True),
        ("-5", "1", True, 3, True),
    ],
)
def test_a_counter_may_wrap(upper: str, step: str, unsigned: bool, ahead: int, wraps: bool) -> None:
    def value(text: str, name: str) -> str:
        return "" if text == "%n" else f"%{name} = arith.constant {text} : i32\n"

    names = [text if text == "%n" else f"%{name}" for text, name in ((upper, "u"), (step, "s"))]
    body = (
        value(upper, "u") + value(step, "s") + f"scf.for %i = %c8 to {names[0]} step {names[1]} : i32 {{ }}"
    )
    loop = ops(body)["scf.for"]
    assert may_wrap(loop.operands[1], loop.operands[2], unsigned, Facts(), ahead) == wraps
