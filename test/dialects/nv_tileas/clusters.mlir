// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// What the CTAs of a cluster exchange.

// CHECK-LABEL: func @reduce(
// CHECK: %{{.*}} = nv_tileas.cluster_reduce %{{.*}} bits = 2 : tensor<64xf32> -> tensor<64xf32> {
nv_tileaa.func @reduce(%given: tensor<64xf32>) {
  %sum = nv_tileas.cluster_reduce %given bits = 2 : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    nv_tileaa.yield %both : f32
  }
  nv_tileaa.return
}

// CHECK-LABEL: func @reduce_scatter(
// CHECK: %{{.*}} = nv_tileas.cluster_reduce_scatter %{{.*}} : tensor<64x64xf32> -> tensor<64x32xf32>
nv_tileaa.func @reduce_scatter(%given: tensor<64x64xf32>) {
  %part = nv_tileas.cluster_reduce_scatter %given : tensor<64x64xf32> -> tensor<64x32xf32>
  nv_tileaa.return
}

// CHECK-LABEL: func @order(
// CHECK: %[[AFTER:.*]] = nv_tileas.cluster_order %{{.*}} : !nv_tileaa.mem_token
// CHECK: nv_tileas.cluster_order %[[AFTER]] at %{{.*}} : !nv_tileaa.mem_token at !nv_tileas.smem<1x1xi64
nv_tileaa.func @order(%before: !nv_tileaa.mem_token) {
  %barrier = nv_tileas.alloc_tensor : !nv_tileas.smem<1x1xi64, #nv_tileas.shared<{offset = [], outs = {dim0 = 1}}>>
  %after = nv_tileas.cluster_order %before : !nv_tileaa.mem_token
  %last = nv_tileas.cluster_order %after at %barrier : !nv_tileaa.mem_token at !nv_tileas.smem<1x1xi64, #nv_tileas.shared<{offset = [], outs = {dim0 = 1}}>>
  nv_tileaa.return
}
