// RUN: tessera-opt %s --implicit-index-constants --convert-tile-to-tileas | filecheck %s

// CHECK-LABEL: nv_tileaa.func @elements
func.func @elements(%A: memref<?x?xf16>) attributes {tessera.kernel, tessera.threads = 32} {
  // CHECK: %[[SMEM:.+]] = nv_tileas.alloc_tensor
  %s = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  // CHECK: nvvm.read.ptx.sreg.tid.x
  %t = tile.thread_id : index
  // CHECK: nv_tileas.load_element %[[SMEM]][%{{.+}}] [%{{.+}}, %{{.+}}] : {{.*}} -> f16
  %x = tile.load_shared %s[%t, %c3] : memref<64x64xf16, 3>
  // base + row * stride + column
  // CHECK: %[[ROW:.+]] = arith.muli
  // CHECK: %[[SUM:.+]] = arith.addi %[[ROW]], %{{.+}} : i64
  // CHECK: %[[AT:.+]] = nv_tileaa.offset %{{.+}}, %[[SUM]]
  // CHECK: nv_tileas.store_global %{{.+}}, %[[AT]] : f16, !llvm.ptr<1>
  tile.store_global_element %x, %A[%t, %c3] : memref<?x?xf16>
  // CHECK: nv_tileas.load_element {{.*}} -> vector<8xf16>
  %v = tile.load_shared_vector %s[%t, %c8] {vector_width = 8} : memref<64x64xf16, 3>
  // CHECK: nv_tileas.store_element {{.*}} : vector<8xf16>
  tile.store_shared_vector %v, %s[%t, %c16] {vector_width = 8} : memref<64x64xf16, 3>
  // CHECK: nv_tileas.prefetch
  tile.prefetch %A[%t, %c0] : memref<?x?xf16>
  return
}

// The stages of a buffer that is split along its second axis are numbered row by row.
// CHECK-LABEL: nv_tileaa.func @stages
// CHECK: %[[ROW:.+]] = arith.muli %j, %c16 : index
// CHECK-DAG: %[[I:.+]] = arith.index_cast %i : index to i32
// CHECK-DAG: %[[R:.+]] = arith.index_cast %[[ROW]] : index to i32
// CHECK: %[[HEIGHT:.+]] = arith.constant 16 : i32
// CHECK: %[[J:.+]] = arith.divui %[[R]], %[[HEIGHT]] : i32
// CHECK: %[[THREE:.+]] = arith.constant 3 : i32
// CHECK: %[[FIRST:.+]] = arith.muli %[[I]], %[[THREE]] : i32
// CHECK: %[[STAGE:.+]] = arith.addi %[[FIRST]], %[[J]] : i32
// CHECK: nv_tileas.store_element %x, %s[%[[STAGE]]] {{.*}}!nv_tileas.smem<6x16x32xf16
func.func @stages(%i: index, %j: index, %x: f16) attributes {tessera.kernel, tessera.threads = 32} {
  %c16 = arith.constant 16 : index
  %s = tile.alloc_shared : memref<2x48x32xf16, 3>
  %row = arith.muli %j, %c16 : index
  %stage = memref.subview %s[%i, %row, 0] [1, 16, 32] [1, 1, 1] : memref<2x48x32xf16, 3> to memref<16x32xf16, strided<[32, 1], offset: ?>, 3>
  tile.store_shared %x, %stage[%c0, %c0] : memref<16x32xf16, strided<[32, 1], offset: ?>, 3>
  return
}

// A slot stands for one tile: what is reloaded is of the tile that was spilled.
// CHECK-LABEL: nv_tileaa.func @slots
// CHECK: %[[SLOT:.+]] = nv_tileas.alloc_tensor : !nv_tileas.smem<1x4096xf32
// CHECK: nv_tileas.spill %[[TILE:.+]], %[[SLOT]][%{{.+}}] : tensor<64x64xf32>
// CHECK: nv_tileas.reload %[[SLOT]][%{{.+}}] : {{.*}} -> tensor<64x64xf32>
func.func @slots(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x16xbf16, 3>
  %b = tile.alloc_shared : memref<16x64xbf16, 3>
  %zero = arith.constant 0.0 : bf16
  tile.store_shared %zero, %a[%c0, %c0] : memref<64x16xbf16, 3>
  tile.store_shared %zero, %b[%c0, %c0] : memref<16x64xbf16, 3>
  %slot = tile.alloc_shared : memref<4096xf32, 3>
  %s = tile.mma %a, %b : memref<64x16xbf16, 3>, memref<16x64xbf16, 3> -> memref<4x8xf32, 5>
  tile.spill %s, %slot : memref<4x8xf32, 5>, memref<4096xf32, 3>
  %r = tile.reload %slot : memref<4096xf32, 3> -> memref<4x8xf32, 5>
  tile.store_global %r, %A : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}
