// RUN: tessera-opt --mlir-print-local-scope %s --tileas-assign-layouts | filecheck %s

// The first product, in threads, shares its zeros with that of wgmma, whose sums cannot be converted before they are
// waited for: those decide the layout, and the sums of the first are converted.
// CHECK: %none = arith.constant dense<0.000000e+00> : tensor<64x64xf32, [[C:#nv_tileas[^>]*>]]>
// CHECK: %s = nv_tileas.dot
// CHECK-NEXT: nv_tileas.convert_layout %s {{.*}} -> tensor<64x64xf32, [[C]]>
// CHECK: %t = nv_tileas.async.dot %h, %b, %none {{.*}}, tensor<64x64xf32, [[C]]>
// CHECK-NEXT: %u = nv_tileas.async.dot_wait %t, 0 : tensor<64x64xf32, [[C]]>
// CHECK-NEXT: nv_tileas.convert_layout %u
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @in_flight(%a: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %none = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %x = arith.constant dense<1.000000e+00> : tensor<64x16xf32>
    %y = arith.constant dense<2.000000e+00> : tensor<16x64xf32>
    %tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %a, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf32>
    %b = nv_tileas.alloc_tensor {nv_tileas.alignment = 1024 : i64} : !nv_tileas.smem<1x64x64xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]]}>>
    %s = nv_tileas.dot %x, %y, %none {atom = #cute_nvgpu.mma_atom<fma, f32, f32, f32>} : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32>
    %h = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %t = nv_tileas.async.dot %h, %b, %none {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1>} : tensor<64x64xf16>, !nv_tileas.smem<1x64x64xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]]}>>, tensor<64x64xf32>
    %u = nv_tileas.async.dot_wait %t, 0 : tensor<64x64xf32>
    %w = nv_tileas.tiled_store %v[%zero, %zero], %u, %tok {atom = #cute.copy_atom<sm80_stg_128_f32>} : tensor<64x64xf32>, !nv_tileaa.memref<64x64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
