// RUN: not tessera-translate --mlir-to-ptx --gpu-name=sm_80 %s 2>&1 | filecheck %s

// CHECK: error: 'builtin.module' op was lowered for 'sm_90' and cannot be compiled for 'sm_80'
// CHECK: note: lower the kernel again from cuda_tile, or specify the GPU that it was lowered for
module attributes {nv_tileaa.target_spec = "sm_90"} {
}
