// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @type(%a: i32) {
  // expected-error @below {{'math.exp' op operand #0 must be floating-point-like, but got 'i32'}}
  %0 = math.exp %a : i32
  return
}
