// RUN: tessera-opt %s --tileas-schedule | filecheck %s
// RUN: tessera-opt %s --tileas-schedule --tileas-schedule | filecheck %s
// RUN: tessera-opt %s --tileas-schedule=chart -o %t 2>&1 | filecheck %s --check-prefix=CHART
// RUN: tessera-opt %s --tileas-schedule=agents=multipliers | filecheck %s --check-prefix=CARRIED
// RUN: tessera-opt %s --tileas-schedule=num-stages=2 --tileas-materialize-tensor-memory | filecheck %s --check-prefix=TWO

// Agents of tensor memory run their ops in the order of the program, as far ahead of each other as stages let them. The
// consumer would carry the sums of the second product, and its threads would need longer than an agent that changes them.
// CHECK-LABEL: nv_tileaa.func @attention(
// CHECK: scf.for
// CHECK: nv_tileas.tiled_load {{.*}}nv_tileas.agent = "producer"
// CHECK: nv_tileas.dot {{.*}}nv_tileas.agent = "multiplier0"
// CHECK: math.exp2 {{.*}}nv_tileas.agent = "consumer"
// CHECK: arith.mulf {{.*}}nv_tileas.agent = "correction"
// CHECK: nv_tileas.dot {{.*}}nv_tileas.agent = "multiplier1"
// CHECK: {nv_tileas.interval = {{[0-9]+}} : i32, nv_tileas.stages = {{[2-9]}} : i32}

// CHART: remark: one iteration every {{[0-9]+}} cycles, {{[0-9]+}} in flight; limited by waits of agents for each other
// CHART: multiplier0 nv_tileas.dot: tensor 512
// CHART: consumer take sums: threads
// CHART: consumer hand a factor over: threads
// CHART: consumer hand a column over: threads
// CHART: correction load sums: correction
// CHART: correction arith.mulf:
// CHART: correction store sums: correction
// CHART: multiplier1 nv_tileas.dot: tensor 512
// CHART: remark: one iteration every 768 cycles, {{[0-9]+}} in flight; limited by bytes from and to shared memory
// CHART: producer nv_tileas.tiled_load
// CHART: multiplier nv_tileas.dot: tensor 512

// CARRIED-LABEL: nv_tileaa.func @attention(
// CARRIED: arith.mulf {{.*}}nv_tileas.agent = "consumer"
!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x128xf32>

module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @attention(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 128 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %q, %qt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x128xf16>, !tok
    %i2 = arith.constant dense<0.0> : tensor<128x128xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x128xf16>, !tok
      %d = nv_tileas.dot %q, %x, %i2 {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      %h0 = math.exp2 %d : tensor<128x128xf32>
      %h = arith.truncf %h0 : tensor<128x128xf32> to tensor<128x128xf16>
      %j = nv_tileaa.reduce %d axis = 1 identities = [0xFF800000 : f32] : tensor<128x128xf32> -> tensor<128xf32> {
      ^bb0(%left: f32, %right: f32):
        %most = arith.maxnumf %left, %right : f32
        nv_tileaa.yield %most : f32
      }
      %f = nv_tileaa.reshape %j : tensor<128xf32> -> tensor<128x1xf32>
      %g = nv_tileaa.broadcast %f : tensor<128x1xf32> -> !acc
      %w = arith.mulf %a, %g : !acc
      %y, %yt = nv_tileas.tiled_load %v[%k, %o], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x128xf16>, !tok
      %e = nv_tileas.dot %h, %y, %w {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x128xf16>, tensor<128x128xf16>, !acc
      scf.yield %e : !acc
    }
    %u = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }

  // Sums that only products add to have no place in the schedule of the consumer. Shared memory is written by TMA, and
  // read by the product.
  // CHECK-LABEL: nv_tileaa.func @gemm(
  // CHECK: nv_tileas.tiled_load {{.*}}nv_tileas.agent = "producer"{{.*}}nv_tileas.depth = [[DEPTH:[2-9]]] : i32
  // CHECK: nv_tileas.dot {{.*}}nv_tileas.agent = "multiplier"{{.*}}nv_tileas.stage = {{[1-9]}} : i32}
  // CHECK: nv_tileas.interval = 768 : i32

  // TWO-LABEL: nv_tileaa.func @gemm(
  // TWO: create_pipeline stages = 2, producers = 1
  nv_tileaa.func @gemm(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : tensor<128x256xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<128x256xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x256xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
      scf.yield %d : tensor<128x256xf32>
    }
    %u = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x256xf32>, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
