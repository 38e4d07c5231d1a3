// RUN: tessera-opt --mlir-print-local-scope %s --split-input-file --tileas-materialize-schedule --tileas-materialize-tensor-memory -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
!a = tensor<16x32xtf32>
!b = tensor<32x16xtf32>
!acc = tensor<16x16xf32>

// wgmma has 64 rows: no agent brings the factors, and cp.async does not round.  The load of both products is one again.
// CHECK-LABEL: nv_tileaa.func @by_mma_sync
// CHECK: %[[X:.*]], %{{.*}} = nv_tileas.tiled_load {{.*}} : !nv_tileaa.memref<?x?xf32> -> tensor<16x32xf32>
// CHECK-NOT: tiled_load
// CHECK: %[[R:.*]] = arith.truncf %[[X]] : tensor<16x32xf32> to tensor<16x32xtf32>
// CHECK-NOT: truncf
// CHECK: nv_tileas.dot %[[R]],
// CHECK: nv_tileas.dot %[[R]],
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @by_mma_sync(%v: !view, %b: !b) -> !acc attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %i = arith.constant dense<0.0> : !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !a, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> !a, !tok
    %d = nv_tileas.dot %x, %b, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : !a, !b, !acc
    %e = nv_tileas.dot %y, %b, %d {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : !a, !b, !acc
    nv_tileaa.return %e : !acc
  }
}

// -----

// The same for tcgen05.mma, which has 64 rows, too.
// CHECK-LABEL: nv_tileaa.func @by_mma_sync
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<16x32xf32>
// CHECK: arith.truncf {{.*}} to tensor<16x32xtf32>
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @by_mma_sync(%v: !nv_tileaa.memref<?x?xf32>, %b: tensor<32x16xtf32>) -> tensor<16x16xf32> attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %i = arith.constant dense<0.0> : tensor<16x16xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !nv_tileaa.memref<?x?xf32> -> tensor<16x32xtf32>, !nv_tileaa.mem_token
    %d = nv_tileas.dot %x, %b, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, tf32, tf32, f32>} : tensor<16x32xtf32>, tensor<32x16xtf32>, tensor<16x16xf32>
    nv_tileaa.return %d : tensor<16x16xf32>
  }
}
