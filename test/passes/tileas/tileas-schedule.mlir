// RUN: tessera-opt %s --tileas-schedule | filecheck %s
// RUN: tessera-opt %s --tileas-schedule --tileas-schedule | filecheck %s
// RUN: tessera-opt %s --tileas-schedule=num-stages=1 | filecheck %s --check-prefix=ONE
// RUN: tessera-opt %s --tileas-schedule=chart -o %t 2>&1 | filecheck %s --check-prefix=CHART

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {

// The loads start iterations ahead of the product: their latency costs stages, and no time.  Views, tokens and scalars
// have no place in the schedule.
// CHECK-LABEL: nv_tileaa.func @gemm(
// CHECK: arith.muli %{{[^{]*$}}
// CHECK: nv_tileas.tiled_load {{.*}}nv_tileas.agent = "producer", nv_tileas.cycle = 0 : i32, nv_tileas.depth = [[DEPTH:[3-9]]] : i32, nv_tileas.stage = 0 : i32}
// CHECK: nv_tileas.tiled_load {{.*}}nv_tileas.agent = "producer"
// CHECK: nv_tileas.dot {{.*}}nv_tileas.agent = "consumer"{{.*}}nv_tileas.stage = [[STAGE:[2-9]]] : i32}
// CHECK: {nv_tileas.interval = {{[0-9]+}} : i32, nv_tileas.stages = {{[3-9]}} : i32}

// With one buffer for each load the interval holds a whole iteration.
// ONE-LABEL: nv_tileaa.func @gemm(
// ONE: nv_tileas.tiled_load {{.*}}nv_tileas.depth = 1 : i32
// ONE: nv_tileas.interval = {{[0-9][0-9][0-9]+}} : i32

// CHART: remark: one iteration every {{[0-9]+}} cycles, {{[0-9]+}} in flight; limited by tensor cores
// CHART: stage  0 cycle      0 |#{{[# ]*}}| producer nv_tileas.tiled_load: memory
// CHART: | consumer nv_tileas.dot: tensor 512
// CHART-NEXT: of each interval: tensor 100 %
nv_tileaa.func @gemm(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %av = nv_tileaa.make_memref %a, shape = [128, 1024], stride = [1024, 1], space = #nv_tileaa.global : !nv_tileaa.memref<128x1024xf16>
  %bv = nv_tileaa.make_memref %b, shape = [1024, 128], stride = [128, 1], space = #nv_tileaa.global : !nv_tileaa.memref<1024x128xf16>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) : i32 {
    %at = arith.muli %k, %c32 : i32
    %x, %xt = nv_tileas.tiled_load %av[%c0, %at], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<128x1024xf16> -> tensor<128x32xf16>, !nv_tileaa.mem_token
    %y, %yt = nv_tileas.tiled_load %bv[%at, %c0], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<1024x128xf16> -> tensor<32x128xf16>, !nv_tileaa.mem_token
    %next = nv_tileas.dot %x, %y, %acc {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x128xf16>, tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  nv_tileaa.return
}

// Only innermost loops are scheduled.
// CHECK-LABEL: nv_tileaa.func @nested(
// CHECK: } {nv_tileas.interval = {{[0-9]+}} : i32, nv_tileas.stages = 1 : i32}
// CHECK-NEXT: }
// CHECK-NEXT: nv_tileaa.return
nv_tileaa.func @nested(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant dense<1.0> : tensor<1024xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%x = %one) -> (tensor<1024xf32>) : i32 {
      %y = arith.addf %x, %one : tensor<1024xf32>
      scf.yield %y : tensor<1024xf32>
    }
  }
  nv_tileaa.return
}

}
