// RUN: tessera-opt %s --tileas-alternate-consumers --verify-each -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --tileas-alternate-consumers | diff %t -

// Two agents run the code of one, every other tile.  Of the tiles in between, they leave out the stages, as many as the
// loop there has iterations: its bound is computed again.  The producer is as before.

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // CHECK-LABEL: @tiles
  // CHECK: create_pipeline stages = 3, producers = 1, consumers = 4 in_turn
  // CHECK: %[[O:.*]] = nv_tileas.async.pipeline.create_order groups = 2
  // CHECK: agent_switch num_warps = [1, 4, 4] warp_id = [0, 4, 8] registers = [40, 232, 232] {
  // CHECK-NOT: order_
  // CHECK-NOT: nv_tileas.consumers
  // CHECK: }, {
  // CHECK: %[[YES:.*]] = arith.constant true
  // CHECK: scf.for %[[T:.*]] = %zero to %n step %one iter_args(%[[I:.*]] = %{{.*}}, %[[MINE:.*]] = %[[YES]])
  // CHECK-NEXT: %[[NEXT:.*]] = scf.if %[[MINE]]
  // CHECK: order_wait %[[O]]
  // CHECK-NEXT: scf.for %{{.*}} = %zero to %{{.*}} step %one iter_args(%{{.*}} = %[[I]])
  // CHECK: consumer_wait
  // CHECK: order_arrive %[[O]]
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: } else {
  // CHECK: %[[TWICE:.*]] = arith.addi %[[T]], %[[T]] : i32
  // CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[TWICE]], %one : i32
  // CHECK: %[[RUNS:.*]] = arith.cmpi slt, %zero, %[[LAST]] : i32
  // CHECK: %[[TRIPS:.*]] = arith.select %[[RUNS]]
  // CHECK-NEXT: %[[BY:.*]] = nv_tileas.async.pipeline.inc_iter %[[I]] by %[[TRIPS]]
  // CHECK-NEXT: scf.yield %[[BY]]
  // CHECK: %[[OTHER:.*]] = arith.xori %[[MINE]]
  // CHECK-NEXT: scf.yield %[[NEXT]], %[[OTHER]]
  // CHECK: }, {
  // CHECK: %[[NO:.*]] = arith.constant false
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[NO]])
  // CHECK: order_wait %[[O]]
  // CHECK: order_arrive %[[O]]
  // CHECK: inc_iter {{.*}} by
  nv_tileaa.func @tiles(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %desc = nv_tileas.make_tiled_tma_desc %x, box = [64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_1d_f32>} : !nv_tileaa.memref<?xf32> -> !nv_tileas.tma_desc<64xf32>
    %smem = nv_tileas.alloc_tensor : !nv_tileas.smem<3x64xf32>
    %pipe = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] registers = [40, 232] {
      %i0 = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %i1 = scf.for %t = %zero to %n step %one iter_args(%ti = %i0) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        %twice = arith.addi %t, %t : i32
        %last = arith.addi %twice, %one : i32
        %i2 = scf.for %k = %zero to %last step %one iter_args(%i = %ti) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
          nv_tileas.async.pipeline.produce_one %pipe, %i {
            %a = nv_tileas.async.pipeline.producer_acquire %pipe, %i : !nv_tileas.producer_token
            %w = nv_tileas.async.pipeline.producer_write %a, %i {
              nv_tileas.async.tiled_tma_load %desc[%zero], %smem, %i : !nv_tileas.tma_desc<64xf32>, !nv_tileas.smem<3x64xf32>
            }
            nv_tileas.async.pipeline.producer_commit %w
          }
          %next = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
          scf.yield %next : !nv_tileas.pipeline_iter<i32>
        }
        scf.yield %i2 : !nv_tileas.pipeline_iter<i32>
      } {nv_tileas.consumers = 2 : i32}
    }, {
      %j0 = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %j1 = scf.for %t = %zero to %n step %one iter_args(%tj = %j0) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        %twice = arith.addi %t, %t : i32
        %last = arith.addi %twice, %one : i32
        %j2 = scf.for %k = %zero to %last step %one iter_args(%j = %tj) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
          %c = nv_tileas.async.pipeline.consumer_wait %pipe, %j, 0 : !nv_tileas.consumer_token
          nv_tileas.async.pipeline.consumer_release %c
          %next = nv_tileas.async.pipeline.inc_iter %j : !nv_tileas.pipeline_iter<i32>
          scf.yield %next : !nv_tileas.pipeline_iter<i32>
        }
        nv_tileas.barrier
        scf.yield %j2 : !nv_tileas.pipeline_iter<i32>
      } {nv_tileas.consumers = 2 : i32}
    }
    nv_tileaa.return
  }

  // A store keeps the order of the tiles by a turn of its own, which lasts until it is complete.  The consumer that leaves
  // out a tile passes its token on.
  // CHECK-LABEL: @stores
  // CHECK: %[[O:.*]] = nv_tileas.async.pipeline.create_order groups = 2
  // CHECK: %[[S:.*]] = nv_tileas.async.pipeline.create_order groups = 2
  // CHECK: }, {
  // CHECK: iter_args(%{{.*}} = %{{.*}}, %[[BEFORE:.*]] = %t, %[[MINE:.*]] = %{{.*}})
  // CHECK-NEXT: %{{.*}}:2 = scf.if %[[MINE]]
  // CHECK-NEXT: order_wait %[[O]]
  // CHECK: order_arrive %[[O]]{{$}}
  // CHECK: order_wait %[[S]]
  // CHECK-NEXT: %[[AFTER:.*]] = nv_tileas.tiled_store {{.*}}, %[[BEFORE]]
  // CHECK-NEXT: order_arrive %[[S]] after %[[AFTER]] : !nv_tileaa.mem_token
  // CHECK-NEXT: scf.yield %{{.*}}, %[[AFTER]]
  // CHECK-NEXT: } else {
  // CHECK: scf.yield %{{.*}}, %[[BEFORE]]
  nv_tileaa.func @stores(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %desc = nv_tileas.make_tiled_tma_desc %x, box = [64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_1d_f32>} : !nv_tileaa.memref<?xf32> -> !nv_tileas.tma_desc<64xf32>
    %smem = nv_tileas.alloc_tensor : !nv_tileas.smem<3x64xf32>
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %pipe = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] registers = [40, 232] {
      %i0 = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %i1 = scf.for %p = %zero to %n step %one iter_args(%i = %i0) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        nv_tileas.async.pipeline.produce_one %pipe, %i {
          %a = nv_tileas.async.pipeline.producer_acquire %pipe, %i : !nv_tileas.producer_token
          %w = nv_tileas.async.pipeline.producer_write %a, %i {
            nv_tileas.async.tiled_tma_load %desc[%zero], %smem, %i : !nv_tileas.tma_desc<64xf32>, !nv_tileas.smem<3x64xf32>
          }
          nv_tileas.async.pipeline.producer_commit %w
        }
        %next = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
        scf.yield %next : !nv_tileas.pipeline_iter<i32>
      }
    }, {
      %j0 = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %y = arith.constant dense<1.0> : tensor<64xf32>
      %j1:2 = scf.for %p = %zero to %n step %one iter_args(%j = %j0, %before = %t) -> (!nv_tileas.pipeline_iter<i32>, !nv_tileaa.mem_token) : i32 {
        %c = nv_tileas.async.pipeline.consumer_wait %pipe, %j, 0 : !nv_tileas.consumer_token
        nv_tileas.async.pipeline.consumer_release %c
        %next = nv_tileas.async.pipeline.inc_iter %j : !nv_tileas.pipeline_iter<i32>
        %after = nv_tileas.tiled_store %x[%p], %y, %before {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<64xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
        scf.yield %next, %after : !nv_tileas.pipeline_iter<i32>, !nv_tileaa.mem_token
      } {nv_tileas.consumers = 2 : i32}
    }
    nv_tileaa.return
  }

  // Where all stages are used in a branch, the turn ends in each of its blocks, behind the last product.
  // CHECK-LABEL: @branch
  // CHECK: order_wait
  // CHECK-NEXT: scf.if %c
  // CHECK: scf.for
  // CHECK: order_arrive
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT: order_arrive
  // CHECK: } else {
  // CHECK: arith.select %c
  nv_tileaa.func @branch(%X: !llvm.ptr<1>, %n: i32, %c: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %desc = nv_tileas.make_tiled_tma_desc %x, box = [64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_1d_f32>} : !nv_tileaa.memref<?xf32> -> !nv_tileas.tma_desc<64xf32>
    %smem = nv_tileas.alloc_tensor : !nv_tileas.smem<3x64xf32>
    %pipe = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] registers = [40, 232] {
      %i0 = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %i1 = scf.for %t = %zero to %n step %one iter_args(%ti = %i0) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        %i2 = scf.for %k = %zero to %t step %one iter_args(%i = %ti) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
          nv_tileas.async.pipeline.produce_one %pipe, %i {
            %a = nv_tileas.async.pipeline.producer_acquire %pipe, %i : !nv_tileas.producer_token
            %w = nv_tileas.async.pipeline.producer_write %a, %i {
              nv_tileas.async.tiled_tma_load %desc[%zero], %smem, %i : !nv_tileas.tma_desc<64xf32>, !nv_tileas.smem<3x64xf32>
            }
            nv_tileas.async.pipeline.producer_commit %w
          }
          %next = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
          scf.yield %next : !nv_tileas.pipeline_iter<i32>
        }
        scf.yield %i2 : !nv_tileas.pipeline_iter<i32>
      } {nv_tileas.consumers = 2 : i32}
    }, {
      %j0 = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %j1 = scf.for %t = %zero to %n step %one iter_args(%tj = %j0) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        %b = scf.if %c -> (!nv_tileas.pipeline_iter<i32>) {
          %j2 = scf.for %k = %zero to %t step %one iter_args(%j = %tj) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
            %w = nv_tileas.async.pipeline.consumer_wait %pipe, %j, 0 : !nv_tileas.consumer_token
            nv_tileas.async.pipeline.consumer_release %w
            %next = nv_tileas.async.pipeline.inc_iter %j : !nv_tileas.pipeline_iter<i32>
            scf.yield %next : !nv_tileas.pipeline_iter<i32>
          }
          nv_tileas.barrier
          scf.yield %j2 : !nv_tileas.pipeline_iter<i32>
        } else {
          scf.yield %tj : !nv_tileas.pipeline_iter<i32>
        }
        scf.yield %b : !nv_tileas.pipeline_iter<i32>
      } {nv_tileas.consumers = 2 : i32}
    }
    nv_tileaa.return
  }
}
