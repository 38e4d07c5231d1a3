// RUN: tessera-opt %s --allow-unregistered-dialect --canonicalize | filecheck %s
// RUN: tessera-opt %s --allow-unregistered-dialect | tessera-opt --allow-unregistered-dialect | filecheck %s

// CHECK: dense_resource<weights> : tensor<2xi32>
"test.op"() {a = [dense_resource<weights> : tensor<2xi32>], b = dense_resource<"other key"> : tensor<1xi8>} : () -> ()
// CHECK: dense_resource<without_data> : tensor<4xi8>
"test.op"() <{c = dense_resource<without_data> : tensor<4xi8>}> : () -> ()

// CHECK:      {-#
// CHECK-NEXT:   dialect_resources: {
// CHECK-NEXT:     builtin: {
// CHECK-NEXT:       "other key": "0x0100000007",
// CHECK-NEXT:       weights: "0x040000000100000002000000"
// CHECK-NEXT:     }
// CHECK-NEXT:   },
// CHECK-NEXT:   external_resources: {
// CHECK-NEXT:     other: {
// CHECK-NEXT:       flag: true,
// CHECK-NEXT:       text: "x"
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: #-}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000100000002000000",
      // CHECK-NOT: unused
      unused: "0x0400000000000000",
      "other key": "0x0100000007"
    }
  },
  external_resources: {
    other: { flag: true, text: "x" }
  }
#-}
