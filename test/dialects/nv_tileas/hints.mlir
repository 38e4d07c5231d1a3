// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK: nv_tileas.load_global %p {cache = "cs"} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: nv_tileas.store_global %{{.*}}, %p {cache = "L1::evict_last"} : vector<4xf32>, !llvm.ptr<1>
// CHECK: nv_tileas.tiled_load {{.*}} {atom = #cute.copy_atom<sm80_ldg_32_f32>, cache = "cg"}
// CHECK: nv_tileas.tiled_store {{.*}} {atom = #cute.copy_atom<sm80_stg_32_f32>, cache = "wt"}
// CHECK: nv_tileas.tiled_prefetch %v[%i, %i] {shape = array<i64: 8, 64>} : !nv_tileaa.memref<64x64xf32>
// CHECK: nv_tileas.profile_record 3, %p, %i : !llvm.ptr<1>
func.func @f(%p: !llvm.ptr<1>, %v: !nv_tileaa.memref<64x64xf32>, %i: i32, %t: !nv_tileaa.mem_token) {
  %0 = nv_tileas.load_global %p {cache = "cs"} : !llvm.ptr<1> -> vector<4xf32>
  nv_tileas.store_global %0, %p {cache = "L1::evict_last"} : vector<4xf32>, !llvm.ptr<1>
  %1, %2 = nv_tileas.tiled_load %v[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>, cache = "cg"} : !nv_tileaa.memref<64x64xf32> -> tensor<8x8xf32>, !nv_tileaa.mem_token
  %3 = nv_tileas.tiled_store %v[%i, %i], %1, %2 {atom = #cute.copy_atom<sm80_stg_32_f32>, cache = "wt"} : tensor<8x8xf32>, !nv_tileaa.memref<64x64xf32>, !nv_tileaa.mem_token
  nv_tileas.tiled_prefetch %v[%i, %i] {shape = array<i64: 8, 64>} : !nv_tileaa.memref<64x64xf32>
  nv_tileas.profile_record 3, %p, %i : !llvm.ptr<1>
  return
}
