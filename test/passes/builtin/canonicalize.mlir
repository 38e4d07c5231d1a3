// RUN: tessera-opt %s --canonicalize | filecheck %s
// RUN: tessera-opt %s --canonicalize='region-simplify=disabled' | filecheck %s --check-prefix=KEEP

// CHECK-LABEL: func.func @fold
func.func @fold() -> i32 {
  // CHECK-NEXT: %[[C:.*]] = arith.constant 3 : i32
  // CHECK-NEXT: return %[[C]]
  %0 = arith.constant 1 : i32
  %1 = arith.constant 2 : i32
  %2 = arith.addi %0, %1 : i32
  return %2 : i32
}

// Constants go to the right, and to the top of the function.
// CHECK-LABEL: func.func @constants
// CHECK-SAME: %[[A:.*]]: i32
func.func @constants(%a: i32) -> i32 {
  // CHECK-NEXT: %[[C:.*]] = arith.constant 7 : i32
  // CHECK-NEXT: %[[M:.*]] = arith.muli %[[A]], %[[A]]
  // CHECK-NEXT: arith.addi %[[M]], %[[C]]
  %0 = arith.muli %a, %a : i32
  %1 = arith.constant 7 : i32
  %2 = arith.addi %1, %0 : i32
  return %2 : i32
}

// CHECK-LABEL: func.func @dead
func.func @dead(%a: i32) {
  // CHECK-NEXT: return
  %0 = arith.addi %a, %a : i32
  return
}

// CHECK-LABEL: func.func @unreachable
// KEEP-LABEL: func.func @unreachable
func.func @unreachable(%a: i32) -> i32 {
  // CHECK-NEXT: return
  // CHECK-NEXT: }
  // KEEP: cf.br
  return %a : i32
^never:
  cf.br ^never
}

// CHECK-LABEL: func.func @dead_argument
func.func @dead_argument(%a: i32, %c: i1) {
  // CHECK-NOT: arith
  // CHECK: return
  cf.br ^loop(%a : i32)
^loop(%x: i32):
  %0 = arith.addi %x, %a : i32
  cf.cond_br %c, ^loop(%0 : i32), ^end
^end:
  return
}
