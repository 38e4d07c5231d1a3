// RUN: tessera-opt %s --implicit-index-constants -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -

// An assignment to a buffer is a copy; `func` is func.func.
// CHECK-LABEL: func.func @assignment
func @assignment(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // CHECK: tile.copy %b, %a : memref<8xf32, 5>
  %a = %b : memref<8xf32, 5>
  // CHECK: tile.copy %a, %b : memref<8xf32, 5>
  %b = %a : memref<8xf32, 5>
  return
}

// Ops in the place of operands stand before the op, in order.
// CHECK-LABEL: func.func @nested
func @nested(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // CHECK: %[[X:.*]] = tile.mul %a, %b : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  // CHECK-NEXT: %[[Y:.*]] = tile.element_max %b, %a :
  // CHECK-NEXT: tile.fma %[[X]], %[[Y]], %a :
  %0 = tile.fma tile.mul(%a, %b), tile.element_max(%b, %a), %a : memref<8xf32, 5>, memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// What the text defines later takes the place of an implicit constant from there on.
// CHECK-LABEL: func.func @redefined
func @redefined() -> (index, index) {
  // CHECK: %[[IMPLICIT:.*]] = arith.constant 5 : index
  // CHECK: %[[SUM:.*]] = arith.addi %[[IMPLICIT]], %[[IMPLICIT]] : index
  %0 = arith.addi %c5, %c5 : index
  // CHECK: %[[OWN:.*]] = arith.constant 7 : index
  %c5 = arith.constant 7 : index
  // CHECK: arith.addi %[[OWN]], %[[OWN]] : index
  %1 = arith.addi %c5, %c5 : index
  return %0, %1 : index, index
}

// Constants stand at the head of the function, whatever the loop that uses them.
// CHECK-LABEL: func.func @in_a_loop
// CHECK-NEXT: arith.constant 4 : index
func @in_a_loop(%n: index) {
  scf.for %i = %n to %n step %n {
    %0 = arith.addi %i, %c4 : index
  }
  // CHECK: }
  // CHECK-NEXT: arith.addi %n, %c4 : index
  %1 = arith.addi %n, %c4 : index
  return
}
