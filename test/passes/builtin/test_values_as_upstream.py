"""Passes that split and remove values: the results are upstream's after mlir-opt has printed both."""

from __future__ import annotations

import pytest

from harness.upstream import ours, peer

AGGREGATES = """
func.func @a(%x: i32, %y: i32) -> i32 {
  %0 = memref.alloca() : memref<4xi32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  memref.store %x, %0[%c0] : memref<4xi32>
  memref.store %y, %0[%c2] : memref<4xi32>
  %r = memref.load %0[%c2] : memref<4xi32>
  return %r : i32
}
func.func @b(%x: i32, %i: index) -> i32 {
  %0 = memref.alloca() : memref<4xi32>
  %c0 = arith.constant 0 : index
  memref.store %x, %0[%c0] : memref<4xi32>
  %r = memref.load %0[%i] : memref<4xi32>
  return %r : i32
}
func.func @c(%x: i32) -> i32 {
  %0 = memref.alloca() {a = 1} : memref<2x2xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %x, %0[%c0, %c1] : memref<2x2xi32>
  %r = memref.load %0[%c0, %c1] : memref<2x2xi32>
  return %r : i32
}
func.func @big(%x: i32) {
  %0 = memref.alloca() : memref<17xi32>
  %c0 = arith.constant 0 : index
  memref.store %x, %0[%c0] : memref<17xi32>
  return
}
func.func @oob(%x: i32) {
  %0 = memref.alloca() : memref<4xi32>
  %c0 = arith.constant 5 : index
  memref.store %x, %0[%c0] : memref<4xi32>
  return
}
llvm.func @l(%x: i32) -> i32 {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.alloca %c1 x !llvm.struct<"s", (i32, f64, struct<(i16, i32)>)> {alignment = 8 : i64} : (i32) -> !llvm.ptr
  %1 = llvm.getelementptr %0[0, 2, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<"s", (i32, f64, struct<(i16, i32)>)>
  llvm.store %x, %1 : i32, !llvm.ptr
  %2 = llvm.getelementptr %0[0, 2, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<"s", (i32, f64, struct<(i16, i32)>)>
  %3 = llvm.load %2 : !llvm.ptr -> i32
  llvm.return %3 : i32
}
llvm.func @arr(%x: i32) -> i32 {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.alloca %c1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
  %1 = llvm.getelementptr %0[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i32>
  llvm.store %x, %1 : i32, !llvm.ptr
  %3 = llvm.load %1 : !llvm.ptr -> i32
  llvm.store %x, %0 : i32, !llvm.ptr
  llvm.return %3 : i32
}
llvm.func @whole(%x: !llvm.struct<(i32, i32)>) -> i32 {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.alloca %c1 x !llvm.struct<(i32, i32)> : (i32) -> !llvm.ptr
  llvm.store %x, %0 : !llvm.struct<(i32, i32)>, !llvm.ptr
  %1 = llvm.getelementptr %0[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32)>
  %3 = llvm.load %1 : !llvm.ptr -> i32
  llvm.return %3 : i32
}
"""

DEAD = """
func.func private @f(%a: i32, %b: i32) -> (i32, i32) {
  %c = arith.addi %a, %a : i32
  %d = arith.muli %b, %b : i32
  return %c, %d : i32, i32
}
func.func @g(%x: i32, %y: i32) -> i32 {
  %r:2 = call @f(%x, %y) : (i32, i32) -> (i32, i32)
  return %r#0 : i32
}
func.func @loop(%x: i32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %t = %x) -> (i32, i32) {
    %u = arith.addi %s, %s : i32
    %v = arith.addi %t, %t : i32
    scf.yield %u, %v : i32, i32
  }
  return %r#0 : i32
}
func.func @while(%x: i32, %c: i1) -> i32 {
  %r:2 = scf.while (%a = %x, %b = %x) : (i32, i32) -> (i32, i32) {
    %k = arith.cmpi slt, %a, %x : i32
    scf.condition(%k) %a, %b : i32, i32
  } do {
  ^bb0(%p: i32, %q: i32):
    %z = arith.addi %p, %p : i32
    %w = arith.addi %q, %q : i32
    scf.yield %z, %w : i32, i32
  }
  return %r#0 : i32
}
func.func @if(%x: i32, %c: i1) -> i32 {
  %r:2 = scf.if %c -> (i32, i32) {
    %z = arith.addi %x, %x : i32
    scf.yield %z, %x : i32, i32
  } else {
    %w = arith.muli %x, %x : i32
    scf.yield %x, %w : i32, i32
  }
  return %r#0 : i32
}
func.func private @ext(i32)
func.func @callext(%x: i32) {
  call @ext(%x) : (i32) -> ()
  return
}
func.func private @rec(%a: i32, %b: i32) -> i32 {
  %r = call @rec(%a, %b) : (i32, i32) -> i32
  return %a : i32
}
func.func @userec(%a: i32) {
  %r = call @rec(%a, %a) : (i32, i32) -> i32
  return
}
func.func private @uncalled(%a: i32) -> i32 {
  return %a : i32
}
func.func @pubunused(%a: i32, %b: i32) -> i32 {
  %z = arith.addi %b, %b : i32
  return %a : i32
}
"""

CASES = {
    "aggregates": (["--sroa", "--mem2reg"], AGGREGATES),  # the new variables of sroa are in another order
    "dead": (["--remove-dead-values", "--cse"], DEAD),  # upstream leaves dead `ub.poison`
}


@pytest.mark.parametrize(("flags", "text"), CASES.values(), ids=CASES)
def test_the_result_is_mlirs(flags: list[str], text: str) -> None:
    assert peer(text=ours(*flags, text=text)[0])[0] == peer(*flags, text=text)[0]
