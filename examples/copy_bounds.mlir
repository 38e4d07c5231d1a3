// B = A for vectors of any length and alignment: each thread of 128 copies element by element, 4 a thread, and checks its
// own bounds. The condition differs by thread, so that the accesses become predicated ones.

func.func @copy(%A: memref<?xf32>, %B: memref<?xf32>) attributes {tessera.kernel, tessera.alignment = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %length = memref.dim %A, %c0 : memref<?xf32>
  %threads = tile.num_threads : index
  %t = tile.thread_id : index
  %block = tile.block_id : index
  %each = arith.muli %threads, %c4 : index
  %begin = arith.muli %block, %each : index
  %first = arith.addi %begin, %t : index
  scf.for %i = %c0 to %c4 step %c1 {
    %step = arith.muli %i, %threads : index
    %place = arith.addi %first, %step : index
    %inside = arith.cmpi slt, %place, %length : index
    scf.if %inside {
      %x = tile.load_global %A[%place] : memref<?xf32>
      tile.store_global_element %x, %B[%place] : memref<?xf32>
    }
  }
  return
}
