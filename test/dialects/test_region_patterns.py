"""Patterns of `scf`, `cf` and `arith` that change regions, blocks and ops of several kinds, against upstream's.

Each program is simplified by both; the texts must be the same. The programs whose names begin with "not" stay as
they are, but for names.
"""

from __future__ import annotations

import pytest
from dialects.folding import canonical, upstream

PROGRAMS = {
    "results that nothing reads": """
      %0:2 = scf.if %c -> (i32, i32) {
        %1 = func.call @get() : () -> i32
        %2 = func.call @get() : () -> i32
        scf.yield %1, %2 : i32, i32
      } else {
        %1 = func.call @get() : () -> i32
        scf.yield %1, %y : i32, i32
      }
      return %0#1 : i32""",
    "the result is the condition": """
      %t = arith.constant true  %f = arith.constant false
      %0:2 = scf.if %c -> (i32, i1) {
        %1 = func.call @get() : () -> i32
        scf.yield %1, %t : i32, i1
      } else {
        %1 = func.call @get() : () -> i32
        scf.yield %1, %f : i32, i1
      }
      %3 = arith.select %0#1, %0#0, %x : i32
      return %3 : i32""",
    "a result from outside of an if with operations": """
      %0 = scf.if %c -> (i32) {
        func.call @do(%x) : (i32) -> ()
        scf.yield %x : i32
      } else {
        scf.yield %y : i32
      }
      return %0 : i32""",
    "an if on a negated condition": """
      %t = arith.constant true
      %n = arith.xori %c, %t : i1
      scf.if %n { func.call @do(%x) : (i32) -> () } else { func.call @do(%y) : (i32) -> () }
      return %x : i32""",
    "a switch on a case": """
      %i = arith.constant 5 : index
      %0 = scf.index_switch %i -> i32
      case 2 { scf.yield %x : i32 }
      case 5 { %1 = func.call @get() : () -> i32  scf.yield %1 : i32 }
      default { scf.yield %y : i32 }
      return %0 : i32""",
    "a switch on no case": """
      %i = arith.constant 3 : index
      %0 = scf.index_switch %i -> i32
      case 2 { scf.yield %x : i32 }
      default { %1 = func.call @get() : () -> i32  scf.yield %1 : i32 }
      return %0 : i32""",
    "nested ifs": """
      scf.if %c { scf.if %d { func.call @do(%x) : (i32) -> () } }
      return %x : i32""",
    "nested ifs with one value otherwise": """
      %0 = scf.if %c -> (i32) {
        %1 = scf.if %d -> (i32) { %2 = func.call @get() : () -> i32  scf.yield %2 : i32 } else { scf.yield %x : i32 }
        scf.yield %1 : i32
      } else { scf.yield %x : i32 }
      return %0 : i32""",
    "not nested ifs with other values otherwise": """
      %0 = scf.if %c -> (i32) {
        %1 = scf.if %d -> (i32) { %2 = func.call @get() : () -> i32  scf.yield %2 : i32 } else { scf.yield %x : i32 }
        scf.yield %1 : i32
      } else { scf.yield %y : i32 }
      return %0 : i32""",
    "not nested ifs with more beside": """
      scf.if %c {
        scf.if %d { func.call @do(%x) : (i32) -> () }
        func.call @do(%y) : (i32) -> ()
      }
      return %x : i32""",
    "two ifs in a row": """
      %0 = scf.if %c -> (i32) { %1 = func.call @get() : () -> i32  scf.yield %1 : i32 } else { scf.yield %x : i32 }
      scf.if %c { func.call @do(%0) : (i32) -> () } else { func.call @do(%y) : (i32) -> () }
      return %0 : i32""",
    "two ifs in a row on opposite conditions": """
      %t = arith.constant true
      %n = arith.xori %c, %t : i1
      scf.if %c { func.call @do(%x) : (i32) -> () }
      scf.if %n { func.call @do(%y) : (i32) -> () }
      return %x : i32""",
    "not two ifs with something between": """
      scf.if %c { func.call @do(%x) : (i32) -> () }
      func.call @do(%y) : (i32) -> ()
      scf.if %c { func.call @do(%x) : (i32) -> () }
      return %x : i32""",
    "carried values in a circle": """
      %0:3 = scf.for %i = %l to %u step %u iter_args(%a = %x, %b = %x, %e = %y) -> (i32, i32, i32) {
        func.call @do(%e) : (i32) -> ()
        scf.yield %b, %a, %a : i32, i32, i32
      }
      %1 = arith.addi %0#0, %0#2 : i32
      return %1 : i32""",
    "equal carried values": """
      %0:2 = scf.for %i = %l to %u step %u iter_args(%a = %x, %b = %x) -> (i32, i32) {
        %1 = arith.muli %a, %b : i32
        %2 = arith.addi %1, %y : i32
        scf.yield %2, %2 : i32, i32
      }
      %1 = arith.addi %0#0, %0#1 : i32
      return %1 : i32""",
    "not carried values that part": """
      %0:2 = scf.for %i = %l to %u step %u iter_args(%a = %x, %b = %x) -> (i32, i32) {
        %1 = arith.muli %a, %b : i32
        %2 = arith.addi %1, %y : i32
        scf.yield %2, %1 : i32, i32
      }
      %1 = arith.addi %0#0, %0#1 : i32
      return %1 : i32""",
    "what a loop that runs yields from outside": """
      %a = arith.constant 0 : index  %b = arith.constant 4 : index  %s = arith.constant 1 : index
      %0 = scf.for %i = %a to %b step %s iter_args(%v = %x) -> (i32) { scf.yield %y : i32 }
      return %0 : i32""",
    "not what a loop that may not run yields from outside": """
      %0 = scf.for %i = %l to %u step %u iter_args(%v = %x) -> (i32) {
        func.call @do(%y) : (i32) -> ()
        scf.yield %y : i32
      }
      return %0 : i32""",
    "a loop from x to x + 2 by 2": """
      %two = arith.constant 2 : index
      %end = arith.addi %l, %two overflow<nsw> : index
      scf.for %i = %l to %end step %two {
        %1 = arith.index_cast %i : index to i32
        func.call @do(%1) : (i32) -> ()
      }
      return %x : i32""",
    "not a loop whose end may wrap": """
      %two = arith.constant 2 : index
      %end = arith.addi %l, %two : index
      scf.for %i = %l to %end step %two {
        %1 = arith.index_cast %i : index to i32
        func.call @do(%1) : (i32) -> ()
      }
      return %x : i32""",
    "while with places that nothing reads": """
      %0:2 = scf.while (%a = %x, %b = %y) : (i32, i32) -> (i32, i32) {
        %1 = func.call @get() : () -> i32
        %2 = arith.cmpi slt, %1, %a : i32
        scf.condition(%2) %1, %b : i32, i32
      } do {
      ^bb0(%e: i32, %g: i32):
        scf.yield %e, %g : i32, i32
      }
      return %0#0 : i32""",
    "while with values passed on twice": """
      %0:2 = scf.while : () -> (i32, i32) {
        %1 = func.call @get() : () -> i32
        %2 = arith.cmpi slt, %1, %x : i32
        scf.condition(%2) %1, %1 : i32, i32
      } do {
      ^bb0(%e: i32, %g: i32):
        func.call @do(%e) : (i32) -> ()
        func.call @do(%g) : (i32) -> ()
        scf.yield
      }
      %1 = arith.addi %0#0, %0#1 : i32
      return %1 : i32""",
    "the condition of a while inside": """
      %0 = scf.while : () -> i32 {
        %1 = func.call @get() : () -> i32
        %2 = arith.cmpi slt, %1, %x : i32
        scf.condition(%2) %1 : i32
      } do {
      ^bb0(%e: i32):
        %1 = arith.cmpi slt, %e, %x : i32
        %2 = arith.cmpi sge, %e, %x : i32
        %3 = arith.select %1, %e, %x : i32
        %4 = arith.select %2, %e, %y : i32
        func.call @do(%3) : (i32) -> ()
        func.call @do(%4) : (i32) -> ()
        scf.yield
      }
      return %0 : i32""",
    "the condition of a while, passed on": """
      %0 = scf.while : () -> i1 {
        %1 = func.call @get() : () -> i32
        %2 = arith.cmpi slt, %1, %x : i32
        scf.condition(%2) %2 : i1
      } do {
      ^bb0(%e: i1):
        %1 = arith.select %e, %x, %y : i32
        func.call @do(%1) : (i32) -> ()
        scf.yield
      }
      %3 = arith.select %0, %x, %y : i32
      return %3 : i32""",
    "blocks of an execute_region": """
      %0 = scf.execute_region -> i32 {
        cf.cond_br %c, ^bb1, ^bb2
      ^bb1:
        %1 = func.call @get() : () -> i32
        scf.yield %1 : i32
      ^bb2:
        func.call @do(%x) : (i32) -> ()
        scf.yield %y : i32
      }
      return %0 : i32""",
    "a parallel dimension that runs once": """
      %a = arith.constant 3 : index  %b = arith.constant 4 : index  %s = arith.constant 1 : index
      scf.parallel (%i, %j) = (%a, %l) to (%b, %u) step (%s, %s) {
        %1 = arith.addi %i, %j : index
        %2 = arith.index_cast %1 : index to i32
        func.call @do(%2) : (i32) -> ()
      }
      return %x : i32""",
    "nested parallel loops": """
      scf.parallel (%i) = (%l) to (%u) step (%u) {
        scf.parallel (%j) = (%l) to (%u) step (%u) {
          %1 = arith.addi %i, %j : index
          %2 = arith.index_cast %1 : index to i32
          func.call @do(%2) : (i32) -> ()
        }
      }
      return %x : i32""",
    "not nested parallel loops of which one depends on the other": """
      scf.parallel (%i) = (%l) to (%u) step (%u) {
        scf.parallel (%j) = (%l) to (%i) step (%u) {
          %2 = arith.index_cast %j : index to i32
          func.call @do(%2) : (i32) -> ()
        }
      }
      return %x : i32""",
    "a switch with cases like the default": """
      cf.switch %x : i32, [default: ^bb1(%x : i32), 1: ^bb2, 5: ^bb1(%x : i32), 7: ^bb1(%y : i32)]
    ^bb1(%z: i32):
      func.call @do(%z) : (i32) -> ()
      return %z : i32
    ^bb2:
      return %y : i32""",
    "a switch behind a switch": """
      cf.switch %x : i32, [default: ^bb1, 1: ^bb2]
    ^bb1:
      func.call @do(%x) : (i32) -> ()
      cf.switch %x : i32, [default: ^bb3(%x : i32), 1: ^bb4, 2: ^bb3(%y : i32)]
    ^bb2:
      func.call @do(%y) : (i32) -> ()
      cf.switch %x : i32, [default: ^bb3(%x : i32), 1: ^bb4]
    ^bb3(%z: i32):
      return %z : i32
    ^bb4:
      return %y : i32""",
    "a branch to what is never reached": """
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      func.call @do(%x) : (i32) -> ()
      return %x : i32
    ^bb2:
      ub.unreachable""",
    "converted integers beside constants": """
      %k = arith.constant 3.5 : f64
      %n = arith.constant -1.0 : f64
      %0 = arith.uitofp %x : i32 to f64
      %1 = arith.cmpf olt, %0, %k : f64
      %2 = arith.sitofp %y : i32 to f64
      %3 = arith.cmpf oge, %2, %n : f64
      %4 = arith.cmpf oeq, %2, %k : f64
      %5 = arith.ori %1, %3 : i1
      %6 = arith.select %5, %x, %y : i32
      %7 = arith.select %4, %x, %6 : i32
      return %7 : i32""",
    "a converted integer beside a small constant": """
      %k = arith.constant 3.5 : f32
      %0 = arith.sitofp %x : i32 to f32
      %1 = arith.cmpf olt, %0, %k : f32
      %2 = arith.select %1, %x, %y : i32
      return %2 : i32""",
    "not a converted integer that is rounded": """
      %k = arith.constant 33554432.0 : f32
      %0 = arith.sitofp %x : i32 to f32
      %1 = arith.cmpf olt, %0, %k : f32
      %2 = arith.select %1, %x, %y : i32
      return %2 : i32""",
}


def program(case: str) -> str:
    return f"""
    func.func private @do(i32)
    func.func private @get() -> i32
    func.func @f(%c: i1, %d: i1, %x: i32, %y: i32, %l: index, %u: index) -> i32 {{{PROGRAMS[case]}
    }}"""


@pytest.mark.parametrize("case", PROGRAMS)
def test_both_simplify_alike(case: str) -> None:
    text = program(case)
    ours = canonical(text)
    assert upstream(ours, "--mlir-print-local-scope").strip() == upstream(text).strip()
    before = upstream(text, "--mlir-print-local-scope").strip()
    assert (before == upstream(text).strip()) == case.startswith("not "), "the program shows nothing"


def test_a_tile_is_not_selected_if_a_branch_does_more() -> None:
    text = canonical("""
    func.func private @do()
    func.func @f(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = scf.if %c -> (tensor<4xf32>) {
        func.call @do() : () -> ()
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }""")
    assert "scf.if" in text and "arith.select" not in text
