// RUN: tessera-opt %s --tileas-alternate-consumers --split-input-file --verify-diagnostics

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @carries(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
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
      // expected-error @below {{carries a value of type i32 from one iteration to the next, and its consumers take them in turn; expected iterators of pipelines and tokens only}}
      %j1:2 = scf.for %t = %zero to %n step %one iter_args(%tj = %j0, %sum = %n) -> (!nv_tileas.pipeline_iter<i32>, i32) : i32 {
        %j2 = scf.for %k = %zero to %t step %one iter_args(%j = %tj) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
          %c = nv_tileas.async.pipeline.consumer_wait %pipe, %j, 0 : !nv_tileas.consumer_token
          nv_tileas.async.pipeline.consumer_release %c
          %next = nv_tileas.async.pipeline.inc_iter %j : !nv_tileas.pipeline_iter<i32>
          scf.yield %next : !nv_tileas.pipeline_iter<i32>
        }
        scf.yield %j2, %sum : !nv_tileas.pipeline_iter<i32>, i32
      } {nv_tileas.consumers = 2 : i32}
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @unknown(%X: !llvm.ptr<1>, %n: i32, %some: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
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
        // expected-error @below {{says how many stages an iteration uses, and the consumer that leaves them out does not compute it}}
        %many = scf.if %some -> (i32) {
          scf.yield %t : i32
        } else {
          scf.yield %one : i32
        }
        %j2 = scf.for %k = %zero to %many step %one iter_args(%j = %tj) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
          %c = nv_tileas.async.pipeline.consumer_wait %pipe, %j, 0 : !nv_tileas.consumer_token
          nv_tileas.async.pipeline.consumer_release %c
          %next = nv_tileas.async.pipeline.inc_iter %j : !nv_tileas.pipeline_iter<i32>
          scf.yield %next : !nv_tileas.pipeline_iter<i32>
        }
        scf.yield %j2 : !nv_tileas.pipeline_iter<i32>
      } {nv_tileas.consumers = 2 : i32}
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @fresh(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
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
      // expected-error @below {{uses stages of which the consumer that leaves them out cannot know the number; expected iterators that loops and branches advance}}
      %j1 = scf.for %t = %zero to %n step %one iter_args(%tj = %j0) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        %fresh = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
        %j2 = scf.for %k = %zero to %t step %one iter_args(%j = %fresh) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
          %c = nv_tileas.async.pipeline.consumer_wait %pipe, %j, 0 : !nv_tileas.consumer_token
          nv_tileas.async.pipeline.consumer_release %c
          %next = nv_tileas.async.pipeline.inc_iter %j : !nv_tileas.pipeline_iter<i32>
          scf.yield %next : !nv_tileas.pipeline_iter<i32>
        }
        scf.yield %j2 : !nv_tileas.pipeline_iter<i32>
      } {nv_tileas.consumers = 2 : i32}
    }
    nv_tileaa.return
  }
}

// -----

nv_tileaa.func @nowhere(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %pipe = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{has iterations for several consumers; expected a loop of an agent, in no other loop}}
  scf.for %t = %n to %n step %n : i32 {
    %c = nv_tileas.async.pipeline.consumer_wait %pipe, %i, 0 : !nv_tileas.consumer_token
    nv_tileas.async.pipeline.consumer_release %c
  } {nv_tileas.consumers = 2 : i32}
  nv_tileaa.return
}
