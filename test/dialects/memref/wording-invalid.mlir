// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

func.func @realloc_source(%m: memref<4xf32, strided<[2]>>) {
  // expected-error @below {{'memref.realloc' op unsupported layout for source memref type memref<4xf32, strided<[2]>>}}
  %0 = memref.realloc %m : memref<4xf32, strided<[2]>> to memref<8xf32>
  return
}

// -----

func.func @realloc_result(%m: memref<4xf32>) {
  // expected-error @below {{'memref.realloc' op unsupported layout for result memref type memref<8xf32, strided<[2]>>}}
  %0 = memref.realloc %m : memref<4xf32> to memref<8xf32, strided<[2]>>
  return
}

// -----

func.func @realloc_extent(%m: memref<4xf32>, %i: index) {
  // expected-error @below {{'memref.realloc' op unnecessary dimension operand for type memref<8xf32>}}
  %0 = memref.realloc %m(%i) : memref<4xf32> to memref<8xf32>
  return
}

// -----

func.func @realloc_no_extent(%m: memref<4xf32>) {
  // expected-error @below {{'memref.realloc' op missing dimension operand for type memref<?xf32>}}
  %0 = memref.realloc %m : memref<4xf32> to memref<?xf32>
  return
}

// -----

func.func @realloc_rank(%m: memref<4x4xf32>) {
  // expected-error @below {{'memref.realloc' op expected buffers of one dimension, but got 'memref<4x4xf32>'}}
  %0 = memref.realloc %m : memref<4x4xf32> to memref<8xf32>
  return
}

// -----

func.func @unstrided(%m: memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>) {
  // expected-error @below {{'memref.subview' op base type 'memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>' is not strided}}
  %0 = memref.subview %m[0] [2] [1] : memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>> to memref<2xf32>
  return
}

// -----

func.func @metadata_results(%m: memref<4xf32>) {
  // expected-error @below {{'memref.extract_strided_metadata' op expects 4 results for a memref of rank 1, but found 3}}
  %0:3 = "memref.extract_strided_metadata"(%m) : (memref<4xf32>) -> (memref<f32>, index, index)
  return
}

// -----

func.func @metadata_types(%m: memref<4xf32>) {
  // expected-error @below {{custom op 'memref.extract_strided_metadata' expected 4 result types for a memref of rank 1, found 3}}
  %0:3 = memref.extract_strided_metadata %m : memref<4xf32> -> memref<f32>, index, index
  return
}

// -----

func.func @view_source(%m: memref<64xi8, strided<[2]>>, %i: index) {
  // expected-error @below {{'memref.view' op unsupported map for base memref type memref<64xi8, strided<[2]>>}}
  %0 = memref.view %m[%i][] : memref<64xi8, strided<[2]>> to memref<4xf32>
  return
}

// -----

func.func @view_result(%m: memref<64xi8>, %i: index) {
  // expected-error @below {{'memref.view' op unsupported map for result memref type memref<4xf32, strided<[2]>>}}
  %0 = memref.view %m[%i][] : memref<64xi8> to memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @transpose_unstrided(%m: memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>) {
  // expected-error @below {{'memref.transpose' op expected a source with strides and an offset, but got 'memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>'}}
  %0 = memref.transpose %m (d0) -> (d0) : memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>> to memref<4xf32>
  return
}

// -----

func.func @view_offset(%m: memref<4xf32>) {
  // expected-error @below {{'memref.subview' op offset 0 is out-of-bounds: 4 >= 4}}
  %0 = memref.subview %m[4] [1] [1] : memref<4xf32> to memref<1xf32, strided<[1], offset: 4>>
  return
}

// -----

func.func @view_slice(%m: memref<4xf32>) {
  // expected-error @below {{'memref.subview' op slice along dimension 0 runs out-of-bounds: 4 >= 4}}
  %0 = memref.subview %m[3] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 3>>
  return
}
