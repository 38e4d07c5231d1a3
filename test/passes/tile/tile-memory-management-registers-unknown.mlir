// RUN: tessera-opt %s --verify-diagnostics --tile-memory-management

// One is spilled; for two there is no room in shared memory.
func.func @too_many(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor", swizzle_size = 32} : memref<256x16xbf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<16x128xbf16, 3>
  %s = tile.mma %a, %b : memref<256x16xbf16, 3>, memref<16x128xbf16, 3> -> memref<8x8xf32, 5>
  // expected-remark @below {{fragments and operands need 152 registers of each thread here, but only 96 are available; no other fragment can be spilled to shared memory}}
  %t = tile.mma %a, %b : memref<256x16xbf16, 3>, memref<16x128xbf16, 3> -> memref<8x8xf32, 5>
  %u = tile.exp_diff %s, %t : memref<8x8xf32, 5>, memref<8x8xf32, 5> -> memref<8x8xf32, 5>
  tile.accumulate %u, %s : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  tile.accumulate %u, %t : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  tile.store_global %u, %A : memref<8x8xf32, 5>, memref<?x?xf32>
  return
}
