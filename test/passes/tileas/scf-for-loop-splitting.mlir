// RUN: tessera-opt %s --scf-for-loop-splitting --canonicalize --cse | filecheck %s
// RUN: tessera-opt %s --scf-for-loop-splitting=most-elements=0 | filecheck %s --check-prefix=NONE
// NONE-COUNT-5: scf.for
// NONE-NOT: scf.for

// Index-set splitting: the iterations whose checks all hold become a loop without them.

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // The last tile reaches beyond the view.  Before it, the access is in bounds, and the length does not limit the width
  // of accesses.  The counter behind the last iteration may not fit its type.
  // CHECK-LABEL: @bounds
  // CHECK-DAG: %[[MOST:.*]] = arith.constant 8388607 : i32
  // CHECK-DAG: %[[SIZE:.*]] = arith.constant -256 : i64
  // CHECK: %[[ALL:.*]] = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global {inbounds = array<i1: true>}
  // CHECK: %[[WIDE:.*]] = arith.extsi %n : i32 to i64
  // CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[WIDE]], %[[SIZE]] : i64
  // CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[LAST]], %{{.*}} : i64
  // CHECK-NEXT: arith.select %[[SOME]]
  // CHECK: %[[ROUNDS:.*]] = arith.ceildivui
  // CHECK-NEXT: %[[FIT:.*]] = arith.minui %[[ROUNDS]], %[[MOST]] : i32
  // CHECK-NEXT: %[[MIDDLE:.*]] = arith.muli %[[FIT]], %step : i32
  // CHECK-NEXT: %[[END:.*]] = arith.minsi %[[MIDDLE]], %n : i32
  // CHECK-NEXT: %[[FIRST:.*]] = scf.for %{{.*}} = %zero to %[[END]] step %step
  // CHECK-NEXT:   tiled_load %[[ALL]]{{.*}}sm80_ldg_128_f32
  // CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %n step %step iter_args(%{{.*}} = %[[FIRST]])
  // CHECK-NEXT:   tiled_load %x[{{.*}}sm80_ldg_32_f32
  // CHECK: } {nv_tileas.remainder}
  // CHECK-NOT: scf.for
  nv_tileaa.func @bounds(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %p = nv_tileaa.assume %X {divisor = 16 : i64} : !llvm.ptr<1>
    %x = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %zero = arith.constant 0 : i32
    %step = arith.constant 256 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<256xf32>
    %sum = scf.for %k = %zero to %n step %step iter_args(%old = %none) -> (tensor<256xf32>) : i32 {
      %v, %vt = nv_tileas.tiled_load %x[%k], %t padding zero {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<256xf32>, !nv_tileaa.mem_token
      %new = arith.addf %old, %v : tensor<256xf32>
      scf.yield %new : tensor<256xf32>
    }
    %d = nv_tileas.tiled_store %x[%zero], %sum, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A mask that compares an iota with a bound, of a select and of a load through pointers.  The counter is the number of a
  // tile: the first loop ends after (n - 256) / 256 + 1 of them.
  // CHECK-LABEL: @masks
  // CHECK: %[[TILES:.*]] = arith.divui
  // CHECK: scf.for
  // CHECK: nv_tileaa.load %{{[a-z0-9_]*}}, %{{.*}} : tensor<256x!llvm.ptr<1>>
  // CHECK-NOT: arith.select
  // CHECK: scf.for
  // CHECK: nv_tileaa.load %{{[a-z0-9_]*}} mask
  // CHECK: arith.select
  nv_tileaa.func @masks(%X: !llvm.ptr<1>, %n: i32, %tiles: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %size = arith.constant 256 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<256xf32>
    %ones = nv_tileaa.constant_tensor dense<1.0> : tensor<256xf32>
    %iota = nv_tileaa.iota : tensor<256xi32>
    %bases = nv_tileaa.splat %X : !llvm.ptr<1> -> tensor<256x!llvm.ptr<1>>
    %limit = nv_tileaa.splat %n : i32 -> tensor<256xi32>
    %sum = scf.for %k = %zero to %tiles step %one iter_args(%old = %none) -> (tensor<256xf32>) : i32 {
      %o = arith.muli %k, %size : i32
      %s = nv_tileaa.splat %o : i32 -> tensor<256xi32>
      %i = arith.addi %s, %iota : tensor<256xi32>
      %m = arith.cmpi slt, %i, %limit : tensor<256xi32>
      %q = nv_tileaa.offset %bases, %i, f32 : tensor<256x!llvm.ptr<1>>, tensor<256xi32>
      %v, %vt = nv_tileaa.load %q mask %m padding %none, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : tensor<256x!llvm.ptr<1>> -> tensor<256xf32>, !nv_tileaa.mem_token
      %c = arith.select %m, %ones, %none : tensor<256xi1>, tensor<256xf32>
      %y = arith.addf %c, %v : tensor<256xf32>
      %new = arith.addf %old, %y : tensor<256xf32>
      scf.yield %new : tensor<256xf32>
    }
    %d = nv_tileas.tiled_store %x[%zero], %sum, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A bound that the loop changes, and a mask that holds for no tile as a whole.
  // CHECK-LABEL: @changing
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  nv_tileaa.func @changing(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %zero = arith.constant 0 : i32
    %step = arith.constant 256 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<256xf32>
    %ones = nv_tileaa.constant_tensor dense<1.0> : tensor<256xf32>
    %iota = nv_tileaa.iota : tensor<256xi32>
    %sum, %end = scf.for %k = %zero to %n step %step iter_args(%old = %none, %b = %n) -> (tensor<256xf32>, i32) : i32 {
      %s = nv_tileaa.splat %k : i32 -> tensor<256xi32>
      %i = arith.addi %s, %iota : tensor<256xi32>
      %limit = nv_tileaa.splat %b : i32 -> tensor<256xi32>
      %m = arith.cmpi slt, %i, %limit : tensor<256xi32>
      %c = arith.select %m, %ones, %none : tensor<256xi1>, tensor<256xf32>
      %e = arith.cmpi eq, %i, %iota : tensor<256xi32>
      %f = arith.select %e, %ones, %none : tensor<256xi1>, tensor<256xf32>
      %g = arith.addf %c, %f : tensor<256xf32>
      %new = arith.addf %old, %g : tensor<256xf32>
      %less = arith.subi %b, %step : i32
      scf.yield %new, %less : tensor<256xf32>, i32
    }
    %d = nv_tileas.tiled_store %x[%zero], %sum, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // The check is a small part of the loop: a second one is too much code for it.
  // CHECK-LABEL: @work
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  nv_tileaa.func @work(%X: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %x = nv_tileaa.make_memref %X, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %zero = arith.constant 0 : i32
    %step = arith.constant 256 : i32
    %none = nv_tileaa.constant_tensor dense<0.0> : tensor<256xf32>
    %sum = scf.for %k = %zero to %n step %step iter_args(%old = %none) -> (tensor<256xf32>) : i32 {
      %v, %vt = nv_tileas.tiled_load %x[%k], %t padding zero {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<256xf32>, !nv_tileaa.mem_token
      %a = math.tan %v : tensor<256xf32>
      %new = arith.addf %old, %a : tensor<256xf32>
      scf.yield %new : tensor<256xf32>
    }
    %d = nv_tileas.tiled_store %x[%zero], %sum, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A loop with products is pipelined: its masks get a branch instead.
  // CHECK-LABEL: @product
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  nv_tileaa.func @product(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %a = nv_tileaa.make_memref %A, shape = [64, %n], stride = [%n, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x?xf16>
    %b = nv_tileaa.make_memref %B, shape = [%n, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x64xf16>
    %c = nv_tileaa.make_memref %C, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf32>
    %z = arith.constant 0 : i32
    %s = arith.constant 64 : i32
    %zero = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %sum = scf.for %k = %z to %n step %s iter_args(%old = %zero) -> (tensor<64x64xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %a[%z, %k], %t padding zero {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !nv_tileaa.memref<64x?xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      %y, %yt = nv_tileas.tiled_load %b[%k, %z], %t padding zero {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !nv_tileaa.memref<?x64xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      %new = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %new : tensor<64x64xf32>
    }
    %d = nv_tileas.tiled_store %c[%z, %z], %sum, %t {atom = #cute.copy_atom<sm80_stg_64_f32>} : tensor<64x64xf32>, !nv_tileaa.memref<64x64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
