// RUN: tessera-opt %s --tile-analyze 2>&1 >/dev/null | filecheck %s
// RUN: tessera-opt %s --tile-analyze=arch=sm_90 2>&1 >/dev/null | filecheck %s --check-prefix=HOPPER
// RUN: tessera-opt %s --tile-analyze | filecheck %s --check-prefix=IR

// CHECK: kernel product for sm_80: 32 threads per block
// CHECK-NEXT: shared memory 6144 bytes %a 2048, %b 4096
// CHECK: tensor cores yes 1 product
// CHECK-NEXT: line {{[0-9]+}} 16x32x64 16 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NEXT: async copies 2 6144 bytes, counted once
// CHECK: line {{[0-9]+}} 2048 bytes cp.async.cg to %a
// CHECK: line {{[0-9]+}} 4096 bytes cp.async.ca to %b, in a loop
// CHECK: barriers 0 0 in loops; needed: 2, 2 in loops
// CHECK: high precision yes
// CHECK: TMA possible no
// CHECK: double buffering helps
// CHECK: sm_80 offers wgmma no, TMA no, async barriers no, 167936 bytes shared per SM, 166912 per block, 255 registers per thread
// CHECK-NEXT: memory strategy
// CHECK-NEXT: cp.async.cg for 1 of 2 asynchronous copies: sm_80 has no TMA; whole 16-byte pieces
// CHECK-NEXT: cp.async.ca for 1 of 2 asynchronous copies: sm_80 has no TMA; through L1
// CHECK-NEXT: double buffering of %b: the loop does not compute while it copies them; a second buffer for each takes 10240 of 166912 bytes
// CHECK-NEXT: swizzle = "xor" for %b: products read eight rows at once
// CHECK-NEXT: compute strategy
// CHECK-NEXT: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 for 1 product of 16x32x64
// CHECK: synchronization strategy
// CHECK-NEXT: --tile-barrier-optimization: 0 barriers, 0 in loops, which allows races; 2 barriers, 2 in loops are needed
// CHECK: registers strategy
// CHECK-NEXT: accumulators in registers: 16 for fragments
// CHECK: kernel plain for sm_90a: 128 threads per block
// CHECK: tensor cores no 0 products
// CHECK: async copies 0
// CHECK: barriers 1 0 in loops; needed: 0, 0 in loops
// CHECK: high precision no
// CHECK: plain loads and stores: the kernel has no asynchronous copy
// CHECK: elementwise work on all threads: the kernel multiplies no matrices
// CHECK: --tile-barrier-optimization: 1 barrier, 0 in loops; 0 barriers, 0 in loops are enough
// CHECK: registers for scalars only: the kernel has no fragments
// CHECK-NOT: kernel host

// HOPPER: kernel product for sm_90a
// HOPPER: TMA for 2 of 2 asynchronous copies: sm_90 has TMA
// HOPPER: 2 mbarriers for the bytes of each group of copies

// IR: func.func @product
// IR: tile.cp_async
// IR-NOT: tile.barrier
// IR: func.func @plain

func.func @product(%A: memref<?x64xf16>, %B: memref<64x?xf16>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<16x64xf16, 3>
  %b = tile.alloc_shared : memref<64x32xf16, 3>
  %x = memref.subview %A[0, 0] [16, 64] [1, 1] : memref<?x64xf16> to memref<16x64xf16, strided<[64, 1]>>
  tile.cp_async %x, %a {bypass_l1 = true} : memref<16x64xf16, strided<[64, 1]>>, memref<16x64xf16, 3>
  tile.cp_commit_group
  %acc = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %acc, %zero : memref<4x4xf32, 5>
  scf.for %i = %c0 to %n step %c32 {
    %y = memref.subview %B[0, %i] [64, 32] [1, 1] : memref<64x?xf16> to memref<64x32xf16, strided<[?, 1], offset: ?>>
    tile.cp_async %y, %b : memref<64x32xf16, strided<[?, 1], offset: ?>>, memref<64x32xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    %u = tile.mma %a, %b : memref<16x64xf16, 3>, memref<64x32xf16, 3> -> memref<4x4xf32, 5>
    tile.accumulate %acc, %u : memref<4x4xf32, 5>, memref<4x4xf32, 5>
  }
  return
}

func.func @plain(%A: memref<?xf32>) attributes {tessera.kernel, tessera.target = "sm_90"} {
  %t = tile.thread_id : index
  %v = tile.load_global %A[%t] : memref<?xf32>
  tile.barrier
  tile.store_global_element %v, %A[%t] : memref<?xf32>
  return
}

func.func @host() -> i32 {
  %c = arith.constant 1 : i32
  return %c : i32
}
