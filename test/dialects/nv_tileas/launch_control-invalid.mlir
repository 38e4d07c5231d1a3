// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileaa.func @k(%n: i32, %r: !nv_tileas.smem<1x8xi32>) {
  // expected-error @below {{has an operand of type !nv_tileas.smem<1x8xi32>; a response is !nv_tileas.smem<1x4xi32>}}
  %x = nv_tileas.canceled_program_id %r, %n, %n : !nv_tileas.smem<1x8xi32> -> i32
  nv_tileaa.return
}

// -----

nv_tileaa.func @k(%r: !nv_tileas.smem<1x4xi32>, %b: !nv_tileas.smem<2x1xi64>) {
  // expected-error @below {{has an operand of type !nv_tileas.smem<2x1xi64>; its mbarrier is !nv_tileas.smem<1x1xi64>}}
  nv_tileas.async.cancel_launch %r, %b : !nv_tileas.smem<1x4xi32>, !nv_tileas.smem<2x1xi64>
  nv_tileaa.return
}

// -----

nv_tileaa.func @k(%r: !nv_tileas.smem<2x8xi32>, %i: !nv_tileas.pipeline_iter<i32>) {
  // expected-error @below {{has an operand of type !nv_tileas.smem<2x8xi32>; responses are !nv_tileas.smem<Nx4xi32>}}
  nv_tileas.async.request_launch %r, %i : !nv_tileas.smem<2x8xi32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @k(%r: !nv_tileas.smem<2x4xi32>, %i: !nv_tileas.pipeline_iter<i32>) {
  // expected-error @below {{is not in an nv_tileas.async.pipeline.producer_write of its stage, which signals its completion}}
  nv_tileas.async.request_launch %r, %i : !nv_tileas.smem<2x4xi32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @k(%r: !nv_tileas.smem<3x4xi32>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 1 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %t = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  %w = nv_tileas.async.pipeline.producer_write %t, %i {
    // expected-error @below {{has a buffer of 3 stages, but its pipeline has 2}}
    nv_tileas.async.request_launch %r, %i : !nv_tileas.smem<3x4xi32>
    nv_tileas.async.pipeline.yield
  }
  nv_tileas.async.pipeline.producer_commit %w
  nv_tileaa.return
}
