// RUN: tessera-opt %s --tileas-insert-barriers --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm --split-input-file --verify-diagnostics

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-note @below {{other definition is here}}
  nv_tileaa.func @vprintf() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    // expected-error @below {{needs the driver's function @vprintf, but the module defines that name}}
    %u = nv_tileaa.print "text" token %t -> !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{has the name @global_smem, which is reserved for the kernels' shared memory; rename it}}
  llvm.mlir.global external @global_smem(dense<7> : tensor<1xi32>) {addr_space = 1 : i32} : !llvm.array<1 x i32>
  nv_tileaa.func @kernel() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %p = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 8 : i64} : !llvm.ptr<1>
    nv_tileaa.return
  }
}
