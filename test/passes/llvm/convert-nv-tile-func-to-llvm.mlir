// RUN: tessera-opt %s --convert-nv-tile-func-to-llvm --split-input-file | filecheck %s

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // kernel_spec → cute.kernel; num_warps → nvvm.reqntid; nvvm.minctasm always; no cluster, no occupancy.
  // CHECK: func.func @plain(%p: !llvm.ptr<1>, %n: i64) attributes {cute.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128>}
  nv_tileaa.func @plain(%p: !llvm.ptr<1>, %n: index) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    nv_tileaa.return
  }
  // cluster → nvvm.cluster_dim and nvvm.blocksareclusters.
  // CHECK: func.func @cluster() attributes {cute.kernel, nvvm.blocksareclusters, nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 256>}
  nv_tileaa.func @cluster() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [2, 1, 1]>} {
    nv_tileaa.return
  }
  // occupancy → nvvm.maxnreg: four CTAs of 128 threads share 65,536 registers.
  // CHECK: func.func @occupancy() attributes {cute.kernel, nvvm.maxnreg = 128 : i32, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128>}
  nv_tileaa.func @occupancy() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>, nv_tileaa.occupancy = 4 : i32} {
    nv_tileaa.return
  }
  // No kernel_spec: a helper, whose results stay.
  // CHECK: func.func @helper(%x: i32) -> i32 {
  // CHECK-NEXT: return %x : i32
  nv_tileaa.func @helper(%x: i32) -> i32 {
    nv_tileaa.return %x : i32
  }
  // An index is an i64 outside.
  // CHECK: func.func @index(%x: i64) -> i64 {
  // CHECK-NEXT: %[[X:.*]] = arith.index_cast %x : i64 to index
  // CHECK-NEXT: %[[Y:.*]] = arith.addi %[[X]], %[[X]] : index
  // CHECK-NEXT: %[[Z:.*]] = arith.index_cast %[[Y]] : index to i64
  // CHECK-NEXT: return %[[Z]] : i64
  nv_tileaa.func @index(%x: index) -> index {
    %y = arith.addi %x, %x : index
    nv_tileaa.return %y : index
  }
}

// -----

// A target before clusters: neither attribute.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK: func.func @cluster() attributes {cute.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 256>}
  nv_tileaa.func @cluster() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [2, 1, 1]>} {
    nv_tileaa.return
  }
}

// -----

// No compute_capability: the signature alone.
module attributes {nv_tileaa.target_spec = "sm_80"} {
  // CHECK: func.func @kernel() {
  nv_tileaa.func @kernel() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [2, 1, 1]>} {
    nv_tileaa.return
  }
}
