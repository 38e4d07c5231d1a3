// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: i32) -> i64 {
  // expected-error@+1 {{doesn't match function result type}}
  return %a : i32
}

// -----

func.func @g() {
  // expected-error-re @below {{unknown dialect '{{[a-z]+}}' of op}}
  nowhere.op
}

// -----

func.func @redefined() {
  // expected-note@above {{see existing symbol definition here}}
  return
}
// expected-error@below {{redefinition of symbol named 'redefined'}}
func.func @redefined() {
  return
}
