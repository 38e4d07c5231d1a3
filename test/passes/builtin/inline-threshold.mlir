// RUN: tessera-opt %s --inline='inlining-threshold=100' | filecheck %s
// RUN: tessera-opt %s --inline='inlining-threshold=99' | filecheck %s --check-prefix=BELOW

// The threshold is the size of the callee in per cent of that of the caller, and is inclusive: both have two ops.
func.func private @add(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @caller
// CHECK-NEXT: arith.addi
// CHECK-NEXT: return
// BELOW-LABEL: func.func @caller
// BELOW-NEXT: call @add
// BELOW-NEXT: return
func.func @caller(%a: i32) -> i32 {
  %0 = call @add(%a) : (i32) -> i32
  return %0 : i32
}
