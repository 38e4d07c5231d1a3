// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

func.func @copies() {
  // CHECK: {a = #cute.copy_atom<sm80_ldg_128_f16>}
  %0 = arith.constant {a = #cute.copy_atom<sm80_ldg_128_f16>} 0 : i32
  // CHECK: {a = #cute.copy_atom<sm75_ldmatrix_trans_x4_bf16>}
  %1 = arith.constant {a = #cute.copy_atom<sm75_ldmatrix_trans_x4_bf16>} 0 : i32
  // CHECK: {a = #cute.copy_atom<sm80_cp_async_128_f8E4M3FN>}
  %2 = arith.constant {a = #cute.copy_atom<sm80_cp_async_128_f8E4M3FN>} 0 : i32
  // CHECK: {a = #cute.copy_atom<sm90_tma_load_2d_f16>}
  %3 = arith.constant {a = #cute.copy_atom<sm90_tma_load_2d_f16>} 0 : i32
  // CHECK: {a = #cute.copy_atom<sm90_tma_store_5d_f32>}
  %4 = arith.constant {a = #cute.copy_atom<sm90_tma_store_5d_f32>} 0 : i32
  // CHECK: {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_tf32, swizzle_128B_atom_32B>}
  %atom = arith.constant {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_tf32, swizzle_128B_atom_32B>} 0 : i32
  // CHECK: {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>}
  %5 = arith.constant {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} 0 : i32
  // CHECK: {a = #cute_nvgpu.atom_copy_field_tmastore<store_1d_i32>}
  %6 = arith.constant {a = #cute_nvgpu.atom_copy_field_tmastore<store_1d_i32>} 0 : i32
  return
}

func.func @products() {
  // CHECK: {a = #cute.mma_atom<sm90_wgmma_m64n128k16_f32_f16_f16>}
  %0 = arith.constant {a = #cute.mma_atom<sm90_wgmma_m64n128k16_f32_f16_f16>} 0 : i32
  // CHECK: {a = #cute.mma_atom<sm90_wgmma_m64n96k32_i32_si8_ui8>}
  %1 = arith.constant {a = #cute.mma_atom<sm90_wgmma_m64n96k32_i32_si8_ui8>} 0 : i32
  // CHECK: {a = #cute_nvgpu.mma_atom<sm90_wgmma_m64n256k16, bf16, bf16, f32>}
  %2 = arith.constant {a = #cute_nvgpu.mma_atom<sm90_wgmma_m64n256k16, bf16, bf16, f32>} 0 : i32
  // CHECK: {a = #cute.mma_atom<sm80_m16n8k16_f32_f16_f16>}
  %3 = arith.constant {a = #cute.mma_atom<sm80_m16n8k16_f32_f16_f16>} 0 : i32
  // CHECK: {a = #cute_nvgpu.mma_atom<fma, f32, f32, f32>}
  %4 = arith.constant {a = #cute_nvgpu.mma_atom<fma, f32, f32, f32>} 0 : i32
  return
}
