// RUN: tessera-opt --mlir-print-local-scope %s --tileas-round-loads --split-input-file -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
!in = tensor<64x32xf32>
!tile = tensor<64x32xtf32>
!turned = tensor<32x64xtf32>
!acc = tensor<64x64xf32>

// TMA rounds f32 to tf32, to nearest even: the load is of tf32, and what moves its elements.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // CHECK-LABEL: nv_tileaa.func @factors
  // CHECK: %[[X:.*]], %{{.*}} = nv_tileas.tiled_load {{.*}} : !nv_tileaa.memref<?x?xf32> -> tensor<64x32xtf32>
  // CHECK: %[[Y:.*]], %{{.*}} = nv_tileas.tiled_load {{.*}} : !nv_tileaa.memref<?x?xf32> -> tensor<64x32xtf32>
  // CHECK: %[[T:.*]] = nv_tileaa.permute %[[Y]] [1, 0] : tensor<64x32xtf32> -> tensor<32x64xtf32>
  // CHECK-NOT: arith.truncf
  // CHECK: nv_tileas.dot %[[X]], %[[T]],
  nv_tileaa.func @factors(%p: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !in, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !in, !tok
    %xr = arith.truncf %x to_nearest_even : !in to !tile
    %yp = nv_tileaa.permute %y [1, 0] : !in -> tensor<32x64xf32>
    %yr = arith.truncf %yp : tensor<32x64xf32> to !turned
    %d = nv_tileas.dot %xr, %yr, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : !tile, !turned, !acc
    nv_tileaa.return
  }

  // Threads round: toward zero, as TMA does not; a tile with another use; and what is no factor.
  // CHECK-LABEL: nv_tileaa.func @others
  // CHECK-COUNT-3: nv_tileas.tiled_load {{.*}} -> tensor<64x32xf32>
  // CHECK-COUNT-3: arith.truncf
  nv_tileaa.func @others(%p: !llvm.ptr<1>, %m: i32, %s: i32) -> (!in, !tile) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !in, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !in, !tok
    %w, %wt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !in, !tok
    %xr = arith.truncf %x toward_zero : !in to !tile
    %yr = arith.truncf %y : !in to !tile
    %wr = arith.truncf %w : !in to !tile
    %yp = nv_tileaa.permute %yr [1, 0] : !tile -> !turned
    %d = nv_tileas.dot %xr, %yp, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : !tile, !turned, !acc
    nv_tileaa.return %y, %wr : !in, !tile
  }

  // TMA cannot bring the tile: nothing is known of the strides.
  // CHECK-LABEL: nv_tileaa.func @strides
  // CHECK: nv_tileas.tiled_load {{.*}} -> tensor<64x32xf32>
  nv_tileaa.func @strides(%p: !llvm.ptr<1>, %m: i32, %s: i32, %f: !turned) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !in, !tok
    %xr = arith.truncf %x : !in to !tile
    %d = nv_tileas.dot %xr, %f, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : !tile, !turned, !acc
    nv_tileaa.return
  }
}

// -----

// No product of sm_120a reads the stages of TMA.
module attributes {nv_tileaa.compute_capability = 120 : i32, nv_tileaa.target_spec = "sm_120a"} {
  // CHECK-LABEL: nv_tileaa.func @by_mma_sync
  // CHECK: nv_tileas.tiled_load {{.*}} -> tensor<64x32xf32>
  nv_tileaa.func @by_mma_sync(%p: !llvm.ptr<1>, %m: i32, %s: i32, %f: tensor<32x64xtf32>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : tensor<64x64xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !nv_tileaa.memref<?x?xf32> -> tensor<64x32xf32>, !nv_tileaa.mem_token
    %xr = arith.truncf %x : tensor<64x32xf32> to tensor<64x32xtf32>
    %d = nv_tileas.dot %xr, %f, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>
    nv_tileaa.return
  }
}
