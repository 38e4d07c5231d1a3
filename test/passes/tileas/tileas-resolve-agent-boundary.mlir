// RUN: tessera-opt --mlir-print-local-scope %s --tileas-resolve-agent-boundary --split-input-file -o %t
// RUN: filecheck %s --input-file %t

!tile = tensor<64x64xf32>
!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// What two ops make of a number is computed in each agent, the number itself is taken as it is.
// CHECK-LABEL: nv_tileaa.func @recomputed
// CHECK: %[[X:.*]] = arith.addf %x, %x : f32
// CHECK-NEXT: agent_switch
// CHECK-NEXT: %[[S:.*]] = nv_tileaa.splat %[[X]]
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[S]], %[[S]]
// CHECK-NEXT: nv_tileas.tiled_store %{{.*}}, %[[M]]
// CHECK: }, {
// CHECK-NEXT: nv_tileaa.splat %[[X]]
// CHECK-NEXT: arith.mulf
nv_tileaa.func @recomputed(%x: f32, %v: !view, %t: !tok, %z: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  %y = arith.addf %x, %x : f32
  %s = nv_tileaa.splat %y : f32 -> !tile
  %m = arith.mulf %s, %s : !tile
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    %a = nv_tileas.tiled_store %v[%z, %z], %m, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
  }, {
    %a = nv_tileas.tiled_store %v[%z, %z], %m, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
  }
  nv_tileaa.return
}

// A load that one agent needs is made there, with what it feeds.
// CHECK-LABEL: nv_tileaa.func @moved
// CHECK-NOT: nv_tileas.tiled_load
// CHECK: agent_switch
// CHECK: }, {
// CHECK-NEXT: %[[L:.*]], %{{.*}} = nv_tileas.tiled_load
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[L]]
// CHECK-NEXT: nv_tileas.tiled_store %{{.*}}, %[[N]]
nv_tileaa.func @moved(%v: !view, %t: !tok, %z: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  %l, %lt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !tile, !tok
  %n = arith.negf %l : !tile
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
  }, {
    %a = nv_tileas.tiled_store %v[%z, %z], %n, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
  }
  nv_tileaa.return
}

// A tile that two agents need is stored once, and loaded where each first needs it.
// CHECK-LABEL: nv_tileaa.func @handed_over
// CHECK: %[[L:.*]], %{{.*}} = nv_tileas.tiled_load
// CHECK: %[[B:.*]] = nv_tileas.alloc_tensor {nv_tileas.alignment = 1024 : i64} : !nv_tileas.smem<1x64x64xf32
// CHECK: nv_tileas.store %[[L]], %[[B]]
// CHECK-NEXT: agent_switch
// CHECK-NEXT: %[[P:.*]] = nv_tileas.load %[[B]]
// CHECK-NEXT: nv_tileas.tiled_store %{{.*}}, %[[P]]
// CHECK: }, {
// CHECK-NEXT: %[[C:.*]] = arith.addi
// CHECK-NEXT: %[[Q:.*]] = nv_tileas.load %[[B]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: nv_tileas.tiled_store %{{.*}}, %[[Q]]
nv_tileaa.func @handed_over(%v: !view, %t: !tok, %z: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  %l, %lt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !tile, !tok
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    %a = nv_tileas.tiled_store %v[%z, %z], %l, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
  }, {
    %o = arith.addi %z, %z : i32
    scf.for %i = %z to %o step %o : i32 {
      %a = nv_tileas.tiled_store %v[%o, %z], %l, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
    }
  }
  nv_tileaa.return
}

// A load before a store stays before it.
// CHECK-LABEL: nv_tileaa.func @ordered
// CHECK: nv_tileas.tiled_load
// CHECK-NEXT: nv_tileas.tiled_store
// CHECK: nv_tileas.store
// CHECK: agent_switch
nv_tileaa.func @ordered(%v: !view, %w: !view, %x: !tile, %t: !tok, %z: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  %l, %lt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !tile, !tok
  %s = nv_tileas.tiled_store %v[%z, %z], %x, %lt {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
  }, {
    %a = nv_tileas.tiled_store %w[%z, %z], %l, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
  }
  nv_tileaa.return
}

// -----

// What one agent sends goes through a buffer of two stages, with a pipeline of its own; loops carry its iterators.
// CHECK-LABEL: nv_tileaa.func @channel
// CHECK: %[[B:.*]] = nv_tileas.alloc_tensor : !nv_tileas.smem<2x1xi32, #nv_tileas.shared<
// CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 2
// CHECK: agent_switch
// CHECK: %[[I:.*]] = nv_tileas.async.pipeline.create_iterator %[[P]]
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[J:.*]] = %[[I]])
// CHECK: nv_tileas.async.pipeline.produce_one %[[P]], %[[J]]
// CHECK: producer_acquire %[[P]], %[[J]]
// CHECK: producer_write
// CHECK: %[[S:.*]] = nv_tileas.view %[[B]], %[[J]]
// CHECK: nv_tileas.store_element %[[K]], %[[S]]
// CHECK: producer_commit
// CHECK: %[[N:.*]] = nv_tileas.async.pipeline.inc_iter %[[J]]
// CHECK: scf.yield %[[N]]
// CHECK: }, {
// CHECK: %[[V:.*]] = nv_tileas.async.pipeline.consume_one %[[P]], {{.*}} -> i32
// CHECK: consumer_wait
// CHECK: nv_tileas.load_element
// CHECK: consumer_release
// CHECK: arith.addi %[[V]], %[[V]]
nv_tileaa.func @channel(%n: i32, %o: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 2] warp_id = [0, 4] {
    scf.for %k = %o to %n step %o : i32 {
      nv_tileas.async.pipeline.send %k, channel = 0 : i32
    }
  }, {
    scf.for %k = %o to %n step %o : i32 {
      %v = nv_tileas.async.pipeline.receive channel = 0 : i32
      %s = arith.addi %v, %v : i32
    }
  }
  nv_tileaa.return
}
