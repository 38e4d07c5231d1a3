// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @broadcast(%a: vector<4xf32>) {
  // expected-error @below {{'vector.broadcast' op source rank higher than destination rank}}
  %0 = vector.broadcast %a : vector<4xf32> to vector<f32>
  return
}

// -----

func.func @position(%a: vector<4x8xf32>) {
  // expected-error @below {{expected position attribute #1 to be a non-negative integer smaller than the corresponding vector dimension or poison (-1)}}
  %0 = vector.extract %a[4] : vector<8xf32> from vector<4x8xf32>
  return
}

// -----

func.func @slice(%a: vector<4x8xf32>) {
  // expected-error @below {{expected offsets dimension 0 to be confined to [0, 4)}}
  %0 = vector.extract_strided_slice %a {offsets = [4], sizes = [2], strides = [1]} : vector<4x8xf32> to vector<2x8xf32>
  return
}

// -----

func.func @mask(%a: vector<4xf32>) {
  // expected-error @below {{mask index #1 out of range}}
  %0 = vector.shuffle %a, %a [8] : vector<4xf32>, vector<4xf32>
  return
}

// -----

func.func @indices(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{'vector.load' op requires 2 indices}}
  %0 = vector.load %m[%i] : memref<?x?xf32>, vector<4xf32>
  return
}

// -----

func.func @kind(%a: vector<4xf32>) {
  // expected-error @below {{unsupported reduction type}}
  %0 = vector.reduction <and>, %a : vector<4xf32> into f32
  return
}

// -----

func.func @elements(%a: f32) {
  // expected-error @below {{shaped type 'dest' matches 'elements' element count and types}}
  %0 = "vector.from_elements"(%a) : (f32) -> vector<4xf32>
  return
}

// -----

func.func @contract_unused_dimension(%a: vector<1x2xi32>, %b: vector<2xi32>, %c: vector<1xi32>) {
  // expected-error @below {{expected all dimensions to be either a LHS or a RHS dimension}}
  %0 = vector.contract {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d1)>],
    iterator_types = ["reduction", "parallel", "reduction"], kind = #vector.kind<add>
  } %a, %b, %c : vector<1x2xi32>, vector<2xi32> into vector<1xi32>
  return
}
