// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

!response = !nv_tileas.smem<1x4xi32, #nv_tileas.shared<{offset = [[1], [2]]}>>
!mbarrier = !nv_tileas.smem<1x1xi64, #nv_tileas.shared<{offset = [], outs = {dim0 = 1}}>>

// CHECK-LABEL: @k
nv_tileaa.func @k(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %r = nv_tileas.alloc_tensor : !response
  %b = nv_tileas.alloc_tensor : !mbarrier
  // CHECK: nv_tileas.async.cancel_launch %{{.*}}, %{{.*}} : !nv_tileas.smem<1x4xi32
  nv_tileas.async.cancel_launch %r, %b : !response, !mbarrier
  // CHECK: nv_tileas.canceled_program_id %{{.*}}, %n, %n : !nv_tileas.smem<1x4xi32{{.*}} -> i32
  %x = nv_tileas.canceled_program_id %r, %n, %n : !response -> i32
  nv_tileaa.return
}
