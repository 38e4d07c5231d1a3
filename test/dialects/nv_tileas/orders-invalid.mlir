// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @below {{has turns of 1 warpgroups; expected 2 to 15}}
  %o = nv_tileas.async.pipeline.create_order groups = 1 : !nv_tileas.order_token
  return
}

// -----

func.func @f() {
  // expected-error @below {{has barriers [3, 3]; expected one for each of 2 warpgroups}}
  %o = nv_tileas.async.pipeline.create_order groups = 2 barriers = [3, 3] : !nv_tileas.order_token
  return
}

// -----

func.func @f() {
  // expected-error @below {{has barriers [0, 1]; named barriers are 1 to 15}}
  %o = nv_tileas.async.pipeline.create_order groups = 2 barriers = [0, 1] : !nv_tileas.order_token
  return
}

// -----

func.func @f() {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  // expected-error @below {{gives a turn that the warpgroup does not have}}
  nv_tileas.async.pipeline.order_arrive %o
  return
}

// -----

func.func @f() {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.order_wait %o
  // expected-error @below {{waits for a turn that the warpgroup has}}
  nv_tileas.async.pipeline.order_wait %o
  return
}

// -----

func.func @f() {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  // expected-error @below {{ends with a turn that is not given to the next warpgroup}}
  nv_tileas.async.pipeline.order_wait %o
  return
}

// -----

func.func @f(%n: i32) {
  %c0 = arith.constant 0 : i32
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  // expected-error @below {{has a region that begins a turn and does not end it, or ends one}}
  scf.for %k = %c0 to %n step %n : i32 {
    nv_tileas.async.pipeline.order_wait %o
  }
  return
}

// -----

func.func @f() {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 8] warp_id = [0, 4] {
    %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
    nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [0] {
      // expected-error @below {{takes a turn of warpgroups of another agent}}
      nv_tileas.async.pipeline.order_wait %o
    }
  }, {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{has turns of 2 agents, but 1 take them}}
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }, {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{has turns of agents of 4 and 8 warps; expected as many}}
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 8] warp_id = [0, 4] {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }, {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  return
}

// -----

func.func @f() {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }, {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
    // expected-error @below {{ends with a turn that is not given to the next warpgroup}}
    nv_tileas.async.pipeline.order_wait %o
    %z = arith.constant 0 : i32
  }
  return
}

// -----

func.func @f() {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }, {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  // expected-error @below {{takes a turn of agents, but stands in none}}
  nv_tileas.async.pipeline.order_wait %o
  return
}

// -----

func.func @f() {
  // expected-error @below {{has turns of the agents of several agent_switch ops}}
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [0] {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [0] {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  return
}

// -----

// A turn ends on every path, or on none.
func.func @f(%c: i1) {
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.order_wait %o
  // expected-error @below {{has a region that begins a turn and does not end it, or ends one}}
  scf.if %c {
    nv_tileas.async.pipeline.order_arrive %o
  } else {
  }
  return
}

// -----

func.func @an_order_from_outside(%o: !nv_tileas.order_token) {
  // expected-error @below {{'nv_tileas.async.pipeline.order_wait' op takes a turn that is not of a create_order}}
  nv_tileas.async.pipeline.order_wait %o
  return
}
