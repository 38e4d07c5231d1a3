// B = Aᵀ for matrices of any extents, 32x32 a block of 256 threads, through shared memory: a swizzle of 128 bytes keeps rows and
// columns apart. Threads check their own bounds.

func.func @transpose(%A: memref<?x?xf32>, %B: memref<?x?xf32>)
    attributes {tessera.kernel, tessera.alignment = 4 : i64, tessera.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %s = tile.alloc_shared {swizzle = "xor"} : memref<32x32xf32, 3>
  %rows = memref.dim %A, %c0 : memref<?x?xf32>
  %columns = memref.dim %A, %c1 : memref<?x?xf32>
  %x = tile.block_id : index
  %y = tile.block_id {axis = 1 : i64} : index
  %row = arith.muli %x, %c32 : index
  %column = arith.muli %y, %c32 : index
  %lane = tile.lane_id : index
  %warp = tile.warp_id : index

  %j = arith.addi %column, %lane : index
  %has_column = arith.cmpi slt, %j, %columns : index
  scf.for %r = %warp to %c32 step %c8 {
    %i = arith.addi %row, %r : index
    %has_row = arith.cmpi slt, %i, %rows : index
    %inside = arith.andi %has_row, %has_column : i1
    scf.if %inside {
      %v = tile.load_global %A[%i, %j] : memref<?x?xf32>
      tile.store_shared %v, %s[%r, %lane] : memref<32x32xf32, 3>
    }
  }
  tile.barrier
  %i2 = arith.addi %row, %lane : index
  %has_row2 = arith.cmpi slt, %i2, %rows : index
  scf.for %r = %warp to %c32 step %c8 {
    %j2 = arith.addi %column, %r : index
    %has_column2 = arith.cmpi slt, %j2, %columns : index
    %inside = arith.andi %has_row2, %has_column2 : i1
    scf.if %inside {
      %v = tile.load_shared %s[%lane, %r] : memref<32x32xf32, 3>
      tile.store_global_element %v, %B[%j2, %i2] : memref<?x?xf32>
    }
  }
  return
}
