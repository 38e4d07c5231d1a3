// RUN: tessera-opt %s --tileas-split-k=parts=4 --cse -o %t.split
// RUN: filecheck %s --input-file %t.split
// RUN: tessera-opt %t.split --plan-cta -o %t.parts
// RUN: filecheck %s --input-file %t.parts --check-prefix=PARTS
// RUN: tessera-opt %s --tileas-split-k="tile-blocks=4 arguments=?,512" -o %t.long
// RUN: filecheck %s --input-file %t.long --check-prefix=LONG
// RUN: tessera-opt %s --tileas-split-k="tile-blocks=4 arguments=?,2" -o %t.short
// RUN: filecheck %s --input-file %t.short --check-prefix=SHORT
// RUN: tessera-opt %s --tileas-split-k="tile-blocks=500 arguments=?,512" -o %t.many
// RUN: filecheck %s --input-file %t.many --check-prefix=SHORT

// Of n iterations, CTA r has n / 4, and one more if r < n mod 4.
// CHECK-LABEL: @product
// CHECK-SAME: cluster = [4, 1, 1]
// CHECK: %[[RANK:.*]] = nv_tileas.cta_rank : i32
// CHECK: %[[END:.*]] = arith.maxsi %zero, %n : i32
// CHECK: %[[N:.*]] = arith.subi %[[END]], %zero : i32
// CHECK: %[[EACH:.*]] = arith.shrui %[[N]], %{{.*}} : i32
// CHECK: %[[MORE:.*]] = arith.andi %[[N]], %{{.*}} : i32
// CHECK: %[[RUNS:.*]] = arith.muli %[[RANK]], %[[EACH]] : i32
// CHECK: %[[EXTRA:.*]] = arith.minui %[[RANK]], %[[MORE]] : i32
// CHECK: %[[FIRST:.*]] = arith.addi %[[RUNS]], %[[EXTRA]] : i32
// CHECK: %[[LONGER:.*]] = arith.cmpi ult, %[[RANK]], %[[MORE]] : i32
// CHECK: scf.for
// CHECK: } {nv_tileas.split_over_cluster}
// CHECK: %[[ALL:.*]] = nv_tileas.cluster_reduce_scatter %{{.*}} : tensor<128x128xf32> -> tensor<128x128xf32>
// CHECK: arith.truncf %[[ALL]]

// A CTA has all of the factors in its iterations, which are not shared and not equally many, and columns of what
// follows.
// PARTS-LABEL: @product
// PARTS: nv_tileas.tiled_load
// PARTS-NOT: shared_by
// PARTS: -> tensor<128x64xf16>
// PARTS-NOT: in_step
// PARTS-NOT: split_over_cluster
// PARTS: nv_tileas.cluster_reduce_scatter %{{.*}} : tensor<128x128xf32> -> tensor<128x32xf32>
// PARTS: arith.truncf {{.*}} : tensor<128x32xf32> to tensor<128x32xf16>
// PARTS: nv_tileas.tiled_store {{.*}} : tensor<128x32xf16>

// By price: many CTAs for a long loop in a launch of few tile blocks.
// LONG: cluster = [8, 1, 1]
// SHORT: cluster = [1, 1, 1]
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @product(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %deep = arith.constant 64 : i32
    %none = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
    %token = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [1024, 1024], stride = [1024, 1], space = #nv_tileaa.global : !nv_tileaa.memref<1024x1024xf16>
    %sums = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<128x128xf32>) : i32 {
      %k = arith.muli %i, %deep : i32
      %a, %t = nv_tileas.tiled_load %v[%zero, %k], %token {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<1024x1024xf16> -> tensor<128x64xf16>, !nv_tileaa.mem_token
      %b, %u = nv_tileas.tiled_load %v[%k, %zero], %token {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<1024x1024xf16> -> tensor<64x128xf16>, !nv_tileaa.mem_token
      %next = nv_tileas.dot %a, %b, %sum {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %half = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xf16>
    %done = nv_tileas.tiled_store %v[%zero, %zero], %half, %token {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<128x128xf16>, !nv_tileaa.memref<1024x1024xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
