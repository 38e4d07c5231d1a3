// RUN: tessera-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @below {{invalid array element type: '!llvm.void'}}
"test.op"() : () -> !llvm.array<2 x void>

// -----

// expected-error @below {{invalid LLVM structure element type: '!llvm.token'}}
"test.op"() : () -> !llvm.struct<"a", (i32, token)>

// -----

// expected-error @below {{invalid function result type: '!llvm.label'}}
"test.op"() : () -> !llvm.func<label ()>

// -----

// expected-error @below {{invalid function argument type: '!llvm.void'}}
llvm.func @argument(!llvm.void)

// -----

// expected-error @below {{failed to construct function type: expected LLVM type for function arguments}}
llvm.func @not_llvm(index)

// -----

"test.op"() : () -> !llvm.struct<"a", packed (i32)>
"test.op"() : () -> !llvm.struct<"a", packed (i32)>
// expected-error @below {{identified type already used with a different body}}
"test.op"() : () -> !llvm.struct<"a", (i32)>

// -----

"test.op"() : () -> !llvm.struct<"a", opaque>
// expected-error @below {{identified type already used with a different body}}
"test.op"() : () -> !llvm.struct<"a", ()>

// -----

"test.op"() : () -> !llvm.struct<"a", ()>
// expected-error @below {{redeclaring defined struct as opaque}}
"test.op"() : () -> !llvm.struct<"a", opaque>

// -----

// Two structs that contain each other have one body each, whichever of them is spelled first.
"test.op"() : () -> !llvm.struct<"a", (ptr, struct<"b", (struct<"a">)>)>
"test.op"() : () -> !llvm.struct<"b", (struct<"a", (ptr, struct<"b">)>)>
// expected-error @below {{identified type already used with a different body}}
"test.op"() : () -> !llvm.struct<"b", (struct<"a", (i32, struct<"b">)>)>

// -----

// expected-error @below {{struct without a body only allowed in a recursive struct}}
"test.op"() : () -> !llvm.struct<"a">

// -----

// expected-error @below {{identifier already used for an enclosing struct}}
"test.op"() : () -> !llvm.struct<"a", (struct<"a", ()>)>

// -----

// expected-error @below {{failed to parse parameter list for target extension type: types come first}}
"test.op"() : () -> !llvm.target<"t", 5, i32>

// -----

llvm.func @zero() {
  // expected-error @below {{target extension type does not support zero-initializer}}
  %0 = llvm.mlir.zero : !llvm.target<"t">
  llvm.return
}

// -----

// expected-error @below {{this target extension type cannot be used in a global}}
llvm.mlir.global external @global() : !llvm.target<"aarch64.svcount">

// -----

llvm.func @load(%p: !llvm.ptr) {
  // expected-error @below {{result #0 must be LLVM type with size, but got '!llvm.struct<"o", opaque>'}}
  %0 = llvm.load %p : !llvm.ptr -> !llvm.struct<"o", opaque>
  llvm.return
}
