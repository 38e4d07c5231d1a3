"""Passes that upstream has too, on the same programs: the results are the same after mlir-opt has printed both."""

from __future__ import annotations

import pytest

from harness.upstream import ours, peer
from tessera_tools.cli.opt import run

LOOPS = """
func.func @for(%a: index, %b: index, %c: index) {
  scf.for %i = %a to %b step %c {
    %0 = arith.constant 1 : index
    scf.for unsigned %j = %a to %b step %c {
      "test.use"(%i, %j) : (index, index) -> ()
    }
  }
  return
}
func.func @carried(%a: index, %b: index, %c: index, %x: f32) -> (f32, f32) {
  %r:2 = scf.for %i = %a to %b step %c iter_args(%s = %x, %t = %x) -> (f32, f32) {
    %n = arith.addf %s, %t : f32
    scf.yield %n, %s : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}
func.func @while(%a: i32, %c: i1) -> f32 {
  %r = scf.while (%x = %a) : (i32) -> f32 {
    %y = arith.sitofp %x : i32 to f32
    scf.condition(%c) %y : f32
  } do {
  ^bb0(%z: f32):
    %w = arith.fptosi %z : f32 to i32
    scf.yield %w : i32
  }
  return %r : f32
}
func.func @do_while(%a: i32, %c: i1) -> i32 {
  %r = scf.while (%x = %a) : (i32) -> i32 {
    %y = arith.addi %x, %x : i32
    scf.condition(%c) %y : i32
  } do {
  ^bb0(%z: i32):
    scf.yield %z : i32
  }
  return %r : i32
}
func.func @nest_of_loops(%a: index, %b: index, %c: index, %x: f32, %y: i64) -> (f32, i64) {
  %r:2 = scf.parallel (%i, %j) = (%a, %a) to (%b, %b) step (%c, %c) init (%x, %y) -> (f32, i64) {
    %p = "test.f"(%i) : (index) -> f32
    %q = "test.i"(%j) : (index) -> i64
    scf.reduce(%p, %q : f32, i64) {
    ^bb0(%l: f32, %m: f32):
      %s = arith.mulf %l, %m : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%l: i64, %m: i64):
      %s = arith.ori %l, %m : i64
      scf.reduce.return %s : i64
    }
  }
  return %r#0, %r#1 : f32, i64
}
func.func @without_reduction(%a: index, %b: index, %c: index) {
  scf.parallel (%i) = (%a) to (%b) step (%c) {
    "test.use"(%i) : (index) -> ()
  }
  return
}
"""

BRANCHES = """
func.func @if(%c: i1) {
  scf.if %c {
    "test.a"() : () -> ()
    scf.if %c {
      "test.b"() : () -> ()
    } else {
      "test.c"() : () -> ()
    }
  }
  return
}
func.func @values(%c: i1, %a: i32) -> (i32, i32) {
  %r:2 = scf.if %c -> (i32, i32) {
    %s = scf.if %c -> i32 {
      scf.yield %a : i32
    } else {
      %t = arith.addi %a, %a : i32
      scf.yield %t : i32
    }
    scf.yield %s, %a : i32, i32
  } else {
    scf.yield %a, %a : i32, i32
  }
  return %r#0, %r#1 : i32, i32
}
func.func @switch(%i: index, %a: i32) -> i32 {
  %r = scf.index_switch %i -> i32
  case 2 {
    %x = arith.muli %a, %a : i32
    scf.yield %x : i32
  }
  case 5 {
    scf.yield %a : i32
  }
  default {
    %y = arith.constant 4 : i32
    scf.yield %y : i32
  }
  return %r : i32
}
func.func @only_default(%i: index) {
  scf.index_switch %i
  default {
    "test.a"() : () -> ()
  }
  return
}
func.func @region(%c: i1, %a: i32) -> i32 {
  %r = scf.execute_region -> i32 {
    cf.cond_br %c, ^one, ^two
  ^one:
    scf.yield %a : i32
  ^two:
    %x = scf.if %c -> i32 {
      scf.yield %a : i32
    } else {
      %n = arith.subi %a, %a : i32
      scf.yield %n : i32
    }
    scf.yield %x : i32
  }
  return %r : i32
}
"""

SINKS = """
func.func @one_side(%c: i1, %a: i32, %b: i32) -> i32 {
  %x = arith.addi %a, %b : i32
  %y = arith.muli %a, %b : i32
  %z = arith.subi %x, %b : i32
  %r = scf.if %c -> i32 {
    scf.yield %z : i32
  } else {
    scf.yield %y : i32
  }
  return %r : i32
}
func.func @both_sides(%c: i1, %a: i32, %b: i32) -> i32 {
  %x = arith.addi %a, %b : i32
  %r = scf.if %c -> i32 {
    scf.yield %x : i32
  } else {
    %y = arith.muli %x, %b : i32
    scf.yield %y : i32
  }
  return %r : i32
}
func.func @effects(%c: i1, %m: memref<i32>) {
  %x = memref.load %m[] : memref<i32>
  %y = "test.unknown"() : () -> i32
  scf.if %c {
    "test.use"(%x, %y) : (i32, i32) -> ()
  }
  return
}
func.func @nested(%c: i1, %a: i32) {
  %x = arith.addi %a, %a : i32
  scf.if %c {
    scf.if %c {
      "test.use"(%x) : (i32) -> ()
    }
  }
  return
}
func.func @loop_in_a_branch(%c: i1, %a: i32, %l: index) {
  %x = arith.addi %a, %a : i32
  scf.if %c {
    scf.for %i = %l to %l step %l {
      "test.use"(%x) : (i32) -> ()
    }
  }
  return
}
func.func @only_a_loop(%a: i32, %l: index) {
  %x = arith.addi %a, %a : i32
  scf.for %i = %l to %l step %l {
    "test.use"(%x) : (i32) -> ()
  }
  return
}
func.func @switch(%i: index, %a: i32) -> i32 {
  %x = arith.addi %a, %a : i32
  %r = scf.index_switch %i -> i32
  case 1 {
    scf.yield %x : i32
  }
  default {
    scf.yield %a : i32
  }
  return %r : i32
}
"""

SYMBOLS = """
module {
  func.func @a() { return }
  func.func private @b()
  func.func nested @c() { return }
  module @inner {
    func.func @d() { return }
  }
  "test.op"() {sym_name = "not_a_symbol"} : () -> ()
}
"""

GRAPH = """
module {
  %0 = "test.a"(%1) : (i32) -> i32
  %1 = "test.b"(%2) : (i32) -> i32
  %2 = "test.c"() : () -> i32
  "test.region"() ({
    "test.d"(%3) : (i32) -> ()
  }) : () -> ()
  %3 = "test.e"(%0) : (i32) -> i32
  %4 = "test.cycle"(%5) : (i32) -> i32
  %5 = "test.cycle"(%4) : (i32) -> i32
  %6 = "test.last"(%6) : (i32) -> i32
  "test.unknown_kind"() ({
    %7 = "test.a"(%8) : (i32) -> i32
    %8 = "test.b"() : () -> i32
  }) : () -> ()
}
"""

CONSTANTS = """
func.func private @unknown() -> i1
func.func @select(%a: i32) -> i32 {
  %t = arith.constant true
  %c = arith.constant 1 : i32
  %s = arith.select %t, %c, %a : i32
  return %s : i32
}
func.func @one_edge(%a: i32) -> i32 {
  %t = arith.constant true
  %c = arith.constant 1 : i32
  cf.cond_br %t, ^one, ^two(%a : i32)
^one:
  cf.br ^two(%c : i32)
^two(%x: i32):
  return %x : i32
}
func.func @both_edges(%a: i32, %t: i1) -> i32 {
  %c = arith.constant 1 : i32
  cf.cond_br %t, ^one, ^two(%a : i32)
^one:
  cf.br ^two(%c : i32)
^two(%x: i32):
  return %x : i32
}
func.func @conflict(%t: i1) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.constant 2 : i32
  cf.cond_br %t, ^two(%c : i32), ^two(%d : i32)
^two(%x: i32):
  return %x : i32
}
func.func @unknown_branch() -> i32 {
  %c = arith.constant 1 : i32
  "test.branch"()[^one, ^two] : () -> ()
^one:
  cf.br ^two(%c : i32)
^two(%x: i32):
  return %x : i32
}
func.func @loop(%t: i1) -> i32 {
  %c = arith.constant 1 : i32
  cf.br ^body(%c : i32)
^body(%i: i32):
  %z = arith.constant 0 : i32
  %n = arith.addi %i, %z : i32
  %u = call @unknown() : () -> i1
  cf.cond_br %u, ^body(%n : i32), ^end(%n : i32)
^end(%x: i32):
  return %x : i32
}
func.func @counts(%t: i1) -> i32 {
  %c = arith.constant 1 : i32
  cf.br ^body(%c : i32)
^body(%i: i32):
  %n = arith.addi %i, %c : i32
  %u = call @unknown() : () -> i1
  cf.cond_br %u, ^body(%n : i32), ^end(%n : i32)
^end(%x: i32):
  return %x : i32
}
func.func @if_constant(%a: i32) -> i32 {
  %t = arith.constant true
  %c = arith.constant 3 : i32
  %r = scf.if %t -> i32 {
    scf.yield %c : i32
  } else {
    scf.yield %a : i32
  }
  return %r : i32
}
func.func @if_same(%t: i1) -> i32 {
  %r = scf.if %t -> i32 {
    %c = arith.constant 3 : i32
    scf.yield %c : i32
  } else {
    %d = arith.constant 3 : i32
    scf.yield %d : i32
  }
  return %r : i32
}
func.func @carried(%a: index, %b: index, %s: index) -> i32 {
  %c = arith.constant 0 : i32
  %r = scf.for %i = %a to %b step %s iter_args(%x = %c) -> i32 {
    %y = arith.addi %x, %c : i32
    scf.yield %y : i32
  }
  return %r : i32
}
func.func @carried_from_the_second_iteration_on(%a: index, %b: index, %s: index) -> i32 {
  %d = arith.constant 1 : i32
  %c = arith.constant 0 : i32
  %r = scf.for %i = %a to %b step %s iter_args(%x = %c) -> i32 {
    %y = arith.muli %d, %d : i32
    scf.yield %y : i32
  }
  return %r : i32
}
func.func @while(%t: i1) -> i32 {
  %c = arith.constant 0 : i32
  %r = scf.while (%x = %c) : (i32) -> i32 {
    %y = arith.addi %x, %x : i32
    scf.condition(%t) %y : i32
  } do {
  ^bb0(%z: i32):
    scf.yield %z : i32
  }
  return %r : i32
}
"""

CALLS = """
func.func private @same(%a: i32) -> i32 {
  return %a : i32
}
func.func @caller(%t: i1) -> i32 {
  %c = arith.constant 1 : i32
  %r = call @same(%c) : (i32) -> i32
  %s = call @same(%c) : (i32) -> i32
  %x = arith.addi %r, %s : i32
  return %x : i32
}
func.func private @other(%a: i32) -> i32 {
  return %a : i32
}
func.func @callers(%b: i32) -> (i32, i32) {
  %c = arith.constant 1 : i32
  %r = call @other(%c) : (i32) -> i32
  %s = call @other(%b) : (i32) -> i32
  return %r, %s : i32, i32
}
func.func private @taken(%a: i32) -> i32 {
  return %a : i32
}
func.func @takes() -> ((i32) -> i32, i32) {
  %f = func.constant @taken : (i32) -> i32
  %c = arith.constant 1 : i32
  %r = call @taken(%c) : (i32) -> i32
  return %f, %r : (i32) -> i32, i32
}
func.func private @recursive(%a: i32) -> i32 {
  %z = arith.constant 0 : i32
  %b = arith.cmpi eq, %a, %z : i32
  cf.cond_br %b, ^end, ^again
^again:
  %r = call @recursive(%a) : (i32) -> i32
  return %r : i32
^end:
  return %a : i32
}
func.func @starts() -> i32 {
  %z = arith.constant 0 : i32
  %r = call @recursive(%z) : (i32) -> i32
  return %r : i32
}
func.func @public(%a: i32) -> i32 {
  return %a : i32
}
func.func @calls_public() -> i32 {
  %z = arith.constant 0 : i32
  %r = call @public(%z) : (i32) -> i32
  return %r : i32
}
"""

VARIABLES = """
func.func @a(%x: i32, %c: i1) -> i32 {
  %m = memref.alloca() : memref<i32>
  memref.store %x, %m[] : memref<i32>
  scf.if %c {
    %y = arith.addi %x, %x : i32
    memref.store %y, %m[] : memref<i32>
  }
  %r = memref.load %m[] : memref<i32>
  return %r : i32
}
func.func @b(%x: i32, %c: i1) -> i32 {
  %m = memref.alloca() : memref<i32>
  cf.cond_br %c, ^one, ^two
^one:
  memref.store %x, %m[] : memref<i32>
  cf.br ^two
^two:
  %r = memref.load %m[] : memref<i32>
  return %r : i32
}
llvm.func @c(%x: i32, %c: i1) -> i32 {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
  llvm.store %x, %m : i32, !llvm.ptr
  llvm.cond_br %c, ^one, ^two
^one:
  %y = llvm.load %m : !llvm.ptr -> i32
  %z = llvm.add %y, %y : i32
  llvm.store %z, %m : i32, !llvm.ptr
  llvm.br ^two
^two:
  %r = llvm.load %m : !llvm.ptr -> i32
  llvm.return %r : i32
}
func.func @d() -> i32 {
  %m = memref.alloca() : memref<2xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 7 : i32
  memref.store %v, %m[%c0] : memref<2xi32>
  %r = memref.load %m[%c1] : memref<2xi32>
  return %r : i32
}
llvm.func @undefined(%c: i1) -> i32 {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %m = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
  %r = llvm.load %m : !llvm.ptr -> i32
  llvm.return %r : i32
}
func.func @x(%c: i1, %v: i32) -> memref<i32> {
  %m = memref.alloca() : memref<i32>
  memref.store %v, %m[] : memref<i32>
  return %m : memref<i32>
}
func.func @y(%c: i1, %v: i32) {
  %m = memref.alloca() : memref<1x1xi32>
  %c0 = arith.constant 0 : index
  memref.store %v, %m[%c0, %c0] : memref<1x1xi32>
  return
}
func.func @z(%c: i1, %v: vector<4xi32>) -> vector<4xi32> {
  %m = memref.alloca() : memref<vector<4xi32>>
  memref.store %v, %m[] : memref<vector<4xi32>>
  %r = memref.load %m[] : memref<vector<4xi32>>
  return %r : vector<4xi32>
}
func.func @w(%c: i1, %v: i32) -> i32 {
  %m = memref.alloca() : memref<i32>
  memref.store %v, %m[] : memref<i32>
  %r = scf.if %c -> i32 {
    %x = memref.load %m[] : memref<i32>
    scf.yield %x : i32
  } else {
    scf.yield %v : i32
  }
  return %r : i32
}
func.func @alloc(%v: i32) -> i32 {
  %m = memref.alloc() : memref<i32>
  memref.store %v, %m[] : memref<i32>
  %r = memref.load %m[] : memref<i32>
  memref.dealloc %m : memref<i32>
  return %r : i32
}
func.func @loop(%x: i32, %n: i32) -> i32 {
  %s = memref.alloca() : memref<i32>
  %i = memref.alloca() : memref<i32>
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  memref.store %z, %s[] : memref<i32>
  memref.store %z, %i[] : memref<i32>
  cf.br ^head
^head:
  %k = memref.load %i[] : memref<i32>
  %c = arith.cmpi slt, %k, %n : i32
  cf.cond_br %c, ^body, ^end
^body:
  %p = memref.load %s[] : memref<i32>
  %q = arith.addi %p, %x : i32
  memref.store %q, %s[] : memref<i32>
  %j = memref.load %i[] : memref<i32>
  %l = arith.addi %j, %one : i32
  memref.store %l, %i[] : memref<i32>
  cf.br ^head
^end:
  %r = memref.load %s[] : memref<i32>
  return %r : i32
}
func.func @not_loaded_after(%x: i32, %c: i1) {
  %m = memref.alloca() : memref<i32>
  cf.cond_br %c, ^one, ^two
^one:
  memref.store %x, %m[] : memref<i32>
  cf.br ^two
^two:
  return
}
"""

CASES = {
    "variables": (["--mem2reg"], VARIABLES),
    "constants": (["--sccp"], CONSTANTS),
    "calls": (["--sccp"], CALLS),
    "loops": (["--convert-scf-to-cf"], LOOPS),
    "branches": (["--convert-scf-to-cf"], BRANCHES),
    "sinks": (["--control-flow-sink"], SINKS),
    "private": (["--symbol-privatize"], SYMBOLS),
    "private-except": (["--symbol-privatize=exclude=a,inner"], SYMBOLS),
    "sorted": (["--topological-sort"], GRAPH),
}


@pytest.mark.parametrize(("flags", "text"), CASES.values(), ids=CASES)
def test_the_result_is_mlirs(flags: list[str], text: str) -> None:
    assert peer(text=ours(*flags, text=text)[0])[0] == peer(*flags, text=text)[0]


@pytest.mark.parametrize("how", ["", "=json=true"])
def test_the_statistics_are_mlirs(how: str) -> None:
    text = LOOPS + '"nodot"() : () -> ()\n'
    assert ours(f"--print-op-stats{how}", text=text)[1] == peer(f"--print-op-stats{how}", text=text)[1]


@pytest.mark.parametrize(
    ("flags", "text", "says"),
    [
        (
            ["--convert-scf-to-cf"],
            "%c = arith.constant true\nscf.if %c {\n}",
            "<stdin>:2:1: error: 'scf.if' op cannot become branches inside 'builtin.module'",
        ),
        (
            ["--pass-pipeline=builtin.module(func.func(symbol-privatize))"],
            "func.func @f() { return }",
            "was scheduled to run under SymbolPrivatize, but is not a symbol table",
        ),
    ],
)
def test_what_is_refused(flags: list[str], text: str, says: str) -> None:
    result = run(flags, text.encode())
    assert result.exit_code == 1
    assert says in result.stderr.decode()


def test_a_switch_on_a_constant_reaches_one_case() -> None:
    """Upstream's pass takes every case of `cf.switch` for possible."""
    text = """func.func @switch(%a: i32) -> i32 {
  %c = arith.constant 5 : i32
  %d = arith.constant 6 : i32
  cf.switch %c : i32, [default: ^end(%a : i32), 5: ^end(%d : i32), 7: ^end(%a : i32)]
^end(%x: i32):
  return %x : i32
}
"""
    out, _ = ours("--sccp", text=text)
    assert "return %x" not in out
    assert "constant 6" in out
