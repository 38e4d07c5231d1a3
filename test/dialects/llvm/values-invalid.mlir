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

// -----

llvm.func @shuffle_mask(%v: vector<4xi32>) {
  // expected-error @below {{'llvm.shufflevector' op mask value 8 is out of range [-1, 8)}}
  %0 = llvm.shufflevector %v, %v [0, 8] : vector<4xi32>
  llvm.return
}

// -----

llvm.func @address_of_nothing() {
  // expected-error @below {{'llvm.mlir.addressof' op must reference a global defined by 'llvm.mlir.global', 'llvm.mlir.alias' or 'llvm.func' or 'llvm.mlir.ifunc'}}
  %0 = llvm.mlir.addressof @nothing : !llvm.ptr
  llvm.return
}

// -----

llvm.mlir.global internal @shared() {addr_space = 3 : i32} : i32
llvm.func @address_space() {
  // expected-error @below {{'llvm.mlir.addressof' op pointer address space must match address space of the referenced global or alias}}
  %0 = llvm.mlir.addressof @shared : !llvm.ptr
  llvm.return
}

// -----

// expected-error @below {{custom op 'llvm.func' expected a name for every parameter or for none}}
llvm.func @names(%x: i32, i32)

// -----

// expected-error @below {{custom op 'llvm.func' expected zero or one function result, found 2}}
llvm.func @results() -> (i32, i32)

// -----

// expected-error @below {{'llvm.mlir.global' op cannot have both initializer value and region}}
"llvm.mlir.global"() <{addr_space = 0 : i32, global_type = i32, linkage = #llvm.linkage<internal>, sym_name = "both", value = 1 : i32}> ({
  %0 = llvm.mlir.constant(1 : i32) : i32
  llvm.return %0 : i32
}) : () -> ()

// -----

// expected-error @below {{'llvm.mlir.global' op alignment attribute is not a power of 2: 3}}
llvm.mlir.global internal @alignment(1 : i32) {alignment = 3 : i64} : i32

// -----

// expected-error @below {{'llvm.mlir.global' op address space must not be negative}}
llvm.mlir.global internal @space(1 : i32) {addr_space = -1 : i32} : i32

// -----

// expected-error @below {{'llvm.mlir.global' op expects type to be a valid element type for an LLVM global}}
llvm.mlir.global internal @type() : !llvm.void

// -----

// expected-error @below {{'llvm.mlir.global' op expected array type for 'appending' linkage, but got 'i32'}}
llvm.mlir.global appending @appended() : i32

// -----

// expected-error @below {{'llvm.mlir.global' op global with target extension type can only be initialized with zero-initializer}}
llvm.mlir.global internal @extension(1 : i32) : !llvm.target<"spirv.Image", i32, 0>

// -----

// expected-error @below {{'llvm.mlir.global' op requires an i8 array type of the length equal to that of the string attribute}}
llvm.mlir.global internal constant @string("abc") : !llvm.array<2 x i8>

// -----

// expected-error @below {{'llvm.func' op external functions must have 'external' or 'extern_weak' linkage, got 'internal'}}
llvm.func internal @external()

// -----

// expected-error @below {{custom op 'llvm.mlir.global' type can only be omitted for string globals}}
llvm.mlir.global internal @omitted(1 : i32)

// -----

llvm.mlir.global internal @effects() : i32 {
  %0 = llvm.mlir.zero : !llvm.ptr
  // expected-error @below {{'llvm.load' op ops with side effects not allowed in global initializers}}
  %1 = llvm.load %0 : !llvm.ptr -> i32
  llvm.return %1 : i32
}

// -----

// expected-error @below {{custom op 'llvm.func' unknown linkage, visibility or calling convention 'mystery'}}
llvm.func mystery @linkage()

// -----

llvm.func @empty_mask(%v: vector<4xi32>) {
  // expected-error @below {{'llvm.shufflevector' op has operands that determine no type for 'res': vector of the mask's length}}
  %0 = "llvm.shufflevector"(%v, %v) <{mask = array<i32>}> : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  llvm.return
}
