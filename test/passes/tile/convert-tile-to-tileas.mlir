// RUN: tessera-opt %s --convert-tile-to-tileas | filecheck %s
// RUN: tessera-opt %s --convert-tile-to-tileas --mlir-print-op-generic | filecheck %s --check-prefix NONE

// NONE-NOT: "tile.

// A loop passes the fragments that it changes; what the program writes of copies, waits and barriers stays; a sum begins
// with what it is added to; a condition that differs by thread chooses elements.
//
// CHECK: module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"}
// CHECK: nv_tileaa.func @kernel(%A: !llvm.ptr<1>, %arg0: i32, %arg1: i32, %arg2: i32, %arg3: i32, %D: !llvm.ptr<1>, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %n: index, %x: f32)
// CHECK-SAME: num_warps = 4
// CHECK: %a = nv_tileas.alloc_tensor : !nv_tileas.smem<1x64x64xf16
// CHECK: %[[INIT:.*]] = nv_tileaa.splat %x : f32 -> tensor<64x64xf32>
// CHECK: %acc = scf.for %[[K:.*]] = %c0 to %n step %c64 iter_args(%[[OLD:.*]] = %[[INIT]]) -> (tensor<64x64xf32>)
// An extent may be 0; the last one is of whole vectors, as the alignment of the argument says.
// CHECK: nv_tileaa.assume %arg0 {lower = 0 : i64} : i32
// CHECK: nv_tileaa.assume %arg1 {divisor = 8 : i64, lower = 0 : i64} : i32
// CHECK: nv_tileas.barrier
// CHECK: nv_tileas.async.tiled_copy {{.*}} {atom = #cute.copy_atom<sm80_cp_async_128_f16>}
// CHECK-NEXT: nv_tileas.async.commit_group
// CHECK-NEXT: nv_tileas.async.wait_group 0
// CHECK-NEXT: nv_tileas.barrier
// CHECK: nv_tileas.load %a[%{{.*}}] offsets = [0, 0] {atom = #cute.copy_atom<sm75_ldmatrix_x4_f16>}
// CHECK: nv_tileas.dot %{{.*}}, %{{.*}}, %[[OLD]] {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>
// CHECK: nv_tileas.load %a[%{{.*}}] offsets = [0, 48]
// CHECK: %[[NEW:.*]] = nv_tileas.dot
// CHECK: scf.yield %[[NEW]] : tensor<64x64xf32>
// CHECK: nv_tileas.async.wait_group 0
// CHECK: %[[CONDITION:.*]] = arith.cmpi slt
// CHECK: %[[CHOSEN:.*]] = arith.select %[[CONDITION]], %{{.*}}, %acc : tensor<64x64xf32>
// CHECK: nv_tileas.tiled_store {{.*}}, %[[CHOSEN]], %{{.*}} {atom = #cute.copy_atom<sm80_stg_128_f32>}
func.func @kernel(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  scf.for %k = %c0 to %n step %c64 {
    %m = tile.compute_tensor_slice %A, %k : memref<?x?xf16>, index -> memref<64x?xf16>
    tile.barrier
    tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
    %p = tile.mma %a, %a {transpose_b = true} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  }
  %t = tile.thread_id : index
  %cond = arith.cmpi slt, %t, %c64 : index
  scf.if %cond {
    tile.mask_fill %acc, %x : memref<4x8xf32, 5>, f32
  }
  tile.store_global %acc, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// What only some threads fill with is computed by all of them: its whole computation leaves the branch.
//
// CHECK-LABEL: nv_tileaa.func @filled_by_some
// CHECK: %[[SUM:.*]] = arith.addf %x, %y : f32
// CHECK: %[[PRODUCT:.*]] = arith.mulf %y, %[[SUM]] : f32
// CHECK: %[[FILLED:.*]] = nv_tileaa.splat %[[PRODUCT]]
// CHECK: arith.select %{{.*}}, %[[FILLED]], %{{.*}}
func.func @filled_by_some(%D: memref<64x64xf32>, %x: f32, %y: f32) attributes {tessera.kernel} {
  %c64 = arith.constant 64 : index
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %cond = arith.cmpi slt, %t, %c64 : index
  scf.if %cond {
    %sum = arith.addf %x, %y : f32
    %product = arith.mulf %y, %sum : f32
    tile.fill %acc, %product : memref<4x8xf32, 5>
  }
  tile.store_global %acc, %D : memref<4x8xf32, 5>, memref<64x64xf32>
  return
}

// Integers are added, and taken for signed where it matters; a cast makes floats of them.
//
// CHECK-LABEL: nv_tileaa.func @integers
// CHECK: arith.constant dense<0> : tensor<64x64xi32>
// CHECK: nv_tileas.dot {{.*}}mma_atom<sm80_m16n8k32, si8, si8, i32>
// CHECK: arith.maxsi {{.*}} : tensor<64x64xi32>
// CHECK: arith.addi {{.*}} : tensor<64x64xi32>
// CHECK: arith.sitofp {{.*}} : tensor<64x64xi32> to tensor<64x64xf32>
func.func @integers(%A: memref<?x?xi8>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xi8, 3>
  tile.cp_async %A, %a : memref<?x?xi8>, memref<64x64xi8, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %a, %a {transpose_b = true} : memref<64x64xi8, 3>, memref<64x64xi8, 3> -> memref<4x8xi32, 5>
  %q = tile.element_max %p, %p : memref<4x8xi32, 5>, memref<4x8xi32, 5> -> memref<4x8xi32, 5>
  tile.accumulate %q, %p : memref<4x8xi32, 5>, memref<4x8xi32, 5>
  %f = tile.cast %q : memref<4x8xi32, 5> to memref<4x8xf32, 5>
  tile.store_global %f, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// Reductions and broadcasts by row.
//
// CHECK-LABEL: nv_tileaa.func @rows
// CHECK: nv_tileaa.reduce
// CHECK: arith.maxnumf
// CHECK: nv_tileaa.reshape {{.*}} -> tensor<64x1xf32>
// CHECK: nv_tileaa.broadcast {{.*}} -> tensor<64x64xf32>
func.func @rows(%A: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<?x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %a, %a {transpose_b = true} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %r = tile.reduce max %p : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %b = tile.broadcast %r : memref<4xf32, 5> -> memref<4x8xf32, 5>
  tile.store_global %b, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// A causal mask hides the columns behind the row, a bound mask the columns from a number on.
//
// CHECK-LABEL: nv_tileaa.func @masks
// CHECK: %[[R:.+]] = nv_tileaa.reshape {{.*}} -> tensor<64x1xi32>
// CHECK: %[[ROWS:.+]] = nv_tileaa.broadcast %[[R]]
// CHECK: %[[C:.+]] = nv_tileaa.reshape {{.*}} -> tensor<1x64xi32>
// CHECK: %[[COLUMNS:.+]] = nv_tileaa.broadcast %[[C]]
// CHECK: arith.cmpi slt, %[[ROWS]], %[[COLUMNS]]
// CHECK: arith.select
// CHECK: %[[L:.+]] = nv_tileaa.reshape {{.*}} -> tensor<1x64xi32>
// CHECK: %[[LATER:.+]] = nv_tileaa.broadcast %[[L]]
// CHECK: %[[LIMIT:.+]] = nv_tileaa.splat
// CHECK: arith.cmpi sge, %[[LATER]], %[[LIMIT]]
// CHECK: arith.select
func.func @masks(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %i: index, %j: index, %n: index, %x: f32)
    attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<?x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p = tile.mma %a, %a {transpose_b = true} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.causal_mask %p, %i, %j, %x : memref<4x8xf32, 5>
  tile.bound_mask %p, %j, %n, %x : memref<4x8xf32, 5>
  tile.store_global %p, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}
