// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @mask(%v: vector<4x[8]xf32>) {
  // expected-error @below {{only supports 'none set' or 'all set' scalable dimensions}}
  %0 = vector.constant_mask [4, 5] : vector<4x[8]xi1>
  return
}

// -----

func.func @slice(%v: vector<2x[8]xf32>) {
  // expected-error @below {{expected size at idx=1 to match the corresponding base size from the input vector (4 vs 8)}}
  %0 = vector.extract_strided_slice %v {offsets = [0, 0], sizes = [1, 4], strides = [1, 1]} : vector<2x[8]xf32> to vector<1x[4]xf32>
  return
}

// -----

func.func @step() {
  // expected-error @below {{result #0 must be vector of index values of ranks 1, but got 'vector<4xi32>'}}
  %0 = vector.step : vector<4xi32>
  return
}

// -----

func.func @rows(%m: memref<4x8xf32, strided<[16, 2]>>, %i: index) {
  // expected-error @below {{most minor memref dim must have unit stride}}
  %0 = vector.load %m[%i, %i] : memref<4x8xf32, strided<[16, 2]>>, vector<4xf32>
  return
}

// -----

func.func @shape_cast(%v: vector<4x[8]xf32>) {
  // expected-error @below {{has different number of scalable dims at source (1) and result (0)}}
  %0 = vector.shape_cast %v : vector<4x[8]xf32> to vector<32xf32>
  return
}

// -----

func.func @broadcast(%v: vector<[4]xf32>) {
  // expected-error @below {{dimension mismatch ([4] vs. 4)}}
  %0 = vector.broadcast %v : vector<[4]xf32> to vector<2x4xf32>
  return
}

// -----

func.func @shuffle(%v: vector<[4]xf32>) {
  // expected-error @below {{operand #0 must be fixed-length vector of any type values, but got 'vector<[4]xf32>'}}
  %0 = vector.shuffle %v, %v [0, 1] : vector<[4]xf32>, vector<[4]xf32>
  return
}
