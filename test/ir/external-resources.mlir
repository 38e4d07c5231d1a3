// RUN: tessera-opt %s --canonicalize | filecheck %s --check-prefixes=CHECK,ALL
// RUN: tessera-opt %s --emit-bytecode -o %t.mlirbc
// RUN: tessera-opt %t.mlirbc | filecheck %s --check-prefixes=CHECK,ALL
// RUN: tessera-opt %s --mlir-elide-resource-strings-if-larger=5 | filecheck %s --check-prefixes=CHECK,SHORT
// RUN: tessera-opt %s --mlir-elide-resource-strings-if-larger=3 | filecheck %s --check-prefix=NONE
// RUN: tessera-opt %s --cse --mlir-print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix=DUMP
// DUMP: IR Dump
// DUMP-NOT: external_resources
// RUN: tessera-opt %s --emit-bytecode --elide-resource-data-from-bytecode -o %t.mlirbc
// RUN: tessera-opt %t.mlirbc | filecheck %s --check-prefix=NONE
// NONE-NOT: external_resources
module {
}

{-#
  external_resources: {
    // The sections of a tool become one, in which the entries have their order; an empty one is left out.
    tool: {
      flag: true,
      text: "with \"quotes\""
    },
    nothing: {},
    tool: {
      "other flag": false,
      blob: "0x08000000010203040506070809"
    },
    last: {
      off: false
    }
  }
#-}
// CHECK:      {-#
// CHECK-NEXT:   external_resources: {
// CHECK-NEXT:     tool: {
// CHECK-NEXT:       flag: true,
// ALL-NEXT:         text: "with \22quotes\22",
// ALL-NEXT:         "other flag": false,
// ALL-NEXT:         blob: "0x08000000010203040506070809"
// SHORT-NEXT:       "other flag": false
// CHECK-NEXT:     },
// CHECK-NEXT:     last: {
// CHECK-NEXT:       off: false
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: #-}
