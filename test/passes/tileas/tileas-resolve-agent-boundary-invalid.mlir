// RUN: tessera-opt %s --tileas-resolve-agent-boundary --split-input-file --verify-diagnostics

nv_tileaa.func @alone(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    // expected-error @below {{is on channel 3 with 1 sends and 0 receives; expected one of each}}
    nv_tileas.async.pipeline.send %n, channel = 3 : i32
  }, {
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @same(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.send %n, channel = 0 : i32
    // expected-error @below {{receives what its own agent sends; use the value}}
    %v = nv_tileas.async.pipeline.receive channel = 0 : i32
  }, {
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @types(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.send %n, channel = 0 : i32
  }, {
    // expected-error @below {{receives i64, but i32 is sent}}
    %v = nv_tileas.async.pipeline.receive channel = 0 : i64
  }
  nv_tileaa.return
}

// -----

nv_tileaa.func @branch(%n: i32, %c: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      // expected-error @below {{stands in 'scf.while'; expected loops of scf.for and branches up to its agent}}
      nv_tileas.async.pipeline.send %n, channel = 0 : i32
      scf.yield
    }
  }, {
    %v = nv_tileas.async.pipeline.receive channel = 0 : i32
  }
  nv_tileaa.return
}
