// Neighboring accesses by element, more fragments than there are registers, swizzles that are not the best.
func.func @k(%A: memref<?x?xf32>, %B: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel, tessera.alignment = 16 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<128x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor", swizzle_size = 32 : i64} : memref<128x64xf16, 3>
  %x = tile.alloc_shared : memref<64x64xf32, 3>
  %acc = tile.alloc_register : memref<8x16xf32, 5>
  tile.fill %acc, %zero : memref<8x16xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %B, %c0 : memref<?x?xf16>, index -> memref<128x?xf16>
  tile.cp_async %m, %a : memref<128x?xf16>, memref<128x64xf16, 3>
  tile.cp_async %m, %b : memref<128x?xf16>, memref<128x64xf16, 3>
  tile.async_wait
  tile.barrier
  %k1 = tile.mma %a, %a {transpose_b = true} : memref<128x64xf16, 3>, memref<128x64xf16, 3> -> memref<8x16xf32, 5>
  %k2 = tile.mma %b, %b {transpose_b = true} : memref<128x64xf16, 3>, memref<128x64xf16, 3> -> memref<8x16xf32, 5>
  %h0 = tile.mma %a, %b {transpose_b = true} : memref<128x64xf16, 3>, memref<128x64xf16, 3> -> memref<8x16xf32, 5>
  %h1 = tile.mma %a, %b {transpose_b = true} : memref<128x64xf16, 3>, memref<128x64xf16, 3> -> memref<8x16xf32, 5>
  scf.for %i = %c0 to %c8 step %c1 {
    %col = arith.muli %t, %c4 : index
    %col1 = arith.addi %col, %c1 : index
    %col2 = arith.addi %col, %c2 : index
    %col3 = arith.addi %col, %c3 : index
    %v0 = tile.load_global %A[%i, %col] : memref<?x?xf32>
    %v1 = tile.load_global %A[%i, %col1] : memref<?x?xf32>
    %v2 = tile.load_global %A[%i, %col2] : memref<?x?xf32>
    %v3 = tile.load_global %A[%i, %col3] : memref<?x?xf32>
    %s0 = arith.addf %v0, %v1 : f32
    %s1 = arith.addf %v2, %v3 : f32
    %lane = arith.remui %t, %c64 : index
    tile.store_shared %s0, %x[%lane, %c0] : memref<64x64xf32, 3>
    tile.store_shared %s1, %x[%lane, %c1] : memref<64x64xf32, 3>
    %y = tile.load_shared %x[%c1, %lane] : memref<64x64xf32, 3>
    tile.fill %acc, %zero : memref<8x16xf32, 5>
    %p = tile.mma %a, %b {transpose_b = true} : memref<128x64xf16, 3>, memref<128x64xf16, 3> -> memref<8x16xf32, 5>
    tile.accumulate %acc, %p : memref<8x16xf32, 5>, memref<8x16xf32, 5>
    %z = tile.mma %b, %a {transpose_b = true} : memref<128x64xf16, 3>, memref<128x64xf16, 3> -> memref<8x16xf32, 5>
    tile.accumulate %acc, %z : memref<8x16xf32, 5>, memref<8x16xf32, 5>
    tile.barrier
  }
  tile.accumulate %acc, %h0 : memref<8x16xf32, 5>, memref<8x16xf32, 5>
  tile.accumulate %acc, %h1 : memref<8x16xf32, 5>, memref<8x16xf32, 5>
  tile.accumulate %acc, %k1 : memref<8x16xf32, 5>, memref<8x16xf32, 5>
  tile.accumulate %acc, %k2 : memref<8x16xf32, 5>, memref<8x16xf32, 5>
  %q = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<128x?xf32>
  tile.store_global %acc, %q : memref<8x16xf32, 5>, memref<128x?xf32>
  return
}
