"""Patterns of `scf` and `cf`, against upstream's on the same programs."""

from __future__ import annotations

import pytest
from dialects.folding import canonical, upstream

from tessera_tools.dialects import cf, scf
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.parser import parse_module

PROGRAMS = {
    "if true": """func.func @f(%x: i32, %y: i32) -> i32 {
  %t = arith.constant true
  %0 = scf.if %t -> (i32) { %1 = arith.addi %x, %y : i32  scf.yield %1 : i32 } else { scf.yield %y : i32 }
  return %0 : i32
}""",
    "if false without else": """func.func @f(%m: memref<4xf32>, %i: index, %x: f32) {
  %t = arith.constant false
  scf.if %t { memref.store %x, %m[%i] : memref<4xf32> }
  return
}""",
    "if of values from outside": """func.func @f(%c: i1, %x: i32, %y: i32) -> i32 {
  %0 = scf.if %c -> (i32) { scf.yield %x : i32 } else { scf.yield %y : i32 }
  return %0 : i32
}""",
    "loop of no iteration": """func.func @f(%x: i32) -> i32 {
  %a = arith.constant 4 : index  %b = arith.constant 0 : index  %s = arith.constant 1 : index
  %0 = scf.for %i = %a to %b step %s iter_args(%v = %x) -> (i32) { %1 = arith.addi %v, %x : i32  scf.yield %1 : i32 }
  return %0 : i32
}""",
    "loop of one iteration": """func.func @f(%x: i32) -> i32 {
  %a = arith.constant 2 : index  %b = arith.constant 5 : index  %s = arith.constant 4 : index
  %0 = scf.for %i = %a to %b step %s iter_args(%v = %x) -> (i32) { %1 = arith.addi %v, %x : i32  scf.yield %1 : i32 }
  return %0 : i32
}""",
    "carried value that does not change": """func.func @f(%a: index, %b: index, %x: i32, %y: i32) -> (i32, i32) {
  %s = arith.constant 1 : index
  %0:2 = scf.for %i = %a to %b step %s iter_args(%v = %x, %w = %y) -> (i32, i32) {
    %1 = arith.muli %v, %w : i32
    scf.yield %1, %w : i32, i32
  }
  return %0#0, %0#1 : i32, i32
}""",
    "execute region of one block": """func.func @f(%x: i32) -> i32 {
  %0 = scf.execute_region -> i32 { %1 = arith.addi %x, %x : i32  scf.yield %1 : i32 }
  return %0 : i32
}""",
    "switch on a constant": """func.func @f(%x: i32, %y: i32) -> i32 {
  %c = arith.constant 1 : index
  %0 = scf.index_switch %c -> i32 case 1 { scf.yield %x : i32 } default { scf.yield %y : i32 }
  return %0 : i32
}""",
    "branch on a constant": """func.func @f(%x: i32, %y: i32) -> i32 {
  %t = arith.constant false
  cf.cond_br %t, ^bb1(%x : i32), ^bb1(%y : i32)
^bb1(%z: i32):
  return %z : i32
}""",
    "branches to one block": """func.func @f(%c: i1, %x: i32, %y: i32) -> i32 {
  cf.cond_br %c, ^bb1(%x : i32), ^bb1(%y : i32)
^bb1(%z: i32):
  return %z : i32
}""",
    "chain of blocks": """func.func @f(%x: i32) -> i32 {
  cf.br ^bb1(%x : i32)
^bb1(%y: i32):
  %0 = arith.addi %y, %x : i32
  cf.br ^bb2(%0 : i32)
^bb2(%z: i32):
  return %z : i32
}""",
    "switch of blocks": """func.func @f(%x: i32) -> i32 {
  %c = arith.constant 7 : i32
  cf.switch %c : i32, [default: ^bb1(%x : i32), 7: ^bb1(%c : i32)]
^bb1(%z: i32):
  return %z : i32
}""",
    "assertion": """func.func @f() {
  %t = arith.constant true
  cf.assert %t, "never"
  return
}""",
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_control_flow_simplifies_as_upstream(case: str) -> None:
    text = PROGRAMS[case]
    assert upstream(canonical(text), "--mlir-print-local-scope").strip() == upstream(text).strip()


def test_the_trip_count_of_constant_bounds_is_known() -> None:
    text = """func.func @f(%n: index) {
  %a = arith.constant 2 : index  %b = arith.constant 9 : index  %s = arith.constant 3 : index
  scf.for %i = %a to %b step %s { }
  scf.for %i = %a to %n step %s { }
  scf.for %i = %n to %n step %s { }
  return
}"""
    loops = [op for op in parse_module(text).walk() if isinstance(op, scf.For)]
    assert [loop.trip_count for loop in loops] == [3, None, 0]
    assert [loop.runs for loop in loops] == [True, False, False]
    assert [loop.counters for loop in loops] == [range(2, 9, 3), None, None]


def test_the_counters_of_an_unsigned_loop_are_unsigned() -> None:
    text = """func.func @f() {
  %a = arith.constant -3 : i8  %b = arith.constant -1 : i8  %z = arith.constant 0 : i8  %s = arith.constant 1 : i8
  scf.for unsigned %i = %a to %b step %s : i8 { }
  scf.for unsigned %i = %a to %z step %s : i8 { }
  scf.for %i = %a to %z step %s : i8 { }
  scf.for %i = %a to %b step %z : i8 { }
  return
}"""
    loops = [op for op in parse_module(text).walk() if isinstance(op, scf.For)]
    assert [loop.counters for loop in loops] == [range(253, 255), range(253, 0), range(-3, 0), None]
    assert [loop.trip_count for loop in loops] == [2, 0, 3, None]
    assert [loop.runs for loop in loops] == [True, False, True, False]


def test_a_loop_tells_its_parts() -> None:
    text = """func.func @f(%n: index, %x: f32) -> f32 {
  %0 = scf.for %i = %n to %n step %n iter_args(%v = %x) -> (f32) { %1 = arith.negf %v : f32  scf.yield %1 : f32 }
  return %0 : f32
}"""
    (loop,) = (op for op in parse_module(text).walk() if isinstance(op, scf.For))
    assert isinstance(loop, LoopLike) and loop.loop_body is loop.regions[0]
    assert [v.name_hint for v in (*loop.induction, *loop.iter_args)] == ["i", "v"]
    assert loop.yielded[0].defining_op is loop.body.entry.first_op


def test_the_operands_of_a_branch_are_known_and_changed_by_successor() -> None:
    text = """func.func @f(%c: i1, %x: i32, %y: i32) {
  cf.cond_br %c, ^bb1(%x, %y : i32, i32), ^bb2(%y : i32)
^bb1(%a: i32, %b: i32):
  return
^bb2(%d: i32):
  return
}"""
    (branch,) = (op for op in parse_module(text).walk() if isinstance(op, cf.CondBranch))
    x, y = branch.branch_operands(0)
    assert branch.branch_operands(1) == [y]
    branch.set_branch_operands(0, [x])
    assert branch.branch_operands(0) == [x] and branch.branch_operands(1) == [y]
