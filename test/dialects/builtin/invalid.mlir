// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'builtin.module' op can only contain attributes with dialect-prefixed names, found: 'a'}}
module attributes {a = 1 : i32} {
}

// -----

// expected-error @below {{region should have no arguments}}
"builtin.module"() ({
^bb0(%a: i32):
}) : () -> ()

// -----

func.func @cast(%a: i32) {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op expected at least one result for cast operation}}
  "builtin.unrealized_conversion_cast"(%a) : (i32) -> ()
  return
}
