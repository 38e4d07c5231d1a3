// Buffers without swizzles, copies of fragments, waits and barriers that are missing or too many.
func.func @k(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %x = tile.alloc_shared : memref<8x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %other = tile.alloc_register : memref<4x8xf32, 5>
  %third = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %lane = arith.remui %t, %c64 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %row = arith.muli %i, %c64 : index
    %m = tile.compute_tensor_slice %A, %row : memref<?x?xf16>, index -> memref<64x?xf16>
    %n = tile.compute_tensor_slice %B, %row : memref<?x?xf16>, index -> memref<64x?xf16>
    tile.cp_async %m, %a {bypass_l1 = true} : memref<64x?xf16>, memref<64x64xf16, 3>
    tile.cp_async %n, %b {bypass_l1 = true} : memref<64x?xf16>, memref<64x64xf16, 3>
    %v0 = tile.load_global %A[%i, %c0] : memref<?x?xf16>
    %v1 = tile.load_global %A[%i, %c1] : memref<?x?xf16>
    tile.store_shared %v0, %x[%i, %lane] : memref<8x64xf16, 3>
    tile.store_shared %v1, %x[%i, %lane] : memref<8x64xf16, 3>
    %p = tile.mma %a, %b : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
    tile.copy %p, %other : memref<4x8xf32, 5>
    tile.copy %other, %third : memref<4x8xf32, 5>
    tile.accumulate %acc, %third : memref<4x8xf32, 5>, memref<4x8xf32, 5>
    tile.barrier
    tile.barrier
  }
  %mx = tile.row_max %acc : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %e = tile.exp_subtract %acc, %mx : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  %q = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.store_global %e, %q : memref<4x8xf32, 5>, memref<64x?xf32>
  return
}
