// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{the layout has the dimensions lane; expected 128 of lane, and column}}
func.func @f(%d: !nv_tileas.tmem<1x64x8xf32, #nv_tileas.tensor<{lane = [[1,0],[2,0]]}>>)

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
// expected-error @below {{the layout has shape [64, 8], the tile is [64, 16]}}
func.func @f(%d: !nv_tileas.tmem<1x64x16xf32, #half>)

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
// expected-error @below {{an element in tensor memory has 16 or 32 bits, f64 has not}}
func.func @f(%d: !nv_tileas.tmem<1x64x8xf64, #half>)

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f() {
  %d:2 = nv_tileas.alloc_tmem : !sums, !sums
  // expected-error @below {{frees other buffers than those of one nv_tileas.alloc_tmem, in its order}}
  nv_tileas.dealloc_tmem %d#1, %d#0 : !sums, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f(%a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x16x16xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{multiplies [64, 16] by [16, 16] into [64, 8]}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x16x16xf16>, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f(%a: !nv_tileas.smem<1x64x16xbf16>, %b: !nv_tileas.smem<1x16x8xbf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{multiplies bf16 by bf16 into f32 with #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>} : !nv_tileas.smem<1x64x16xbf16>, !nv_tileas.smem<1x16x8xbf16>, !sums
  return
}

// -----

#moved = #nv_tileas.tensor<{lane = [[2,0],[1,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #moved>
func.func @f(%a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{which is not where umma of 64 rows does}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x16x8xf16>, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f(%a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{no instruction computes sm100_umma_m128n8k16 with f16 and f16 into f32; tcgen05.mma supports m = 64 with n a multiple of 8}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n8k16, f16, f16, f32>} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x16x8xf16>, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f(%d: !sums, %slot: i32) {
  // expected-error @below {{loads tensor<64x8xf16> from one stage of}}
  %s = nv_tileas.tmem_load %d, slot %slot : !sums -> tensor<64x8xf16>
  return
}

// -----

#packed = #nv_tileas.tensor<{part = [[0,1]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,2],[0,4],[0,8]]}>
// expected-error @below {{2 elements of 32 bits do not fill a column of 32 bits}}
func.func @f(%d: !nv_tileas.tmem<1x64x16xf32, #packed>)

// -----

#packed = #nv_tileas.tensor<{part = [[0,1]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,2],[0,4],[0,8]]}>
!factor = !nv_tileas.tmem<1x64x16xf16, #packed>
func.func @f(%d: !factor, %slot: i32) {
  // expected-error @below {{whose elements share columns; only products read it}}
  %s = nv_tileas.tmem_load %d, slot %slot : !factor -> tensor<64x16xf16>
  return
}

// -----

#packed = #nv_tileas.tensor<{part = [[0,1]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,2],[0,4],[0,8]]}>
!factor = !nv_tileas.tmem<2x64x16xf16, #packed>
func.func @f(%d: !factor, %t: tensor<64x16xf16>) {
  // expected-error @below {{expected one stage of it}}
  nv_tileas.tmem_store %t, %d : tensor<64x16xf16>, !factor
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf16, #half>
func.func @f(%d: !sums, %t: tensor<64x8xf16>) {
  // expected-error @below {{expected 2 elements in a column, and 128 rows for more than two}}
  nv_tileas.tmem_store %t, %d : tensor<64x8xf16>, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
#moved = #nv_tileas.tensor<{part = [[0,2]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
!factor = !nv_tileas.tmem<1x64x16xf16, #moved>
func.func @f(%a: !factor, %b: !nv_tileas.smem<1x16x8xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{which is not where umma of 64 rows does}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>} : !factor, !nv_tileas.smem<1x16x8xf16>, !sums
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]}>
#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
#of_b = #nv_tileas.tensor<{part = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], column = [[0, 32]]}>
!d = !nv_tileas.tmem<1x128x64xf32, #sums>
!sa = !nv_tileas.tmem<1x128x4xf8E8M0FNU, #of_a>
!sb = !nv_tileas.tmem<1x4x64xf8E8M0FNU, #of_b>
func.func @f(%a: !nv_tileas.smem<1x128x128xf8E4M3FN>, %b: !nv_tileas.smem<1x128x64xf8E4M3FN>, %d: !d, %s: !sa, %add: i1, %slot: i32) {
  // expected-error @below {{has 1 factors of blocks with #cute_nvgpu.mma_atom<sm100_umma_m128n64k32, f8E4M3FN, f8E4M3FN, f32>; expected two, elements of 8 or 4 bits, and 128 rows}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add scales %s {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n64k32, f8E4M3FN, f8E4M3FN, f32>} : !nv_tileas.smem<1x128x128xf8E4M3FN>, !nv_tileas.smem<1x128x64xf8E4M3FN>, !d scales !sa
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]}>
#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
#of_b = #nv_tileas.tensor<{part = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], column = [[0, 32]]}>
!d = !nv_tileas.tmem<1x128x64xf32, #sums>
!sa = !nv_tileas.tmem<1x128x4xf8E8M0FNU, #of_a>
!sb = !nv_tileas.tmem<1x4x64xf8E8M0FNU, #of_b>
func.func @f(%a: !nv_tileas.smem<1x128x128xf8E4M3FN>, %b: !nv_tileas.smem<1x128x64xf8E4M3FN>, %d: !d, %s: !sa, %add: i1, %slot: i32) {
  // expected-error @below {{has factors in !nv_tileas.tmem<1x128x4xf8E8M0FNU}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add scales %s, %s {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n64k32, f8E4M3FN, f8E4M3FN, f32>} : !nv_tileas.smem<1x128x128xf8E4M3FN>, !nv_tileas.smem<1x128x64xf8E4M3FN>, !d scales !sa, !sa
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}>
!d = !nv_tileas.tmem<1x128x32xf32, #sums>
func.func @f(%a: !nv_tileas.smem<1x128x16xf16>, %b: !nv_tileas.smem<1x16x32xf16>, %d: !d, %add: i1, %slot: i32) {
  // expected-error @below {{multiplies [128, 16] by [16, 32] of a pair into [128, 32]}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add pair {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n32k16, f16, f16, f32>} : !nv_tileas.smem<1x128x16xf16>, !nv_tileas.smem<1x16x32xf16>, !d
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>
!d = !nv_tileas.tmem<1x128x16xf32, #sums>
func.func @f(%a: !nv_tileas.smem<1x128x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %d: !d, %add: i1, %slot: i32) {
  // expected-error @below {{expected instructions of 128 rows of each CTA and of all columns, a multiple of 32}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add pair {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n16k16, f16, f16, f32>} : !nv_tileas.smem<1x128x16xf16>, !nv_tileas.smem<1x16x8xf16>, !d
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]}>
!d = !nv_tileas.tmem<1x128x64xf32, #sums>
func.func @f(%a: !nv_tileas.smem<1x128x64xi8>, %b: !nv_tileas.smem<1x64x64xi8>, %d: !d, %add: i1, %slot: i32) {
  // expected-error @below {{has no factors of blocks, with which alone tcgen05.mma multiplies f4E2M1FN}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n64k64, f4E2M1FN, f4E2M1FN, f32>} : !nv_tileas.smem<1x128x64xi8>, !nv_tileas.smem<1x64x64xi8>, !d
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]}>
#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
#of_b = #nv_tileas.tensor<{part = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], column = [[0, 32]]}>
!d = !nv_tileas.tmem<1x128x64xf32, #sums>
!sa = !nv_tileas.tmem<1x128x4xf8E4M3FN, #of_a>
!sb = !nv_tileas.tmem<1x4x64xf8E4M3FN, #of_b>
func.func @f(%a: !nv_tileas.smem<1x128x64xi8>, %b: !nv_tileas.smem<1x64x64xi8>, %d: !d, %s: !sa, %t: !sb, %add: i1, %slot: i32) {
  // expected-error @below {{has factors of f8E4M3FN and f8E4M3FN for blocks of 32 with #cute_nvgpu.mma_atom<sm100_umma_m128n64k64, f4E2M1FN, f4E2M1FN, f32>; tcgen05.mma has f8E8M0FNU for 32; f8E8M0FNU or f8E4M3FN for 16}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add scales %s, %t {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n64k64, f4E2M1FN, f4E2M1FN, f32>} : !nv_tileas.smem<1x128x64xi8>, !nv_tileas.smem<1x64x64xi8>, !d scales !sa, !sb
  return
}

// -----

#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
!sa = !nv_tileas.tmem<2x128x4xf8E4M3FN, #of_a>
func.func @f(%s: !nv_tileas.smem<1x128x8xf8E4M3FN>, %d: !sa, %slot: i32) {
  // expected-error @below {{expected one stage of the same factors of 8 bits}}
  %c = nv_tileas.async.tmem_copy %s, %d, slot %slot : !nv_tileas.smem<1x128x8xf8E4M3FN>, !sa -> !sa
  return
}

// -----

#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0]]}>
!sa = !nv_tileas.tmem<2x64x4xf8E4M3FN, #of_a>
func.func @f(%s: !nv_tileas.smem<1x64x4xf8E4M3FN>, %d: !sa, %slot: i32) {
  // expected-error @below {{expected factors that each 32 lanes hold, in atoms of 128 rows of 4 blocks}}
  %c = nv_tileas.async.tmem_copy %s, %d, slot %slot : !nv_tileas.smem<1x64x4xf8E4M3FN>, !sa -> !sa
  return
}

// -----

#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
!sa = !nv_tileas.tmem<2x128x4xf8E4M3FN, #of_a>
func.func @f(%s: !nv_tileas.smem<1x128x4xf8E4M3FN>, %d: !sa, %slot: i32) {
  // expected-error @below {{expected one stage of !nv_tileas.tmem<2x128x4xf8E4M3FN}}
  %c = nv_tileas.async.tmem_copy %s, %d, slot %slot : !nv_tileas.smem<1x128x4xf8E4M3FN>, !sa -> !sa
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f(%rows: tensor<64x1xi1>, %d: !sums) {
  // expected-error @below {{looks for true elements of tensor<64x1xi1> in the rows of}}
  %any = nv_tileas.any_in_warp %rows, %d : tensor<64x1xi1>, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f() {
  // expected-error @below {{has 1 numbers of shared buffers for 2 buffers}}
  %d:2 = nv_tileas.alloc_tmem shares = [-1] : !sums, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f() {
  // expected-error @below {{lets buffer 0 share the columns of buffer 1; expected an earlier one that has its own}}
  %d:2 = nv_tileas.alloc_tmem shares = [1, -1] : !sums, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f() {
  // expected-error @below {{lets buffer 1 share the columns of buffer 7; expected an earlier one that has its own}}
  %d:2 = nv_tileas.alloc_tmem shares = [-1, 7] : !sums, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f() {
  // expected-error @below {{lets buffer 1 share the columns of buffer -2; expected an earlier one that has its own}}
  %d:2 = nv_tileas.alloc_tmem shares = [-1, -2] : !sums, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f() {
  // expected-error @below {{lets buffer 2 share the columns of buffer 1; expected an earlier one that has its own}}
  %d:3 = nv_tileas.alloc_tmem shares = [-1, 0, 1] : !sums, !sums, !sums
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
#wide = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
!more = !nv_tileas.tmem<1x64x16xf32, #wide>
func.func @f() {
  // expected-error @below {{lets 16 columns of buffer 1 share the 8 of buffer 0}}
  %d:2 = nv_tileas.alloc_tmem shares = [-1, 0] : !sums, !more
  return
}

// -----

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
!sums = !nv_tileas.tmem<1x64x8xf32, #half>
func.func @f(%a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{has rows from 32 on of 64; expected a multiple of 64, and no pair}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>, row = 32} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x16x8xf16>, !sums
  return
}

// -----

func.func @no_buffers() {
  // expected-error @below {{'nv_tileas.alloc_tmem' op allocates nothing; expected one buffer at least}}
  "nv_tileas.alloc_tmem"() : () -> ()
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x128x16xi32, #sums>
func.func @the_sign_of_integers(%a: !nv_tileas.smem<1x128x32xi8>, %b: !nv_tileas.smem<1x32x16xi8>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{'nv_tileas.async.umma' op inverts the sign of i8; tcgen05.mma does that for floating-point types}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n16k32, si8, si8, i32>, negate_a} : !nv_tileas.smem<1x128x32xi8>, !nv_tileas.smem<1x32x16xi8>, !sums
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x128x16xf32, #sums>
func.func @a_part_of_an_instruction(%a: !nv_tileas.smem<1x128x24xf16>, %b: !nv_tileas.smem<1x24x16xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{'nv_tileas.async.umma' op multiplies tiles of 128x16x24 with 128x16x16: expected whole instructions}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n16k16, f16, f16, f32>} : !nv_tileas.smem<1x128x24xf16>, !nv_tileas.smem<1x24x16xf16>, !sums
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x128x16xf32, #sums>
func.func @a_tile_of_another_shape(%x: tensor<128x32xf32>, %d: !sums) {
  // expected-error @below {{'nv_tileas.tmem_store' op stores tensor<128x32xf32> to !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>; expected one stage of it}}
  nv_tileas.tmem_store %x, %d : tensor<128x32xf32>, !sums
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
// expected-error @below {{tensor memory needs static extents of matrices, with the number of stages before them}}
func.func @a_buffer_without_stages(%d: !nv_tileas.tmem<16xf32, #sums>)

// -----

// expected-error @below {{expected a layout #nv_tileas.tensor<…>, got #nv_tileas.shared<{offset = [[0, 1]]}>}}
func.func @a_layout_of_shared_memory(%d: !nv_tileas.tmem<1x128x16xf32, #nv_tileas.shared<{offset = [[0, 1]]}>>)

// -----

#sums = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x128x16xf32, #sums>
func.func @factors_of_two_stages(%a: !nv_tileas.smem<2x128x16xf16>, %b: !nv_tileas.smem<1x16x16xf16>, %d: !sums, %add: i1, %slot: i32) {
  // expected-error @below {{'nv_tileas.async.umma' op requires factors of one stage; select one with nv_tileas.view}}
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n16k16, f16, f16, f32>} : !nv_tileas.smem<2x128x16xf16>, !nv_tileas.smem<1x16x16xf16>, !sums
  return
}

// -----

#sums = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<1x128x16xf32, #sums>
func.func @a_load_of_another_tile(%d: !sums, %slot: i32) {
  // expected-error @below {{'nv_tileas.tmem_load' op loads tensor<128x32xf32> from one stage of !nv_tileas.tmem<1x128x16xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8]]}>>}}
  %x = nv_tileas.tmem_load %d, slot %slot : !sums -> tensor<128x32xf32>
  return
}
