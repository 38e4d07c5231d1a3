// A kernel as a document has it: %c2 and %c3 are not defined.
//
// RUN: tessera-opt %s --implicit-index-constants -o %t 2> %t.warnings
// RUN: filecheck %s --input-file %t.warnings --check-prefix WARNING
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: not tessera-opt %s 2>&1 | filecheck %s --check-prefix ERROR
//
// WARNING: warning: undefined '%c2' is taken as an index constant
// WARNING: warning: undefined '%c3' is taken as an index constant
// WARNING-NOT: warning:
//
// ERROR: error: use of undeclared SSA value name '%c2'; define it ('%c2 = arith.constant 2 : index') or pass --implicit-index-constants
// ERROR: error: use of undeclared SSA value name '%c3'; define it ('%c3 = arith.constant 3 : index') or pass --implicit-index-constants
//
// CHECK: func.func @flash_attention_tile(
// CHECK-SAME: attributes {tessera.kernel, tessera.target = "sm_90"}
// CHECK: tile.alloc_shared {alignment = 16 : i64, size = 32768 : i64, swizzle = "xor"} : memref<128x128xbf16, 3>
// CHECK: tile.compute_tensor_slice %Q, %q_block_start : memref<?x?x?x?xbf16>, index -> memref<128x?xbf16>
// CHECK: tile.mma %smem_q, %smem_k {accumulate = false, layout = "row_major", precision = "mixed", transpose_b = true}
// CHECK: tile.store_global %final_bf16, %o_slice {cache_policy = "write_back", coalesce = true}

// Tessera Tile IR: Flash Attention Kernel
func @flash_attention_tile(
  %Q: memref<?x?x?x?xbf16>,     // Query:  [batch, heads, seq_len, head_dim]
  %K: memref<?x?x?x?xbf16>,     // Key:    [batch, heads, seq_len, head_dim]
  %V: memref<?x?x?x?xbf16>,     // Value:  [batch, heads, seq_len, head_dim]
  %O: memref<?x?x?x?xbf16>      // Output: [batch, heads, seq_len, head_dim]
) attributes {tessera.kernel, tessera.target = "sm_90"} {

  // Thread and block identification - portable across architectures
  %thread_id = tile.thread_id : index
  %block_id = tile.block_id : index
  %warp_id = tile.warp_id : index

  // Shared memory allocation with bank conflict avoidance
  %smem_q = tile.alloc_shared {
    swizzle = "xor",           // XOR swizzling pattern
    size = 32768,              // 128x128 bf16 elements
    alignment = 16
  } : memref<128x128xbf16, 3>

  %smem_k = tile.alloc_shared {
    swizzle = "xor",
    size = 32768,
    alignment = 16
  } : memref<128x128xbf16, 3>

  %smem_v = tile.alloc_shared {
    swizzle = "xor",
    size = 32768,
    alignment = 16
  } : memref<128x128xbf16, 3>

  // Register allocations for accumulators - mapped to tensor core registers
  %acc = tile.alloc_register {
    layout = "row_major",
    vector_width = 8
  } : memref<8x8xf32, 5>

  // Softmax state registers
  %m_state = tile.alloc_register : memref<8xf32, 5>    // Row maxima
  %l_state = tile.alloc_register : memref<8xf32, 5>    // Row normalizers

  // Initialize softmax states to safe values
  %neg_inf = arith.constant -3.40282347e+38 : f32      // -infinity
  %zero = arith.constant 0.0 : f32
  tile.fill %m_state, %neg_inf : memref<8xf32, 5>
  tile.fill %l_state, %zero : memref<8xf32, 5>
  tile.fill %acc, %zero : memref<8x8xf32, 5>

  // Extract problem dimensions
  %seq_len = memref.dim %Q, %c2 : memref<?x?x?x?xbf16>
  %head_dim = memref.dim %Q, %c3 : memref<?x?x?x?xbf16>

  // Compute this block's Q tile coordinates
  %c128 = arith.constant 128 : index
  %q_block_start = arith.muli %block_id, %c128 : index

  // Load Q block asynchronously with prefetching
  %q_slice = tile.compute_tensor_slice %Q, %q_block_start :
             memref<?x?x?x?xbf16>, index -> memref<128x?xbf16>

  tile.cp_async %q_slice, %smem_q {
    bypass_l1 = true,          // Skip L1 cache for streaming access
    stages = 3,                // 3-stage pipeline depth
    priority = "high"          // High priority transfer
  } : memref<128x?xbf16>, memref<128x128xbf16, 3>

  tile.cp_commit_group           // Commit this async copy group

  // Main attention computation loop - iterate over K,V blocks
  %c0 = arith.constant 0 : index
  scf.for %kv_block = %c0 to %seq_len step %c128 {

    // === MEMORY STAGE: Load K,V tiles ===

    // Compute K,V tile slices
    %k_slice = tile.compute_tensor_slice %K, %kv_block :
               memref<?x?x?x?xbf16>, index -> memref<128x?xbf16>
    %v_slice = tile.compute_tensor_slice %V, %kv_block :
               memref<?x?x?x?xbf16>, index -> memref<128x?xbf16>

    // Double-buffered async copies for memory/compute overlap
    tile.cp_async %k_slice, %smem_k {
      bypass_l1 = true,
      double_buffer = true,      // Enable double buffering
      stages = 3
    } : memref<128x?xbf16>, memref<128x128xbf16, 3>

    tile.cp_async %v_slice, %smem_v {
      bypass_l1 = true,
      double_buffer = true,
      stages = 3
    } : memref<128x?xbf16>, memref<128x128xbf16, 3>

    tile.cp_commit_group
    tile.cp_wait_group 0         // Wait for transfers to complete
    tile.barrier                 // Synchronize all threads

    // === COMPUTE STAGE: Attention scores ===

    // Matrix multiply: Q @ K^T using tensor cores
    %scores = tile.mma %smem_q, %smem_k {
      transpose_b = true,        // K is transposed
      accumulate = false,        // Fresh accumulation
      layout = "row_major",
      precision = "mixed"        // bf16 input, f32 accumulate
    } : memref<128x128xbf16, 3>, memref<128x128xbf16, 3> -> memref<8x8xf32, 5>

    // Scale by 1/sqrt(head_dim) - assuming head_dim=64, scale=1/8=0.125
    %scale = arith.constant 0.125 : f32
    tile.scale_tensor %scores, %scale : memref<8x8xf32, 5>, f32

    // Apply causal mask to prevent looking at future tokens
    %q_pos = arith.addi %q_block_start, %thread_id : index
    %kv_pos = arith.addi %kv_block, %thread_id : index
    %is_causal = arith.cmpi slt, %q_pos, %kv_pos : index

    scf.if %is_causal {
      %mask_val = arith.constant -3.40282347e+38 : f32  // -infinity
      tile.mask_fill %scores, %mask_val : memref<8x8xf32, 5>, f32
    }

    // === ONLINE SOFTMAX STAGE ===

    // Compute row-wise maximum using warp primitives
    %m_new = tile.row_max %scores : memref<8x8xf32, 5> -> memref<8xf32, 5>

    // Global maximum: m = max(m_old, m_new)
    %m_max = tile.element_max %m_state, %m_new :
             memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>

    // Compute correction factors for numerical stability
    %alpha = tile.exp_diff %m_state, %m_max :
             memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
    %beta = tile.exp_diff %m_new, %m_max :
            memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>

    // Compute exponentials: exp(scores - m_max)
    %exp_scores = tile.exp_subtract %scores, %m_max :
                  memref<8x8xf32, 5>, memref<8xf32, 5> -> memref<8x8xf32, 5>

    // Row-wise sum of exponentials
    %row_sum = tile.row_sum %exp_scores : memref<8x8xf32, 5> -> memref<8xf32, 5>

    // Update normalizer: l_new = alpha * l_old + beta * row_sum
    %l_new = tile.fma %alpha, %l_state, tile.mul(%beta, %row_sum) :
             memref<8xf32, 5>, memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>

    // === ACCUMULATOR UPDATE STAGE ===

    // Scale existing accumulator by correction factor
    tile.scale_accumulator %acc, %alpha : memref<8x8xf32, 5>, memref<8xf32, 5>

    // Compute normalized probabilities for this block
    %prob_f32 = tile.div_broadcast %exp_scores, %row_sum :
                memref<8x8xf32, 5>, memref<8xf32, 5> -> memref<8x8xf32, 5>

    // Convert to bf16 for efficient tensor core multiplication
    %prob = tile.cast %prob_f32 : memref<8x8xf32, 5> to memref<8x8xbf16, 5>

    // Matrix multiply: P @ V using tensor cores
    %v_update = tile.mma %prob, %smem_v {
      accumulate = false,
      layout = "row_major",
      precision = "mixed"        // bf16 input, f32 output
    } : memref<8x8xbf16, 5>, memref<128x128xbf16, 3> -> memref<8x8xf32, 5>

    // Accumulate into running sum
    tile.accumulate %acc, %v_update : memref<8x8xf32, 5>, memref<8x8xf32, 5>

    // Update softmax states for next iteration
    %m_state = %m_max : memref<8xf32, 5>
    %l_state = %l_new : memref<8xf32, 5>
  }

  // === FINALIZATION STAGE ===

  // Final normalization: acc / l_state
  %final_output = tile.div_broadcast %acc, %l_state :
                  memref<8x8xf32, 5>, memref<8xf32, 5> -> memref<8x8xf32, 5>

  // Convert to bf16 for storage
  %final_bf16 = tile.cast %final_output : memref<8x8xf32, 5> to memref<8x8xbf16, 5>

  // Store result with coalesced memory access
  %o_slice = tile.compute_tensor_slice %O, %q_block_start :
             memref<?x?x?x?xbf16>, index -> memref<128x?xbf16>

  tile.store_global %final_bf16, %o_slice {
    coalesce = true,             // Ensure coalesced writes
    cache_policy = "write_back"  // Use write-back caching
  } : memref<8x8xbf16, 5>, memref<128x?xbf16>

  return
}
