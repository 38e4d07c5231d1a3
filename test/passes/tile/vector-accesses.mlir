// RUN: tessera-opt %s --tile-register-coalescing | filecheck %s

// A vector is loaded where the first of its elements was, and stored where the last one was.
// CHECK-LABEL: @loaded_first
// CHECK: %[[V:.*]] = tile.load_global_vector %a[%t, %c0] {vector_width = 2 : i64}
// CHECK: arith.addf
// CHECK: return
func.func @loaded_first(%a: memref<?x64xf32>, %o: memref<?x64xf32>) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  %u = tile.load_global %a[%t, %c0] : memref<?x64xf32>
  %y = arith.addf %u, %u : f32
  %v = tile.load_global %a[%t, %c1] : memref<?x64xf32>
  %z = arith.mulf %y, %v : f32
  tile.store_global_element %z, %o[%t, %c0] : memref<?x64xf32>
  return
}

// A store and a load between two others may be of the same address.
// CHECK-LABEL: @in_between
// CHECK-NOT: vector
// CHECK: return
func.func @in_between(%a: memref<?x64xf32>, %o: memref<?x64xf32>, %x: f32) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  %u = tile.load_global %a[%t, %c0] : memref<?x64xf32>
  tile.store_global_element %x, %o[%t, %c0] : memref<?x64xf32>
  %v = tile.load_global %a[%t, %c1] : memref<?x64xf32>
  %y = arith.addf %u, %v : f32
  tile.store_global_element %y, %o[%t, %c1] : memref<?x64xf32>
  return
}

// CHECK-LABEL: @stored_last
// CHECK: %[[Y:.*]] = arith.addf
// CHECK-NEXT: %[[W:.*]] = vector.from_elements %x, %[[Y]] : vector<2xf32>
// CHECK-NEXT: tile.store_global_vector %[[W]], %o[%t, %c0] {vector_width = 2 : i64}
func.func @stored_last(%o: memref<?x64xf32>, %x: f32) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  tile.store_global_element %x, %o[%t, %c0] : memref<?x64xf32>
  %y = arith.addf %x, %x : f32
  tile.store_global_element %y, %o[%t, %c1] : memref<?x64xf32>
  return
}

// Bits have another form in memory than in registers.
// CHECK-LABEL: @bits
// CHECK-COUNT-2: tile.store_global_element
func.func @bits(%o: memref<?x64xi1>, %x: i1) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  tile.store_global_element %x, %o[%t, %c0] : memref<?x64xi1>
  tile.store_global_element %x, %o[%t, %c1] : memref<?x64xi1>
  return
}

// A vector of two does not begin at an odd element, nor where the row has an odd length.
// CHECK-LABEL: @odd
// CHECK-NOT: vector
// CHECK: return
func.func @odd(%o: memref<?x64xf32>, %p: memref<?x63xf32>, %x: f32) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = tile.thread_id : index
  tile.store_global_element %x, %o[%t, %c1] : memref<?x64xf32>
  tile.store_global_element %x, %o[%t, %c2] : memref<?x64xf32>
  tile.store_global_element %x, %p[%t, %c0] : memref<?x63xf32>
  tile.store_global_element %x, %p[%t, %c1] : memref<?x63xf32>
  return
}
