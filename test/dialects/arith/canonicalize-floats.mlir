// RUN: tessera-opt %s --canonicalize | filecheck %s

// CHECK-LABEL: @constants
// CHECK-DAG: %[[NEGATED:.*]] = arith.constant -1.500000e+00 : f32
// CHECK-DAG: %[[SUM:.*]] = arith.constant 3.500000e+00 : f32
// CHECK-DAG: %[[LESS:.*]] = arith.constant true
// CHECK: return %[[NEGATED]], %[[SUM]], %[[LESS]]
func.func @constants() -> (f32, f32, i1) {
  %a = arith.constant 1.5 : f32
  %b = arith.constant 2.0 : f32
  %n = arith.negf %a : f32
  %s = arith.addf %a, %b : f32
  %l = arith.cmpf olt, %a, %b : f32
  return %n, %s, %l : f32, f32, i1
}

// A number of a format without signs has no negative.
// CHECK-LABEL: @unsigned
// CHECK: arith.negf
func.func @unsigned() -> f8E8M0FNU {
  %a = arith.constant 1.0 : f8E8M0FNU
  %n = arith.negf %a : f8E8M0FNU
  return %n : f8E8M0FNU
}

// Values that are unknown are left to the rules.
// CHECK-LABEL: @rules
// CHECK-NEXT: return %x, %x
func.func @rules(%x: f32) -> (f32, f32) {
  %n = arith.negf %x : f32
  %m = arith.negf %n : f32
  %e = arith.maximumf %x, %x : f32
  return %m, %e : f32, f32
}
