// RUN: tessera-opt %s --verify-each=false --convert-tileaa-to-tileas --tileas-insert-barriers | filecheck %s

// Threads store what other threads load: what a token orders after a store, or a store after a load, has a barrier before.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK-LABEL: nv_tileaa.func @ordered
  nv_tileaa.func @ordered(%p: !llvm.ptr<1>) {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    // CHECK-NOT: nv_tileas.barrier
    // CHECK: tiled_load
    // CHECK: tiled_load
    %x, %t1 = nv_tileaa.tiled_load %v, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    %y, %t2 = nv_tileaa.tiled_load %v, %t1 {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    // CHECK: nv_tileas.barrier
    // CHECK-NEXT: tiled_store
    %t3 = nv_tileaa.tiled_store %v, %y, %t2 {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    // CHECK: nv_tileas.barrier
    // CHECK-NEXT: tiled_load
    %t4 = nv_tileaa.join_mem_tokens %t3, %t1 : !nv_tileaa.mem_token
    %z, %t5 = nv_tileaa.tiled_load %v, %t4 {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // CHECK-LABEL: nv_tileaa.func @unordered
  // CHECK-NOT: nv_tileas.barrier
  // CHECK: nv_tileaa.return
  nv_tileaa.func @unordered(%p: !llvm.ptr<1>) {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    %x, %t1 = nv_tileaa.tiled_load %v, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    %t3 = nv_tileaa.tiled_store %v, %x, %t {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // The store before the loop is waited for once; the one in it, in every iteration.
  // CHECK-LABEL: nv_tileaa.func @loops
  nv_tileaa.func @loops(%p: !llvm.ptr<1>, %n: i32, %w: tensor<32xf32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    // CHECK: tiled_store
    // CHECK: nv_tileas.barrier
    // CHECK-NEXT: scf.for
    // CHECK-NOT: nv_tileas.barrier
    // CHECK: tiled_load
    %t1 = nv_tileaa.tiled_store %v, %w, %t {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    scf.for %i = %c0 to %n step %c1 : i32 {
      %x, %t2 = nv_tileaa.tiled_load %v, %t1 {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    }
    // CHECK: scf.for
    // CHECK: nv_tileas.barrier
    // CHECK-NEXT: tiled_store
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %t) -> (!nv_tileaa.mem_token) : i32 {
      %t3 = nv_tileaa.tiled_store %v, %w, %a {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
      scf.yield %t3 : !nv_tileaa.mem_token
    }
    // CHECK: nv_tileas.barrier
    // CHECK-NEXT: tiled_load
    %y, %t4 = nv_tileaa.tiled_load %v, %r {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
