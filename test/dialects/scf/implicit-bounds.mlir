// RUN: tessera-opt %s --implicit-index-constants --split-input-file | filecheck %s
// RUN: not tessera-opt %s --split-input-file 2>&1 | filecheck %s --check-prefix=STRICT

// Constants that the text does not define have the type of the bound that it does; elsewhere they are index constants.
// CHECK-LABEL: func.func @bounds
// CHECK-DAG: %[[INDEX:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[STEP:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %n step %[[STEP]]  : i32
// CHECK: arith.addi %i, %[[INDEX]] : index
// STRICT: error: use of value '%n' expects different type than prior uses: 'index' vs 'i32'
func.func @bounds(%n: i32, %i: index) -> index {
  scf.for %k = %c0 to %n step %c4 {
  }
  %s = arith.addi %i, %c4 : index
  return %s : index
}

// -----

// Without a bound that the text defines, a loop counts in index.
// CHECK-LABEL: func.func @index
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
func.func @index() {
  scf.for %k = %c0 to %c8 step %c1 {
  }
  return
}
