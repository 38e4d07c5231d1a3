// RUN: tessera-opt %s --control-flow-sink | filecheck %s
// RUN: tessera-opt %s --control-flow-sink --control-flow-sink --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATS
// RUN: tessera-opt %s --control-flow-sink --mlir-print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix=CHANGE

// CHANGE: IR Dump After ControlFlowSink

// STATS: ControlFlowSink
// STATS-NEXT: (S) 1 num-sunk
// STATS: ControlFlowSink
// STATS-NEXT: (S) 0 num-sunk

// What only one region uses is computed there. What both regions use, and what is used outside, stays.
// CHECK-LABEL: func.func @one_use
func.func @one_use(%c: i1, %a: i32) -> (i32, i32) {
  // CHECK-NEXT: %[[BOTH:.+]] = arith.addi
  // CHECK-NEXT: %[[OUT:.+]] = arith.subi
  // CHECK-NEXT: scf.if
  // CHECK-NEXT:   %[[ONE:.+]] = arith.muli
  // CHECK-NEXT:   %[[SUM:.+]] = arith.addi %[[ONE]], %[[BOTH]]
  // CHECK-NEXT:   scf.yield %[[SUM]]
  %one = arith.muli %a, %a : i32
  %both = arith.addi %a, %a : i32
  %out = arith.subi %a, %both : i32
  %r = scf.if %c -> i32 {
    %sum = arith.addi %one, %both : i32
    scf.yield %sum : i32
  } else {
    %rest = arith.subi %both, %out : i32
    scf.yield %rest : i32
  }
  return %r, %out : i32, i32
}

// A loop may run its region many times.
// CHECK-LABEL: func.func @loop
func.func @loop(%a: i32, %n: index, %m: memref<?xi32>) {
  // CHECK: arith.muli
  // CHECK: scf.for
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %square = arith.muli %a, %a : i32
  scf.for %i = %c0 to %n step %c1 {
    memref.store %square, %m[%i] : memref<?xi32>
  }
  return
}
