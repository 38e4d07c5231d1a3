// RUN: tessera-opt %s --split-input-file --verify-diagnostics

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{3 CTAs cannot copy together; expected 1, 2 or 4}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 3>} : !smem, !tmem, !bar
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{unknown shape 'shape_16x128b' of a copy; expected one of shape_128x256b, shape_128x128b, shape_4x256b}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_16x128b, ctas = 2>} : !smem, !tmem, !bar
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %stage: i32) {
  // expected-error @below {{an mbarrier is !nv_tileas.smem<stages x 1 x i64>}}
  nv_tileas.async.s2t_copy %a, %d, %a[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 2>} : !smem, !tmem, !smem
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !bar, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{expected one stage of the same tile}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 2>} : !bar, !tmem, !bar
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{shape_64x128b copies with multicast none; expected warpx2_02_13 or warpx2_01_23}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_64x128b, ctas = 2>} : !smem, !tmem, !bar
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{shape_128x128b copies with multicast warpx4; expected none}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x128b, warpx4, ctas = 2>} : !smem, !tmem, !bar
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{unknown format 'b5x16' of a copy; expected b6x16_p32 or b4x16_p64}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x128b, ctas = 2, b5x16>} : !smem, !tmem, !bar
  return
}

// -----

!smem = !nv_tileas.smem<1x128x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
!bar = !nv_tileas.smem<1x1xi64>

func.func @f(%a: !smem, %d: !tmem, %bar: !bar, %stage: i32) {
  // expected-error @below {{expected 32 rows, 128 lanes, and the same columns}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_32x128b, warpx4, ctas = 2>} : !smem, !tmem, !bar
  return
}

// -----

!tmem = !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>
func.func @two_stages(%a: !nv_tileas.smem<2x128x32xf32>, %d: !tmem, %bar: !nv_tileas.smem<1x1xi64>, %stage: i32) {
  // expected-error @below {{'nv_tileas.async.s2t_copy' op copies !nv_tileas.smem<2x128x32xf32> to !nv_tileas.tmem<1x128x32xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>>; expected one stage of the same tile}}
  nv_tileas.async.s2t_copy %a, %d, %bar[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 1>} : !nv_tileas.smem<2x128x32xf32>, !tmem, !nv_tileas.smem<1x1xi64>
  return
}
