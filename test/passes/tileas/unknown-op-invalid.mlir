// RUN: tessera-opt %s --tileas-assign-layouts --verify-each=false --verify-diagnostics

// Without verification of the stages, the pass itself refuses an op of which it does not know the layouts.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @unknown() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{carries tiles, and has no layout assignment in this version}}
    %0 = ub.poison : tensor<128xf32>
    nv_tileaa.return
  }
}
