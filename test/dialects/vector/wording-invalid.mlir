// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

func.func @reduction_kind(%a: vector<4xf32>) {
  // expected-error @below {{'vector.reduction' op unsupported reduction type 'f32' for kind 'and'}}
  %0 = vector.reduction <and>, %a : vector<4xf32> into f32
  return
}

// -----

func.func @outer_rank(%a: vector<2x4xf32>, %b: vector<4xf32>) {
  // expected-error @below {{'vector.outerproduct' op expected 1-d vectors, the second one or a scalar}}
  %0 = vector.outerproduct %a, %b : vector<2x4xf32>, vector<4xf32>
  return
}

// -----

func.func @contract_attributes(%a: vector<4xf32>, %f: f32) {
  // expected-error @below {{custom op 'vector.contract' expected a dictionary of attributes, found 1 : i64}}
  %0 = vector.contract 1 %a, %a, %f : vector<4xf32>, vector<4xf32> into f32
  return
}

// -----

func.func @dynamic_positions(%a: vector<4x8xf32>, %i: index) {
  // expected-error @below {{'vector.extract' op expected 0 dynamic positions, got 1}}
  %0 = "vector.extract"(%a, %i) <{static_position = array<i64: 0>}> : (vector<4x8xf32>, index) -> vector<8xf32>
  return
}

// -----

func.func @elements(%a: vector<4xf32>) {
  // expected-error @below {{'vector.to_elements' op expected 4 results of type 'f32'}}
  %0:3 = "vector.to_elements"(%a) : (vector<4xf32>) -> (f32, f32, f32)
  return
}

// -----

func.func @elements_type(%a: f32) {
  // expected-error @below {{custom op 'vector.to_elements' expected a vector type, found 'f32'}}
  %0 = vector.to_elements %a : f32
  return
}

// -----

func.func @empty_mask(%a: vector<4xf32>) {
  // expected-error @below {{'vector.shuffle' op has operands that determine no type for 'vector': as many elements of 'v1' as the mask has}}
  %0 = "vector.shuffle"(%a, %a) <{mask = array<i64>}> : (vector<4xf32>, vector<4xf32>) -> vector<1xf32>
  return
}

// -----

func.func @mask_of_vectors(%m: memref<4xvector<4xf32>>, %i: index, %p: vector<4xf32>, %k: vector<1xi1>) {
  // expected-error @below {{'vector.transfer_read' op does not support masks with vector element type}}
  %0 = vector.transfer_read %m[%i], %p, %k : memref<4xvector<4xf32>>, vector<4xf32>
  return
}

// -----

func.func @write_result(%t: tensor<4xf32>, %i: index, %v: vector<4xf32>) {
  // expected-error @below {{'vector.transfer_write' op expected one result of the destination's type for a tensor, and none for a memref}}
  %0 = "vector.transfer_write"(%v, %t, %i) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 1, 1, 0>, permutation_map = affine_map<(d0) -> (d0)>}> : (vector<4xf32>, tensor<4xf32>, index) -> tensor<8xf32>
  return
}

// -----

func.func @mask_of_nothing(%m: vector<4xi1>, %x: f32) {
  // expected-error @below {{'vector.mask' op expects result types to match the types of mask region yield operands}}
  %0 = "vector.mask"(%m) ({
    vector.yield %x : f32
  }) : (vector<4xi1>) -> f64
  return
}

// -----

func.func @scatter_result(%t: tensor<4xf32>, %i: index, %d: vector<4xindex>, %k: vector<4xi1>, %v: vector<4xf32>) {
  // expected-error @below {{'vector.scatter' op expected one result of the type of 'base' for a tensor, and none for a memref}}
  vector.scatter %t[%i] [%d], %k, %v : tensor<4xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  return
}

// -----

func.func @scatter_buffer(%m: memref<4xf32>, %i: index, %d: vector<4xindex>, %k: vector<4xi1>, %v: vector<4xf32>) {
  // expected-error @below {{'vector.scatter' op expected one result of the type of 'base' for a tensor, and none for a memref}}
  %0 = vector.scatter %m[%i] [%d], %k, %v : memref<4xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> -> tensor<4xf32>
  return
}
