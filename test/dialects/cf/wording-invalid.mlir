// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

func.func @case_segments(%f: i32, %x: f32) {
  // expected-error @below {{'cf.switch' op 'case_operand_segments' does not describe the operands of the cases}}
  "cf.switch"(%f, %x)[^bb1, ^bb2] <{case_operand_segments = array<i32: 0>, case_values = dense<1> : vector<1xi32>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
^bb1:
  return
^bb2:
  return
}
