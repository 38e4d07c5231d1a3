// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @grid(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{expects a count of warps for each axis of tensor<16x16xf32>, got [4]}}
  %0 = nv_tileas.dot %a, %a, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  return
}

// -----

func.func @atom(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{unknown mma shape 'm16'; expected e.g. sm80_m16n8k16, sm90_wgmma_m64n128k16, sm100_umma_m128n256k16, or fma}}
  %0 = nv_tileas.dot %a, %a, %c {atom = #cute_nvgpu.mma_atom<m16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  return
}

// -----

func.func @outside(%a: tensor<16x16xf16>) {
  // expected-error @below {{extracts [16, 8] at [0, 12], outside the tile or not aligned to it: [16, 16]}}
  %0 = nv_tileas.slice %a offsets = [0, 12] : tensor<16x16xf16> -> tensor<16x8xf16>
  return
}

// -----

func.func @rank(%a: tensor<16x16xf16>) {
  // expected-error @below {{expected 2 offsets and a tile of rank 2}}
  %0 = nv_tileas.slice %a offsets = [0] : tensor<16x16xf16> -> tensor<16x8xf16>
  return
}

// -----

func.func @elements(%a: tensor<16x16xf16>) {
  // expected-error @below {{the element types must match}}
  %0 = nv_tileas.slice %a offsets = [0, 0] : tensor<16x16xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @types(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{multiplies f16 by f16 into f32 with #cute_nvgpu.mma_atom<sm80_m16n8k16, bf16, bf16, f32>}}
  %0 = nv_tileas.dot %a, %a, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, bf16, bf16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  return
}

// -----

func.func @no_scales(%a: tensor<16x32xf8E5M2>, %b: tensor<32x8xf8E5M2>, %c: tensor<16x8xf32>) {
  // expected-error @below {{has no scales of blocks that #cute_nvgpu.mma_atom<sm120_m16n8k32, f8E5M2, f8E5M2, f32> multiplies by}}
  %0 = nv_tileas.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm120_m16n8k32, f8E5M2, f8E5M2, f32>} : tensor<16x32xf8E5M2>, tensor<32x8xf8E5M2>, tensor<16x8xf32>
  return
}

// -----

func.func @other_blocks(%a: tensor<16x64xf8E5M2>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x1xf8E8M0FNU>, %t: tensor<1x8xf8E8M0FNU>) {
  // expected-error @below {{has no scales of blocks that #cute_nvgpu.mma_atom<sm120_m16n8k32, f8E5M2, f8E5M2, f32> multiplies by}}
  %0 = nv_tileas.dot %a, %b, %c scales %s, %t {atom = #cute_nvgpu.mma_atom<sm120_m16n8k32, f8E5M2, f8E5M2, f32>} : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>
  return
}
