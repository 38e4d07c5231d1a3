// RUN: tessera-opt %s --allow-unregistered-dialect --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Bits of i1 are packed, the first in the low bit.
// CHECK: a = dense<[true, false, false, false, false, false, false, false, false, true]> : tensor<10xi1>
// CHECK-SAME: b = dense<true> : tensor<100xi1>
// CHECK-SAME: c = dense<[true, true, false, false]> : tensor<4xi1>
"test.bits"() {a = dense<"0x0102"> : tensor<10xi1>, b = dense<"0xFF"> : tensor<100xi1>, c = dense<"0xF3"> : tensor<4xi1>} : () -> ()

// CHECK: a = sparse<0, 4.200000e+01> : tensor<4xf32>
// CHECK-SAME: b = sparse<[{{\[}}0, 0, 2]], 1> : vector<1x1x3xi64>
// CHECK-SAME: c = sparse<> : tensor<4xf32>
// CHECK-SAME: d = sparse<[{{\[}}0], [2]], 1> : tensor<4xi32>
"test.sparse"() {a = sparse<[0], [4.2e+01]> : tensor<4xf32>, b = sparse<[[0, 0, 2]], 1> : vector<1x1x3xi64>, c = sparse<> : tensor<4xf32>, d = sparse<[[0], [2]], 1> : tensor<4xi32>} : () -> ()

// CHECK: a = distinct[7]<>, b = distinct[3]<@x>
"test.distinct"() {a = distinct[7]<>, b = distinct[3]<@x>} : () -> ()

// CHECK: "test.line"() : () -> () loc("f":10:0)
"test.line"() : () -> () loc("f":10)
// CHECK: "test.point"() : () -> () loc("f":10:2)
"test.point"() : () -> () loc("f":10:2 to :2)
// CHECK: loc("{{.*}}literals.mlir":0:0)
