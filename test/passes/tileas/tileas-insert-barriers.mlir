// RUN: tessera-opt %s --tileas-insert-barriers | filecheck %s

#rows = #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4], [8, 0]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [0, 16]], warp = [[0, 32]], block = []}>
#columns = #nv_tileas.linear<{register = [[1, 0], [2, 0], [4, 0], [0, 8]], lane = [[8, 0], [0, 1], [0, 2], [0, 4], [0, 32]], warp = [[0, 16]], block = []}>
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // Two conversions use the same bytes one after the other: a barrier between; each has the one in it besides.
  // CHECK-LABEL: nv_tileaa.func @one_after_the_other
  // CHECK-NEXT: nv_tileas.convert_layout %x {nv_tileas.offset = 0 : i64}
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: nv_tileas.convert_layout %y {nv_tileas.offset = 0 : i64}
  // CHECK-NEXT: nv_tileaa.return
  nv_tileaa.func @one_after_the_other(%x: tensor<16x64xf32, #rows>, %y: tensor<16x64xf32, #rows>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 2, cluster = [1, 1, 1]>} {
    %0 = nv_tileas.convert_layout %x : tensor<16x64xf32, #rows> -> tensor<16x64xf32, #columns>
    %1 = nv_tileas.convert_layout %y : tensor<16x64xf32, #rows> -> tensor<16x64xf32, #columns>
    nv_tileaa.return
  }

  // What a loop stores before itself is waited for once; what it stores for its next iteration, in each.
  // CHECK-LABEL: nv_tileaa.func @loops
  // CHECK: nv_tileas.store
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: nv_tileas.load
  // CHECK: scf.for
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: nv_tileas.store
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: nv_tileas.load
  nv_tileaa.func @loops(%x: tensor<16x64xf32, #rows>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 2, cluster = [1, 1, 1]>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %b = nv_tileas.alloc_tensor : !nv_tileas.smem<1x16x64xf32>
    nv_tileas.store %x, %b[%c0] {atom = #cute.copy_atom<sm80_sts_128_f32>} : tensor<16x64xf32, #rows>, !nv_tileas.smem<1x16x64xf32>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %0 = nv_tileas.load %b[%c0] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<1x16x64xf32> -> tensor<16x64xf32, #columns>
    }
    scf.for %i = %c0 to %n step %c1 : i32 {
      nv_tileas.store %x, %b[%c0] {atom = #cute.copy_atom<sm80_sts_128_f32>} : tensor<16x64xf32, #rows>, !nv_tileas.smem<1x16x64xf32>
      %0 = nv_tileas.load %b[%c0] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<1x16x64xf32> -> tensor<16x64xf32, #columns>
    }
    nv_tileaa.return
  }

  // Barriers that order nothing go.  Buffers whose lives meet lie apart, and need no order.
  // CHECK-LABEL: nv_tileaa.func @apart
  // CHECK: nv_tileas.alloc_tensor {nv_tileas.offset = 0 : i64}
  // CHECK-NEXT: nv_tileas.alloc_tensor {nv_tileas.offset = 4096 : i64}
  // CHECK-NEXT: nv_tileas.store
  // CHECK-NEXT: nv_tileas.store
  // CHECK-NEXT: nv_tileas.barrier
  // CHECK-NEXT: nv_tileas.load
  // CHECK-NEXT: nv_tileas.load
  // CHECK-NEXT: nv_tileaa.return
  nv_tileaa.func @apart(%x: tensor<16x64xf32, #rows>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 2, cluster = [1, 1, 1]>} {
    %c0 = arith.constant 0 : i32
    nv_tileas.barrier
    %a = nv_tileas.alloc_tensor : !nv_tileas.smem<1x16x64xf32>
    %b = nv_tileas.alloc_tensor : !nv_tileas.smem<1x16x64xf32>
    nv_tileas.store %x, %a[%c0] {atom = #cute.copy_atom<sm80_sts_128_f32>} : tensor<16x64xf32, #rows>, !nv_tileas.smem<1x16x64xf32>
    nv_tileas.barrier
    nv_tileas.store %x, %b[%c0] {atom = #cute.copy_atom<sm80_sts_128_f32>} : tensor<16x64xf32, #rows>, !nv_tileas.smem<1x16x64xf32>
    nv_tileas.barrier
    nv_tileas.barrier
    %0 = nv_tileas.load %a[%c0] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<1x16x64xf32> -> tensor<16x64xf32, #columns>
    nv_tileas.barrier
    %1 = nv_tileas.load %b[%c0] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<1x16x64xf32> -> tensor<16x64xf32, #columns>
    nv_tileaa.return
  }
}
