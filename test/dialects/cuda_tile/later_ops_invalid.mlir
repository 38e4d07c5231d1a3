// What versions 13.3 to 13.5 add, used wrongly.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics

entry @e() {
  // expected-error @below {{attribute 'num_elem' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 0}}
  %0 = alloca num_elem = -1, alignment = 4 : tile<ptr<f32>>
}

// -----

entry @e() {
  // expected-error @below {{attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 0}}
  %0 = alloca num_elem = 64, alignment = -4 : tile<ptr<f32>>
}

// -----

entry @e() {
  // expected-error @below {{'alignment' must be power of two}}
  %0 = alloca num_elem = 64, alignment = 0 : tile<ptr<f32>>
}

// -----

entry @e() {
  // expected-error @below {{'alignment' must be power of two}}
  %0 = alloca num_elem = 64, alignment = 24 : tile<ptr<f32>>
}

// -----

entry @e() {
  // expected-error @below {{'alignment' (4) must be at least the natural size (8 bytes) for element type 'f64'}}
  %0 = alloca num_elem = 64, alignment = 4 : tile<ptr<f64>>
}

// -----

entry @e() {
  // expected-error @below {{result #0 must be 0D tile of Pointer type values, but got '!cuda_tile.tile<4xptr<f32>>'}}
  %0 = alloca num_elem = 64, alignment = 4 : tile<4xptr<f32>>
}

// -----

entry @e() {
  // expected-error @below {{result #0 must be 0D tile of Pointer type values, but got '!cuda_tile.tile<f32>'}}
  %0 = alloca num_elem = 64, alignment = 4 : tile<f32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <i32: 0> : tile<8xi32>
  %b = constant <f32: 1.0> : tile<32xf32>
  // expected-error @below {{failed to verify that all of {source, destination} have the same element type}}
  %0 = insert %a, %b[%i] : tile<8xi32>, tile<32xf32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <i32: 0> : tile<8xi32>
  %b = constant <i32: 0> : tile<4x8xi32>
  // expected-error @below {{failed to verify that all of {source, destination} have same rank}}
  %0 = insert %a, %b[%i, %i] : tile<8xi32>, tile<4x8xi32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <i32: 0> : tile<4x16xi32>
  %b = constant <i32: 0> : tile<4x8xi32>
  // expected-error @below {{destination dimension 1 size (8) must be evenly divisible by source dimension 1 size (16)}}
  %0 = insert %a, %b[%i, %i] : tile<4x16xi32>, tile<4x8xi32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <i32: 0> : tile<4x8xi32>
  %b = constant <i32: 0> : tile<4x16xi32>
  // expected-error @below {{expected 2 indices, but got 1}}
  %0 = insert %a, %b[%i] : tile<4x8xi32>, tile<4x16xi32>
}

// -----

entry @e(%i: tile<i64>) {
  %a = constant <i32: 0> : tile<8xi32>
  %b = constant <i32: 0> : tile<32xi32>
  // expected-error @below {{operand #2 must be variadic of 0D tile of i32 values, but got '!cuda_tile.tile<i64>'}}
  %0 = "cuda_tile.insert"(%a, %b, %i) : (!cuda_tile.tile<8xi32>, !cuda_tile.tile<32xi32>, !cuda_tile.tile<i64>) -> !cuda_tile.tile<32xi32>
}

// -----

entry @e(%i: tile<i32>) {
  %a = constant <i32: 0> : tile<8xi32>
  %b = constant <i32: 0> : tile<32xi32>
  // expected-error @below {{failed to verify that all of {destination, result} have same type: expected '!cuda_tile.tile<32xi32>', but got '!cuda_tile.tile<8xi32>'}}
  %0 = "cuda_tile.insert"(%a, %b, %i) : (!cuda_tile.tile<8xi32>, !cuda_tile.tile<32xi32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<8xi32>
}

// -----

entry @e(%i: tile<i32>) {
  %f = constant <f32: 1.0> : tile<4xf32>
  // expected-error @below {{failed to verify that all of {source, exponent, result} have same shape}}
  %0 = fpowi %f, %i : tile<4xf32>, tile<i32>
}

// -----

entry @e(%f: tile<f32>) {
  // expected-error @below {{operand #1 must be tile of i1 or i8 or i16 or i32 values, but got '!cuda_tile.tile<f32>'}}
  %0 = fpowi %f, %f : tile<f32>, tile<f32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'}}
  %0 = fpowi %i, %i : tile<i32>, tile<i32>
}

// -----

entry @e(%f: tile<f32>, %i: tile<i32>) {
  // expected-error @below {{failed to verify that all of {source, result} have same type: expected '!cuda_tile.tile<f32>', but got '!cuda_tile.tile<f16>'}}
  %0 = "cuda_tile.fpowi"(%f, %i) : (!cuda_tile.tile<f32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<f16>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'}}
  %0 = fpowf %i, %i : tile<i32>
}

// -----

entry @e(%f: tile<f32>, %h: tile<f16>) {
  // expected-error @below {{failed to verify that all of {source, exponent} have same type: expected '!cuda_tile.tile<f32>', but got '!cuda_tile.tile<f16>'}}
  %0 = "cuda_tile.fpowf"(%f, %h) : (!cuda_tile.tile<f32>, !cuda_tile.tile<f16>) -> !cuda_tile.tile<f32>
}

// -----

entry @e() {
  // expected-error @below {{result #0 must be cuda tile token type, but got '!cuda_tile.tile<i32>'}}
  %0 = gdc_wait_tko -> tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{operand #0 must be !cuda_tile.token, but got '!cuda_tile.tile<i32>'}}
  %0 = "cuda_tile.gdc_wait_tko"(%i) : (!cuda_tile.tile<i32>) -> !cuda_tile.token
}

// -----

entry @e() {
  // expected-error @below {{result #0 must be cuda tile token type, but got '!cuda_tile.tile<i32>'}}
  %0 = gdc_launch_dependents_tko -> tile<i32>
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{operand #0 must be !cuda_tile.token, but got '!cuda_tile.tile<i32>'}}
  %0 = "cuda_tile.gdc_launch_dependents_tko"(%i) : (!cuda_tile.tile<i32>) -> !cuda_tile.token
}

// -----

entry @e(%i: tile<i32>) {
  // expected-error @below {{operand #0 must be cuda tile token type, but got '!cuda_tile.tile<i32>'}}
  %0 = "cuda_tile.memory_fence_alias_tko"(%i) : (!cuda_tile.tile<i32>) -> !cuda_tile.token
}

// -----

entry @e() {
  %t = make_token : token
  // expected-error @below {{result #0 must be cuda tile token type, but got '!cuda_tile.tile<i32>'}}
  %0 = "cuda_tile.memory_fence_alias_tko"(%t) : (!cuda_tile.token) -> !cuda_tile.tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected 2 traversal strides, got 1}}
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4], tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{traversal strides must be strictly positive but got [4, 0]}}
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4,0], tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{traversal strides must be strictly positive but got [4, -1]}}
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4,-1], tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected tensor_view rank and tile rank to match, got tensor_view of rank 2 and tiles of rank 1}}
  %s = make_strided_view %v : strided_view<tile=(8), traversal_strides=[4], tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{tile shape dimensions must have power of two length but got [8, 12]}}
  %s = make_strided_view %v : strided_view<tile=(8x12), traversal_strides=[4,3], tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{target dimension 0 mapped at least twice (for tile dimensions 0 and 1)}}
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4,3], tensor_view<64x64xf32, strides=[64,1]>, dim_map=[0, 0]>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{target dimension is outside of tensor view dimensions, expected strictly less than 2, got 2}}
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4,3], tensor_view<64x64xf32, strides=[64,1]>, dim_map=[0, 2]>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected 'strided_view' type, but got '!cuda_tile.partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>'}}
  %s = make_strided_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<i32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xi32, strides=[64,1]>
  // expected-error @below {{padding_value nan can only be used with floating point element types, got 'i32'}}
  %s = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[4,3], padding_value = nan, tensor_view<64x64xi32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected the type of the provided tensor_view value ('!cuda_tile.tensor_view<64x64xf32, strides=[64,1]>') to be the same as the view's tensor_view type ('!cuda_tile.tensor_view<64x32xf32, strides=[64,1]>')}}
  %s = "cuda_tile.make_strided_view"(%v) : (!cuda_tile.tensor_view<64x64xf32, strides=[64,1]>) -> !cuda_tile.strided_view<tile=(8x16), traversal_strides=[4,3], !cuda_tile.tensor_view<64x32xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{gather dimension is outside of tensor view dimensions, expected strictly less than 2, got 2}}
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=2>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{gather dimension is outside of tensor view dimensions, expected strictly less than 2, got -1}}
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=-1>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected tensor_view rank and tile rank to match, got tensor_view of rank 2 and tiles of rank 1}}
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{tile shape dimensions must have power of two length but got [8, 12]}}
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x12), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected 'gather_scatter_view' type, but got '!cuda_tile.partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>'}}
  %g = make_gather_scatter_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
}

// -----

entry @e(%p: tile<ptr<i32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xi32, strides=[64,1]>
  // expected-error @below {{padding_value nan can only be used with floating point element types, got 'i32'}}
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), padding_value = nan, tensor_view<64x64xi32, strides=[64,1]>, sparse_dim=0>
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  // expected-error @below {{expected the type of the provided tensor_view value ('!cuda_tile.tensor_view<64x64xf32, strides=[64,1]>') to be the same as the view's tensor_view type ('!cuda_tile.tensor_view<64x32xf32, strides=[64,1]>')}}
  %g = "cuda_tile.make_gather_scatter_view"(%v) : (!cuda_tile.tensor_view<64x64xf32, strides=[64,1]>) -> !cuda_tile.gather_scatter_view<tile=(8x16), !cuda_tile.tensor_view<64x32xf32, strides=[64,1]>, sparse_dim=0>
}

// -----

entry @e(%p: tile<ptr<f32>>, %at: tile<i32>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
  // expected-error @below {{expected index at sparse_dim position 0 to be a 1D tensor for GatherScatterView, got rank 0}}
  %0, %t = load_view_tko weak %g[%at, %i] : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>, tile<i32>, tile<i32> -> tile<8x16xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %at = constant <i32: 0> : tile<16xi32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
  // expected-error @below {{expected gather/scatter index size (16) to match tile shape at gather/scatter dimension (8)}}
  %0, %t = load_view_tko weak %g[%at, %i] : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>, tile<16xi32>, tile<i32> -> tile<8x16xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %at = constant <i32: 0> : tile<8x16xi32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
  // expected-error @below {{expected index at sparse_dim position 0 to be a 1D tensor for GatherScatterView, got rank 2}}
  %0, %t = load_view_tko weak %g[%at, %i] : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>, tile<8x16xi32>, tile<i32> -> tile<8x16xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{only 'relaxed' memory ordering is supported for view-based atomic reductions}}
  %t = atomic_red_view_tko weak device %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{only 'relaxed' memory ordering is supported for view-based atomic reductions}}
  %t = atomic_red_view_tko acquire device %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{memory scope 'sys' is not supported for view-based atomic reductions; use 'tl_blk' or 'device' for TMA compatibility}}
  %t = atomic_red_view_tko relaxed sys %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{requires attribute 'memory_scope'}}
  %t = atomic_red_view_tko relaxed %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{expected string or keyword containing one of the following enum values for attribute 'memory_scope' [tl_blk, device, sys]}}
  %t = atomic_red_view_tko relaxed nowhere %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{expected 2 index operand(s) for view with tile rank 2, got 1}}
  %t = atomic_red_view_tko relaxed device %w[%i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{atomic_red_view_tko op cannot use xchg operation}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], xchg, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{'add' works only with integers i32 and i64}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], add, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{unknown atomic mode 'nothing'; expected one of and, or, xor, add, addf, max, min, umax, umin, xchg}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], nothing, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{inbounds size (1) must match the number of index dimensions (2)}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], addf, %x inbounds = [true] : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{result #0 must be cuda tile token type, but got '!cuda_tile.tile<i32>'}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<i32>
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x8xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{view tile shape 8, 16 must match value shape 8, 8 for element-wise atomic operations}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], addf, %x : tile<8x8xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f16: 1.0> : tile<8x16xf16>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{view element type ('f32') must match value element type ('f16')}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], addf, %x : tile<8x16xf16>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %i = constant <i32: 0> : tile<4xi32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>
  // expected-error @below {{index operand 0 must be a scalar tile (rank 0), got shape 4}}
  %t = atomic_red_view_tko relaxed device %w[%i, %i], addf, %x : tile<8x16xf32>, partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<4xi32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8x16xf32>
  %at = constant <i32: 0> : tile<8xi32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %w = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>
  // expected-error @below {{gather_scatter_view is not supported; use partition_view instead}}
  %t = atomic_red_view_tko relaxed device %w[%at, %i], addf, %x : tile<8x16xf32>, gather_scatter_view<tile=(8x16), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{expected a multicast pointer, but got none}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected tile type to be '!cuda_tile.tile<8xf32>' (based on view type), got '!cuda_tile.tile<16xf32>'}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<16xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected 1 index operands (based on view type), got 2}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i, %i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>) {
  %i = constant <i32: 0> : tile<4xi32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected index type to be a scalar tile, got '!cuda_tile.tile<4xi32>'}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<4xi32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expect one of: weak, relaxed, or acquire, but got: release}}
  %0, %t = multimem_load_reduce_view_tko release device %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{memory scope is required for relaxed load}}
  %0, %t = multimem_load_reduce_view_tko relaxed %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{operation specifies weak memory ordering semantics, but then provides "device" scope, expected no memory scope.}}
  %0, %t = multimem_load_reduce_view_tko weak device %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{inbounds size (2) must match the number of index dimensions (1)}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] inbounds = [true, true] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{min/max supports f16 and bf16 float types only; got 'f32'}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<min>} : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f16, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f16, <multicast>>> -> tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{and/or/xor/umin/umax reductions require integer element types}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<and>} : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf16>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{unknown multimem_reduction_kind 'nothing'; expected one of add, min, max, and, or, xor, umin, umax}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<nothing>} : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected tile type to be '!cuda_tile.tile<8xf32>' (based on view type), got '!cuda_tile.tile<8xf16>'}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf16>, token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{takes no tile after the view}}
  %0, %t = multimem_load_reduce_view_tko weak %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> tile<8xf32>, token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{expected a multicast pointer, but got none}}
  %t = multimem_reduce_view_tko relaxed device %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<16xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected tile type to be '!cuda_tile.tile<8xf32>' (based on view type), got '!cuda_tile.tile<16xf32>'}}
  %t = multimem_reduce_view_tko relaxed device %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<16xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected 1 index operands (based on view type), got 2}}
  %t = multimem_reduce_view_tko relaxed device %w, %x[%i, %i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expect one of: weak, relaxed, or release, but got: acquire}}
  %t = multimem_reduce_view_tko acquire device %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{requires attribute 'memory_scope'}}
  %t = multimem_reduce_view_tko weak %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{requires attribute 'memory_scope'}}
  %t = multimem_reduce_view_tko relaxed %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{min/max supports f16 and bf16 float types only; got 'f32'}}
  %t = multimem_reduce_view_tko relaxed device %w, %x[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<max>} : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{and/or/xor/umin/umax reductions require integer element types}}
  %t = multimem_reduce_view_tko relaxed device %w, %x[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<umin>} : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{expected a multicast pointer, but got none}}
  %t = multimem_store_view_tko weak %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f16: 1.0> : tile<8xf16>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected tile type to be '!cuda_tile.tile<8xf32>' (based on view type), got '!cuda_tile.tile<8xf16>'}}
  %t = multimem_store_view_tko weak %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf16>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected 1 index operands (based on view type), got 2}}
  %t = multimem_store_view_tko weak %w, %x[%i, %i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %i = constant <i32: 0> : tile<2xi32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expected index type to be a scalar tile, got '!cuda_tile.tile<2xi32>'}}
  %t = multimem_store_view_tko weak %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<2xi32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{expect one of: weak, relaxed, or release, but got: acquire}}
  %t = multimem_store_view_tko acquire device %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{memory scope is required for release store}}
  %t = multimem_store_view_tko release %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{operation specifies weak memory ordering semantics, but then provides "sys" scope, expected no memory scope.}}
  %t = multimem_store_view_tko weak sys %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{inbounds size (2) must match the number of index dimensions (1)}}
  %t = multimem_store_view_tko weak %w, %x[%i] inbounds = [true, true] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{takes a tile after the view}}
  %t = multimem_store_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> token
}

// -----

entry @e(%p: tile<ptr<i16, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<i16, <multicast>>> -> tensor_view<64xi16, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xi16, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{multimem requires 32- or 64-bit integer/index element types; got 16 bits}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xi16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xi16>, token
}

// -----

entry @e(%p: tile<ptr<tf32, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<tf32, <multicast>>> -> tensor_view<64xtf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xtf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{multimem supports only f16, bf16, f32, and f64 floating-point element types}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(8), tensor_view<64xtf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xtf32>, token
}

// -----

entry @e(%p: tile<ptr<f16, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f16, <multicast>>> -> tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  %0 = constant <f16: 1.0> : tile<8xf16>
  // expected-error @below {{supports only add for floating-point element types}}
  %t = multimem_reduce_view_tko relaxed device %w, %0[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<min>} : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf16>, tile<i32> -> token
}

// -----

entry @e(%f: tile<f32>, %i: tile<i64>) {
  // expected-error @below {{operand #1 must be tile of i1 or i8 or i16 or i32 values, but got '!cuda_tile.tile<i64>'}}
  %0 = fpowi %f, %i : tile<f32>, tile<i64>
}

// -----

entry @e(%p: tile<ptr<f16, <multicast>>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f16, <multicast>>> -> tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(1), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{multimem op requires tile total size to be a multiple of 4 bytes for float element types; got 1 element(s) of 16 bits (total 16 bits)}}
  %0, %t = multimem_load_reduce_view_tko weak %w[%i] : partition_view<tile=(1), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<1xf16>, token
}

// -----

entry @e() {
  %a = constant <f8E5M2: 1.0> : tile<8x64xf8E5M2>
  %b = constant <f8E5M2: 1.0> : tile<64x8xf8E5M2>
  %c = constant <f32: 0.0> : tile<8x8xf32>
  %s = constant <fnv8E5M3FNU: 1.0> : tile<8x2xfnv8E5M3FNU>
  %u = constant <fnv8E5M3FNU: 1.0> : tile<2x8xfnv8E5M3FNU>
  // expected-error @below {{Scale type 'fnv8E5M3FNU' expects lhs and rhs element types to be 'f4E2M1FN', but got 'f8E5M2'}}
  %d = mmaf_scaled %a, %b, %c, %s, %u : tile<8x64xf8E5M2>, tile<64x8xf8E5M2>, tile<8x8xf32>, tile<8x2xfnv8E5M3FNU>, tile<2x8xfnv8E5M3FNU>
}

// -----

entry @e() {
  %a = constant <i32: 1> : tile<2x4xi32>
  // expected-error @below {{'cuda_tile.pack' op expects source and result to be rank-1 tiles}}
  %b = pack %a : tile<2x4xi32> -> tile<2x16xi8>
}

// -----

entry @e() {
  %a = constant <i8: 1> : tile<8xi8>
  // expected-error @below {{'cuda_tile.pack' op expects source and result to have different element type widths}}
  %b = pack %a : tile<8xi8> -> tile<8xi8>
}

// -----

entry @e() {
  %a = constant <i1: true> : tile<4xi1>
  // expected-error @below {{'cuda_tile.pack' op expects source tile to be byte-aligned}}
  %b = pack %a : tile<4xi1> -> tile<1xi8>
}

// -----

entry @e() {
  %a = constant <i8: 1> : tile<1xi8>
  // expected-error @below {{'cuda_tile.unpack' op expects result tile to be byte-aligned}}
  %b = unpack %a : tile<1xi8> -> tile<1xi1>
}

// -----

entry @e() {
  %a = constant <i32: 1> : tile<8xi32>
  // expected-error @below {{'cuda_tile.pack' op expects source and result to have the same size in bytes, but got source tile size 32 bytes and result tile size 16 bytes}}
  %b = pack %a : tile<8xi32> -> tile<16xi8>
}

// -----

entry @e() {
  %c = constant <i1: true> : tile<2xi1>
  %x = constant <f4E2M1FN: 1.0> : tile<2xf4E2M1FN>
  // expected-error @below {{'cuda_tile.select' op cannot operate on sub-byte type F4E2M1FN}}
  %b = select %c, %x, %x : tile<2xi1>, tile<2xf4E2M1FN>
}

// -----

entry @e(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>
  // expected-error @below {{custom op 'cuda_tile.atomic_red_view_tko' expected the types of the value and of the view}}
  %t = atomic_red_view_tko relaxed device %w[%i], addf, %x : tile<8xf32> -> token
}

// -----

entry @e(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<8xf32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
  %w = make_partition_view %v : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
  // expected-error @below {{custom op 'cuda_tile.multimem_store_view_tko' expected the types of the view, of the tile if one is stored, and of the indices}}
  %t = multimem_store_view_tko weak %w, %x[%i] : partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> -> token
}
