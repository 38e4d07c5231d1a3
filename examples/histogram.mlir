// How often each of 32 numbers occurs in A, an array of bytes of any length. Each thread counts in a column of its own, over
// elements that lie 128 apart: how many those are differs by thread. Then each column of a tile of counts is added up.

func.func @histogram(%A: memref<?xi8>, %H: memref<?xi32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %mask = arith.constant 31 : i8
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %counts = tile.alloc_shared : memref<32x128xi32, 3>
  %t = tile.thread_id : index
  %threads = tile.num_threads : index
  %length = memref.dim %A, %c0 : memref<?xi8>
  scf.for %b = %c0 to %c32 step %c1 {
    tile.store_shared %none, %counts[%b, %t] : memref<32x128xi32, 3>
  }
  scf.for %i = %t to %length step %threads {
    %x = tile.load_global %A[%i] : memref<?xi8>
    %low = arith.andi %x, %mask : i8
    %bin = arith.index_castui %low : i8 to index
    %old = tile.load_shared %counts[%bin, %t] : memref<32x128xi32, 3>
    %new = arith.addi %old, %one : i32
    tile.store_shared %new, %counts[%bin, %t] : memref<32x128xi32, 3>
  }
  tile.barrier
  %mine = arith.cmpi ult, %t, %c32 : index
  scf.if %mine {
    %sum = scf.for %j = %c0 to %threads step %c1 iter_args(%s = %none) -> (i32) {
      // Each thread begins at another column, so that the lanes of a warp read different banks.
      %k = arith.addi %j, %t : index
      %column = arith.remui %k, %threads : index
      %x = tile.load_shared %counts[%t, %column] : memref<32x128xi32, 3>
      %next = arith.addi %s, %x : i32
      scf.yield %next : i32
    }
    tile.store_global_element %sum, %H[%t] : memref<?xi32>
  }
  return
}
