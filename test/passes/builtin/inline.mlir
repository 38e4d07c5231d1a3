// RUN: tessera-opt %s --inline | filecheck %s
// RUN: tessera-opt %s --inline='default-pipeline=' --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=LOC
// RUN: tessera-opt %s --inline='inlining-threshold=0' | filecheck %s --check-prefix=NONE

// NONE: call @add

// Private functions go with their last call; public ones stay.
// CHECK-NOT: @add
func.func private @add(%x: i32, %y: i32) -> i32 {
  %0 = arith.addi %x, %y : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @one_block
// CHECK-SAME: %[[A:.*]]: i32
func.func @one_block(%a: i32) -> i32 {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[A]], %[[A]] : i32
  // CHECK-NEXT: return %[[SUM]]
  // LOC-LABEL: @one_block
  // LOC: arith.addi {{.*}} loc(callsite("{{.*}}inline.mlir":10:8 at "{{.*}}inline.mlir":21:8))
  %0 = call @add(%a, %a) : (i32, i32) -> i32
  return %0 : i32
}

// Through two levels: callees first.
// CHECK-LABEL: func.func @twice
func.func @twice(%a: i32) -> i32 {
  // CHECK-NOT: call
  // CHECK: return
  %0 = call @one_block(%a) : (i32) -> i32
  %1 = call @one_block(%0) : (i32) -> i32
  return %1 : i32
}

func.func private @effect()
func.func private @choose(%c: i1, %x: i32, %y: i32) -> i32 {
  cf.cond_br %c, ^left, ^right
^left:
  call @effect() : () -> ()
  return %x : i32
^right:
  return %y : i32
}

// CHECK-LABEL: func.func @several_blocks
// CHECK-SAME: %[[C:.*]]: i1, %[[X:.*]]: i32, %[[Y:.*]]: i32
func.func @several_blocks(%c: i1, %x: i32, %y: i32) -> i32 {
  // CHECK: cf.cond_br %[[C]], ^[[LEFT:.*]], ^
  // CHECK: ^[[LEFT]]:
  // CHECK-NEXT: call @effect
  // CHECK-NEXT: cf.br ^[[END:.*]](%[[X]] : i32)
  // CHECK: ^[[END]](%[[R:[a-z0-9]+]]: i32):
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[R]], %[[X]]
  // CHECK-NEXT: return %[[SUM]]
  %0 = call @choose(%c, %x, %y) : (i1, i32, i32) -> i32
  %1 = arith.addi %0, %x : i32
  return %1 : i32
}

// The block that defines %v stands behind the one that uses it.
func.func private @backwards(%x: i32) -> i32 {
  cf.br ^define
^use:
  %0 = arith.muli %v, %v : i32
  return %0 : i32
^define:
  %v = arith.addi %x, %x : i32
  cf.br ^use
}

// CHECK-LABEL: func.func @uses_before_definitions
// CHECK-SAME: %[[X:.*]]: i32
func.func @uses_before_definitions(%x: i32) -> i32 {
  // CHECK-NEXT: %[[V:.*]] = arith.addi %[[X]], %[[X]]
  // CHECK-NEXT: arith.muli %[[V]], %[[V]]
  %0 = call @backwards(%x) : (i32) -> i32
  return %0 : i32
}

// A loop's body is one block, so that a function of several is not inlined there.
// CHECK-LABEL: func.func @several_blocks_in_a_loop
func.func @several_blocks_in_a_loop(%c: i1, %x: i32, %n: index) {
  // CHECK: scf.for
  // CHECK: call @choose
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = func.call @choose(%c, %x, %x) : (i1, i32, i32) -> i32
  }
  return
}

// CHECK-LABEL: func.func @recursive
func.func @recursive(%a: i32) -> i32 {
  // CHECK-NEXT: call @recursive
  %0 = call @recursive(%a) : (i32) -> i32
  return %0 : i32
}

// CHECK-LABEL: func.func @even
// CHECK-NEXT: call @odd
// CHECK-LABEL: func.func @odd
// CHECK-NEXT: call @even
func.func @even(%a: i32) -> i32 {
  %0 = call @odd(%a) : (i32) -> i32
  return %0 : i32
}
func.func @odd(%a: i32) -> i32 {
  %0 = call @even(%a) : (i32) -> i32
  return %0 : i32
}

func.func private @kept(%a: i32) -> i32 attributes {no_inline} {
  return %a : i32
}
// CHECK-LABEL: func.func @calls_kept
func.func @calls_kept(%a: i32) -> i32 {
  // CHECK-NEXT: call @kept
  %0 = call @kept(%a) : (i32) -> i32
  return %0 : i32
}

// RUN: tessera-opt %s --inline --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATS

// STATS: Inliner
// STATS-NEXT: (S) 2 num-dce'd
// STATS-NEXT: (S) 5 num-inlined - Number of calls replaced by bodies
