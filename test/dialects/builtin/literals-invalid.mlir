// RUN: tessera-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @below {{invalid tensor element type 'tensor<i8>'}}
"test.op"() {t = tensor<tensor<i8>>} : () -> ()

// -----

// expected-error @below {{invalid tensor element type 'memref<2xi8>'}}
"test.op"() {t = tensor<*xmemref<2xi8>>} : () -> ()

// -----

// expected-error @below {{invalid memref element type 'none'}}
"test.op"() {t = memref<none>} : () -> ()

// -----

// expected-error @below {{invalid vector element type 'vector<2xi8>'}}
"test.op"() {t = vector<2xvector<2xi8>>} : () -> ()

// -----

// expected-error @below {{unsupported memory space Attribute 'i8'}}
"test.op"() {t = memref<2xi8, i8>} : () -> ()

// -----

// expected-error @below {{expected unsigned integer elements, but parsed negative value -5}}
"test.op"() {t = dense<[5, -5]> : vector<2xui32>} : () -> ()

// -----

// expected-error @below {{`dense_resource` expected a shaped type, found 'i32'}}
"test.op"() {t = dense_resource<a> : i32} : () -> ()

// -----

// expected-error @below {{element type bitwidth must be a multiple of 8, found i7}}
"test.op"() {t = array<i7: 1>} : () -> ()

// -----

// expected-error @below {{expected 'true' or 'false' values for i1 type}}
"test.op"() {t = array<i1: 1>} : () -> ()

// -----

// expected-error @below {{elements hex data has 3 bytes, tensor<3xi1> needs 1}}
"test.op"() {t = dense<"0x000102"> : tensor<3xi1>} : () -> ()

// -----

// expected-error @below {{sparse index #1 is not contained within the value shape, with index=[5], and type='tensor<4xi32>'}}
"test.op"() {t = sparse<[[0], [5]], [1, 2]> : tensor<4xi32>} : () -> ()

// -----

// expected-error @below {{inferred shape of indices literal ([2, 1]); inferred shape of values literal ([3])}}
"test.op"() {t = sparse<[[0], [1]], [1, 2, 3]> : tensor<4xi32>} : () -> ()

// -----

// expected-error @below {{referenced attribute does not match previous definition: distinct[0]<42 : i64>}}
"test.op"() {t = distinct[0]<42>, u = distinct[0]<43>} : () -> ()

// -----

// expected-error @below {{expected location, but found 'true'}}
"test.op"() : () -> () loc(#no_location)
#no_location = true

// -----

// expected-error @below {{empty operation name is invalid}}
""() : () -> ()

// -----

// expected-error @below {{unregistered operation 'func.foo' found in dialect ('func') that does not allow unknown operations}}
"func.foo"() : () -> ()

// -----

module attributes {llvm.data_layout = "e-i64:64-Fi8-ni:7"} {
  // expected-error @below {{invalid data layout descriptor: unknown specifier '#'}}
  module attributes {llvm.data_layout = "e-#x"} {
  }
}
