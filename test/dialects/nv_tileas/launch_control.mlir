// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

!response = !nv_tileas.smem<1x4xi32, #nv_tileas.shared<{offset = [[1], [2]]}>>
!responses = !nv_tileas.smem<2x4xi32, #nv_tileas.shared<{offset = [[1], [2]]}>>
!mbarrier = !nv_tileas.smem<1x1xi64, #nv_tileas.shared<{offset = [], outs = {dim0 = 1}}>>

// CHECK-LABEL: @k
nv_tileaa.func @k(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %r = nv_tileas.alloc_tensor : !response
  %b = nv_tileas.alloc_tensor : !mbarrier
  // CHECK: nv_tileas.async.cancel_launch %{{.*}}, %{{.*}} : !nv_tileas.smem<1x4xi32
  nv_tileas.async.cancel_launch %r, %b : !response, !mbarrier
  // CHECK: nv_tileas.canceled_program_id %{{.*}}, %n, %n : !nv_tileas.smem<1x4xi32{{.*}} -> i32
  %x = nv_tileas.canceled_program_id %r, %n, %n : !response -> i32
  nv_tileaa.return
}

// An answer fills the stage of a pipeline; a number is taken by one thread of an agent.
// CHECK-LABEL: @agents
nv_tileaa.func @agents(%n: i32, %c: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
  %r = nv_tileas.alloc_tensor : !responses
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 1 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  nv_tileas.async.pipeline.produce_one %p, %i {
    %t = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
    %w = nv_tileas.async.pipeline.producer_write %t, %i {
      // CHECK: nv_tileas.async.request_launch %{{.*}}, %{{.*}} : !nv_tileas.smem<2x4xi32
      nv_tileas.async.request_launch %r, %i : !responses
      nv_tileas.async.pipeline.yield
    }
    nv_tileas.async.pipeline.producer_commit %w
    nv_tileas.async.pipeline.yield
  }
  // CHECK: %{{.*}} = nv_tileas.take_number %c
  %x = nv_tileas.take_number %c
  nv_tileaa.return
}
