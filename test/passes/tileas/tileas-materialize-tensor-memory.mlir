// RUN: tessera-opt %s --tileas-materialize-tensor-memory --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// Three agents: loads, products, and what uses the sums. A loop of an unknown number of iterations may leave no sums.
// CHECK-LABEL: nv_tileaa.func @gemm
// CHECK: create_pipeline stages = 4, producers = 1, consumers = 1
// CHECK: %[[FULL:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4
// CHECK: %[[D:.*]] = nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x64xf32
// CHECK: agent_switch num_warps = [1, 1, 4] warp_id = [0, 1, 2] {
// CHECK: scf.for
// CHECK-COUNT-2: nv_tileas.async.tiled_tma_load
// CHECK: }, {
// CHECK: %[[T:.*]] = nv_tileas.async.pipeline.producer_acquire %[[FULL]]
// CHECK: scf.for %[[K:.*]] = %[[LOWER:.*]] to
// CHECK: %[[S:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: %[[MORE:.*]] = arith.cmpi ne, %[[K]], %[[LOWER]]
// CHECK: nv_tileas.async.umma %{{.*}}, %{{.*}}, %[[D]], %{{.*}} accumulate %[[MORE]]
// CHECK: nv_tileas.async.pipeline.consumer_release %[[S]] products
// CHECK: nv_tileas.async.pipeline.producer_commit %[[T]]
// CHECK: }, {
// CHECK-NOT: scf.for
// CHECK: %[[W:.*]] = nv_tileas.async.pipeline.consumer_wait %[[FULL]]
// CHECK: %[[R:.*]] = scf.if
// CHECK: nv_tileas.tmem_load %[[D]]
// CHECK: else
// CHECK: arith.constant dense<0.000000e+00>
// CHECK: nv_tileas.async.pipeline.consumer_release %[[W]]{{$}}
// CHECK: nv_tileas.tiled_store %{{.*}}, %[[R]]
// CHECK: nv_tileas.dealloc_tmem %[[D]]
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @gemm(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// Products without a loop add up in one buffer; what the first one adds to is added to their sums.
// CHECK-LABEL: nv_tileaa.func @chain
// CHECK: }, {
// CHECK: %[[FIRST:.*]] = arith.constant false
// CHECK: accumulate %[[FIRST]]
// CHECK: %[[MORE:.*]] = arith.constant true
// CHECK: accumulate %[[MORE]]
// CHECK: producer_commit
// CHECK: }, {
// CHECK: %[[S:.*]] = nv_tileas.tmem_load
// CHECK: arith.addf %[[S]]
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @chain(%p: !llvm.ptr<1>, %m: i32, %s: i32, %g: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = nv_tileaa.splat %g : f32 -> !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
    %e, %et = nv_tileas.tiled_load %v[%z, %o], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
    %f, %ft = nv_tileas.tiled_load %v[%o, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
    %h = nv_tileas.dot %e, %f, %d {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
    %w = nv_tileas.tiled_store %c[%z, %z], %h, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<32x64xf32>

// CHECK-LABEL: nv_tileaa.func @rows
// CHECK-NOT: agent_switch
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @rows(%x: f16) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %a = nv_tileaa.splat %x : f16 -> tensor<32x64xf16>
    %b = nv_tileaa.splat %x : f16 -> tensor<64x64xf16>
    %c = arith.constant dense<0.0> : !acc
    // expected-remark @below {{multiplies 32x64x64; tcgen05.mma has 64 or 128 rows, at least 16 columns and 16 terms}}
    %d = nv_tileas.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<32x64xf16>, tensor<64x64xf16>, !acc
    nv_tileaa.return
  }
}

// -----

!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// CHECK-LABEL: nv_tileaa.func @computed
// CHECK-NOT: agent_switch
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @computed(%x: f16) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %a = nv_tileaa.splat %x : f16 -> tensor<64x64xf16>
    %c = arith.constant dense<0.0> : !acc
    // expected-remark @below {{has no operand that TMA brings}}
    %d = nv_tileas.dot %a, %a, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// The left factor of the second product is computed from the sums of the first: the consumer hands it over, and takes
// the sums of the second product in the next iteration. Each product has an agent, so that the first runs ahead.
// CHECK-LABEL: nv_tileaa.func @chained
// CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 1
// CHECK: %[[S:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4
// CHECK: %[[O:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 1, consumers = 4
// CHECK: agent_switch num_warps = [1, 1, 1, 4] warp_id = [0, 1, 2, 3] {
// CHECK: }, {
// CHECK: producer_acquire %[[S]]
// CHECK: nv_tileas.async.umma
// CHECK: }, {
// CHECK: consumer_wait %[[P]]
// CHECK: producer_acquire %[[O]]
// CHECK: nv_tileas.async.umma
// CHECK: }, {
// CHECK: scf.for %[[K:.*]] = %[[LOWER:.*]] to
// CHECK: consumer_wait %[[S]]
// CHECK: nv_tileas.tmem_load
// CHECK: arith.truncf
// CHECK: produce_one %[[P]]
// CHECK: nv_tileas.tmem_store
// CHECK: %[[MORE:.*]] = arith.cmpi ne, %[[K]], %[[LOWER]]
// CHECK: %[[NOW:.*]]:2 = scf.if %[[MORE]]
// CHECK: consumer_wait %[[O]]
// CHECK: nv_tileas.tmem_load
// CHECK: %[[SCALED:.*]] = arith.mulf %[[NOW]]#0
// CHECK: scf.yield %[[SCALED]]
// CHECK: scf.if
// CHECK: consumer_wait %[[O]]
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @chained(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %f: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %g = nv_tileaa.splat %f : f32 -> !acc
    %q, %qt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %q, %x, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      %h = arith.truncf %d : !acc to tensor<64x64xf16>
      %w = arith.mulf %a, %g : !acc
      %y, %yt = nv_tileas.tiled_load %v[%k, %o], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %e = nv_tileas.dot %h, %y, %w {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %e : !acc
    }
    %u = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// The sums are multiplied by a column between the products: the schedule has an agent for that, in tensor memory, where
// they stay. The consumer hands the column over, and takes the sums behind the loop.
// CHECK-LABEL: nv_tileaa.func @corrected
// CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 1
// CHECK: %[[S:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4
// CHECK: %[[O:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 4
// CHECK: %[[USABLE:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 1, producers = 4, consumers = 1
// CHECK: %[[F:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 4, consumers = 4
// CHECK: agent_switch num_warps = [1, 1, 1, 4, 4] warp_id = [0, 1, 2, 3, 7]
// CHECK: }, {
// CHECK: producer_acquire %[[S]]
// CHECK: nv_tileas.async.umma
// CHECK: }, {
// CHECK: %[[READY:.*]] = nv_tileas.async.pipeline.consumer_wait %[[USABLE]]
// CHECK: %[[ADDS:.*]] = arith.constant true
// CHECK: nv_tileas.async.umma {{.*}} accumulate %[[ADDS]]
// CHECK: consumer_release %[[READY]] products
// CHECK: }, {
// CHECK: %[[A:.*]] = nv_tileas.async.pipeline.producer_acquire %[[O]]
// CHECK: %[[STARTED:.*]] = nv_tileas.async.pipeline.producer_write %[[A]]
// CHECK: nv_tileas.tmem_store
// CHECK: scf.for
// CHECK: consumer_wait %[[F]]
// CHECK: %[[COLUMN:.*]] = nv_tileas.load
// CHECK: produce_one %[[USABLE]]
// CHECK: %[[CHANGES:.*]] = arith.cmpf une, %[[COLUMN]]
// CHECK: %[[ANY:.*]] = nv_tileas.any_in_warp %[[CHANGES]]
// CHECK: scf.if %[[ANY]]
// CHECK: %[[OLD:.*]] = nv_tileas.tmem_load
// CHECK: %[[NEW:.*]] = arith.mulf %[[OLD]]
// CHECK: nv_tileas.tmem_store %[[NEW]]
// CHECK: producer_tail %[[USABLE]]
// CHECK: producer_commit %[[STARTED]]
// CHECK: }, {
// CHECK: scf.for
// CHECK: produce_one %[[P]]
// CHECK: produce_one %[[F]]
// CHECK: consumer_wait %[[O]]
// CHECK: nv_tileas.tmem_load
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @corrected(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %q, %qt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
    %i2 = arith.constant dense<0.0> : tensor<128x128xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x128xf16>, !tok
      %d = nv_tileas.dot %q, %x, %i2 {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
      %h0 = math.exp2 %d : tensor<128x128xf32>
      %h = arith.truncf %h0 : tensor<128x128xf32> to tensor<128x128xf16>
      %j = nv_tileaa.reduce %d axis = 1 identities = [0xFF800000 : f32] : tensor<128x128xf32> -> tensor<128xf32> {
      ^bb0(%left: f32, %right: f32):
        %most = arith.maxnumf %left, %right : f32
        nv_tileaa.yield %most : f32
      }
      %f = nv_tileaa.reshape %j : tensor<128xf32> -> tensor<128x1xf32>
      %g = nv_tileaa.broadcast %f : tensor<128x1xf32> -> !acc
      %w = arith.mulf %a, %g {nv_tileas.agent = "correction"} : !acc
      %y, %yt = nv_tileas.tiled_load %v[%k, %o], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %e = nv_tileas.dot %h, %y, %w {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x128xf16>, tensor<128x64xf16>, !acc
      scf.yield %e : !acc
    }
    %u = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// The two CTAs of a cluster multiply together: the leader starts the products, each CTA loads half of B, and waits for
// what the leader still does to its barriers before it ends.
// CHECK-LABEL: nv_tileaa.func @pair
// CHECK: alloc_tensor {{.*}}!nv_tileas.smem<4x128x64xf16
// CHECK: alloc_tensor {{.*}}!nv_tileas.smem<4x64x32xf16
// CHECK: %[[PIPE:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 1 pair
// CHECK: create_pipeline stages = 1, producers = 1, consumers = 8 pair
// CHECK: nv_tileas.alloc_tmem pair : !nv_tileas.tmem<1x128x64xf32
// CHECK: agent_switch num_warps = [1, 1, 4]
// CHECK: %[[HALF:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: %[[BEGIN:.*]] = arith.addi %{{.*}}, %[[HALF]] : i32
// CHECK: tiled_tma_load %{{.*}}[%{{.*}}, %[[BEGIN]]]
// CHECK-COUNT-4: producer_tail %[[PIPE]]
// CHECK: }, {
// CHECK: %[[RANK:.*]] = nv_tileas.cta_rank
// CHECK: %[[BIT:.*]] = arith.andi %[[RANK]]
// CHECK: %[[LEADS:.*]] = arith.cmpi eq, %[[BIT]]
// CHECK: scf.if %[[LEADS]]
// CHECK: nv_tileas.async.umma {{.*}} pair {{.*}} !nv_tileas.smem<1x128x64xf16, {{.*}} !nv_tileas.smem<1x64x32xf16, {{.*}} !nv_tileas.tmem<1x128x64xf32
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @pair(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileas.shared_by = 1 : i64} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, nv_tileas.in_step = 1 : i64} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// Two pairs need the same right factor: each CTA copies a quarter of it, half of its own half, to the CTA of the other
// pair whose rank differs in bit 1.  A stage is empty when the products of both pairs are complete.
// CHECK-LABEL: nv_tileaa.func @pairs
// CHECK: nv_tileas.make_tiled_tma_desc {{.*}} !nv_tileas.tma_desc<128x64xf16>
// CHECK: nv_tileas.make_tiled_tma_desc {{.*}} !nv_tileas.tma_desc<32x32xf16>
// CHECK: %[[PIPE:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 2, peers = [2] pair
// CHECK: create_pipeline stages = 1, producers = 1, consumers = 8 pair
// CHECK: tiled_tma_load {{.*}}, %{{[a-z0-9]+}} : {{.*}}128x64xf16>
// CHECK: tiled_tma_load {{.*}} multicast = 2 : {{.*}}32x32xf16>
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @pairs(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [4, 1, 1]>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileas.shared_by = 3 : i64} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, nv_tileas.in_step = 3 : i64} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// The CTAs load different right factors.
// CHECK-LABEL: nv_tileaa.func @alone
// CHECK-NOT: pair
// CHECK: nv_tileas.async.umma
// CHECK-NOT: pair
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @alone(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      // expected-remark @below {{each CTA multiplies alone: nv_tileas.dot has another right factor in each CTA of a cluster}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, nv_tileas.in_step = 1 : i64} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// CHECK-LABEL: nv_tileaa.func @apart
// CHECK-NOT: pair
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @apart(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileas.shared_by = 1 : i64} : !view -> tensor<64x64xf16>, !tok
      // expected-remark @below {{each CTA multiplies alone: nv_tileas.dot is not executed equally often by both CTAs of a cluster}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!bytes = !nv_tileaa.memref<?x?xi8>
!scales = !nv_tileaa.memref<?x?xf8E4M3FN>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x128xf32>

// Factors of 4 bits are bytes, and the consumer hands both tiles of scales over together, in atoms that the multiplier
// copies to tensor memory.
// CHECK-LABEL: nv_tileaa.func @nvfp4
// CHECK: nv_tileas.alloc_tensor {{.*}} : !nv_tileas.smem<2x128x4xf8E4M3FN
// CHECK: nv_tileas.alloc_tensor {{.*}} : !nv_tileas.smem<2x4x128xf8E4M3FN
// CHECK: %[[SCALES:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 8, consumers = 1
// CHECK: nv_tileas.alloc_tmem : !nv_tileas.tmem<1x128x128xf32, {{.*}}>, !nv_tileas.tmem<2x128x4xf8E4M3FN, {{.*}}>, !nv_tileas.tmem<2x4x128xf8E4M3FN
// CHECK: scf.for
// CHECK-COUNT-2: nv_tileas.async.tiled_tma_load {{.*}}xi8>
// CHECK: scf.for
// CHECK: nv_tileas.async.pipeline.consumer_wait %[[SCALES]]
// CHECK: %[[SA:.*]] = nv_tileas.async.tmem_copy
// CHECK: %[[SB:.*]] = nv_tileas.async.tmem_copy
// CHECK: nv_tileas.async.umma {{.*}} scales %[[SA]], %[[SB]]
// CHECK: scf.for
// CHECK: nv_tileas.async.pipeline.producer_acquire %[[SCALES]]
// CHECK-COUNT-2: nv_tileas.store
// CHECK: nv_tileas.fence_proxy
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @nvfp4(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !bytes
    %u = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [1, %l], space = #nv_tileaa.global : !bytes
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !scales
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_8_i8>} : !bytes -> tensor<128x32xi8>, !tok
      %x1 = nv_tileaa.reshape %x : tensor<128x32xi8> -> tensor<4096xi8>
      %x2 = nv_tileaa.unpack %x1 : tensor<4096xi8> -> tensor<8192xf4E2M1FN>
      %x3 = nv_tileaa.reshape %x2 : tensor<8192xf4E2M1FN> -> tensor<128x64xf4E2M1FN>
      %y, %yt = nv_tileas.tiled_load %u[%k, %o], %t {atom = #cute.copy_atom<sm80_ldg_8_i8>} : !bytes -> tensor<32x128xi8>, !tok
      %y0 = nv_tileaa.permute %y [1, 0] : tensor<32x128xi8> -> tensor<128x32xi8>
      %y1 = nv_tileaa.reshape %y0 : tensor<128x32xi8> -> tensor<4096xi8>
      %y2 = nv_tileaa.unpack %y1 : tensor<4096xi8> -> tensor<8192xf4E2M1FN>
      %y3 = nv_tileaa.reshape %y2 : tensor<8192xf4E2M1FN> -> tensor<128x64xf4E2M1FN>
      %y4 = nv_tileaa.permute %y3 [1, 0] : tensor<128x64xf4E2M1FN> -> tensor<64x128xf4E2M1FN>
      %sa, %sat = nv_tileas.tiled_load %w[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_8_f8E4M3FN>} : !scales -> tensor<128x4xf8E4M3FN>, !tok
      %sb, %sbt = nv_tileas.tiled_load %w[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_8_f8E4M3FN>} : !scales -> tensor<4x128xf8E4M3FN>, !tok
      %d = nv_tileas.dot %x3, %y4, %a scales %sa, %sb {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f4E2M1FN, f4E2M1FN, f32>} : tensor<128x64xf4E2M1FN>, tensor<64x128xf4E2M1FN>, !acc scales tensor<128x4xf8E4M3FN>, tensor<4x128xf8E4M3FN>
      scf.yield %d : !acc
    }
    %e = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!bytes = !nv_tileaa.memref<?x?xi8>
!tok = !nv_tileaa.mem_token

// What tcgen05.mma does not do is multiplied as before: 32 rows.
// CHECK-LABEL: nv_tileaa.func @few_rows
// CHECK-NOT: agent_switch
// CHECK: nv_tileas.dot %{{.*}} : tensor<32x64xf4E2M1FN>
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @few_rows(%a: !llvm.ptr<1>, %x: i8, %f: f8E8M0FNU, %g: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %y = nv_tileaa.splat %x : i8 -> tensor<1024xi8>
    %y1 = nv_tileaa.unpack %y : tensor<1024xi8> -> tensor<2048xf4E2M1FN>
    %y2 = nv_tileaa.reshape %y1 : tensor<2048xf4E2M1FN> -> tensor<32x64xf4E2M1FN>
    %y3 = nv_tileaa.permute %y2 [1, 0] : tensor<32x64xf4E2M1FN> -> tensor<64x32xf4E2M1FN>
    %sa = nv_tileaa.splat %f : f8E8M0FNU -> tensor<32x2xf8E8M0FNU>
    %sb = nv_tileaa.splat %f : f8E8M0FNU -> tensor<2x32xf8E8M0FNU>
    %c = nv_tileaa.splat %g : f32 -> tensor<32x32xf32>
    %d = nv_tileas.dot %y2, %y3, %c scales %sa, %sb {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f4E2M1FN, f4E2M1FN, f32>} : tensor<32x64xf4E2M1FN>, tensor<64x32xf4E2M1FN>, tensor<32x32xf32> scales tensor<32x2xf8E8M0FNU>, tensor<2x32xf8E8M0FNU>
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %a, shape = [32, 32], stride = [32, 1], space = #nv_tileaa.global : !nv_tileaa.memref<32x32xf32>
    %z = arith.constant 0 : i32
    %e = nv_tileas.tiled_store %v[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x32xf32>, !nv_tileaa.memref<32x32xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// Only the consumer counts. It sends the number of iterations to the producer, and to the agent that multiplies.
// CHECK-LABEL: nv_tileaa.func @counted
// CHECK: agent_switch
// CHECK: %[[N:.*]] = nv_tileas.async.pipeline.receive channel = 0
// CHECK: scf.for {{.*}} to %[[N]]
// CHECK: tiled_tma_load
// CHECK: }, {
// CHECK: %[[M:.*]] = nv_tileas.async.pipeline.receive channel = 1
// CHECK: scf.for {{.*}} to %[[M]]
// CHECK: nv_tileas.async.umma
// CHECK: }, {
// CHECK: %[[L:.*]], %{{.*}} = nv_tileaa.atomic_rmw
// CHECK-NEXT: nv_tileas.async.pipeline.send %[[L]], channel = 1
// CHECK-NEXT: nv_tileas.async.pipeline.send %[[L]], channel = 0
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @counted(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %n, %u = nv_tileaa.atomic_rmw add relaxed gpu %q, %o, %t : !llvm.ptr<1>, i32, !tok
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// In a pair, the agent that multiplies is in one CTA, and the consumer of the other would wait for its receiver.
// CHECK-LABEL: nv_tileaa.func @counted_in_pairs
// CHECK-NOT: agent_switch
// CHECK: nv_tileas.dot
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @counted_in_pairs(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %n, %u = nv_tileaa.atomic_rmw add relaxed gpu %q, %o, %t : !llvm.ptr<1>, i32, !tok
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileas.shared_by = 1 : i64} : !view -> tensor<64x64xf16>, !tok
      // expected-remark @below {{tcgen05.mma is not used: nv_tileas.dot is in a loop or branch that depends on what the consumer computes, which in a pair of CTAs the agent that multiplies does not know in this version}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, nv_tileas.in_step = 1 : i64} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
