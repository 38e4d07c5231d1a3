// RUN: tessera-opt --mlir-print-local-scope %s --tileas-assign-layouts | filecheck %s

// A conversion may need a barrier of all warpgroups, for which they do not wait while one of them has a turn.
// CHECK: nv_tileas.convert_layout %x
// CHECK-NEXT: nv_tileas.async.pipeline.order_wait %o
// CHECK: scf.for
// CHECK: nv_tileas.async.pipeline.order_arrive %o
// CHECK-NOT: nv_tileas.convert_layout %x
// What is loaded during the turn is converted there.
// CHECK: nv_tileas.tiled_load
// CHECK: nv_tileas.convert_layout %y
// CHECK: nv_tileas.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%a: !llvm.ptr<1>, %n: i32, %go: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [1, 1, 1]>} {
    %none = arith.constant dense<0.000000e+00> : tensor<128x16xf32>
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %o = nv_tileas.async.pipeline.create_order groups = 2 : !nv_tileas.order_token
    %ap = nv_tileaa.assume %a {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %ap, shape = [128, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<128x64xf16>
    %x, %l = nv_tileas.tiled_load %v[%zero, %zero], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<128x64xf16> -> tensor<128x16xf16>, !nv_tileaa.mem_token
    nv_tileas.async.pipeline.order_wait %o
    %r = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<128x16xf32>)  : i32 {
      nv_tileas.async.pipeline.order_arrive %o
      nv_tileas.async.pipeline.order_wait %o
      %y, %m = nv_tileas.tiled_load %v[%i, %zero], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<128x64xf16> -> tensor<16x16xf16>, !nv_tileaa.mem_token
      %d = nv_tileas.dot %x, %y, %acc {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x16xf16>, tensor<16x16xf16>, tensor<128x16xf32>
      scf.yield %d : tensor<128x16xf32>
    }
    nv_tileas.async.pipeline.order_arrive %o
    %s = nv_tileas.tiled_store %v[%zero, %zero], %x, %tok {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<128x16xf16>, !nv_tileaa.memref<128x64xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
