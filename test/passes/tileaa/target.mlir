// RUN: not tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_91 2>&1 | filecheck %s
// RUN: not tessera-opt %S/reductions-invalid.mlir --convert-cuda-tile-to-tileaa --split-input-file -o %t 2>&1 | filecheck %s --check-prefix=PLACE

// CHECK: error: unknown GPU 'sm_91'; expected one of sm_80
// CHECK: note: did you mean 'sm_90'?

// PLACE: reductions-invalid.mlir:8:10: error: 'cuda_tile.constant' op

entry @empty() {
  return
}
