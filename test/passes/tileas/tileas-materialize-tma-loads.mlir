// RUN: tessera-opt %s --tileas-materialize-tma-loads --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// Two tiles come together, as soon as their indices are known, and are waited for where they are used.
// CHECK-LABEL: nv_tileaa.func @sum
// CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4
// CHECK: %[[I:.*]] = nv_tileas.async.pipeline.create_iterator %[[P]]
// CHECK-NOT: nv_tileas.fence_proxy
// CHECK: nv_tileas.async.pipeline.producer_write
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: nv_tileas.async.pipeline.producer_commit
// CHECK: %[[C:.*]] = nv_tileas.async.pipeline.consumer_wait %[[P]], %[[I]], 0
// CHECK: %[[X:.*]] = nv_tileas.load
// CHECK: %[[Y:.*]] = nv_tileas.load
// CHECK-NEXT: nv_tileas.async.pipeline.consumer_release %[[C]]
// CHECK: arith.addf %[[X]], %[[Y]]
// CHECK-NOT: nv_tileas.tiled_load
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @sum(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %z = arith.constant 0 : i32
    %x, %xt = nv_tileas.tiled_load %c[%i, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %y, %yt = nv_tileas.tiled_load %c[%z, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %r = arith.addf %x, %y : tensor<32x64xf32>
    %w = nv_tileas.tiled_store %c[%i, %i], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// Numbers and views that stand between two loads are computed in front of both, so that the tiles come together.
// CHECK-LABEL: nv_tileaa.func @numbers_between
// CHECK: %[[J:.*]] = arith.addi %i, %i
// CHECK-NEXT: %[[K:.*]] = arith.addi %[[J]], %i
// CHECK: nv_tileaa.make_memref {{.*}}shape = [%i, %m]
// CHECK: nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileas.async.tiled_tma_load %{{.*}}[%i, %i]
// CHECK-NEXT: nv_tileas.async.tiled_tma_load %{{.*}}[%[[K]], %i]
// CHECK-NOT: create_pipeline
// CHECK: %[[X:.*]] = nv_tileas.load
// CHECK: arith.xori %[[K]], %i
// CHECK: %[[Y:.*]] = nv_tileas.load
// CHECK: arith.addf %[[X]], %[[Y]]
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @numbers_between(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32, %g: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %j = arith.addi %i, %i : i32
    %k = arith.addi %j, %i : i32
    %d = nv_tileaa.make_memref %b, shape = [%i, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = arith.xori %k, %i : i32
    %y, %yt = nv_tileas.tiled_load %d[%k, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %r = arith.addf %x, %y : tensor<32x64xf32>
    %wr = nv_tileas.tiled_store %c[%i, %i], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// Two tiles, one of which is used before the other is loaded, come by themselves, that one first.
// CHECK-LABEL: nv_tileaa.func @apart
// CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: %[[Q:.*]] = nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: %[[C:.*]] = nv_tileas.async.pipeline.consumer_wait %[[P]]
// CHECK: %[[X:.*]] = nv_tileas.load
// CHECK-NEXT: nv_tileas.async.pipeline.consumer_release %[[C]]
// CHECK: arith.negf %[[X]]
// CHECK: %[[D:.*]] = nv_tileas.async.pipeline.consumer_wait %[[Q]]
// CHECK: nv_tileas.load
// CHECK-NEXT: nv_tileas.async.pipeline.consumer_release %[[D]]
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @apart(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32, %g: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %n = arith.negf %x : tensor<32x64xf32>
    %y, %yt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %r = arith.addf %n, %y : tensor<32x64xf32>
    %wr = nv_tileas.tiled_store %c[%i, %i], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// So do tiles with a branch between them.
// CHECK-LABEL: nv_tileaa.func @around_a_branch
// CHECK-COUNT-2: nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileas.async.pipeline.consumer_release
// CHECK: scf.if
// CHECK: nv_tileas.async.pipeline.consumer_wait
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @around_a_branch(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32, %g: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %n = scf.if %g -> (tensor<32x64xf32>) {
      %o = arith.negf %x : tensor<32x64xf32>
      scf.yield %o : tensor<32x64xf32>
    } else {
      scf.yield %x : tensor<32x64xf32>
    }
    %y, %yt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %r = arith.addf %n, %y : tensor<32x64xf32>
    %wr = nv_tileas.tiled_store %c[%i, %i], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// A tile whose place in memory is known behind another load comes by itself, as soon as it is known.
// CHECK-LABEL: nv_tileaa.func @known_later
// CHECK-COUNT-2: nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileaa.atomic_rmw
// CHECK: %[[K:.*]] = arith.addi
// CHECK: nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileas.async.tiled_tma_load %{{.*}}[%[[K]], %i]
// CHECK: nv_tileas.async.pipeline.consumer_wait
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @known_later(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32, %g: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %j, %jt = nv_tileaa.atomic_rmw add relaxed gpu %p, %i, %t : !llvm.ptr<1>, i32, !tok
    %y, %yt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %k = arith.addi %j, %i : i32
    %z, %zt = nv_tileas.tiled_load %c[%k, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %q = arith.addf %x, %y : tensor<32x64xf32>
    %r = arith.addf %q, %z : tensor<32x64xf32>
    %wr = nv_tileas.tiled_store %c[%i, %i], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// So does one whose place is known behind the first of two loads that come together.
// CHECK-LABEL: nv_tileaa.func @known_within
// CHECK-COUNT-2: nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileaa.atomic_rmw
// CHECK: %[[K:.*]] = arith.addi
// CHECK: nv_tileas.async.pipeline.create_pipeline
// CHECK: nv_tileas.async.tiled_tma_load %{{.*}}[%[[K]], %i]
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @known_within(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32, %g: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %j, %jt = nv_tileaa.atomic_rmw add relaxed gpu %p, %i, %t : !llvm.ptr<1>, i32, !tok
    %v, %vt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %k = arith.addi %j, %i : i32
    %y, %yt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %z, %zt = nv_tileas.tiled_load %c[%k, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %h = arith.addf %v, %y : tensor<32x64xf32>
    %q = arith.addf %x, %h : tensor<32x64xf32>
    %r = arith.addf %q, %z : tensor<32x64xf32>
    %wr = nv_tileas.tiled_store %c[%i, %i], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// What threads may have done with the same bytes of shared memory comes before the copy.
// CHECK-LABEL: nv_tileaa.func @after_others
// CHECK: nv_tileaa.reduce
// CHECK: nv_tileas.fence_proxy
// CHECK-NEXT: nv_tileas.async.pipeline.produce_one
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @after_others(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %ones = arith.constant dense<1> : tensor<256xi32>
    %j = nv_tileaa.reduce %ones axis = 0 identities = [0 : i32] : tensor<256xi32> -> i32 {
    ^bb0(%u: i32, %v: i32):
      %uv = arith.addi %u, %v : i32
      nv_tileaa.yield %uv : i32
    }
    %x, %xt = nv_tileas.tiled_load %c[%i, %j], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    %w = nv_tileas.tiled_store %c[%i, %i], %x, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// Where the load stays as it is, a remark says why.
// CHECK-LABEL: nv_tileaa.func @small
// CHECK-NOT: tma
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @small(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32, %g: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    // expected-remark @+1 {{TMA does not load the tile: nv_tileas.tiled_load takes about 8 instructions of a warp as it is, and 23 through shared memory}}
    %x, %xt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<4x64xf32>, !tok
    %w = nv_tileas.tiled_store %c[%i, %i], %x, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<4x64xf32>, !view, !tok
    // expected-remark-re @+1 {{TMA does not load the tile: nv_tileas.tiled_load is ordered by its token after 'nv_tileas.tiled_store' at {{.*}}, and the tile would come ahead of that: give it another token if the two touch different memory}}
    %y, %yt = nv_tileas.tiled_load %c[%i, %i], %w {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    // expected-remark @+1 {{TMA does not load the tile: nv_tileas.tiled_load reads nan out of bounds, but TMA fills with zeros}}
    %n, %nt = nv_tileas.tiled_load %c[%i, %i], %t padding nan {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
    scf.if %g {
      // expected-remark @+1 {{TMA does not load the tile: nv_tileas.tiled_load stands in a 'scf.if', and TMA copies ahead only what always runs}}
      %q, %qt = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x64xf32>, !tok
      %v = nv_tileas.tiled_store %c[%i, %i], %q, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x64xf32>, !view, !tok
    }
    // expected-remark @+1 {{TMA does not load the tile: nv_tileas.tiled_load would take 131072 bytes of shared memory, with which fewer than 2 CTAs run at a time}}
    %h, %ht = nv_tileas.tiled_load %c[%i, %i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<256x128xf32>, !tok
    %o = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x128xf32>, !view, !tok
    nv_tileaa.return
  }
}

// -----

// Gathers and loads through pointers: sm_90 has no such copy.
// CHECK-LABEL: nv_tileaa.func @gather
// CHECK-NOT: tma
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @gather(%p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %q = nv_tileaa.splat %p : !llvm.ptr<1> -> tensor<4096x!llvm.ptr<1>>
    // expected-remark @+1 {{TMA does not load the tile: nv_tileaa.load reads each element at an address of its own, and TMA copies boxes of views: load the tile through a view if its rows are evenly apart}}
    %x, %r = nv_tileaa.load %q, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : tensor<4096x!llvm.ptr<1>> -> tensor<4096xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
