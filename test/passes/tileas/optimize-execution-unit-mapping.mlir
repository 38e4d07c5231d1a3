// RUN: tessera-opt %s --optimize-execution-unit-mapping --split-input-file --verify-diagnostics -o %t
// RUN: filecheck %s --input-file %t

// The consumer starts at a whole warpgroup; warps 1 to 3 are a hole.
// CHECK-LABEL: nv_tileaa.func @hole
// CHECK-SAME: num_warps = 12
// CHECK: agent_switch num_warps = [1, 8] warp_id = [0, 4] agent_strides = [4, 8] {
nv_tileaa.func @hole() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 9>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 8] warp_id = [0, 1] {
  }, {
  }
  nv_tileaa.return
}

// -----

// In the given order there would be two holes, and 16 warps: whole warpgroups go first.
// CHECK-LABEL: nv_tileaa.func @whole_first
// CHECK-SAME: num_warps = 12
// CHECK: agent_switch num_warps = [1, 4, 1, 4] warp_id = [8, 0, 9, 4] agent_strides = [1, 4, 3, 4] {
nv_tileaa.func @whole_first() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 10>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4, 1, 4] warp_id = [0, 1, 5, 6] {
  }, {
  }, {
  }, {
  }
  nv_tileaa.return
}

// -----

// setmaxnreg is for whole warpgroups: two producers with different registers share none.
// CHECK-LABEL: nv_tileaa.func @registers
// CHECK-SAME: num_warps = 12
// CHECK: agent_switch num_warps = [1, 1, 4] warp_id = [0, 4, 8] agent_strides = [4, 4, 4] registers = [40, 24, 232] {
nv_tileaa.func @registers() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 6>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 1, 4] warp_id = [0, 1, 2] registers = [40, 24, 232] {
  }, {
  }, {
  }
  nv_tileaa.return
}

// -----

// Small agents with equally many registers share a warpgroup.
// CHECK-LABEL: nv_tileaa.func @shared
// CHECK-SAME: num_warps = 12
// CHECK: agent_switch num_warps = [1, 1, 8] warp_id = [0, 1, 4] agent_strides = [1, 3, 8] registers = [40, 40, 232] {
nv_tileaa.func @shared() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 10>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 1, 8] warp_id = [0, 1, 2] registers = [40, 40, 232] {
  }, {
  }, {
  }
  nv_tileaa.return
}

// -----

// Small agents are aligned to their own sizes, and all warps are a multiple of four.
// CHECK-LABEL: nv_tileaa.func @small
// CHECK-SAME: num_warps = 8
// CHECK: agent_switch num_warps = [1, 2, 1] warp_id = [0, 2, 4] agent_strides = [2, 2, 4] {
nv_tileaa.func @small() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 2, 1] warp_id = [0, 1, 3] {
  }, {
  }, {
  }
  nv_tileaa.return
}

// -----

// A kernel without agents keeps its warps.
// CHECK-LABEL: nv_tileaa.func @none
// CHECK-SAME: num_warps = 2
nv_tileaa.func @none() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 2>} {
  nv_tileaa.return
}

// -----

nv_tileaa.func @many() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 32>} {
  // expected-error @below {{has agents that take 36 warps with their alignment; a CTA has 32}}
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 1, 28] warp_id = [0, 1, 2] registers = [40, 24, 0] {
  }, {
  }, {
  }
  nv_tileaa.return
}
