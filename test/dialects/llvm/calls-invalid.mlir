// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @callee()
llvm.func @bundle_tags() {
  // expected-error @below {{'llvm.call' op expected 1 operand bundle tags, but actually got 0}}
  "llvm.call"() <{callee = @callee, op_bundle_sizes = array<i32: 0>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @bundle_tag() {
  // expected-error @below {{'llvm.call' op expects operand bundle tags to be strings and their sizes not to be negative}}
  "llvm.call"() <{callee = @callee, op_bundle_sizes = array<i32: 0>, op_bundle_tags = [1], operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @bundle_sizes() {
  // expected-error @below {{'llvm.call' op has 0 operand bundle operands, but sizes of 1}}
  "llvm.call"() <{callee = @callee, op_bundle_sizes = array<i32: 1>, op_bundle_tags = ["tag"], operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @argument_attributes() {
  // expected-error @below {{'llvm.call' op 'arg_attrs' has 1 elements; expected 0}}
  "llvm.call"() <{arg_attrs = [{}], callee = @callee, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  llvm.return
}

// -----

llvm.func @callee(i32)
llvm.func @argument_attribute(%x: i32) {
  // expected-error @below {{'llvm.call' op 'arg_attrs' has the element `1 : i64`; expected a dictionary}}
  "llvm.call"(%x) <{arg_attrs = [1], callee = @callee, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> ()
  llvm.return
}

// -----

llvm.func @indirect_type(%p: !llvm.ptr) {
  // expected-error @below {{custom op 'llvm.call' expected the callee's pointer type before the function type}}
  llvm.call %p() : () -> ()
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @direct_type() {
  // expected-error @below {{custom op 'llvm.call' expected only the function type}}
  llvm.call @callee() : !llvm.ptr, () -> ()
  llvm.return
}

// -----

llvm.func @callee() -> i32
llvm.func @results() {
  // expected-error @below {{custom op 'llvm.call' expected function with 0 or 1 results, found 2}}
  %0:2 = llvm.call @callee() : () -> (i32, i32)
  llvm.return
}

// -----

llvm.func @no_callee() {
  // expected-error @below {{'llvm.call' op must have either a `callee` attribute or at least an operand, a pointer to the callee}}
  "llvm.call"() <{op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  llvm.return
}

// -----

llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.func @variadic_type(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.call' op missing var_callee_type attribute for vararg call}}
  %0 = llvm.call @printf(%p) : (!llvm.ptr) -> i32
  llvm.return
}

// -----

llvm.func @callee(i32)
llvm.func @operand_count() {
  // expected-error @below {{'llvm.call' op incorrect number of operands (0) for callee (expecting: 1)}}
  llvm.call @callee() : () -> ()
  llvm.return
}

// -----

llvm.func @callee() -> i32
llvm.func @no_result() {
  // expected-error @below {{'llvm.call' op expected function call to produce a value}}
  llvm.call @callee() : () -> ()
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @result_of_void() {
  // expected-error @below {{'llvm.call' op calling function with void result must not produce values}}
  %0 = llvm.call @callee() : () -> i32
  llvm.return
}

// -----

llvm.func @callee() -> i32
llvm.func @result_type() {
  // expected-error @below {{'llvm.call' op result type mismatch: 'i64' != 'i32'}}
  %0 = llvm.call @callee() : () -> i64
  llvm.return
}

// -----

llvm.func @intrinsic_name() {
  // expected-error @below {{'llvm.call_intrinsic' op intrinsic name must start with 'llvm.', but is 'sqrt'}}
  llvm.call_intrinsic "sqrt"() : () -> ()
  llvm.return
}

// -----

llvm.func @asm_outputs() {
  // expected-error @below {{'llvm.inline_asm' op has 2 outputs in its constraints, but 1 in its result}}
  %0 = llvm.inline_asm "nop", "=r,=r" : () -> i32
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @variadic_type_of_no_function() {
  // expected-error @below {{'llvm.call' op 'var_callee_type' must be a function type, but is 'i32'}}
  llvm.call @callee() vararg(i32) : () -> ()
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @convention() {
  // expected-error @below {{custom op 'llvm.call' unknown calling convention or tail call kind 'quickcc'}}
  llvm.call quickcc @callee() : () -> ()
  llvm.return
}
