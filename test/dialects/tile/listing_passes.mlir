// A kernel as a document has it: %c0, %c2 and %c3 are not defined where they are used.
//
// RUN: tessera-opt %s --implicit-index-constants -o %t 2> %t.warnings
// RUN: filecheck %s --input-file %t.warnings --check-prefix WARNING
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: not tessera-opt %s 2>&1 | filecheck %s --check-prefix ERROR
//
// WARNING: warning: undefined '%c0' is taken as an index constant
// WARNING: warning: undefined '%c2' is taken as an index constant
// WARNING: warning: undefined '%c3' is taken as an index constant
// WARNING-NOT: warning:
//
// ERROR: error: '%c0' is used before its definition, where its type is not yet known; define it earlier, or pass --implicit-index-constants
// ERROR: error: use of undeclared SSA value name '%c2'; define it ('%c2 = arith.constant 2 : index') or pass --implicit-index-constants
// ERROR: error: use of undeclared SSA value name '%c3'; define it ('%c3 = arith.constant 3 : index') or pass --implicit-index-constants
//
// CHECK: func.func @flash_attention_tile(
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK: memref.dim %Q_global, %c0
// CHECK: scf.for
// CHECK: %[[NESTED:.*]] = tile.mul %beta, %row_sum : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
// CHECK-NEXT: tile.fma %alpha, %l_state, %[[NESTED]] :
// CHECK: tile.copy %m_max, %m_state : memref<8xf32, 5>
// CHECK-NEXT: tile.copy %l_new, %l_state : memref<8xf32, 5>
// CHECK-NEXT: }

// Flash Attention kernel in Tile IR
func @flash_attention_tile(
  %Q_global: memref<?x?x?x?xbf16>,
  %K_global: memref<?x?x?x?xbf16>,
  %V_global: memref<?x?x?x?xbf16>,
  %O_global: memref<?x?x?x?xbf16>) {

  // Thread and block identification
  %thread_id = tile.thread_id : index
  %warp_id = tile.warp_id : index
  %block_id = tile.block_id : index

  // Shared memory allocation with bank conflict avoidance
  %smem_q = tile.alloc_shared {swizzle = "xor"} : memref<128x128xbf16, 3>
  %smem_k = tile.alloc_shared {swizzle = "xor"} : memref<128x128xbf16, 3>
  %smem_v = tile.alloc_shared {swizzle = "xor"} : memref<128x128xbf16, 3>

  // Register allocation for accumulators
  %acc = tile.alloc_register : memref<8x8xf32, 5>
  %m_state = tile.alloc_register : memref<8xf32, 5>
  %l_state = tile.alloc_register : memref<8xf32, 5>

  // Initialize states
  %neg_inf = arith.constant -3.40282347e+38 : f32
  %zero = arith.constant 0.0 : f32
  tile.fill %m_state, %neg_inf : memref<8xf32, 5>
  tile.fill %l_state, %zero : memref<8xf32, 5>
  tile.fill %acc, %zero : memref<8x8xf32, 5>

  // Compute Q block coordinates
  %batch_heads = memref.dim %Q_global, %c0 : memref<?x?x?x?xbf16>
  %seq_len = memref.dim %Q_global, %c2 : memref<?x?x?x?xbf16>
  %head_dim = memref.dim %Q_global, %c3 : memref<?x?x?x?xbf16>

  %c128 = arith.constant 128 : index
  %bh_idx = arith.divui %block_id, %c128 : index
  %q_block_start = arith.remui %block_id, %c128 : index
  %q_block_start_scaled = arith.muli %q_block_start, %c128 : index

  // Load Q block asynchronously
  %q_slice = memref.subview %Q_global[%bh_idx, 0, %q_block_start_scaled, 0]
                                    [1, 1, 128, %head_dim] [1, 1, 1, 1]
                                    : memref<?x?x?x?xbf16> to memref<128x?xbf16>

  tile.cp_async %q_slice, %smem_q {bypass_l1 = true}
               : memref<128x?xbf16>, memref<128x128xbf16, 3>
  tile.cp_commit_group

  // Loop over K/V blocks
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %kv_block = %c0 to %seq_len step %c128 {
    // Load K, V blocks with double buffering
    %k_slice = memref.subview %K_global[%bh_idx, 0, %kv_block, 0]
                                      [1, 1, 128, %head_dim] [1, 1, 1, 1]
                                      : memref<?x?x?x?xbf16> to memref<128x?xbf16>
    %v_slice = memref.subview %V_global[%bh_idx, 0, %kv_block, 0]
                                      [1, 1, 128, %head_dim] [1, 1, 1, 1]
                                      : memref<?x?x?x?xbf16> to memref<128x?xbf16>

    tile.cp_async %k_slice, %smem_k {bypass_l1 = true}
                 : memref<128x?xbf16>, memref<128x128xbf16, 3>
    tile.cp_async %v_slice, %smem_v {bypass_l1 = true}
                 : memref<128x?xbf16>, memref<128x128xbf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier

    // Compute attention scores using warp-level MMA
    %scores = tile.mma %smem_q, %smem_k {
      transpose_b = true,
      accumulate = true,
      layout = "row_major"
    } : memref<128x128xbf16, 3>, memref<128x128xbf16, 3> -> memref<8x8xf32, 5>

    // Scale scores
    %scale = arith.constant 0.125 : f32  // 1/sqrt(64)
    tile.broadcast_scale %scores, %scale : memref<8x8xf32, 5>, f32

    // Apply causal mask
    %q_pos = arith.addi %q_block_start_scaled, %thread_id : index
    %kv_pos = arith.addi %kv_block, %thread_id : index
    %is_causal = arith.cmpi slt, %q_pos, %kv_pos : index
    scf.if %is_causal {
      %mask_val = arith.constant -3.40282347e+38 : f32
      tile.mask_fill %scores, %mask_val : memref<8x8xf32, 5>, f32
    }

    // Online softmax update
    %m_new = tile.row_max %scores : memref<8x8xf32, 5> -> memref<8xf32, 5>
    %m_max = tile.element_max %m_state, %m_new : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>

    // Compute exponentials and new normalizer
    %alpha = tile.exp_diff %m_state, %m_max : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
    %beta = tile.exp_diff %m_new, %m_max : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>

    %exp_scores = tile.exp_subtract %scores, %m_max : memref<8x8xf32, 5>, memref<8xf32, 5> -> memref<8x8xf32, 5>
    %row_sum = tile.row_sum %exp_scores : memref<8x8xf32, 5> -> memref<8xf32, 5>
    %l_new = tile.fma %alpha, %l_state, tile.mul(%beta, %row_sum) :
             memref<8xf32, 5>, memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>

    // Update accumulator
    tile.scale_accumulator %acc, %alpha : memref<8x8xf32, 5>, memref<8xf32, 5>

    // Compute P = exp(scores - m_max) / row_sum and convert to bf16
    %prob_f32 = tile.div_broadcast %exp_scores, %row_sum :
                memref<8x8xf32, 5>, memref<8xf32, 5> -> memref<8x8xf32, 5>
    %prob = tile.cast %prob_f32 : memref<8x8xf32, 5> to memref<8x8xbf16, 5>

    // Accumulate: acc += P @ V
    %v_update = tile.mma %prob, %smem_v {
      accumulate = true,
      layout = "row_major"
    } : memref<8x8xbf16, 5>, memref<128x128xbf16, 3> -> memref<8x8xf32, 5>

    tile.accumulate %acc, %v_update : memref<8x8xf32, 5>, memref<8x8xf32, 5>

    // Update states
    %m_state = %m_max : memref<8xf32, 5>
    %l_state = %l_new : memref<8xf32, 5>
  }

  // Finalize: acc = acc / l_state
  %final_output = tile.div_broadcast %acc, %l_state :
                  memref<8x8xf32, 5>, memref<8xf32, 5> -> memref<8x8xf32, 5>
  %final_bf16 = tile.cast %final_output : memref<8x8xf32, 5> to memref<8x8xbf16, 5>

  // Store result
  %o_slice = memref.subview %O_global[%bh_idx, 0, %q_block_start_scaled, 0]
                                    [1, 1, 128, %head_dim] [1, 1, 1, 1]
                                    : memref<?x?x?x?xbf16> to memref<128x?xbf16>
  tile.store_global %final_bf16, %o_slice {coalesce = true}
                   : memref<8x8xbf16, 5>, memref<128x?xbf16>

  return
}
