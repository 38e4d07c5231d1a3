// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{axis must be 0, 1 or 2, got 3}}
  %0 = nv_tileaa.get_program_id {axis = 3 : i32} : i32
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{expected 2 entries in 'shape' for !nv_tileaa.memref<8x8xf32>}}
  %0 = nv_tileaa.make_memref %p, shape = [8], stride = [8, 1], space = #nv_tileaa.global : !nv_tileaa.memref<8x8xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{expected 2 offsets for !nv_tileaa.memref<8x8xf32>, got 1}}
  %0 = nv_tileaa.addptr %v, [%i] : !nv_tileaa.memref<8x8xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{accesses elements of f16, but the view has f32}}
  %0, %1 = nv_tileaa.tiled_load %v, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<8x8xf32> -> tensor<4x4xf16>, !nv_tileaa.mem_token
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{accesses a tile of rank 1 through a view of rank 2}}
  %0, %1 = nv_tileaa.tiled_load %v, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<8x8xf32> -> tensor<4xf32>, !nv_tileaa.mem_token
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{expects MxK, KxN and MxN tiles}}
  %0 = nv_tileaa.dot %x, %x, %z : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{cannot permute tensor<4x4xf32> by [0, 0] into tensor<4x4xf32>}}
  %0 = nv_tileaa.permute %x [0, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{cannot splat i32 into tensor<4xf32>}}
  %0 = nv_tileaa.splat %i : i32 -> tensor<4xf32>
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{unknown copy atom 'sm80_ldq_32_f32'}}
  %0 = arith.constant {a = #cute.copy_atom<sm80_ldq_32_f32>} 0 : i32
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{num_warps must be from 1 to 32, got 33}}
  %0 = arith.constant {a = #nv_tileaa.kernel_spec<num_warps = 33>} 0 : i32
  return
}

// -----

func.func @f(%v: !nv_tileaa.memref<8x8xf32>, %i: i32, %t: !nv_tileaa.mem_token, %x: tensor<4x4xf32>, %y: tensor<4x4xf16>, %p: !llvm.ptr<1>, %z: tensor<8x4xf32>) {
  // expected-error @below {{unknown mma shape 'sm80_m16'}}
  %0 = arith.constant {a = #cute_nvgpu.mma_atom<sm80_m16, f16, f16, f32>} 0 : i32
  return
}
