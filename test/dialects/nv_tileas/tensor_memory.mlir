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
