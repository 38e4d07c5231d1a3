// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @operands(%a: i32) {
  // expected-error @below {{branch has 1 operands for successor #0, but target block has 0}}
  cf.br ^bb1(%a : i32)
^bb1:
  return
}

// -----

func.func @types(%a: i32, %c: i1) {
  // expected-error @below {{type mismatch for bb argument #0 of successor #1}}
  cf.cond_br %c, ^bb1, ^bb2(%a : i32)
^bb1:
  return
^bb2(%b: f32):
  return
}

// -----

func.func @flag(%a: i32) {
  // expected-error @below {{'flag' type ('i32') should match case value type ('i64')}}
  "cf.switch"(%a)[^bb1, ^bb1] <{case_operand_segments = array<i32: 0>, case_values = dense<1> : vector<1xi64>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^bb1:
  return
}

// -----

func.func @weights(%c: i1) {
  // expected-error @below {{branch weights cannot all be zero}}
  cf.cond_br %c weights([0, 0]), ^bb1, ^bb1
^bb1:
  return
}

// -----

func.func @cases(%i: i32) {
  // expected-error @below {{number of case values (2) should match number of case destinations (1)}}
  "cf.switch"(%i)[^bb1, ^bb1] <{case_values = dense<[1, 2]> : tensor<2xi32>, case_operand_segments = array<i32: 0>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^bb1:
  return
}
