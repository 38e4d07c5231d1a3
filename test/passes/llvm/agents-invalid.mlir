// RUN: tessera-opt %s --tileas-insert-barriers --tileas-unwrap-pipeline-iterators --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm --split-input-file --verify-diagnostics

// A stage of a pipeline that nothing fills.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @nothing() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [1, 1, 1]>} {
    %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
    nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] {
      %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
      nv_tileas.async.pipeline.produce_one %p, %i {
        %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
        // expected-error @below {{starts no copy: expected an nv_tileas.async.tiled_tma_load, an nv_tileas.async.tiled_copy, an nv_tileas.store or an nv_tileas.store_element in its region}}
        %w = nv_tileas.async.pipeline.producer_write %a, %i {
          nv_tileas.async.pipeline.yield
        }
        nv_tileas.async.pipeline.producer_commit %w
        nv_tileas.async.pipeline.yield
      }
      nv_tileas.async.pipeline.yield
    }, {
      %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
      nv_tileas.async.pipeline.consume_one %p, %i consumer_idx = 0 {
        %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 : !nv_tileas.consumer_token
        %t = nv_tileas.async.pipeline.consumer_read %w, %i {
          nv_tileas.async.pipeline.yield
        }
        nv_tileas.async.pipeline.consumer_release %t
        nv_tileas.async.pipeline.yield
      }
      nv_tileas.async.pipeline.yield
    }
    nv_tileaa.return
  }
}

// -----

// All warps of a warpgroup execute setmaxnreg.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @half() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: warps 2 to 7 request registers that are not those of whole groups of 4 warps, to which setmaxnreg applies}}
    nv_tileas.async.pipeline.agent_switch num_warps = [4] warp_id = [2] registers = [40] {
      nv_tileas.async.pipeline.yield
    }
    nv_tileaa.return
  }
}

// -----

// Turns need barriers with numbers.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @turns() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [1, 1, 1]>} {
    nv_tileas.async.pipeline.agent_switch num_warps = [8] warp_id = [0] {
      // expected-error @below {{has no named barriers; run --tileas-bind-named-barriers first}}
      %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
      nv_tileas.async.pipeline.order_wait %o
      nv_tileas.async.pipeline.order_arrive %o
      nv_tileas.async.pipeline.yield
    }
    nv_tileaa.return
  }
}

// -----

// One thread starts a product, and its warp has to be alone.
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @crowd(%add: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %a = nv_tileas.alloc_tensor : !nv_tileas.smem<1x128x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
    %b = nv_tileas.alloc_tensor : !nv_tileas.smem<1x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]}>>
    %d = nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>
    // expected-error @below {{runs in 4 warps, of which one would start it; expected an agent of one warp}}
    nv_tileas.async.umma %a, %b, %d, slot %zero accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n16k16, f16, f16, f32>} : !nv_tileas.smem<1x128x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>, !nv_tileas.smem<1x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]}>>, !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>
    nv_tileas.dealloc_tmem %d : !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>
    nv_tileaa.return
  }
}

// -----

// One thread starts a copy, and its warp has to be alone.
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @copy() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %s = nv_tileas.alloc_tensor : !nv_tileas.smem<1x128x4xf8E4M3FN, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
    %d = nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>>
    // expected-error @below {{runs in 4 warps, of which one would start it; expected an agent of one warp}}
    %c = nv_tileas.async.tmem_copy %s, %d, slot %zero : !nv_tileas.smem<1x128x4xf8E4M3FN, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>, !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>> -> !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>>
    nv_tileas.dealloc_tmem %d : !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>>
    nv_tileaa.return
  }
}

// -----

// A row of factors has another stride than in an atom.
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @rows() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %s = nv_tileas.alloc_tensor : !nv_tileas.smem<1x128x4xf8E4M3FN, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
    %d = nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>>
    nv_tileas.async.pipeline.agent_switch num_warps = [1] warp_id = [0] {
      // expected-error @below {{copies factors that are not in atoms of 128 rows of 4 blocks in shared memory}}
      %c = nv_tileas.async.tmem_copy %s, %d, slot %zero : !nv_tileas.smem<1x128x4xf8E4M3FN, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>, !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>> -> !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>>
      nv_tileas.async.pipeline.yield
    }
    nv_tileas.dealloc_tmem %d : !nv_tileas.tmem<1x128x4xf8E4M3FN, #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>>
    nv_tileaa.return
  }
}

// -----

// A warp reads only its quarter of the lanes.
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @two_warps() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 2, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %d = nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>
    // expected-error @below {{runs in 2 warps from 0 on; expected whole warpgroups}}
    %x = nv_tileas.tmem_load %d, slot %zero : !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>> -> tensor<128x16xf32, #nv_tileas.linear<{register = [[32, 0], [64, 0], [0, 1], [0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 0]], block = []}>>
    nv_tileas.dealloc_tmem %d : !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>
    nv_tileaa.return
  }
}

// -----

// Tensor memory has 512 columns.
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @too_wide() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    // expected-error @below {{allocates 1024 columns of tensor memory, but sm_100 has 512}}
    %d = nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x1024xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [0, 256], [0, 512]]}>>
    nv_tileas.dealloc_tmem %d : !nv_tileas.tmem<1x128x1024xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [0, 256], [0, 512]]}>>
    nv_tileaa.return
  }
}
