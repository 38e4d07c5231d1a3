// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%b: !nv_tileas.smem<1x8x8xf16>, %i: i32) {
  // expected-error @below {{moves f32 between a thread and !nv_tileas.smem<1x8x8xf16>: the element types must match}}
  %0 = nv_tileas.load_element %b[%i][%i, %i] : !nv_tileas.smem<1x8x8xf16> -> f32
  return
}

// -----

func.func @f(%b: !nv_tileas.smem<1x8x8xf16>, %i: i32, %x: f16) {
  // expected-error @below {{expected 2 indices for !nv_tileas.smem<1x8x8xf16>, got 1}}
  nv_tileas.store_element %x, %b[%i][%i] : f16, !nv_tileas.smem<1x8x8xf16>
  return
}

// -----

func.func @f(%b: !nv_tileas.smem<1x8x8xf16>, %i: i32) {
  // expected-error @below {{moves vector<3xf16>; expected a vector of a power of two of elements}}
  %0 = nv_tileas.load_element %b[%i][%i, %i] : !nv_tileas.smem<1x8x8xf16> -> vector<3xf16>
  return
}

// -----

func.func @f(%x: tensor<8x8xf16>, %slot: !nv_tileas.smem<1x64xf32>, %i: i32) {
  // expected-error @below {{spills tensor<8x8xf16> to !nv_tileas.smem<1x64xf32>: the element types must match}}
  nv_tileas.spill %x, %slot[%i] : tensor<8x8xf16>, !nv_tileas.smem<1x64xf32>
  return
}
