// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | filecheck %s --check-prefix GENERIC

// CHECK-LABEL: func.func @threads
func.func @threads() attributes {tessera.kernel} {
  // CHECK: tile.thread_id : index
  // GENERIC: "tile.thread_id"() : () -> index
  %thread = tile.thread_id : index
  // CHECK: tile.warp_id : index
  %warp = tile.warp_id : index
  // CHECK: tile.lane_id : index
  %lane = tile.lane_id : index
  // CHECK: tile.num_threads : index
  %threads = tile.num_threads : index
  // CHECK: tile.block_id : index
  %x = tile.block_id : index
  // CHECK: tile.block_id {axis = 2 : i64} : index
  // GENERIC: "tile.block_id"() <{axis = 2 : i64}> : () -> index
  %z = tile.block_id {axis = 2} : index
  // CHECK: tile.num_blocks {axis = 1 : i64} : index
  %blocks = tile.num_blocks {axis = 1} : index
  return
}

// CHECK-LABEL: func.func @buffers
func.func @buffers(%tensor: memref<?x?x?xf16>, %i: index, %x: f16) {
  // CHECK: tile.alloc_shared {alignment = 128 : i64, size = 2048 : i64, swizzle = "xor", swizzle_size = 64 : i64} : memref<32x32xf16, 3>
  %s = tile.alloc_shared {swizzle = "xor", swizzle_size = 64, size = 2048, alignment = 128} : memref<32x32xf16, 3>
  // CHECK: tile.alloc_register {layout = "row_major", vector_width = 4 : i64} : memref<4x8xf16, 5>
  %f = tile.alloc_register {layout = "row_major", vector_width = 4} : memref<4x8xf16, 5>
  // CHECK: tile.compute_tensor_slice %tensor, %i : memref<?x?x?xf16>, index -> memref<32x?xf16>
  %m = tile.compute_tensor_slice %tensor, %i : memref<?x?x?xf16>, index -> memref<32x?xf16>
  // CHECK: tile.fill %f, %x : memref<4x8xf16, 5>
  tile.fill %f, %x : memref<4x8xf16, 5>
  // CHECK: tile.mask_fill %f, %x : memref<4x8xf16, 5>, f16
  tile.mask_fill %f, %x : memref<4x8xf16, 5>, f16
  // CHECK: tile.copy %f, %g : memref<4x8xf16, 5>
  %g = tile.alloc_register : memref<4x8xf16, 5>
  tile.copy %f, %g : memref<4x8xf16, 5>
  // CHECK: tile.load_global_tile %m, %f {cache_policy = "streaming", coalesce = true} : memref<32x?xf16>, memref<4x8xf16, 5>
  tile.load_global_tile %m, %f {coalesce = true, cache_policy = "streaming"} : memref<32x?xf16>, memref<4x8xf16, 5>
  // CHECK: tile.store_global %f, %m {cache_policy = "write_back", coalesce = true} : memref<4x8xf16, 5>, memref<32x?xf16>
  tile.store_global %f, %m {coalesce = true, cache_policy = "write_back"} : memref<4x8xf16, 5>, memref<32x?xf16>
  // CHECK: tile.spill %f, %[[SLOT:.*]] : memref<4x8xf16, 5>, memref<4096xf16, 3>
  %slot = tile.alloc_shared : memref<4096xf16, 3>
  tile.spill %f, %slot : memref<4x8xf16, 5>, memref<4096xf16, 3>
  // CHECK: tile.reload %[[SLOT]] : memref<4096xf16, 3> -> memref<4x8xf16, 5>
  %h = tile.reload %slot : memref<4096xf16, 3> -> memref<4x8xf16, 5>
  // CHECK: tile.barrier{{$}}
  // GENERIC: "tile.barrier"() : () -> ()
  tile.barrier
  return
}

// CHECK-LABEL: func.func @elements
func.func @elements(%tensor: memref<?x64xf16>, %i: index) {
  %s = tile.alloc_shared : memref<32x32xf16, 3>
  // CHECK: tile.prefetch %tensor[%i, %i] : memref<?x64xf16>
  tile.prefetch %tensor[%i, %i] : memref<?x64xf16>
  // CHECK: %[[G:.*]] = tile.load_global %tensor[%i, %i] {cache_policy = "cache_all"} : memref<?x64xf16>
  %g = tile.load_global %tensor[%i, %i] {cache_policy = "cache_all"} : memref<?x64xf16>
  // CHECK: tile.store_shared %[[G]], %{{.*}}[%i, %i] : memref<32x32xf16, 3>
  tile.store_shared %g, %s[%i, %i] : memref<32x32xf16, 3>
  // CHECK: %[[S:.*]] = tile.load_shared %{{.*}}[%i, %i] : memref<32x32xf16, 3>
  %v = tile.load_shared %s[%i, %i] : memref<32x32xf16, 3>
  // CHECK: tile.store_global_element %[[S]], %tensor[%i, %i] : memref<?x64xf16>
  // GENERIC: "tile.store_global_element"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (f16, memref<?x64xf16>, index, index) -> ()
  tile.store_global_element %v, %tensor[%i, %i] : memref<?x64xf16>
  // CHECK: tile.load_global_vector %tensor[%i, %i] {vector_width = 8 : i64} : memref<?x64xf16>
  // GENERIC: "tile.load_global_vector"({{.*}}) <{vector_width = 8 : i64}> : (memref<?x64xf16>, index, index) -> vector<8xf16>
  %w = tile.load_global_vector %tensor[%i, %i] {vector_width = 8} : memref<?x64xf16>
  // CHECK: tile.store_shared_vector %{{.*}}, %{{.*}}[%i, %i] {vector_width = 8 : i64} : memref<32x32xf16, 3>
  tile.store_shared_vector %w, %s[%i, %i] {vector_width = 8} : memref<32x32xf16, 3>
  // CHECK: tile.load_shared_vector %{{.*}}[%i, %i] {vector_width = 2 : i64} : memref<32x32xf16, 3>
  %u = tile.load_shared_vector %s[%i, %i] {vector_width = 2} : memref<32x32xf16, 3>
  // CHECK: tile.store_global_vector %{{.*}}, %tensor[%i, %i] {vector_width = 2 : i64} : memref<?x64xf16>
  tile.store_global_vector %u, %tensor[%i, %i] {vector_width = 2} : memref<?x64xf16>
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%m: memref<32x?xf16>) {
  %s = tile.alloc_shared : memref<32x32xf16, 3>
  // CHECK: tile.cp_async %m, %[[S:.*]] {bypass_l1 = true, double_buffer = true, priority = "high", stages = 3 : i64} : memref<32x?xf16>, memref<32x32xf16, 3>
  tile.cp_async %m, %s {bypass_l1 = true, double_buffer = true, stages = 3, priority = "high"} : memref<32x?xf16>, memref<32x32xf16, 3>
  // CHECK: tile.cp_async_cg %m, %{{.*}} {cache_level = "L2"} : memref<32x?xf16>, memref<32x32xf16, 3>
  tile.cp_async_cg %m, %s {cache_level = "L2"} : memref<32x?xf16>, memref<32x32xf16, 3>
  // CHECK: tile.tma_load %m, %{{.*}} {tile_size = array<i64: 16, 32>} : memref<32x?xf16>, memref<32x32xf16, 3>
  tile.tma_load %m, %s {tile_size = array<i64: 16, 32>} : memref<32x?xf16>, memref<32x32xf16, 3>
  // CHECK: tile.cp_commit_group{{$}}
  tile.cp_commit_group
  // CHECK: tile.cp_wait_group 1{{$}}
  // GENERIC: "tile.cp_wait_group"() <{pending = 1 : i64}> : () -> ()
  tile.cp_wait_group 1
  // CHECK: tile.wait_group 0{{$}}
  tile.wait_group 0
  // CHECK: tile.async_wait{{$}}
  tile.async_wait
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>, %k: memref<64x32xf16, 3>, %c: memref<4x8xf32, 5>) {
  // CHECK: tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  // CHECK: tile.mma %a, %k, %c {accumulate = true, layout = "row_major", precision = "mixed", transpose_b = true} : memref<64x32xf16, 3>, memref<64x32xf16, 3>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // GENERIC: "tile.mma"(%{{.*}}, %{{.*}}, %{{.*}}) <{accumulate = true, layout = "row_major", precision = "mixed", transpose_b = true}>
  %1 = tile.mma %a, %k, %c {transpose_b = true, accumulate = true, layout = "row_major", precision = "mixed"} : memref<64x32xf16, 3>, memref<64x32xf16, 3>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.wgmma %a, %b {intrinsic = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"}
  %2 = tile.wgmma %a, %b {intrinsic = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"} : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  // CHECK: tile.wmma %b, %b {intrinsic = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", transpose_a = true}
  %3 = tile.wmma %b, %b {transpose_a = true, intrinsic = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"} : memref<32x64xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// CHECK-LABEL: func.func @fragments
func.func @fragments(%f: memref<4x8xf32, 5>, %g: memref<4x8xf32, 5>, %r: memref<4xf32, 5>, %i: index, %x: f32) {
  // CHECK: tile.row_max %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %0 = tile.row_max %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  // CHECK: tile.row_min %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %1 = tile.row_min %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  // CHECK: tile.row_sum %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %2 = tile.row_sum %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  // CHECK: tile.reduce max %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  // GENERIC: "tile.reduce"(%{{.*}}) <{kind = #tile.reduction_kind<max>}> : (memref<4x8xf32, 5>) -> memref<4xf32, 5>
  %3 = tile.reduce max %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  // CHECK: tile.warp_reduce sum %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  %4 = tile.warp_reduce sum %f : memref<4x8xf32, 5> -> memref<4xf32, 5>
  // CHECK: tile.broadcast %r : memref<4xf32, 5> -> memref<4x8xf32, 5>
  %5 = tile.broadcast %r : memref<4xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.element_max %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  %6 = tile.element_max %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.element_min %f, %g
  %7 = tile.element_min %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.add %f, %g
  %8 = tile.add %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.sub %f, %g
  %9 = tile.sub %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.mul %f, %g
  %10 = tile.mul %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.exp_diff %r, %r : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
  %11 = tile.exp_diff %r, %r : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
  // CHECK: tile.exp_subtract %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  %12 = tile.exp_subtract %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.div_broadcast %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  %13 = tile.div_broadcast %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.mul_broadcast %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  %14 = tile.mul_broadcast %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.fma %f, %g, %f : memref<4x8xf32, 5>, memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  %15 = tile.fma %f, %g, %f : memref<4x8xf32, 5>, memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  // CHECK: tile.cast %f : memref<4x8xf32, 5> to memref<4x8xbf16, 5>
  %16 = tile.cast %f : memref<4x8xf32, 5> to memref<4x8xbf16, 5>
  // CHECK: tile.apply "math.rsqrt"(%r) : (memref<4xf32, 5>) -> memref<4xf32, 5>
  %17 = tile.apply "math.rsqrt"(%r) : (memref<4xf32, 5>) -> memref<4xf32, 5>
  // CHECK: tile.apply "arith.cmpf"(%f, %x) {predicate = 4 : i64} : (memref<4x8xf32, 5>, f32) -> memref<4x8xi1, 5>
  %18 = tile.apply "arith.cmpf"(%f, %x) {predicate = 4 : i64} : (memref<4x8xf32, 5>, f32) -> memref<4x8xi1, 5>
  // CHECK: tile.scale_tensor %f, %x : memref<4x8xf32, 5>, f32
  tile.scale_tensor %f, %x : memref<4x8xf32, 5>, f32
  // CHECK: tile.broadcast_scale %f, %x : memref<4x8xf32, 5>, f32
  tile.broadcast_scale %f, %x : memref<4x8xf32, 5>, f32
  // CHECK: tile.scale_accumulator %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5>
  tile.scale_accumulator %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5>
  // CHECK: tile.accumulate %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.accumulate %f, %g : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  // CHECK: tile.causal_mask %f, %i, %i, %x : memref<4x8xf32, 5>
  tile.causal_mask %f, %i, %i, %x : memref<4x8xf32, 5>
  // CHECK: tile.bound_mask %f, %i, %i, %x : memref<4x8xf32, 5>
  tile.bound_mask %f, %i, %i, %x : memref<4x8xf32, 5>
  // CHECK: tile.profile_marker "compute_start", "softmax"
  tile.profile_marker "compute_start", "softmax"
  return
}
