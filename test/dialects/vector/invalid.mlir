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

// -----

func.func @reduction_rank(%a: vector<4x8xf32>) {
  // expected-error @below {{unsupported reduction rank: 2}}
  %0 = vector.reduction <add>, %a : vector<4x8xf32> into f32
  return
}

// -----

func.func @multi_reduction(%a: vector<4x8xf32>, %c: vector<8xf32>) {
  // expected-error @below {{destination type 'vector<8xf32>' is incompatible with source type 'vector<4x8xf32>'}}
  %0 = vector.multi_reduction <add>, %a, %c [1] : vector<4x8xf32> to vector<8xf32>
  return
}

// -----

func.func @outerproduct_scalable(%a: vector<[4]xf32>, %b: vector<4xf32>) {
  // expected-error @below {{expected either both or only #2 operand dim to be scalable}}
  %0 = vector.outerproduct %a, %b : vector<[4]xf32>, vector<4xf32>
  return
}

// -----

func.func @contract_maps(%a: vector<4x8xf32>, %b: vector<8x4xf32>, %c: vector<4x4xf32>) {
  // expected-error @below {{expected an indexing map for each vector operand}}
  %0 = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  return
}

// -----

func.func @contract_inputs(%a: vector<4x8xf32>, %b: vector<8x4xf32>, %c: vector<4x4xf32>) {
  // expected-error @below {{expected indexing map 0 to have 3 number of inputs}}
  %0 = vector.contract {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  return
}

// -----

func.func @contract_outputs(%a: vector<4x8xf32>, %b: vector<8x4xf32>, %c: vector<4x4xf32>) {
  // expected-error @below {{expected indexing map 1 to have 2 number of outputs}}
  %0 = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  return
}

// -----

func.func @extract_rank(%a: vector<4xf32>) {
  // expected-error @below {{expected position attribute of rank no greater than vector rank}}
  %0 = "vector.extract"(%a) <{static_position = array<i64: 0, 0>}> : (vector<4xf32>) -> f32
  return
}

// -----

func.func @slice_arrays(%a: vector<4x8xf32>) {
  // expected-error @below {{expected offsets, sizes and strides attributes of same size}}
  %0 = vector.extract_strided_slice %a {offsets = [2], sizes = [2], strides = [1, 1]} : vector<4x8xf32> to vector<2x8xf32>
  return
}

// -----

func.func @insert_offsets(%a: vector<4xf32>, %b: vector<4x8xf32>) {
  // expected-error @below {{expected offsets of same size as destination vector rank}}
  %0 = vector.insert_strided_slice %a, %b {offsets = [2], strides = [1]} : vector<4xf32> into vector<4x8xf32>
  return
}

// -----

func.func @insert_strides(%a: vector<4xf32>, %b: vector<4x8xf32>) {
  // expected-error @below {{expected strides of same size as source vector rank}}
  %0 = vector.insert_strided_slice %a, %b {offsets = [2, 2], strides = [1, 1]} : vector<4xf32> into vector<4x8xf32>
  return
}

// -----

func.func @insert_rank(%a: vector<1x2x2xf32>, %b: vector<4x8xf32>) {
  // expected-error @below {{expected source rank to be no greater than destination rank}}
  %0 = vector.insert_strided_slice %a, %b {offsets = [2, 2], strides = [1, 1, 1]} : vector<1x2x2xf32> into vector<4x8xf32>
  return
}

// -----

func.func @insert_scalable(%a: vector<4xf32>, %b: vector<[4]xf32>) {
  // expected-error @below {{mismatching scalable flags (at source vector idx=0)}}
  %0 = vector.insert_strided_slice %a, %b {offsets = [0], strides = [1]} : vector<4xf32> into vector<[4]xf32>
  return
}

// -----

func.func @load_rank(%m: memref<?xf32>, %i: index) {
  // expected-error @below {{destination memref has lower rank than the result vector}}
  %0 = vector.load %m[%i] : memref<?xf32>, vector<4x4xf32>
  return
}

// -----

func.func @store_rank(%m: memref<?xf32>, %i: index, %v: vector<4x4xf32>) {
  // expected-error @below {{source memref has lower rank than the vector to store}}
  vector.store %v, %m[%i] : memref<?xf32>, vector<4x4xf32>
  return
}

// -----

func.func @gather_element(%m: memref<?xf32>, %i: index, %n: vector<4xi32>, %k: vector<4xi1>, %v: vector<4xf16>) {
  // expected-error @below {{base and result element type should match}}
  %0 = vector.gather %m[%i] [%n], %k, %v : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf16> into vector<4xf16>
  return
}

// -----

func.func @scatter_element(%m: memref<?xf32>, %i: index, %n: vector<4xi32>, %k: vector<4xi1>, %v: vector<4xf16>) {
  // expected-error @below {{base and valueToStore element type should match}}
  vector.scatter %m[%i] [%n], %k, %v : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf16>
  return
}

// -----

func.func @gather_indices(%m: memref<?xf32>, %i: index, %n: vector<8xi32>, %k: vector<4xi1>, %v: vector<4xf32>) {
  // expected-error @below {{expected result dim to match indices dim}}
  %0 = vector.gather %m[%i] [%n], %k, %v : memref<?xf32>, vector<8xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

// -----

func.func @gather_mask(%m: memref<?xf32>, %i: index, %n: vector<4xi32>, %k: vector<8xi1>, %v: vector<4xf32>) {
  // expected-error @below {{expected result dim to match mask dim}}
  %0 = vector.gather %m[%i] [%n], %k, %v : memref<?xf32>, vector<4xi32>, vector<8xi1>, vector<4xf32> into vector<4xf32>
  return
}

// -----

func.func @transfer_symbols(%m: memref<?x?xf32>, %i: index, %p: f32) {
  // expected-error @below {{requires permutation_map without symbols}}
  %0 = vector.transfer_read %m[%i, %i], %p {permutation_map = affine_map<(d0, d1)[s0] -> (d0 + s0)>} : memref<?x?xf32>, vector<4xf32>
  return
}

// -----

func.func @transfer_inputs(%m: memref<?x?xf32>, %i: index, %p: f32) {
  // expected-error @below {{requires a permutation_map with input dims of the same rank as the source type}}
  %0 = vector.transfer_read %m[%i, %i], %p {permutation_map = affine_map<(d0) -> (d0)>} : memref<?x?xf32>, vector<4xf32>
  return
}

// -----

func.func @transfer_results(%m: memref<?x?xf32>, %i: index, %p: f32) {
  // expected-error @below {{requires a permutation_map with result dims of the same rank as the vector type}}
  %0 = vector.transfer_read %m[%i, %i], %p {permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : memref<?x?xf32>, vector<4xf32>
  return
}

// -----

func.func @transfer_in_bounds(%m: memref<?x?xf32>, %i: index, %p: f32) {
  // expected-error @below {{expects the in_bounds attr of same rank as permutation_map results: affine_map<(d0, d1) -> (d0)> vs inBounds of size: 2}}
  %0 = vector.transfer_read %m[%i, %i], %p {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x?xf32>, vector<4xf32>
  return
}

// -----

func.func @create_mask(%i: index) {
  // expected-error @below {{must specify an operand for each result vector dimension}}
  %0 = vector.create_mask %i : vector<4x8xi1>
  return
}

// -----

func.func @create_mask_of_one(%i: index) {
  // expected-error @below {{must specify exactly one operand for 0-D create_mask}}
  %0 = vector.create_mask %i, %i : vector<i1>
  return
}

// -----

func.func @constant_mask_of_one() {
  // expected-error @below {{array attr must have length 1 for 0-D vectors}}
  %0 = vector.constant_mask [1, 1] : vector<i1>
  return
}

// -----

func.func @constant_mask_value_of_one() {
  // expected-error @below {{mask dim size must be either 0 or 1 for 0-D vectors}}
  %0 = vector.constant_mask [2] : vector<i1>
  return
}

// -----

func.func @constant_mask_rank() {
  // expected-error @below {{must specify array attr of size equal vector result rank}}
  %0 = vector.constant_mask [2] : vector<4x8xi1>
  return
}

// -----

func.func @constant_mask_bounds() {
  // expected-error @below {{array attr of size out of bounds of vector result dimension size}}
  %0 = vector.constant_mask [2, 9] : vector<4x8xi1>
  return
}

// -----

func.func @constant_mask_negative() {
  // expected-error @below {{array attr of size out of bounds of vector result dimension size}}
  %0 = vector.constant_mask [-1, 8] : vector<4x8xi1>
  return
}

// -----

func.func @constant_mask_zeros() {
  // expected-error @below {{expected all mask dim sizes to be zeros, as a result of conjunction with zero mask dim}}
  %0 = vector.constant_mask [0, 8] : vector<4x8xi1>
  return
}

// -----

func.func @bitcast_width(%a: vector<4x8xf32>) {
  // expected-error @below {{source/result bitwidth of the minor 1-D vectors must be equal}}
  %0 = vector.bitcast %a : vector<4x8xf32> to vector<4x8xf16>
  return
}

// -----

func.func @f(%a: vector<8xi32>, %m: vector<16xi1>) {
  // expected-error @below {{expects a 'vector<8xi1>' mask for the maskable operation}}
  %0 = vector.mask %m { vector.reduction <add>, %a : vector<8xi32> into i32 } : vector<16xi1> -> i32
  return
}

// -----

func.func @f(%a: vector<8xf32>, %m: vector<8xi1>) {
  // expected-error @below {{expects a MaskableOpInterface within the mask region}}
  %0 = vector.mask %m { arith.addf %a, %a : vector<8xf32> } : vector<8xi1> -> vector<8xf32>
  return
}

// -----

func.func @f(%a: vector<8xf32>, %m: vector<8xi1>, %b: memref<?xf32>, %i: index) {
  // expected-error @below {{expects only one operation to mask}}
  vector.mask %m {
    vector.transfer_write %a, %b[%i] : vector<8xf32>, memref<?xf32>
    vector.transfer_write %a, %b[%i] : vector<8xf32>, memref<?xf32>
  } : vector<8xi1>
  return
}

// -----

func.func @f(%a: vector<8xf32>, %m: vector<8xi1>) {
  // expected-error @below {{expects a result if passthru operand is provided}}
  vector.mask %m, %a { } : vector<8xi1>
  return
}

// -----

func.func @f(%a: vector<2x3xf32>, %b: vector<3xf32>) {
  // expected-error @below {{reduction dimension 5 has to be less than 2}}
  %0:2 = vector.scan <add>, %a, %b {inclusive = true, reduction_dim = 5} : vector<2x3xf32>, vector<3xf32>
  return
}

// -----

func.func @f(%a: vector<2x3xf32>, %b: vector<2xf32>) {
  // expected-error @below {{incompatible input/initial value shapes}}
  %0:2 = vector.scan <add>, %a, %b {inclusive = true, reduction_dim = 0} : vector<2x3xf32>, vector<2xf32>
  return
}

// -----

func.func @f(%b: memref<?xf64>, %i: index, %m: vector<16xi1>, %p: vector<16xf32>) {
  // expected-error @below {{base and result element type should match}}
  %0 = vector.expandload %b[%i], %m, %p : memref<?xf64>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  return
}

// -----

func.func @f(%b: memref<?xf32>, %i: index, %m: vector<17xi1>, %p: vector<16xf32>) {
  // expected-error @below {{expected valueToStore dim to match mask dim}}
  vector.compressstore %b[%i], %m, %p : memref<?xf32>, vector<17xi1>, vector<16xf32>
  return
}

// -----

func.func @f(%b: memref<?x?xf32>, %i: index, %m: vector<16xi1>, %p: vector<16xf32>) {
  // expected-error @below {{requires 2 indices}}
  vector.compressstore %b[%i], %m, %p : memref<?x?xf32>, vector<16xi1>, vector<16xf32>
  return
}

// -----

func.func @f(%v: vector<[16]xi32>) {
  // expected-error @below {{position is a multiple of the result length}}
  %0 = vector.scalable.extract %v[5] : vector<4xi32> from vector<[16]xi32>
  return
}

// -----

func.func @f(%v: vector<[16]xi32>, %s: vector<4xi32>) {
  // expected-error @below {{position is a multiple of the source length}}
  %0 = vector.scalable.insert %s, %v[2] : vector<4xi32> into vector<[16]xi32>
  return
}

// -----

func.func @contract_no_sum(%a: vector<4xf32>, %b: vector<8xf32>, %c: vector<4x8xf32>) {
  // expected-error @below {{'vector.contract' op expected at least one contracting dimension pair}}
  %0 = vector.contract {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} %a, %b, %c : vector<4xf32>, vector<8xf32> into vector<4x8xf32>
  return
}

// -----

func.func @contract_extents(%a: vector<4x8xf32>, %b: vector<7x2xf32>, %c: vector<4x2xf32>) {
  // expected-error @below {{'vector.contract' op invalid contracting dimension map}}
  %0 = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %c : vector<4x8xf32>, vector<7x2xf32> into vector<4x2xf32>
  return
}

// -----

func.func @contract_result(%a: vector<4x8xf32>, %b: vector<8x2xf32>, %c: vector<2x4xf32>) {
  // expected-error @below {{'vector.contract' op invalid accumulator/result vector shape, expected: 'vector<4x2xf32>'}}
  %0 = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %c : vector<4x8xf32>, vector<8x2xf32> into vector<2x4xf32>
  return
}

// -----

func.func @contract_projection(%a: vector<4x4xf32>, %b: vector<4x2xf32>, %c: vector<2xf32>) {
  // expected-error @below {{'vector.contract' op expected indexing map 0 to be a projected permutation of its inputs}}
  %0 = vector.contract {indexing_maps = [affine_map<(n, k) -> (k, k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>], iterator_types = ["parallel", "reduction"]} %a, %b, %c : vector<4x4xf32>, vector<4x2xf32> into vector<2xf32>
  return
}

// -----

func.func @contract_elements(%a: vector<4xf16>, %b: vector<4xf32>, %c: f32) {
  // expected-error @below {{'vector.contract' op failed to verify that lhs and rhs have same element type}}
  %0 = vector.contract {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} %a, %b, %c : vector<4xf16>, vector<4xf32> into f32
  return
}

// -----

func.func @read_sum(%m: memref<?x?xf32>, %i: index, %x: f32) {
  // expected-error @below {{requires a projected permutation_map (at most one dim or the zero constant can appear in each result)}}
  %0 = vector.transfer_read %m[%i, %i], %x {permutation_map = affine_map<(d0, d1) -> (d0 + d1)>} : memref<?x?xf32>, vector<128xf32>
  return
}

// -----

func.func @read_twice(%m: memref<?x?xf32>, %i: index, %x: f32) {
  // expected-error @below {{requires a permutation_map that is a permutation (found one dim used more than once)}}
  %0 = vector.transfer_read %m[%i, %i], %x {permutation_map = affine_map<(d0, d1) -> (d0, d0)>} : memref<?x?xf32>, vector<3x7xf32>
  return
}

// -----

func.func @read_mask(%m: memref<?xf32>, %i: index, %x: f32, %k: vector<4xi1>) {
  // expected-error @below {{inferred mask type ('vector<8xi1>') and mask operand type ('vector<4xi1>') don't match}}
  %0 = "vector.transfer_read"(%m, %i, %x, %k) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 1, 1, 1>, permutation_map = affine_map<(d0) -> (d0)>}> : (memref<?xf32>, index, f32, vector<4xi1>) -> vector<8xf32>
  return
}

// -----

func.func @write_broadcast(%m: memref<?xf32>, %i: index, %v: vector<7xf32>) {
  // expected-error @below {{'vector.transfer_write' op should not have broadcast dimensions}}
  vector.transfer_write %v, %m[%i] {permutation_map = affine_map<(d0) -> (0)>} : vector<7xf32>, memref<?xf32>
  return
}

// -----

func.func @store_elements(%m: memref<?xf64>, %i: index, %v: vector<16xf32>) {
  // expected-error @below {{'vector.store' op base and valueToStore element type should match}}
  vector.store %v, %m[%i] : memref<?xf64>, vector<16xf32>
  return
}

// -----

func.func @load_scalable(%m: memref<200x100xf32, strided<[?, ?], offset: ?>>, %i: index) {
  // expected-error @below {{'vector.load' op most minor memref dim must have unit stride}}
  %0 = vector.load %m[%i, %i] : memref<200x100xf32, strided<[?, ?], offset: ?>>, vector<[1]xf32>
  return
}

// -----

func.func @masked_load(%m: memref<?xf32>, %i: index, %k: vector<15xi1>, %v: vector<16xf32>) {
  // expected-error @below {{'vector.maskedload' op expected result shape to match mask shape}}
  %0 = vector.maskedload %m[%i], %k, %v : memref<?xf32>, vector<15xi1>, vector<16xf32> into vector<16xf32>
  return
}

// -----

func.func @masked_store(%m: memref<?xf64>, %i: index, %k: vector<16xi1>, %v: vector<16xf32>) {
  // expected-error @below {{'vector.maskedstore' op base and valueToStore element type should match}}
  vector.maskedstore %m[%i], %k, %v : memref<?xf64>, vector<16xi1>, vector<16xf32>
  return
}

// -----

func.func @extract_vector(%v: vector<f32>) {
  // expected-error @below {{expected a scalar instead of a 0-d vector as the result type}}
  %0 = "vector.extract"(%v) <{static_position = array<i64>}> : (vector<f32>) -> vector<f32>
  return
}

// -----

func.func @shuffle_ranks(%a: vector<f32>, %b: vector<1xf32>) {
  // expected-error @below {{'vector.shuffle' op rank mismatch}}
  %0 = vector.shuffle %a, %b [0, 1] : vector<f32>, vector<1xf32>
  return
}

// -----

func.func @insert_strided_slice(%a: vector<8x8xf32>, %b: vector<4x4xf32>) {
  // expected-error @below {{'vector.insert_strided_slice' op expected sum(offsets, source vector shape) dimension 0 to be confined to [1, 5)}}
  %0 = vector.insert_strided_slice %a, %b {offsets = [0, 0], strides = [1, 1]} : vector<8x8xf32> into vector<4x4xf32>
  return
}

// -----

func.func @transpose_length(%a: vector<2x4xf32>) {
  // expected-error @below {{transposition length mismatch: 1}}
  %0 = vector.transpose %a, [0] : vector<2x4xf32> to vector<4x2xf32>
  return
}

// -----

func.func @transpose_rank(%a: vector<2x4xf32>) {
  // expected-error @below {{vector result rank mismatch: 1}}
  %0 = vector.transpose %a, [1, 0] : vector<2x4xf32> to vector<4xf32>
  return
}

// -----

func.func @transpose_range(%a: vector<2x4xf32>) {
  // expected-error @below {{transposition index out of range: 5}}
  %0 = vector.transpose %a, [1, 5] : vector<2x4xf32> to vector<4x2xf32>
  return
}

// -----

func.func @transpose_twice(%a: vector<2x2xf32>) {
  // expected-error @below {{duplicate position index: 1}}
  %0 = vector.transpose %a, [1, 1] : vector<2x2xf32> to vector<2x2xf32>
  return
}

// -----

func.func @transpose_extent(%a: vector<4x2xf32>) {
  // expected-error @below {{dimension size mismatch at: 1}}
  %0 = vector.transpose %a, [1, 0] : vector<4x2xf32> to vector<4x2xf32>
  return
}

// -----

func.func @transpose_element(%a: vector<2x4xf32>) {
  // expected-error @below {{failed to verify that operand and result have same element type}}
  %0 = vector.transpose %a, [1, 0] : vector<2x4xf32> to vector<4x2xi32>
  return
}

// -----

func.func @shape_cast_count(%a: vector<4x2xf32>) {
  // expected-error @below {{has different number of elements at source (8) and result (7)}}
  %0 = vector.shape_cast %a : vector<4x2xf32> to vector<7xf32>
  return
}

// -----

func.func @bitcast_rank(%a: vector<2x4xf32>) {
  // expected-error @below {{failed to verify that all of {source, result} have same rank}}
  %0 = vector.bitcast %a : vector<2x4xf32> to vector<4xf32>
  return
}

// -----

func.func @bitcast_leading(%a: vector<2x4xf32>) {
  // expected-error @below {{dimension size mismatch at: 0}}
  %0 = vector.bitcast %a : vector<2x4xf32> to vector<3x4xf32>
  return
}

// -----

func.func @insert_rank(%a: f32, %b: vector<4x4xf32>) {
  // expected-error @below {{expected position attribute rank to match the dest vector rank}}
  %0 = vector.insert %a, %b[1] : f32 into vector<4x4xf32>
  return
}

// -----

func.func @insert_vector_rank(%a: vector<3xf32>, %b: vector<2x2xf32>) {
  // expected-error @below {{expected position attribute rank + source rank to match dest vector rank}}
  %0 = vector.insert %a, %b[0, 0] : vector<3xf32> into vector<2x2xf32>
  return
}

// -----

func.func @insert_element(%a: i32, %b: vector<2x2xf32>) {
  // expected-error @below {{failed to verify that source operand and result have same element type}}
  %0 = vector.insert %a, %b[0, 0] : i32 into vector<2x2xf32>
  return
}

// -----

func.func @insert_too_deep(%a: f32, %b: vector<2x4xf32>) {
  // expected-error @below {{expected position attribute of rank no greater than dest vector rank}}
  %0 = vector.insert %a, %b[1, 2, 3] : f32 into vector<2x4xf32>
  return
}

// -----

func.func @deinterleave_odd(%a: vector<5xf32>) {
  // expected-error @below {{failed to verify that the trailing dimension of the source vector has an even number of elements}}
  %0, %1 = vector.deinterleave %a : vector<5xf32> -> vector<2xf32>
  return
}

// -----

func.func @deinterleave_half(%a: vector<4xf32>) {
  // expected-error @below {{failed to verify that the trailing dimension of the results is half the width of source trailing dimension}}
  %0, %1 = vector.deinterleave %a : vector<4xf32> -> vector<3xf32>
  return
}

// -----

func.func @reduction_type(%a: vector<4xf32>) {
  // expected-error @below {{'vector.reduction' op failed to verify that source operand and result have same element type}}
  %0 = "vector.reduction"(%a) <{kind = #vector.kind<add>}> : (vector<4xf32>) -> f64
  return
}

// -----

func.func @scan_rank(%a: vector<2x4xi32>, %b: vector<i32>) {
  // expected-error @below {{'vector.scan' op initial value rank 0 has to be equal to 1}}
  %0:2 = vector.scan <add>, %a, %b {inclusive = true, reduction_dim = 0 : i64} : vector<2x4xi32>, vector<i32>
  return
}

// -----

func.func @contract_sign(%a: vector<4xsi32>, %f: si32) {
  // expected-error @below {{'vector.contract' op only supports signless integer types}}
  %0 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %a, %a, %f : vector<4xsi32>, vector<4xsi32> into si32
  return
}

// -----

func.func @slice_strides(%a: vector<4x8xf32>) {
  // expected-error @below {{'vector.extract_strided_slice' op expected strides to be confined to [1, 2)}}
  %0 = vector.extract_strided_slice %a {offsets = [0], sizes = [2], strides = [2]} : vector<4x8xf32> to vector<2x8xf32>
  return
}

// -----

func.func @mask_arguments(%m: vector<4xi1>) {
  // expected-error @below {{'vector.mask' op region should have no arguments}}
  "vector.mask"(%m) ({
  ^bb0(%a: f32):
    "vector.yield"() : () -> ()
  }) : (vector<4xi1>) -> ()
  return
}

// -----

func.func @mask_end(%m: vector<4xi1>) {
  // expected-error @below {{'vector.mask' op expects a terminator within the mask region}}
  "vector.mask"(%m) ({
    llvm.unreachable
  }) : (vector<4xi1>) -> ()
  return
}

// -----

func.func @mask_yield_type(%m: vector<4xi1>, %a: vector<4xf32>) {
  // expected-error @below {{'vector.mask' op expects result type to match maskable operation result type}}
  %0 = "vector.mask"(%m) ({
    %1 = vector.reduction <add>, %a : vector<4xf32> into f32
    vector.yield %1 : f32
  }) : (vector<4xi1>) -> f64
  return
}

// -----

func.func @mask_other_value(%m: vector<4xi1>, %a: vector<4xf32>, %f: f32) {
  // expected-error @below {{'vector.mask' op expects all the results from the MaskableOpInterface to match all the values returned by the terminator}}
  %0 = "vector.mask"(%m) ({
    %1 = vector.reduction <add>, %a : vector<4xf32> into f32
    vector.yield %f : f32
  }) : (vector<4xi1>) -> f32
  return
}

// -----

func.func @minor_bits(%m: memref<4xvector<4xf32>>, %i: index, %p: vector<4xf32>) {
  // expected-error @below {{'vector.transfer_read' op requires the bitwidth of the minor 1-D vector to be an integral multiple of the bitwidth of the minor 1-D vector of the source}}
  %0 = vector.transfer_read %m[%i], %p : memref<4xvector<4xf32>>, vector<3xf32>
  return
}

// -----

func.func @minor_element_bits(%m: memref<4xf64>, %i: index, %p: f64) {
  // expected-error @below {{'vector.transfer_read' op requires the bitwidth of the minor 1-D vector to be an integral multiple of the bitwidth of the source element type}}
  %0 = vector.transfer_read %m[%i], %p : memref<4xf64>, vector<3xf32>
  return
}

// -----

func.func @load_vectors(%m: memref<4xvector<4xf32>>, %i: index) {
  // expected-error @below {{'vector.load' op base memref and result vector types should match}}
  %0 = vector.load %m[%i] : memref<4xvector<4xf32>>, vector<8xf32>
  return
}

// -----

func.func @masked_pass_thru(%m: memref<4xf32>, %i: index, %k: vector<4xi1>, %p: vector<8xf32>) {
  // expected-error @below {{'vector.maskedload' op expected pass_thru of same type as result type}}
  %0 = vector.maskedload %m[%i], %k, %p : memref<4xf32>, vector<4xi1>, vector<8xf32> into vector<4xf32>
  return
}

// -----

func.func @expand_pass_thru(%m: memref<4xf32>, %i: index, %k: vector<4xi1>, %p: vector<8xf32>) {
  // expected-error @below {{'vector.expandload' op expected pass_thru of same type as result type}}
  %0 = vector.expandload %m[%i], %k, %p : memref<4xf32>, vector<4xi1>, vector<8xf32> into vector<4xf32>
  return
}

// -----

func.func @insert_position(%a: vector<4xf32>, %b: vector<[8]xf32>) {
  // expected-error @below {{'vector.scalable.insert' op failed to verify that position is a multiple of the source length.}}
  %0 = vector.scalable.insert %a, %b[2] : vector<4xf32> into vector<[8]xf32>
  return
}

// -----

func.func @extract_position(%b: vector<[8]xf32>) {
  // expected-error @below {{'vector.scalable.extract' op failed to verify that position is a multiple of the result length.}}
  %0 = vector.scalable.extract %b[2] : vector<4xf32> from vector<[8]xf32>
  return
}

// -----

func.func @broadcast_scalar(%a: f64) {
  // expected-error @below {{'vector.broadcast' op failed to verify that source operand and result have same element type}}
  %0 = vector.broadcast %a : f64 to vector<4xf32>
  return
}

// -----

func.func @broadcast_elements(%a: vector<4xf64>) {
  // expected-error @below {{'vector.broadcast' op failed to verify that source operand and result have same element type}}
  %0 = vector.broadcast %a : vector<4xf64> to vector<2x4xf32>
  return
}

// -----

func.func @cast_elements(%a: vector<4xf64>) {
  // expected-error @below {{'vector.shape_cast' op has different source and result element types}}
  %0 = vector.shape_cast %a : vector<4xf64> to vector<2x2xf32>
  return
}

// -----

func.func @padding(%m: memref<4xf32>, %i: index, %p: f64) {
  // expected-error @below {{'vector.transfer_read' op requires formal padding and source of the same elemental type}}
  %0 = "vector.transfer_read"(%m, %i, %p) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 1, 1, 0>, permutation_map = affine_map<(d0) -> (d0)>}> : (memref<4xf32>, index, f64) -> vector<4xf32>
  return
}

// -----

func.func @mask_passthru(%m: vector<4xi1>, %b: memref<4xf32>, %i: index, %x: f32, %p: vector<8xf32>) {
  // expected-error @below {{'vector.mask' op expects passthru type to match result type}}
  %0 = "vector.mask"(%m, %p) ({
    %1 = vector.transfer_read %b[%i], %x : memref<4xf32>, vector<4xf32>
    vector.yield %1 : vector<4xf32>
  }) : (vector<4xi1>, vector<8xf32>) -> vector<4xf32>
  return
}
