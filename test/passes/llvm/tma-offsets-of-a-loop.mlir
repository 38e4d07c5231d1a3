// RUN: tessera-translate --mlir-to-llvmir --gpu-name=sm_90a %S/../../../examples/gemm_tile.mlir -o %t.ll
// RUN: filecheck %s --input-file=%t.ll

// A row may need more than 32 bits for large numbers of blocks: it is compared once, before the loop.
// CHECK: call i32 @llvm.umin.i32(i32 %{{[0-9]+}}, i32 2147483647)

// The counter plus a few elements may be 2^31, but not so much that a box ends within the tensor.
// CHECK-NOT: call i32 @llvm.umin
// CHECK: declare
