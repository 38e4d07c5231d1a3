// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @sizes(%a: index) {
  // expected-error @below {{'memref.alloc' op incorrect number of dynamic sizes, has 1, expected 0}}
  %0 = memref.alloc(%a) : memref<4xf32>
  return
}

// -----

func.func @indices(%m: memref<4x4xf32>, %i: index) {
  // expected-error @below {{'memref.load' op incorrect number of indices for load, expected 2 but got 1}}
  %0 = memref.load %m[%i] : memref<4x4xf32>
  return
}

// -----

func.func @store_indices(%m: memref<4x4xf32>, %i: index, %x: f32) {
  // expected-error @below {{store index operand count not equal to memref rank}}
  memref.store %x, %m[%i] : memref<4x4xf32>
  return
}

// -----

func.func @cast(%m: memref<4xf32>) {
  // expected-error @below {{'memref.cast' op operand type 'memref<4xf32>' and result type 'memref<8xf32>' are cast incompatible}}
  %0 = memref.cast %m : memref<4xf32> to memref<8xf32>
  return
}

// -----

func.func @view(%m: memref<?xf32>, %i: index) {
  // expected-error @below {{operand #0 must be 1D memref of 8-bit signless integer values, but got 'memref<?xf32>'}}
  %0 = memref.view %m[%i][] : memref<?xf32> to memref<4xf32>
  return
}

// -----

func.func @get_global() {
  // expected-error @below {{'memref.get_global' op 'g' does not reference a valid global memref}}
  %0 = memref.get_global @g : memref<4xf32>
  return
}

// -----

memref.global @g : memref<8xf32>
func.func @get_global() {
  // expected-error @below {{'memref.get_global' op result type 'memref<4xf32>' does not match type 'memref<8xf32>' of the global memref @g}}
  %0 = memref.get_global @g : memref<4xf32>
  return
}

// -----

// expected-error @below {{type should be static shaped memref, but got 'memref<?xf32>'}}
memref.global @g : memref<?xf32>

// -----

func.func @reinterpret(%m: memref<?xf32>) {
  // expected-error @below {{expected result type with size = 10 instead of 1 in dim = 0}}
  %0 = memref.reinterpret_cast %m to offset: [0], sizes: [10], strides: [1] : memref<?xf32> to memref<1xf32, strided<[1]>>
  return
}

// -----

func.func @subview_offset(%m: memref<16x16xf32>, %i: index) {
  // expected-error @below {{expected result type to be 'memref<8x8xf32, strided<[16, 1], offset: ?>>' or a rank-reduced version}}
  %0 = memref.subview %m[%i, 8] [8, 8] [1, 1] : memref<16x16xf32> to memref<8x8xf32, strided<[16, 1], offset: 8>>
  return
}

// -----

func.func @subview_strides(%m: memref<4x16xf32>) {
  // expected-error @below {{expected result type to be 'memref<4x8xf32, strided<[16, 2]>>' or a rank-reduced version. (mismatch of result layout)}}
  %0 = memref.subview %m[0, 0] [4, 8] [1, 2] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  return
}

// -----

func.func @subview_bounds(%m: memref<16xf32>) {
  // expected-error @below {{slice along dimension 0 runs out-of-bounds: 16 >= 16}}
  %0 = memref.subview %m[10] [3] [3] : memref<16xf32> to memref<3xf32, strided<[3], offset: 10>>
  return
}

// -----

func.func @subview_negative(%m: memref<16xf32>) {
  // expected-error @below {{expected offsets to be non-negative, but got -1}}
  %0 = memref.subview %m[-1] [3] [1] : memref<16xf32> to memref<3xf32, strided<[1], offset: -1>>
  return
}

// -----

#mod = affine_map<(d0) -> (d0 mod 4)>
func.func @subview_of_what_is_not_strided(%m: memref<16xf32, #mod>) {
  // expected-error @below {{is not strided}}
  %0 = memref.subview %m[0] [3] [1] : memref<16xf32, #mod> to memref<3xf32>
  return
}

// -----

func.func @reinterpret_offset(%m: memref<?xf32>) {
  // expected-error @below {{expected result type with offset = 4 instead of 2}}
  %0 = memref.reinterpret_cast %m to offset: [4], sizes: [10], strides: [1] : memref<?xf32> to memref<10xf32, strided<[1], offset: 2>>
  return
}

// -----

func.func @reinterpret_stride(%m: memref<?xf32>, %s: index) {
  // expected-error @below {{expected result type with stride = dynamic instead of 1 in dim = 0}}
  %0 = memref.reinterpret_cast %m to offset: [0], sizes: [10], strides: [%s] : memref<?xf32> to memref<10xf32>
  return
}

// -----

func.func @cast_strides(%m: memref<4x8xf32, strided<[8, 1]>>) {
  // expected-error @below {{operand type 'memref<4x8xf32, strided<[8, 1]>>' and result type 'memref<4x8xf32, strided<[16, 2]>>' are cast incompatible}}
  %0 = memref.cast %m : memref<4x8xf32, strided<[8, 1]>> to memref<4x8xf32, strided<[16, 2]>>
  return
}

// -----

func.func @expand_layout(%m: memref<30x20xf32, strided<[4000, 2], offset: 100>>) {
  // expected-error @below {{expected expanded type to be 'memref<2x15x20xf32, strided<[60000, 4000, 2], offset: 100>>' but found 'memref<2x15x20xf32, strided<[4000, 4000, 2], offset: 100>>'}}
  %0 = memref.expand_shape %m [[0, 1], [2]] output_shape [2, 15, 20]
    : memref<30x20xf32, strided<[4000, 2], offset: 100>> into memref<2x15x20xf32, strided<[4000, 4000, 2], offset: 100>>
  return
}

// -----

func.func @expand_shape(%m: memref<30xf32>) {
  // expected-error @below {{invalid output shape provided at pos 1}}
  %0 = memref.expand_shape %m [[0, 1]] output_shape [2, 16] : memref<30xf32> into memref<2x15xf32>
  return
}

// -----

func.func @collapse_gap(%m: memref<3x4xf32, strided<[5, 1]>>) {
  // expected-error @below {{invalid source layout map or collapsing non-contiguous dims}}
  %0 = memref.collapse_shape %m [[0, 1]] : memref<3x4xf32, strided<[5, 1]>> into memref<12xf32, strided<[1]>>
  return
}

// -----

func.func @collapse_dynamic(%m: memref<?x4xf32>) {
  // expected-error @below {{collapsed dim (0) must be dynamic if and only if reassociation group is dynamic}}
  %0 = memref.collapse_shape %m [[0, 1]] : memref<?x4xf32> into memref<12xf32>
  return
}

// -----

func.func @copy_shapes(%a: memref<2x3xf32>, %b: memref<3x2xf32>) {
  // expected-error @below {{requires the same shape for all operands}}
  memref.copy %a, %b : memref<2x3xf32> to memref<3x2xf32>
  return
}

// -----

func.func @rank_of_the_layout(%m: memref<2x3xf32, strided<[1]>>)  // expected-error {{expected the number of strides to match the rank}}

// -----

func.func @f(%m: memref<4x4xf32>, %i: index, %x: f32) {
  // expected-error @below {{expects the number of subscripts to be equal to memref rank}}
  %0 = memref.atomic_rmw addf %x, %m[%i] : (f32, memref<4x4xf32>) -> f32
  return
}

// -----

func.func @f(%m: memref<4xi32>, %i: index, %x: i32) {
  // expected-error @below {{expects a floating-point type}}
  %0 = memref.atomic_rmw addf %x, %m[%i] : (i32, memref<4xi32>) -> i32
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index, %x: f32) {
  // expected-error @below {{expects an integer type}}
  %0 = memref.atomic_rmw addi %x, %m[%i] : (f32, memref<4xf32>) -> f32
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index, %x: f32) {
  // expected-error @below {{expected single number of entry block arguments}}
  %0 = memref.generic_atomic_rmw %m[%i] : memref<4xf32> {
  ^bb0(%a: f32, %b: f32):
    memref.atomic_yield %x : f32
  }
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index, %x: f32) {
  %0 = memref.generic_atomic_rmw %m[%i] : memref<4xf32> {
  ^bb0(%a: f32):
    // expected-error @below {{should contain only operations with no side effects}}
    %b = memref.alloc() : memref<4xf32>
    memref.atomic_yield %x : f32
  }
  return
}

// -----

func.func @f(%m: memref<4xf32>) {
  // expected-error @below {{missing dimension operand}}
  %0 = memref.realloc %m : memref<4xf32> to memref<?xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
  // expected-error @below {{unnecessary dimension operand}}
  %0 = memref.realloc %m(%i) : memref<4xf32> to memref<8xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>) {
  // expected-error @below {{different element types}}
  %0 = memref.realloc %m : memref<4xf32> to memref<8xi32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
  // expected-error @below {{rw specifier has to be 'read' or 'write'}}
  memref.prefetch %m[%i], rw, locality<0>, data : memref<4xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
  // expected-error @below {{cache type has to be 'data' or 'instr'}}
  memref.prefetch %m[%i], read, locality<0>, all : memref<4xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
  // expected-error @below {{minimum value is 0 whose maximum value is 3}}
  memref.prefetch %m[%i], read, locality<4>, data : memref<4xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %s: memref<?xi32>) {
  // expected-error @below {{cannot use shape operand with dynamic length}}
  %0 = memref.reshape %m(%s) : (memref<4xf32>, memref<?xi32>) -> memref<?xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %s: memref<2xi32>) {
  // expected-error @below {{length of shape operand differs from the result's memref rank}}
  %0 = memref.reshape %m(%s) : (memref<4xf32>, memref<2xi32>) -> memref<?xf32>
  return
}

// -----

func.func @f(%m: memref<4x8xf32>) {
  // expected-error @below {{expected a permutation map}}
  %0 = memref.transpose %m (a, b) -> (a, a) : memref<4x8xf32> to memref<8x4xf32>
  return
}

// -----

func.func @f(%m: memref<4x8xf32>) {
  // expected-error @below {{is not equivalent to the canonical transposed input type}}
  %0 = memref.transpose %m (a, b) -> (b, a) : memref<4x8xf32> to memref<8x4xf32>
  return
}

// -----

func.func @expand_rank(%m: memref<4xf32>) {
  // expected-error @below {{has source rank 1 and result rank 0. This is not an expansion (1 > 0).}}
  %0 = "memref.expand_shape"(%m) <{reassociation = [], static_output_shape = array<i64>}> : (memref<4xf32>) -> memref<f32>
  return
}

// -----

func.func @expand_bounds(%m: memref<4xf32>) {
  // expected-error @below {{expected number of static shape bounds to be equal to the output rank (2) but found 1 inputs instead}}
  %0 = "memref.expand_shape"(%m) <{reassociation = [[0, 1]], static_output_shape = array<i64: 2>}> : (memref<4xf32>) -> memref<2x2xf32>
  return
}

// -----

func.func @expand_dynamic(%m: memref<?xf32>) {
  // expected-error @below {{mismatch in dynamic dims in output_shape and static_output_shape: static_output_shape has 1 dynamic dims while output_shape has 0 values}}
  %0 = "memref.expand_shape"(%m) <{reassociation = [[0, 1]], static_output_shape = array<i64: -9223372036854775808, 2>}> : (memref<?xf32>) -> memref<?x2xf32>
  return
}

// -----

func.func @collapse_rank(%m: memref<4xf32>) {
  // expected-error @below {{has source rank 1 and result rank 2. This is not a collapse (1 < 2).}}
  %0 = "memref.collapse_shape"(%m) <{reassociation = [[0, 1]]}> : (memref<4xf32>) -> memref<2x2xf32>
  return
}

// -----

func.func @collapse_to_rank_0(%m: memref<2x2xf32>) {
  // expected-error @below {{rank 0 memrefs can only be extended/collapsed with/from ones}}
  %0 = memref.collapse_shape %m [] : memref<2x2xf32> into memref<f32>
  return
}

// -----

func.func @collapse_contiguous(%m: memref<2x2x2xf32>) {
  // expected-error @below {{reassociation indices must be contiguous}}
  %0 = memref.collapse_shape %m [[0, 2], [1]] : memref<2x2x2xf32> into memref<4x2xf32>
  return
}

// -----

func.func @subview_space(%m: memref<8x8xf32>) {
  // expected-error @below {{different memory spaces}}
  %0 = "memref.subview"(%m) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 4, 4>, static_strides = array<i64: 1, 1>}> : (memref<8x8xf32>) -> memref<4x4xf32, strided<[8, 1]>, 3>
  return
}

// -----

func.func @subview_rank(%m: memref<8xf32>) {
  // expected-error @below {{expected result rank to be smaller or equal to the source rank, but got 'memref<4x1xf32>'}}
  %0 = "memref.subview"(%m) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 4>, static_strides = array<i64: 1>}> : (memref<8xf32>) -> memref<4x1xf32>
  return
}

// -----

func.func @subview_bounds(%m: memref<8x8xf32>) {
  // expected-error @below {{slice along dimension 0 runs out-of-bounds: 8 >= 8}}
  %0 = memref.subview %m[5, 0] [4, 4] [1, 1] : memref<8x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 40>>
  return
}

// -----

func.func @cast_space(%m: memref<8xf32>) {
  // expected-error @below {{different memory spaces specified for source type 'memref<8xf32>' and result memref type 'memref<8xf32, 3>'}}
  %0 = memref.reinterpret_cast %m to offset: [0], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32, 3>
  return
}

// -----

func.func @cast_element(%m: memref<8xf32>) {
  // expected-error @below {{different element types specified for source type 'memref<8xf32>' and result memref type 'memref<8xi32>'}}
  %0 = memref.reinterpret_cast %m to offset: [0], sizes: [8], strides: [1] : memref<8xf32> to memref<8xi32>
  return
}

// -----

func.func @view_space(%m: memref<64xi8>, %i: index) {
  // expected-error @below {{different memory spaces}}
  %0 = "memref.view"(%m, %i) : (memref<64xi8>, index) -> memref<16xf32, 3>
  return
}

// -----

func.func @symbols() {
  // expected-error @below {{symbol operand count does not equal memref symbol count: expected 1, got 0}}
  %0 = memref.alloc() : memref<4xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
  return
}

// -----

func.func @atomic_type(%m: memref<4xf32>, %i: index, %v: f64) {
  // expected-error @below {{'memref.atomic_rmw' op failed to verify that value type matches element type of memref}}
  %0 = memref.atomic_rmw addf %v, %m[%i] : (f64, memref<4xf32>) -> f64
  return
}

// -----

func.func @atomic_float(%m: memref<4xi32>, %i: index, %v: i32) {
  // expected-error @below {{'memref.atomic_rmw' op with kind 'addf' expects a floating-point type}}
  %0 = memref.atomic_rmw addf %v, %m[%i] : (i32, memref<4xi32>) -> i32
  return
}

// -----

func.func @atomic_integer(%m: memref<4xf32>, %i: index, %v: f32) {
  // expected-error @below {{'memref.atomic_rmw' op with kind 'addi' expects an integer type}}
  %0 = memref.atomic_rmw addi %v, %m[%i] : (f32, memref<4xf32>) -> f32
  return
}

// -----

func.func @generic_argument(%m: memref<4xf32>, %i: index, %v: f32) {
  // expected-error @below {{'memref.generic_atomic_rmw' op expected block argument of the same type result type}}
  %0 = "memref.generic_atomic_rmw"(%m, %i) ({
  ^bb0(%a: i32):
    memref.atomic_yield %v : f32
  }) : (memref<4xf32>, index) -> f32
  return
}

// -----

func.func @generic_yield(%m: memref<4xf32>, %i: index, %v: i32) {
  %0 = memref.generic_atomic_rmw %m[%i] : memref<4xf32> {
  ^bb0(%a: f32):
    // expected-error @below {{'memref.atomic_yield' op types mismatch between yield op: 'i32' and its parent: 'f32'}}
    memref.atomic_yield %v : i32
  }
  return
}

// -----

func.func @prefetch_indices(%m: memref<4x4xf32>, %i: index) {
  // expected-error @below {{'memref.prefetch' op too few indices}}
  "memref.prefetch"(%m, %i) <{isDataCache = true, isWrite = false, localityHint = 3 : i32}> : (memref<4x4xf32>, index) -> ()
  return
}

// -----

// expected-error @below {{'memref.global' op initial value should be a unit or elements attribute, but got 1.000000e+00 : f32}}
"memref.global"() <{initial_value = 1.0 : f32, sym_name = "number", sym_visibility = "private", type = memref<2xf32>}> : () -> ()

// -----

func.func @reshape_elements(%m: memref<4xf32>, %s: memref<1xindex>) {
  // expected-error @below {{'memref.reshape' op element types of source and destination memref types should be the same}}
  %0 = memref.reshape %m(%s) : (memref<4xf32>, memref<1xindex>) -> memref<4xi32>
  return
}

// -----

func.func @reshape_layout(%m: memref<4xf32, strided<[2]>>, %s: memref<1xindex>) {
  // expected-error @below {{'memref.reshape' op source memref type should have identity affine map}}
  %0 = memref.reshape %m(%s) : (memref<4xf32, strided<[2]>>, memref<1xindex>) -> memref<4xf32>
  return
}

// -----

func.func @reshape_result_layout(%m: memref<4xf32>, %s: memref<1xindex>) {
  // expected-error @below {{'memref.reshape' op result memref type should have identity affine map}}
  %0 = memref.reshape %m(%s) : (memref<4xf32>, memref<1xindex>) -> memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @assumed_alignment(%m: memref<4xf32>) {
  // expected-error @below {{'memref.assume_alignment' op alignment must be power of 2}}
  %0 = memref.assume_alignment %m, 12 : memref<4xf32>
  return
}

// -----

func.func @group_size(%m: memref<4x4xf32>) {
  // expected-error @below {{'memref.collapse_shape' op collapsed dim size (15) must equal reassociation group size (16)}}
  %0 = memref.collapse_shape %m [[0, 1]] : memref<4x4xf32> into memref<15xf32>
  return
}

// -----

func.func @expanded_size(%m: memref<15xf32>) {
  // expected-error @below {{'memref.expand_shape' op collapsed dim size (15) must equal reassociation group size (16)}}
  %0 = memref.expand_shape %m [[0, 1]] output_shape [4, 4] : memref<15xf32> into memref<4x4xf32>
  return
}
