// D = A B in the tile dialect: A is M x K, B is K x N, 128 x 128 of D a block (rows by x, columns by y), 64 of K a step, with
// two buffers of each operand: while one is multiplied, the other is filled.

func.func @gemm(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %a0 = tile.alloc_shared {swizzle = "xor"} : memref<128x64xf16, 3>
  %a1 = tile.alloc_shared {swizzle = "xor"} : memref<128x64xf16, 3>
  %b0 = tile.alloc_shared {swizzle = "xor"} : memref<64x128xf16, 3>
  %b1 = tile.alloc_shared {swizzle = "xor"} : memref<64x128xf16, 3>
  %acc = tile.alloc_register : memref<8x8xf32, 5>
  tile.fill %acc, %zero : memref<8x8xf32, 5>

  %depth = memref.dim %A, %c1 : memref<?x?xf16>
  %x = tile.block_id : index
  %y = tile.block_id {axis = 1 : i64} : index
  %row = arith.muli %x, %c128 : index
  %column = arith.muli %y, %c128 : index

  %a_first = memref.subview %A[%row, %c0] [128, 64] [1, 1] : memref<?x?xf16> to memref<128x64xf16, strided<[?, 1], offset: ?>>
  %b_first = memref.subview %B[%c0, %column] [64, 128] [1, 1] : memref<?x?xf16> to memref<64x128xf16, strided<[?, 1], offset: ?>>
  tile.cp_async %a_first, %a0 : memref<128x64xf16, strided<[?, 1], offset: ?>>, memref<128x64xf16, 3>
  tile.cp_async %b_first, %b0 : memref<64x128xf16, strided<[?, 1], offset: ?>>, memref<64x128xf16, 3>
  tile.cp_commit_group

  scf.for %k = %c0 to %depth step %c128 {
    %k1 = arith.addi %k, %c64 : index
    %k2 = arith.addi %k, %c128 : index

    // The second half of this step is on its way while the first is multiplied.
    tile.barrier
    %a_next = memref.subview %A[%row, %k1] [128, 64] [1, 1] : memref<?x?xf16> to memref<128x64xf16, strided<[?, 1], offset: ?>>
    %b_next = memref.subview %B[%k1, %column] [64, 128] [1, 1] : memref<?x?xf16> to memref<64x128xf16, strided<[?, 1], offset: ?>>
    tile.cp_async %a_next, %a1 : memref<128x64xf16, strided<[?, 1], offset: ?>>, memref<128x64xf16, 3>
    tile.cp_async %b_next, %b1 : memref<64x128xf16, strided<[?, 1], offset: ?>>, memref<64x128xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 1
    tile.barrier
    %u0 = tile.mma %a0, %b0 : memref<128x64xf16, 3>, memref<64x128xf16, 3> -> memref<8x8xf32, 5>
    tile.accumulate %acc, %u0 : memref<8x8xf32, 5>, memref<8x8xf32, 5>

    // And the first half of the next step while the second of this one is.
    tile.barrier
    %a_after = memref.subview %A[%row, %k2] [128, 64] [1, 1] : memref<?x?xf16> to memref<128x64xf16, strided<[?, 1], offset: ?>>
    %b_after = memref.subview %B[%k2, %column] [64, 128] [1, 1] : memref<?x?xf16> to memref<64x128xf16, strided<[?, 1], offset: ?>>
    tile.cp_async %a_after, %a0 : memref<128x64xf16, strided<[?, 1], offset: ?>>, memref<128x64xf16, 3>
    tile.cp_async %b_after, %b0 : memref<64x128xf16, strided<[?, 1], offset: ?>>, memref<64x128xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 1
    tile.barrier
    %u1 = tile.mma %a1, %b1 : memref<128x64xf16, 3>, memref<64x128xf16, 3> -> memref<8x8xf32, 5>
    tile.accumulate %acc, %u1 : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  }

  %d = memref.subview %D[%row, %column] [128, 128] [1, 1] : memref<?x?xf32> to memref<128x128xf32, strided<[?, 1], offset: ?>>
  tile.store_global %acc, %d : memref<8x8xf32, 5>, memref<128x128xf32, strided<[?, 1], offset: ?>>
  return
}
