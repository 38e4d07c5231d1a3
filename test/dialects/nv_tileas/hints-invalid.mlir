// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%p: !llvm.ptr<1>) {
  // expected-error @below {{has cache = "wt"; expected one of ca, cg, cs, lu, cv, L1::evict_first, L1::evict_last, L1::no_allocate}}
  %0 = nv_tileas.load_global %p {cache = "wt"} : !llvm.ptr<1> -> f32
  return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: f32) {
  // expected-error @below {{has cache = "cv"; expected one of wb, cg, cs, wt, L1::evict_first, L1::evict_last, L1::no_allocate}}
  nv_tileas.store_global %x, %p {cache = "cv"} : f32, !llvm.ptr<1>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<64x64xf32>, %i: i32) {
  // expected-error @below {{has shape [8, 48]; expected a power of two for each axis of !nv_tileaa.memref<64x64xf32>}}
  nv_tileas.tiled_prefetch %v[%i, %i] {shape = array<i64: 8, 48>} : !nv_tileaa.memref<64x64xf32>
  return
}
