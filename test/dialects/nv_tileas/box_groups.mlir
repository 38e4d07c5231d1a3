// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: @f(
// CHECK: nv_tileas.async.box_copy %d[%x, %x, %x], %b[%x] in %p, %i : !nv_tileas.tma_desc<1x64x64xf16>, !nv_tileas.smem<2x64x64xf16>
// CHECK: nv_tileas.async.box_commit %p, %i
// CHECK: nv_tileas.async.box_wait %p, %j pending = 0
// CHECK: nv_tileas.async.box_wait %p, slot %x phase %x pending = 1
// CHECK: nv_tileas.barrier phases
func.func @f(%d: !nv_tileas.tma_desc<1x64x64xf16>, %b: !nv_tileas.smem<2x64x64xf16>, %x: i32) {
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 1 : !nv_tileas.pipeline_token
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  %j = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  nv_tileas.async.box_copy %d[%x, %x, %x], %b[%x] in %p, %i : !nv_tileas.tma_desc<1x64x64xf16>, !nv_tileas.smem<2x64x64xf16>
  nv_tileas.async.box_commit %p, %i
  nv_tileas.async.box_wait %p, %j pending = 0
  nv_tileas.async.box_wait %p, slot %x phase %x pending = 1
  nv_tileas.barrier phases
  return
}
