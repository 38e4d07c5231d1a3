// RUN: tessera-opt %s --tileas-bind-named-barriers --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

// The agents have barriers 1 and 2.
// CHECK-LABEL: nv_tileaa.func @bound
// CHECK: create_order groups = 2 barriers = [3, 4] : !nv_tileas.order_token
// CHECK: create_order groups = 2 barriers = [5, 6] : !nv_tileas.order_token
nv_tileaa.func @bound(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  %c0 = arith.constant 0 : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 8] warp_id = [0, 4] {
  }, {
    %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
    %p = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
    scf.for %k = %c0 to %n step %n : i32 {
      nv_tileas.async.pipeline.order_wait %o
      nv_tileas.async.pipeline.order_arrive %o
      nv_tileas.async.pipeline.order_wait %p
      nv_tileas.async.pipeline.order_arrive %p
    }
    // A barrier behind the loop is no matter of the turns.
    nv_tileas.barrier
  }
  nv_tileaa.return
}

// -----

// Without other agents that meet, the first is barrier 1; 0 is that of the CTA.
// CHECK-LABEL: nv_tileaa.func @first
// CHECK: create_order groups = 2 barriers = [1, 2] : !nv_tileas.order_token
nv_tileaa.func @first(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  %c0 = arith.constant 0 : i32
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  scf.for %k = %c0 to %n step %n : i32 {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  nv_tileaa.return
}

// -----

// All warps of the agent meet in the loop: turns would only cost time, or never end.
// CHECK-LABEL: nv_tileaa.func @meets
// CHECK-NOT: order
// CHECK: nv_tileas.barrier
// CHECK-NOT: order
nv_tileaa.func @meets(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  %c0 = arith.constant 0 : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 8] warp_id = [0, 4] {
  }, {
    %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
    scf.for %k = %c0 to %n step %n : i32 {
      nv_tileas.async.pipeline.order_wait %o
      nv_tileas.async.pipeline.order_arrive %o
      // expected-remark @below {{the 2 consumer warpgroups do not take turns with the tensor cores: they meet at 'nv_tileas.barrier' in each iteration}}
      nv_tileas.barrier
    }
  }
  nv_tileaa.return
}

// -----

// A turn around the end of the loop begins before it.
// CHECK-LABEL: nv_tileaa.func @before
// CHECK-NOT: order
nv_tileaa.func @before(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  %c0 = arith.constant 0 : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 8] warp_id = [0, 4] {
  }, {
    %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
    nv_tileas.async.pipeline.order_wait %o
    // expected-remark @below {{the 2 consumer warpgroups do not take turns with the tensor cores: they meet at 'nv_tileas.barrier' during a turn}}
    nv_tileas.barrier
    scf.for %k = %c0 to %n step %n : i32 {
      nv_tileas.async.pipeline.order_arrive %o
      nv_tileas.async.pipeline.order_wait %o
    }
    nv_tileas.async.pipeline.order_arrive %o
  }
  nv_tileaa.return
}

// -----

// An option asks for them.
nv_tileaa.func @required(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  %c0 = arith.constant 0 : i32
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 8] warp_id = [0, 4] {
  }, {
    %o = nv_tileas.async.pipeline.create_order groups = 2 {required} : !nv_tileas.order_token
    scf.for %k = %c0 to %n step %n : i32 {
      nv_tileas.async.pipeline.order_wait %o
      nv_tileas.async.pipeline.order_arrive %o
      // expected-error @below {{keeps the consumer warpgroups from taking turns, for which ping-pong=always asks: they meet at 'nv_tileas.barrier' in each iteration}}
      nv_tileas.barrier
    }
  }
  nv_tileaa.return
}

// -----

// Agents that take turns have barriers behind those of all agents; what each does in its turn is its own matter.
// CHECK-LABEL: nv_tileaa.func @agents
// CHECK: create_order groups = 2 barriers = [4, 5] : !nv_tileas.order_token
nv_tileaa.func @agents(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 12>} {
  %c0 = arith.constant 0 : i32
  %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4, 4] warp_id = [0, 4, 8] {
  }, {
    scf.for %k = %c0 to %n step %n : i32 {
      nv_tileas.async.pipeline.order_wait %o
      nv_tileas.barrier
      nv_tileas.async.pipeline.order_arrive %o
    }
  }, {
    nv_tileas.async.pipeline.order_wait %o
    nv_tileas.async.pipeline.order_arrive %o
  }
  nv_tileaa.return
}
