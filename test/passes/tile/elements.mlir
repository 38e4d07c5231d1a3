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
