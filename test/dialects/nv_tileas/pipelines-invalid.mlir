// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{a stage that is acquired, but not written}}
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{yields a token that is used more than once}}
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  %w = nv_tileas.async.pipeline.producer_write %a, %i {
  }
  nv_tileas.async.pipeline.producer_commit %w
  %z = nv_tileas.async.pipeline.producer_write %a, %i {
  }
  nv_tileas.async.pipeline.producer_commit %z
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  // expected-error @below {{a stage that is written, but not committed}}
  %w = nv_tileas.async.pipeline.producer_write %a, %i {
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{yields a token that is used more than once}}
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  %w = nv_tileas.async.pipeline.producer_write %a, %i {
  }
  nv_tileas.async.pipeline.producer_commit %w
  nv_tileas.async.pipeline.producer_commit %a
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{waits for a stage that is never read}}
  %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 : !nv_tileas.consumer_token
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 : !nv_tileas.consumer_token
  // expected-error @below {{reads a stage that is never released}}
  %r = nv_tileas.async.pipeline.consumer_read %w, %i {
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 : !nv_tileas.consumer_token
  %r = nv_tileas.async.pipeline.consumer_read %w, %i {
  }
  nv_tileas.async.pipeline.consumer_release %r
  // expected-error @below {{releases a stage before it is read}}
  nv_tileas.async.pipeline.consumer_release %w
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 : !nv_tileas.consumer_token
  %r = nv_tileas.async.pipeline.consumer_read %w, %i {
  }
  nv_tileas.async.pipeline.consumer_release %r
  // expected-error @below {{reads a stage that no consumer_wait has waited for}}
  %q = nv_tileas.async.pipeline.consumer_read %r, %i {
  }
  nv_tileas.async.pipeline.consumer_release %q
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{advances an iterator that has already been advanced}}
  %j = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{advances an iterator that has already been advanced}}
  %k = nv_tileas.async.pipeline.inc_iter %i : !nv_tileas.pipeline_iter<i32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{has stages = 0; expected at least 1}}
  %p = nv_tileas.async.pipeline.create_pipeline stages = 0, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 1] warp_id = [0, 4] {
    %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
    // expected-error @below {{writes a pipeline that another agent writes}}
    %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
    %w = nv_tileas.async.pipeline.producer_write %a, %i {
    }
    nv_tileas.async.pipeline.producer_commit %w
  }, {
    %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
    %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
    %w = nv_tileas.async.pipeline.producer_write %a, %i {
    }
    nv_tileas.async.pipeline.producer_commit %w
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{agents 0 and 1 share warps}}
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 2] {
  }, {
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{has 2 agents, but 1 entries in 'warp_id'}}
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0] {
  }, {
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{agent 0 requests 100 registers; setmaxnreg supports multiples of 8 from 24 to 256}}
  nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [0] registers = [100] {
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{returns (tensor<64x64xf32>), but its region yields ()}}
  %r = nv_tileas.async.pipeline.consume_one %p, %i consumer_idx = 0 -> tensor<64x64xf32> {
  }
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{describes boxes [64, 32] of !nv_tileaa.memref<?x?xf16>, but returns}}
  %z = nv_tileas.make_tiled_tma_desc %v, box = [64, 32] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{has a box of [512, 64]; TMA copies 1 to 256 elements along an axis}}
  %z = nv_tileas.make_tiled_tma_desc %v, box = [512, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<512x64xf16>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{which does not copy boxes of}}
  %z = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_3d_f16>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{is not in an nv_tileas.async.pipeline.producer_write}}
  nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{copies boxes [64, 64] of a tile [64, 96]; expected whole boxes}}
  nv_tileas.async.tiled_tma_store %d[%x, %x], %m[%x] : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x96xf16>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{for one stage of}}
  %z = nv_tileas.view %b, %i : !nv_tileas.smem<2x64x64xf16> -> !nv_tileas.smem<2x64x64xf16>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{requires buffers of one stage; select one with nv_tileas.view}}
  %o = nv_tileas.async.dot %b, %b, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1>} : !nv_tileas.smem<2x64x64xf16>, !nv_tileas.smem<2x64x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{has a grid of warps [4, 1, 1]; expected two counts, the first a multiple of 4}}
  %t = nv_tileas.async.dot %e, %e, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1, 1>} : !nv_tileas.smem<1x64x64xf16>, !nv_tileas.smem<1x64x64xf16>, tensor<64x64xf32>
  // expected-error @below {{has a grid of warps [2, 1]; expected two counts, the first a multiple of 4}}
  %o = nv_tileas.async.dot %e, %e, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 2, 1>} : !nv_tileas.smem<1x64x64xf16>, !nv_tileas.smem<1x64x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{expected whole instructions for each}}
  %o = nv_tileas.async.dot %e, %e, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 8, 1>} : !nv_tileas.smem<1x64x64xf16>, !nv_tileas.smem<1x64x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{which its lowering does not emit; expected on nv_tileas.dot}}
  %o = nv_tileas.async.dot %e, %e, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : !nv_tileas.smem<1x64x64xf16>, !nv_tileas.smem<1x64x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{promotes sums of 40 terms in f32; expected a multiple of 16 terms, in f32}}
  %o = nv_tileas.async.dot %e, %e, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, promoted = 40 : i64, warps = array<i64: 4, 1>} : !nv_tileas.smem<1x64x64xf16>, !nv_tileas.smem<1x64x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %c: tensor<64x64xf32>, %b: !nv_tileas.smem<2x64x64xf16>, %e: !nv_tileas.smem<1x64x64xf16>, %m: !nv_tileas.smem<2x64x96xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{multiplies f16 by f16 into f32 with}}
  %o = nv_tileas.async.dot %e, %e, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_bf16_bf16>, warps = array<i64: 4, 1>} : !nv_tileas.smem<1x64x64xf16>, !nv_tileas.smem<1x64x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{agent 0 has 4 warps, more than its stride of 2}}
  nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] agent_strides = [2, 4] {
  }, {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{agent 1 starts at warp 4, within the stride of agent 0, warps 0 to 7}}
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] agent_strides = [8, 4] {
  }, {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{has peers [1] and a pair, whose CTAs differ by 1; expected even differences of ranks, to CTAs of other pairs}}
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 2, peers = [1] pair : !nv_tileas.pipeline_token
  return
}

// -----

// The CTAs of a pair have other parts of each factor.
func.func @f(%x: i32, %b: !nv_tileas.smem<2x64x64xf16>, %d: !nv_tileas.tma_desc<16x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 2, peers = [2] pair : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  nv_tileas.async.pipeline.produce_one %p, %i {
    %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
    %w = nv_tileas.async.pipeline.producer_write %a, %i {
      // expected-error @below {{has multicast = 3, but its pipeline is that of a pair, whose CTAs differ in bit 0; expected bits of other pairs}}
      nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i multicast = 3 : !nv_tileas.tma_desc<16x64xf16>, !nv_tileas.smem<2x64x64xf16>
    }
    nv_tileas.async.pipeline.producer_commit %w
  }
  return
}

// -----

func.func @f(%x: i32, %b: !nv_tileas.smem<2x64x64xf16>, %d: !nv_tileas.tma_desc<16x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 2, peers = [2] pair : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  nv_tileas.async.pipeline.produce_one %p, %i {
    %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
    %w = nv_tileas.async.pipeline.producer_write %a, %i {
      // expected-error @below {{fills the stages of peers [4], but its pipeline has peers [2]: nobody would wait until they are empty}}
      nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i multicast = 4 : !nv_tileas.tma_desc<16x64xf16>, !nv_tileas.smem<2x64x64xf16>
    }
    nv_tileas.async.pipeline.producer_commit %w
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{has parts = 0; expected at least 1}}
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 parts = 0 : !nv_tileas.pipeline_token
  return
}

// -----

func.func @f() {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 parts = 2 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{uses part 2 of a stage; its pipeline has 2}}
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i part 2 : !nv_tileas.producer_token
  nv_tileas.async.pipeline.producer_commit %a
  return
}

// -----

func.func @f() {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 parts = 2 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{uses part -1 of a stage; its pipeline has 2}}
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i part -1 : !nv_tileas.producer_token
  nv_tileas.async.pipeline.producer_commit %a
  return
}

// -----

func.func @f() {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{uses part 0 of a stage; its pipeline has 1}}
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i part 0 : !nv_tileas.producer_token
  nv_tileas.async.pipeline.producer_commit %a
  return
}

// -----

func.func @f() {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 parts = 2 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{uses part 2 of a stage; its pipeline has 2}}
  nv_tileas.async.pipeline.producer_tail %p, %i part 2
  return
}

// -----

func.func @f() {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 parts = 2 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{uses part 3 of a stage; its pipeline has 2}}
  %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 part 3 : !nv_tileas.consumer_token
  nv_tileas.async.pipeline.consumer_release %w
  return
}

// -----

func.func @f() {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{is deferred, but in no loop; expected a loop, whose iteration before has filled it}}
  %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 deferred : !nv_tileas.consumer_token
  nv_tileas.async.pipeline.consumer_release %w
  return
}

// -----

nv_tileaa.func @k() {
  // expected-error @below {{is filled by the first CTA, and has peers, a pair, turns or parts; expected none of these}}
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 2 pair by_first : !nv_tileas.pipeline_token
  nv_tileaa.return
}

// -----

func.func @an_agent_that_yields(%x: i32) {
  // expected-error @below {{'nv_tileas.async.pipeline.agent_switch' op has an agent that does not end in a yield without operands}}
  nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [0] {
    nv_tileas.async.pipeline.yield %x : i32
  }
  return
}

// -----

func.func @a_phase_where_nothing_waits(%x: i32) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %a = nv_tileas.async.pipeline.producer_acquire %p, slot %x phase %x : !nv_tileas.producer_token
  // expected-error @below {{custom op 'nv_tileas.async.pipeline.producer_write' has a phase, but does not wait}}
  %w = nv_tileas.async.pipeline.producer_write %a, slot %x phase %x {
  }
  nv_tileas.async.pipeline.producer_commit %w
  return
}

// -----

func.func @numbers_and_tiles_in_a_stage(%x: i32, %y: f16, %c: tensor<64x64xf16>, %b: !nv_tileas.smem<2x64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  // expected-error @below {{'nv_tileas.async.pipeline.producer_write' op stores numbers, which one thread does, with tiles or copies; use a pipeline for each}}
  %w = nv_tileas.async.pipeline.producer_write %a, %i {
    nv_tileas.store %c, %b[%x] {atom = #cute.copy_atom<sm80_sts_32_f16>} : tensor<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
    nv_tileas.store_element %y, %b[%x][%x, %x] : f16, !nv_tileas.smem<2x64x64xf16>
  }
  nv_tileas.async.pipeline.producer_commit %w
  return
}

// -----

func.func @a_slot_without_a_phase(%x: i32) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  // expected-error @below {{'nv_tileas.async.pipeline.consumer_wait' op waits for a slot without a phase; expected `slot %s phase %p`}}
  %t = nv_tileas.async.pipeline.consumer_wait %p, slot %x, 0 : !nv_tileas.consumer_token
  %r = nv_tileas.async.pipeline.consumer_read %t, slot %x {
  }
  nv_tileas.async.pipeline.consumer_release %r
  return
}

// -----

func.func @a_descriptor_that_would_round_a_store(%v: !nv_tileaa.memref<?x?xf32>) {
  %y = nv_tileas.make_tiled_tma_desc %v, box = [64, 32] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_tf32, swizzle_128B>} : !nv_tileaa.memref<?x?xf32> -> !nv_tileas.tma_desc<64x32xtf32>
  // expected-error @below {{'nv_tileas.make_tiled_tma_desc' op describes boxes [64, 32] of !nv_tileaa.memref<?x?xf32>, but returns !nv_tileas.tma_desc<64x32xtf32>}}
  %z = nv_tileas.make_tiled_tma_desc %v, box = [64, 32] {atom = #cute_nvgpu.atom_copy_field_tmastore<store_2d_tf32, swizzle_128B>} : !nv_tileaa.memref<?x?xf32> -> !nv_tileas.tma_desc<64x32xtf32>
  return
}

// -----

func.func @a_descriptor_of_another_view(%v: !nv_tileaa.memref<?x?xf16>) {
  // expected-error @below {{'nv_tileas.make_tiled_tma_desc' op has #cute_nvgpu.atom_copy_field_tmaload<load_2d_f32, swizzle_128B>, which does not copy boxes of !nv_tileas.tma_desc<64x64xf16>}}
  %z = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f32, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  return
}

// -----

func.func @boxes_of_another_element_type(%x: i32, %b: !nv_tileas.smem<2x64x64xf32>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  // expected-error @below {{'nv_tileas.async.tiled_tma_store' op copies between !nv_tileas.tma_desc<64x64xf16> and !nv_tileas.smem<2x64x64xf32>: the element types and ranks must match}}
  nv_tileas.async.tiled_tma_store %d[%x, %x], %b[%x] : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf32>
  return
}

// -----

func.func @a_copy_to_another_stage(%x: i32, %b: !nv_tileas.smem<2x64x64xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %j = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  %w = nv_tileas.async.pipeline.producer_write %a, %i {
    // expected-error @below {{'nv_tileas.async.tiled_tma_load' op fills another stage than the producer_write around it}}
    nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %j : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
  }
  nv_tileas.async.pipeline.producer_commit %w
  return
}

// -----

func.func @boxes_that_the_ctas_cannot_share(%x: i32, %b: !nv_tileas.smem<2x64x64xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
  %w = nv_tileas.async.pipeline.producer_write %a, %i {
    // expected-error @below {{'nv_tileas.async.tiled_tma_load' op has 1 boxes along axis 0, which 2 CTAs cannot share; use boxes of fewer rows}}
    nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i multicast = 1 : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
  }
  nv_tileas.async.pipeline.producer_commit %w
  return
}

// -----

func.func @a_store_by_a_descriptor_of_loads(%v: !nv_tileaa.memref<?x?xf16>, %x: i32, %b: !nv_tileas.smem<2x64x64xf16>) {
  %d = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  // expected-error @below {{'nv_tileas.async.tiled_tma_store' op stores through a descriptor created for #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>}}
  nv_tileas.async.tiled_tma_store %d[%x, %x], %b[%x] : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
  return
}

// -----

func.func @the_sign_of_integers(%a: !nv_tileas.smem<1x64x32xi8>, %b: !nv_tileas.smem<1x32x64xi8>, %c: tensor<64x64xi32>) {
  // expected-error @below {{'nv_tileas.async.dot' op inverts the sign of i8; wgmma does that for floating-point types only}}
  %o = nv_tileas.async.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm90_wgmma_m64n64k32, si8, si8, i32>, warps = array<i64: 4, 1>, negate_a} : !nv_tileas.smem<1x64x32xi8>, !nv_tileas.smem<1x32x64xi8>, tensor<64x64xi32>
  return
}

// -----

func.func @a_part_of_an_instruction(%a: !nv_tileas.smem<1x64x24xf16>, %b: !nv_tileas.smem<1x24x64xf16>, %c: tensor<64x64xf32>) {
  // expected-error @below {{'nv_tileas.async.dot' op multiplies tiles of 64x64x24 by 1x1 warpgroups with 64x64x16: expected whole instructions for each}}
  %o = nv_tileas.async.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm90_wgmma_m64n64k16, f16, f16, f32>, warps = array<i64: 4, 1>} : !nv_tileas.smem<1x64x24xf16>, !nv_tileas.smem<1x24x64xf16>, tensor<64x64xf32>
  return
}

// -----

func.func @a_write_without_an_acquired_stage(%t: !nv_tileas.producer_token) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{'nv_tileas.async.pipeline.producer_write' op writes a stage that no producer_acquire has acquired}}
  %w = nv_tileas.async.pipeline.producer_write %t, %i {
  }
  nv_tileas.async.pipeline.producer_commit %w
  return
}

// -----

func.func @a_load_outside_of_a_write(%x: i32, %b: !nv_tileas.smem<2x64x64xf16>, %d: !nv_tileas.tma_desc<64x64xf16>) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{'nv_tileas.async.tiled_tma_load' op is not in an nv_tileas.async.pipeline.producer_write, which signals its completion}}
  nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
  return
}

// -----

// expected-error @below {{a box has 1 to 5 dimensions of static extents}}
func.func @a_descriptor_of_six_dimensions(%d: !nv_tileas.tma_desc<1x1x1x1x8x8xf16>)

// -----

// expected-error @below {{counts stages in i64; only i32 is supported}}
func.func @an_iterator_of_wide_integers(%i: !nv_tileas.pipeline_iter<i64>)
