// RUN: tessera-opt %s --tileas-schedule="chart tile-blocks=64 arguments=?,?,?,?,0,0,160" -o %t 2>&1 | filecheck %s
// RUN: tessera-opt %s --tileas-schedule="chart tile-blocks=64 arguments=?,?,?,?,0,0,?" -o %t 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: tessera-opt %s --tileas-schedule=chart 2>&1 | filecheck %s --check-prefix=ANY
// RUN: not tessera-opt %s --tileas-schedule=tile-blocks=-1 2>&1 | filecheck %s --check-prefix=BLOCKS

// In a launch of few CTAs the load is hidden behind any number of steps: 3 for 160 terms, or 64 if it is not known.
// CHECK: the ops between loops take {{[0-9]+}} cycles instead of {{[0-9]+}} in another order
// CHECK: consumer scf.for: 4411
// UNKNOWN: the ops between loops take {{[0-9]+}} cycles instead of {{[0-9]+}} in another order
// UNKNOWN: consumer scf.for: 61629
// In any launch the steps might be few, and all multiprocessors busy.
// ANY-NOT: the ops between loops
// BLOCKS: option tile-blocks=-1 is invalid; expected 0 or more
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
nv_tileaa.func @residual(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>, %i: i32, %j: i32, %k: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [1, 1, 1]>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c63 = arith.constant 63 : i32
  %up = arith.addi %k, %c63 : i32
  %n = arith.divui %up, %c64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %pa = nv_tileaa.assume %a {divisor = 16 : i64} : !llvm.ptr<1>
  %pb = nv_tileaa.assume %b {divisor = 16 : i64} : !llvm.ptr<1>
  %av = nv_tileaa.make_memref %pa, shape = [4096, 4096], stride = [4096, 1], space = #nv_tileaa.global : !nv_tileaa.memref<4096x4096xf16>
  %bv = nv_tileaa.make_memref %pb, shape = [4096, 4096], stride = [4096, 1], space = #nv_tileaa.global : !nv_tileaa.memref<4096x4096xf16>
  %cv = nv_tileaa.make_memref %c, shape = [4096, 4096], stride = [4096, 1], space = #nv_tileaa.global : !nv_tileaa.memref<4096x4096xf32>
  %dv = nv_tileaa.make_memref %d, shape = [4096, 4096], stride = [4096, 1], space = #nv_tileaa.global : !nv_tileaa.memref<4096x4096xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %sum = scf.for %step = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) : i32 {
    %at = arith.muli %step, %c64 : i32
    %x, %xt = nv_tileas.tiled_load %av[%i, %at], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<4096x4096xf16> -> tensor<128x64xf16>, !nv_tileaa.mem_token
    %y, %yt = nv_tileas.tiled_load %bv[%at, %j], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<4096x4096xf16> -> tensor<64x128xf16>, !nv_tileaa.mem_token
    %next = nv_tileas.dot %x, %y, %acc {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %z, %zt = nv_tileas.tiled_load %cv[%i, %j], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !nv_tileaa.memref<4096x4096xf32> -> tensor<128x128xf32>, !nv_tileaa.mem_token
  %r = arith.addf %sum, %z : tensor<128x128xf32>
  %st = nv_tileas.tiled_store %dv[%i, %j], %r, %t {atom = #cute.copy_atom<sm80_stg_128_f32>} : tensor<128x128xf32>, !nv_tileaa.memref<4096x4096xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}
}
