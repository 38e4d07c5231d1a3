// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{reads [4, 4] at [2, 0], outside the tile or not aligned to it: [8, 8]}}
  %0 = nv_tileas.load %b[%i] offsets = [2, 0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<2x8x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{expected 2 offsets and a tile of rank 2}}
  %0 = nv_tileas.load %b[%i] offsets = [0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<2x8x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{stores tensor<4x4xf32> into !nv_tileas.smem<2x8x8xf32>}}
  nv_tileas.store %x, %b[%i] {atom = #cute.copy_atom<sm80_sts_32_f32>} : tensor<4x4xf32>, !nv_tileas.smem<2x8x8xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{the element types and ranks must match}}
  nv_tileas.async.tiled_copy %w[%i], %b[%i] {atom = #cute.copy_atom<sm80_cp_async_32_f32>} : !nv_tileaa.memref<8xf32>, !nv_tileas.smem<2x8x8xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{'nv_tileas.convert_layout' op converts tensor<4x4xf32> to tensor<8x4xf32>: only the layout may differ}}
  %0 = nv_tileas.convert_layout %x : tensor<4x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{expects MxK, KxN and MxN tiles}}
  %0 = nv_tileas.dot %x, %x, %z {atom = #cute_nvgpu.mma_atom<fma, f32, f32, f32>} : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{accesses a tile of rank 2 through a view of rank 1}}
  %0, %1 = nv_tileas.tiled_load %w[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<8xf32> -> tensor<4x4xf32>, !nv_tileaa.mem_token
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{shared memory needs static extents, the number of stages first}}
  %0 = nv_tileas.alloc_tensor : !nv_tileas.smem<8xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>, %b: !nv_tileas.smem<2x8x8xf32>, %w: !nv_tileaa.memref<8xf32>) {
  // expected-error @below {{the layout has shape [4], the tile is [8]}}
  %0 = nv_tileas.alloc_tensor : !nv_tileas.smem<1x8xf32, #nv_tileas.shared<{offset = [[1], [2]]}>>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{expected 2 indices for !nv_tileaa.memref<8x8xf32>, got 1}}
  %0, %1 = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<8x8xf32> -> tensor<4x4xf32>, !nv_tileaa.mem_token
  return
}

// -----

// expected-error @below {{expected a layout #nv_tileas.shared<…>, got 3 : i64}}
func.func @f(%b: !nv_tileas.smem<2x8x8xf32, 3>)

// -----

func.func @no_arrivals(%b: !nv_tileas.smem<2x1xi64>, %i: i32) {
  // expected-error @below {{'nv_tileas.async.mbarrier_init' op expects 0 arrivals; an mbarrier counts from 1 to 1048575}}
  nv_tileas.async.mbarrier_init %b[%i], 0 : !nv_tileas.smem<2x1xi64>
  return
}

// -----

func.func @more_arrivals_than_an_mbarrier_counts(%b: !nv_tileas.smem<2x1xi64>, %i: i32) {
  // expected-error @below {{'nv_tileas.async.mbarrier_init' op expects 1048576 arrivals; an mbarrier counts from 1 to 1048575}}
  nv_tileas.async.mbarrier_init %b[%i], 1048576 : !nv_tileas.smem<2x1xi64>
  return
}

// -----

// expected-error @below {{expected '{' of a layout, found '[offset]'}}
func.func @a_layout_without_braces(%x: !nv_tileas.smem<1x8xf32, #nv_tileas.shared<[offset]>>)
