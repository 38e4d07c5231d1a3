// RUN: tessera-opt %s --tile-memory-management -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --tile-memory-management | diff %t -
// RUN: tessera-opt %s --tile-memory-management=compile=false --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATS

// STATS: 2 shared
// STATS-NEXT: 1 spilled

// %q begins when %p is not needed any more; %r when %q is.
// CHECK-LABEL: func.func @sharing
// CHECK: %[[P:.+]] = tile.alloc_register
// CHECK: %[[R:.+]] = tile.alloc_register
// CHECK-NOT: tile.alloc_register
// CHECK: tile.fill %[[P]]
// CHECK: tile.store_global %[[P]]
// CHECK: tile.fill %[[P]]
// CHECK: tile.fill %[[R]]
// CHECK: tile.accumulate %[[R]], %[[P]]
// CHECK: tile.store_global %[[R]]
func.func @sharing(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<64x16xbf16, 3>
  %b = tile.alloc_shared : memref<16x64xbf16, 3>
  %s = tile.mma %a, %b : memref<64x16xbf16, 3>, memref<16x64xbf16, 3> -> memref<4x8xf32, 5>
  %p = tile.alloc_register : memref<4x8xf32, 5>
  %q = tile.alloc_register : memref<4x8xf32, 5>
  %r = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %p, %zero : memref<4x8xf32, 5>
  tile.accumulate %p, %s : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.store_global %p, %A : memref<4x8xf32, 5>, memref<?x?xf32>
  tile.fill %q, %zero : memref<4x8xf32, 5>
  tile.fill %r, %zero : memref<4x8xf32, 5>
  tile.accumulate %q, %s : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.accumulate %r, %q : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.store_global %r, %A : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// A copy of a fragment that is not needed any more is the fragment.
// CHECK-LABEL: func.func @copied
// CHECK: %[[P:.+]] = tile.alloc_register
// CHECK-NOT: tile.alloc_register
// CHECK-NOT: tile.copy
// CHECK: tile.store_global %[[P]]
func.func @copied(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<64x16xbf16, 3>
  %b = tile.alloc_shared : memref<16x64xbf16, 3>
  %s = tile.mma %a, %b : memref<64x16xbf16, 3>, memref<16x64xbf16, 3> -> memref<4x8xf32, 5>
  %p = tile.alloc_register : memref<4x8xf32, 5>
  %q = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %p, %zero : memref<4x8xf32, 5>
  tile.accumulate %p, %s : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.copy %p, %q : memref<4x8xf32, 5>
  tile.store_global %q, %A : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// In the text one ends before the other begins; around the loop both are needed.
// CHECK-LABEL: func.func @around_a_loop
// CHECK: tile.alloc_register
// CHECK: tile.alloc_register
func.func @around_a_loop(%A: memref<?x?xf32>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<64x16xbf16, 3>
  %b = tile.alloc_shared : memref<16x64xbf16, 3>
  %p = tile.alloc_register : memref<4x8xf32, 5>
  %q = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %p, %zero : memref<4x8xf32, 5>
  tile.fill %q, %zero : memref<4x8xf32, 5>
  scf.for %i = %c0 to %n step %c1 {
    %s = tile.mma %a, %b : memref<64x16xbf16, 3>, memref<16x64xbf16, 3> -> memref<4x8xf32, 5>
    tile.accumulate %p, %s : memref<4x8xf32, 5>, memref<4x8xf32, 5>
    tile.copy %p, %q : memref<4x8xf32, 5>
    tile.store_global %q, %A : memref<4x8xf32, 5>, memref<?x?xf32>
  }
  return
}

// 512 threads have 128 registers each. %kept is not used while the second product is made, and is cheaper to spill than
// what the loop changes.
// CHECK-LABEL: func.func @spilling
// CHECK: %[[SLOT:.+]] = tile.alloc_shared : memref<32768xf32, 3>
// CHECK: %[[KEPT:.+]] = tile.mma
// CHECK-NEXT: tile.spill %[[KEPT]], %[[SLOT]]
// CHECK: scf.for
// CHECK: tile.mma
// CHECK-NOT: tile.spill
// CHECK: }
// CHECK: %[[BACK:.+]] = tile.reload %[[SLOT]]
// CHECK-NEXT: tile.accumulate %{{.+}}, %[[BACK]]
func.func @spilling(%A: memref<?x?xf32>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor", swizzle_size = 32} : memref<256x16xbf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<16x128xbf16, 3>
  %sum = tile.alloc_register : memref<8x8xf32, 5>
  %kept = tile.mma %a, %b : memref<256x16xbf16, 3>, memref<16x128xbf16, 3> -> memref<8x8xf32, 5>
  tile.fill %sum, %zero : memref<8x8xf32, 5>
  scf.for %i = %c0 to %n step %c1 {
    %s = tile.mma %a, %b : memref<256x16xbf16, 3>, memref<16x128xbf16, 3> -> memref<8x8xf32, 5>
    tile.accumulate %sum, %s : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  }
  tile.accumulate %sum, %kept : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  tile.store_global %sum, %A : memref<8x8xf32, 5>, memref<?x?xf32>
  return
}
