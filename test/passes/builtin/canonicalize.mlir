// RUN: tessera-opt %s --canonicalize | filecheck %s
// RUN: tessera-opt %s --canonicalize='region-simplify=disabled' | filecheck %s --check-prefix=KEEP
// RUN: not tessera-opt %s --canonicalize='max-iterations=1 test-convergence' 2>&1 | filecheck %s --check-prefix=LIMIT
// RUN: tessera-opt %s --canonicalize='max-iterations=10 test-convergence' | filecheck %s

// A sweep that changes something is followed by another one.
// LIMIT: canonicalize.mlir:1:1: error: canonicalization did not converge

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

// A volatile load, and an atomic one that orders others, is needed although nobody uses its result.
// CHECK-LABEL: llvm.func @ordered_loads
llvm.func @ordered_loads(%p: !llvm.ptr) {
  // CHECK-NEXT: llvm.load volatile
  // CHECK-NEXT: llvm.load {{.*}} atomic acquire
  // CHECK-NEXT: llvm.return
  %0 = llvm.load volatile %p : !llvm.ptr -> i32
  %1 = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  %2 = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr -> i32
  %3 = llvm.load %p : !llvm.ptr -> i32
  llvm.return
}

// Blocks that only branch in a circle stay one; nothing is done in blocks that no path reaches.
// CHECK-LABEL: func.func @circles
func.func @circles(%c: i1) {
  // CHECK-NEXT: cf.cond_br %{{.*}}, ^[[A:.*]], ^[[B:.*]]
  // CHECK-NEXT: ^[[A]]:
  // CHECK-NEXT: cf.br ^[[A]]
  // CHECK-NEXT: ^[[B]]:
  // CHECK-NEXT: cf.br ^[[B]]
  // CHECK-NOT: arith
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^a
^b:
  cf.br ^d
^d:
  cf.br ^b
^lost:
  %0 = arith.addi %0, %1 : i32
  %1 = arith.select %2, %0, %1 : i32
  %2 = arith.xori %2, %2 : i1
  cf.br ^lost
}
