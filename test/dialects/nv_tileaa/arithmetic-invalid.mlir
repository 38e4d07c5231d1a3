// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: f32) {
  // expected-error @below {{neither flushes to zero nor sets a rounding mode; use the arith or math op}}
  %0 = nv_tileaa.addf %x, %x : f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{has no rounding<approx>; expected one of nearest_even, zero, negative_inf, positive_inf}}
  %0 = nv_tileaa.addf %x, %x rounding<approx> : f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{has no rounding<zero>; expected one of approx}}
  %0 = nv_tileaa.exp %x rounding<zero> : f32
  return
}

// -----

func.func @f(%x: tensor<8xf16>) {
  // expected-error @below {{has flush_to_zero on f16; only f32 supports it}}
  %0 = nv_tileaa.maxf %x, %x flush_to_zero : tensor<8xf16>
  return
}

// -----

func.func @f(%x: f64) {
  // expected-error @below {{has rounding<full> on f64; expected f32}}
  %0 = nv_tileaa.divf %x, %x rounding<full> : f64
  return
}

// -----

func.func @f(%x: tf32) {
  // expected-error @below {{computes with tf32; expected f16, bf16, f32 or f64}}
  %0 = nv_tileaa.mulf %x, %x rounding<zero> : tf32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{unknown rounding 'down'; expected one of nearest_even, zero, negative_inf, positive_inf, approx, full}}
  %0 = nv_tileaa.mulf %x, %x rounding<down> : f32
  return
}
