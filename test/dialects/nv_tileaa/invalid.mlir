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
  // expected-error @below {{expected 2 entries in 'inbounds' for !nv_tileaa.memref<8x8xf32>}}
  %0 = nv_tileaa.make_memref %p, shape = [8, 8], stride = [8, 1], space = #nv_tileaa.global {inbounds = array<i1: true>} : !nv_tileaa.memref<8x8xf32>
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

// -----

func.func @parts_that_do_not_divide_the_tile(%x: tensor<6x8xf32>, %i: i32) {
  // expected-error @below {{'nv_tileaa.extract' op cannot divide tensor<6x8xf32> into parts of tensor<4x8xf32>}}
  %0 = nv_tileaa.extract %x[%i, %i] : tensor<6x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @a_part_of_another_element_type(%x: tensor<4x8xf32>, %y: tensor<2x8xf16>, %i: i32) {
  // expected-error @below {{'nv_tileaa.insert' op cannot divide tensor<4x8xf32> into parts of tensor<2x8xf16>}}
  %0 = nv_tileaa.insert %y, %x[%i, %i] : tensor<2x8xf16>, tensor<4x8xf32>
  return
}

// -----

func.func @a_constant_of_another_type() {
  // expected-error @below {{'nv_tileaa.constant_tensor' op holds tensor<4xf32>, but its type is tensor<8xf32>}}
  %0 = "nv_tileaa.constant_tensor"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<8xf32>
  return
}

// -----

func.func @one_element_of_many(%x: tensor<4xf32>) {
  // expected-error @below {{'nv_tileaa.unsplat' op cannot extract f32 from tensor<4xf32>; expected a tile with exactly one element of that type}}
  %0 = nv_tileaa.unsplat %x : tensor<4xf32> -> f32
  return
}

// -----

func.func @iota_of_rank_two() {
  // expected-error @below {{'nv_tileaa.iota' op has a result of type tensor<4x4xi32>; expected a rank-1 tile of integers}}
  %0 = nv_tileaa.iota : tensor<4x4xi32>
  return
}

// -----

func.func @iota_of_floats() {
  // expected-error @below {{'nv_tileaa.iota' op has a result of type tensor<4xf32>; expected a rank-1 tile of integers}}
  %0 = nv_tileaa.iota : tensor<4xf32>
  return
}

// -----

func.func @a_shape_of_more_elements(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nv_tileaa.reshape' op cannot reshape tensor<4x4xf32> into tensor<32xf32>: element types and counts must match}}
  %0 = nv_tileaa.reshape %x : tensor<4x4xf32> -> tensor<32xf32>
  return
}

// -----

func.func @a_tile_that_is_not_repeated(%x: tensor<4x8xf32>) {
  // expected-error @below {{'nv_tileaa.broadcast' op cannot broadcast tensor<4x8xf32> to tensor<8x8xf32>: only axes of extent 1 can be broadcast}}
  %0 = nv_tileaa.broadcast %x : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @dots_of_other_extents(%x: tensor<4x4xf32>, %z: tensor<8x4xf32>) {
  // expected-error @below {{'nv_tileaa.dot' op expects MxK, KxN and MxN tiles, or batches of them of one size, got tensor<4x4xf32>, tensor<4x4xf32> and tensor<8x4xf32>}}
  %0 = nv_tileaa.dot %x, %x, %z : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @an_axis_that_tiles_do_not_have(%x: tensor<4x8xf32>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4x8xf32> along axis 2 into tensor<8x8xf32>}}
  %0 = nv_tileaa.cat %x, %x axis = 2 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @joined_tiles_of_another_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4x8xf32> along axis 0 into tensor<4x16xf32>}}
  %0 = nv_tileaa.cat %x, %x axis = 0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @joined_with_a_wider_tile(%x: tensor<4x8xf32>, %y: tensor<4x16xf32>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4x16xf32> along axis 0 into tensor<8x8xf32>}}
  %0 = nv_tileaa.cat %x, %y axis = 0 : tensor<4x8xf32>, tensor<4x16xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @joined_with_a_narrower_tile(%x: tensor<4x8xf32>, %y: tensor<4x4xf32>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4x4xf32> along axis 0 into tensor<8x8xf32>}}
  %0 = nv_tileaa.cat %x, %y axis = 0 : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @joined_with_a_tile_of_other_elements(%x: tensor<4x8xf32>, %y: tensor<4x8xf16>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4x8xf16> along axis 0 into tensor<8x8xf32>}}
  %0 = nv_tileaa.cat %x, %y axis = 0 : tensor<4x8xf32>, tensor<4x8xf16> -> tensor<8x8xf32>
  return
}

// -----

func.func @joined_before_the_first_axis(%x: tensor<4x8xf32>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4x8xf32> along axis -1 into tensor<4x16xf32>}}
  %0 = nv_tileaa.cat %x, %x axis = -1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @joined_to_a_tile_of_another_rank(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'nv_tileaa.cat' op cannot concatenate tensor<4x8xf32> and tensor<4xf32> along axis 0 into tensor<8x8xf32>}}
  %0 = nv_tileaa.cat %x, %y axis = 0 : tensor<4x8xf32>, tensor<4xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @a_cluster_of_no_ctas() {
  // expected-error @below {{cluster must be three positive extents, got [2, 0, 1]}}
  %0 = arith.constant {a = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 0, 1]>} 0 : i32
  return
}
