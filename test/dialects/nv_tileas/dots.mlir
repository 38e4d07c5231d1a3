// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

func.func @products(%a: tensor<4x16x64xi8>, %b: tensor<4x64x8xi8>, %c: tensor<4x16x8xi32>, %p: tensor<16x64xf8E5M2>, %q: tensor<64x8xf8E5M2>, %r: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>, %t: tensor<2x8xf8E8M0FNU>) {
  // CHECK: nv_tileas.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k32, si8, ui8, i32>, warps = array<i64: 4, 1, 1>}
  %0 = nv_tileas.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k32, si8, ui8, i32>, warps = array<i64: 4, 1, 1>} : tensor<4x16x64xi8>, tensor<4x64x8xi8>, tensor<4x16x8xi32>
  // CHECK: nv_tileas.dot %p, %q, %r scales %s, %t {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E5M2, f8E5M2, f32>} : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>
  %1 = nv_tileas.dot %p, %q, %r scales %s, %t {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E5M2, f8E5M2, f32>} : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>
  // CHECK: nv_tileas.dot %p, %q, %r scales %s, %t {atom = #cute_nvgpu.mma_atom<sm120_m16n8k32, f8E5M2, f8E5M2, f32>} :
  %3 = nv_tileas.dot %p, %q, %r scales %s, %t {atom = #cute_nvgpu.mma_atom<sm120_m16n8k32, f8E5M2, f8E5M2, f32>} : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>
  // CHECK: nv_tileas.slice %p offsets = [0, 32] : tensor<16x64xf8E5M2> -> tensor<16x32xf8E5M2>
  %2 = nv_tileas.slice %p offsets = [0, 32] : tensor<16x64xf8E5M2> -> tensor<16x32xf8E5M2>
  return
}
