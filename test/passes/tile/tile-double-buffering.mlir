// RUN: tessera-opt %s --tile-double-buffering --split-input-file --verify-diagnostics --remarks=text -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %s --tile-double-buffering --split-input-file | tessera-opt --split-input-file --tile-analyze=compile=false -o /dev/null 2>&1 | filecheck %s --check-prefix=STRATEGY

// CHECK-LABEL: func.func @product
// CHECK: %b = tile.alloc_shared {swizzle = "xor"} : memref<2x32x64xf16, 3>
// CHECK-NOT: tile.barrier
// The first iteration's tile, if there is an iteration:
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %c0, %n
// CHECK: scf.if %[[FIRST]] {
// CHECK: %[[SLICE:.*]] = memref.subview %B[%c0, 0]
// CHECK: %[[STAGE:.*]] = memref.subview %b[0, 0, 0] [1, 32, 64] [1, 1, 1]
// CHECK: tile.cp_async %[[SLICE]], %[[STAGE]]
// CHECK: tile.cp_commit_group
// CHECK: scf.for %k =
// CHECK-NOT: memref.subview %B[%k
// CHECK: tile.barrier
// The next iteration's, to the other stage:
// CHECK: %[[NEXT:.*]] = arith.addi %k, %c32
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %n
// CHECK: scf.if %[[MORE]] {
// CHECK: memref.subview %B[%[[NEXT]], 0]
// CHECK: tile.cp_async
// CHECK: tile.cp_commit_group
// CHECK-NEXT: tile.cp_wait_group 1
// CHECK: %[[NOW:.*]] = memref.subview %b[%{{.*}}, 0, 0]
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.mma %a, %[[NOW]]
// CHECK: tile.cp_wait_group 0
// CHECK-NOT: tile.cp_wait_group
// CHECK: return
//
// STRATEGY: kernel product
// STRATEGY: double buffering no
// STRATEGY: the current buffers: copies in loops overlap with the use of other stages
func.func @product(%A: memref<?x?xf16>, %B: memref<?x64xf16>, %D: memref<?x?xf32>, %n: index)
    attributes {tessera.kernel, tessera.threads = 128} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x32xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<32x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %a_in = memref.subview %A[0, 0] [64, 32] [1, 1] : memref<?x?xf16> to memref<64x32xf16, strided<[?, 1]>>
  tile.cp_async %a_in, %a : memref<64x32xf16, strided<[?, 1]>>, memref<64x32xf16, 3>
  tile.cp_commit_group
  // expected-remark @below {{a second buffer for 1 copy: that of the next iteration is in flight while this one computes}}
  scf.for %k = %c0 to %n step %c32 {
    %b_in = memref.subview %B[%k, 0] [32, 64] [1, 1] : memref<?x64xf16> to memref<32x64xf16, strided<[64, 1], offset: ?>>
    tile.barrier
    tile.cp_async %b_in, %b : memref<32x64xf16, strided<[64, 1], offset: ?>>, memref<32x64xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
    %u = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %u : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  }
  %d = memref.subview %D[0, 0] [64, 64] [1, 1] : memref<?x?xf32> to memref<64x64xf32, strided<[?, 1]>>
  tile.store_global %acc, %d : memref<4x8xf32, 5>, memref<64x64xf32, strided<[?, 1]>>
  return
}

// -----

// What threads still read of the last tile, in the iteration before of the outer loop, is not replaced.
// CHECK-LABEL: func.func @nested
// CHECK: scf.for %j =
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: arith.cmpi slt, %c0, %n
// CHECK: tile.cp_async
// CHECK: scf.for %k =
func.func @nested(%B: memref<?x64xf16>, %D: memref<?x?xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 128} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc_shared : memref<64x32xf16, 3>
  %b = tile.alloc_shared : memref<32x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  scf.for %j = %c0 to %n step %c32 {
    // expected-remark @below {{a second buffer for 1 copy}}
    scf.for %k = %c0 to %n step %c32 {
      %b_in = memref.subview %B[%k, 0] [32, 64] [1, 1] : memref<?x64xf16> to memref<32x64xf16, strided<[64, 1], offset: ?>>
      tile.barrier
      tile.cp_async %b_in, %b : memref<32x64xf16, strided<[64, 1], offset: ?>>, memref<32x64xf16, 3>
      tile.cp_commit_group
      tile.cp_wait_group 0
      tile.barrier
      %u = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
      tile.accumulate %acc, %u : memref<4x8xf32, 5>, memref<4x8xf32, 5>
    }
  }
  return
}

// -----

// The copy of the next iteration would overtake what nothing orders.
func.func @no_barrier(%B: memref<?x64xf32>, %D: memref<?x64xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared : memref<1x64xf32, 3>
  %t = tile.thread_id : index
  scf.for %k = %c0 to %n step %c1 {
    %b_in = memref.subview %B[%k, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    // expected-remark @below {{no second buffer: no barrier stands before the copy; run tile-barrier-optimization}}
    tile.cp_async %b_in, %b : memref<1x64xf32, strided<[64, 1], offset: ?>>, memref<1x64xf32, 3>
    tile.async_wait
    tile.barrier
    %x = tile.load_shared %b[%c0, %t] : memref<1x64xf32, 3>
    tile.store_global_element %x, %D[%k, %t] : memref<?x64xf32>
  }
  return
}

// -----

func.func @read_in_front(%B: memref<?x64xf32>, %D: memref<?x64xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared : memref<1x64xf32, 3>
  %t = tile.thread_id : index
  scf.for %k = %c0 to %n step %c1 {
    // expected-remark @below {{no second buffer: it uses a buffer of the loop's copies, but not behind their wait}}
    %x = tile.load_shared %b[%c0, %t] : memref<1x64xf32, 3>
    tile.store_global_element %x, %D[%k, %t] : memref<?x64xf32>
    tile.barrier
    %b_in = memref.subview %B[%k, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    tile.cp_async %b_in, %b : memref<1x64xf32, strided<[64, 1], offset: ?>>, memref<1x64xf32, 3>
    tile.async_wait
    tile.barrier
  }
  return
}

// -----

// Which row comes next is only known when this one is.
func.func @chased(%B: memref<?x64xf32>, %D: memref<?x64xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared : memref<1x64xf32, 3>
  %t = tile.thread_id : index
  %last = scf.for %k = %c0 to %n step %c1 iter_args(%row = %c0) -> (index) {
    %b_in = memref.subview %B[%row, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    tile.barrier
    // expected-remark @below {{no second buffer: its source depends on what an iteration gives to the next one}}
    tile.cp_async %b_in, %b : memref<1x64xf32, strided<[64, 1], offset: ?>>, memref<1x64xf32, 3>
    tile.async_wait
    tile.barrier
    %x = tile.load_shared %b[%c0, %t] : memref<1x64xf32, 3>
    tile.store_global_element %x, %D[%k, %t] : memref<?x64xf32>
    %next = arith.addi %row, %row : index
    scf.yield %next : index
  }
  return
}

// -----

// A loop that is pipelined already.
func.func @ahead(%B: memref<?x64xf32>, %D: memref<?x64xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared : memref<1x64xf32, 3>
  scf.for %k = %c0 to %n step %c1 {
    %b_in = memref.subview %B[%k, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    tile.barrier
    tile.cp_async %b_in, %b : memref<1x64xf32, strided<[64, 1], offset: ?>>, memref<1x64xf32, 3>
    tile.cp_commit_group
    // expected-remark @below {{no second buffer: it leaves groups in flight already}}
    tile.cp_wait_group 1
    tile.barrier
  }
  return
}

// -----

func.func @large(%B: memref<?x256xf32>, %D: memref<?x256xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 128} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared : memref<128x256xf32, 3>
  %t = tile.thread_id : index
  // expected-remark @below {{no second buffer: 262144 bytes of shared memory would be needed, and sm_80 has 166912 for a block}}
  scf.for %k = %c0 to %n step %c1 {
    %b_in = memref.subview %B[%k, 0] [128, 256] [1, 1] : memref<?x256xf32> to memref<128x256xf32, strided<[256, 1], offset: ?>>
    tile.barrier
    tile.cp_async %b_in, %b : memref<128x256xf32, strided<[256, 1], offset: ?>>, memref<128x256xf32, 3>
    tile.async_wait
    tile.barrier
    %x = tile.load_shared %b[%c0, %t] : memref<128x256xf32, 3>
    tile.store_global_element %x, %D[%k, %t] : memref<?x256xf32>
  }
  return
}

// -----

// The tile of the next iteration may be what this one stores; D and B may be the same memory.
func.func @stores(%B: memref<?x64xf32>, %D: memref<?x64xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tile.alloc_shared : memref<2x64xf32, 3>
  %t = tile.thread_id : index
  scf.for %k = %c0 to %n step %c2 {
    %b_in = memref.subview %B[%k, 0] [2, 64] [1, 1] : memref<?x64xf32> to memref<2x64xf32, strided<[64, 1], offset: ?>>
    tile.barrier
    tile.cp_async %b_in, %b : memref<2x64xf32, strided<[64, 1], offset: ?>>, memref<2x64xf32, 3>
    tile.async_wait
    tile.barrier
    %x = tile.load_shared %b[%c0, %t] : memref<2x64xf32, 3>
    // expected-remark @below {{no second buffer: the copy of the next iteration may read what it writes}}
    tile.store_global_element %x, %D[%k, %t] : memref<?x64xf32>
  }
  return
}

// -----

func.func @row(%B: memref<?x64xf32>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc_shared : memref<1x64xf32, 3>
  scf.for %k = %c0 to %n step %c1 {
    %b_in = memref.subview %B[%k, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    tile.barrier
    // expected-remark @below {{no second buffer: its buffer has a dimension of extent 1; drop it}}
    tile.cp_async %b_in, %b : memref<1x64xf32, strided<[64, 1], offset: ?>>, memref<1x64xf32, 3>
    tile.async_wait
  }
  return
}
