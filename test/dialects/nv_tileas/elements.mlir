// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK: nv_tileas.load_element %b[%i] [%j, %i] : {{.*}} -> f16
// CHECK: nv_tileas.store_element %{{.*}}, %b[%i] [%j, %i] : f16
// CHECK: nv_tileas.load_element {{.*}} -> vector<4xf16>
// CHECK: nv_tileas.load_global %p : !llvm.ptr<1> -> f16
// CHECK: nv_tileas.store_global %{{.*}}, %p : f16, !llvm.ptr<1>
// CHECK: nv_tileas.prefetch %p : !llvm.ptr<1>
func.func @f(%b: !nv_tileas.smem<1x8x8xf16>, %p: !llvm.ptr<1>, %i: i32, %j: i32) {
  %0 = nv_tileas.load_element %b[%i][%j, %i] : !nv_tileas.smem<1x8x8xf16> -> f16
  nv_tileas.store_element %0, %b[%i][%j, %i] : f16, !nv_tileas.smem<1x8x8xf16>
  %1 = nv_tileas.load_element %b[%i][%j, %i] : !nv_tileas.smem<1x8x8xf16> -> vector<4xf16>
  %2 = nv_tileas.load_global %p : !llvm.ptr<1> -> f16
  nv_tileas.store_global %2, %p : f16, !llvm.ptr<1>
  nv_tileas.prefetch %p : !llvm.ptr<1>
  return
}

// CHECK: nv_tileas.spill %x, %slot[%i] : tensor<8x8xf32>, !nv_tileas.smem<1x64xf32>
// CHECK: nv_tileas.reload %slot[%i] : !nv_tileas.smem<1x64xf32> -> tensor<8x8xf32>
func.func @slot(%x: tensor<8x8xf32>, %slot: !nv_tileas.smem<1x64xf32>, %i: i32) {
  nv_tileas.spill %x, %slot[%i] : tensor<8x8xf32>, !nv_tileas.smem<1x64xf32>
  %0 = nv_tileas.reload %slot[%i] : !nv_tileas.smem<1x64xf32> -> tensor<8x8xf32>
  return
}
