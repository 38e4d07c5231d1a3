// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

func.func @scaled_wider(%a: f16, %s: f8E8M0FNU) {
  // expected-error @below {{'arith.scaling_extf' op result type must be wider than the operand type}}
  %0 = arith.scaling_extf %a, %s : f16, f8E8M0FNU to f16
  return
}

// -----

func.func @scaled_narrower(%a: f16, %s: f8E8M0FNU) {
  // expected-error @below {{'arith.scaling_truncf' op result type must be narrower than the operand type}}
  %0 = arith.scaling_truncf %a, %s : f16, f8E8M0FNU to f32
  return
}

// -----

func.func @scalable_constant() {
  // expected-error @below {{'arith.constant' op initializing scalable vectors with elements attribute is not supported unless it's a vector splat}}
  %0 = arith.constant dense<[1, 2]> : vector<[2]xi32>
  return
}
