// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa="gpu-name=sm_80" --convert-tileaa-to-tileas="num-warps=4" | filecheck %s
// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa="gpu-name=sm_90" --convert-tileaa-to-tileas="num-warps=4" | filecheck %s --check-prefix=SM90

// Each pair of types has its instruction; where fp8 has none, that of f16 is used.
// CHECK-LABEL: nv_tileaa.func @types(
// CHECK: mma_atom<sm80_m16n8k16, f16, f16, f16>}
// CHECK: mma_atom<sm80_m16n8k16, bf16, bf16, f32>}
// CHECK: mma_atom<sm80_m16n8k16, f8E4M3FN, f8E4M3FN, f32>}
// CHECK: mma_atom<sm80_m8n8k4, f64, f64, f64>}
// CHECK: mma_atom<fma, f32, f32, f32>}
// CHECK: mma_atom<sm80_m16n8k32, ui8, si8, i32>}
// SM90-LABEL: nv_tileaa.func @types(
// SM90: mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>}
// SM90: mma_atom<sm90_m16n8k16, f64, f64, f64>}
// A tile that the large instruction of f64 would not fill has the small one.
// SM90: mma_atom<sm80_m8n8k4, f64, f64, f64>}
entry @types() {
  %f16 = constant <f16: 1.0> : tile<16x16xf16>
  %bf16 = constant <bf16: 1.0> : tile<16x16xbf16>
  %f8 = constant <f8E4M3FN: 1.0> : tile<16x16xf8E4M3FN>
  %f64 = constant <f64: 1.0> : tile<16x16xf64>
  %f32 = constant <f32: 1.0> : tile<16x16xf32>
  %i8 = constant <i8: 1> : tile<16x16xi8>
  %i32 = constant <i32: 1> : tile<16x16xi32>
  %0 = mmaf %f16, %f16, %f16 : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf16>
  %1 = mmaf %bf16, %bf16, %f32 : tile<16x16xbf16>, tile<16x16xbf16>, tile<16x16xf32>
  %2 = mmaf %f8, %f8, %f32 : tile<16x16xf8E4M3FN>, tile<16x16xf8E4M3FN>, tile<16x16xf32>
  %3 = mmaf %f64, %f64, %f64 : tile<16x16xf64>, tile<16x16xf64>, tile<16x16xf64>
  %4 = mmaf %f32, %f32, %f32 : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
  %5 = mmai %i8, %i8, %i32 unsigned signed : tile<16x16xi8>, tile<16x16xi8>, tile<16x16xi32>
  %left = constant <f64: 1.0> : tile<16x8xf64>
  %right = constant <f64: 1.0> : tile<8x16xf64>
  %6 = mmaf %left, %right, %f64 : tile<16x8xf64>, tile<8x16xf64>, tile<16x16xf64>
  return
}

// All warps of a chain lie along the rows: the sums of the first product are operands of the second where they are.
// The third has nothing to do with them, the fourth has them on its right side, and the fifth too few rows.
// CHECK-LABEL: nv_tileaa.func @chains(
// CHECK: nv_tileas.dot {{.*}}, warps = array<i64: 4, 1>}
// CHECK: nv_tileas.dot {{.*}}, warps = array<i64: 4, 1>}
// CHECK: nv_tileas.dot {{.*}} {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} :
// CHECK: nv_tileas.dot {{.*}} {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} :
// CHECK: nv_tileas.dot {{.*}} {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} :
entry @chains() {
  %a = constant <f16: 1.0> : tile<64x64xf16>
  %c = constant <f32: 1.0> : tile<64x64xf32>
  %0 = mmaf %a, %a, %c : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %1 = exp2 %0 : tile<64x64xf32>
  %2 = ftof %1 : tile<64x64xf32> -> tile<64x64xf16>
  %3 = mmaf %2, %a, %c : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %4 = mmaf %a, %a, %c : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %5 = ftof %4 : tile<64x64xf32> -> tile<64x64xf16>
  %6 = mmaf %a, %5, %c : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %d = constant <f16: 1.0> : tile<32x64xf16>
  %e = constant <f32: 1.0> : tile<32x64xf32>
  %7 = mmaf %d, %a, %e : tile<32x64xf16>, tile<64x64xf16>, tile<32x64xf32>
  %8 = ftof %7 : tile<32x64xf32> -> tile<32x64xf16>
  %9 = mmaf %8, %a, %e : tile<32x64xf16>, tile<64x64xf16>, tile<32x64xf32>
  return
}
