// Softmax of each row of X: 8 rows a block, up to 512 columns. A fragment holds 2x16 of the tile of 8x512, so that 128
// threads hold it. Zeros beyond the last column are masked before the maximum is taken.

func.func @softmax(%X: memref<?x?xf32>, %Y: memref<?x?xf32>) attributes {tessera.kernel, tessera.alignment = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %lowest = arith.constant 0xFF800000 : f32
  %block = tile.block_id : index
  %row = arith.muli %block, %c8 : index
  %columns = memref.dim %X, %c1 : memref<?x?xf32>

  %x = memref.subview %X[%row, 0] [8, 512] [1, 1] : memref<?x?xf32> to memref<8x512xf32, strided<[?, 1], offset: ?>>
  %y = memref.subview %Y[%row, 0] [8, 512] [1, 1] : memref<?x?xf32> to memref<8x512xf32, strided<[?, 1], offset: ?>>

  %v = tile.alloc_register : memref<2x16xf32, 5>
  tile.load_global_tile %x, %v : memref<8x512xf32, strided<[?, 1], offset: ?>>, memref<2x16xf32, 5>
  tile.bound_mask %v, %c0, %columns, %lowest : memref<2x16xf32, 5>
  %m = tile.row_max %v : memref<2x16xf32, 5> -> memref<2xf32, 5>
  %e = tile.exp_subtract %v, %m : memref<2x16xf32, 5>, memref<2xf32, 5> -> memref<2x16xf32, 5>
  %s = tile.row_sum %e : memref<2x16xf32, 5> -> memref<2xf32, 5>
  %p = tile.div_broadcast %e, %s : memref<2x16xf32, 5>, memref<2xf32, 5> -> memref<2x16xf32, 5>
  tile.store_global %p, %y : memref<2x16xf32, 5>, memref<8x512xf32, strided<[?, 1], offset: ?>>
  return
}
