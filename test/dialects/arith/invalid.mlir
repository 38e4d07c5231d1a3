// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @operand_type(%a: f32) {
  // expected-error @below {{'arith.addi' op operand #0 must be signless-integer-like, but got 'f32'}}
  %0 = arith.addi %a, %a : f32
  return
}

// -----

func.func @float_operand(%a: i32) {
  // expected-error @below {{'arith.addf' op operand #0 must be floating-point-like, but got 'i32'}}
  %0 = arith.addf %a, %a : i32
  return
}

// -----

func.func @constant_signed() {
  // expected-error @below {{'arith.constant' op integer return type must be signless}}
  %0 = arith.constant 1 : si32
  return
}

// -----

func.func @constant_string() {
  // expected-error @below {{'arith.constant' op value must be an integer, float, or elements attribute}}
  %0 = arith.constant "" : i32
  return
}

// -----

func.func @narrowing_extension(%a: i32) {
  // expected-error @below {{are cast incompatible}}
  %0 = arith.extsi %a : i32 to i16
  return
}

// -----

func.func @same_width(%a: i32) {
  // expected-error @below {{'arith.trunci' op operand type 'i32' and result type 'i32' are cast incompatible}}
  %0 = arith.trunci %a : i32 to i32
  return
}

// -----

func.func @widening_truncation(%a: f16) {
  // expected-error @below {{are cast incompatible}}
  %0 = arith.truncf %a : f16 to f32
  return
}

// -----

func.func @cast_shape(%a: vector<4xi32>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %0 = arith.extsi %a : vector<4xi32> to vector<8xi64>
  return
}

// -----

func.func @index_to_float(%a: index) {
  // expected-error @below {{operand #0 must be signless-fixed-width-integer-like, but got 'index'}}
  %0 = arith.sitofp %a : index to f32
  return
}

// -----

func.func @index_cast(%a: i32) {
  // expected-error @below {{are cast incompatible}}
  %0 = arith.index_cast %a : i32 to i64
  return
}

// -----

func.func @bitcast_width(%a: i32) {
  // expected-error @below {{are cast incompatible}}
  %0 = arith.bitcast %a : i32 to f16
  return
}

// -----

func.func @select_shape(%c: vector<8xi1>, %a: vector<4xi32>) {
  // expected-error @below {{'arith.select' op failed to verify that condition is signless i1 or has matching shape}}
  %0 = arith.select %c, %a, %a : vector<8xi1>, vector<4xi32>
  return
}

// -----

func.func @scalable_to_fixed(%a: vector<[4]xi32>) {
  // expected-error @below {{'arith.trunci' op requires the same shape for all operands and results}}
  %0 = arith.trunci %a : vector<[4]xi32> to vector<4xi8>
  return
}

// -----

func.func @cast_changes_the_encoding(%a: tensor<4xf32, "x">) {
  // expected-error @below {{'arith.extf' op operand type 'tensor<4xf32, "x">' and result type 'tensor<4xf64, "y">' are cast incompatible}}
  %0 = arith.extf %a : tensor<4xf32, "x"> to tensor<4xf64, "y">
  return
}

// -----

func.func @select_encoding(%c: tensor<8xi1, "x">, %a: tensor<8xi32, "y">) {
  // expected-error @below {{'arith.select' op expected condition type to have the same shape as the result type}}
  %0 = arith.select %c, %a, %a : tensor<8xi1, "x">, tensor<8xi32, "y">
  return
}

// -----

func.func @overflow_of_another_shape(%a: vector<8xi32>) {
  // expected-error @below {{'arith.addui_extended' op if an operand is non-scalar, then all results must be non-scalar}}
  %0:2 = arith.addui_extended %a, %a : vector<8xi32>, i1
  return
}

// -----

func.func @invalid_op_at_the_end(%a: f32) {
  // expected-error @below {{attribute 'predicate' failed to satisfy constraint: allowed 64-bit signless integer cases}}
  %0 = "arith.cmpf"(%a, %a) {predicate = 42} : (f32, f32) -> i1
  return
}

// -----

func.func @unknown_predicate(%a: f32) {
  // expected-error @below {{expected string or keyword containing one of the following enum values for attribute 'predicate' [false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, true]}}
  %0 = arith.cmpf sge, %a, %a : f32
  return
}

// -----

func.func @constant_type() {
  // expected-error @below {{'arith.constant' op failed to verify that all of {value, result} have same type}}
  %0 = "arith.constant"() <{value = 1.0 : f64}> : () -> f32
  return
}

// -----

func.func @regions(%a: i1) {
  // expected-error @below {{'scf.if' op expected 2 regions}}
  "scf.if"(%a) ({}) : (i1) -> ()
  return
}

// -----

func.func @overflow_shape(%a: vector<4xi32>) {
  // expected-error @below {{'arith.addui_extended' op all non-scalar operands/results must have the same shape and base type}}
  %0, %1 = "arith.addui_extended"(%a, %a) : (vector<4xi32>, vector<4xi32>) -> (vector<4xi32>, vector<8xi1>)
  return
}
