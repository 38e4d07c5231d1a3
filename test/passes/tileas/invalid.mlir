// RUN: tessera-opt %s --convert-tileaa-to-tileas --tileas-assign-layouts --tileas-materialize-pipeline --split-input-file --verify-diagnostics

// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.compute_capability'}}
// expected-note @below {{run --convert-cuda-tile-to-tileaa, or set}}
module {
  nv_tileaa.func @k() {
    nv_tileaa.return
  }
}

// -----

// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.target_spec'}}
// expected-note @below {{run --convert-cuda-tile-to-tileaa, or set}}
module attributes {nv_tileaa.compute_capability = 80 : i32} {
}

// -----

// expected-error @below {{has an unknown target}}
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_1"} {
}

// -----

// expected-error @below {{has nv_tileaa.compute_capability = 90, but its target sm_80 has 80}}
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_80"} {
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @mixed(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
    // expected-error @below {{multiplies f16 by bf16: operands of one type are supported}}
    %0 = nv_tileaa.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xbf16>, tensor<16x16xf32> -> tensor<16x16xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @integers(%a: tensor<16x16xi8>, %b: tensor<16x16xi8>, %c: tensor<16x16xi32>) {
    // expected-error @below {{multiplies i8 into i32: no instruction for these types is known to this version}}
    %0 = nv_tileaa.dot %a, %b, %c : tensor<16x16xi8>, tensor<16x16xi8>, tensor<16x16xi32> -> tensor<16x16xi32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @shallow(%a: tensor<16x8xf16>, %b: tensor<8x16xf16>, %c: tensor<16x16xf32>) {
    // expected-error @below {{which no tensor core instruction of this version serves; use f16, bf16 or tf32 operands}}
    %0 = nv_tileaa.dot %a, %b, %c : tensor<16x8xf16>, tensor<8x16xf16>, tensor<16x16xf32> -> tensor<16x16xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @huge(%x: f32) {
    // expected-error @below {{a tile of type tensor<262144xf32> puts 2048 elements in each of 128 threads; at most 1024 are compiled}}
    %0 = nv_tileaa.splat %x : f32 -> tensor<262144xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @while(%x: f32, %more: i1) {
    %0 = nv_tileaa.splat %x : f32 -> tensor<128xf32>
    // expected-error @below {{carries tiles, and has no layout assignment in this version}}
    %1 = scf.while (%a = %0) : (tensor<128xf32>) -> tensor<128xf32> {
      scf.condition(%more) %a : tensor<128xf32>
    } do {
    ^bb0(%b: tensor<128xf32>):
      scf.yield %b : tensor<128xf32>
    }
    nv_tileaa.return
  }
}
