// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

#half = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,1],[0,2],[0,4]]}>
#whole = #nv_tileas.tensor<{lane = [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]], column = [[0,1],[0,2],[0,4],[0,8]]}>
#packed = #nv_tileas.tensor<{part = [[0,1]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0],[16,0],[32,0]], column = [[0,2],[0,4],[0,8]]}>
!sums = !nv_tileas.tmem<2x64x8xf32, #half>
!more = !nv_tileas.tmem<1x128x16xf16, #whole>

// CHECK-LABEL: func.func @product
func.func @product(%a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %add: i1, %slot: i32) {
  // CHECK: %[[D:.*]]:2 = nv_tileas.alloc_tmem : !nv_tileas.tmem<2x64x8xf32, #nv_tileas.tensor<{{.*}}>>, !nv_tileas.tmem<1x128x16xf16
  %d:2 = nv_tileas.alloc_tmem : !sums, !more
  // CHECK: nv_tileas.async.umma %{{.*}}, %{{.*}}, %[[D]]#0, slot %{{.*}} accumulate %{{.*}} {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>, negate_a}
  nv_tileas.async.umma %a, %b, %d#0, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>, negate_a} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x16x8xf16>, !sums
  // CHECK: nv_tileas.tmem_load %[[D]]#1, slot %{{.*}} : {{.*}} -> tensor<128x16xf16>
  %s = nv_tileas.tmem_load %d#1, slot %slot : !more -> tensor<128x16xf16>
  // CHECK: nv_tileas.dealloc_tmem %[[D]]#0, %[[D]]#1
  nv_tileas.dealloc_tmem %d#0, %d#1 : !sums, !more
  return
}

!factor = !nv_tileas.tmem<1x64x16xf16, #packed>

// The left factor may be in tensor memory, two f16 in a column.
// CHECK-LABEL: func.func @left_in_tensor_memory
func.func @left_in_tensor_memory(%t: tensor<64x16xf16>, %b: !nv_tileas.smem<1x16x8xf16>, %add: i1, %slot: i32) {
  %d:2 = nv_tileas.alloc_tmem : !sums, !factor
  // CHECK: nv_tileas.tmem_store %{{.*}}, %[[D:.*]]#1 : tensor<64x16xf16>, !nv_tileas.tmem<1x64x16xf16
  nv_tileas.tmem_store %t, %d#1 : tensor<64x16xf16>, !factor
  // CHECK: nv_tileas.async.umma %[[D]]#1, %{{.*}}, %[[D]]#0, slot
  nv_tileas.async.umma %d#1, %b, %d#0, slot %slot accumulate %add {atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>} : !factor, !nv_tileas.smem<1x16x8xf16>, !sums
  nv_tileas.dealloc_tmem %d#0, %d#1 : !sums, !factor
  return
}

#sums = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]}>
#of_a = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
#of_b = #nv_tileas.tensor<{part = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], column = [[0, 32]]}>
!d = !nv_tileas.tmem<1x128x64xf32, #sums>
!sa = !nv_tileas.tmem<1x128x4xf8E8M0FNU, #of_a>
!sb = !nv_tileas.tmem<1x4x64xf8E8M0FNU, #of_b>

// Factors of blocks of 32 elements, four of a row in a column.
// CHECK-LABEL: func.func @scaled
func.func @scaled(%a: !nv_tileas.smem<1x128x128xf8E4M3FN>, %b: !nv_tileas.smem<1x128x64xf8E4M3FN>, %add: i1, %slot: i32) {
  %d:3 = nv_tileas.alloc_tmem : !d, !sa, !sb
  // CHECK: nv_tileas.async.umma %{{.*}}, %{{.*}}, %[[D:.*]]#0, slot %{{.*}} accumulate %{{.*}} scales %[[D]]#1, %[[D]]#2 {
  nv_tileas.async.umma %a, %b, %d#0, slot %slot accumulate %add scales %d#1, %d#2 {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n64k32, f8E4M3FN, f8E4M3FN, f32>} : !nv_tileas.smem<1x128x128xf8E4M3FN>, !nv_tileas.smem<1x128x64xf8E4M3FN>, !d scales !sa, !sb
  nv_tileas.dealloc_tmem %d#0, %d#1, %d#2 : !d, !sa, !sb
  return
}

// Half of b in each CTA of a pair.
// CHECK-LABEL: func.func @pair
func.func @pair(%a: !nv_tileas.smem<1x128x16xf16>, %b: !nv_tileas.smem<1x16x32xf16>, %add: i1, %slot: i32) {
  // CHECK: create_pipeline stages = 2, producers = 1, consumers = 8 pair : !nv_tileas.pipeline_token
  %pipe = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 8 pair : !nv_tileas.pipeline_token
  // CHECK: nv_tileas.alloc_tmem pair :
  %d = nv_tileas.alloc_tmem pair : !d
  // CHECK: nv_tileas.async.umma %{{.*}}, %{{.*}}, %{{.*}}, slot %{{.*}} accumulate %{{.*}} pair {
  nv_tileas.async.umma %a, %b, %d, slot %slot accumulate %add pair {atom = #cute_nvgpu.mma_atom<sm100_umma_m128n64k16, f16, f16, f32>} : !nv_tileas.smem<1x128x16xf16>, !nv_tileas.smem<1x16x32xf16>, !d
  nv_tileas.dealloc_tmem %d : !d
  return
}

// Factors of blocks: four of a row in a column, and 32 rows in the lanes.
#of_rows = #nv_tileas.tensor<{part = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], column = [[32, 0], [64, 0]]}>
!staged = !nv_tileas.tmem<2x128x4xf8E4M3FN, #of_rows>
!one_stage = !nv_tileas.tmem<1x128x4xf8E4M3FN, #of_rows>

// CHECK-LABEL: func.func @copied
func.func @copied(%s: !nv_tileas.smem<1x128x4xf8E4M3FN>, %slot: i32) {
  // CHECK: %[[D:.*]] = nv_tileas.alloc_tmem
  %d = nv_tileas.alloc_tmem : !staged
  // CHECK: nv_tileas.async.tmem_copy %{{.*}}, %[[D]], slot %{{.*}} : !nv_tileas.smem<1x128x4xf8E4M3FN>, !nv_tileas.tmem<2x128x4xf8E4M3FN, {{.*}}> -> !nv_tileas.tmem<1x128x4xf8E4M3FN
  %c = nv_tileas.async.tmem_copy %s, %d, slot %slot : !nv_tileas.smem<1x128x4xf8E4M3FN>, !staged -> !one_stage
  // CHECK: slot %{{.*}} pair
  %p = nv_tileas.async.tmem_copy %s, %d, slot %slot pair : !nv_tileas.smem<1x128x4xf8E4M3FN>, !staged -> !one_stage
  nv_tileas.dealloc_tmem %d : !staged
  return
}

// CHECK-LABEL: func.func @any_in_warp
func.func @any_in_warp(%rows: tensor<128x1xi1>) -> i1 {
  %d = nv_tileas.alloc_tmem : !more
  // CHECK: nv_tileas.any_in_warp %{{.*}}, %{{.*}} : tensor<128x1xi1>, !nv_tileas.tmem<1x128x16xf16
  %any = nv_tileas.any_in_warp %rows, %d : tensor<128x1xi1>, !more
  nv_tileas.dealloc_tmem %d : !more
  return %any : i1
}
