// RUN: tessera-opt %s --tileas-swap-operands --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<16x64xf32>

// The loop carries the sums transposed; behind it, they are turned back.
// CHECK-LABEL: nv_tileaa.func @few_rows
// CHECK: %[[Z:.*]] = arith.constant dense<0.0{{.*}}> : tensor<64x16xf32>
// CHECK: %[[S:.*]] = scf.for %{{.*}} iter_args(%[[C:.*]] = %[[Z]]) -> (tensor<64x16xf32>)
// CHECK: %[[A:.*]] = nv_tileaa.permute %{{.*}} [1, 0] : tensor<16x32xf16> -> tensor<32x16xf16>
// CHECK: %[[B:.*]] = nv_tileaa.permute %{{.*}} [1, 0] : tensor<32x64xf16> -> tensor<64x32xf16>
// CHECK: %[[D:.*]] = nv_tileas.dot %[[B]], %[[A]], %[[C]]
// CHECK-NEXT: scf.yield %[[D]]
// CHECK: nv_tileaa.permute %[[S]] [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @few_rows(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<16x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x64xf16>, !tok
      // expected-remark @below {{computed transposed, as 64x16x32: wgmma has 64 rows}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x32xf16>, tensor<32x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xi8>
!tok = !nv_tileaa.mem_token
!acc = tensor<16x64xi32>

// wgmma would read B along K, and it lies along N; TMA does not bring it, because its rows are at any place.
// CHECK-LABEL: nv_tileaa.func @along_n
// CHECK: nv_tileas.dot %{{.*}} : tensor<16x32xi8>, tensor<32x64xi8>, tensor<16x64xi32>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @along_n(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_8_i8>} : !view -> tensor<16x32xi8>, !tok
      %y, %yt = nv_tileas.tiled_load %w[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_8_i8>} : !view -> tensor<32x64xi8>, !tok
      // expected-remark @below {{not computed transposed by wgmma: its threads would have to transpose a factor}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k32, si8, si8, i32>} : tensor<16x32xi8>, tensor<32x64xi8>, !acc
      scf.yield %d : !acc
    }
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<16x64xf32>

// tcgen05.mma has 64 or 128 rows.
// CHECK-LABEL: nv_tileaa.func @few_rows_by_tcgen05
// CHECK: %[[Z:.*]] = arith.constant dense<0.0{{.*}}> : tensor<64x16xf32>
// CHECK: %[[S:.*]] = scf.for %{{.*}} iter_args(%[[C:.*]] = %[[Z]]) -> (tensor<64x16xf32>)
// CHECK: %[[A:.*]] = nv_tileaa.permute %{{.*}} [1, 0] : tensor<16x32xf16> -> tensor<32x16xf16>
// CHECK: %[[B:.*]] = nv_tileaa.permute %{{.*}} [1, 0] : tensor<32x64xf16> -> tensor<64x32xf16>
// CHECK: %[[D:.*]] = nv_tileas.dot %[[B]], %[[A]], %[[C]]
// CHECK-NEXT: scf.yield %[[D]]
// CHECK: nv_tileaa.permute %[[S]] [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @few_rows_by_tcgen05(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<16x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x64xf16>, !tok
      // expected-remark @below {{computed transposed, as 64x16x32: tcgen05.mma has 64 or 128 rows}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x32xf16>, tensor<32x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
