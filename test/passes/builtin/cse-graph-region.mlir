// RUN: tessera-opt %s --allow-unregistered-dialect --cse | filecheck %s

// In a graph region, a user may come first. What it takes changes, unless later ops are compared with it.
// CHECK-LABEL: module @graph
builtin.module @graph {
  // CHECK-NEXT: "test.use"(%[[A:.*]]) : (i32) -> ()
  "test.use"(%b) : (i32) -> ()
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[B:.*]], %[[B]] : i32
  %sum = arith.addi %b, %b : i32
  // CHECK-NEXT: %[[A]] = arith.constant 1 : i32
  %a = arith.constant 1 : i32
  // CHECK-NEXT: %[[B]] = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  // CHECK-NEXT: "test.use"(%[[A]], %[[A]], %[[SUM]])
  "test.use"(%a, %b, %sum) : (i32, i32, i32) -> ()
}
