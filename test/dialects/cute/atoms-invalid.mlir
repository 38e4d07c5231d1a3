// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{unknown copy atom 'sm80_ldq_32_f32'; expected e.g. sm80_ldg_128_f16}}
module attributes {a = #cute.copy_atom<sm80_ldq_32_f32>} {
}

// -----

// expected-error @below {{copy atom 'sm80_ldg_x4_f32' has size 'x4'; ldg is spelled with 128}}
module attributes {a = #cute.copy_atom<sm80_ldg_x4_f32>} {
}

// -----

// expected-error @below {{ldmatrix has no size 3; expected one of 1, 2, 4}}
module attributes {a = #cute.copy_atom<sm75_ldmatrix_x3_f16>} {
}

// -----

// expected-error @below {{ldg has no size 96; expected one of 1, 2, 4}}
module attributes {a = #cute.copy_atom<sm80_ldg_96_f16>} {
}

// -----

// expected-error @below {{tma_load is spelled with sm90, not sm80}}
module attributes {a = #cute.copy_atom<sm80_tma_load_2d_f16>} {
}

// -----

// expected-error @below {{tma_load has no size 6; expected one of 1, 2, 3, 4, 5}}
module attributes {a = #cute.copy_atom<sm90_tma_load_6d_f16>} {
}

// -----

// expected-error @below {{unknown element type 'f17' in copy atom 'sm90_tma_load_2d_f17'}}
module attributes {a = #cute.copy_atom<sm90_tma_load_2d_f17>} {
}

// -----

// expected-error @below {{unknown atom 'store_2d_f16'; expected e.g. load_2d_f16}}
module attributes {a = #cute_nvgpu.atom_copy_field_tmaload<store_2d_f16>} {
}

// -----

// expected-error @below {{unknown swizzle of 256 bytes; expected 32, 64, 128, or none}}
module attributes {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_256B>} {
}

// -----

// expected-error @below {{a swizzle of 64 bytes has no atomicity of 32 bytes}}
module attributes {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_tf32, swizzle_64B_atom_32B>} {
}

// -----

// expected-error @below {{a swizzle of 128 bytes has no atomicity of 64 bytes}}
module attributes {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_tf32, swizzle_128B_atom_64B>} {
}

// -----

// expected-error @below {{unknown swizzle 'interleave'; expected swizzle_32B, swizzle_64B, swizzle_128B or swizzle_128B_atom_32B}}
module attributes {a = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, interleave>} {
}

// -----

// expected-error @below {{a box has 1 to 5 dimensions, got 0}}
module attributes {a = #cute_nvgpu.atom_copy_field_tmastore<store_0d_f16>} {
}

// -----

// expected-error @below {{unknown mma atom 'sm90_wgmma_m64n128k16'; expected e.g. sm90_wgmma_m64n128k16_f32_f16_f16}}
module attributes {a = #cute.mma_atom<sm90_wgmma_m64n128k16>} {
}

// -----

// expected-error @below {{unknown mma shape 'sm90_wgmna_m64n128k16'}}
module attributes {a = #cute.mma_atom<sm90_wgmna_m64n128k16_f32_f16_f16>} {
}

// -----

// expected-error @below {{no instruction computes sm90_wgmma_m64n128k32 with f16 and f16 into f32}}
module attributes {a = #cute.mma_atom<sm90_wgmma_m64n128k32_f32_f16_f16>} {
}

// -----

// expected-error @below {{n a multiple of 8 from 8 to 256}}
module attributes {a = #cute.mma_atom<sm90_wgmma_m64n260k16_f32_f16_f16>} {
}

// -----

// expected-error @below {{no instruction computes sm90_wgmma_m64n40k32 with si8 and si8 into i32}}
module attributes {a = #cute.mma_atom<sm90_wgmma_m64n40k32_i32_si8_si8>} {
}

// -----

// expected-error @below {{no instruction computes sm90_wgmma_m64n64k16 with bf16 and bf16 into f16}}
module attributes {a = #cute.mma_atom<sm90_wgmma_m64n64k16_f16_bf16_bf16>} {
}
