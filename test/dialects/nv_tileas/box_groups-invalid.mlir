// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @indices(%d: !nv_tileas.tma_desc<64x64xf16>, %b: !nv_tileas.smem<1x64x64xf16>, %p: !nv_tileas.pipeline_token, %x: i32) {
  // expected-error @below {{expected 2 indices for !nv_tileas.tma_desc<64x64xf16>, got 1}}
  nv_tileas.async.box_copy %d[%x], %b[%x] in %p, slot %x : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<1x64x64xf16>
  return
}

// -----

func.func @outer(%d: !nv_tileas.tma_desc<2x64x64xf16>, %b: !nv_tileas.smem<1x64x64xf16>, %p: !nv_tileas.pipeline_token, %x: i32) {
  // expected-error @below {{the element types must match, and the last axes of the boxes be those of the tile}}
  nv_tileas.async.box_copy %d[%x, %x, %x], %b[%x] in %p, slot %x : !nv_tileas.tma_desc<2x64x64xf16>, !nv_tileas.smem<1x64x64xf16>
  return
}

// -----

func.func @whole(%d: !nv_tileas.tma_desc<64x64xf16>, %b: !nv_tileas.smem<1x32x64xf16>, %p: !nv_tileas.pipeline_token, %x: i32) {
  // expected-error @below {{copies boxes [64, 64] of a tile [32, 64]; expected whole boxes}}
  nv_tileas.async.box_copy %d[%x, %x], %b[%x] in %p, slot %x : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<1x32x64xf16>
  return
}

// -----

func.func @store(%v: !nv_tileaa.memref<?x?xf16>, %b: !nv_tileas.smem<1x64x64xf16>, %p: !nv_tileas.pipeline_token, %x: i32) {
  %d = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmastore<store_2d_f16, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  // expected-error @below {{loads through a descriptor created for}}
  nv_tileas.async.box_copy %d[%x, %x], %b[%x] in %p, slot %x : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<1x64x64xf16>
  return
}
