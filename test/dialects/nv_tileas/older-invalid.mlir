// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileas.func @agents() {
  // expected-error @below {{has an agent 4 : i32; expected #nv_tileas.agent<warps>}}
  %p = nv_tileas.async.pipeline.create_pipeline stages = 3, producer = #nv_tileas.agent<1>, consumer = 4 : i32 : !nv_tileas.pipeline_token
  nv_tileas.return
}

// -----

nv_tileas.func @token(%v: !nv_tileaa.memref<?x?xf32>, %t: !nv_tileaa.mem_token, %i: i32) {
  // expected-error @below {{expected both a token and its type, or neither}}
  %x = nv_tileas.tiled_load %v[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : tensor<64x64xf32>
  nv_tileas.return
}

// -----

nv_tileas.func @descriptor(%d: !nv_tileas.tma_desc<64x32xf32>, %x: tensor<64x64xf32>, %i: i32) {
  // expected-error @below {{stores through a descriptor that no nv_tileas.make_tiled_tma_desc makes}}
  nv_tileas.async.tiled_tma_store %d, [%i, %i], %x
  nv_tileas.return
}

// -----

nv_tileas.func @stage(%b: !nv_tileas.smem<3x128x64xf16>, %p: !nv_tileas.pipeline_token) {
  %i = nv_tileas.async.pipeline.create_iterator %p : !nv_tileas.pipeline_iter<i32>
  // expected-error @below {{gives !nv_tileas.smem<64x128xf16> for one stage of !nv_tileas.smem<3x128x64xf16>}}
  %s = nv_tileas.view %b, %i : !nv_tileas.smem<64x128xf16>
  nv_tileas.return
}

// -----

// expected-error @below {{has 33 warps; a CTA has 1 to 32}}
#a = #nv_tileas.agent<33>

// -----

nv_tileas.func @a_right_factor_that_is_not_a_view(%a: !nv_tileas.smem<1x64x16xf16>, %b: !nv_tileas.smem<1x128x16xf16>, %c: tensor<64x128xf32>) {
  // expected-error @below {{'nv_tileas.dot' op has a right factor of N×K; expected the nv_tileas.view of a stage}}
  %d = nv_tileas.dot %a, %b, %c {atom = #cute.mma_atom<sm90_wgmma_m64n128k16_f32_f16_f16>} : !nv_tileas.smem<1x64x16xf16>, !nv_tileas.smem<1x128x16xf16>, tensor<64x128xf32>
  nv_tileas.return
}

// -----

nv_tileas.func @buffers_without_an_instruction_that_reads_them(%a: !nv_tileas.smem<1x16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'nv_tileas.dot' op multiplies stages of buffers; expected matrices, and an atom of wgmma}}
  %d = nv_tileas.dot %a, %a, %c : !nv_tileas.smem<1x16x16xf16>, !nv_tileas.smem<1x16x16xf16>, tensor<16x16xf32>
  nv_tileas.return
}
