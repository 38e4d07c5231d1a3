// Attention, exact, in the style of flash_attention_listing.mlir: O = softmax(Q Kᵀ / √d) V for tensors of
// [batch, heads, sequence, 64], 64 queries a block, 64 keys an iteration.  One block for each 64 queries (x), head (y) and
// batch (z).
//
// What differs from the listing, so that it is attention: the exponentials are not divided by the sum of their own block
// but the accumulator by the sum of all; the mask compares the numbers of rows and columns, not of threads; and keys that
// do not exist count for nothing.

func.func @attention(
  %Q: memref<?x?x?x?xbf16>, %K: memref<?x?x?x?xbf16>, %V: memref<?x?x?x?xbf16>, %O: memref<?x?x?x?xbf16>
) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %lowest = arith.constant -3.40282347e+38 : f32
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32

  %smem_q = tile.alloc_shared {swizzle = "xor"} : memref<64x64xbf16, 3>
  %smem_k = tile.alloc_shared {swizzle = "xor"} : memref<64x64xbf16, 3>
  %smem_v = tile.alloc_shared {swizzle = "xor"} : memref<64x64xbf16, 3>

  // 4x8 elements of 64x64 are what each of 128 threads holds.
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %m = tile.alloc_register : memref<4xf32, 5>
  %l = tile.alloc_register : memref<4xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  tile.fill %m, %lowest : memref<4xf32, 5>
  tile.fill %l, %zero : memref<4xf32, 5>

  %seq_len = memref.dim %K, %c2 : memref<?x?x?x?xbf16>
  %block_id = tile.block_id : index
  %q_start = arith.muli %block_id, %c64 : index
  %q_slice = tile.compute_tensor_slice %Q, %q_start : memref<?x?x?x?xbf16>, index -> memref<64x?xbf16>
  tile.cp_async %q_slice, %smem_q {bypass_l1 = true} : memref<64x?xbf16>, memref<64x64xbf16, 3>
  tile.cp_commit_group

  scf.for %kv = %c0 to %seq_len step %c64 {
    %k_slice = tile.compute_tensor_slice %K, %kv : memref<?x?x?x?xbf16>, index -> memref<64x?xbf16>
    %v_slice = tile.compute_tensor_slice %V, %kv : memref<?x?x?x?xbf16>, index -> memref<64x?xbf16>
    tile.barrier
    tile.cp_async %k_slice, %smem_k {bypass_l1 = true} : memref<64x?xbf16>, memref<64x64xbf16, 3>
    tile.cp_async %v_slice, %smem_v {bypass_l1 = true} : memref<64x?xbf16>, memref<64x64xbf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier

    %scores = tile.mma %smem_q, %smem_k {transpose_b = true} : memref<64x64xbf16, 3>, memref<64x64xbf16, 3> -> memref<4x8xf32, 5>
    tile.scale_tensor %scores, %scale : memref<4x8xf32, 5>, f32
    tile.bound_mask %scores, %kv, %seq_len, %lowest : memref<4x8xf32, 5>

    // Online softmax: m and l are the maximum and the sum of what came so far.
    %m_block = tile.row_max %scores : memref<4x8xf32, 5> -> memref<4xf32, 5>
    %m_new = tile.element_max %m, %m_block : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
    %alpha = tile.exp_diff %m, %m_new : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
    %p = tile.exp_subtract %scores, %m_new : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
    %sum = tile.row_sum %p : memref<4x8xf32, 5> -> memref<4xf32, 5>
    %l_new = tile.fma %alpha, %l, %sum : memref<4xf32, 5>, memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>

    %prob = tile.cast %p : memref<4x8xf32, 5> to memref<4x8xbf16, 5>
    tile.scale_accumulator %acc, %alpha : memref<4x8xf32, 5>, memref<4xf32, 5>
    %update = tile.mma %prob, %smem_v : memref<4x8xbf16, 5>, memref<64x64xbf16, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %update : memref<4x8xf32, 5>, memref<4x8xf32, 5>
    %m = %m_new : memref<4xf32, 5>
    %l = %l_new : memref<4xf32, 5>
  }

  %out = tile.div_broadcast %acc, %l : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  %out_bf16 = tile.cast %out : memref<4x8xf32, 5> to memref<4x8xbf16, 5>
  %o_slice = tile.compute_tensor_slice %O, %q_start : memref<?x?x?x?xbf16>, index -> memref<64x?xbf16>
  tile.store_global %out_bf16, %o_slice {coalesce = true} : memref<4x8xbf16, 5>, memref<64x?xbf16>
  return
}
