// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: nv_tileaa.func @k
nv_tileaa.func @k(%p: tensor<8x!llvm.ptr<1>>, %m: tensor<8xi1>, %z: tensor<8xf32>, %t: !nv_tileaa.mem_token) {
  // CHECK: nv_tileaa.multimem_load_reduce add weak %p, %t : tensor<8x!llvm.ptr<1>> -> tensor<8xf16>, !nv_tileaa.mem_token
  %a, %t0 = nv_tileaa.multimem_load_reduce add weak %p, %t : tensor<8x!llvm.ptr<1>> -> tensor<8xf16>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.multimem_load_reduce add acquire scope sys %p mask %m padding %z, %{{.*}} : tensor<8x!llvm.ptr<1>> -> tensor<8xf32>, !nv_tileaa.mem_token
  %b, %t1 = nv_tileaa.multimem_load_reduce add acquire scope sys %p mask %m padding %z, %t0 : tensor<8x!llvm.ptr<1>> -> tensor<8xf32>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.multimem_reduce add release scope gpu %p, %{{.*}} mask %m, %{{.*}} : tensor<8x!llvm.ptr<1>>, tensor<8xf32>, !nv_tileaa.mem_token
  %t2 = nv_tileaa.multimem_reduce add release scope gpu %p, %b mask %m, %t1 : tensor<8x!llvm.ptr<1>>, tensor<8xf32>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.multimem_store weak %p, %{{.*}}, %{{.*}} : tensor<8x!llvm.ptr<1>>, tensor<8xf32>, !nv_tileaa.mem_token
  %t3 = nv_tileaa.multimem_store weak %p, %b, %t2 : tensor<8x!llvm.ptr<1>>, tensor<8xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}
