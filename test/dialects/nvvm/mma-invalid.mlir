// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @shape(%h: vector<2xf16>) {
  // expected-error @below {{unimplemented variant for MMA shape <8, 8, 16>}}
  %0 = nvvm.mma.sync A[%h, %h] B[%h, %h] C[%h, %h] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return
}

// -----

llvm.func @operands(%h: vector<2xf16>, %f: f32) {
  // expected-error @below {{Could not match types for the A operands; expected one of 4xvector<2xf16> but got vector<2xf16>, vector<2xf16>}}
  %0 = nvvm.mma.sync A[%h, %h] B[%h, %h] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

llvm.func @result(%h: vector<2xf16>, %f: f32) {
  // expected-error @below {{Could not match allowed types for the result}}
  %0 = nvvm.mma.sync A[%h, %h] B[%h, %h] C[%f, %f, %f, %f, %f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f16)>
  llvm.return
}

// -----

llvm.func @accumulator(%h: vector<2xf16>, %f: f32) {
  // expected-error @below {{ctype does not match dtype}}
  %0 = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%h, %h] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

llvm.func @bits(%i: i32) {
  // expected-error @below {{requires b1Op attribute}}
  %0 = nvvm.mma.sync A[%i, %i] B[%i] C[%i, %i, %i, %i] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<b1>, multiplicandBPtxType = #nvvm.mma_type<b1>, shape = #nvvm.shape<m = 16, n = 8, k = 128>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  llvm.return
}

// -----

llvm.func @mapa(%a: !llvm.ptr, %b: i32) {
  // expected-error @below {{failed to verify that Valid address-space check(or mapping) for mapa Op}}
  %0 = nvvm.mapa %a, %b : !llvm.ptr -> !llvm.ptr<7>
  llvm.return
}

// -----

llvm.func @rounding(%a: f32) {
  // expected-error @below {{Only RN rounding mode is supported for conversions from f32x2 to 'f8E4M3FN' and 'f8E5M2' types}}
  %0 = nvvm.convert.f32x2.to.f8x2 %a, %a {rnd = #nvvm.fp_rnd_mode<rs>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)
  llvm.return
}

// -----

llvm.func @saturation(%a: f32) {
  // expected-error @below {{Only SATFINITE saturation mode is supported}}
  %0 = nvvm.convert.f32x2.to.f8x2 %a, %a {rnd = #nvvm.fp_rnd_mode<rn>} : i16 (f8E5M2)
  llvm.return
}

// -----

llvm.func @exponents(%a: f32) {
  // expected-error @below {{Only RP and RZ rounding modes are supported for conversions from f32x2 to 'f8E8M0FNU'}}
  %0 = nvvm.convert.f32x2.to.f8x2 %a, %a {rnd = #nvvm.fp_rnd_mode<rn>} : i16 (f8E8M0FNU)
  llvm.return
}

// -----

llvm.func @ldmatrix_number(%p: !llvm.ptr<3>) {
  // expected-error @below {{'nvvm.ldmatrix' op expected num attribute to be 1, 2 or 4}}
  %0 = nvvm.ldmatrix %p {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 3 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
  llvm.return
}

// -----

llvm.func @stmatrix_number(%p: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{'nvvm.stmatrix' op expected num attribute to be 1, 2 or 4}}
  nvvm.stmatrix %p, %i, %i, %i {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32, i32, i32
  llvm.return
}

// -----

llvm.func @types_of_operands(%h: vector<2xf16>) {
  // expected-error @below {{custom op 'nvvm.mma.sync' expected one type for each of A, B and C, and one result type}}
  %0 = nvvm.mma.sync A[%h] B[%h] C[%h] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return
}

// -----

llvm.func @no_operands() {
  // expected-error @below {{'nvvm.mma.sync' op needs operands for A, B and C}}
  %0 = "nvvm.mma.sync"() <{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>, operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> !llvm.struct<(f32)>
  llvm.return
}

// -----

llvm.func @no_element_type(%i: i32) {
  // expected-error @below {{'nvvm.mma.sync' op needs multiplicandAPtxType and multiplicandBPtxType, which cannot be inferred from the operands}}
  %0 = nvvm.mma.sync A[%i] B[%i] C[%i] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32)>
  llvm.return
}

// -----

llvm.func @no_accumulator(%h: vector<2xf16>, %w: vector<8xi32>) {
  // expected-error @below {{'nvvm.mma.sync' op has no accumulator type for 'vector<8xi32>'}}
  %0 = nvvm.mma.sync A[%h] B[%h] C[%w] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<8xi32>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return
}

// -----

llvm.func @wgmma_extents(%d: i64) {
  %z = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  // expected-error @below {{custom op 'nvvm.wgmma.mma_async' expected 'm', 'n' and 'k'}}
  %0 = nvvm.wgmma.mma_async %d, %d, %z, <m = 64, n = 8, l = 16>, D[<f32>, <zero>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

llvm.func @wgmma_m(%d: i64) {
  %z = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  // expected-error @below {{'nvvm.wgmma.mma_async' op shape 'm' must be 64}}
  %0 = nvvm.wgmma.mma_async %d, %d, %z, <m = 32, n = 8, k = 16>, D[<f32>, <zero>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

llvm.func @wgmma_n(%d: i64) {
  %z = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  // expected-error @below {{'nvvm.wgmma.mma_async' op has shape n = 12; expected a multiple of 8 from 8 to 256}}
  %0 = nvvm.wgmma.mma_async %d, %d, %z, <m = 64, n = 12, k = 16>, D[<f32>, <zero>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

llvm.func @wgmma_k(%d: i64) {
  %z = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  // expected-error @below {{'nvvm.wgmma.mma_async' op shape 'k' must be 16 for input type f16}}
  %0 = nvvm.wgmma.mma_async %d, %d, %z, <m = 64, n = 8, k = 8>, D[<f32>, <zero>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}
