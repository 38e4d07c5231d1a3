// RUN: tessera-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @too_few_successors() {
  // expected-error@below {{'cf.br' op requires 1 successors, but found 0}}
  "cf.br"() : () -> ()
}

// -----

func.func @too_many_successors() {
  // expected-error@below {{'func.return' op requires 0 successors, but found 1}}
  "func.return"()[^next] : () -> ()
^next:
  return
}

// -----

// expected-error@below {{'func.func' op visibility expected to be one of ["public", "private", "nested"]}}
"func.func"() ({}) {sym_name = "x", sym_visibility = "open", function_type = () -> ()} : () -> ()

// -----

func.func @no_segments(%c: i1) {
  // expected-error@below {{'operandSegmentSizes' attribute for specifying operand segments must have 3 elements}}
  "cf.cond_br"(%c)[^next, ^next] : (i1) -> ()
^next:
  return
}

// -----

func.func @segments_of_more_operands(%c: i1) {
  // expected-error@below {{operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'}}
  "cf.cond_br"(%c)[^next, ^next] {operandSegmentSizes = array<i32: 1, 1, 0>} : (i1) -> ()
^next:
  return
}
