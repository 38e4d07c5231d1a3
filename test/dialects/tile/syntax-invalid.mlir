// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%b: memref<8xf32, 5>) {
  // expected-error @below {{expected '=' after SSA name}}
  %b : memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{custom op 'tile.copy' expected an operation, or '%buffer = %buffer : type' for a copy}}
  %a, %b = %b : memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{custom op 'tile.copy' expected an operation, or '%buffer = %buffer : type' for a copy}}
  %a:2 = %b : memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>) {
  // expected-error @below {{use of undeclared SSA value name '%b'}}
  %a = %b : memref<8xf32, 5>
  return
}

// -----

func.func @f(%b: memref<8xf32, 5>) {
  // expected-error @below {{use of undeclared SSA value name '%a'}}
  %a = %b : memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: f32, %b: f32) {
  // expected-error @below {{'tile.copy' op operand #1 must be memref, but got 'f32'}}
  %a = %b : f32
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{unknown op 'tile.times'}}
  %0 = tile.add %a, tile.times(%a, %b) : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{'tile.mul' takes 2 operands here, found 3}}
  %0 = tile.add %a, tile.mul(%a, %b, %b) : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{'tile.accumulate' has 0 results; expected an op with one in place of an operand}}
  %0 = tile.add %a, tile.accumulate(%a, %b) : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{'tile.cast' op: the type of result 'res' cannot be inferred}}
  %0 = tile.add %a, tile.cast(%b) : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>, %c: memref<8x8xf32, 5>) {
  // expected-error @below {{'tile.warp_reduce' op: the type of result 'res' cannot be inferred}}
  %0 = tile.add %a, tile.warp_reduce(%c) : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{use of undeclared SSA value name '%missing'}}
  %0 = tile.add %a, tile.mul(%a, %missing) : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}

// -----

func.func @f(%a: memref<8xf32, 5>, %b: memref<8xf32, 5>) {
  // expected-error @below {{custom op 'tile.add' expects 2 operands, found 1}}
  %0 = tile.add %a : memref<8xf32, 5>, memref<8xf32, 5> -> memref<8xf32, 5>
  return
}
