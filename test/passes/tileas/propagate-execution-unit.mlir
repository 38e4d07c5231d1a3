// RUN: tessera-opt %s --propagate-execution-unit --split-input-file --verify-diagnostics -o %t
// RUN: filecheck %s --input-file %t

// Through loops and branches to the kernel; of several agent_switch ops the largest counts.
// CHECK-LABEL: nv_tileaa.func @up
// CHECK-SAME: num_warps = 12
nv_tileaa.func @up(%n: i32, %b: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %z = arith.constant 0 : i32
  %o = arith.constant 1 : i32
  scf.for %i = %z to %n step %o : i32 {
    scf.if %b {
      nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] agent_strides = [4, 8] {
      }, {
      }
    }
  }
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] {
  }, {
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @branches(%b: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  // expected-error @below {{inconsistent numWarps in the agent switch, maybe it is called in different agents with different numWarps: its regions take 8 and 12 warps}}
  scf.if %b {
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] {
    }, {
    }
  } else {
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 8] warp_id = [0, 4] {
    }, {
    }
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @nested() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    // expected-error @below {{inconsistent numWarps in the agent switch, maybe it is called in different agents with different numWarps: it takes 6 warps, in an agent of 4}}
    nv_tileas.async.pipeline.agent_switch num_warps = [2, 4] warp_id = [0, 2] {
    }, {
    }
  }, {
  }
  nv_tileaa.return
}
