// RUN: tessera-opt %s --convert-tile-to-tileas=gpu-name=sm_90a -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %s --convert-tile-to-tileas=gpu-name=sm_90a --remarks=text -o %t 2>&1 | filecheck %s --check-prefix=WHY
// RUN: tessera-opt %s --convert-tile-to-tileas="gpu-name=sm_90a abi=plain" | filecheck %s --check-prefix=PLAIN
// RUN: tessera-opt %s --convert-tile-to-tileas=gpu-name=sm_80 | filecheck %s --check-prefix=PLAIN
// RUN: not tessera-opt %s --convert-tile-to-tileas=abi=hidden 2>&1 | filecheck %s --check-prefix=ABI

// PLAIN-NOT: box_copy
// ABI: error: unknown abi 'hidden'; expected default or plain

// Two groups are in flight in a loop, so there are two mbarriers. The loop carries the group that is committed next, and the
// one that is waited for next; the last group is waited for behind it.
// CHECK-LABEL: @ring(
// CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2,
// CHECK: %[[D:.*]] = nv_tileas.make_tiled_tma_desc {{.*}} box = [64, 32] {{.*}}swizzle_64B
// CHECK: nv_tileas.async.box_copy %[[D]][{{.*}}], %a[{{.*}}] in %[[P]],
// CHECK: nv_tileas.async.box_commit %[[P]],
// CHECK-NOT: box_wait
// CHECK: scf.for {{.*}}!nv_tileas.pipeline_iter<i32>, !nv_tileas.pipeline_iter<i32>
// CHECK: nv_tileas.async.box_commit
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 1
// CHECK: nv_tileas.barrier phases
// CHECK: scf.yield
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
// CHECK-NOT: async.commit_group
// WHY: remark[passed]: copy by TMA in boxes of 64x32 elements [tma]
func.func @ring(%A: memref<?x?xf16>, %D: memref<64x32xf16>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<2x64x32xf16, 3>
  %t = tile.thread_id : index
  %first = memref.subview %A[0, 0] [64, 32] [1, 1] : memref<?x?xf16> to memref<64x32xf16, strided<[?, 1]>>
  %s0 = memref.subview %a[0, 0, 0] [1, 64, 32] [1, 1, 1] : memref<2x64x32xf16, 3> to memref<64x32xf16, strided<[32, 1]>, 3>
  tile.cp_async %first, %s0 : memref<64x32xf16, strided<[?, 1]>>, memref<64x32xf16, strided<[32, 1]>, 3>
  tile.cp_commit_group
  scf.for %i = %c0 to %n step %c1 {
    %later = arith.addi %i, %c1 : index
    %column = arith.muli %later, %c32 : index
    %stage = arith.remui %later, %c2 : index
    %in = memref.subview %A[0, %column] [64, 32] [1, 1] : memref<?x?xf16> to memref<64x32xf16, strided<[?, 1], offset: ?>>
    %s = memref.subview %a[%stage, 0, 0] [1, 64, 32] [1, 1, 1] : memref<2x64x32xf16, 3> to memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    tile.barrier
    tile.cp_async %in, %s : memref<64x32xf16, strided<[?, 1], offset: ?>>, memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    tile.cp_commit_group
    tile.cp_wait_group 1
    tile.barrier
  }
  return
}

// The first iteration would wait for two groups, and the others for one: the loop is preceded by a wait for the first.
// CHECK-LABEL: @early(
// CHECK: nv_tileas.async.box_commit
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
// CHECK: scf.for
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
func.func @early(%A: memref<64x64xf16>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  scf.for %i = %c0 to %n step %c1 {
    tile.barrier
    tile.cp_async %A, %b : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
  }
  return
}

// A thread may be at a wait while another one starts later groups: each group has an mbarrier of its own until a barrier.
// CHECK-LABEL: @apart(
// CHECK: create_pipeline stages = 3,
// CHECK-NOT: nv_tileas.barrier
// CHECK: nv_tileaa.return
func.func @apart(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %c = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.cp_async %A, %b : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.cp_async %A, %c : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  return
}

// A loop without a barrier would need an mbarrier in each iteration: a barrier stands before each commit behind a wait.
// CHECK-LABEL: @without_barriers(
// CHECK: create_pipeline stages = 1,
// CHECK: nv_tileas.async.box_copy
// CHECK-NEXT: nv_tileas.async.box_commit
// CHECK: scf.for
// CHECK: nv_tileas.async.box_copy
// CHECK-NEXT: nv_tileas.barrier phases
// CHECK-NEXT: nv_tileas.async.box_commit
func.func @without_barriers(%A: memref<64x64xf16>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  scf.for %i = %c0 to %n step %c1 {
    tile.cp_async %A, %b : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
  }
  return
}

// Eight groups that were waited for need no barrier; nine do.
// CHECK-LABEL: @eight(
// CHECK: create_pipeline stages = 8,
// CHECK-NOT: nv_tileas.barrier
// CHECK-LABEL: @nine(
// CHECK: create_pipeline stages = 8,
// CHECK: nv_tileas.barrier phases
// CHECK-NEXT: nv_tileas.async.box_commit
func.func @eight(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.for %i = %c0 to %c7 step %c1 {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  tile.cp_async %A, %b : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  return
}
func.func @nine(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.for %i = %c0 to %c8 step %c1 {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  tile.cp_async %A, %b : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  return
}

// A copy under a condition is a part of the group that is committed behind it. A group without boxes has no mbarrier.
// CHECK-LABEL: @conditional(
// CHECK: create_pipeline stages = 1,
// CHECK: scf.if
// CHECK: nv_tileas.async.box_copy
// CHECK: nv_tileas.async.box_commit
// CHECK-NOT: nv_tileas.async.box_commit
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
func.func @conditional(%A: memref<64x64xf16>, %flag: i1) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.if %flag {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  }
  tile.cp_commit_group
  tile.cp_commit_group
  tile.cp_wait_group 0
  return
}

// A copy that nothing waits for is complete before the kernel ends: its bytes may become those of another block.
// CHECK-LABEL: @unfinished(
// CHECK: nv_tileas.async.box_copy
// CHECK-NEXT: nv_tileas.async.box_commit
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
// CHECK: nv_tileaa.return
func.func @unfinished(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  return
}

// The boxes that a program names are copied, if each begins where the pattern of the swizzle does.
// CHECK-LABEL: @named(
// CHECK: box = [16, 64]
// CHECK: box = [64, 64]
// WHY: remark[missed]: tile_size is ignored: the boxes have 64x64 elements, as the buffer requires [ignored-attribute]
func.func @named(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.tma_load %A, %a {tile_size = array<i64: 16, 64>} : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.tma_load %A, %a {tile_size = array<i64: 4, 64>} : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.async_wait
  return
}

// What TMA does not copy, cp.async does, in groups of its own.
// CHECK-LABEL: @mixed(
// CHECK: nv_tileas.async.box_copy
// CHECK: nv_tileas.async.tiled_copy
// CHECK: nv_tileas.async.commit_group
// CHECK: nv_tileas.async.wait_group 0
// CHECK: nv_tileas.async.box_commit
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
// WHY: remark[missed]: TMA does not copy the tile: rows of 8 bytes are no whole boxes of 16 bytes [tma]
// WHY: remark[missed]: TMA does not copy the tile: its slice may end inside the tensor, whose bounds are those that TMA checks [tma]
// WHY: remark[missed]: TMA does not copy the tile: tile.cp_async_cg names another instruction [tma]
func.func @mixed(%A: memref<?x?xf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %narrow = tile.alloc_shared : memref<64x4xf16, 3>
  %s = memref.subview %A[0, 0] [64, 64] [1, 1] : memref<?x?xf16> to memref<64x64xf16, strided<[?, 1]>>
  %few = memref.subview %A[0, 0] [64, 4] [1, 1] : memref<?x?xf16> to memref<64x4xf16, strided<[?, 1]>>
  %part = memref.subview %A[0, 0] [32, 64] [1, 1] : memref<?x?xf16> to memref<32x64xf16, strided<[?, 1]>>
  tile.cp_async %s, %a : memref<64x64xf16, strided<[?, 1]>>, memref<64x64xf16, 3>
  tile.cp_async %few, %narrow : memref<64x4xf16, strided<[?, 1]>>, memref<64x4xf16, 3>
  tile.cp_async %part, %a : memref<32x64xf16, strided<[?, 1]>>, memref<64x64xf16, 3>
  tile.cp_async_cg %s, %a : memref<64x64xf16, strided<[?, 1]>>, memref<64x64xf16, 3>
  tile.async_wait
  return
}

// Where the number of groups in flight is unknown, or rows begin anywhere, there is no TMA.
// CHECK-LABEL: @unknown(
// CHECK-NOT: box_copy
// WHY: remark[missed]: TMA does not copy the tile: the kernel has tile.cp_commit_group under a condition (line {{[0-9]+}}) [tma]
func.func @unknown(%A: memref<64x64xf16>, %flag: i1) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.if %flag {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  return
}

// WHY: remark[missed]: TMA does not copy the tile: the kernel has copies in a loop under a condition [tma]
func.func @perhaps(%A: memref<64x64xf16>, %flag: i1, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.if %flag {
    scf.for %i = %c0 to %n step %c1 {
      tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    }
  }
  tile.async_wait
  return
}

// WHY: remark[missed]: TMA does not copy the tile: each iteration of the loop in line {{[0-9]+}} leaves one more group in flight [tma]
func.func @growing(%A: memref<64x64xf16>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.for %i = %c0 to %n step %c1 {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  return
}

// Groups that a loop starts are counted if it has a small known number of iterations.
// CHECK-LABEL: @once(
// CHECK: create_pipeline stages = 1,
// CHECK: scf.for
// CHECK: nv_tileas.async.box_commit
// CHECK: nv_tileas.async.box_wait {{.*}} pending = 0
func.func @once(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.for %i = %c0 to %c1 step %c1 {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  return
}

// CHECK-LABEL: @often(
// CHECK: create_pipeline stages = 16,
// CHECK: scf.for
// CHECK: nv_tileas.async.box_commit
func.func @often(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.for %i = %c0 to %c16 step %c1 {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  return
}

// WHY: remark[missed]: TMA does not copy the tile: each iteration of the loop in line {{[0-9]+}} leaves one more group in flight [tma]
func.func @too_often(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c17 = arith.constant 17 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  scf.for %i = %c0 to %c17 step %c1 {
    tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
    tile.cp_commit_group
  }
  tile.cp_wait_group 0
  return
}

// WHY: remark[missed]: TMA does not copy the tile: tessera.alignment is 8, and TMA needs multiples of 16 bytes [tma]
func.func @unaligned(%A: memref<?x?xf16>) attributes {tessera.kernel, tessera.alignment = 8 : i64} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<?x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  return
}
