// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: nv_tileaa.func @k
nv_tileaa.func @k(%p: tensor<8x!llvm.ptr<1>>, %x: tensor<8xi32>, %m: tensor<8xi1>, %q: !llvm.ptr<1>, %f: f64, %t: !nv_tileaa.mem_token) {
  // CHECK: nv_tileaa.atomic_rmw add relaxed gpu %p, %x, %t : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  %r0, %t0 = nv_tileaa.atomic_rmw add relaxed gpu %p, %x, %t : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.atomic_rmw umin acq_rel sys %p, %x mask %m, %{{.*}} :
  %r1, %t1 = nv_tileaa.atomic_rmw umin acq_rel sys %p, %x mask %m, %t0 : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.atomic_rmw addf release cta %q, %f, %{{.*}} : !llvm.ptr<1>, f64, !nv_tileaa.mem_token
  %r2, %t2 = nv_tileaa.atomic_rmw addf release cta %q, %f, %t1 : !llvm.ptr<1>, f64, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.atomic_cas acquire gpu %p, %x, %{{.*}} mask %m, %{{.*}} : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  %r3, %t3 = nv_tileaa.atomic_cas acquire gpu %p, %x, %r1 mask %m, %t2 : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  nv_tileaa.return
}
