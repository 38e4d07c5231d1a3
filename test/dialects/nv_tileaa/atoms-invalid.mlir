// RUN: tessera-opt %s --split-input-file --verify-diagnostics
// The atom of a listing, which names no target, is the older spelling of any access (older.mlir). In a module with a
// target, an atom is emitted as it says, or refused.

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @store(%p: !llvm.ptr<1>, %x: tensor<64xf16>, %i: i32) {
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf16>
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %at = nv_tileaa.addptr %v, [%i] : !nv_tileaa.memref<64xf16>
    // expected-error @below {{'nv_tileaa.tiled_store' op has the atom #cute.copy_atom<sm90_tma_store_1d_f16>, which its lowering does not emit}}
    %r = nv_tileaa.tiled_store %at, %x, %t {copy_atom = #cute.copy_atom<sm90_tma_store_1d_f16>} : tensor<64xf16>, !nv_tileaa.memref<64xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @load(%p: !llvm.ptr<1>, %i: i32) {
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf16>
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %at = nv_tileaa.addptr %v, [%i] : !nv_tileaa.memref<64xf16>
    // expected-error @below {{'nv_tileaa.tiled_load' op has the atom #cute.copy_atom<sm90_tma_load_1d_f16>, which its lowering does not emit}}
    %x, %r = nv_tileaa.tiled_load %at, %t {copy_atom = #cute.copy_atom<sm90_tma_load_1d_f16>} : !nv_tileaa.memref<64xf16> -> tensor<64xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

nv_tileaa.func @listing(%p: !llvm.ptr<1>, %x: tensor<64xf16>, %i: i32) {
  %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf16>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %at = nv_tileaa.addptr %v, [%i] : !nv_tileaa.memref<64xf16>
  %r = nv_tileaa.tiled_store %at, %x, %t {copy_atom = #cute.copy_atom<sm90_tma_store_1d_f16>} : tensor<64xf16>, !nv_tileaa.memref<64xf16>, !nv_tileaa.mem_token
  nv_tileaa.return
}
