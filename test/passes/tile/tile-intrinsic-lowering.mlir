// RUN: tessera-opt %s --tile-intrinsic-lowering="arch=sm_90" -o %t.90
// RUN: filecheck %s --input-file %t.90 --check-prefixes=CHECK,HOPPER
// RUN: tessera-opt %t.90 --tile-intrinsic-lowering="arch=sm_90a" -o %t.again
// RUN: diff %t.90 %t.again
// RUN: tessera-opt %s --tile-intrinsic-lowering="arch=sm_80" -o %t.80
// RUN: filecheck %s --input-file %t.80 --check-prefixes=CHECK,AMPERE
// RUN: tessera-opt %t.80 --tile-intrinsic-lowering="arch=sm_80" | diff %t.80 -
// RUN: tessera-opt %s --tile-intrinsic-lowering="arch=sm_100" | filecheck %s --check-prefixes=CHECK,GENERIC
// RUN: not tessera-opt %s --tile-intrinsic-lowering="arch=sm_99" 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown GPU 'sm_99'; expected one of sm_80, sm_86,

// 256 threads are two warpgroups, each with 64 of the rows; the result of the first product is A of the second, whose sums
// take more registers than wgmma gets.
// CHECK-LABEL: @attention(
// HOPPER: tile.tma_load {{.*}} {bypass_l1 = true, tile_size = array<i64: 128, 64>}
// AMPERE: tile.cp_async_cg {{.*}} {bypass_l1 = true, cache_level = "L2"}
// GENERIC: tile.tma_load
// HOPPER: tile.wgmma %q, %k {intrinsic = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", transpose_b = true}
// AMPERE: tile.wmma %q, %k {intrinsic = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", transpose_b = true}
// GENERIC: tile.mma %q, %k
// HOPPER: tile.warp_reduce max %s
// AMPERE: tile.row_max %s
// HOPPER: tile.warp_reduce min %s
// AMPERE: tile.row_min %s
// HOPPER: tile.warp_reduce sum %s
// AMPERE: tile.row_sum %s
// GENERIC: tile.row_sum %s
// HOPPER: tile.wmma %p, %v {intrinsic = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"}
func.func @attention(%Q: memref<?x?xbf16>, %start: index) {
  %q = tile.alloc_shared {swizzle = "xor"} : memref<128x128xbf16, 3>
  %k = tile.alloc_shared {swizzle = "xor"} : memref<128x128xbf16, 3>
  %v = tile.alloc_shared {swizzle = "xor"} : memref<128x512xbf16, 3>
  %rows = tile.compute_tensor_slice %Q, %start : memref<?x?xbf16>, index -> memref<128x?xbf16>
  tile.cp_async %rows, %q {bypass_l1 = true} : memref<128x?xbf16>, memref<128x128xbf16, 3>
  %s = tile.mma %q, %k {transpose_b = true} : memref<128x128xbf16, 3>, memref<128x128xbf16, 3> -> memref<8x8xf32, 5>
  %m = tile.row_max %s : memref<8x8xf32, 5> -> memref<8xf32, 5>
  %n = tile.row_min %s : memref<8x8xf32, 5> -> memref<8xf32, 5>
  %l = tile.row_sum %s : memref<8x8xf32, 5> -> memref<8xf32, 5>
  %p = tile.cast %s : memref<8x8xf32, 5> to memref<8x8xbf16, 5>
  %o = tile.mma %p, %v : memref<8x8xbf16, 5>, memref<128x512xbf16, 3> -> memref<8x32xf32, 5>
  return
}

// K is 32 bytes an instruction: 32 elements of 8 bits, 8 of tf32.  N is the most that divides: integers have no m64n104.
// The tensor cores add products of 8-bit floats with too few bits for sums in f32.
// CHECK-LABEL: @elements(
// HOPPER: tile.wmma {{.*}}m16n8k32.row.col.f32.e4m3.e5m2.f32"
// AMPERE: tile.wmma {{.*}}mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
// HOPPER: tile.wgmma {{.*}}m64n208k32.s32.s8.s8"
// AMPERE: tile.wmma {{.*}}mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
// HOPPER: tile.wgmma {{.*}}m64n104k8.f32.tf32.tf32"
// HOPPER: tile.wgmma {{.*}}m64n104k16.f16.f16.f16"
func.func @elements(
  %a8: memref<64x64xf8E4M3FN, 3>, %b8: memref<104x64xf8E5M2, 3>, %ai: memref<64x64xi8, 3>, %bi: memref<416x64xi8, 3>,
  %at: memref<64x64xtf32, 3>, %bt: memref<104x64xtf32, 3>, %ah: memref<64x64xf16, 3>, %bh: memref<64x104xf16, 3>
) {
  %0 = tile.mma %a8, %b8 {transpose_b = true} : memref<64x64xf8E4M3FN, 3>, memref<104x64xf8E5M2, 3> -> memref<4x13xf32, 5>
  %1 = tile.mma %ai, %bi {transpose_b = true} : memref<64x64xi8, 3>, memref<416x64xi8, 3> -> memref<16x13xi32, 5>
  %2 = tile.mma %at, %bt {transpose_b = true} : memref<64x64xtf32, 3>, memref<104x64xtf32, 3> -> memref<4x13xf32, 5>
  %3 = tile.mma %ah, %bh : memref<64x64xf16, 3>, memref<64x104xf16, 3> -> memref<4x13xf16, 5>
  return
}

// No wgmma: rows that are not 64 a warpgroup, 8-bit B as KxN, B in registers, K of 8.  No tensor core at all: f32.
// CHECK-LABEL: @not_warpgroups(
// HOPPER: tile.wmma %a, %b
// HOPPER: tile.wmma %a8, %b8
// HOPPER: tile.wmma %a, %0
// HOPPER: tile.wmma %ak, %bk
// CHECK: tile.mma %af, %bf
func.func @not_warpgroups(
  %a: memref<32x64xf16, 3>, %b: memref<64x64xf16, 3>, %a8: memref<64x64xf8E4M3FN, 3>, %b8: memref<64x32xf8E4M3FN, 3>,
  %ak: memref<64x8xf16, 3>, %bk: memref<8x32xf16, 3>, %af: memref<64x8xf32, 3>, %bf: memref<8x32xf32, 3>,
  %w: memref<64x64xf16, 3>
) {
  %r = tile.mma %a, %b : memref<32x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x4xf32, 5>
  %s = tile.mma %a8, %b8 : memref<64x64xf8E4M3FN, 3>, memref<64x32xf8E4M3FN, 3> -> memref<4x4xf32, 5>
  %t = tile.mma %w, %b : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<8x4xf32, 5>
  %0 = tile.cast %t : memref<8x4xf32, 5> to memref<8x4xf16, 5>
  %u = tile.mma %a, %0 : memref<32x64xf16, 3>, memref<8x4xf16, 5> -> memref<4x4xf32, 5>
  %x = tile.mma %ak, %bk : memref<64x8xf16, 3>, memref<8x32xf16, 3> -> memref<4x4xf32, 5>
  %y = tile.mma %af, %bf : memref<64x8xf32, 3>, memref<8x32xf32, 3> -> memref<4x4xf32, 5>
  return
}

// A copy from a column that 16 bytes do not divide, or without bypass_l1, is no cp.async.cg; TMA starts at any column.
// CHECK-LABEL: @copies(
// HOPPER: tile.tma_load {{.*}}tile_size = array<i64: 64, 64>
// AMPERE: tile.cp_async %odd
// HOPPER: tile.tma_load {{.*}}tile_size = array<i64: 64, 64>
// AMPERE: tile.cp_async_cg %even
// HOPPER: tile.tma_load {{.*}}tile_size = array<i64: 64, 64>
// AMPERE: tile.cp_async %even
// CHECK: tile.cp_async %few
func.func @copies(%A: memref<?x?xf16>, %row: index, %j: index) {
  %c8 = arith.constant 8 : index
  %column = arith.muli %j, %c8 : index
  %s = tile.alloc_shared : memref<64x64xf16, 3>
  %narrow = tile.alloc_shared : memref<64x4xf16, 3>
  %odd = memref.subview %A[%row, %j] [64, 64] [1, 1] : memref<?x?xf16> to memref<64x64xf16, strided<[?, 1], offset: ?>>
  tile.cp_async %odd, %s {bypass_l1 = true} : memref<64x64xf16, strided<[?, 1], offset: ?>>, memref<64x64xf16, 3>
  %even = memref.subview %A[%row, %column] [64, 64] [1, 1] : memref<?x?xf16> to memref<64x64xf16, strided<[?, 1], offset: ?>>
  tile.cp_async %even, %s {bypass_l1 = true} : memref<64x64xf16, strided<[?, 1], offset: ?>>, memref<64x64xf16, 3>
  tile.cp_async %even, %s : memref<64x64xf16, strided<[?, 1], offset: ?>>, memref<64x64xf16, 3>
  %few = memref.subview %A[%row, %column] [64, 4] [1, 1] : memref<?x?xf16> to memref<64x4xf16, strided<[?, 1], offset: ?>>
  tile.cp_async %few, %narrow {bypass_l1 = true} : memref<64x4xf16, strided<[?, 1], offset: ?>>, memref<64x4xf16, 3>
  return
}

// Rows of 8 bytes are promised no more than that: neither TMA nor 16 bytes at a time.
// CHECK-LABEL: @unaligned(
// CHECK: tile.cp_async %A
func.func @unaligned(%A: memref<?x?xf16>) attributes {tessera.alignment = 8 : i64} {
  %s = tile.alloc_shared : memref<64x64xf16, 3>
  tile.cp_async %A, %s {bypass_l1 = true} : memref<?x?xf16>, memref<64x64xf16, 3>
  return
}
