// RUN: tessera-opt %s --tile-barrier-optimization | filecheck %s

// Vectors of two elements: at places one apart the threads meet, at places two apart each has its own.
// CHECK-LABEL: @by_thread(
// CHECK: tile.store_shared_vector
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK: tile.store_shared_vector
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @by_thread(%v: vector<2xf32>) attributes {tessera.kernel} {
  %c2 = arith.constant 2 : index
  %s = tile.alloc_shared : memref<256xf32, 3>
  %r = tile.alloc_shared : memref<256xf32, 3>
  %t = tile.thread_id : index
  tile.store_shared_vector %v, %s[%t] {vector_width = 2} : memref<256xf32, 3>
  %w = tile.load_shared_vector %s[%t] {vector_width = 2} : memref<256xf32, 3>
  %u = arith.muli %t, %c2 : index
  tile.store_shared_vector %w, %r[%u] {vector_width = 2} : memref<256xf32, 3>
  %x = tile.load_shared_vector %r[%u] {vector_width = 2} : memref<256xf32, 3>
  return
}

// CHECK-LABEL: @by_warp_and_lane(
// CHECK: tile.store_shared_vector
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK: tile.store_shared_vector
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @by_warp_and_lane(%v: vector<2xf32>) attributes {tessera.kernel} {
  %c2 = arith.constant 2 : index
  %s = tile.alloc_shared : memref<4x64xf32, 3>
  %r = tile.alloc_shared : memref<4x64xf32, 3>
  %t = tile.warp_id : index
  %l = tile.lane_id : index
  tile.store_shared_vector %v, %s[%t, %l] {vector_width = 2} : memref<4x64xf32, 3>
  %w = tile.load_shared_vector %s[%t, %l] {vector_width = 2} : memref<4x64xf32, 3>
  %u = arith.muli %l, %c2 : index
  tile.store_shared_vector %w, %r[%t, %u] {vector_width = 2} : memref<4x64xf32, 3>
  %x = tile.load_shared_vector %r[%t, %u] {vector_width = 2} : memref<4x64xf32, 3>
  return
}

// The warp alone does not tell its lanes apart.
// CHECK-LABEL: @by_warp(
// CHECK: tile.store_shared_vector
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
func.func @by_warp(%v: vector<2xf32>) attributes {tessera.kernel} {
  %c2 = arith.constant 2 : index
  %s = tile.alloc_shared : memref<64xf32, 3>
  %t = tile.warp_id : index
  %u = arith.muli %t, %c2 : index
  tile.store_shared_vector %v, %s[%u] {vector_width = 2} : memref<64xf32, 3>
  %w = tile.load_shared_vector %s[%u] {vector_width = 2} : memref<64xf32, 3>
  return
}

// Quotient and remainder of the thread's number tell threads apart together, if the divisor is the same.
// CHECK-LABEL: @by_digits(
// CHECK: tile.store_shared_vector
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK: tile.store_shared_vector
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK: tile.store_shared_vector
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %{{.*}} = tile.load_shared_vector
// CHECK: return
func.func @by_digits(%v: vector<2xf32>) attributes {tessera.kernel} {
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %s = tile.alloc_shared : memref<8x64xf32, 3>
  %r = tile.alloc_shared : memref<8x64xf32, 3>
  %p = tile.alloc_shared : memref<8x64xf32, 3>
  %t = tile.thread_id : index
  %q = arith.divui %t, %c32 : index
  %l = arith.remui %t, %c32 : index
  %h = arith.remui %t, %c16 : index
  tile.store_shared_vector %v, %s[%q, %l] {vector_width = 2} : memref<8x64xf32, 3>
  %w = tile.load_shared_vector %s[%q, %l] {vector_width = 2} : memref<8x64xf32, 3>
  %u = arith.muli %l, %c2 : index
  tile.store_shared_vector %w, %r[%q, %u] {vector_width = 2} : memref<8x64xf32, 3>
  %x = tile.load_shared_vector %r[%q, %u] {vector_width = 2} : memref<8x64xf32, 3>
  %g = arith.muli %h, %c2 : index
  tile.store_shared_vector %x, %p[%q, %g] {vector_width = 2} : memref<8x64xf32, 3>
  %y = tile.load_shared_vector %p[%q, %g] {vector_width = 2} : memref<8x64xf32, 3>
  return
}
