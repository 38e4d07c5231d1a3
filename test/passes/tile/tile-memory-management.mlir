// RUN: tessera-opt %s --tile-memory-management -o %t 2>/dev/null
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --tile-memory-management 2>/dev/null | diff %t -

// Eight rows of 128 bytes begin in one bank: 16-byte pieces of a column need the swizzle of 128 bytes.
// CHECK-LABEL: func.func @column_of_vectors
// CHECK: tile.alloc_shared {swizzle = "xor", swizzle_size = 128 : i64}
// CHECK: tile.load_shared_vector {{.*}}tile.ideal_wavefronts = 4 : i64, tile.predicted_wavefronts = 4 : i64
func.func @column_of_vectors() attributes {tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared : memref<32x64xf16, 3>
  %l = tile.lane_id : index
  %v = tile.load_shared_vector %s[%l, %c0] {vector_width = 8} : memref<32x64xf16, 3>
  return
}

// No conflict: no swizzle.
// CHECK-LABEL: func.func @row
// CHECK: tile.alloc_shared : memref<32x32xf32, 3>
// CHECK: tile.load_shared {{.*}}tile.ideal_wavefronts = 1 : i64, tile.predicted_wavefronts = 1 : i64
func.func @row(%i: index) attributes {tessera.threads = 32} {
  %s = tile.alloc_shared : memref<32x32xf32, 3>
  %l = tile.lane_id : index
  %x = tile.load_shared %s[%i, %l] : memref<32x32xf32, 3>
  return
}

// A swizzle that the program asks for stays, where none is better.
// CHECK-LABEL: func.func @asked_for
// CHECK: tile.alloc_shared {swizzle = "xor", swizzle_size = 128 : i64} : memref<32x32xf32, 3>
func.func @asked_for(%i: index) attributes {tessera.threads = 32} {
  %s = tile.alloc_shared {swizzle = "xor", swizzle_size = 128} : memref<32x32xf32, 3>
  %l = tile.lane_id : index
  %x = tile.load_shared %s[%i, %l] : memref<32x32xf32, 3>
  return
}

// What a thread reads from memory may be anything: the buffer stays, and nothing is predicted.
// CHECK-LABEL: func.func @unknown
// CHECK: %[[S:.+]] = tile.alloc_shared : memref<32x32xf32, 3>
// CHECK: tile.load_shared %[[S]][%{{.+}}, %{{.+}}] : memref
func.func @unknown(%A: memref<?xi32>) attributes {tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared : memref<32x32xf32, 3>
  %l = tile.lane_id : index
  %i = tile.load_global %A[%l] : memref<?xi32>
  %j = arith.index_cast %i : i32 to index
  %x = tile.load_shared %s[%j, %c0] : memref<32x32xf32, 3>
  return
}

// A summand that all threads share changes nothing; a factor does, iteration by iteration: 1, 2, 4 wavefronts.
// CHECK-LABEL: func.func @loops
// CHECK: tile.alloc_shared {swizzle = "xor", swizzle_size = {{[0-9]+}} : i64} : memref<32x32xf32, 3>
// CHECK: tile.load_shared {{.*}}tile.predicted_wavefronts
// CHECK: %[[P:.+]] = tile.alloc_shared {{.*}}: memref<256xf32, 3>
// CHECK: tile.load_shared %[[P]][%{{.+}}] : memref
func.func @loops(%n: index) attributes {tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = tile.alloc_shared : memref<32x32xf32, 3>
  %l = tile.lane_id : index
  scf.for %k = %c0 to %n step %c4 {
    %x = tile.load_shared %s[%l, %k] : memref<32x32xf32, 3>
  }
  %p = tile.alloc_shared : memref<256xf32, 3>
  scf.for %k = %c0 to %c4 step %c1 {
    %m = arith.shli %c1, %k : index
    %i = arith.muli %l, %m : index
    %x = tile.load_shared %p[%i] : memref<256xf32, 3>
  }
  return
}

// CHECK-LABEL: func.func @coalescing
func.func @coalescing(%A: memref<?x?xf32>, %i: index) attributes {tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c31 = arith.constant 31 : index
  %t = tile.thread_id : index
  %j = arith.addi %t, %i : index
  %twice = arith.muli %t, %c2 : index
  %turned = arith.subi %c31, %t : index
  // CHECK: tile.load_global %A[%i, %{{.+}}] {coalesce = true}
  %0 = tile.load_global %A[%i, %j] : memref<?x?xf32>
  // CHECK: tile.load_global_vector %A[%i, %{{.+}}] {coalesce = true, vector_width = 2 : i64}
  %1 = tile.load_global_vector %A[%i, %twice] {vector_width = 2} : memref<?x?xf32>
  // Backwards is as good.
  // CHECK: tile.store_global_element {{.*}} {coalesce = true}
  tile.store_global_element %0, %A[%i, %turned] : memref<?x?xf32>
  // Every second element is not, nor is a column.
  // CHECK: tile.load_global %A[%i, %{{.+}}] : memref
  %2 = tile.load_global %A[%i, %twice] : memref<?x?xf32>
  // CHECK: tile.load_global %A[%{{.+}}, %i] : memref
  %3 = tile.load_global %A[%t, %i] : memref<?x?xf32>
  // What the program says stays.
  // CHECK: tile.load_global {{.*}} {coalesce = false}
  %4 = tile.load_global %A[%i, %t] {coalesce = false} : memref<?x?xf32>
  return
}

// Instructions that are named already read as the others do: their operands are swizzled, and the box of a copy has
// rows of the swizzle.
// CHECK-LABEL: func.func @named
// CHECK: %a = tile.alloc_shared {swizzle = "xor", swizzle_size = 128 : i64} : memref<64x128xbf16, 3>
// CHECK: tile.tma_load {{.*}}tile.predicted_wavefronts = {{.*}}tile_size = array<i64: 64, 64>
// CHECK: tile.tma_load {{.*}}tile_size = array<i64: 32, 64>
// CHECK: tile.wgmma {{.*}}tile.predicted_wavefronts
func.func @named(%A: memref<64x128xbf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x128xbf16, 3>
  tile.tma_load %A, %a {tile_size = array<i64: 64, 128>} : memref<64x128xbf16>, memref<64x128xbf16, 3>
  tile.tma_load %A, %a {tile_size = array<i64: 32, 128>} : memref<64x128xbf16>, memref<64x128xbf16, 3>
  %d = tile.wgmma %a, %a {intrinsic = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", transpose_b = true} : memref<64x128xbf16, 3>, memref<64x128xbf16, 3> -> memref<8x4xf32, 5>
  return
}

// A fragment of which nobody knows the tile does not hide the others.
// CHECK-LABEL: func.func @undecided
// CHECK: %a = tile.alloc_shared {swizzle = "xor", swizzle_size = 128 : i64}
// CHECK: tile.mma {{.*}}tile.predicted_wavefronts
func.func @undecided(%A: memref<64x64xbf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xbf16, 3>
  tile.cp_async %A, %a : memref<64x64xbf16>, memref<64x64xbf16, 3>
  %d = tile.mma %a, %a {transpose_b = true} : memref<64x64xbf16, 3>, memref<64x64xbf16, 3> -> memref<8x4xf32, 5>
  %x = tile.alloc_register : memref<8x4xf32, 5>
  %y = tile.add %x, %x : memref<8x4xf32, 5>, memref<8x4xf32, 5> -> memref<8x4xf32, 5>
  return
}
