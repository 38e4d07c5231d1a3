// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @below {{'tile.block_id' op axis must be 0, 1 or 2, got 3}}
  %0 = tile.block_id {axis = 3} : index
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.num_blocks' op axis must be 0, 1 or 2, got -1}}
  %0 = tile.num_blocks {axis = -1} : index
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has type memref<?x4xf16, 3>; a buffer in shared memory has one static extent or more}}
  %0 = tile.alloc_shared : memref<?x4xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be memref of one number or more in shared memory (space 3), without strides, but got 'memref<4x4xf16>'}}
  %0 = tile.alloc_shared : memref<4x4xf16>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has swizzle "zigzag"; expected "none" or "xor"}}
  %0 = tile.alloc_shared {swizzle = "zigzag"} : memref<4x4xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has a swizzle_size of 48 bytes; expected 32, 64 or 128}}
  %0 = tile.alloc_shared {swizzle = "xor", swizzle_size = 48} : memref<4x4xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has a swizzle_size, but no swizzle; expected swizzle = "xor"}}
  %0 = tile.alloc_shared {swizzle_size = 64} : memref<4x32xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has size = 31, but memref<4x4xf16, 3> takes 32 bytes}}
  %0 = tile.alloc_shared {size = 31} : memref<4x4xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has an alignment of 24; expected a power of two}}
  %0 = tile.alloc_shared {alignment = 24} : memref<4x4xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be memref of one number or more in shared memory (space 3), without strides, but got 'memref<4x4xf16, strided<[8, 1]>, 3>'}}
  %0 = tile.alloc_shared : memref<4x4xf16, strided<[8, 1]>, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be memref of one number or more in shared memory (space 3), without strides, but got 'memref<4x4xindex, 3>'}}
  %0 = tile.alloc_shared : memref<4x4xindex, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op has type memref<f16, 3>; a buffer in shared memory has one static extent or more}}
  %0 = tile.alloc_shared : memref<f16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op has type memref<?x8xf32, 5>; a fragment has one or two static extents}}
  %0 = tile.alloc_register : memref<?x8xf32, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op has type memref<4x8x2xf32, 5>; a fragment has one or two static extents}}
  %0 = tile.alloc_register : memref<4x8x2xf32, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op result #0 must be memref of one number or more in registers (space 5), without strides, but got 'memref<4x8xf32, 3>'}}
  %0 = tile.alloc_register : memref<4x8xf32, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op result #0 must be memref of one number or more in registers (space 5), without strides, but got 'memref<4x8xindex, 5>'}}
  %0 = tile.alloc_register : memref<4x8xindex, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op has layout "diagonal"; expected "row_major" or "col_major"}}
  %0 = tile.alloc_register {layout = "diagonal"} : memref<4x8xf32, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op has a vector_width of 3, which does not divide memref<4x8xf32, 5>}}
  %0 = tile.alloc_register {vector_width = 3} : memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %x: f16) {
  // expected-error @below {{'tile.mask_fill' op fills memref<4x8xf32, 5> with f16}}
  tile.mask_fill %f, %x : memref<4x8xf32, 5>, f16
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.compute_tensor_slice' op slices memref<?x?xf16> to memref<16x?xf32>; expected a tensor of rank 2 to 4, and a matrix of it}}
  %0 = tile.compute_tensor_slice %t, %i : memref<?x?xf16>, index -> memref<16x?xf32>
  return
}

// -----

func.func @f(%t: memref<?xf16>, %i: index) {
  // expected-error @below {{'tile.compute_tensor_slice' op slices memref<?xf16> to memref<16x?xf16>; expected a tensor of rank 2 to 4, and a matrix of it}}
  %0 = tile.compute_tensor_slice %t, %i : memref<?xf16>, index -> memref<16x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.compute_tensor_slice' op returns memref<?x?xf16>; the number of rows must be static}}
  %0 = tile.compute_tensor_slice %t, %i : memref<?x?xf16>, index -> memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x64xf16>, %i: index) {
  // expected-error @below {{'tile.compute_tensor_slice' op returns memref<16x32xf16>, whose columns differ from those of memref<?x64xf16>}}
  %0 = tile.compute_tensor_slice %t, %i : memref<?x64xf16>, index -> memref<16x32xf16>
  return
}

// -----

func.func @f(%t: memref<?x64xf16>, %i: i32) {
  // expected-error @below {{'tile.compute_tensor_slice' op operand #1 must be index, but got 'i32'}}
  %0 = tile.compute_tensor_slice %t, %i : memref<?x64xf16>, i32 -> memref<16x64xf16>
  return
}

// -----

func.func @f(%s: memref<32x32xf16, 3>, %i: index) {
  // expected-error @below {{'tile.load_shared' op expected 2 indices for memref<32x32xf16, 3>, got 1}}
  %0 = tile.load_shared %s[%i] : memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%s: memref<32x32xf16, 3>, %i: index, %x: f16) {
  // expected-error @below {{'tile.store_shared' op expected 2 indices for memref<32x32xf16, 3>, got 3}}
  tile.store_shared %x, %s[%i, %i, %i] : memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_shared' op operand #0 must be memref of one number or more in shared memory (space 3), without strides, but got 'memref<?x?xf16>'}}
  %0 = tile.load_shared %t[%i, %i] : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_global' op expected 2 indices for memref<?x?xf16>, got 0}}
  %0 = tile.load_global %t[] : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_global' op has cache_policy "sometimes"; expected one of "write_back", "write_through", "streaming", "cache_global", "cache_all", "evict_last"}}
  %0 = tile.load_global %t[%i, %i] {cache_policy = "sometimes"} : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index, %x: f16) {
  // expected-error @below {{'tile.store_global_element' op expected 2 indices for memref<?x?xf16>, got 1}}
  tile.store_global_element %x, %t[%i] : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index, %x: f16) {
  // expected-error @below {{'tile.store_global_element' op has cache_policy "never"; expected one of "write_back", "write_through", "streaming", "cache_global", "cache_all", "evict_last"}}
  tile.store_global_element %x, %t[%i, %i] {cache_policy = "never"} : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.prefetch' op expected 2 indices for memref<?x?xf16>, got 1}}
  tile.prefetch %t[%i] : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op accesses 16 bits at a time; expected a power of two of elements, at least 2, and at most 128 bits}}
  %0 = tile.load_global_vector %t[%i, %i] {vector_width = 1} : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op accesses 48 bits at a time; expected a power of two of elements, at least 2, and at most 128 bits}}
  %0 = tile.load_global_vector %t[%i, %i] {vector_width = 3} : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op accesses 256 bits at a time; expected a power of two of elements, at least 2, and at most 128 bits}}
  %0 = tile.load_global_vector %t[%i, %i] {vector_width = 16} : memref<?x?xf16>
  return
}

// -----

func.func @f(%t: memref<?x12xf16>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op accesses 8 elements at a time, which does not divide the row length of 12 elements}}
  %0 = tile.load_global_vector %t[%i, %i] {vector_width = 8} : memref<?x12xf16>
  return
}

// -----

func.func @f(%t: memref<f16>) {
  // expected-error @below {{'tile.load_global_vector' op accesses vectors of a buffer with one element}}
  %0 = tile.load_global_vector %t[] {vector_width = 8} : memref<f16>
  return
}

// -----

func.func @f(%t: memref<?xindex>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op operand #0 must be memref of numbers in global memory, but got 'memref<?xindex>'}}
  %0 = tile.load_global_vector %t[%i] {vector_width = 2} : memref<?xindex>
  return
}

// -----

func.func @f(%t: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op has cache_policy "x"; expected one of "write_back", "write_through", "streaming", "cache_global", "cache_all", "evict_last"}}
  %0 = tile.load_global_vector %t[%i, %i] {vector_width = 2, cache_policy = "x"} : memref<?x?xf16>
  return
}

// -----

func.func @f(%s: memref<32x32xf16, 3>, %i: index) {
  // expected-error @below {{'tile.load_shared_vector' op expected 2 indices for memref<32x32xf16, 3>, got 1}}
  %0 = tile.load_shared_vector %s[%i] {vector_width = 2} : memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%f: memref<4x8xf16, 5>, %m: memref<32x?xf32>) {
  // expected-error @below {{'tile.store_global' op stores memref<4x8xf16, 5> to memref<32x?xf32>: ranks and element types must match}}
  tile.store_global %f, %m : memref<4x8xf16, 5>, memref<32x?xf32>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %m: memref<32x?xf32>) {
  // expected-error @below {{'tile.store_global' op has cache_policy "cache"; expected one of "write_back", "write_through", "streaming", "cache_global", "cache_all", "evict_last"}}
  tile.store_global %f, %m {cache_policy = "cache"} : memref<4x8xf32, 5>, memref<32x?xf32>
  return
}

// -----

func.func @f(%f: memref<4xf16, 5>, %m: memref<?x?xf16>) {
  // expected-error @below {{'tile.load_global_tile' op loads memref<?x?xf16> into memref<4xf16, 5>: element types and ranks must match, except for a vector in each row}}
  tile.load_global_tile %m, %f : memref<?x?xf16>, memref<4xf16, 5>
  return
}

// -----

func.func @f(%m: memref<32x?xf32>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.cp_async' op copies memref<32x?xf32> to memref<32x32xf16, 3>: ranks and element types must match}}
  tile.cp_async %m, %s : memref<32x?xf32>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<32x?xf16>, %s: memref<32xf16, 3>) {
  // expected-error @below {{'tile.cp_async' op copies memref<32x?xf16> to memref<32xf16, 3>: ranks and element types must match}}
  tile.cp_async %m, %s : memref<32x?xf16>, memref<32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<64x?xf16>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.cp_async' op copies 64 elements along axis 0 into a destination with 32}}
  tile.cp_async %m, %s : memref<64x?xf16>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<32x?xf16>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.cp_async' op has 0 stages; expected one or more}}
  tile.cp_async %m, %s {stages = 0} : memref<32x?xf16>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<32x?xf16>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.cp_async_cg' op has cache_level "L1"; cp.async.cg caches in "L2" only}}
  tile.cp_async_cg %m, %s {cache_level = "L1"} : memref<32x?xf16>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<32x?xf16>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.tma_load' op has tile_size [5, 32], which does not divide memref<32x32xf16, 3>}}
  tile.tma_load %m, %s {tile_size = array<i64: 5, 32>} : memref<32x?xf16>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<32x?xf16>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.tma_load' op has tile_size [32], which does not divide memref<32x32xf16, 3>}}
  tile.tma_load %m, %s {tile_size = array<i64: 32>} : memref<32x?xf16>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<32x?xf16>, %s: memref<32x32xf16, 3>) {
  // expected-error @below {{'tile.tma_load' op has a box of [32, 4] elements: its rows must have a multiple of 16 bytes}}
  tile.tma_load %m, %s {tile_size = array<i64: 32, 4>} : memref<32x?xf16>, memref<32x32xf16, 3>
  return
}

// -----

func.func @f(%m: memref<512x?xf16>, %s: memref<512x32xf16, 3>) {
  // expected-error @below {{'tile.tma_load' op has a box of [512, 32] elements: an axis has at most 256}}
  tile.tma_load %m, %s : memref<512x?xf16>, memref<512x32xf16, 3>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.cp_wait_group' op waits for -1 groups to be left; expected 0 or more}}
  tile.cp_wait_group -1
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.wait_group' op waits for -2 groups to be left; expected 0 or more}}
  tile.wait_group -2
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.wait_group' op waits for 2147483648 groups to be left; expected at most 2147483647}}
  tile.wait_group 2147483648
  return
}

// -----

func.func @f(%a: memref<64xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op multiplies memref<64xf16, 3> by memref<32x64xf16, 3> into memref<4x8xf32, 5>; expected matrices}}
  %0 = tile.mma %a, %b : memref<64xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op multiplies f16 into i32}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xi32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xi8, 3>, %b: memref<32x64xi8, 3>) {
  // expected-error @below {{'tile.mma' op multiplies i8 into f32}}
  %0 = tile.mma %a, %b : memref<64x32xi8, 3>, memref<32x64xi8, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>, %c: memref<8x4xf32, 5>) {
  // expected-error @below {{'tile.mma' op adds to memref<8x4xf32, 5>, but returns memref<4x8xf32, 5>}}
  %0 = tile.mma %a, %b, %c : memref<64x32xf16, 3>, memref<32x64xf16, 3>, memref<8x4xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<64x32xf16, 3>) {
  // expected-error @below {{'tile.mma' op multiplies memref<64x32xf16, 3> by memref<64x32xf16, 3>: the first has 32 columns, the second 64 rows}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<64x32xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op has fragments of 3x8, which do not divide 64x64}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<3x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op has fragments of 16x16 of 64x64 elements: 16 threads, expected a power of two from 32 to 1024}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<16x16xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op has fragments of 1x1 of 64x64 elements: 4096 threads, expected a power of two from 32 to 1024}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<1x1xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<?x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op multiplies memref<64x32xf16, 3> by memref<?x64xf16, 3> into memref<4x8xf32, 5>; expected static extents}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<?x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.wgmma' op names the instruction "mma.sync.aligned.m16n8k16"; expected one that begins with "wgmma.mma_async.sync.aligned.m64n"}}
  %0 = tile.wgmma %a, %b {intrinsic = "mma.sync.aligned.m16n8k16"} : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.wmma' op names the instruction "wgmma"; expected one that begins with "mma.sync.aligned.m"}}
  %0 = tile.wmma %a, %b {intrinsic = "wgmma"} : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>) {
  // expected-error @below {{'tile.row_max' op reduces memref<4x8xf32, 5> to memref<8xf32, 5>; expected one element for each row of the fragment}}
  %0 = tile.row_max %f : memref<4x8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>) {
  // expected-error @below {{'tile.reduce' op reduces memref<4x8xf32, 5> to memref<8xf32, 5>; expected one element for each row of the fragment}}
  %0 = tile.reduce max %f : memref<4x8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>) {
  // expected-error @below {{'tile.warp_reduce' op reduces memref<4x8xf32, 5> to memref<8xf32, 5>; expected one element for each row of the fragment}}
  %0 = tile.warp_reduce sum %f : memref<4x8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%r: memref<4xf32, 5>) {
  // expected-error @below {{'tile.row_sum' op reduces memref<4xf32, 5> to memref<f32, 5>; expected one element for each row of the fragment}}
  %0 = tile.row_sum %r : memref<4xf32, 5> -> memref<f32, 5>
  return
}

// -----

func.func @f(%r: memref<4xf32, 5>) {
  // expected-error @below {{'tile.broadcast' op has memref<4xf32, 5> for memref<8x4xf32, 5>; expected one element for each row of the fragment}}
  %0 = tile.broadcast %r : memref<4xf32, 5> -> memref<8x4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %r: memref<4xf32, 5>) {
  // expected-error @below {{'tile.add' op combines memref<4x8xf32, 5> and memref<4xf32, 5>; expected one type}}
  %0 = tile.add %f, %r : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %r: memref<8xf32, 5>) {
  // expected-error @below {{'tile.exp_subtract' op has memref<8xf32, 5> for memref<4x8xf32, 5>; expected one element for each row of the fragment}}
  %0 = tile.exp_subtract %f, %r : memref<4x8xf32, 5>, memref<8xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %r: memref<4xf32, 5>) {
  // expected-error @below {{'tile.mul_broadcast' op has memref<4xf32, 5> for memref<4xf32, 5>; expected one element for each row of the fragment}}
  %0 = tile.mul_broadcast %r, %r : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %r: memref<4xf32, 5>) {
  // expected-error @below {{'tile.fma' op combines memref<4x8xf32, 5>, memref<4xf32, 5> and memref<4x8xf32, 5>; expected one type}}
  %0 = tile.fma %f, %r, %f : memref<4x8xf32, 5>, memref<4xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>) {
  // expected-error @below {{'tile.cast' op casts memref<4x8xf32, 5> to memref<8x4xf16, 5>: the shapes must match}}
  %0 = tile.cast %f : memref<4x8xf32, 5> to memref<8x4xf16, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %x: f16) {
  // expected-error @below {{'tile.scale_tensor' op operand #1 must be element type ('f32'), but got 'f16'}}
  tile.scale_tensor %f, %x : memref<4x8xf32, 5>, f16
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %r: memref<8xf32, 5>) {
  // expected-error @below {{'tile.scale_accumulator' op has memref<8xf32, 5> for memref<4x8xf32, 5>; expected one element for each row of the fragment}}
  tile.scale_accumulator %f, %r : memref<4x8xf32, 5>, memref<8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %g: memref<4xf32, 5>) {
  // expected-error @below {{'tile.accumulate' op failed to verify that all of {dest, update} have same type: expected 'memref<4x8xf32, 5>', but got 'memref<4xf32, 5>'}}
  tile.accumulate %f, %g : memref<4x8xf32, 5>, memref<4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4xf32, 5>, %i: index, %x: f32) {
  // expected-error @below {{'tile.causal_mask' op masks memref<4xf32, 5>; expected a fragment of rows and columns}}
  tile.causal_mask %f, %i, %i, %x : memref<4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4xf32, 5>, %i: index, %x: f32) {
  // expected-error @below {{'tile.bound_mask' op masks memref<4xf32, 5>; expected a fragment of rows and columns}}
  tile.bound_mask %f, %i, %i, %x : memref<4xf32, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op has a vector_width of 0, which does not divide memref<4x8xf32, 5>}}
  %0 = tile.alloc_register {vector_width = 0} : memref<4x8xf32, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_register' op has type memref<f32, 5>; a fragment has one or two static extents}}
  %0 = tile.alloc_register : memref<f32, 5>
  return
}

// -----

func.func @f(%f: memref<4x8xf32, 5>, %s: memref<4096xf16, 3>) {
  // expected-error @below {{'tile.spill' op has the slot memref<4096xf16, 3> for memref<4x8xf32, 5>; expected a rank-1 buffer of f32 whose length is a multiple of the fragment's}}
  tile.spill %f, %s : memref<4x8xf32, 5>, memref<4096xf16, 3>
  return
}

// -----

func.func @f(%s: memref<64x64xf32, 3>) {
  // expected-error @below {{'tile.reload' op has the slot memref<64x64xf32, 3> for memref<4x8xf32, 5>; expected a rank-1 buffer of f32 whose length is a multiple of the fragment's}}
  %0 = tile.reload %s : memref<64x64xf32, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op result #0 must be memref of one number or more in registers (space 5), without strides, but got 'memref<0x8xf32, 5>'}}
  %0 = tile.mma %a, %b : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<0x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x32xf16, 3>, %b: memref<32x64xf16, 3>) {
  // expected-error @below {{'tile.mma' op has layout "col_major"; expected "row_major" (use transpose_a and transpose_b to transpose operands)}}
  %0 = tile.mma %a, %b {layout = "col_major"} : memref<64x32xf16, 3>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4xf32, 5>) {
  // expected-error @below {{'tile.apply' op applies "tile.add"; expected an op of arith or math}}
  %r = tile.apply "tile.add"(%f) : (memref<4xf32, 5>) -> memref<4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4xf32, 5>) {
  // expected-error @below {{'tile.apply' op applies "math.rsqr"; expected an op of arith or math}}
  %r = tile.apply "math.rsqr"(%f) : (memref<4xf32, 5>) -> memref<4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4xf32, 5>, %g: memref<2xf32, 5>) {
  // expected-error @below {{'tile.apply' op returns memref<4xf32, 5>; expected fragments of this shape as operands, one or more, and numbers}}
  %r = tile.apply "arith.addf"(%f, %g) : (memref<4xf32, 5>, memref<2xf32, 5>) -> memref<4xf32, 5>
  return
}

// -----

func.func @f(%f: memref<4xi32, 5>) {
  // expected-error @below {{'tile.apply' op operand #0 must be floating-point-like, but got 'i32'}}
  %r = tile.apply "math.rsqrt"(%f) : (memref<4xi32, 5>) -> memref<4xi32, 5>
  return
}

// -----

func.func @f(%f: memref<4xf32, 5>) {
  // expected-error @below {{'tile.apply' op expected 2 operands, but found 1}}
  %r = tile.apply "arith.addf"(%f) : (memref<4xf32, 5>) -> memref<4xf32, 5>
  return
}

// -----

func.func @f(%A: memref<64x64xf16>, %s: memref<64x64xf16, 3>) {
  // expected-error @below {{has priority "banana"; expected one of "low", "normal", "high"}}
  tile.cp_async %A, %s {priority = "banana"} : memref<64x64xf16>, memref<64x64xf16, 3>
  return
}

// -----

func.func @f(%a: memref<64x64xf16, 3>) {
  // expected-error @below {{has precision "best"; expected one of "mixed", "full"}}
  %p = tile.mma %a, %a {precision = "best"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x64xf16, 3>) {
  // expected-error @below {{has precision "full", but accumulates f16 in f32}}
  %p = tile.mma %a, %a {precision = "full"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<64x64xf16, 3>, %c: memref<4x8xf32, 5>) {
  // expected-error @below {{has accumulate = false, and a third operand to add to}}
  %p = tile.mma %a, %a, %c {accumulate = false} : memref<64x64xf16, 3>, memref<64x64xf16, 3>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f() {
  // expected-error @below {{has an alignment of 2048; shared memory is aligned to 1024 bytes}}
  %s = tile.alloc_shared {alignment = 2048} : memref<64x64xf16, 3>
  return
}

// -----

func.func @vector_without_width(%a: memref<64x64xf32>, %i: index) {
  // expected-error @below {{'tile.load_global_vector' op requires attribute 'vector_width'}}
  %0 = tile.load_global_vector %a[%i, %i] : memref<64x64xf32>
  return
}
