// Text that was lowered for sm_90 is reported with the instructions of the GPU that the option names.
//
// RUN: tessera-opt %s --tile-analyze="arch=sm_80 compile=false" 2>&1 >/dev/null | filecheck %s
// RUN: tessera-opt %s --tile-analyze="arch=sm_90a compile=false" 2>&1 >/dev/null | filecheck %s --check-prefix=HOPPER

// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: cp.async.cg to %a
// CHECK-NOT: wgmma.mma_async
// CHECK: cp.async.cg for 2 of 2 asynchronous copies: sm_80 has no TMA
// CHECK-NOT: wgmma.mma_async
// CHECK-NOT: sm_80 has TMA
// HOPPER: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// HOPPER: TMA for 2 of 2 asynchronous copies: sm_90 has TMA
func.func @product(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %D: memref<64x64xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.tma_load %A, %a {bypass_l1 = true} : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.tma_load %B, %b {bypass_l1 = true} : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p = tile.wgmma %a, %b {intrinsic = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.store_global %p, %D : memref<4x8xf32, 5>, memref<64x64xf32>
  return
}
