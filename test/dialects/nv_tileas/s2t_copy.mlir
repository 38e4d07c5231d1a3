// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

// Two CTAs copy by one instruction, four by two.
// CHECK-LABEL: func.func @copies
func.func @copies(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // CHECK: nv_tileas.async.s2t_copy %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 2>} : !nv_tileas.smem<1x128x32xf32
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 2>} : !smem, !tmem, !bar
  // CHECK: nv_tileas.async.s2t_copy {{.*}}#cute_nvgpu.s2t_copy<shape_128x128b, ctas = 4>
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x128b, ctas = 4>} : !smem, !tmem, !bar
  return
}

!few = !nv_tileas.smem<1x64x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0]]}>>

// The lanes of two warps get each of 64 rows, and packed elements become bytes.
// CHECK-LABEL: func.func @multicast
func.func @multicast(%a: !few, %d: !tmem, %bar: !bar, %stage: i32) {
  // CHECK: nv_tileas.async.s2t_copy {{.*}}#cute_nvgpu.s2t_copy<shape_64x128b, warpx2_02_13, ctas = 2>
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_64x128b, warpx2_02_13, ctas = 2>} : !few, !tmem, !bar
  // CHECK: nv_tileas.async.s2t_copy {{.*}}#cute_nvgpu.s2t_copy<shape_64x128b, warpx2_01_23, ctas = 1, b4x16_p64>
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_64x128b, warpx2_01_23, ctas = 1, b4x16_p64>} : !few, !tmem, !bar
  return
}
