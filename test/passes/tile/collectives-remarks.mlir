// RUN: tessera-translate %S/../../../examples/distributed_matmul.mlir --mlir-to-ptx --gpu-name=sm_80 -o %t 2>&1 | filecheck %s --allow-empty

// What the compiler has inserted itself is no attribute that the author could have meant.
// CHECK-NOT: remark
