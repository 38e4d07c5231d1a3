// RUN: tessera-opt --mlir-print-local-scope %s --plan-cta=stop=seeds -o %t.seeds
// RUN: filecheck %s --input-file %t.seeds --check-prefix=SEEDS
// RUN: tessera-opt --mlir-print-local-scope %s --plan-cta=stop=layouts -o %t.layouts
// RUN: filecheck %s --input-file %t.layouts --check-prefix=LAYOUTS
// RUN: tessera-opt --mlir-print-local-scope %s --plan-cta=stop=seeds | tessera-opt --mlir-print-local-scope --tileas-plan-cta -o %t.parts
// RUN: filecheck %s --input-file %t.parts
// RUN: tessera-opt --mlir-print-local-scope %s --plan-cta | diff %t.parts -

// Conversions at the product ask for parts: rows of A and of the sums, and all of B.
// SEEDS-LABEL: @product
// SEEDS: %[[A:.*]] = nv_tileas.convert_layout %a {plancta.direction = "backward"} : tensor<256x64xf16> -> {{.*}}block = {{\[\[}}128, 0]]
// SEEDS: %[[B:.*]] = nv_tileas.convert_layout %b {plancta.direction = "backward"} : tensor<64x128xf16> -> {{.*}}block = {{\[\[}}0, 0]]
// SEEDS: %[[D:.*]] = nv_tileas.dot %[[A]], %[[B]]
// SEEDS: nv_tileas.convert_layout %[[D]] {plancta.direction = "forward"} : {{.*}}block = {{\[\[}}128, 0]]

// They meet what they ask for, and are gone.
// LAYOUTS-LABEL: @product
// LAYOUTS-NOT: plancta.direction
// LAYOUTS: %a, %{{.*}} = nv_tileas.tiled_load {{.*}} -> tensor<256x64xf16, {{.*}}block = {{\[\[}}128, 0]]
// LAYOUTS: %b, %{{.*}} = nv_tileas.tiled_load {{.*}} -> tensor<64x128xf16, {{.*}}block = {{\[\[}}0, 0]]
// LAYOUTS: arith.truncf {{.*}}block = {{\[\[}}128, 0]]

// A kernel whose cluster is one CTA is left alone, and the next one is planned.
// CHECK-LABEL: @alone
// CHECK-NOT: nv_tileas.cta_rank
// CHECK: nv_tileaa.return

// A CTA has its rows, and shares B with the other one.
// CHECK-LABEL: @product
// CHECK-SAME: cluster = [2, 1, 1]
// CHECK: %[[RANK:.*]] = nv_tileas.cta_rank : i32
// CHECK: %[[BIT:.*]] = arith.andi %[[RANK]], %{{.*}} : i32
// CHECK: %[[ROW:.*]] = arith.muli %[[BIT]], %{{.*}} : i32
// CHECK: %[[I:.*]] = arith.addi %zero, %[[ROW]] : i32
// CHECK: nv_tileas.tiled_load %v[%[[I]], %zero]{{.*}} -> tensor<128x64xf16>
// CHECK: nv_tileas.tiled_load %w[%zero, %zero]{{.*}}nv_tileas.shared_by = 1 : i64{{.*}} -> tensor<64x128xf16>
// CHECK: nv_tileas.dot {{.*}} : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
// CHECK: nv_tileas.tiled_store {{.*}} : tensor<128x128xf16>

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @alone(%x: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %a = nv_tileaa.splat %x : i32 -> tensor<64xi32>
    nv_tileaa.return
  }

  nv_tileaa.func @product(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %r: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 2, 1>} {
    %zero = arith.constant 0 : i32
    %none = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [256, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<256x64xf16>
    %w = nv_tileaa.make_memref %q, shape = [64, 128], stride = [128, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x128xf16>
    %u = nv_tileaa.make_memref %r, shape = [256, 128], stride = [128, 1], space = #nv_tileaa.global : !nv_tileaa.memref<256x128xf16>
    %c = arith.constant dense<0.0> : tensor<256x128xf32>
    %a, %t0 = nv_tileas.tiled_load %v[%zero, %zero], %none {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<256x64xf16> -> tensor<256x64xf16>, !nv_tileaa.mem_token
    %b, %t1 = nv_tileas.tiled_load %w[%zero, %zero], %none {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x128xf16> -> tensor<64x128xf16>, !nv_tileaa.mem_token
    %d = nv_tileas.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x64xf16>, tensor<64x128xf16>, tensor<256x128xf32>
    %e = arith.truncf %d : tensor<256x128xf32> to tensor<256x128xf16>
    %t2 = nv_tileas.tiled_store %u[%zero, %zero], %e, %none {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<256x128xf16>, !nv_tileaa.memref<256x128xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
