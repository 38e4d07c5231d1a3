// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @permute_operands(%i: i32) {
  // expected-error @below {{'nvvm.prmt' op mode 'rc8' does not accept 'hi' operand}}
  %0 = nvvm.prmt <rc8> %i, %i, %i : i32
  llvm.return
}

// -----

llvm.func @tf32_rounding(%f: f32) {
  // expected-error @below {{'nvvm.convert.float.to.tf32' op Only {rn,rz,rna} rounding modes supported for ConvertFloatToTF32Op.}}
  %0 = nvvm.convert.float.to.tf32 %f {rnd = #nvvm.fp_rnd_mode<rp>}
  llvm.return
}

// -----

llvm.func @eight_bit_type(%f: f32) {
  // expected-error @below {{'nvvm.convert.f32x2.to.f8x2' op Only 'f8E4M3FN', 'f8E5M2' and 'f8E8M0FNU' types are supported, but got 'f16'}}
  %0 = nvvm.convert.f32x2.to.f8x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f16)
  llvm.return
}

// -----

llvm.func @scale_relu(%f: f32) {
  // expected-error @below {{'nvvm.convert.f32x2.to.f8x2' op relu not supported for conversions to 'f8E8M0FNU'}}
  %0 = nvvm.convert.f32x2.to.f8x2 %f, %f {relu = true, rnd = #nvvm.fp_rnd_mode<rz>} : i16(f8E8M0FNU)
  llvm.return
}

// -----

llvm.func @half_rounding(%f: f32) {
  // expected-error @below {{'nvvm.convert.f32x2.to.f16x2' op Only RN, RZ, and RS rounding modes are supported for conversions from f32x2.}}
  %0 = nvvm.convert.f32x2.to.f16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rp>} : vector<2xf16>
  llvm.return
}

// -----

llvm.func @random_bits(%f: f32) {
  // expected-error @below {{'nvvm.convert.f32x2.to.f16x2' op random_bits is required for, and only for, the RS rounding mode}}
  %0 = nvvm.convert.f32x2.to.f16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rs>} : vector<2xf16>
  llvm.return
}
