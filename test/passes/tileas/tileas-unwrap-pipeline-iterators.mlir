// RUN: tessera-opt %s --tileas-unwrap-pipeline-iterators --verify-each=false -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %t --tileas-unwrap-pipeline-iterators --verify-each=false | diff %t -

// An iterator becomes a slot and a phase, also where a loop or a branch carries it.  Behind the last stage follows slot 0
// with the other phase.

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // CHECK-LABEL: @loop
  // CHECK-NOT: pipeline_iter
  // CHECK: agent_switch
  // CHECK-NEXT: %[[FIRST:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: %end_slot, %end_phase = scf.for {{.*}} iter_args(%[[SLOT:.*]] = %[[FIRST]], %[[PHASE:.*]] = %[[FIRST]]) -> (i32, i32)
  // CHECK-NEXT: produce_one %pipe, slot %[[SLOT]] {
  // CHECK-NEXT: producer_acquire %pipe, slot %[[SLOT]] phase %[[PHASE]]
  // CHECK-NEXT: producer_write %{{.*}}, slot %[[SLOT]] {
  // CHECK-NEXT: tiled_tma_load %desc[%zero], %smem, slot %[[SLOT]] :
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[SLOT]], %[[ONE]] : i32
  // CHECK-NEXT: %[[STAGES:.*]] = arith.constant 3 : i32
  // CHECK-NEXT: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[STAGES]] : i32
  // CHECK-NEXT: %[[OTHER:.*]] = arith.xori %[[PHASE]], %[[ONE]] : i32
  // CHECK-NEXT: %[[NONE:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: %[[S:.*]] = arith.select %[[WRAPS]], %[[NONE]], %[[NEXT]]
  // CHECK-NEXT: %[[P:.*]] = arith.select %[[WRAPS]], %[[OTHER]], %[[PHASE]]
  // CHECK-NEXT: scf.yield %[[S]], %[[P]] : i32, i32
  // CHECK: consume_one %pipe, slot %[[R:.*]] consumer_idx = 0
  // CHECK-NEXT: %[[C:.*]] = nv_tileas.async.pipeline.consumer_wait %pipe, slot %[[R]] phase %{{.*}}, 0
  // CHECK-NEXT: consumer_read %[[C]], slot %[[R]]
  // CHECK-NEXT: nv_tileas.view %smem, slot %[[R]] :
  nv_tileaa.func @loop(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 5>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %desc = nv_tileas.make_tiled_tma_desc %x, box = [64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_1d_f32>} : !nv_tileaa.memref<?xf32> -> !nv_tileas.tma_desc<64xf32>
    %smem = nv_tileas.alloc_tensor : !nv_tileas.smem<3x64xf32>
    %pipe = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 1] {
      %first = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %end = scf.for %k = %zero to %n step %one iter_args(%i = %first) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        nv_tileas.async.pipeline.produce_one %pipe, %i {
          %t = nv_tileas.async.pipeline.producer_acquire %pipe, %i : !nv_tileas.producer_token
          %w = nv_tileas.async.pipeline.producer_write %t, %i {
            nv_tileas.async.tiled_tma_load %desc[%zero], %smem, %i : !nv_tileas.tma_desc<64xf32>, !nv_tileas.smem<3x64xf32>
          }
          nv_tileas.async.pipeline.producer_commit %w
        }
        %next = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
        scf.yield %next : !nv_tileas.pipeline_iter<i32>
      }
    }, {
      %first = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
      %end = scf.for %k = %zero to %n step %one iter_args(%i = %first) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
        nv_tileas.async.pipeline.consume_one %pipe, %i consumer_idx = 0 {
          %t = nv_tileas.async.pipeline.consumer_wait %pipe, %i, 0 : !nv_tileas.consumer_token
          %r = nv_tileas.async.pipeline.consumer_read %t, %i {
            %v = nv_tileas.view %smem, %i : !nv_tileas.smem<3x64xf32> -> !nv_tileas.smem<1x64xf32>
          }
          nv_tileas.async.pipeline.consumer_release %r
        }
        %next = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
        scf.yield %next : !nv_tileas.pipeline_iter<i32>
      }
    }
    nv_tileaa.return
  }

  // The first stage of all is empty: its acquire has no phase.  With two stages, the slot says whether it is the last.
  // Results that are no iterators keep their places.
  // CHECK-LABEL: @branch
  // CHECK: create_pipeline
  // CHECK-NEXT: %[[FIRST:.*]] = arith.constant 0 : i32
  // CHECK: producer_acquire %pipe, slot %[[FIRST]] : !nv_tileas.producer_token
  // CHECK: %a, %i_slot, %i_phase, %b = scf.if %c -> (i32, i32, i32, i32) {
  // CHECK: %[[S:.*]] = arith.xori %[[FIRST]], %{{.*}} : i32
  // CHECK-NEXT: %[[P:.*]] = arith.xori %[[FIRST]], %[[FIRST]] : i32
  // CHECK: scf.yield %n, %[[S]], %[[P]], %n
  // CHECK: scf.yield %n, %[[FIRST]], %[[FIRST]], %n
  // CHECK: produce_one %pipe, slot %i_slot {
  // CHECK-NEXT: producer_acquire %pipe, slot %i_slot phase %i_phase
  nv_tileaa.func @branch(%X: !llvm.ptr<1>, %n: i32, %c: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
    %zero = arith.constant 0 : i32
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %desc = nv_tileas.make_tiled_tma_desc %x, box = [64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_1d_f32>} : !nv_tileaa.memref<?xf32> -> !nv_tileas.tma_desc<64xf32>
    %smem = nv_tileas.alloc_tensor : !nv_tileas.smem<2x64xf32>
    %pipe = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 1 : !nv_tileas.pipeline_token
    %first = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
    nv_tileas.async.pipeline.produce_one %pipe, %first {
      %t = nv_tileas.async.pipeline.producer_acquire %pipe, %first : !nv_tileas.producer_token
      %w = nv_tileas.async.pipeline.producer_write %t, %first {
        nv_tileas.async.tiled_tma_load %desc[%zero], %smem, %first : !nv_tileas.tma_desc<64xf32>, !nv_tileas.smem<2x64xf32>
      }
      nv_tileas.async.pipeline.producer_commit %w
    }
    %a, %i, %b = scf.if %c -> (i32, !nv_tileas.pipeline_iter<i32>, i32) {
      %next = nv_tileas.async.pipeline.inc_iter %first : !nv_tileas.pipeline_iter<i32>
      scf.yield %n, %next, %n : i32, !nv_tileas.pipeline_iter<i32>, i32
    } else {
      scf.yield %n, %first, %n : i32, !nv_tileas.pipeline_iter<i32>, i32
    }
    nv_tileas.async.pipeline.produce_one %pipe, %i {
      %t = nv_tileas.async.pipeline.producer_acquire %pipe, %i : !nv_tileas.producer_token
      %w = nv_tileas.async.pipeline.producer_write %t, %i {
        nv_tileas.async.tiled_tma_load %desc[%zero], %smem, %i : !nv_tileas.tma_desc<64xf32>, !nv_tileas.smem<2x64xf32>
      }
      nv_tileas.async.pipeline.producer_commit %w
    }
    nv_tileaa.return
  }

  // Stages that other agents use are left out at once.
  // CHECK-LABEL: @further
  // CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) -> (i32, i32)
  // CHECK: %[[SUM:.*]] = arith.addi %[[SLOT]], %n : i32
  // CHECK-NEXT: %[[STAGES:.*]] = arith.constant 3 : i32
  // CHECK-NEXT: %[[ROUNDS:.*]] = arith.divui %[[SUM]], %[[STAGES]] : i32
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: %[[ODD:.*]] = arith.andi %[[ROUNDS]], %[[ONE]] : i32
  // CHECK-NEXT: %[[S:.*]] = arith.remui %[[SUM]], %[[STAGES]] : i32
  // CHECK-NEXT: %[[P:.*]] = arith.xori %[[PHASE]], %[[ODD]] : i32
  // CHECK-NEXT: scf.yield %[[S]], %[[P]] : i32, i32
  nv_tileaa.func @further(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %pipe = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 1 in_turn : !nv_tileas.pipeline_token
    %first = nv_tileas.async.pipeline.create_iterator %pipe : !nv_tileas.pipeline_iter<i32>
    %end = scf.for %k = %zero to %n step %one iter_args(%i = %first) -> (!nv_tileas.pipeline_iter<i32>) : i32 {
      %next = nv_tileas.async.pipeline.inc_iter %i by %n : !nv_tileas.pipeline_iter<i32>
      scf.yield %next : !nv_tileas.pipeline_iter<i32>
    }
    nv_tileaa.return
  }
}
