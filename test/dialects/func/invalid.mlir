// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @result_count() -> i32 {
  // expected-error @below {{'func.return' op has 0 operands, but enclosing function (@result_count) returns 1}}
  return
}

// -----

func.func @too_many_results(%a: i32) -> i32 {
  // expected-error @below {{'func.return' op has 2 operands, but enclosing function (@too_many_results) returns 1}}
  return %a, %a : i32, i32
}

// -----

func.func @result_type(%a: f32) -> i32 {
  // expected-error @below {{type of return operand 0 ('f32') doesn't match function result type ('i32') in function @result_type}}
  return %a : f32
}

// -----

func.func private @callee(i32)
func.func @operand_type(%a: f32) {
  // expected-error @below {{'func.call' op operand type mismatch: expected operand type 'i32', but provided 'f32' for operand number 0}}
  call @callee(%a) : (f32) -> ()
  return
}

// -----

func.func @unknown(%a: f32) {
  // expected-error @below {{'func.call' op 'callee' does not reference a valid function}}
  call @callee(%a) : (f32) -> ()
  return
}

// -----

func.func private @callee(i32)
func.func @operand_count() {
  // expected-error @below {{'func.call' op incorrect number of operands for callee}}
  call @callee() : () -> ()
  return
}

// -----

func.func private @callee() -> i32
func.func @result_count() {
  // expected-error @below {{'func.call' op incorrect number of results for callee}}
  call @callee() : () -> ()
  return
}

// -----

// expected-error @below {{'func.func' op type of entry block argument #0('f32') must match the type of the corresponding argument in function signature('i32')}}
"func.func"() <{function_type = (i32) -> (), sym_name = "entry"}> ({
^bb0(%a: f32):
  func.return
}) : () -> ()

// -----

// expected-error @below {{'func.func' op entry block must have 1 arguments to match function signature}}
"func.func"() <{function_type = (i32) -> (), sym_name = "entry"}> ({
^bb0:
  func.return
}) : () -> ()

// -----

// expected-error @below {{'func.func' op attribute 'function_type' failed to satisfy constraint: type attribute of function type}}
"func.func"() <{function_type = i32, sym_name = "entry"}> ({
^bb0:
  func.return
}) : () -> ()

// -----

// expected-error @below {{'func.return' op expects parent op 'func.func'}}
func.return

// -----

func.func @constant() {
  // expected-error @below {{'func.constant' op reference to undefined function 'g'}}
  %f = func.constant @g : () -> ()
  return
}

// -----

func.func private @g()
func.func @constant() {
  // expected-error @below {{'func.constant' op reference to function with mismatched type}}
  %f = func.constant @g : (i32) -> ()
  return
}

// -----

// expected-error @below {{symbol declaration cannot have public visibility}}
func.func @public_declaration()

// -----

// expected-error @below {{expected non-empty function body}}
func.func @empty_body() {}

// -----

// expected-error @below {{'sym_visibility' is an inferred attribute and should not be specified in the explicit attribute dictionary}}
func.func @visibility() attributes {sym_visibility = "private"}

// -----

func.func @outer() {
  // expected-error @below {{symbol's parent must have the SymbolTable trait}}
  func.func @inner() {
    return
  }
  return
}

// -----

func.func @indirect_inputs(%f: (i32) -> (), %x: f32) {
  // expected-error @below {{'func.call_indirect' op failed to verify that callee input types match argument types}}
  "func.call_indirect"(%f, %x) : ((i32) -> (), f32) -> ()
  return
}

// -----

func.func @indirect_results(%f: () -> i32) {
  // expected-error @below {{'func.call_indirect' op failed to verify that callee result types match result types}}
  %0 = "func.call_indirect"(%f) : (() -> i32) -> f32
  return
}

// -----

func.func private @result_callee() -> i32
func.func @result_type() {
  // expected-error @below {{'func.call' op result type mismatch at index 0}}
  // expected-note @below {{function result types: 'i32'}}
  // expected-note @below {{op result types: 'f32'}}
  %0 = "func.call"() <{callee = @result_callee}> : () -> f32
  return
}
