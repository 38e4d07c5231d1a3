// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: memref<64x32xf16>, %k: memref<80x16xf16>, %v: memref<80x16xf16>) {
  // expected-error @below {{has operands memref<64x32xf16>, memref<80x16xf16> and memref<80x16xf16>; expected Q of [batch, heads, queries, depth], K of [batch, heads, keys, depth] and V of [batch, heads, keys, depth of values], with or without batch and heads}}
  %0 = tile.flash_attention %q, %k, %v : (memref<64x32xf16>, memref<80x16xf16>, memref<80x16xf16>) -> memref<64x16xf16>
  return
}

// -----

func.func @f(%q: memref<64x32xf16>, %k: memref<80x32xbf16>, %v: memref<80x32xf16>) {
  // expected-error @below {{has operands memref<64x32xf16>, memref<80x32xbf16> and memref<80x32xf16>, and result memref<64x32xf16>; expected floats, of one type in Q, K and V}}
  %0 = tile.flash_attention %q, %k, %v : (memref<64x32xf16>, memref<80x32xbf16>, memref<80x32xf16>) -> memref<64x32xf16>
  return
}

// -----

func.func @f(%q: memref<64x32xf16>, %k: memref<80x32xf16>, %v: memref<80x16xf16>) {
  // expected-error @below {{returns memref<64x32xf16>; expected extents 64x16}}
  %0 = tile.flash_attention %q, %k, %v : (memref<64x32xf16>, memref<80x32xf16>, memref<80x16xf16>) -> memref<64x32xf16>
  return
}

// -----

func.func @f(%q: memref<64x32xf16>) {
  // expected-error @below {{returns statistics; expected maxima and sums, an f32 for each query}}
  %0:2 = tile.flash_attention %q, %q, %q : (memref<64x32xf16>, memref<64x32xf16>, memref<64x32xf16>) -> (memref<64x32xf32>, memref<64xf32>)
  return
}

// -----

func.func @f(%q: memref<64x32xf16>) {
  // expected-error @below {{returns statistics, and memref<64x32xf16>; expected f32, which is divided later}}
  %0:3 = tile.flash_attention %q, %q, %q : (memref<64x32xf16>, memref<64x32xf16>, memref<64x32xf16>) -> (memref<64x32xf16>, memref<64xf32>, memref<64xf32>)
  return
}

// -----

func.func @f(%q: memref<64x32xf16>, %i: memref<64xi32>) {
  // expected-error @below {{has positions; expected causal, and an i32 for each query and for each key}}
  %0 = tile.flash_attention %q, %q, %q at %i, %i : (memref<64x32xf16>, memref<64x32xf16>, memref<64x32xf16>, memref<64xi32>, memref<64xi32>) -> memref<64x32xf16>
  return
}

// -----

func.func @f(%o: memref<64x32xf32>, %l: memref<32xf32>) {
  // expected-error @below {{expected f32 for each row of the tensor, and a tensor of its extents}}
  %0 = tile.attention_divide %o, %l : memref<64x32xf32>, memref<32xf32> -> memref<64x32xf16>
  return
}

// -----

func.func @f(%o: memref<64x32xf32>, %l: memref<64xf16>) {
  // expected-error @below {{expected f32 for each row of the tensor, and a tensor of its extents}}
  %0:2 = tile.attention_rescale %o, %l, %l, %l : memref<64x32xf32>, memref<64xf16>
  return
}

// -----

func.func @f(%o: memref<8xi64>) {
  // expected-error @below {{returns memref<8xi64>; expected a vector of i32}}
  %0 = tile.iota : memref<8xi64>
  return
}
