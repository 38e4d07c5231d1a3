// RUN: tessera-opt %s --tileas-guard-masks | filecheck %s
// RUN: tessera-opt %s --tileas-guard-masks --tileas-schedule=only-agents --tileas-materialize-schedule --verify-each=false | filecheck %s --check-prefix=AGENTS

// A mask of scores is behind a comparison of scalars: the first row with the last column.  Rows that may wrap are asked
// about too.  What computes the mask alone moves into the branch that rarely runs.

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // CHECK-LABEL: @causal
  // CHECK: %[[MAX:.*]] = arith.constant 2147483584 : i32
  // CHECK-NEXT: %[[FITS:.*]] = arith.cmpi sle, %first, %[[MAX]] : i32
  // CHECK: %[[LAST:.*]] = arith.addi %k, %{{.*}} : i32
  // CHECK-NEXT: %[[HOLDS:.*]] = arith.cmpi sge, %first, %[[LAST]] : i32
  // CHECK: %[[ALL:.*]] = arith.andi %{{.*}}, %[[HOLDS]] : i1
  // CHECK-NEXT: scf.if %[[ALL]] -> (tensor<64x64xf32>) {
  // CHECK-NEXT:   scf.yield %[[SCORES:.*]] : tensor<64x64xf32>
  // CHECK-NEXT: } else {
  // CHECK:   %[[MASK:.*]] = arith.cmpi sge
  // CHECK-NEXT: %[[X:.*]] = arith.select %[[MASK]], %[[SCORES]], %{{.*}} : tensor<64x64xi1>, tensor<64x64xf32>
  // CHECK-NEXT: scf.yield %[[X]]
  // CHECK-NEXT: } {nv_tileas.rarely_else}

  // The branch goes into the consumer with the rest of its loop.
  // AGENTS: agent_switch
  // AGENTS: nv_tileas.async.dot
  // AGENTS: scf.if {{.*}} -> (tensor<64x64xf32>)
  // AGENTS: {nv_tileas.agent = "consumer", {{.*}}nv_tileas.rarely_else
  nv_tileaa.func @causal(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %first: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %pa = nv_tileaa.assume %A {divisor = 16 : i64} : !llvm.ptr<1>
    %pb = nv_tileaa.assume %B {divisor = 16 : i64} : !llvm.ptr<1>
    %a = nv_tileaa.make_memref %pa, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf16>
    %b = nv_tileaa.make_memref %pb, shape = [64, %n], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x?xf16>
    %c = nv_tileaa.make_memref %C, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf32>
    %z = arith.constant 0 : i32
    %s = arith.constant 64 : i32
    %zero = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %iota = nv_tileaa.iota : tensor<64xi32>
    %down = nv_tileaa.reshape %iota : tensor<64xi32> -> tensor<64x1xi32>
    %right = nv_tileaa.reshape %iota : tensor<64xi32> -> tensor<1x64xi32>
    %f = nv_tileaa.splat %first : i32 -> tensor<64x1xi32>
    %r = arith.addi %down, %f : tensor<64x1xi32>
    %rows = nv_tileaa.broadcast %r : tensor<64x1xi32> -> tensor<64x64xi32>
    %x, %xt = nv_tileas.tiled_load %a[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
    %sum = scf.for %k = %z to %n step %s iter_args(%old = %zero) -> (tensor<64x64xf32>) : i32 {
      %y, %yt = nv_tileas.tiled_load %b[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x?xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      %scores = nv_tileas.dot %x, %y, %zero {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %g = nv_tileaa.splat %k : i32 -> tensor<1x64xi32>
      %h = arith.addi %right, %g : tensor<1x64xi32>
      %columns = nv_tileaa.broadcast %h : tensor<1x64xi32> -> tensor<64x64xi32>
      %mask = arith.cmpi sge, %rows, %columns : tensor<64x64xi32>
      %kept = arith.select %mask, %scores, %zero : tensor<64x64xi1>, tensor<64x64xf32>
      %new = arith.addf %old, %kept : tensor<64x64xf32>
      scf.yield %new : tensor<64x64xf32>
    }
    %d = nv_tileas.tiled_store %c[%z, %z], %sum, %t {atom = #cute.copy_atom<sm80_stg_64_f32>} : tensor<64x64xf32>, !nv_tileaa.memref<64x64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A mask by equality holds for no tile as a whole, and one of a tile of constants has nothing to leave alone.
  // CHECK-LABEL: @left
  // CHECK-NOT: scf.if
  nv_tileaa.func @left(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %first: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %pa = nv_tileaa.assume %A {divisor = 16 : i64} : !llvm.ptr<1>
    %pb = nv_tileaa.assume %B {divisor = 16 : i64} : !llvm.ptr<1>
    %a = nv_tileaa.make_memref %pa, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf16>
    %b = nv_tileaa.make_memref %pb, shape = [64, %n], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x?xf16>
    %c = nv_tileaa.make_memref %C, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf32>
    %z = arith.constant 0 : i32
    %s = arith.constant 64 : i32
    %zero = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %one = nv_tileaa.constant_tensor dense<1.0> : tensor<64x64xf32>
    %iota = nv_tileaa.iota : tensor<64xi32>
    %down = nv_tileaa.reshape %iota : tensor<64xi32> -> tensor<64x1xi32>
    %right = nv_tileaa.reshape %iota : tensor<64xi32> -> tensor<1x64xi32>
    %rows = nv_tileaa.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
    %x, %xt = nv_tileas.tiled_load %a[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
    %sum = scf.for %k = %z to %n step %s iter_args(%old = %zero) -> (tensor<64x64xf32>) : i32 {
      %y, %yt = nv_tileas.tiled_load %b[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x?xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      %scores = nv_tileas.dot %x, %y, %zero {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %g = nv_tileaa.splat %k : i32 -> tensor<1x64xi32>
      %h = arith.addi %right, %g : tensor<1x64xi32>
      %columns = nv_tileaa.broadcast %h : tensor<1x64xi32> -> tensor<64x64xi32>
      %mask = arith.cmpi eq, %rows, %columns : tensor<64x64xi32>
      %kept = arith.select %mask, %scores, %zero : tensor<64x64xi1>, tensor<64x64xf32>
      %above = arith.cmpi sge, %rows, %columns : tensor<64x64xi32>
      %more = arith.select %above, %one, %zero : tensor<64x64xi1>, tensor<64x64xf32>
      %both = arith.addf %kept, %more : tensor<64x64xf32>
      %new = arith.addf %old, %both : tensor<64x64xf32>
      scf.yield %new : tensor<64x64xf32>
    }
    %d = nv_tileas.tiled_store %c[%z, %z], %sum, %t {atom = #cute.copy_atom<sm80_stg_64_f32>} : tensor<64x64xf32>, !nv_tileaa.memref<64x64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Rows that count down from a number: the first row is its negation.
  // CHECK-LABEL: @mirrored
  // CHECK: nv_tileas.dot
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[ZERO]], %first : i32
  // CHECK: %[[MAX:.*]] = arith.constant 2147483584 : i32
  // CHECK-NEXT: %[[FITS:.*]] = arith.cmpi sle, %[[FIRST]], %[[MAX]] : i32
  // CHECK: %[[HOLDS:.*]] = arith.cmpi sge, %[[FIRST]], %{{.*}} : i32
  // CHECK-NEXT: %[[ALL:.*]] = arith.andi %{{.*}}, %[[HOLDS]] : i1
  // CHECK-NEXT: scf.if %[[ALL]]
  nv_tileaa.func @mirrored(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %first: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %pa = nv_tileaa.assume %A {divisor = 16 : i64} : !llvm.ptr<1>
    %pb = nv_tileaa.assume %B {divisor = 16 : i64} : !llvm.ptr<1>
    %a = nv_tileaa.make_memref %pa, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf16>
    %b = nv_tileaa.make_memref %pb, shape = [64, %n], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x?xf16>
    %c = nv_tileaa.make_memref %C, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf32>
    %z = arith.constant 0 : i32
    %s = arith.constant 64 : i32
    %zero = nv_tileaa.constant_tensor dense<0.0> : tensor<64x64xf32>
    %iota = nv_tileaa.iota : tensor<64xi32>
    %down = nv_tileaa.reshape %iota : tensor<64xi32> -> tensor<64x1xi32>
    %right = nv_tileaa.reshape %iota : tensor<64xi32> -> tensor<1x64xi32>
    %f = nv_tileaa.splat %first : i32 -> tensor<64x1xi32>
    %r = arith.subi %down, %f : tensor<64x1xi32>
    %rows = nv_tileaa.broadcast %r : tensor<64x1xi32> -> tensor<64x64xi32>
    %x, %xt = nv_tileas.tiled_load %a[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
    %sum = scf.for %k = %z to %n step %s iter_args(%old = %zero) -> (tensor<64x64xf32>) : i32 {
      %y, %yt = nv_tileas.tiled_load %b[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x?xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
      %scores = nv_tileas.dot %x, %y, %zero {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, warps = array<i64: 4, 1>} : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %g = nv_tileaa.splat %k : i32 -> tensor<1x64xi32>
      %h = arith.addi %right, %g : tensor<1x64xi32>
      %columns = nv_tileaa.broadcast %h : tensor<1x64xi32> -> tensor<64x64xi32>
      %mask = arith.cmpi sge, %rows, %columns : tensor<64x64xi32>
      %kept = arith.select %mask, %scores, %zero : tensor<64x64xi1>, tensor<64x64xf32>
      %new = arith.addf %old, %kept : tensor<64x64xf32>
      scf.yield %new : tensor<64x64xf32>
    }
    %d = nv_tileas.tiled_store %c[%z, %z], %sum, %t {atom = #cute.copy_atom<sm80_stg_64_f32>} : tensor<64x64xf32>, !nv_tileaa.memref<64x64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
