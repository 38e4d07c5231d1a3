// D = A B in the tile dialect, 64x64 of D a block, with a ring of three stages of each operand in one buffer: while one stage is
// multiplied, the next two are on their way. A stage of %a is an index of its buffer, one of %b 32 rows of it.

func.func @gemm(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32

  %a = tile.alloc_shared {swizzle = "xor"} : memref<3x64x32xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<96x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>

  %depth = memref.dim %A, %c1 : memref<?x?xf16>
  %x = tile.block_id : index
  %y = tile.block_id {axis = 1 : i64} : index
  %row = arith.muli %x, %c64 : index
  %column = arith.muli %y, %c64 : index

  // Beyond the last column of A there are zeros.
  scf.for %i = %c0 to %c2 step %c1 {
    %k = arith.muli %i, %c32 : index
    %a_in = memref.subview %A[%row, %k] [64, 32] [1, 1] : memref<?x?xf16> to memref<64x32xf16, strided<[?, 1], offset: ?>>
    %b_in = memref.subview %B[%k, %column] [32, 64] [1, 1] : memref<?x?xf16> to memref<32x64xf16, strided<[?, 1], offset: ?>>
    %a_stage = memref.subview %a[%i, 0, 0] [1, 64, 32] [1, 1, 1] : memref<3x64x32xf16, 3> to memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    %b_stage = memref.subview %b[%k, 0] [32, 64] [1, 1] : memref<96x64xf16, 3> to memref<32x64xf16, strided<[64, 1], offset: ?>, 3>
    tile.cp_async %a_in, %a_stage : memref<64x32xf16, strided<[?, 1], offset: ?>>, memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    tile.cp_async %b_in, %b_stage : memref<32x64xf16, strided<[?, 1], offset: ?>>, memref<32x64xf16, strided<[64, 1], offset: ?>, 3>
    tile.cp_commit_group
  }

  scf.for %k = %c0 to %depth step %c32 {
    %step = arith.divui %k, %c32 : index
    %stage = arith.remui %step, %c3 : index
    %later = arith.addi %step, %c2 : index
    %free = arith.remui %later, %c3 : index
    %k2 = arith.addi %k, %c64 : index

    tile.cp_wait_group 1
    tile.barrier
    // The stage that was multiplied last is filled again.
    %b_free = arith.muli %free, %c32 : index
    %a_in = memref.subview %A[%row, %k2] [64, 32] [1, 1] : memref<?x?xf16> to memref<64x32xf16, strided<[?, 1], offset: ?>>
    %b_in = memref.subview %B[%k2, %column] [32, 64] [1, 1] : memref<?x?xf16> to memref<32x64xf16, strided<[?, 1], offset: ?>>
    %a_next = memref.subview %a[%free, 0, 0] [1, 64, 32] [1, 1, 1] : memref<3x64x32xf16, 3> to memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    %b_next = memref.subview %b[%b_free, 0] [32, 64] [1, 1] : memref<96x64xf16, 3> to memref<32x64xf16, strided<[64, 1], offset: ?>, 3>
    tile.cp_async %a_in, %a_next : memref<64x32xf16, strided<[?, 1], offset: ?>>, memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    tile.cp_async %b_in, %b_next : memref<32x64xf16, strided<[?, 1], offset: ?>>, memref<32x64xf16, strided<[64, 1], offset: ?>, 3>
    tile.cp_commit_group

    %b_row = arith.muli %stage, %c32 : index
    %a_now = memref.subview %a[%stage, 0, 0] [1, 64, 32] [1, 1, 1] : memref<3x64x32xf16, 3> to memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    %b_now = memref.subview %b[%b_row, 0] [32, 64] [1, 1] : memref<96x64xf16, 3> to memref<32x64xf16, strided<[64, 1], offset: ?>, 3>
    %u = tile.mma %a_now, %b_now : memref<64x32xf16, strided<[32, 1], offset: ?>, 3>, memref<32x64xf16, strided<[64, 1], offset: ?>, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %u : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  }

  %d = memref.subview %D[%row, %column] [64, 64] [1, 1] : memref<?x?xf32> to memref<64x64xf32, strided<[?, 1], offset: ?>>
  tile.store_global %acc, %d : memref<4x8xf32, 5>, memref<64x64xf32, strided<[?, 1], offset: ?>>
  return
}
