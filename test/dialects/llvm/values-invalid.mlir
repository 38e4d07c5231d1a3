// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected zero value for 'common' linkage}}
llvm.mlir.global common @common(dense<[0, 1]> : vector<2xi32>) : !llvm.array<2 x i32>

// -----

// expected-error @below {{initializer region type 'i64' does not match global type 'i32'}}
llvm.mlir.global internal @region() : i32 {
  %0 = llvm.mlir.constant(1 : i64) : i64
  llvm.return %0 : i64
}

// -----

llvm.func @struct() {
  // expected-error @below {{struct element at index 1 is of wrong type}}
  %0 = llvm.mlir.constant([1.0 : f64, 1.0 : f32]) : !llvm.struct<(f64, f64)>
  llvm.return
}

// -----

llvm.func @splat() {
  // expected-error @below {{scalable vector type requires a splat attribute}}
  %0 = llvm.mlir.constant(dense<[1, 2, 3, 4]> : vector<4xi32>) : vector<[4]xi32>
  llvm.return
}

// -----

llvm.func @callee(i32)
llvm.func @call(%a: i64) {
  // expected-error @below {{operand type mismatch for operand 0: 'i64' != 'i32'}}
  llvm.call @callee(%a) : (i64) -> ()
  llvm.return
}

// -----

llvm.func @missing() {
  // expected-error @below {{'nobody' does not reference a symbol in the current scope}}
  llvm.call @nobody() : () -> ()
  llvm.return
}

// -----

// What a function of another dialect returns is not the business of llvm.return.
func.func @other(%a: i32) -> i32 {
  llvm.return %a : i32
}

// -----

llvm.func @array_size() {
  // expected-error @below {{array attribute size does not match array type size in dimension 0: 1 vs. 2}}
  %0 = llvm.mlir.constant([[42 : i32]]) : !llvm.array<2 x struct<(i32)>>
  llvm.return
}

// -----

llvm.func @nested_array() {
  // expected-error @below {{nested attribute for sub-array in dimension 1 at index 0 must be a zero, or undef, or array attribute}}
  %0 = llvm.mlir.constant([[1 : i32]]) : !llvm.array<1 x array<1 x array<1 x struct<(i32)>>>>
  llvm.return
}

// -----

llvm.func @struct_in_array() {
  // expected-error @below {{nested array attribute size for struct element at index 1 must match struct size: 1 vs. 2}}
  %0 = llvm.mlir.constant([#llvm.zero, [1 : i32]]) : !llvm.array<2 x struct<(i32, f32)>>
  llvm.return
}

// -----

llvm.func @array_of_numbers() {
  // expected-error @below {{for array with an array attribute must have a struct element type}}
  %0 = llvm.mlir.constant([2.5, 7.4]) : !llvm.array<2 x f64>
  llvm.return
}

// -----

llvm.func @symbol() {
  // expected-error @below {{only supports integer, float, string or elements attributes}}
  %0 = llvm.mlir.constant(@symbol) : !llvm.ptr
  llvm.return
}

// -----

llvm.func @complex() {
  // expected-error @below {{expected a struct of two 'i32' for complex elements, but got 'i32'}}
  %0 = llvm.mlir.constant(dense<(0, 1)> : tensor<2xcomplex<i32>>) : !llvm.array<2 x i32>
  llvm.return
}
