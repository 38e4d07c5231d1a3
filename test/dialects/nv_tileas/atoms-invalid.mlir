// RUN: tessera-opt %s --split-input-file --verify-diagnostics
// An atom is emitted as it says, or refused.

func.func @another_primitive(%v: !nv_tileaa.memref<64xf16>, %x: tensor<64xf16>, %t: !nv_tileaa.mem_token, %i: i32) {
  // expected-error @below {{'nv_tileas.tiled_store' op has the atom #cute.copy_atom<sm90_tma_store_2d_f16>, which its lowering does not emit}}
  %r = nv_tileas.tiled_store %v[%i], %x, %t {atom = #cute.copy_atom<sm90_tma_store_2d_f16>} : tensor<64xf16>, !nv_tileaa.memref<64xf16>, !nv_tileaa.mem_token
  return
}

// -----

func.func @a_load(%v: !nv_tileaa.memref<64xf16>, %x: tensor<64xf16>, %t: !nv_tileaa.mem_token, %i: i32) {
  // expected-error @below {{has the atom #cute.copy_atom<sm80_ldg_128_f16>, which its lowering does not emit; expected on nv_tileas.tiled_load or nv_tileaa.tiled_load or nv_tileaa.load}}
  %r = nv_tileas.tiled_store %v[%i], %x, %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : tensor<64xf16>, !nv_tileaa.memref<64xf16>, !nv_tileaa.mem_token
  return
}

// -----

func.func @other_elements(%v: !nv_tileaa.memref<64xf16>, %t: !nv_tileaa.mem_token, %i: i32) {
  // expected-error @below {{moves elements of f16, but its atom #cute.copy_atom<sm80_ldg_128_f32> moves f32}}
  %x, %r = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !nv_tileaa.memref<64xf16> -> tensor<64xf16>, !nv_tileaa.mem_token
  return
}

// -----

func.func @less_than_an_element(%v: !nv_tileaa.memref<64xf16>, %t: !nv_tileaa.mem_token, %i: i32) {
  // expected-error @below {{has the atom #cute.copy_atom<sm80_ldg_8_f16>, which moves 8 bits; expected at least 16, the size of one f16}}
  %x, %r = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_8_f16>} : !nv_tileaa.memref<64xf16> -> tensor<64xf16>, !nv_tileaa.mem_token
  return
}

// -----

func.func @copy(%v: !nv_tileaa.memref<64xf16>, %b: !nv_tileas.smem<1x64xf16>, %i: i32) {
  // expected-error @below {{'nv_tileas.async.tiled_copy' op has the atom #cute.copy_atom<sm90_tma_load_1d_f16>, which its lowering does not emit}}
  nv_tileas.async.tiled_copy %v[%i], %b[%i] {atom = #cute.copy_atom<sm90_tma_load_1d_f16>} : !nv_tileaa.memref<64xf16>, !nv_tileas.smem<1x64xf16>
  return
}

// -----

func.func @from_shared(%b: !nv_tileas.smem<1x64xf16>, %i: i32) {
  // expected-error @below {{'nv_tileas.load' op has the atom #cute.copy_atom<sm80_ldg_32_f16>, which its lowering does not emit}}
  %x = nv_tileas.load %b[%i] offsets = [0] {atom = #cute.copy_atom<sm80_ldg_32_f16>} : !nv_tileas.smem<1x64xf16> -> tensor<64xf16>
  return
}

// -----

func.func @to_shared(%b: !nv_tileas.smem<1x64xf16>, %x: tensor<64xf16>, %i: i32) {
  // expected-error @below {{'nv_tileas.store' op has the atom #cute.copy_atom<sm80_lds_32_f16>, which its lowering does not emit; expected on nv_tileas.load}}
  nv_tileas.store %x, %b[%i] {atom = #cute.copy_atom<sm80_lds_32_f16>} : tensor<64xf16>, !nv_tileas.smem<1x64xf16>
  return
}

// -----

func.func @pointers(%p: tensor<64x!llvm.ptr<1>>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{'nv_tileaa.load' op moves several elements per access with its atom #cute.copy_atom<sm80_ldg_64_f32>; expected an 'axis'}}
  %x, %r = nv_tileaa.load %p, %t {copy_atom = #cute.copy_atom<sm80_ldg_64_f32>} : tensor<64x!llvm.ptr<1>> -> tensor<64xf32>, !nv_tileaa.mem_token
  return
}

// -----

func.func @stores(%p: tensor<64x!llvm.ptr<1>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{'nv_tileaa.store' op has the atom #cute.copy_atom<sm90_tma_store_2d_f32>, which its lowering does not emit}}
  %r = nv_tileaa.store %p, %x, %t {copy_atom = #cute.copy_atom<sm90_tma_store_2d_f32>} : tensor<64x!llvm.ptr<1>>, tensor<64xf32>, !nv_tileaa.mem_token
  return
}

// -----

func.func @tiles(%v: !nv_tileaa.memref<64xf16>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{'nv_tileaa.tiled_load' op has the atom #cute.copy_atom<sm80_stg_128_f16>, which its lowering does not emit}}
  %x, %r = nv_tileaa.tiled_load %v, %t {copy_atom = #cute.copy_atom<sm80_stg_128_f16>} : !nv_tileaa.memref<64xf16> -> tensor<64xf16>, !nv_tileaa.mem_token
  return
}

// -----

func.func @tile_stores(%v: !nv_tileaa.memref<64xf16>, %x: tensor<64xf16>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{'nv_tileaa.tiled_store' op moves elements of f16, but its atom #cute.copy_atom<sm80_stg_128_bf16> moves bf16}}
  %r = nv_tileaa.tiled_store %v, %x, %t {copy_atom = #cute.copy_atom<sm80_stg_128_bf16>} : tensor<64xf16>, !nv_tileaa.memref<64xf16>, !nv_tileaa.mem_token
  return
}
