// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileaa.func @f(%given: tensor<64xf32>) {
  // expected-error @below {{has bits = 16; expected bits of a rank, 1 to 15}}
  %sum = nv_tileas.cluster_reduce %given bits = 16 : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%a: f32, %b: f32):
    nv_tileaa.yield %a : f32
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @f(%given: tensor<64xf32>) {
  // expected-error @below {{expects a region with two arguments for each of 1 operands}}
  %sum = nv_tileas.cluster_reduce %given bits = 1 : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%a: f32):
    nv_tileaa.yield %a : f32
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @f(%given: tensor<64x64xf32>) {
  // expected-error @below {{gives tensor<64x48xf32> of tensor<64x64xf32>; expected a part of it, of the same element type}}
  %part = nv_tileas.cluster_reduce_scatter %given : tensor<64x64xf32> -> tensor<64x48xf32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @f(%given: tensor<64x64xf32>) {
  // expected-error @below {{gives tensor<64x32xf16> of tensor<64x64xf32>; expected a part of it, of the same element type}}
  %part = nv_tileas.cluster_reduce_scatter %given : tensor<64x64xf32> -> tensor<64x32xf16>
  nv_tileaa.return
}

// -----

nv_tileaa.func @f(%given: tensor<64xf32>) {
  // expected-error @below {{'nv_tileas.cluster_reduce' op expected operands, and results of the same types}}
  %sum = nv_tileas.cluster_reduce %given bits = 1 : tensor<64xf32> -> tensor<32xf32> {
  ^bb0(%a: f32, %b: f32):
    nv_tileaa.yield %a : f32
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @f(%given: tensor<64xf32>) {
  // expected-error @below {{'nv_tileas.cluster_reduce' op expects a region that yields an element of each operand}}
  %sum = nv_tileas.cluster_reduce %given bits = 1 : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%a: f32, %b: f32):
    nv_tileaa.yield
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @f(%before: !nv_tileaa.mem_token) {
  %barriers = nv_tileas.alloc_tensor : !nv_tileas.smem<2x1xi64, #nv_tileas.shared<{offset = [], outs = {dim0 = 1}}>>
  // expected-error @below {{'nv_tileas.cluster_order' op has an operand of type !nv_tileas.smem<2x1xi64}}
  %after = nv_tileas.cluster_order %before at %barriers : !nv_tileaa.mem_token at !nv_tileas.smem<2x1xi64, #nv_tileas.shared<{offset = [], outs = {dim0 = 1}}>>
  nv_tileaa.return
}
